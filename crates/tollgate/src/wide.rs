//! The arithmetic that needs more than 64 bits: products that cannot overflow, and one division that 128 bits are too
//! narrow for.

use std::num::{NonZeroU64, NonZeroU128};

/// The product of two 64-bit numbers, whole.
#[inline]
#[expect(clippy::arithmetic_side_effects, reason = "the product of two 64-bit numbers fits 128")]
pub(crate) fn product(a: u64, b: u64) -> u128 {
    u128::from(a) * u128::from(b)
}

/// The low 32 bits of a word.
#[inline]
#[expect(clippy::as_conversions, reason = "the low 32 bits are what is wanted")]
#[expect(clippy::cast_possible_truncation, reason = "the low 32 bits are what is wanted")]
pub(crate) const fn low_half(word: u64) -> u32 {
    word as u32
}

/// `a / b`, rounded down, at most what 64 bits hold. Most numbers fit 64 bits, and are divided on the spot.
#[inline]
pub(crate) fn quotient(a: u128, b: NonZeroU128) -> u64 {
    match (u64::try_from(a), NonZeroU64::try_from(b)) {
        (Ok(a), Ok(b)) => a / b,
        _ => u64::try_from(a / b).unwrap_or(u64::MAX),
    }
}

/// `a × b / c`, rounded up, with a product of up to 256 bits. `None` where the quotient does not fit.
///
/// Used where a debt is carried to another rate, off the path of any decision; plain long division is enough.
pub(crate) fn mul_div_rounded_up(a: u128, b: u128, c: u128) -> Option<u128> {
    let (high, low) = product_256(a, b);
    if high == 0 {
        // What nearly every debt comes to.
        return low.checked_div(c)?.checked_add(u128::from(low.checked_rem(c)? != 0));
    }
    if high >= c {
        return None;
    }
    let (mut quotient, mut rest) = (0_u128, high);
    for bit in (0..u128::BITS).rev() {
        let carried = rest >> 127 == 1;
        rest = rest << 1 | (low >> bit & 1);
        quotient <<= 1;
        if carried || rest >= c {
            rest = rest.wrapping_sub(c);
            quotient |= 1;
        }
    }
    if rest == 0 { Some(quotient) } else { quotient.checked_add(1) }
}

/// The product of two 128-bit numbers, schoolbook in halves: (high, low).
///
/// A product of halves is at most 2^128 - 2^65 + 1, so two halves more fit beside it: no sum here wraps.
fn product_256(a: u128, b: u128) -> (u128, u128) {
    let ((a_high, a_low), (b_high, b_low)) = (halves(a), halves(b));
    let low = product(a_low, b_low);
    let middle = product(a_high, b_low).wrapping_add(low >> 64);
    let (middle_high, middle_low) = halves(middle);
    let middle_low = product(a_low, b_high).wrapping_add(u128::from(middle_low));
    let high = product(a_high, b_high)
        .wrapping_add(u128::from(middle_high))
        .wrapping_add(middle_low >> 64);
    (high, middle_low << 64 | u128::from(halves(low).1))
}

/// The two halves of 128 bits: (high, low).
#[inline]
#[expect(clippy::as_conversions, reason = "the two halves of 128 bits")]
#[expect(clippy::cast_possible_truncation, reason = "the two halves of 128 bits")]
pub(crate) const fn halves(wide: u128) -> (u64, u64) {
    ((wide >> 64) as u64, wide as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_beyond_128_bits_is_divided_exactly_and_rounded_up() {
        let big = u128::MAX;
        let cases = [
            (7, 3, 2, Some(11)),
            (6, 3, 2, Some(9)),
            (0, 3, 2, Some(0)),
            (big, big, big, Some(big)),
            (big, 2, 4, Some(1 << 127)),
            (big, 3, 2, None),
            (big, 1, 1, Some(big)),
            (1 << 100, 1 << 100, 1 << 90, Some(1 << 110)),
            (7, 3, 0, None),
            ((1 << 100) + 1, 1 << 100, 1 << 101, Some((1 << 99) + 1)),
        ];
        for (a, b, c, expected) in cases {
            assert_eq!(mul_div_rounded_up(a, b, c), expected, "{a} * {b} / {c}");
        }
    }

    #[test]
    fn a_quotient_is_rounded_down_and_ends_where_64_bits_do() {
        let max = u128::from(u64::MAX);
        let cases = [
            (7, 2, 3),
            (0, 9, 0),
            (max, 1, u64::MAX),
            (max + 1, 2, 1 << 63),
            (1 << 100, 1 << 40, 1 << 60),
            (max + 1, 1, u64::MAX),
            (5, u128::MAX, 0),
        ];
        for (a, b, expected) in cases {
            assert_eq!(quotient(a, NonZeroU128::new(b).unwrap()), expected, "{a} / {b}");
        }
    }
}
