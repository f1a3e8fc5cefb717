//! What went wrong in rate limiters of other languages, as it must go here. `docs/cases.md` lists all cases.

#![expect(clippy::arithmetic_side_effects, reason = "small numbers in tests")]

mod table;

use table::Answer::{self, Allowed, Denied, Never, TableFull};
use table::{Row, Table, bucket, counter, fixed, log};
use tollgate::{
    Call, Change, Config, FixedWindow, LimiterConfig, ManualClock, OnFull, Rate, RateError,
    RateLimiter, Time, TokenBucket,
};

/// Nothing remains, and the wait is so long.
const fn used_up(retry_after_ms: u64) -> Answer {
    Denied { remaining: 0, retry_after_ms }
}

/// How many calls are admitted of one each 50 ms, from one time to another, both included.
fn admitted_of_polls(table: &Table, from_ms: u64, to_ms: u64) -> usize {
    let polls = (from_ms..=to_ms).step_by(50).map(Time::from_millis);
    polls.map(|now| table.admitted(now, "a", 1)).sum()
}

// The wait is true and no longer than it must be.

// A fifth of the token was back, and the wait was that of a whole one.
// https://github.com/bucket4j/bucket4j/issues/88
#[test]
fn l01_the_part_of_a_token_that_is_back_shortens_the_wait() {
    Table::of(bucket(1, "1/s")).check(&[
        (0, "a", 1, Allowed(0)),
        (200, "a", 1, used_up(800)),
        (999, "a", 1, used_up(1)),
        (1_000, "a", 1, Allowed(0)),
    ]);
}

// A third of a second was rounded down to whole nanoseconds: who came back then was refused, with a wait of 0.
// Seen by running bucket4j 8.19: https://github.com/bucket4j/bucket4j
#[test]
fn l02_a_wait_is_rounded_up_and_never_zero() {
    Table::of(bucket(3, "3/s")).check(&[
        (0, "a", 3, Allowed(0)),
        (0, "a", 1, used_up(334)),
        (333, "a", 1, used_up(1)),
        (334, "a", 1, Allowed(0)),
    ]);
    Table::of(bucket(3, "3/s")).check_ns(&[
        (0, "a", 3, Allowed(0)),
        (333_333_333, "a", 1, used_up(1)),
        (333_333_334, "a", 1, Allowed(0)),
    ]);
}

// After exactly an hour there were 0.9999999999997 tokens, and that was not enough for one.
// https://github.com/golang/go/issues/46579
#[test]
fn l04_a_whole_token_is_whole_on_time() {
    Table::of(bucket(1, "1/h")).check(&[
        (0, "a", 1, Allowed(0)),
        (3_599_999, "a", 1, used_up(1)),
        (3_600_000, "a", 1, Allowed(0)),
    ]);
}

// The wait was cut to whole seconds, then 0, and after the window's end a large negative number.
// https://github.com/alisaifee/flask-limiter/issues/62
#[test]
fn l05_a_wait_is_never_cut_short_and_never_negative() {
    let table = Table::of(fixed(5, 10_000));
    table.check(&[
        (0, "a", 5, Allowed(0)),
        (400, "a", 1, used_up(9_600)),
        (10_000, "a", 1, Allowed(4)),
    ]);
    for at_ms in (10_000..60_000).step_by(7) {
        let result = table.call(Time::from_millis(at_ms), "a", 1).unwrap();
        let waits = result.retry_after_ms().is_some_and(|wait_ms| (1..=10_000).contains(&wait_ms));
        assert_eq!(waits, !result.allowed(), "at {at_ms} ms");
    }
}

// At the edge of the window a look said yes and the call was refused: the two judged by different edges.
// Seen by running limits 5.8: https://github.com/alisaifee/limits
#[test]
fn l07_a_look_and_a_call_judge_by_the_same_edge() {
    let table = Table::of(log(2, 10_000));
    table.check(&[
        (0, "a", 1, Allowed(1)),
        (0, "a", 1, Allowed(0)),
        (0, "a", 1, used_up(10_000)),
        (9_999, "a", 1, used_up(1)),
    ]);
    assert!(!table.limiter.peek("a", "/").allowed());
    table.clock.set(Time::from_millis(10_000));
    assert!(table.limiter.peek("a", "/").allowed());
    table.check(&[(10_000, "a", 1, Allowed(1))]);
}

