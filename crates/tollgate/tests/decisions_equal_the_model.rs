//! Random parameters, costs and times: every figure of every decision is the one the definition gives.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(
    clippy::arithmetic_side_effects,
    reason = "the model is plain arithmetic on small numbers"
)]

mod joint;
mod model;

use std::sync::Arc;

use model::quota::{MILLISECOND, Quota, SECOND};
use model::{Expected, Model};
use proptest::prelude::*;
use tollgate::{
    Call, Config, Decided, LimiterConfig, ManualClock, RateLimitResult, RateLimiter, Time,
};

/// One step: time passes, then a call of a cost.
#[derive(Clone, Copy, Debug)]
struct Step {
    passed_ns: u64,
    cost: u32,
}

fn limiter(quota: &Quota) -> RateLimiter {
    let config = Config::builder().default(LimiterConfig::of_named(quota.algorithm()));
    RateLimiter::builder(config.build().unwrap()).clock(ManualClock::new()).build()
}

fn call(limiter: &RateLimiter, now: u64, cost: u32) -> Decided {
    limiter.decide(&Call::new("alice", "/").cost(cost.into()).at(Time::from_nanos(now)))
}

fn figures(decided: Decided) -> Expected {
    let result = decided.unwrap_or_else(|error| error.result());
    Expected {
        allowed: result.allowed(),
        remaining: result.remaining(),
        retry_after_ms: result.retry_after_ms(),
        reset_after_ms: result.reset_after_ms(),
    }
}

/// Any quota, with times whose fractions do not come out even.
fn quota() -> impl Strategy<Value = Quota> {
    let limit = || 1..=12_u32;
    let window = || prop_oneof![1..=20_u64, Just(1_000), Just(60_000), Just(86_400_000 * 60)];
    let rates = prop_oneof![
        (1..=1_000_u64, Just(SECOND)),
        (1..=50_u64, prop_oneof![Just(60 * SECOND), Just(3_600 * SECOND)]),
        Just((999_999_937, SECOND)),
        Just((33_333_333, 10 * SECOND)),
        (1..=97_u64, 1..=1_000_000_007_u64)
            .prop_filter("at most 10^9 a second", |(tokens, period)| tokens <= period),
    ];
    prop_oneof![
        (limit(), rates).prop_map(|(capacity, (tokens, period_ns))| Quota::Bucket {
            capacity,
            tokens,
            period_ns
        }),
        (limit(), window()).prop_map(|(max_requests, ms)| Quota::Log {
            max_requests,
            window_ns: ms * MILLISECOND
        }),
        (limit(), window()).prop_map(|(max_requests, ms)| Quota::Fixed {
            max_requests,
            window_ns: ms * MILLISECOND
        }),
        (limit(), window()).prop_map(|(max_requests, ms)| Quota::Counter {
            max_requests,
            window_ns: ms * MILLISECOND
        }),
    ]
}

/// The time in which a quota comes back: what makes steps interesting.
fn pace_ns(quota: &Quota) -> u64 {
    match quota {
        Quota::Bucket { tokens, period_ns, .. } => (period_ns / tokens).max(1),
        Quota::Log { .. } | Quota::Fixed { .. } | Quota::Counter { .. } => {
            quota.window_ns().unwrap()
        }
    }
}

/// Steps in multiples of `unit_ns`, around the moments when something changes.
fn steps(quota: &Quota, unit_ns: u64) -> impl Strategy<Value = Vec<Step>> + use<> {
    let units = (pace_ns(quota) / unit_ns).max(1);
    let passed = prop_oneof![
        3 => Just(0),
        2 => 0..=units / 3,
        2 => Just(units),
        1 => Just(units - 1),
        1 => Just(units + 1),
        1 => 0..=units * 3,
    ];
    let cost = prop_oneof![4 => Just(1_u32), 2 => 0..=4_u32, 1 => 0..=quota.limit() + 1];
    let step =
        (passed, cost).prop_map(move |(units, cost)| Step { passed_ns: units * unit_ns, cost });
    proptest::collection::vec(step, 1..40)
}

/// Logs keep time in ticks, and are exact at whole milliseconds; all others are at every nanosecond.
fn unit_of_exactness(quota: &Quota) -> u64 {
    if matches!(quota, Quota::Log { .. }) { MILLISECOND } else { 1 }
}

fn case(unit: fn(&Quota) -> u64) -> impl Strategy<Value = (Quota, Vec<Step>)> {
    quota().prop_flat_map(move |quota| {
        let steps = steps(&quota, unit(&quota));
        (Just(quota), steps)
    })
}

