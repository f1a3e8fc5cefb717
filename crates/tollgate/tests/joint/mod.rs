//! Random limits that decide together, of all algorithms and scopes, enforced and in shadow: every figure is the one that
//! the single limits' definitions give.

use std::cmp::Reverse;
use std::collections::HashMap;

use proptest::prelude::*;
use tollgate::{
    Call, Config, Limit, LimiterConfig, ManualClock, Mode, Policy, RateLimiter, Scope, Time,
};

use crate::model::quota::{MILLISECOND, Quota, SECOND};
use crate::model::{Expected, Model};

/// One of the limits.
#[derive(Clone, Debug)]
struct Rule {
    name: String,
    was: Option<String>,
    quota: Quota,
    scope: Scope,
    mode: Mode,
}

/// One step: time passes, then a call is made, or the config is loaded again with the same limits otherwise written.
#[derive(Clone, Copy, Debug)]
enum Step {
    Call { passed_ms: u64, client: usize, tenant: usize, cost: u32 },
    Reload { rotate: usize, rename: usize, flip: Option<usize> },
}

/// The limits one by one, each key of each with a model of its own.
#[derive(Default)]
struct Models(HashMap<(usize, String), Model>);

/// What all of them come to: the joint figures, with the name and the quota of the limit they are of.
type Joint = (Expected, Option<String>, u64);

impl Models {
    fn of(&mut self, (index, rule): (usize, &Rule), client: &str, tenant: &str) -> &mut Model {
        let key = match rule.scope {
            Scope::Tenant => tenant,
            Scope::Global => "",
            Scope::Client | _ => client,
        };
        let new = || Model::new(rule.quota.clone());
        self.0.entry((index, key.to_owned())).or_insert_with(new)
    }

    /// Decides as the text says: all admit, then all are charged.
    fn call(
        &mut self,
        rules: &[(usize, Rule)],
        now: u64,
        (client, tenant, cost): (&str, &str, u32),
    ) -> Joint {
        let admits: Vec<_> = rules
            .iter()
            .map(|(index, rule)| self.of((*index, rule), client, tenant).admits(now, cost))
            .collect();
        let enforced = |rule: &Rule| rule.mode == Mode::Enforce;
        let allowed =
            rules.iter().zip(&admits).all(|((_, rule), admits)| *admits || !enforced(rule));
        let mut figures = Vec::new();
        for (place, ((index, rule), admits)) in rules.iter().zip(&admits).enumerate() {
            let model = self.of((*index, rule), client, tenant);
            if allowed && *admits {
                model.charge(now, cost);
            }
            if enforced(rule) {
                figures.push((place, rule, model.figures(now, cost, *admits)));
            }
        }
        let remaining = figures.iter().map(|(_, _, figures)| figures.remaining).min();
        let spoken = if allowed {
            figures.iter().min_by_key(|(place, _, figures)| (figures.remaining, *place))
        } else {
            figures.iter().filter(|(_, _, figures)| !figures.allowed).max_by_key(
                |(place, _, figures)| (figures.retry_after_ms.unwrap_or(u64::MAX), Reverse(*place)),
            )
        };
        let Some((_, rule, figures)) = spoken else {
            let whole = u64::from(u32::MAX);
            let nothing =
                Expected { allowed, remaining: whole, retry_after_ms: None, reset_after_ms: 0 };
            return (nothing, None, whole);
        };
        let joint = Expected { allowed, remaining: remaining.unwrap(), ..*figures };
        (joint, Some(rule.name.clone()), rule.quota.limit().into())
    }
}

fn config(rules: &[(usize, Rule)]) -> Config {
    let limit = |(_, rule): &(usize, Rule)| {
        let algorithm = LimiterConfig::of_named(rule.quota.algorithm());
        let limit = Limit::new(&rule.name, algorithm).scope(rule.scope).mode(rule.mode);
        rule.was.iter().fold(limit, Limit::was)
    };
    Config::builder().default(Policy::limits(rules.iter().map(limit))).build().unwrap()
}