// A waiter that woke exactly when it was told was refused with a wait of 0, and spun.
// https://github.com/vutran1710/PyrateLimiter/pull/289
#[test]
fn l08_a_stamp_is_gone_when_it_is_as_old_as_the_window() {
    Table::of(log(1, 100)).check(&[
        (0, "a", 1, Allowed(0)),
        (0, "a", 1, used_up(100)),
        (99, "a", 1, used_up(1)),
        (100, "a", 1, Allowed(0)),
    ]);
}

// Clients were sent away until the end of the window, though the window before frees one call each second.
// https://github.com/symfony/symfony/issues/40289
#[test]
fn l10_a_counters_wait_is_until_the_window_before_has_faded_enough() {
    Table::of(counter(60, 60_000)).check(&[
        (0, "a", 60, Allowed(0)),
        (72_000, "a", 12, Allowed(0)),
        (72_000, "a", 1, used_up(1_000)),
        (72_999, "a", 1, used_up(1)),
        (73_000, "a", 1, Allowed(0)),
    ]);
}

// The wait was the whole window, whatever part of it had passed.
// https://github.com/symfony/symfony/issues/46875
#[test]
fn l11_a_fixed_windows_wait_counts_the_part_that_is_gone() {
    Table::of(fixed(5, 3_600_000))
        .check(&[(0, "a", 5, Allowed(0)), (600_000, "a", 1, used_up(3_000_000))]);
}

// The same in another library: twenty seconds were announced where one was left.
// https://github.com/dotnet/runtime/issues/92557
#[test]
fn l13_a_fixed_windows_wait_is_what_is_left_of_it() {
    Table::of(fixed(2, 20_000)).check(&[(0, "a", 2, Allowed(0)), (19_000, "a", 1, used_up(1_000))]);
}

// The wait was in whole periods, rounded down, and the part of the period that had passed was not taken off.
// (Refill in steps does not exist here; this is the continuous bucket of the same rate.)
// https://github.com/dotnet/runtime/issues/77991
// https://github.com/dotnet/runtime/issues/129036
#[test]
fn l14_a_wait_is_not_in_whole_periods() {
    Table::of(bucket(10, "2/s")).check(&[
        (0, "a", 10, Allowed(0)),
        (400, "a", 3, used_up(1_100)),
        (1_499, "a", 3, Denied { remaining: 2, retry_after_ms: 1 }),
        (1_500, "a", 3, Allowed(0)),
    ]);
}

// The wait was 1,000 ms at any rate.
// https://github.com/ExHammer/hammer/issues/165
// https://github.com/ExHammer/hammer-backend-redis/issues/97
#[test]
fn l16_a_wait_follows_the_rate() {
    Table::of(bucket(5, "5/s")).check(&[(0, "a", 5, Allowed(0)), (0, "a", 1, used_up(200))]);
    Table::of(bucket(5, "1/10s")).check(&[(0, "a", 5, Allowed(0)), (0, "a", 1, used_up(10_000))]);
}

// The bucket was refilled once a second, so a rate above the capacity came down to the capacity.
// https://github.com/ExHammer/hammer/issues/192
#[test]
fn l17_a_rate_above_the_capacity_is_reached() {
    Table::of(bucket(5, "20/s")).check(&[
        (0, "a", 5, Allowed(0)),
        (250, "a", 5, Allowed(0)),
        (500, "a", 5, Allowed(0)),
        (750, "a", 5, Allowed(0)),
        (1_000, "a", 5, Allowed(0)),
        (1_000, "a", 1, used_up(50)),
    ]);
}

// The counter's wait was too short at first and too long later, and the estimate was rounded down, which let a call in
// early. (The window opens with a call of its own here, so the four come as one and three.)
// Seen by running throttled-py: https://github.com/ZhuoZhuoCrayon/throttled-py/pull/89
#[test]
fn l19_a_counters_wait_is_exact_all_the_way() {
    Table::of(counter(4, 60_000)).check(&[
        (0, "a", 1, Allowed(3)),
        (59_000, "a", 3, Allowed(0)),
        (59_000, "a", 1, used_up(16_000)),
        (60_000, "a", 1, used_up(15_000)),
        (61_000, "a", 1, used_up(14_000)),
        (74_999, "a", 1, used_up(1)),
        (75_000, "a", 1, Allowed(0)),
        (80_000, "a", 1, used_up(10_000)),
        (90_000, "a", 1, Allowed(0)),
    ]);
}

