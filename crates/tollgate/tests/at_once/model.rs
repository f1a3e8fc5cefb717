//! Random limits, of which some count calls under way: what is answered is what a list of all calls gives.

use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use tollgate::{
    Call, Change, Config, ConfigBuilder, FixedWindow, Limit, Permit, Policy, RateLimitResult,
    RateLimiter, Scope, Time,
};

use crate::{at_once, leased, start};

/// One of the limits: a window that never ends, or calls under way with or without a lease.
#[derive(Clone, Debug)]
struct Rule {
    name: String,
    scope: Scope,
    most: u64,
    kind: Kind,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    Window,
    AtOnce { lease_ms: Option<u64> },
}

/// A call that was allowed, as the model knows it.
#[derive(Clone, Debug)]
struct Flight {
    client: usize,
    tenant: usize,
    cost: u64,
    began: u64,
    says_when_it_ends: bool,
    has_ended: bool,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Call { client: usize, tenant: usize, cost: u64, says_when_it_ends: bool },
    End { which: usize },
    Wait { millis: u64 },
    Reload { rotate: usize },
}

const DAY: u64 = 86_400_000;

impl Rule {
    fn limit(&self) -> Limit {
        let most = u32::try_from(self.most).unwrap();
        let limiter = match self.kind {
            Kind::Window => FixedWindow::new(most, Duration::from_millis(DAY)).into(),
            Kind::AtOnce { lease_ms: None } => at_once(most),
            Kind::AtOnce { lease_ms: Some(lease_ms) } => leased(most, lease_ms),
        };
        Limit::new(&self.name, limiter).scope(self.scope)
    }

    /// The calls that still count for one by this client and tenant, each with when it counts no longer, if that is
    /// known.
    fn counted(&self, flights: &[Flight], now: u64, call: &Flight) -> Vec<(u64, Option<u64>)> {
        let same = |other: &Flight| match self.scope {
            Scope::Client => other.client == call.client,
            Scope::Tenant => other.tenant == call.tenant,
            Scope::Global | _ => true,
        };
        let of_these = flights.iter().filter(|other| same(other));
        let counts = |flight: &Flight| match self.kind {
            Kind::Window => Some(None),
            Kind::AtOnce { lease_ms: None } => {
                (flight.says_when_it_ends && !flight.has_ended).then_some(None)
            }
            Kind::AtOnce { lease_ms: Some(lease_ms) } => {
                let lapses = flight.began + lease_ms;
                (!flight.has_ended && lapses > now).then_some(Some(lapses))
            }
        };
        of_these.filter_map(|flight| Some((flight.cost, counts(flight)?))).collect()
    }

    /// How long the limit denies, at the latest: `None` for as long as nobody knows.
    fn wait(&self, mut counted: Vec<(u64, Option<u64>)>, now: u64, cost: u64) -> Option<u64> {
        counted.sort_by_key(|(_, lapses)| lapses.unwrap_or(u64::MAX));
        let mut taken: u64 = counted.iter().map(|(cost, _)| cost).sum();
        let last = counted.iter().find(|(returned, _)| {
            taken -= returned;
            taken + cost <= self.most
        });
        Some(last?.1? - now)
    }
}

/// What the model expects of a call: whether it is allowed, what remains, and who may say for how long it is denied.
fn check(rules: &[Rule], flights: &[Flight], now: u64, call: &Flight, result: RateLimitResult) {
    let (mut denials, mut least) = (Vec::new(), u64::MAX);
    for rule in rules {
        let counted = rule.counted(flights, now, call);
        let taken: u64 = counted.iter().map(|(cost, _)| cost).sum();
        least = least.min(rule.most - taken);
        if taken + call.cost > rule.most {
            let wait = match rule.kind {
                _ if call.cost > rule.most => None,
                // All that was charged began at one time or another of the same day.
                Kind::Window => result.retry_after_ms(),
                Kind::AtOnce { .. } => rule.wait(counted, now, call.cost),
            };
            denials.push((rule, wait));
        }
    }
    assert_eq!(result.allowed(), denials.is_empty(), "{call:?} after {flights:?} under {rules:?}");
    if denials.is_empty() {
        return;
    }
    assert_eq!(result.remaining(), least);
    let is_known = denials.iter().all(|(_, wait)| wait.is_some());
    let longest = denials.iter().filter_map(|(_, wait)| *wait).max();
    assert_eq!(result.retry_after_ms(), longest.filter(|_| is_known), "{denials:?}");
    let speaks = denials.iter().find(|(rule, _)| Some(&*rule.name) == result.limit_name());
    assert_eq!(speaks.unwrap().1.is_some(), is_known);
}

