//! Limits changed live: what clients have used up is neither lost nor taken twice.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::arithmetic_side_effects, reason = "small numbers in tests")]

use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use tollgate::{
    Call, Change, Config, FixedWindow, LimiterConfig, ManualClock, OnFull, RateLimiter,
    SlidingWindowCounter, SlidingWindowLog, Time, TokenBucket,
};

const MILLISECOND: u64 = 1_000_000;

fn of(limiter: impl Into<LimiterConfig>) -> Config {
    Config::builder().default(limiter).build().unwrap()
}

fn remaining(limiter: &RateLimiter, client: &str) -> u64 {
    limiter.peek(client, "/").remaining()
}

fn changes(report: &tollgate::ReloadReport) -> Vec<(Option<&str>, Change)> {
    report.changes().collect()
}

#[test]
fn a_report_says_what_was_kept_changed_replaced_new_and_removed() {
    let window = Duration::from_secs(1);
    let bucket = |burst| TokenBucket::per_second(1).burst(burst);
    let before = Config::builder()
        .default(bucket(10))
        .endpoint("/same", bucket(3))
        .endpoint("/higher", bucket(3))
        .endpoint("/lower", bucket(3))
        .endpoint("/other", bucket(3))
        .endpoint("/gone", bucket(3));
    let after = Config::builder()
        .default(bucket(10))
        .endpoint("/new", bucket(1))
        .endpoint("/other", FixedWindow::new(3, window))
        .endpoint("/lower", bucket(1))
        .endpoint("/higher", bucket(5))
        .endpoint("/same", bucket(3));
    let limiter = RateLimiter::builder(before.build().unwrap()).clock(ManualClock::new()).build();
    for endpoint in ["/same", "/higher", "/lower", "/other", "/gone"] {
        assert!(limiter.allow_n("alice", endpoint, 2).unwrap().allowed());
    }

    let report = limiter.reload(after.build().unwrap());

    let expected = [
        (None, Change::Kept),
        (Some("/new"), Change::New),
        (Some("/other"), Change::Replaced),
        (Some("/lower"), Change::Changed { forgiven: 1 }),
        (Some("/higher"), Change::Changed { forgiven: 0 }),
        (Some("/same"), Change::Kept),
        (Some("/gone"), Change::Removed),
    ];
    assert_eq!(changes(&report), expected);
    let left = [("/same", 1), ("/higher", 3), ("/lower", 0), ("/other", 3), ("/gone", 10)];
    for (endpoint, remaining) in left {
        assert_eq!(limiter.peek("alice", endpoint).remaining(), remaining, "{endpoint}");
    }
}

#[test]
fn an_unchanged_entry_keeps_its_limiter_and_a_changed_one_sends_old_handles_on() {
    let clock = ManualClock::new();
    let limiter =
        RateLimiter::builder(of(TokenBucket::per_second(1).burst(5))).clock(clock).build();
    let old_handle = limiter.limiter("/");

    let _kept = limiter.reload(of(TokenBucket::per_second(1).burst(5)));
    assert!(Arc::ptr_eq(&old_handle, &limiter.limiter("/")));

    let _changed = limiter.reload(of(TokenBucket::per_second(1).burst(7)));
    assert!(old_handle.allow_n("alice", 5).unwrap().allowed());
    assert_eq!(remaining(&limiter, "alice"), 2, "charged by the handle from before the reload");
    assert!(old_handle.reset("alice").had_state);
    assert_eq!(remaining(&limiter, "alice"), 7, "reset by it too");
}

#[test]
fn counts_outlive_a_reload() {
    let limiter = RateLimiter::builder(of(TokenBucket::per_second(1).burst(1)))
        .clock(ManualClock::new())
        .build();
    let count = || limiter.counts()[0].1;
    for _ in 0..3 {
        let _one_allowed_then_denied = limiter.allow("alice", "/");
    }
    let _too_much = limiter.allow_n("alice", "/", 9).unwrap_err();
    let before = (count().allowed, count().denied);
    assert_eq!(before, (1, 3));

    let bigger = LimiterConfig::new(TokenBucket::per_second(1).burst(2)).max_keys(50_000);
    let _report = limiter.reload(of(bigger));

    assert_eq!((count().allowed, count().denied, count().keys), (1, 3, 1));
}

#[test]
fn a_window_that_started_before_the_clock_did_keeps_its_part_gone() {
    // 50 ms after the clock's origin, half of a window of 100 ms is gone; of one of 10,000 ms half is gone too,
    // 5,000 ms that the clock has not even run.
    let clock = ManualClock::new();
    let window = |ms| FixedWindow::new(2, Duration::from_millis(ms));
    let limiter = RateLimiter::builder(of(window(100))).clock(clock.clone()).build();
    assert!(limiter.allow_n("alice", "/", 2).unwrap().allowed());
    clock.advance(Duration::from_millis(50));

    let _report = limiter.reload(of(window(10_000)));

    assert_eq!(limiter.allow("alice", "/").retry_after_ms(), Some(5_000));
}

#[test]
fn the_mark_outlives_a_reload() {
    let clock = ManualClock::new();
    let limiter =
        RateLimiter::builder(of(TokenBucket::per_second(1).burst(1))).clock(clock.clone()).build();
    clock.set(Time::from_millis(5_000));
    assert!(limiter.allow("alice", "/").allowed());

    let _report = limiter.reload(of(TokenBucket::per_second(1).burst(2)));

    clock.set(Time::from_millis(1_000));
    assert_eq!(limiter.allow_n("alice", "/", 2).unwrap().retry_after_ms(), Some(1_000));
    assert_eq!(limiter.counts()[0].1.mark_ahead_ms, 4_000);
}