// A cost as large as the capacity was called impossible.
// https://github.com/redis/redis/pull/14826
#[test]
fn l20_a_cost_equal_to_the_capacity_can_be_met() {
    Table::of(bucket(5, "1/s")).check(&[
        (0, "a", 1, Allowed(4)),
        (0, "a", 5, Denied { remaining: 4, retry_after_ms: 1_000 }),
        (1_000, "a", 5, Allowed(0)),
    ]);
}

// A timer was to clear the window; when it came late, the wait was negative.
// https://github.com/animir/node-rate-limiter-flexible/issues/238
#[test]
fn l22_a_windows_end_needs_no_timer() {
    Table::of(fixed(20, 5_000)).check(&[(0, "a", 20, Allowed(0)), (7_009, "a", 1, Allowed(19))]);
}

// Costs above the capacity.

// A cost beyond the log's length looked up an entry that is not there, which read as an empty window.
// https://github.com/alisaifee/limits/issues/151
#[test]
fn l23_a_cost_beyond_the_logs_length_is_impossible() {
    Table::of(log(10, 60_000)).check(&[
        (0, "a", 5, Allowed(5)),
        (0, "a", 100, Never(5)),
        (0, "a", 5, Allowed(0)),
        (0, "a", 1, used_up(60_000)),
    ]);
}

// Calls for five tokens of a bucket of one returned at once, as if they had been served.
// https://github.com/bucket4j/bucket4j/issues/20
#[test]
fn l25_an_impossible_cost_is_an_error_at_once_each_time() {
    Table::of(bucket(1, "1/s")).check(&[(0, "a", 5, Never(1)); 5]);
}

// Whether an oversized call drains the bucket was unclear. It leaves no trace here.
// https://github.com/rwz/redis-gcra/issues/6
#[test]
fn l26_an_impossible_cost_drains_nothing() {
    Table::of(bucket(300, "300/min"))
        .check(&[(0, "a", 301, Never(300)), (0, "a", 1, Allowed(299))]);
}

// Right after the only unit was used, one was reported to remain.
// https://github.com/viafintech/gcra-ruby/issues/11
#[test]
fn l28_an_impossible_cost_reports_what_remains() {
    Table::of(bucket(1, "10/s")).check(&[
        (0, "a", 1, Allowed(0)),
        (0, "a", 2, Never(0)),
        (0, "a", 1, used_up(100)),
    ]);
}

// The first caller got 5,000 at once, and those after it waited for the debt to be paid.
// https://github.com/google/guava/issues/7130
#[test]
fn l29_nobody_draws_on_what_others_have_yet_to_earn() {
    Table::of(bucket(5, "5/s")).check(&[(0, "a", 5_000, Never(5)), (0, "a", 5, Allowed(0))]);
}

// The level was compared with the capacity before the cost was added, so the last call overfilled it.
// Read in the source of hammer: https://github.com/ExHammer/hammer
#[test]
fn l31_the_cost_counts_before_the_comparison() {
    Table::of(bucket(10, "1/s")).check(&[
        (0, "a", 9, Allowed(1)),
        (0, "a", 5, Denied { remaining: 1, retry_after_ms: 4_000 }),
        (4_000, "a", 5, Allowed(0)),
    ]);
}

// Windows and bursts.

// Windows that start with the clock's minute let a whole quota through on both sides of it. A window that opens with
// its first call lets one less through; a log and a counter hold what they promise.
// https://github.com/rack/rack-attack/issues/121
// https://github.com/rack/rack-attack/issues/601
#[test]
fn l32_what_passes_around_the_end_of_a_window_is_as_documented() {
    let around_the_end = |last: Answer| {
        [(0, "a", 1, Allowed(4)), (59_000, "a", 4, Allowed(0)), (60_000, "a", 5, last)]
    };
    Table::of(fixed(5, 60_000)).check(&around_the_end(Allowed(0)));
    Table::of(fixed(5, 60_000))
        .check(&[(59_000, "a", 5, Allowed(0)), (60_000, "a", 5, used_up(59_000))]);
    Table::of(log(5, 60_000))
        .check(&[(59_000, "a", 5, Allowed(0)), (60_000, "a", 5, used_up(59_000))]);
    let table = Table::of(counter(5, 60_000));
    table.check(&around_the_end(used_up(60_000)));
    table.check(&[(60_000, "a", 1, used_up(12_000))]);
}