/// Runs the steps, handing each answer and its time to `check`.
fn run(
    limiter: &RateLimiter,
    steps: &[Step],
    mut check: impl FnMut(usize, u64, Step, &RateLimitResult) -> Result<(), TestCaseError>,
) -> Result<(), TestCaseError> {
    let mut now = 5 * SECOND;
    for (index, step) in steps.iter().enumerate() {
        now += step.passed_ns;
        let result = call(limiter, now, step.cost).unwrap_or_else(|error| error.result());
        check(index, now, *step, &result)?;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn every_figure_is_the_one_exact_arithmetic_gives((quota, steps) in case(unit_of_exactness)) {
        let (limiter, mut model) = (limiter(&quota), Model::new(quota));
        let mut now = 5 * SECOND;
        for (index, step) in steps.into_iter().enumerate() {
            now += step.passed_ns;
            let expected = model.call(now, step.cost);
            let answered = figures(call(&limiter, now, step.cost));
            prop_assert_eq!(answered, expected, "step {}: {:?} at {} ns", index, step, now);
        }
    }

    #[test]
    fn no_interval_ever_has_more_than_the_promise((quota, steps) in case(|_| 1)) {
        let mut admitted: Vec<(u64, u64)> = Vec::new();
        run(&limiter(&quota), &steps, |_, now, step, result| {
            if result.allowed() {
                admitted.push((now, step.cost.into()));
            }
            Ok(())
        })?;
        prop_assert_eq!(quota.first_breach(&admitted), None);
    }

    #[test]
    fn the_wait_is_enough_and_a_millisecond_less_is_not((quota, steps) in case(|_| 1)) {
        run(&limiter(&quota), &steps, |_, _, _, _| Ok(()))?;
        for sooner_ms in [1, 0] {
            let limiter = limiter(&quota);
            run(&limiter, &steps, |_, now, step, result| {
                if let Some(wait_ms) = result.retry_after_ms() {
                    let back = now + (wait_ms - sooner_ms) * MILLISECOND;
                    let looked = limiter_at(&limiter, back, step.cost);
                    prop_assert_eq!(looked, sooner_ms == 0, "{} ms after {} ns", wait_ms, now);
                }
                Ok(())
            })?;
        }
    }

    #[test]
    fn what_remains_is_the_largest_cost_admitted_now((quota, steps) in case(|_| 1)) {
        let limiter = limiter(&quota);
        run(&limiter, &steps, |_, now, _, result| {
            let remaining = u32::try_from(result.remaining()).unwrap();
            prop_assert!(limiter_at(&limiter, now, remaining));
            prop_assert!(!limiter_at(&limiter, now, remaining + 1));
            Ok(())
        })?;
    }

    #[test]
    fn a_denial_changes_nothing((quota, steps) in case(|_| 1)) {
        let (polled, untouched) = (limiter(&quota), limiter(&quota));
        let mut now = 5 * SECOND;
        for step in steps {
            now += step.passed_ns;
            let (one, other) = (call(&polled, now, step.cost), call(&untouched, now, step.cost));
            prop_assert_eq!(figures(one), figures(other));
            while figures(call(&polled, now, quota.limit())).allowed {
                prop_assert!(figures(call(&untouched, now, quota.limit())).allowed);
            }
            for cost in [quota.limit(), quota.limit() + 1, 0] {
                let _polled_once_more = call(&polled, now, cost);
            }
        }
    }

    #[test]
    fn a_batch_is_answered_as_one_by_one((quota, steps) in case(|_| 1)) {
        let mut now = 5 * SECOND;
        let calls: Vec<_> = steps.iter().enumerate().map(|(index, step)| {
            now += step.passed_ns;
            let client = ["alice", "bob", "carol"][index % 3];
            (Call::new(client, "/").cost(step.cost.into()), Time::from_nanos(now))
        }).collect();
        let (batched, single) = (limiter(&quota), limiter(&quota));
        let batch = batched.allow_many_at(&calls);
        prop_assert_eq!(batch.len(), calls.len());
        for ((call, time), answer) in calls.iter().zip(batch) {
            prop_assert_eq!(figures(answer), figures(single.decide(&call.at(*time))));
        }
    }
}

/// Whether a call would be admitted at a time, asked of a copy: a look that moves no clock of the limiter under test.
fn limiter_at(limiter: &RateLimiter, now: u64, cost: u32) -> bool {
    let door: Arc<dyn tollgate::Limiter> = limiter.limiter("/");
    let request = tollgate::Request::new(door.key("alice")).cost(cost.into());
    door.look(request.at(Time::from_nanos(now))).is_ok_and(|result| result.allowed())
}
