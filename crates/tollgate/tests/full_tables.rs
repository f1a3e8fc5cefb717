//! More keys than the table holds: whatever comes and goes, nobody gets quota twice, and the bound is kept.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::arithmetic_side_effects, reason = "small numbers in tests")]

#[path = "model/quota.rs"]
mod quota;

use proptest::prelude::*;
use quota::{MILLISECOND, Quota, SECOND};
use tollgate::{Call, Config, LimiterConfig, ManualClock, OnFull, RateLimiter, Time};

#[derive(Clone, Copy, Debug)]
struct Step {
    passed_ns: u64,
    key: u8,
    cost: u32,
    /// Now and then the bound is changed by a reload.
    max_keys: Option<u64>,
}

fn config(quota: &Quota, max_keys: u64, on_full: OnFull) -> Config {
    let limiter = LimiterConfig::of_named(quota.algorithm()).max_keys(max_keys).on_full(on_full);
    Config::builder().default(limiter).build().unwrap()
}

fn any_quota() -> impl Strategy<Value = Quota> {
    let window_ns = 100 * MILLISECOND;
    (1..=6_u32, 0..4).prop_map(move |(limit, kind)| match kind {
        0 => Quota::Bucket { capacity: limit, tokens: 7, period_ns: SECOND / 3 },
        1 => Quota::Log { max_requests: limit, window_ns },
        2 => Quota::Fixed { max_requests: limit, window_ns },
        _ => Quota::Counter { max_requests: limit, window_ns },
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let passed = prop_oneof![
        4 => Just(0),
        4 => (0..20_u64).prop_map(|ms| ms * MILLISECOND),
        2 => 0..50 * MILLISECOND,
        1 => (90..110_u64).prop_map(|ms| ms * MILLISECOND),
    ];
    let key = prop_oneof![2 => 0..4_u8, 1 => 0..200_u8];
    let cost = prop_oneof![5 => Just(1_u32), 1 => 1..=6_u32];
    let max_keys = prop_oneof![60 => Just(None), 1 => (1..12_u64).prop_map(Some)];
    let step = (passed, key, cost, max_keys).prop_map(|(passed_ns, key, cost, max_keys)| Step {
        passed_ns,
        key,
        cost,
        max_keys,
    });
    proptest::collection::vec(step, 1..250)
}

/// What each key was admitted: times and costs.
fn admissions(quota: &Quota, steps: &[Step], on_full: OnFull) -> Vec<Vec<(u64, u64)>> {
    let clock = ManualClock::new();
    let mut bound = 3;
    let limiter = RateLimiter::builder(config(quota, bound, on_full)).clock(clock.clone()).build();
    let mut admitted = vec![Vec::new(); 256];
    let mut now = SECOND;
    for step in steps {
        now += step.passed_ns;
        clock.set(Time::from_nanos(now));
        if let Some(max_keys) = step.max_keys {
            bound = max_keys;
            let _report = limiter.reload(config(quota, max_keys, on_full));
        }
        let cost = u64::from(step.cost.min(quota.limit()));
        let client = step.key.to_string();
        let call = Call::new(&client, "/").cost(cost).at(Time::from_nanos(now));
        if limiter.decide(&call).unwrap().allowed() {
            admitted[usize::from(step.key)].push((now, cost));
        }
        let held = limiter.counts()[0].1.keys;
        assert!(held <= bound, "{held} keys under a bound of {bound}");
    }
    admitted
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn keys_that_leave_and_return_never_take_quota_twice((quota, steps) in (any_quota(), steps())) {
        for on_full in [OnFull::Overflow, OnFull::Deny] {
            for admitted in admissions(&quota, &steps, on_full) {
                prop_assert_eq!(quota.first_breach(&admitted), None);
            }
        }
    }
}