// A window that belonged to everyone had mostly passed when a client came for the first time.
// https://github.com/express-rate-limit/express-rate-limit/issues/207
#[test]
fn l34_a_window_opens_with_the_keys_first_call() {
    Table::of(fixed(5, 60_000)).check(&[
        (30_000, "a", 5, Allowed(0)),
        (61_000, "a", 1, used_up(29_000)),
        (90_000, "a", 1, Allowed(4)),
    ]);
}

// What remains was counted from the current window alone.
// https://github.com/upstash/ratelimit-js/pull/61
#[test]
fn l35_what_remains_counts_the_window_before() {
    let table = Table::of(counter(100, 60_000));
    table.check(&[(0, "a", 50, Allowed(50)), (66_000, "a", 10, Allowed(45))]);
    assert_eq!(table.limiter.peek("a", "/").remaining(), 45);
    table.check(&[(66_000, "a", 45, Allowed(0)), (66_000, "a", 1, used_up(1_200))]);
}

// The window before weighed 0.999, which was cut to 0: at one a second a second call passed at once.
// https://github.com/tempesta-tech/xFW/pull/79
#[test]
fn l37_a_weight_just_below_one_is_not_cut_to_zero() {
    Table::of(counter(1, 1_000)).check(&[
        (0, "a", 1, Allowed(0)),
        (1_001, "a", 1, used_up(999)),
        (2_000, "a", 1, Allowed(0)),
    ]);
}

// A quota spent at the very end of a window counts as if it had been spread, so nearly another passes in the next. That
// is the counter's promise, 2 · 10 - 2 here; rounding down let one more through. A log lets through ten.
// https://github.com/ELares/IronTraffic/issues/212
#[test]
fn l38_a_counters_worst_case_is_as_promised_and_a_log_has_none() {
    let table = Table::of(counter(10, 60_000));
    table.check(&[(0, "a", 1, Allowed(9))]);
    assert_eq!(table.admitted(Time::from_millis(59_999), "a", 20), 9);
    assert_eq!(admitted_of_polls(&table, 60_000, 119_900), 9);

    let table = Table::of(log(10, 60_000));
    assert_eq!(table.admitted(Time::from_millis(59_999), "a", 20), 10);
    assert_eq!(admitted_of_polls(&table, 60_000, 119_950), 0);
    table.check(&[(119_998, "a", 1, used_up(1)), (119_999, "a", 10, Allowed(0))]);
}

// After a pause every call passed, since the allowance for late callers was granted again each time.
// https://github.com/uber-go/ratelimit/issues/119
// https://github.com/uber-go/ratelimit/issues/122
#[test]
fn l40_the_credit_of_a_pause_is_given_once() {
    Table::of(bucket(2, "1/s")).check(&[
        (0, "a", 1, Allowed(1)),
        (2_000, "a", 1, Allowed(1)),
        (2_000, "a", 1, Allowed(0)),
        (2_000, "a", 1, used_up(1_000)),
    ]);
}

// "15 a minute" by a bucket let 29 through in the first minute. That is a bucket's promise, its capacity and what
// refills; who wants 15 in any minute wants the log.
// https://github.com/AlaskanTuna/Rokabot/issues/149
#[test]
fn l43_a_bucket_gives_its_capacity_and_its_refill_and_a_log_its_limit() {
    assert_eq!(admitted_of_polls(&Table::of(bucket(15, "15/min")), 0, 59_950), 29);
    assert_eq!(admitted_of_polls(&Table::of(log(15, 60_000)), 0, 59_950), 15);
}

// Numbers.

// A token of less than the clock's tick took no time at all, and so cost nothing. Such a rate is refused here.
// https://github.com/tylerbutler/beryl/issues/434
#[test]
fn l44_a_rate_above_one_a_tick_is_refused() {
    assert_eq!(Rate::parse_friendly("1000000001/1000ms"), Err(RateError::TooFast));
    Table::of(bucket(1, "1000000000/s")).check_ns(&[
        (0, "a", 1, Allowed(0)),
        (0, "a", 1, used_up(1)),
        (1, "a", 1, Allowed(0)),
        (1, "a", 1, used_up(1)),
    ]);
}

