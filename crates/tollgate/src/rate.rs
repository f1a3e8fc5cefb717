//! A rate as it was written, kept as the exact time one token takes.

use std::fmt;
use std::num::{NonZeroU32, NonZeroU128};
use std::time::Duration;

use thiserror::Error;

use crate::wide::product;

/// The slowest refill there is: a capacity that takes longer than this to come back is refused.
pub(crate) const LONGEST_REFILL_NS: u128 = 100 * 31_557_600 * 1_000_000_000;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// Significant digits that are read; further ones change a number by less than one part in 10^18.
const DIGITS_MAX: usize = 19;

/// How fast tokens come back, kept as the time one token takes: a fraction of nanoseconds in lowest terms.
///
/// A rate of up to nine significant digits is exact. One with more is replaced by the nearest fraction
/// with a denominator below 2^32, less than 3 parts in 10^10 away.
///
/// ```
/// use tollgate::Rate;
///
/// assert_eq!(Rate::per_second("0.5"), Rate::parse_friendly("1/2s"));
/// assert_eq!(Rate::parse_friendly("86400/day"), Rate::per_second("1"));
/// assert!(Rate::per_second("NaN").is_err());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    whole_ns: u64,
    fraction: u32,
    denominator: NonZeroU32,
}

/// Why a rate was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum RateError {
    /// Not a decimal number.
    #[error("a number above 0 and at most 1000000000 a second, such as 10, 0.5 or \"0.001\"")]
    NotANumber,
    /// Not of the form `100/min`.
    #[error("a count per unit of time, such as 10/s, 100/min, 1000/h or 1/day")]
    NotACountPerTime,
    /// Zero or below.
    #[error("a rate above 0")]
    NotPositive,
    /// Above 10^9 a second.
    #[error("a rate of at most 1000000000 a second")]
    TooFast,
    /// Below one token in 100 years.
    #[error("a rate of at least one in 100 years")]
    TooSlow,
}

/// The units a rate is told in, the shortest first, in nanoseconds.
const UNITS: [(&str, u64); 4] = [
    ("s", NANOS_PER_SECOND),
    ("min", 60 * NANOS_PER_SECOND),
    ("h", 3_600 * NANOS_PER_SECOND),
    ("day", 86_400 * NANOS_PER_SECOND),
];

impl fmt::Display for Rate {
    /// By the shortest unit that makes it whole, such as `100/min`; else in decimals, cut after the sixth place, by the
    /// shortest in which it is not below 1.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts_per_token = self.parts_per_token();
        let parts = |unit_ns: u64| product(unit_ns, u64::from(self.denominator.get()));
        for (unit, unit_ns) in UNITS {
            if parts(unit_ns) % parts_per_token == 0 {
                return write!(f, "{}/{unit}", parts(unit_ns) / parts_per_token);
            }
        }
        let is_told_in = |(_, unit_ns): &(&str, u64)| parts(*unit_ns) >= parts_per_token.get();
        let (unit, unit_ns) = UNITS.into_iter().find(is_told_in).unwrap_or(UNITS[3]);
        let millionths = parts(unit_ns).saturating_mul(1_000_000) / parts_per_token;
        let decimals = format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000);
        write!(f, "{}/{unit}", decimals.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl RateError {
    /// The error of a number that is the count of `100/min`.
    const fn of_count(self) -> Self {
        match self {
            Self::NotANumber | Self::NotACountPerTime => Self::NotACountPerTime,
            Self::NotPositive | Self::TooFast | Self::TooSlow => self,
        }
    }
}

impl Rate {
    /// The fastest rate, in tokens a second.
    pub const MAX_PER_SECOND: u64 = 1_000_000_000;

    /// A decimal number of tokens a second, such as `"10"`, `"0.5"` or `"1e-3"`.
    ///
    /// # Errors
    /// When `text` is not a decimal number above 0 and at most 10^9, or below one token in 100 years.
    pub fn per_second(text: &str) -> Result<Self, RateError> {
        Self::per(Decimal::parse(text)?, NANOS_PER_SECOND)
    }

    /// A count per unit of time, such as `100/min`, `1/day` or `5/10s`.
    ///
    /// # Errors
    /// When `text` has another form, or the rate is out of range.
    pub fn parse_friendly(text: &str) -> Result<Self, RateError> {
        let (count, period) = text.split_once('/').ok_or(RateError::NotACountPerTime)?;
        let period = parse_period(period.trim()).ok_or(RateError::NotACountPerTime)?;
        let count = Decimal::parse(count.trim()).map_err(RateError::of_count)?;
        Self::per(count, crate::clock::nanos_of(period))
    }

    /// `count` tokens each `period_ns`.
    pub(crate) fn per(count: Decimal, period_ns: u64) -> Result<Self, RateError> {
        let (numerator, denominator) = count.divide_into(period_ns)?;
        let whole = numerator / denominator;
        if whole == 0 {
            return Err(RateError::TooFast);
        }
        let (fraction, denominator) = nearest_fraction(numerator % denominator, denominator);
        // A fraction just below 1 may be nearest to 1 itself.
        let carried = fraction == denominator.get();
        let fraction = if carried { 0 } else { fraction };
        match u64::try_from(whole.saturating_add(u128::from(carried))) {
            Ok(whole_ns) if u128::from(whole_ns) <= LONGEST_REFILL_NS => {
                Ok(Self { whole_ns, fraction, denominator })
            }
            Ok(_) | Err(_) => Err(RateError::TooSlow),
        }
    }

    /// The parts a nanosecond is cut into.
    pub(crate) const fn denominator(self) -> NonZeroU32 {
        self.denominator
    }

    /// The time one token takes, in parts of a nanosecond.
    pub(crate) fn parts_per_token(self) -> NonZeroU128 {
        let whole = product(self.whole_ns, u64::from(self.denominator.get()));
        // A token takes a nanosecond or more.
        NonZeroU128::MIN
            .saturating_add(whole.saturating_add(u128::from(self.fraction)).saturating_sub(1))
    }
}

/// A decimal number: `digits` times ten to the power of `exponent`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    digits: u64,
    exponent: i32,
}