fn quota() -> impl Strategy<Value = Quota> {
    let window =
        prop_oneof![Just(500_u64), Just(1_000), Just(7_777)].prop_map(|ms| ms * MILLISECOND);
    let rate = prop_oneof![Just((1_u64, SECOND)), Just((3, SECOND)), Just((1, 2 * SECOND))];
    (1..=6_u32, window, rate, 0..4).prop_map(|(limit, window_ns, (tokens, period_ns), kind)| {
        match kind {
            0 => Quota::Bucket { capacity: limit, tokens, period_ns },
            1 => Quota::Log { max_requests: limit, window_ns },
            2 => Quota::Fixed { max_requests: limit, window_ns },
            _ => Quota::Counter { max_requests: limit, window_ns },
        }
    })
}

fn rule() -> impl Strategy<Value = (Quota, Scope, Mode)> {
    let scope = prop_oneof![Just(Scope::Client), Just(Scope::Tenant), Just(Scope::Global)];
    let mode = prop_oneof![4 => Just(Mode::Enforce), 1 => Just(Mode::Shadow)];
    (quota(), scope, mode)
}

fn step() -> impl Strategy<Value = Step> {
    let passed = prop_oneof![
        3 => Just(0_u64),
        2 => 1..=40_u64,
        2 => Just(333),
        1 => Just(500),
        2 => Just(1_000),
        1 => 0..=9_000_u64,
    ];
    let cost = prop_oneof![5 => Just(1_u32), 2 => 0..=3_u32, 1 => 4..=8_u32];
    let call =
        (passed, 0..3_usize, 0..2_usize, cost).prop_map(|(passed_ms, client, tenant, cost)| {
            Step::Call { passed_ms, client, tenant, cost }
        });
    let reload = (0..4_usize, 0..4_usize, proptest::option::of(0..4_usize))
        .prop_map(|(rotate, rename, flip)| Step::Reload { rotate, rename, flip });
    prop_oneof![12 => call, 1 => reload]
}

/// The same limits in another order, one under another name, and one perhaps enforced that was not, or the reverse.
fn rewritten(
    rules: &[(usize, Rule)],
    number: usize,
    step: (usize, usize, Option<usize>),
) -> Vec<(usize, Rule)> {
    let (rotate, rename, flip) = step;
    let mut rules = rules.to_vec();
    let count = rules.len();
    rules.rotate_left(rotate % count);
    for (place, (_, rule)) in rules.iter_mut().enumerate() {
        rule.was = None;
        if place == rename % count {
            let before = std::mem::replace(&mut rule.name, format!("renamed {number}"));
            rule.was = Some(before);
        }
        if flip.is_some_and(|flip| place == flip % count) {
            rule.mode = if rule.mode == Mode::Shadow { Mode::Enforce } else { Mode::Shadow };
        }
    }
    rules
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn every_figure_is_that_of_the_limit_which_speaks(
        rules in proptest::collection::vec(rule(), 1..5),
        steps in proptest::collection::vec(step(), 1..60),
    ) {
        let named = |(index, (quota, scope, mode)): (usize, (Quota, Scope, Mode))| {
            (index, Rule { name: format!("limit {index}"), was: None, quota, scope, mode })
        };
        let mut rules: Vec<_> = rules.into_iter().enumerate().map(named).collect();
        let limiter = RateLimiter::builder(config(&rules)).clock(ManualClock::new()).build();
        let (mut models, mut now) = (Models::default(), 5 * SECOND);
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Reload { rotate, rename, flip } => {
                    rules = rewritten(&rules, number, (rotate, rename, flip));
                    let report = limiter.reload(config(&rules));
                    prop_assert!(report.limits().all(|limit| !limit.change.loses_state()));
                }
                Step::Call { passed_ms, client, tenant, cost } => {
                    now += passed_ms * MILLISECOND;
                    let (client, tenant) = (["a", "b", "t"][client], ["t", "u"][tenant]);
                    let (expected, name, limit) = models.call(&rules, now, (client, tenant, cost));
                    let call = Call::new(client, "/").tenant(tenant).cost(cost.into());
                    let decided = limiter.decide(&call.at(Time::from_nanos(now)));
                    let result = decided.unwrap_or_else(|error| error.result());
                    let answered = Expected {
                        allowed: result.allowed(),
                        remaining: result.remaining(),
                        retry_after_ms: result.retry_after_ms(),
                        reset_after_ms: result.reset_after_ms(),
                    };
                    prop_assert_eq!(answered, expected, "step {}: {:?} under {:?}", number, step, rules);
                    prop_assert_eq!(result.limit_name().map(str::to_owned), name);
                    prop_assert_eq!(result.limit(), limit);
                }
            }
        }
    }
}