// Seven in ten nanoseconds made a token take one whole nanosecond, and the period then held ten.
// Read in the source of clipperhouse/rate: https://github.com/clipperhouse/rate
#[test]
fn l46_a_token_takes_fractions_of_a_nanosecond() {
    let table = Table::of(bucket(7, "7/10ns"));
    table.check_ns(&[(0, "a", 7, Allowed(0)), (0, "a", 1, used_up(1))]);
    let each = (1..=10).map(|nanos| table.admitted(Time::from_nanos(nanos), "a", 7));
    assert_eq!(each.collect::<Vec<_>>(), [0, 1, 1, 0, 1, 1, 0, 1, 1, 1]);
    let each = (1_010..).step_by(1_000).take(5_000).map(Time::from_nanos);
    let full: usize = each.map(|now| table.admitted(now, "a", 8)).sum();
    assert_eq!(full, 7 * 5_000, "full each time, and never above seven");
}

// After twelve idle hours the product of refill and time overflowed, and what remained was negative. (The three limits
// of one key are three limiters here.)
// https://github.com/bucket4j/bucket4j/issues/51
#[test]
fn l47_half_a_day_of_idling_does_not_overflow() {
    for (capacity, refill, last) in [
        (700_000, "700000/h", Allowed(699_699)),
        (14_500, "14500/min", Allowed(14_199)),
        (300, "300/s", used_up(4)),
    ] {
        Table::of(bucket(capacity, refill)).check(&[
            (0, "a", 1, Allowed(u64::from(capacity) - 1)),
            (43_200_000, "a", 300, Allowed(u64::from(capacity) - 300)),
            (43_200_000, "a", 1, last),
        ]);
    }
}

// A rate of 0 let everything pass in one version and nothing in another.
// https://github.com/golang/go/issues/39984
// https://github.com/golang/go/issues/68541
#[test]
fn l49_a_rate_of_zero_is_refused() {
    for zero in ["0", "0.0", "-0", "0e9"] {
        assert_eq!(Rate::per_second(zero), Err(RateError::NotPositive), "{zero}");
    }
    for zero in ["0/s", "0.000/day", "0/h"] {
        assert_eq!(Rate::parse_friendly(zero), Err(RateError::NotPositive), "{zero}");
    }
    assert!(TokenBucket::per_second(0).burst(1).build().is_err());
}

// A limit of 0 meant "no limit" in one major version and "nothing passes" in the next.
// https://github.com/express-rate-limit/express-rate-limit (changelog of 7.0)
#[test]
fn l50_a_limit_of_zero_is_refused() {
    let window = std::time::Duration::from_secs(1);
    let faults = [
        Config::builder().default(FixedWindow::new(0, window)),
        Config::builder().default(tollgate::SlidingWindowLog::new(0, window)),
        Config::builder().default(tollgate::SlidingWindowCounter::new(0, window)),
        Config::builder().default(TokenBucket::per_second(1).burst(0)),
    ]
    .map(|config| config.build().unwrap_err().to_string());
    for fault in faults {
        assert!(fault.contains("is 0; expected a whole number from 1 to"), "{fault}");
    }
}

// A denial costs nothing.

// Refusals were logged too, so a steady client, once refused, was refused for good.
// https://github.com/peterkhayes/rolling-rate-limiter/issues/9
// https://github.com/Kong/docs.konghq.com/pull/6586
// https://github.com/mennanov/limiters/issues/110
#[test]
fn l53_denied_calls_do_not_fill_the_log() {
    let allowed = (0..10_u64).map(|call| (30_000 * call, "a", 1, Allowed(9 - call)));
    let denied = (10..20).map(|call| (30_000 * call, "a", 1, used_up(600_000 - 30_000 * call)));
    let again = [(600_000, "a", 1, Allowed(0)), (630_000, "a", 1, Allowed(0))];
    let rows: Vec<Row<'_>> = allowed.chain(denied).chain(again).collect();
    Table::of(log(10, 600_000)).check(&rows);
}

