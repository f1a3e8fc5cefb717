//! Windows on the calendar, held to a calendar library; and what a wall clock that steps does to them.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::arithmetic_side_effects, reason = "small numbers in tests")]

use std::collections::BTreeMap;

use jiff::civil::{Date, DateTime, Weekday};
use jiff::{Timestamp, ToSpan, tz};
use proptest::collection::vec;
use proptest::prelude::*;
use tollgate::{
    CalendarWindow, Call, Change, Clock, Config, Environment, FixedWindow, Keyed, Limiter,
    LimiterConfig, LimiterFactory, ManualClock, Offset, OnFull, Parameters, Period, RateLimiter,
    Request, Time, Value, WallClock,
};

const PERIODS: [Period; 4] = [Period::Hour, Period::Day, Period::Week, Period::Month];
const DAY_MS: u64 = 86_400_000;

fn offset(minutes: i32) -> Offset {
    Offset::minutes_east(minutes).unwrap()
}

fn window(max_requests: u32, period: Period) -> CalendarWindow {
    CalendarWindow::new(max_requests, period).unwrap()
}

/// A time of day in UTC, as `2024-02-29T23:59:59.999`.
fn at(text: &str) -> Time {
    let timestamp: Timestamp = format!("{text}Z").parse().unwrap();
    Time::from_nanos(timestamp.as_nanosecond().try_into().unwrap())
}

/// Where the period of a moment ends, by the library: moment and end in milliseconds since 1970.
fn end_by_library(millis: u64, period: Period, offset_minutes: i32) -> u64 {
    let zone = tz::Offset::from_seconds(offset_minutes * 60).unwrap();
    let timestamp = Timestamp::from_millisecond(millis.try_into().unwrap()).unwrap();
    let local = zone.to_datetime(timestamp);
    let midnight = |date: Date| date.to_datetime(jiff::civil::Time::midnight());
    let end: DateTime = match period {
        Period::Hour => {
            let hour = jiff::civil::time(local.hour(), 0, 0, 0);
            local.date().to_datetime(hour).checked_add(1.hour()).unwrap()
        }
        Period::Day => midnight(local.date().tomorrow().unwrap()),
        Period::Week => midnight(local.date().nth_weekday(1, Weekday::Monday).unwrap()),
        Period::Month | _ => {
            midnight(local.date().first_of_month().checked_add(1.month()).unwrap())
        }
    };
    zone.to_timestamp(end).unwrap().as_millisecond().try_into().unwrap()
}

/// How long the period of a moment lasts from then on, by the algorithm.
fn left(limiter: &Keyed<CalendarWindow>, millis: u64) -> u64 {
    let request = Request::new(limiter.key("alice")).at(Time::from_millis(millis));
    let result = limiter.decide(request).unwrap();
    limiter.reset("alice");
    assert!(result.allowed());
    result.reset_after_ms()
}

#[test]
fn a_period_ends_where_the_library_says_on_each_day_of_four_centuries() {
    for period in PERIODS {
        for offset_minutes in [0, 120, -210] {
            let window = window(1, period).offset(offset(offset_minutes));
            let limiter =
                Keyed::with(window, 1, OnFull::Deny, &Environment::with_clock(ManualClock::new()));
            // From 1970 to 2370; each day at another time, and now and then at a day's very ends.
            for day in 0..146_097 {
                let into = [day * 7_919_993 % DAY_MS, 0, DAY_MS - 1]
                    [usize::from(day % 50 == 0) * usize::try_from(day % 3).unwrap()];
                let millis = day * DAY_MS + into;
                let expected = end_by_library(millis, period, offset_minutes) - millis;
                assert_eq!(left(&limiter, millis), expected, "{period} {offset_minutes} {millis}");
            }
        }
    }
}

