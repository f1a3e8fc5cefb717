//! The calendar: where the hours, days, weeks and months of an offset from UTC end.
//!
//! The Gregorian calendar is a dozen lines of whole numbers, held in tests to a calendar library on each day of four
//! centuries; such a library would be several times the size of this crate, for one sum.

use std::fmt;

use crate::clock::Time;
use crate::parameters::Fault;

const SECOND_NS: u64 = 1_000_000_000;
const HOUR_S: i64 = 3_600;
const DAY_S: i64 = 24 * HOUR_S;

/// The beginning of 1970 was a Thursday, three days into its week.
const DAYS_INTO_WEEK: i64 = 3;

/// A part of the calendar that follows its like without gap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Period {
    /// From one full hour to the next.
    Hour,
    /// From midnight to midnight.
    Day,
    /// From Monday to Monday, as ISO 8601 has it.
    Week,
    /// From the first of a month to the first of the next.
    Month,
}

impl Period {
    /// All of them, with the words of config files.
    pub const WORDS: [(&str, Self); 4] =
        [("hour", Self::Hour), ("day", Self::Day), ("week", Self::Week), ("month", Self::Month)];

    /// The word of config files.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Hour => "hour",
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
        }
    }

    /// The length of the shortest, in nanoseconds.
    pub(crate) const fn least_ns(self) -> u64 {
        let hours = match self {
            Self::Hour => 1,
            Self::Day => 24,
            Self::Week => 7 * 24,
            Self::Month => 28 * 24,
        };
        SECOND_NS.saturating_mul(3_600).saturating_mul(hours)
    }

    /// When the period that a time of day lies in ends.
    pub(crate) fn end_after(self, time: Time, offset: Offset) -> Time {
        let seconds = i64::try_from(time.as_nanos() / SECOND_NS).unwrap_or(i64::MAX);
        let local = seconds.saturating_add(offset.seconds());
        let end = match self {
            Self::Hour => next_multiple(local, HOUR_S, 0),
            Self::Day => next_multiple(local, DAY_S, 0),
            Self::Week => next_multiple(local, DAY_S.saturating_mul(7), DAYS_INTO_WEEK * DAY_S),
            Self::Month => next_month(local.div_euclid(DAY_S)).saturating_mul(DAY_S),
        };
        let end = u64::try_from(end.saturating_sub(offset.seconds())).unwrap_or(0);
        Time::from_nanos(end.saturating_mul(SECOND_NS))
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// The first time after `seconds` that is a multiple of `length`, where counting began `phase` into one.
const fn next_multiple(seconds: i64, length: i64, phase: i64) -> i64 {
    let into = seconds.saturating_add(phase).rem_euclid(length);
    seconds.saturating_add(length.saturating_sub(into))
}

/// The first day of the month after that of a day; days are counted from 1970-01-01.
///
/// Years are taken from March to February, so that the leap day is the last, and in eras of 400, after which the
/// calendar repeats. In such a year the months before month m (March is 0) have (153 m + 2) / 5 days.
const fn next_month(day: i64) -> i64 {
    const DAYS_TO_ERA: i64 = 719_468;
    const DAYS_OF_ERA: i64 = 146_097;
    let day = day.saturating_add(DAYS_TO_ERA);
    let day_of_era = day.rem_euclid(DAYS_OF_ERA);
    let leap_days = (day_of_era / 1_460)
        .saturating_sub(day_of_era / 36_524)
        .saturating_add(day_of_era / (DAYS_OF_ERA - 1));
    let year = day_of_era.saturating_sub(leap_days) / 365;
    let day_of_year = day_of_era.saturating_sub(first_of_year(year));
    let month = day_of_year.saturating_mul(5).saturating_add(2) / 153;
    let next = match (year, month) {
        (399, 11) => DAYS_OF_ERA,
        (_, 11) => first_of_year(year.saturating_add(1)),
        _ => first_of_year(year).saturating_add(first_of_month(month.saturating_add(1))),
    };
    day.saturating_sub(day_of_era).saturating_add(next).saturating_sub(DAYS_TO_ERA)
}

const fn first_of_year(year: i64) -> i64 {
    year.saturating_mul(365).saturating_add(year / 4).saturating_sub(year / 100)
}

const fn first_of_month(month: i64) -> i64 {
    month.saturating_mul(153).saturating_add(2) / 5
}

/// A fixed distance of local time from UTC, -12:00 to +14:00. Summer time is not followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Offset {
    minutes: i32,
}

impl Offset {
    /// UTC itself.
    pub const UTC: Self = Self { minutes: 0 };

    const MINUTES: std::ops::RangeInclusive<i32> = -12 * 60..=14 * 60;

    /// So many minutes east of UTC, west where below 0.
    ///
    /// # Errors
    /// When it is not from -12:00 to +14:00.
    pub fn minutes_east(minutes: i32) -> Result<Self, Fault> {
        if Self::MINUTES.contains(&minutes) {
            return Ok(Self { minutes });
        }
        let message = format!("the offset is {minutes} minutes; expected -12:00 to +14:00");
        Err(Fault::of_field("offset", message))
    }

    /// Reads `+02:00`, `-03:30` or `UTC`.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text == "UTC" {
            return Some(Self::UTC);
        }
        let (sign, digits) = match text.strip_prefix('+') {
            Some(digits) => (1, digits),
            None => (-1, text.strip_prefix('-')?),
        };
        let (hours, minutes) = digits.split_once(':')?;
        let two_digits = |text: &str| {
            let is_number = text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse().ok().filter(|_| is_number)
        };
        let (hours, minutes): (i32, i32) = (two_digits(hours)?, two_digits(minutes)?);
        if minutes >= 60 {
            return None;
        }
        let minutes = hours.saturating_mul(60).saturating_add(minutes).saturating_mul(sign);
        Self::minutes_east(minutes).ok()
    }

    fn seconds(self) -> i64 {
        i64::from(self.minutes).saturating_mul(60)
    }
}

impl fmt::Display for Offset {
    /// As it is read: `UTC`, or `+02:00`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::UTC {
            return f.write_str("UTC");
        }
        let sign = if self.minutes < 0 { '-' } else { '+' };
        let minutes = self.minutes.unsigned_abs();
        write!(f, "{sign}{:02}:{:02}", minutes / 60, minutes % 60)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offset_is_read_as_it_is_shown() {
        for text in ["UTC", "+02:00", "-03:30", "+05:45", "+14:00", "-12:00", "+00:01"] {
            assert_eq!(Offset::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Offset::parse("+00:00"), Some(Offset::UTC));
        let none = [
            "",
            "+",
            "2",
            "+2",
            "+2:00",
            "02:00",
            "+02",
            "+0200",
            "+02:0",
            "+02:60",
            "+14:01",
            "-12:01",
            "+99:99",
            "++1:00",
            "+-1:00",
            "+ 1:00",
            "+02:00 ",
            "utc",
            "Z",
            "Europe/Paris",
            "+é:00",
        ];
        for text in none {
            assert_eq!(Offset::parse(text), None, "{text:?}");
        }
    }
}
