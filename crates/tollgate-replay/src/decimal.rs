//! Decimal numbers taken as they are written, never by way of floating point.
//!
//! A binary fraction cannot hold 0.1 ms, and a count of nanoseconds since 1970 has more digits than one holds at all:
//! read through one, times would move by up to 200 ns and equal times would differ.

use thiserror::Error;
use tollgate::Time;

/// Milliseconds have so many decimals down to the nanosecond.
const MILLISECOND_PLACES: i64 = 6;

const NANOS_PER_MILLISECOND: u64 = 1_000_000;

/// What a time in milliseconds may be, for error messages.
pub(crate) const TIME_EXPECTED: &str =
    "milliseconds, a number from 0 to 18446744073709.551615 with at most 6 decimals (nanoseconds)";

/// Why a text is not the whole number asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum DecimalError {
    #[error("not a decimal number")]
    NotANumber,
    #[error("below 0")]
    Negative,
    #[error("above the largest, {}", u64::MAX)]
    TooLarge,
    #[error("finer than the unit")]
    TooFine,
}

/// The time that a number of milliseconds tells, exact to the nanosecond.
pub(crate) fn time_from_millis(text: &str) -> Result<Time, DecimalError> {
    scaled(text, MILLISECOND_PLACES).map(Time::from_nanos)
}

/// A time as a number of milliseconds, in its shortest form: what [`time_from_millis`] reads back.
pub(crate) fn millis_of_time(time: Time) -> String {
    let nanos = time.as_nanos();
    let (millis, fraction) = (nanos / NANOS_PER_MILLISECOND, nanos % NANOS_PER_MILLISECOND);
    if fraction == 0 {
        return millis.to_string();
    }
    let text = format!("{millis}.{fraction:06}");
    text.trim_end_matches('0').to_owned()
}

/// A number times 10^`places`, which must come out whole: `12.5` at 6 places is 12,500,000.
pub(crate) fn scaled(text: &str, places: i64) -> Result<u64, DecimalError> {
    match Decimal::parse(text)?.scaled(places)? {
        Scaled { whole, exact: true } => Ok(whole),
        Scaled { exact: false, .. } => Err(DecimalError::TooFine),
    }
}

/// A number times 10^`places`, without what is finer.
pub(crate) fn scaled_down(text: &str, places: i64) -> Result<u64, DecimalError> {
    Decimal::parse(text)?.scaled(places).map(|scaled| scaled.whole)
}

/// A decimal number in its written parts. The digits are not copied, so any length is fine.
struct Decimal<'a> {
    whole: &'a str,
    fraction: &'a str,
    exponent: i64,
}

/// A decimal number in some unit, and whether anything finer was left out.
struct Scaled {
    whole: u64,
    exact: bool,
}

impl<'a> Decimal<'a> {
    /// Reads a number as JSON and YAML write them: a sign, digits with or without a point, an exponent.
    fn parse(text: &'a str) -> Result<Self, DecimalError> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)?),
            None => (text, 0),
        };
        let (negative, unsigned) = split_sign(mantissa);
        let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, ""));
        if !(is_digits(whole) && is_digits(fraction)) || (whole.is_empty() && fraction.is_empty()) {
            return Err(DecimalError::NotANumber);
        }
        let decimal = Self { whole, fraction, exponent };
        if negative && decimal.digits().any(|digit| digit != 0) {
            return Err(DecimalError::Negative);
        }
        Ok(decimal)
    }

    fn digits(&self) -> impl Iterator<Item = u8> + '_ {
        let digits = self.whole.bytes().chain(self.fraction.bytes());
        digits.map(|digit| digit.saturating_sub(b'0'))
    }

    /// Moves the point `places` to the right and cuts there.
    fn scaled(&self, places: i64) -> Result<Scaled, DecimalError> {
        let length = |digits: &str| i64::try_from(digits.len()).unwrap_or(i64::MAX);
        let point = length(self.whole).saturating_add(self.exponent).saturating_add(places);
        let mut position = 0_i64;
        let mut scaled = Scaled { whole: 0, exact: true };
        for digit in self.digits() {
            if position < point {
                scaled.whole = appended(scaled.whole, digit)?;
            } else if digit != 0 {
                scaled.exact = false;
            }
            position = position.saturating_add(1);
        }
        // A zero stays one under any exponent; any other number is too large after twenty more digits.
        while scaled.whole != 0 && position < point {
            scaled.whole = appended(scaled.whole, 0)?;
            position = position.saturating_add(1);
        }
        Ok(scaled)
    }
}