#[test]
fn the_ends_of_hours_days_weeks_and_months() {
    let table = [
        (Period::Hour, 0, "2024-02-29T22:59:59.999", 1),
        (Period::Hour, 330, "2024-02-29T22:29:59.999", 1),
        (Period::Day, 0, "2024-02-29T00:00:00", DAY_MS),
        (Period::Day, 0, "2024-02-29T23:59:59.999", 1),
        (Period::Day, -90, "2024-03-01T01:29:59", 1_000),
        // A Sunday and a Monday.
        (Period::Week, 0, "2024-03-03T23:59:59", 1_000),
        (Period::Week, 0, "2024-03-04T00:00:00", 7 * DAY_MS),
        (Period::Month, 0, "2024-02-01T00:00:00", 29 * DAY_MS),
        (Period::Month, 0, "2023-02-01T00:00:00", 28 * DAY_MS),
        (Period::Month, 0, "2100-02-28T00:00:00", DAY_MS),
        (Period::Month, 0, "2024-12-31T23:59:59", 1_000),
        (Period::Month, 840, "2024-12-31T09:59:59", 1_000),
        (Period::Month, 0, "1970-01-01T00:00:00", 31 * DAY_MS),
        // West of Greenwich, 1970 begins in 1969.
        (Period::Day, -720, "1970-01-01T00:00:00", DAY_MS / 2),
    ];
    for (period, minutes, text, expected) in table {
        let environment = Environment::with_clock(ManualClock::new());
        let limiter =
            Keyed::with(window(1, period).offset(offset(minutes)), 1, OnFull::Deny, &environment);
        assert_eq!(
            left(&limiter, at(text).as_nanos() / 1_000_000),
            expected,
            "{period} {minutes} {text}"
        );
    }
}

proptest! {
    /// The model: a map from the end of a period, by the library, to the count in it.
    #[test]
    fn decisions_are_those_of_a_count_for_each_period(
        period in proptest::sample::select(PERIODS.as_slice()),
        minutes in -720..=840_i32,
        max_requests in 1..5_u32,
        start in 0..4_000_000_000_000_u64,
        steps in vec((prop_oneof![0..10_000_u64, 0..DAY_MS, 0..20 * DAY_MS], 0..4_u64), 1..60),
    ) {
        let clock = ManualClock::new();
        let limiter = Keyed::with(
            window(max_requests, period).offset(offset(minutes)), 10, OnFull::Overflow, &Environment::with_clock(clock.clone()),
        );
        let mut counts = BTreeMap::<u64, u64>::new();
        let mut now = start;
        for (step, cost) in steps {
            now += step;
            let end = end_by_library(now, period, minutes);
            let count = counts.entry(end).or_default();
            clock.set(Time::from_millis(now));
            let Ok(result) = limiter.allow_n("alice", cost) else {
                prop_assert!(cost > u64::from(max_requests));
                continue;
            };
            let allowed = *count + cost <= u64::from(max_requests);
            *count += if allowed { cost } else { 0 };
            prop_assert_eq!(result.allowed(), allowed);
            prop_assert_eq!(result.remaining(), u64::from(max_requests) - *count);
            prop_assert_eq!(result.retry_after_ms(), (!allowed).then_some(end - now));
            prop_assert_eq!(result.reset_after_ms(), if *count == 0 { 0 } else { end - now });
            if let Some(wait) = result.retry_after_ms() {
                let later = |millis| Request::new(limiter.key("alice")).cost(cost).at(Time::from_millis(millis));
                prop_assert!(!limiter.look(later(now + wait - 1)).unwrap().allowed());
                prop_assert!(limiter.look(later(now + wait)).unwrap().allowed());
            }
        }
    }

    /// Nobody has more than the quota in a period, whoever leaves a full table, however the wall clock steps.
    #[test]
    fn never_over_in_a_flood_and_whatever_the_wall_clock_does(
        calls in vec((0..30_u32, -100_000_000..100_000_000_i64), 1..400),
    ) {
        let wall = ManualClock::new();
        let environment = Environment::with_clock(ManualClock::new()).with_wall_clock(wall.clone());
        let limiter = Keyed::with(window(2, Period::Day), 8, OnFull::Overflow, &environment);
        let mut latest = 0;
        let mut wall_ms = 1_000 * DAY_MS;
        let mut counts = BTreeMap::<(u32, u64), u32>::new();
        for (client, step_ms) in calls {
            wall_ms = wall_ms.saturating_add_signed(step_ms);
            wall.set(Time::from_millis(wall_ms));
            latest = latest.max(wall_ms);
            if limiter.allow(&client.to_string()).allowed() {
                let count = counts.entry((client, latest / DAY_MS)).or_default();
                *count += 1;
                prop_assert!(*count <= 2);
            }
        }
    }
}

/// A limiter of two a day for every endpoint, its clock and its wall clock, which shows noon.
fn two_a_day() -> (RateLimiter, ManualClock, ManualClock) {
    let (clock, wall) = (ManualClock::new(), ManualClock::new());
    wall.set(at("2024-05-01T12:00:00"));
    let config = Config::builder().default(window(2, Period::Day)).build().unwrap();
    let builder = RateLimiter::builder(config).clock(clock.clone()).wall_clock(wall.clone());
    (builder.build(), clock, wall)
}

