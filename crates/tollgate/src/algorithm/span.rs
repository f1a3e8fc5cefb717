//! Times to a fraction of a nanosecond, in the unit of a rate.

use std::cmp::Ordering;
use std::num::{NonZeroU64, NonZeroU128};

use crate::clock::Time;
use crate::rate::Rate;
use crate::wide::{low_half, product};

/// A time, or a length of time, to a fraction of a nanosecond. The rate's denominator is its unit's, so spans
/// of one bucket compare part by part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) nanos: u64,
    pub(super) fraction: u32,
}

impl Span {
    #[inline]
    pub(super) const fn at(time: Time) -> Self {
        Self { nanos: time.as_nanos(), fraction: 0 }
    }

    #[inline]
    pub(super) const fn of_one_token(rate: Rate) -> Self {
        Self { nanos: rate.whole_ns(), fraction: rate.fraction() }
    }

    /// The time `tokens` take. A bucket's capacity is checked to take at most 100 years, and no cost is above
    /// it, so the whole nanoseconds fit 64 bits; the fractions sum to less than 2^32 * 2^32.
    pub(super) fn of_tokens(rate: Rate, tokens: u32) -> Self {
        let denominator = NonZeroU64::from(rate.denominator());
        let fractions = u64::from(tokens).saturating_mul(u64::from(rate.fraction()));
        let nanos = u64::from(tokens).saturating_mul(rate.whole_ns());
        let (carried, fraction) = (fractions / denominator, fractions % denominator);
        Self {
            nanos: nanos.saturating_add(carried),
            fraction: u32::try_from(fraction).expect("a remainder is below its 32-bit divisor"),
        }
    }

    #[inline]
    pub(super) fn plus(self, other: Self, rate: Rate) -> Self {
        let denominator = u64::from(rate.denominator().get());
        // Both fractions are below the denominator, so at most one nanosecond is carried.
        let fractions = u64::from(self.fraction).wrapping_add(u64::from(other.fraction));
        let carried = u64::from(fractions >= denominator);
        let nanos = self.nanos.saturating_add(other.nanos).saturating_add(carried);
        Self {
            nanos,
            fraction: low_half(fractions.wrapping_sub(denominator.wrapping_mul(carried))),
        }
    }

    /// This time, or `now` where that is later.
    #[inline]
    pub(super) fn no_sooner_than(self, now: Time) -> Self {
        let fraction = if self.nanos < now.as_nanos() { 0 } else { self.fraction };
        Self { nanos: self.nanos.max(now.as_nanos()), fraction }
    }

    /// The time from `now`, which is no later, to this one.
    #[inline]
    pub(super) const fn since(self, now: Time) -> Self {
        Self { nanos: self.nanos.saturating_sub(now.as_nanos()), fraction: self.fraction }
    }

    pub(super) fn plus_parts(self, parts: u128, rate: Rate) -> Self {
        let denominator = NonZeroU128::from(rate.denominator());
        let other = Self {
            nanos: u64::try_from(parts / denominator).unwrap_or(u64::MAX),
            fraction: u32::try_from(parts % denominator)
                .expect("a remainder is below its 32-bit divisor"),
        };
        self.plus(other, rate)
    }

    /// The time from `start` to this span, in parts of a nanosecond; 0 where it is past.
    pub(super) fn parts_after(self, start: Time, rate: Rate) -> u128 {
        if self <= Self::at(start) {
            return 0;
        }
        let nanos = self.nanos.saturating_sub(start.as_nanos());
        product(nanos, u64::from(rate.denominator().get()))
            .saturating_add(u128::from(self.fraction))
    }
}

/// Ordered by one comparison of 128 bits, which takes no branch.
impl Ord for Span {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        let number = |span: &Self| u128::from(span.nanos) << 64 | u128::from(span.fraction);
        number(self).cmp(&number(other))
    }
}

impl PartialOrd for Span {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