impl Decimal {
    /// A whole number.
    pub(crate) const fn whole(number: u64) -> Self {
        Self { digits: number, exponent: 0 }
    }

    /// Reads a decimal number above or equal to 0, as written.
    pub(crate) fn parse(text: &str) -> Result<Self, RateError> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)?),
            None => (text, 0),
        };
        let unsigned = mantissa.strip_prefix(['+', '-']).unwrap_or(mantissa);
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        let is_number = whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit());
        if !is_number || whole.len().saturating_add(fraction.len()) == 0 {
            return Err(RateError::NotANumber);
        }
        let places = i32::try_from(fraction.len()).unwrap_or(i32::MAX);
        let decimal = Self::from_digits(
            whole.bytes().chain(fraction.bytes()),
            exponent.saturating_sub(places),
        );
        let negative = mantissa.starts_with('-') && decimal.digits > 0;
        if negative { Err(RateError::NotPositive) } else { Ok(decimal) }
    }

    fn from_digits(digits: impl Iterator<Item = u8>, exponent: i32) -> Self {
        let (mut value, mut taken, mut dropped) = (0_u64, 0_usize, 0_i32);
        for digit in digits {
            if taken == DIGITS_MAX {
                dropped = dropped.saturating_add(1);
                continue;
            }
            value = value.saturating_mul(10).saturating_add(u64::from(digit.saturating_sub(b'0')));
            taken = taken.saturating_add(usize::from(value > 0));
        }
        let mut decimal = Self { digits: value, exponent: exponent.saturating_add(dropped) };
        while decimal.digits != 0 && decimal.digits.is_multiple_of(10) {
            decimal.digits /= 10;
            decimal.exponent = decimal.exponent.saturating_add(1);
        }
        decimal
    }

    /// The number, where it is whole and fits.
    pub(crate) fn to_whole(self) -> Option<u64> {
        if self.digits == 0 {
            return Some(0);
        }
        let power = u32::try_from(self.exponent).ok()?;
        self.digits.checked_mul(10_u64.checked_pow(power)?)
    }

    /// `period_ns` divided by this number, as a fraction in lowest terms.
    fn divide_into(self, period_ns: u64) -> Result<(u128, NonZeroU128), RateError> {
        let digits = NonZeroU128::new(u128::from(self.digits)).ok_or(RateError::NotPositive)?;
        let power = 10_u128.checked_pow(self.exponent.unsigned_abs()).and_then(NonZeroU128::new);
        let period_ns = u128::from(period_ns);
        let (numerator, denominator) = if self.exponent < 0 {
            let scaled = power.and_then(|power| period_ns.checked_mul(power.get()));
            (scaled.ok_or(RateError::TooSlow)?, digits)
        } else {
            let scaled = power.and_then(|power| digits.checked_mul(power));
            (period_ns, scaled.ok_or(RateError::TooFast)?)
        };
        let divisor = greatest_common_divisor(numerator, denominator);
        let reduced = NonZeroU128::new(denominator.get() / divisor).unwrap_or(denominator);
        Ok((numerator / divisor, reduced))
    }
}