// The first refused call of a window was counted in it.
// Seen by running throttled-py: https://github.com/ZhuoZhuoCrayon/throttled-py
#[test]
fn l55_a_denied_call_is_not_counted_in_a_new_window() {
    let table = Table::of(counter(4, 60_000));
    table.check(&[
        (0, "a", 1, Allowed(3)),
        (59_000, "a", 3, Allowed(0)),
        (60_000, "a", 1, used_up(15_000)),
        (75_000, "a", 1, Allowed(0)),
    ]);
    // Half of four has faded and one was admitted; one more counted would leave none.
    table.check(&[(90_000, "a", 0, Allowed(1))]);
}

// Every call raised the count, refused ones too, so whoever polled for a free place paid for asking.
// https://github.com/ExHammer/hammer/issues/132
#[test]
fn l56_a_thousand_denials_use_up_nothing() {
    let table = Table::of(fixed(5, 1_000));
    assert_eq!(table.admitted(Time::ZERO, "a", 5), 5);
    table.check(&vec![(0, "a", 1, used_up(1_000)); 1_000]);
    assert_eq!(table.limiter.peek("a", "/").reset_after_ms(), 1_000);
    table.check(&[(1_000, "a", 1, Allowed(4))]);
}

// Time.

// The clock was set back, no bucket was refilled any more, and everyone was locked out. Here too time stands still
// until the clock has caught up, so that nobody gains by it; waits count from the latest time seen, and a count shows
// the gap.
// https://github.com/sethvargo/go-limiter/issues/41
// https://github.com/juju/ratelimit/issues/22
#[test]
fn l58_a_clock_set_back_hands_out_nothing() {
    let table = Table::of(fixed(5, 1_000));
    table.check(&[
        (3_600_000, "a", 5, Allowed(0)),
        (0, "a", 1, used_up(1_000)),
        (1_000, "a", 1, used_up(1_000)),
        (3_600_999, "a", 1, used_up(1)),
        (3_601_000, "a", 5, Allowed(0)),
    ]);
    table.clock.set(Time::ZERO);
    assert_eq!(table.limiter.counts()[0].1.mark_ahead_ms, 3_601_000, "operators see it");
}

// A second that had elapsed backwards took a second's worth of tokens away.
// https://github.com/SandeepVashishtha/Eventra/pull/6489
#[test]
fn l59_time_that_elapsed_backwards_takes_nothing_away() {
    Table::of(bucket(5, "5/s")).check(&[
        (10_000, "a", 3, Allowed(2)),
        (9_000, "a", 1, Allowed(1)),
        (9_000, "a", 2, Denied { remaining: 1, retry_after_ms: 200 }),
        (10_199, "a", 2, Denied { remaining: 1, retry_after_ms: 1 }),
        (10_200, "a", 2, Allowed(0)),
    ]);
}

// A jump of the clock to its far end overflowed what is computed from it.
// https://github.com/golang/time/pull/20
#[test]
fn l61_a_clock_at_its_far_end_hands_out_one_quota_and_no_more() {
    let end = Time::from_nanos(u64::MAX);
    for table in [
        Table::of(bucket(5, "1/s")),
        Table::of(log(5, 1_000)),
        Table::of(fixed(5, 1_000)),
        Table::of(counter(5, 1_000)),
    ] {
        table.check(&[(0, "a", 5, Allowed(0))]);
        table.check_ns(&[(u64::MAX, "a", 1, Allowed(4))]);
        assert_eq!(table.admitted(end, "a", 20), 4);
        // A clock that only leapt there hands out nothing when it is back.
        assert_eq!(table.admitted(Time::from_millis(1_000), "a", 20), 0);
    }
}

// Reload.

// A reload of the same config filled every bucket.
// https://github.com/nuetzliches/hookaido/pull/239
#[test]
fn l70_a_hundred_reloads_fill_no_bucket() {
    let table = Table::of(bucket(10, "1/s"));
    table.check(&[(0, "a", 8, Allowed(2))]);
    for _ in 0..100 {
        assert_eq!(table.reload(0, bucket(10, "1/s")), Change::Kept);
    }
    // Changed and changed back, they carry the debt over each time.
    for _ in 0..100 {
        assert_eq!(table.reload(0, bucket(10, "1/3s")), Change::Changed { forgiven: 0 });
        assert_eq!(table.reload(0, bucket(10, "1/s")), Change::Changed { forgiven: 0 });
    }
    table.check(&[(0, "a", 2, Allowed(0)), (0, "a", 1, used_up(1_000))]);
}

