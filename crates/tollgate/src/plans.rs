//! Plans: what clients are on, by the operator's word or the caller's.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::config::Config;
use crate::key::{Key, KeyHasher};
use crate::limit_name::LimitName;
use crate::parameters::{Fault, nearest_name};

/// A plan's name, which outlives reloads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct PlanName(LimitName);

impl PlanName {
    /// Stands where no plan is named: so a request is no larger for it.
    pub(crate) const NONE: Self = Self(LimitName::NONE);

    pub(crate) fn of(name: &str) -> Self {
        Self(LimitName::of(name))
    }
}

/// The plans there are, and who is on which.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Plans {
    pub(crate) names: Vec<Arc<str>>,
    /// Clients by their names, each with a plan.
    pub(crate) clients: Vec<(Arc<str>, Arc<str>)>,
    /// Clients by the beginning of their names.
    pub(crate) prefixes: Vec<(Arc<str>, Arc<str>)>,
}

impl Plans {
    /// Finds fault with names that are empty or given twice, and with plans that nobody knows.
    pub(crate) fn check(&self, faults: &mut Vec<Fault>) {
        let mut seen = BTreeSet::new();
        for name in &self.names {
            if name.is_empty() {
                faults.push(Fault::of_field("plans", "a plan's name is empty; give it one"));
            } else if !seen.insert(name) {
                let message = format!("plan {name:?} is given twice; keep one");
                faults.push(Fault::of_field("plans", message));
            }
        }
        let most = Config::PLANS_MAX;
        if self.names.len() > most {
            let message = format!("{} plans; expected at most {most}", self.names.len());
            faults.push(Fault::of_field("plans", message));
        }
        for (what, assigned) in [("client", &self.clients), ("prefix", &self.prefixes)] {
            let mut seen = BTreeSet::new();
            for (who, plan) in assigned {
                let subject = format!("{what} {who:?}");
                if !seen.insert(who) {
                    let message = format!("{subject} is given a plan twice; keep one");
                    faults.push(Fault::of_field("clients", message));
                }
                faults.extend(self.unknown(plan).map(|fault| fault.within(&subject)));
            }
        }
    }

    /// The fault of a plan that is not there.
    pub(crate) fn unknown(&self, plan: &str) -> Option<Fault> {
        let known: BTreeSet<_> = self.names.iter().map(|name| &**name).collect();
        (!known.contains(plan)).then(|| unknown_plan(plan, &known))
    }

    /// The plan that the operator gave the client by its name.
    pub(crate) fn of_client(&self, client: &str) -> Option<&Arc<str>> {
        self.clients.iter().find(|(name, _)| **name == *client).map(|(_, plan)| plan)
    }

    /// The longest prefix of the client's name that has a plan.
    pub(crate) fn of_prefix(&self, client: &str) -> Option<&(Arc<str>, Arc<str>)> {
        let matching = self.prefixes.iter().filter(|(prefix, _)| client.starts_with(&**prefix));
        matching.max_by_key(|(prefix, _)| prefix.len())
    }
}

/// The fault of a plan nobody knows, with the nearest name that is known.
pub fn unknown_plan(name: &str, known: &BTreeSet<&str>) -> Fault {
    let message = match nearest_name(name, known.iter().copied()) {
        Some(nearest) => format!("unknown plan {name:?}; did you mean {nearest:?}?"),
        None if known.is_empty() => format!("unknown plan {name:?}; there are none"),
        None => {
            let known: Vec<_> = known.iter().copied().collect();
            format!("unknown plan {name:?}; known are {}", known.join(", "))
        }
    };
    Fault::of_field("plan", message)
}

/// The same, to be asked by every call.
#[derive(Debug)]
pub(crate) struct PlanFinder {
    names: HashMap<Arc<str>, PlanName, RandomState>,
    clients: HashMap<Key, PlanName, RandomState>,
    /// By their length, the longest last.
    prefixes: BTreeMap<usize, HashMap<Arc<str>, PlanName, RandomState>>,
}

impl PlanFinder {
    pub(crate) fn new(plans: &Plans, hasher: &KeyHasher) -> Self {
        let names = plans.names.iter().map(|name| (Arc::clone(name), PlanName::of(name)));
        let clients = plans.clients.iter();
        let clients = clients.map(|(name, plan)| (hasher.key(name), PlanName::of(plan)));
        let mut prefixes: BTreeMap<usize, HashMap<_, _, _>> = BTreeMap::new();
        for (prefix, plan) in &plans.prefixes {
            let of_length = prefixes.entry(prefix.len()).or_default();
            of_length.insert(Arc::clone(prefix), PlanName::of(plan));
        }
        Self { names: names.collect(), clients: clients.collect(), prefixes }
    }

    /// The plan of this name.
    pub(crate) fn named(&self, name: &str) -> Option<PlanName> {
        self.names.get(name).copied()
    }

    /// The plan that the operator gave the client by its name.
    pub(crate) fn of_client(&self, client: Key) -> Option<PlanName> {
        self.clients.get(&client).copied()
    }

    /// The plan that the operator gave the longest prefix of the client's name.
    pub(crate) fn of_prefix(&self, client: &str) -> Option<PlanName> {
        let mut from_longest = self.prefixes.iter().rev();
        from_longest.find_map(|(length, prefixes)| prefixes.get(client.get(..*length)?).copied())
    }
}