fn parse_exponent(text: &str) -> Result<i32, RateError> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(RateError::NotANumber);
    }
    // An exponent too long for 32 bits is out of any range: the sign alone decides which end.
    let end = if text.starts_with('-') { i32::MIN / 2 } else { i32::MAX / 2 };
    Ok(text.parse().map_or(end, |exponent: i32| exponent.clamp(i32::MIN / 2, i32::MAX / 2)))
}

fn greatest_common_divisor(a: u128, b: NonZeroU128) -> NonZeroU128 {
    let (mut dividend, mut divisor) = (a, b);
    while let Some(rest) = NonZeroU128::new(dividend % divisor) {
        (dividend, divisor) = (divisor.get(), rest);
    }
    divisor
}

/// The fraction nearest to `numerator / denominator` (below 1) with a denominator below 2^32, by continued
/// fractions: the last convergent that fits, or the semiconvergent after it where that is nearer.
fn nearest_fraction(numerator: u128, denominator: NonZeroU128) -> (u32, NonZeroU32) {
    let target = (numerator, denominator.get());
    let (mut before, mut last) = ((0_u128, 1_u128), (1_u128, 0_u128));
    let (mut dividend, mut rest) = target;
    while let Some(divisor) = NonZeroU128::new(rest) {
        let quotient = dividend / divisor;
        let room = u128::from(u32::MAX).saturating_sub(before.1);
        let steps = room.checked_div(last.1).map_or(quotient, |most| quotient.min(most));
        let mediant = |before: u128, last: u128| steps.saturating_mul(last).saturating_add(before);
        let next = (mediant(before.0, last.0), mediant(before.1, last.1));
        if steps < quotient {
            return narrow(nearer_fraction(next, last, target));
        }
        (before, last) = (last, next);
        (dividend, rest) = (divisor.get(), dividend % divisor);
    }
    narrow(last)
}

/// Whichever of two fractions is nearer to the target. All denominators are below 2^32, and the target's
/// is below 2^64, so the products fit 128 bits.
fn nearer_fraction(a: (u128, u128), b: (u128, u128), target: (u128, u128)) -> (u128, u128) {
    let distance = |(numerator, denominator): (u128, u128)| {
        let here = numerator.saturating_mul(target.1);
        target.0.saturating_mul(denominator).abs_diff(here)
    };
    let a_is_nearer = distance(a).saturating_mul(b.1) < distance(b).saturating_mul(a.1);
    if a_is_nearer { a } else { b }
}

fn narrow((numerator, denominator): (u128, u128)) -> (u32, NonZeroU32) {
    let denominator = u32::try_from(denominator).ok().and_then(NonZeroU32::new);
    let fits = "the search keeps numerator and denominator within 32 bits, and starts from 0 / 1";
    (u32::try_from(numerator).expect(fits), denominator.expect(fits))
}

/// A duration with its unit, such as `500ms`, `1m`, `1m 30s` or `7d`.
pub(crate) fn parse_duration(text: &str) -> Option<Duration> {
    humantime::parse_duration(text).ok()
}