#[test]
fn a_step_back_of_the_wall_clock_gives_no_quota_again() {
    let (limiter, clock, wall) = two_a_day();
    wall.set(at("2024-05-02T00:30:00"));
    assert!(limiter.allow_n("alice", "/", 2).unwrap().allowed());
    // Yesterday is over, though the clock says it is yesterday.
    wall.set(at("2024-05-01T23:30:00"));
    clock.advance(std::time::Duration::from_secs(1));
    let denied = limiter.allow("alice", "/");
    assert_eq!(denied.retry_after_ms(), Some(23 * 3_600_000 + 1_800_000));
    assert_eq!(limiter.counts()[0].1.mark_ahead_ms, 3_600_000);
    // Midnight comes a second time, and opens nothing a second time.
    wall.set(at("2024-05-02T00:00:00"));
    assert!(!limiter.allow("alice", "/").allowed());
    wall.set(at("2024-05-03T00:00:00"));
    assert_eq!(limiter.allow("alice", "/").remaining(), 1);
}

#[test]
fn a_step_forward_opens_the_next_window_once() {
    let (limiter, _clock, wall) = two_a_day();
    assert!(limiter.allow_n("alice", "/", 2).unwrap().allowed());
    for (now, allowed) in [
        ("2024-05-01T23:59:59.999", false),
        ("2024-05-04T00:00:00", true),
        ("2024-05-04T00:00:01", false),
        // Set right again: the days it leapt over are not given.
        ("2024-05-02T10:00:00", false),
        ("2024-05-03T10:00:00", false),
        ("2024-05-04T10:00:00", false),
        ("2024-05-05T00:00:00", true),
    ] {
        wall.set(at(now));
        let result = limiter.allow_n("alice", "/", 2).unwrap();
        assert_eq!(result.allowed(), allowed, "{now}");
    }
}

#[test]
fn only_windows_on_the_calendar_ask_the_wall_clock() {
    struct Broken;
    impl WallClock for Broken {
        fn time_of_day(&self) -> Time {
            panic!("nobody asked")
        }
    }
    let fixed = FixedWindow::new(1, std::time::Duration::from_secs(1)).unwrap();
    let config = Config::builder().default(fixed).build().unwrap();
    let clock = ManualClock::new();
    let limiter = RateLimiter::builder(config).wall_clock(Broken).clock(clock).build();
    assert!(limiter.allow("alice", "/").allowed());
    let _report = limiter.reload(Config::builder().default(fixed).build().unwrap());
    assert_eq!(limiter.allow("alice", "/").retry_after_ms(), Some(1_000));
    assert_eq!(limiter.counts()[0].1.keys, 1);
}

#[test]
fn the_clock_does_not_move_the_calendar_and_a_time_of_the_callers_does() {
    let (limiter, clock, wall) = two_a_day();
    clock.set(Time::from_millis(5 * DAY_MS));
    assert!(limiter.allow_n("alice", "/", 2).unwrap().allowed());
    clock.set(Time::from_millis(9 * DAY_MS));
    assert_eq!(limiter.allow("alice", "/").retry_after_ms(), Some(12 * 3_600_000));
    // Times that come with calls are the clock's, and as far from now by the wall clock.
    let later = clock.now() + std::time::Duration::from_secs(12 * 3_600);
    let call = Call::new("alice", "/").at(later);
    assert!(limiter.decide(&call).unwrap().allowed());
    let many = limiter.allow_many(&[Call::new("bob", "/"), call]);
    assert!(many.iter().flatten().all(tollgate::RateLimitResult::allowed));
    drop(wall);
}

#[test]
fn without_a_wall_clock_an_injected_clock_counts_from_1970() {
    let clock = ManualClock::new();
    clock.set(at("2015-05-17T23:59:59"));
    let limiter = Keyed::with(
        window(1, Period::Day),
        10,
        OnFull::Deny,
        &Environment::with_clock(clock.clone()),
    );
    assert_eq!(limiter.allow("alice").reset_after_ms(), 1_000);
    clock.set(at("2015-05-18T00:00:00"));
    assert!(limiter.allow("alice").allowed());
}