#[test]
fn a_log_is_judged_by_its_new_window_and_what_was_forgotten_stays_forgotten() {
    let clock = ManualClock::new();
    let log = |window_ms| SlidingWindowLog::new(3, Duration::from_millis(window_ms));
    let limiter = RateLimiter::builder(of(log(1_000))).clock(clock.clone()).build();
    for at_ms in [0, 600, 900] {
        clock.set(Time::from_millis(at_ms));
        assert!(limiter.allow("alice", "/").allowed());
    }
    clock.set(Time::from_millis(1_100));
    let _longer = limiter.reload(of(log(10_000)));
    assert_eq!(remaining(&limiter, "alice"), 1, "the stamp of 0 ms was gone");
    let _shorter = limiter.reload(of(log(300)));
    assert_eq!(remaining(&limiter, "alice"), 2, "only the stamp of 900 ms is in the window");
    // So long that a stamp takes 64 bits, and back.
    let _longest = limiter.reload(of(log(60 * 86_400_000)));
    assert!(limiter.allow_n("alice", "/", 2).unwrap().allowed());
    let _back = limiter.reload(of(log(1_000)));
    assert_eq!(limiter.allow("alice", "/").retry_after_ms(), Some(800));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    /// Debt is what was used and has not come back. A bucket's is carried to any rate and capacity, rounded up to the
    /// new unit (below a nanosecond's worth), and cut at the new capacity.
    #[test]
    fn a_bucket_keeps_its_debt(
        (capacity, rate, used, passed_ms) in (1..500_u32, 1..2_000_u32, 0..500_u32, 0..900_u64),
        (new_capacity, new_rate) in (1..500_u32, 1..2_000_u32),
    ) {
        let bucket = |rate, capacity| TokenBucket::per_second(rate).burst(capacity);
        let clock = ManualClock::new();
        let limiter = RateLimiter::builder(of(bucket(rate, capacity))).clock(clock.clone()).build();
        let used = used.min(capacity);
        let _charged = limiter.allow_n("alice", "/", used.into()).unwrap();
        clock.advance(Duration::from_millis(passed_ms));

        let _report = limiter.reload(of(bucket(new_rate, new_capacity)));

        // In thousandths of a token, exact: `used` less what came back since.
        let debt = (u64::from(used) * 1_000).saturating_sub(u64::from(rate) * passed_ms);
        let left = (u64::from(new_capacity) * 1_000).saturating_sub(debt) / 1_000;
        prop_assert!(remaining(&limiter, "alice") <= left, "no quota from nowhere");
        clock.advance(Duration::from_nanos(1));
        prop_assert!(remaining(&limiter, "alice") >= left, "no more than rounding is taken");
    }

    #[test]
    fn windows_keep_their_counts_through_any_reloads(
        windows_ms in proptest::collection::vec(1..100_000_u64, 1..6),
        (max_requests, used) in (1..50_u32, 0..50_u32),
    ) {
        let used = used.min(max_requests);
        let fixed = |ms| of(FixedWindow::new(max_requests, Duration::from_millis(ms)));
        let counter = |ms| of(SlidingWindowCounter::new(max_requests, Duration::from_millis(ms)));
        let log = |ms| of(SlidingWindowLog::new(max_requests, Duration::from_millis(ms)));
        let configs: [&dyn Fn(u64) -> Config; 3] = [&fixed, &counter, &log];
        for config in configs {
            let limiter = RateLimiter::builder(config(77)).clock(ManualClock::new()).build();
            let _charged = limiter.allow_n("alice", "/", used.into()).unwrap();
            for window_ms in &windows_ms {
                let _report = limiter.reload(config(*window_ms));
                prop_assert_eq!(remaining(&limiter, "alice"), u64::from(max_requests - used));
            }
        }
    }

    /// Stripes and cells are laid out anew; keys that fit stay exactly as they are.
    #[test]
    fn keys_survive_any_change_of_the_bound_that_holds_them(
        bounds in proptest::collection::vec(prop_oneof![300..10_000_u64, 10_000..3_000_000_u64], 1..4),
    ) {
        let config = |max_keys| {
            of(LimiterConfig::new(TokenBucket::per_second(1).burst(100)).max_keys(max_keys))
        };
        let limiter = RateLimiter::builder(config(1_000)).clock(ManualClock::new()).build();
        let names: Vec<_> = (1..=100_u64).map(|used| (used.to_string(), used)).collect();
        for (name, used) in &names {
            let _charged = limiter.allow_n(name, "/", *used).unwrap();
        }
        for max_keys in bounds {
            let _report = limiter.reload(config(max_keys));
        }
        for (name, used) in &names {
            prop_assert_eq!(remaining(&limiter, name), 100 - used, "{}", name);
        }
        prop_assert_eq!(limiter.counts()[0].1.evictions, 0);
    }
}

#[test]
fn debts_in_overflow_cells_survive_a_reload_to_more_cells_and_to_fewer() {
    let config = |max_keys| {
        let limiter = LimiterConfig::new(TokenBucket::per_hour(60).burst(10)).max_keys(max_keys);
        of(limiter.on_full(OnFull::Overflow))
    };
    let limiter = RateLimiter::builder(config(8)).clock(ManualClock::new()).build();
    let drain = |name: &str| {
        let call = Call::new(name, "/").at(Time::from_nanos(MILLISECOND));
        (0..20).filter(|_| limiter.decide(&call).unwrap().allowed()).count()
    };
    let names: Vec<_> = (0..200).map(|number| format!("client {number}")).collect();
    for name in &names {
        let _some = drain(name);
    }
    for max_keys in [100_000, 1, 4_096, 16] {
        let _report = limiter.reload(config(max_keys));
        for name in &names {
            assert_eq!(drain(name), 0, "{name} took its quota again at {max_keys} keys");
        }
    }
}