fn appended(number: u64, digit: u8) -> Result<u64, DecimalError> {
    let shifted = number.checked_mul(10).ok_or(DecimalError::TooLarge)?;
    shifted.checked_add(u64::from(digit)).ok_or(DecimalError::TooLarge)
}

/// An exponent beyond what 64 bits hold is as good as the largest.
fn parse_exponent(text: &str) -> Result<i64, DecimalError> {
    let (negative, unsigned) = split_sign(text);
    if unsigned.is_empty() || !is_digits(unsigned) {
        return Err(DecimalError::NotANumber);
    }
    let size: i64 = unsigned.parse().unwrap_or(i64::MAX);
    Ok(if negative { size.saturating_neg() } else { size })
}

fn split_sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(unsigned) => (true, unsigned),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

fn is_digits(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn milliseconds_are_read_to_the_nanosecond() {
        for (text, nanos) in [
            ("0", 0),
            ("-0.0", 0),
            ("12.5", 12_500_000),
            ("0.1", 100_000),
            ("0.000001", 1),
            ("0.0000010", 1),
            ("+.5", 500_000),
            ("5.", 5_000_000),
            ("1e3", 1_000_000_000),
            ("1.5E-3", 1_500),
            ("25e+1", 250_000_000),
            ("1431857103000.000001", 1_431_857_103_000_000_001),
            ("18446744073709.551615", u64::MAX),
            ("0e99999999999999999999", 0),
            ("0.0e-99999999999999999999", 0),
        ] {
            assert_eq!(time_from_millis(text), Ok(Time::from_nanos(nanos)), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_refused_with_its_reason() {
        for (text, error) in [
            ("-1", DecimalError::Negative),
            ("-0.0000001", DecimalError::Negative),
            ("0.0000001", DecimalError::TooFine),
            ("1e-7", DecimalError::TooFine),
            ("1e-99999999999999999999", DecimalError::TooFine),
            ("18446744073709.551616", DecimalError::TooLarge),
            ("1e99999999999999999999", DecimalError::TooLarge),
            ("", DecimalError::NotANumber),
            (".", DecimalError::NotANumber),
            ("--5", DecimalError::NotANumber),
            ("1.2.3", DecimalError::NotANumber),
            ("1e2.5", DecimalError::NotANumber),
            ("1e", DecimalError::NotANumber),
            ("1 ", DecimalError::NotANumber),
            ("NaN", DecimalError::NotANumber),
            ("١", DecimalError::NotANumber),
        ] {
            assert_eq!(time_from_millis(text), Err(error), "{text}");
        }
    }

    #[test]
    fn what_is_finer_can_be_dropped() {
        assert_eq!(scaled_down("1796097434.8933781234", 9), Ok(1_796_097_434_893_378_123));
        assert_eq!(scaled_down("1e-12", 9), Ok(0));
    }

    proptest! {
        #[test]
        fn every_time_is_read_back_from_its_text(nanos: u64) {
            let time = Time::from_nanos(nanos);
            prop_assert_eq!(time_from_millis(&millis_of_time(time)), Ok(time));
        }

        #[test]
        fn any_text_is_a_number_or_an_error(text: String, places in -30_i64..30) {
            let (exact, cut) = (scaled(&text, places), scaled_down(&text, places));
            prop_assert!(exact == cut || exact == Err(DecimalError::TooFine));
        }
    }
}
