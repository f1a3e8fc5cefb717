//! Costs by endpoint, charges given back, and blocks after denials. Tests whose names begin with an id are cases of
//! `docs/cases.md`.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::arithmetic_side_effects, reason = "small numbers in tests")]

use std::thread;
use std::time::Duration;

use proptest::prelude::*;
use tollgate::{
    AnyAlgorithm, Call, Config, ConfigBuilder, FixedWindow, Limit, LimiterConfig, ManualClock,
    Policy, RateLimiter, Receipt, Scope, SlidingWindowCounter, SlidingWindowLog, Time, TokenBucket,
};

const SECOND: Duration = Duration::from_secs(1);

fn start(config: ConfigBuilder) -> (RateLimiter, ManualClock) {
    let clock = ManualClock::new();
    (RateLimiter::builder(config.build().unwrap()).clock(clock.clone()).build(), clock)
}

fn of(policy: impl Into<Policy>) -> ConfigBuilder {
    Config::builder().default(policy)
}

fn at(clock: &ManualClock, millis: u64) {
    clock.set(Time::from_millis(millis));
}

/// Charges a cost that has to be allowed.
fn charge(limiter: &RateLimiter, cost: u64) -> Receipt {
    let (decided, receipt) = limiter.decide_with_receipt(&Call::new("alice", "/").cost(cost));
    assert!(decided.unwrap().allowed());
    receipt
}

fn remaining(limiter: &RateLimiter) -> u64 {
    limiter.peek("alice", "/").remaining()
}

/// Ten units in ten seconds, by each algorithm.
fn algorithms() -> [AnyAlgorithm; 4] {
    [
        AnyAlgorithm::new(TokenBucket::per_second(1).burst(10).build().unwrap()),
        AnyAlgorithm::new(SlidingWindowLog::new(10, 10 * SECOND).unwrap()),
        AnyAlgorithm::new(FixedWindow::new(10, 10 * SECOND).unwrap()),
        AnyAlgorithm::new(SlidingWindowCounter::new(10, 10 * SECOND).unwrap()),
    ]
}

fn each_algorithm() -> impl Iterator<Item = (RateLimiter, ManualClock)> {
    algorithms().into_iter().map(|algorithm| start(of(LimiterConfig::of_named(algorithm))))
}

#[test]
fn a_refund_gives_back_what_was_charged_once() {
    for (limiter, _clock) in each_algorithm() {
        let (first, second) = (charge(&limiter, 3), charge(&limiter, 2));
        assert_eq!(remaining(&limiter), 5);
        assert!(first.refund());
        assert_eq!(remaining(&limiter), 8, "{limiter:?}");
        assert!(!first.refund(), "a refund counts once");
        assert!(second.refund());
        assert_eq!(remaining(&limiter), 10);
    }
}

#[test]
fn a_denial_and_a_look_have_nothing_to_give_back() {
    for (limiter, _clock) in each_algorithm() {
        let _all = charge(&limiter, 10);
        let (decided, receipt) = limiter.decide_with_receipt(&Call::new("alice", "/"));
        assert!(!decided.unwrap().allowed());
        assert!(!receipt.refund() && !charge(&limiter, 0).refund());
        assert_eq!(remaining(&limiter), 0);
        let (decided, receipt) = limiter.decide_with_receipt(&Call::new("alice", "/").cost(11));
        assert!(decided.is_err() && !receipt.refund());
    }
}

#[test]
fn l80_a_refund_after_its_window_has_ended_changes_nothing() {
    let (limiter, clock) = start(of(FixedWindow::new(2, SECOND)));
    at(&clock, 900);
    let late = charge(&limiter, 1);
    at(&clock, 1_900);
    let _second = charge(&limiter, 1);
    at(&clock, 1_950);
    assert!(!late.refund());
    assert_eq!(limiter.allow("alice", "/").remaining(), 0);
    assert_eq!(limiter.allow("alice", "/").retry_after_ms(), Some(950));
}