// A ratio of 0.999 between the old limits and the new was cut to 0, and what had been earned was lost.
// Seen by running bucket4j 8.19: https://github.com/bucket4j/bucket4j
#[test]
fn l71_the_part_of_a_token_earned_outlives_a_reload() {
    let table = Table::of(bucket(10, "1/1000ms"));
    table.check(&[(0, "a", 10, Allowed(0))]);
    table.reload(900, bucket(10, "1/999ms"));
    table.check(&[
        (900, "a", 1, used_up(100)),
        (999, "a", 1, used_up(1)),
        (1_000, "a", 1, Allowed(0)),
    ]);
}

// Debt was kept as time: six seconds are three calls at the old rate and three hundred at the new, a hundred times
// higher, so raising the rate locked users out.
// https://github.com/brandur/redis-cell/issues/54
#[test]
fn l73_a_raised_rate_does_not_turn_time_owed_into_more_calls() {
    let table = Table::of(bucket(16, "10/20s"));
    table.check(&[(0, "a", 1, Allowed(15)), (0, "a", 1, Allowed(14)), (0, "a", 1, Allowed(13))]);
    table.reload(0, bucket(16, "1000/20s"));
    table.check(&[(0, "a", 1, Allowed(12))]);
}

// Keys that were in use kept the old limit until they had been idle.
// https://github.com/afreidah/s3-orchestrator/issues/84
// https://github.com/supabase/auth/pull/2358
#[test]
fn l74_keys_in_use_come_under_the_new_limit_at_once() {
    let table = Table::of(bucket(100, "100/min"));
    table.check(&[(0, "a", 50, Allowed(50))]);
    assert_eq!(table.reload(0, bucket(5, "5/min")), Change::Changed { forgiven: 1 });
    table.check(&[(0, "a", 1, used_up(12_000)), (0, "newcomer", 5, Allowed(0))]);
}

// State of a rule that was removed turned up again when the rule was added back, and rules that had not changed lost
// theirs in the same reload.
// https://github.com/prometheus/exporter-toolkit/pull/442
// https://github.com/3scale/APIcast/issues/667
#[test]
fn l85_a_limit_added_back_starts_anew_and_an_unchanged_one_keeps_its_state() {
    let hourly = || bucket(1, "1/h");
    let without = || Config::builder().default(bucket(100, "1/h")).endpoint("/kept", hourly());
    let with = || without().endpoint("/login", hourly()).build().unwrap();
    let limiter = RateLimiter::builder(with()).clock(ManualClock::new()).build();
    let allowed = |endpoint, at_ms| {
        let call = Call::new("a", endpoint).at(Time::from_millis(at_ms));
        limiter.decide(&call).unwrap().allowed()
    };
    assert!(allowed("/kept", 0));
    assert_eq!([0, 1].map(|at_ms| allowed("/login", at_ms)), [true, false]);

    let removed = limiter.reload(without().build().unwrap());
    assert!(removed.changes().any(|change| change == (Some("/login"), Change::Removed)));
    assert_eq!([2, 3].map(|at_ms| allowed("/login", at_ms)), [true, true]);

    let added = limiter.reload(with());
    assert!(added.changes().any(|change| change == (Some("/login"), Change::New)));
    assert_eq!([4, 5].map(|at_ms| allowed("/login", at_ms)), [true, false]);
    assert!(!allowed("/kept", 5), "it has not changed");
}

// A change of the window's length was ignored for keys in use.
// https://github.com/3scale/APIcast/issues/667
#[test]
fn l86_a_log_is_judged_by_the_new_window_at_once() {
    let table = Table::of(log(5, 60_000));
    table.check(&[(0, "a", 5, Allowed(0))]);
    table.reload(20_000, log(5, 10_000));
    table.check(&[(20_000, "a", 1, Allowed(4))]);

    let table = Table::of(log(5, 10_000));
    table.check(&[(0, "a", 5, Allowed(0))]);
    table.reload(5_000, log(5, 60_000));
    table.check(&[(12_000, "a", 1, used_up(48_000))]);

    let table = Table::of(log(5, 10_000));
    table.check(&[(0, "a", 5, Allowed(0))]);
    table.reload(10_000, log(5, 60_000));
    table.check(&[(12_000, "a", 1, Allowed(4))]);
}

