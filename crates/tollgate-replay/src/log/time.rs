//! Times and durations in the spellings that access logs have.

use jiff::{SignedDuration, Timestamp};
use tollgate::Time;

use crate::decimal;

/// What a time may look like, for error messages.
pub(super) const TIME_EXPECTED: &str = "a time from 1970 to 2554 with its zone, such as \
     2015-05-17T10:05:03Z or 17/May/2015:10:05:03 +0000, or seconds since 1970";

/// What a duration may look like, for error messages.
pub(super) const DURATION_EXPECTED: &str = "seconds, or a duration with its unit, such as 1.5ms";

const NANOSECOND_PLACES: i64 = 9;

/// A time as seconds since 1970, in the common log's form or as RFC 3339 has it.
pub(super) fn parse_time(text: &str) -> Option<Time> {
    let text = text.trim_start_matches('[').trim_end_matches(']');
    parse_epoch(text)
        .or_else(|| parse_common_time(text))
        .or_else(|| of_timestamp(text.parse().ok()?))
}

/// A time in the common log's form, `17/May/2015:10:05:03 +0000`.
pub(super) fn parse_common_time(text: &str) -> Option<Time> {
    let broken_down = jiff::fmt::strtime::parse("%d/%b/%Y:%H:%M:%S %z", text).ok()?;
    of_timestamp(broken_down.to_timestamp().ok()?)
}

/// A duration in nanoseconds: seconds as a decimal, or with its unit.
pub(super) fn parse_duration_ns(text: &str) -> Option<u64> {
    decimal::scaled_down(text, NANOSECOND_PLACES).ok().or_else(|| {
        let duration: SignedDuration = text.parse().ok()?;
        u64::try_from(duration.as_nanos()).ok()
    })
}

/// The start of what took `duration_ns` and ended at `end`.
pub(super) const fn start_of(end: Time, duration_ns: u64) -> Time {
    Time::from_nanos(end.as_nanos().saturating_sub(duration_ns))
}

/// A time since 1970 in seconds, or in the milliseconds, microseconds or nanoseconds that some logs count in. Their
/// sizes tell them apart: the seconds of all years that can be told have at most eleven digits.
fn parse_epoch(text: &str) -> Option<Time> {
    let whole_digits = text.find('.').unwrap_or(text.len());
    let places = match whole_digits {
        0..=11 => NANOSECOND_PLACES,
        12..=14 => 6,
        15..=17 => 3,
        _ => 0,
    };
    decimal::scaled_down(text, places).ok().map(Time::from_nanos)
}

fn of_timestamp(timestamp: Timestamp) -> Option<Time> {
    u64::try_from(timestamp.as_nanosecond()).ok().map(Time::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_in_every_spelling_with_their_zone() {
        for (text, nanos) in [
            ("17/May/2015:10:05:03 +0000", 1_431_857_103_000_000_000),
            ("[17/May/2015:12:05:03 +0200]", 1_431_857_103_000_000_000),
            ("17/May/2015:00:05:03 -1000", 1_431_857_103_000_000_000),
            ("2015-05-17T10:05:03Z", 1_431_857_103_000_000_000),
            ("2015-05-17T12:05:03.5+02:00", 1_431_857_103_500_000_000),
            ("2015-05-17T10:05:03.123+0000", 1_431_857_103_123_000_000),
            ("2026-12-01T03:57:14.928303156Z", 1_796_097_434_928_303_156),
            ("1431857103", 1_431_857_103_000_000_000),
            ("1796097434.876", 1_796_097_434_876_000_000),
            ("1796097434.8933781238", 1_796_097_434_893_378_123),
            ("1.796097434893378e9", 1_796_097_434_893_378_000),
            ("1796097434876", 1_796_097_434_876_000_000),
            ("1796097434876.25", 1_796_097_434_876_250_000),
            ("1796097434876543", 1_796_097_434_876_543_000),
            ("1796097434876543210", 1_796_097_434_876_543_210),
            ("0", 0),
        ] {
            assert_eq!(parse_time(text), Some(Time::from_nanos(nanos)), "{text}");
        }
    }

    #[test]
    fn what_tells_no_moment_is_refused() {
        for text in [
            "",
            "-",
            "yesterday",
            "2015-05-17T10:05:03",
            "2015/05/17 10:05:03",
            "17/May/2015:10:05:03",
            "31/Feb/2015:10:05:03 +0000",
            "17/May/2015:25:05:03 +0000",
            "1969-12-31T23:59:59Z",
            "-1",
            "2600-01-01T00:00:00Z",
            "99999999999999999999",
        ] {
            assert_eq!(parse_time(text), None, "{text}");
        }
    }

    #[test]
    fn durations_are_seconds_unless_they_have_a_unit() {
        for (text, nanos) in [
            ("0.000105", Some(105_000)),
            ("1.05e-4", Some(105_000)),
            ("0.000", Some(0)),
            ("1.5ms", Some(1_500_000)),
            ("105.25µs", Some(105_250)),
            ("1m2.5s", Some(62_500_000_000)),
            ("-1", None),
            ("-1s", None),
            ("-", None),
            ("", None),
        ] {
            assert_eq!(parse_duration_ns(text), nanos, "{text}");
        }
    }
}