#[test]
fn l52_a_refund_never_lifts_a_key_above_its_quota() {
    for (limiter, clock) in each_algorithm() {
        let receipt = charge(&limiter, 3);
        assert!(limiter.reset("alice", "/").had_state);
        assert!(!receipt.refund(), "the key is as if never seen");
        assert_eq!(remaining(&limiter), 10);
        let receipt = charge(&limiter, 3);
        at(&clock, 2_000);
        assert!(receipt.refund());
        assert_eq!(remaining(&limiter), 10);
        assert!(limiter.allow_n("alice", "/", 11).is_err());
        let _all = charge(&limiter, 10);
        assert!(!limiter.allow("alice", "/").allowed());
    }
}

#[test]
fn a_refund_is_of_no_effect_once_the_key_would_have_been_whole() {
    for (limiter, clock) in each_algorithm() {
        let receipt = charge(&limiter, 10);
        // The counter's first window still weighs in its second.
        at(&clock, 20_000);
        let _later = charge(&limiter, 4);
        assert!(!receipt.refund());
        assert_eq!(remaining(&limiter), 6, "{limiter:?}");
    }
}

#[test]
fn a_refund_is_exact_while_other_charges_come_and_go() {
    let (limiter, clock) = start(of(TokenBucket::per_second(1).burst(10)));
    let _older = charge(&limiter, 5);
    let receipt = charge(&limiter, 3);
    at(&clock, 1_500);
    let other = charge(&limiter, 2);
    assert_eq!(remaining(&limiter), 1);
    assert!(receipt.refund());
    assert_eq!(limiter.peek("alice", "/").reset_after_ms(), 5_500, "as if it had not been");
    assert!(other.refund());
    assert_eq!(limiter.peek("alice", "/").reset_after_ms(), 3_500);
}

#[test]
fn a_refund_survives_a_reload_that_leaves_its_limit_as_it_is_and_no_other() {
    let bucket = |capacity| LimiterConfig::new(TokenBucket::per_second(1).burst(capacity));
    let (limiter, _clock) = start(of(bucket(10)));
    let (first, second) = (charge(&limiter, 3), charge(&limiter, 3));
    let _report = limiter.reload(of(bucket(10).max_keys(50_000)).build().unwrap());
    assert!(first.refund());
    assert_eq!(remaining(&limiter), 7);
    let _report = limiter.reload(of(bucket(20)).build().unwrap());
    assert!(!second.refund());
    assert_eq!(remaining(&limiter), 17);
}

#[test]
fn a_refund_goes_to_every_limit_that_was_charged() {
    let [bucket, log, fixed, counter] = algorithms().map(LimiterConfig::of_named);
    let limits = [
        Limit::new("bucket", bucket),
        Limit::new("log", log).scope(Scope::Tenant),
        Limit::new("fixed", fixed).scope(Scope::Global),
        Limit::new("counter", counter).mode(tollgate::Mode::Shadow),
    ];
    let (limiter, _clock) = start(of(Policy::limits(limits)));
    let call = Call::new("alice", "/").tenant("acme");
    let (_decided, receipt) = limiter.decide_with_receipt(&call.cost(4));
    let left = || {
        let each = limiter.decide_each(&call.cost(0)).limits;
        each.iter().map(|limit| limit.result.remaining()).collect::<Vec<_>>()
    };
    assert_eq!(left(), [6; 4]);
    assert!(receipt.refund());
    assert_eq!(left(), [10; 4]);
}