// Memory.

// A full table was cleared, or its oldest key dropped: whoever had used up a quota won it back with made-up keys.
// https://github.com/levy-street/world-of-claudecraft/issues/147
// https://github.com/ralksta/immich-folio/pull/94
// https://github.com/MCPJam/inspector/pull/3715
#[test]
fn l76_made_up_keys_win_nobody_a_fresh_quota() {
    let of_three_keys =
        |on_full| Table::of(LimiterConfig::new(fixed(1, 60_000)).max_keys(3).on_full(on_full));
    let table = of_three_keys(OnFull::Deny);
    table.check(&[
        (0, "a", 1, Allowed(0)),
        (1, "b", 1, Allowed(0)),
        (1, "c", 1, Allowed(0)),
        (1, "d", 1, TableFull),
        (1, "e", 1, TableFull),
        (1, "f", 1, TableFull),
        (2, "a", 1, used_up(59_998)),
    ]);
    // By the default it may be `a` that leaves; what it owes is remembered, and its wait is then no shorter.
    let table = of_three_keys(OnFull::Overflow);
    table.check(&[(0, "a", 1, Allowed(0))]);
    for (number, key) in (1..).zip(["b", "c", "d", "e", "f"]) {
        let _overflowing = table.call(Time::from_millis(1), key, 1);
        assert!(table.keys() <= 3, "after {number} more");
    }
    let denied = table.call(Time::from_millis(2), "a", 1).unwrap();
    assert!(denied.retry_after_ms() >= Some(59_998), "{denied:?}");
    assert_eq!(table.admitted(Time::from_millis(59_999), "a", 1), 0);
}

// When it was the empty key's turn to leave, it was taken for no key and stayed, and the table grew past its cap.
// https://github.com/cyanheads/mcp-ts-core/issues/405
#[test]
fn l77_the_empty_key_is_a_key_like_any_other() {
    let table = Table::of(LimiterConfig::new(bucket(1, "1/h")).max_keys(2).on_full(OnFull::Deny));
    table.check(&[
        (0, "", 1, Allowed(0)),
        (0, "one", 1, Allowed(0)),
        (0, "", 1, used_up(3_600_000)),
        (0, "two", 1, TableFull),
        (0, "three", 1, TableFull),
    ]);
    assert_eq!(table.keys(), 2);
    let table = Table::of(LimiterConfig::new(bucket(1, "1/h")).max_keys(2));
    for key in ["", "one", "two", "three"] {
        let _overflowing = table.call(Time::ZERO, key, 1);
        assert!(table.keys() <= 2);
    }
    assert_eq!(table.admitted(Time::ZERO, "", 1), 0);
}

// The clean-up dropped entries that still counted.
// https://github.com/alisaifee/limits/issues/277
#[test]
fn l79_clean_up_drops_only_what_no_longer_counts() {
    let table = Table::of(log(2, 1_000));
    table.check(&[(0, "a", 1, Allowed(1)), (999, "a", 1, Allowed(0))]);
    // Keys are forgotten as others come in.
    for number in 0..2_000 {
        let _newcomer = table.call(Time::from_millis(1_000), &number.to_string(), 1);
    }
    table.check(&[(1_000, "a", 1, Allowed(0)), (1_000, "a", 1, used_up(999))]);
}

// A timer's period of less than a millisecond was cut to 0, and quota never came back. (There is neither timer nor
// segment here; these are the algorithms that release a window's quota bit by bit.)
// https://github.com/dotnet/runtime/issues/109027
// https://github.com/dotnet/runtime/issues/105446
#[test]
fn l88_quota_that_returns_by_fractions_of_a_millisecond_returns_on_time() {
    for (table, first_ms) in
        [(Table::of(counter(1_024, 1_000)), 1_001), (Table::of(bucket(1_024, "1024/s")), 1)]
    {
        table.check(&[
            (0, "a", 1_024, Allowed(0)),
            (0, "b", 1_024, Allowed(0)),
            (0, "a", 1, used_up(first_ms)),
            (first_ms, "a", 1, Allowed(0)),
            (2_000, "b", 1_024, Allowed(0)),
        ]);
    }
}