fn rules() -> impl Strategy<Value = Vec<Rule>> {
    let scope = prop_oneof![Just(Scope::Client), Just(Scope::Tenant), Just(Scope::Global)];
    let kind = prop_oneof![
        1 => Just(Kind::Window),
        2 => Just(Kind::AtOnce { lease_ms: None }),
        2 => (1..2_000_u64).prop_map(|lease_ms| Kind::AtOnce { lease_ms: Some(lease_ms) }),
    ];
    vec((scope, 1..6_u64, kind), 2..5).prop_map(|rules| {
        let named = |(index, (scope, most, kind))| {
            let most = if matches!(kind, Kind::Window) { most * 6 } else { most };
            Rule { name: format!("limit {index}"), scope, most, kind }
        };
        rules.into_iter().enumerate().map(named).collect()
    })
}

fn step() -> impl Strategy<Value = Step> {
    let call = (0..3_usize, 0..2_usize, 0..4_u64, any::<bool>());
    prop_oneof![
        8 => call.prop_map(|(client, tenant, cost, says_when_it_ends)| {
            Step::Call { client, tenant, cost, says_when_it_ends }
        }),
        4 => (0..10_usize).prop_map(|which| Step::End { which }),
        3 => (0..1_500_u64).prop_map(|millis| Step::Wait { millis }),
        1 => (0..4_usize).prop_map(|rotate| Step::Reload { rotate }),
    ]
}

fn config(rules: &[Rule]) -> ConfigBuilder {
    Config::builder().default(Policy::limits(rules.iter().map(Rule::limit)))
}

/// Makes a call as the step says; the permit of one that says when it ends.
fn make(limiter: &RateLimiter, call: &Flight) -> (RateLimitResult, Option<Permit>) {
    let name = call.client.to_string();
    let asked = Call::new(&name, "/").tenant(["t", "u"][call.tenant]).cost(call.cost);
    if call.says_when_it_ends {
        match limiter.acquire_for(&asked) {
            Ok(permit) => (permit.result(), Some(permit)),
            Err(error) => (error.result(), None),
        }
    } else {
        (limiter.decide(&asked).unwrap_or_else(|error| error.result()), None)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn places_and_charges_are_those_of_a_list_of_calls(
        mut rules in rules(),
        steps in vec(step(), 1..80),
    ) {
        let (limiter, clock) = start(config(&rules));
        let (mut flights, mut permits): (Vec<Flight>, Vec<(usize, Permit)>) = Default::default();
        let mut now = 0;
        for step in steps {
            match step {
                Step::Wait { millis } => {
                    now += millis;
                    clock.set(Time::from_millis(now));
                }
                Step::End { which } => {
                    if let Some(which) = which.checked_rem(permits.len()) {
                        let (flight, permit) = permits.remove(which);
                        drop(permit);
                        flights[flight].has_ended = true;
                    }
                }
                Step::Reload { rotate } => {
                    let count = rules.len();
                    rules.rotate_left(rotate % count);
                    let report = limiter.reload(config(&rules).build().unwrap());
                    prop_assert!(report.limits().all(|limit| limit.change == Change::Kept));
                }
                Step::Call { client, tenant, cost, says_when_it_ends } => {
                    let (began, has_ended) = (now, false);
                    let call = Flight { client, tenant, cost, began, says_when_it_ends, has_ended };
                    let (result, permit) = make(&limiter, &call);
                    check(&rules, &flights, now, &call, result);
                    if result.allowed() {
                        permits.extend(permit.map(|permit| (flights.len(), permit)));
                        flights.push(call);
                    }
                }
            }
        }
        drop(permits);
        clock.set(Time::from_millis(DAY + 10_000));
        let counts = limiter.limit_counts();
        for (rule, limit) in rules.iter().zip(&counts) {
            let is_empty = matches!(rule.kind, Kind::Window) || limit.counts.keys == 0;
            prop_assert!(is_empty, "{:?} of {:?}", limit, rule);
        }
    }
}