#[test]
fn a_hundred_guesses_at_once_cannot_all_slip_in_where_successes_are_refunded() {
    let (limiter, _clock) = start(of(TokenBucket::per_hour(1).burst(5)));
    let guesses: Vec<_> = thread::scope(|scope| {
        let guess = || limiter.decide_with_receipt(&Call::new("alice", "/login"));
        let threads: Vec<_> = (0..100).map(|_| scope.spawn(guess)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let allowed = |(decided, _): &&(tollgate::Decided, Receipt)| decided.unwrap().allowed();
    assert_eq!(guesses.iter().filter(allowed).count(), 5);
    let right = guesses.iter().find(allowed).unwrap();
    assert!(right.1.refund());
    assert_eq!(limiter.peek("alice", "/login").remaining(), 1);
}

#[test]
fn an_endpoint_has_a_price_and_a_call_may_name_another() {
    let config = of(TokenBucket::per_hour(1).burst(20))
        .shared_limit(Limit::new("api", TokenBucket::per_hour(1).burst(100)))
        .every("api")
        .endpoint("/report", Policy::from(TokenBucket::per_hour(1).burst(10)).cost(4));
    let (limiter, _clock) = start(config);
    assert_eq!(limiter.allow("alice", "/report").remaining(), 6);
    assert_eq!(limiter.allow_n("alice", "/report", 1).unwrap().remaining(), 5);
    assert_eq!(limiter.decide(&Call::new("alice", "/report")).unwrap().remaining(), 1);
    assert!(!limiter.peek("alice", "/report").allowed(), "1 is less than 4");
    assert!(!limiter.allow("alice", "/report").allowed());
    assert_eq!(limiter.cost_of(&Call::new("alice", "/report")), 4);
    assert_eq!(limiter.cost_of(&Call::new("alice", "/report").cost(2)), 2);
    let shared = limiter.decide_each(&Call::new("alice", "/other").cost(0)).limits;
    assert_eq!(shared[1].result.remaining(), 91);
    let free = of(Policy::from(TokenBucket::per_hour(1)).cost(0)).build().unwrap_err();
    assert_eq!(free.to_string(), "default: `cost` is 0; expected at least 1, or `unlimited: true`");
}

/// Two a second, and a minute's block after three denials in a row.
fn strict() -> Policy {
    Policy::from(FixedWindow::new(2, SECOND)).penalty(3, 60 * SECOND)
}

fn told(limiter: &RateLimiter) -> (bool, Option<u64>, Option<&'static str>) {
    let result = limiter.allow("alice", "/");
    (result.allowed(), result.retry_after_ms(), result.limit_name())
}

#[test]
fn a_client_denied_too_often_in_a_row_is_blocked_and_told_for_how_long() {
    let (limiter, clock) = start(of(strict()));
    let passes = (true, None, Some("default"));
    let denied = |wait, name| (false, Some(wait), Some(name));
    assert_eq!([told(&limiter), told(&limiter)], [passes; 2]);
    assert_eq!([told(&limiter), told(&limiter)], [denied(1_000, "default"); 2]);
    assert_eq!(told(&limiter), denied(60_000, "penalty"), "the third says what it brought about");
    at(&clock, 59_999);
    assert_eq!(told(&limiter), denied(1, "penalty"), "polling makes it no longer");
    let blocked = limiter.peek("alice", "/");
    assert_eq!((blocked.allowed(), blocked.remaining()), (false, 0));
    assert_eq!(limiter.allow("bob", "/").remaining(), 1);
    at(&clock, 60_000);
    assert_eq!(told(&limiter), passes);
}

#[test]
fn a_row_of_denials_ends_with_a_call_that_passes_or_with_as_long_a_time_as_the_block() {
    let (limiter, clock) = start(of(strict()));
    for second in 0..5 {
        at(&clock, second * 1_000);
        let answers = [(); 4].map(|()| told(&limiter).0);
        assert_eq!(answers, [true, true, false, false], "two denials are no row of three");
    }
    let (limiter, clock) =
        start(of(Policy::from(FixedWindow::new(1, 1_000 * SECOND)).penalty(2, SECOND)));
    for (millis, name) in [(0, "default"), (0, "default"), (1_000, "default"), (1_999, "default")] {
        at(&clock, millis);
        assert_eq!(told(&limiter).2, Some(name), "at {millis} ms");
    }
    assert!(limiter.reset("alice", "/").had_state);
    assert!(told(&limiter).0);
}

#[test]
fn looks_and_impossible_calls_neither_lengthen_a_row_nor_end_it() {
    let (limiter, _clock) = start(of(strict()));
    let _both = charge(&limiter, 2);
    let _first = told(&limiter);
    for _ in 0..5 {
        assert!(limiter.allow_n("alice", "/", 3).is_err());
        let _look = limiter.peek("alice", "/");
        let _cost_of_none = charge(&limiter, 0);
    }
    assert_eq!(told(&limiter).2, Some("default"));
    assert_eq!(told(&limiter).2, Some("penalty"));
}

#[test]
fn a_block_outlives_reloads_that_leave_the_penalty() {
    let (limiter, _clock) = start(of(strict()));
    for _ in 0..5 {
        let _two_pass = told(&limiter);
    }
    assert_eq!(told(&limiter).2, Some("penalty"));
    let _report = limiter.reload(of(strict().exempt(["bob"])).build().unwrap());
    assert_eq!(told(&limiter).2, Some("penalty"));
    let _report = limiter.reload(of(FixedWindow::new(2, SECOND)).build().unwrap());
    assert_eq!(told(&limiter).2, None);
}

#[test]
fn a_penalty_out_of_range_is_refused() {
    let faults = |policy: Policy| of(policy).build().unwrap_err().to_string();
    let bucket = || Policy::from(TokenBucket::per_second(1));
    assert_eq!(
        faults(bucket().penalty(0, Duration::ZERO)),
        "default: `denials` is 0; expected a whole number from 1 to 1000000; default: `blockFor` is 0ns; expected 1 ms \
         to 366 days"
    );
    assert_eq!(
        faults(Policy::unlimited().penalty(1, SECOND)),
        "default: `penalty` does not go with `unlimited` or `deny`; keep one"
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// What is admitted beside calls whose charges were given back is admitted without them too.
    #[test]
    fn a_log_admits_nobody_for_having_been_refunded(
        steps in proptest::collection::vec((0..4_000_u64, 0..4_u64, proptest::option::of(0..3_000_u64)), 1..40),
    ) {
        let log = || of(SlidingWindowLog::new(10, 10 * SECOND));
        let ((with, clock), (without, other_clock)) = (start(log()), start(log()));
        let (mut now, mut open) = (0, Vec::new());
        for (passed_ms, cost, refund_after_ms) in steps {
            now += passed_ms;
            refund_due(&mut open, now, &clock);
            at(&clock, now);
            at(&other_clock, now);
            let call = Call::new("alice", "/").cost(cost);
            let (decided, receipt) = with.decide_with_receipt(&call);
            match refund_after_ms {
                Some(after_ms) => open.push((now + after_ms, receipt)),
                None if decided.unwrap().allowed() => {
                    prop_assert!(without.decide(&call).unwrap().allowed(), "at {} ms, cost {}", now, cost);
                }
                None => {}
            }
        }
    }

    /// Whatever is given back, and in whatever order, all of it makes the key whole and no more.
    #[test]
    fn all_refunds_together_make_a_key_whole(
        kind in 0..4_usize,
        costs in proptest::collection::vec(1..4_u64, 1..5),
        order in any::<u64>(),
        elsewhere in 0..900_u64,
    ) {
        let (limiter, clock) = start(of(LimiterConfig::of_named(algorithms()[kind].clone())));
        let mut receipts = Vec::new();
        for cost in costs {
            let (_decided, receipt) = limiter.decide_with_receipt(&Call::new("alice", "/").cost(cost));
            receipts.push(receipt);
        }
        at(&clock, elsewhere);
        while !receipts.is_empty() {
            let next = usize::try_from(order % 7).unwrap() % receipts.len();
            let _given_back = receipts.swap_remove(next).refund();
            prop_assert!(remaining(&limiter) <= 10);
        }
        prop_assert_eq!(remaining(&limiter), 10);
    }
}

/// Gives back what is due by now, each at its time.
fn refund_due(open: &mut Vec<(u64, Receipt)>, now: u64, clock: &ManualClock) {
    open.sort_by_key(|(due, _)| *due);
    open.retain(|(due, receipt)| {
        if *due <= now {
            at(clock, *due);
            let _given_back = receipt.refund();
        }
        *due > now
    });
}