#[test]
fn a_reload_keeps_the_count_on_the_calendar_and_loses_it_between_the_kinds() {
    let (limiter, _clock, wall) = two_a_day();
    let reload = |algorithm: LimiterConfig| {
        let report = limiter.reload(Config::builder().default(algorithm).build().unwrap());
        let (_, change) = report.changes().next().unwrap();
        let figures = limiter.peek("alice", "/");
        (change, figures.remaining(), figures.reset_after_ms())
    };
    let changed = Change::Changed { forgiven: 0 };
    assert_eq!(limiter.allow("alice", "/").remaining(), 1);
    let noon = 12 * 3_600_000;
    assert_eq!(reload(window(2, Period::Day).into()), (Change::Kept, 1, noon));
    assert_eq!(reload(window(9, Period::Day).into()), (changed, 8, noon));
    assert_eq!(reload(window(9, Period::Hour).into()), (changed, 8, 3_600_000));
    assert_eq!(reload(window(1, Period::Month).into()), (changed, 0, 30 * DAY_MS + noon));
    let east = window(5, Period::Day).offset(offset(60));
    assert_eq!(reload(east.into()), (changed, 4, noon - 3_600_000));
    wall.set(at("2024-05-01T23:00:00"));
    assert_eq!(limiter.peek("alice", "/").remaining(), 5);
    assert!(limiter.allow("alice", "/").allowed());
    let fixed = FixedWindow::new(5, std::time::Duration::from_secs(1)).unwrap();
    assert_eq!(reload(fixed.into()), (Change::Replaced, 5, 0));
}

fn parameters(fields: &[(&str, &str)]) -> Parameters {
    fields.iter().fold(Parameters::new(), |parameters, (name, text)| {
        let value = match text.parse::<u64>() {
            Ok(_) => Value::Number((*text).to_owned()),
            Err(_) => Value::Text((*text).to_owned()),
        };
        parameters.with(*name, value)
    })
}

#[test]
fn a_fixed_window_is_read_by_its_anchor() {
    let factory = LimiterFactory::new();
    let read = |fields| factory.algorithm("FixedWindow", &parameters(fields)).unwrap();
    let calendar = read(&[
        ("anchor", "calendar"),
        ("maxRequests", "5"),
        ("per", "week"),
        ("offset", "-03:30"),
    ]);
    assert_eq!(calendar.downcast_ref(), Some(&window(5, Period::Week).offset(offset(-210))));
    assert_eq!(calendar.name(), "FixedWindow");
    let utc = read(&[("maxRequests", "5"), ("per", "month"), ("anchor", "calendar")]);
    assert_eq!(utc.downcast_ref(), Some(&window(5, Period::Month)));
    let first = FixedWindow::new(5, std::time::Duration::from_secs(60)).unwrap();
    for fields in [
        &[("maxRequests", "5"), ("window", "1m")][..],
        &[("anchor", "first"), ("maxRequests", "5"), ("window", "1m")],
    ] {
        assert_eq!(read(fields).downcast_ref(), Some(&first));
    }
}

#[test]
fn parameters_that_do_not_go_together_are_told_what_would() {
    let factory = LimiterFactory::new();
    let table: &[(&[(&str, &str)], &str)] = &[
        (
            &[("anchor", "calendr"), ("maxRequests", "5"), ("per", "day")],
            "`anchor` is \"calendr\"; expected one of first, calendar; did you mean `calendar`?",
        ),
        (
            &[("anchor", "7"), ("maxRequests", "5"), ("window", "1m")],
            "`anchor` is 7; expected one of first, calendar",
        ),
        (
            &[("maxRequests", "5"), ("window", "1d"), ("per", "day"), ("offset", "UTC")],
            "`per` is for windows on the calendar; say `anchor: calendar` too; `offset` is for windows on the calendar; \
             say `anchor: calendar` too",
        ),
        (
            &[
                ("anchor", "calendar"),
                ("maxRequests", "0"),
                ("per", "year"),
                ("offset", "Europe/Paris"),
            ],
            "`maxRequests` is 0; expected a whole number from 1 to 4294967295; to let nobody call, say `deny: true`; \
             `per` is \"year\"; expected one of hour, day, week, month; `offset` is \"Europe/Paris\"; expected UTC or a \
             fixed offset from it, such as \"+02:00\", from -12:00 to +14:00",
        ),
        (
            &[("anchor", "calendar"), ("maxRequests", "5"), ("window", "1d")],
            "missing `per`; expected one of hour, day, week, month; unknown field `window`; known here: anchor, \
             maxRequests, per, offset",
        ),
    ];
    for (fields, expected) in table {
        let faults = factory.algorithm("FixedWindow", &parameters(fields)).unwrap_err();
        assert_eq!(faults.to_string(), *expected, "{fields:?}");
    }
    let calendar = parameters(&[("anchor", "calendar"), ("maxRequests", "5"), ("window", "1d")]);
    assert!(FixedWindow::from_parameters(&calendar).is_err());
    assert!(CalendarWindow::new(0, Period::Day).is_err());
    assert!(Offset::minutes_east(841).is_err() && Offset::minutes_east(-721).is_err());
}
