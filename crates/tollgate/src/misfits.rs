//! What is wrong with parts of a config that are right each by itself.

use std::collections::BTreeSet;

use crate::config::{Config, DEFAULT};
use crate::limit::ValidLimit;
use crate::parameters::{Fault, nearest_name};
use crate::policy::{Policy, ValidPolicy};
use crate::rule::ValidRule;
use crate::summary::AppliesTo;

impl Config {
    /// Finds fault with names of shared limits and plans that are not there, and with what does not go together.
    pub(crate) fn check_together(&self, faults: &mut Vec<Fault>) {
        self.plans.check(faults);
        let known: BTreeSet<_> = self.shared.iter().map(|limit| &*limit.name).collect();
        for name in self.every.iter().filter(|name| !known.contains(&***name)) {
            faults.push(unknown_shared_limit(name, &known).within(&"every"));
        }
        let named = |(name, policy)| (format!("endpoint {name:?}"), policy);
        let entries = self.endpoints.iter().map(|(name, policy)| (name, policy)).map(named);
        for (subject, policy) in std::iter::once((DEFAULT.to_owned(), &self.default)).chain(entries)
        {
            for name in policy.uses.iter().filter(|name| !known.contains(&***name)) {
                faults.push(unknown_shared_limit(name, &known).within(&subject));
            }
            let unknown = policy.plans.iter().filter_map(|plan| self.plans.unknown(&plan.name));
            faults.extend(unknown.map(|fault| fault.within(&subject)));
            for (applies_to, rule) in policy.rules() {
                let fault = self.misfit(policy, (applies_to, rule));
                let fault = fault.map(|fault| match applies_to {
                    AppliesTo::Everybody => fault,
                    AppliesTo::Plan(_) | AppliesTo::Client(_) => fault.within(&applies_to),
                });
                faults.extend(fault.map(|fault| fault.within(&subject)));
            }
        }
    }

    /// What is wrong with a rule of a policy beside the shared limits it uses and the rules before it.
    fn misfit(
        &self,
        policy: &ValidPolicy,
        (applies_to, rule): (AppliesTo<'_>, &ValidRule),
    ) -> Option<Fault> {
        let uses = self.uses(policy);
        if !rule.counts() {
            let given = [("use", !policy.uses.is_empty()), ("penalty", policy.penalty.is_some())];
            let mut given = given.into_iter().filter(|_| applies_to == AppliesTo::Everybody);
            let (field, _) = given.find(|(_, is_given)| *is_given)?;
            let message = format!("`{field}` does not go with `unlimited` or `deny`; keep one");
            return Some(Fault::of_field(field, message));
        }
        if let Some(fault) = misfit_of_plans(policy, rule) {
            return Some(fault);
        }
        let names: BTreeSet<_> = rule.own().iter().map(|limit| &limit.name).collect();
        if let Some((limit, _)) = uses.iter().find(|(limit, _)| names.contains(&limit.name)) {
            let message =
                format!("limit {:?} has the name of a shared limit that is used here", limit.name);
            return Some(Fault::of_field("name", message));
        }
        let limits = rule.own().len().saturating_add(uses.len());
        let most = Policy::LIMITS_MAX;
        match limits {
            0 => Some(Fault::of_entry("no limits; expected at least one, or `unlimited: true`")),
            _ if limits > most => {
                Some(Fault::of_entry(format!("{limits} limits; expected at most {most}")))
            }
            _ => None,
        }
    }
}

/// What is wrong with a rule beside those of other plans and clients.
fn misfit_of_plans(policy: &ValidPolicy, rule: &ValidRule) -> Option<Fault> {
    if policy.is_the_same_for_all() {
        return None;
    }
    if rule.own().iter().any(|limit| limit.limiter.algorithm.as_concurrency().is_some()) {
        let message = "`Concurrency` counts calls under way, so it does not go with plans or overrides; make it a \
                       shared limit, which is the same for all, and use that here";
        return Some(Fault::of_field("algorithm", message));
    }
    let all = policy.rules().flat_map(|(_, rule)| rule.own());
    let bounds = |limit: &ValidLimit| {
        let bounds = limit.limiter.bounds;
        (bounds.max_keys, bounds.on_full)
    };
    let mut pairs = all.flat_map(|first| rule.own().iter().map(move |limit| (first, limit)));
    let (first, limit) =
        pairs.find(|(first, limit)| first.goes_on_as(limit) && bounds(first) != bounds(limit))?;
    let message = format!(
        "limit {:?} has one table for all plans, and `maxKeys` or `onFull` differ: {} and {}; expected the same",
        limit.name, first.limiter.bounds.max_keys, limit.limiter.bounds.max_keys
    );
    Some(Fault::of_field("maxKeys", message))
}

/// The fault of a shared limit nobody knows, with the nearest name that is known.
pub fn unknown_shared_limit(name: &str, known: &BTreeSet<&str>) -> Fault {
    let message = match nearest_name(name, known.iter().copied()) {
        Some(nearest) => format!("unknown shared limit {name:?}; did you mean {nearest:?}?"),
        None if known.is_empty() => format!("unknown shared limit {name:?}; there are none"),
        None => {
            let known: Vec<_> = known.iter().copied().collect();
            format!("unknown shared limit {name:?}; known are {}", known.join(", "))
        }
    };
    Fault::of_field("use", message)
}