/// A unit of time, or a number of them: `min`, `10s`.
fn parse_period(text: &str) -> Option<Duration> {
    let starts_with_digit = text.bytes().next().is_some_and(|byte| byte.is_ascii_digit());
    if starts_with_digit { parse_duration(text) } else { parse_duration(&format!("1{text}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One token takes `whole + fraction / denominator` nanoseconds.
    fn interval(whole_ns: u64, fraction: u32, denominator: u32) -> Rate {
        Rate { whole_ns, fraction, denominator: NonZeroU32::new(denominator).unwrap() }
    }

    #[test]
    fn a_rate_of_up_to_nine_significant_digits_is_exact() {
        let cases = [
            ("1", interval(1_000_000_000, 0, 1)),
            ("3", interval(333_333_333, 1, 3)),
            ("16.5", interval(60_606_060, 20, 33)),
            ("0.1", interval(10_000_000_000, 0, 1)),
            ("1e-3", interval(1_000_000_000_000, 0, 1)),
            ("7000000", interval(142, 6, 7)),
            ("999999937", interval(1, 63, 999_999_937)),
            ("1000000000", interval(1, 0, 1)),
            ("33.3333333", interval(30_000_000, 10_000_000, 333_333_333)),
        ];
        for (text, expected) in cases {
            assert_eq!(Rate::per_second(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn a_rate_with_more_digits_is_the_nearest_fraction_and_never_far() {
        // 1/86400 cut off below: a token takes a little over a day.
        let rate = Rate::per_second("0.000011574074074074073").unwrap();
        assert_eq!(rate.whole_ns, 86_400_000_000_000);
        assert!(rate.fraction > 0);

        let third = Rate::per_second("333333333.33333333333").unwrap();
        let exact = 1e9 / 333_333_333.333_333_3;
        let held = f64::from(third.fraction) / f64::from(third.denominator.get()) + 3.0;
        assert!((held - exact).abs() / exact < 3e-10, "{held} for {exact}");
    }

    #[test]
    fn what_is_no_rate_is_refused_with_what_was_expected() {
        let cases = [
            ("0", RateError::NotPositive),
            ("-1", RateError::NotPositive),
            ("NaN", RateError::NotANumber),
            (".nan", RateError::NotANumber),
            ("inf", RateError::NotANumber),
            ("", RateError::NotANumber),
            ("1e", RateError::NotANumber),
            ("0x10", RateError::NotANumber),
            ("1000000001", RateError::TooFast),
            ("1e99999999999", RateError::TooFast),
            ("1e-99999999999", RateError::TooSlow),
            ("0.0000000003", RateError::TooSlow),
        ];
        for (text, error) in cases {
            assert_eq!(Rate::per_second(text), Err(error), "{text}");
        }
    }

    #[test]
    fn a_rate_is_told_by_the_unit_that_makes_it_whole() {
        let cases = [
            ("10/s", "10/s"),
            ("100/min", "100/min"),
            ("60/min", "1/s"),
            ("1/day", "1/day"),
            ("1/2s", "30/min"),
            ("16.5/s", "990/min"),
            ("3.3333333/s", "3.333333/s"),
            ("1/week", "0.142857/day"),
            ("1000/h", "1000/h"),
            ("1000000000/s", "1000000000/s"),
            ("999999937/s", "999999937/s"),
            ("33.333333/s", "33.333333/s"),
        ];
        for (written, told) in cases {
            assert_eq!(Rate::parse_friendly(written).unwrap().to_string(), told, "{written}");
        }
    }

    #[test]
    fn a_friendly_rate_is_a_count_per_unit_of_time() {
        let cases = [
            ("100/min", Ok(interval(600_000_000, 0, 1))),
            ("1/day", Ok(interval(86_400_000_000_000, 0, 1))),
            ("5/10s", Ok(interval(2_000_000_000, 0, 1))),
            ("7/min", Ok(interval(8_571_428_571, 3, 7))),
            ("10", Err(RateError::NotACountPerTime)),
            ("ten/min", Err(RateError::NotACountPerTime)),
            ("10/fortnight", Err(RateError::NotACountPerTime)),
            ("0/min", Err(RateError::NotPositive)),
        ];
        for (text, expected) in cases {
            assert_eq!(Rate::parse_friendly(text), expected, "{text}");
        }
    }

    #[test]
    fn a_whole_number_may_be_written_in_any_decimal_form() {
        let cases = [
            ("10", Some(10)),
            ("1e3", Some(1_000)),
            ("10.0", Some(10)),
            ("2.5", None),
            ("0", Some(0)),
            ("1e30", None),
            ("9999999999999999999", Some(9_999_999_999_999_999_999)),
        ];
        for (text, whole) in cases {
            assert_eq!(Decimal::parse(text).ok().and_then(Decimal::to_whole), whole, "{text}");
        }
    }
}
