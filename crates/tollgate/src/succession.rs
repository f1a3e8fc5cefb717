//! The making of limiters from a config, out of those before, if there are any.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::config::{Bounds, Config, OnFull, ValidLimiter};
use crate::endpoints::{Endpoints, Running, RunningLimit};
use crate::joining::Joining;
use crate::keyed::Keyed;
use crate::limit::ValidLimit;
use crate::limiter::Environment;
use crate::member::Member;
use crate::penalty::Penalty;
use crate::plans::PlanFinder;
use crate::policy::ValidPolicy;
use crate::reload::{AppliesToName, Change, ReloadReport};
use crate::routes::is_pattern;
use crate::summary::Owner;
use crate::tables::{Table, tables};

/// The making of the next limiters out of those before, if there are any.
pub(crate) struct Succession<'a> {
    config: &'a Arc<Config>,
    environment: &'a Environment,
    before: Option<&'a Endpoints>,
    finder: Arc<PlanFinder>,
    report: ReloadReport,
}

impl<'a> Succession<'a> {
    pub(crate) fn new(
        config: &'a Arc<Config>,
        environment: &'a Environment,
        before: Option<&'a Endpoints>,
    ) -> Self {
        let finder = Arc::new(PlanFinder::new(&config.plans, environment.hasher()));
        Self { config, environment, before, finder, report: ReloadReport::default() }
    }

    pub(crate) fn run(mut self) -> (Endpoints, ReloadReport) {
        let (config, before) = (self.config, self.before);
        let shared_before = before.map_or(&[][..], |before| &before.shared);
        let mut removed = Vec::new();
        let shared = config.shared.iter().map(|limit| NextLimit::alone(limit, true)).collect();
        let shared = self.limits(Owner::Shared, shared, (shared_before, &mut removed));
        let default_before = before.map(|before| &before.default);
        let default =
            self.entry(Owner::Default, &config.default, &shared, (default_before, &mut removed));
        let entries_before = before.map_or(&[][..], |before| &before.entries);
        let by_name: HashMap<_, _> =
            entries_before.iter().map(|(name, running)| (name, running)).collect();
        let mut entries = Vec::new();
        for (name, policy) in &config.endpoints {
            let owner = Owner::Endpoint(name);
            let running = by_name.get(name).copied();
            let next = self.entry(owner, policy, &shared, (running, &mut removed));
            entries.push((Arc::clone(name), next));
        }
        let after: HashSet<_> = config.endpoints.iter().map(|(name, _)| name).collect();
        for (name, running) in entries_before.iter().filter(|(name, _)| !after.contains(name)) {
            removed.extend(running.limits.iter().map(|limit| (Owner::Endpoint(name), limit)));
        }
        for (owner, limit) in removed {
            for (applies_to, _) in &limit.parts {
                self.report.record(owner, (limit.shown_name(), applies_to), Change::Removed);
            }
        }
        let plain = entries.iter().filter(|(name, _)| !is_pattern(name));
        let exact = plain.map(|(name, running)| (Arc::clone(name), Arc::clone(&running.limiter)));
        let (exact, config) = (exact.collect(), Arc::clone(config));
        let unknown_plans = before.map(|before| Arc::clone(&before.unknown_plans));
        let unknown_plans = unknown_plans.unwrap_or_default();
        let finder = Some(self.finder).filter(|_| !config.plans.names.is_empty());
        let next = Endpoints { default, entries, exact, shared, config, finder, unknown_plans };
        (next, self.report)
    }

    /// What answers for one endpoint.
    fn entry(
        &mut self,
        owner: Owner<'a>,
        policy: &ValidPolicy,
        shared: &[RunningLimit],
        (before, removed): (Option<&'a Running>, &mut Vec<(Owner<'a>, &'a RunningLimit)>),
    ) -> Running {
        let limits_before = before.map_or(&[][..], |before| &before.limits);
        let next = if policy.is_the_same_for_all() {
            let is_named = policy.rule.is_named();
            policy.rule.own().iter().map(|limit| NextLimit::alone(limit, is_named)).collect()
        } else {
            tables(policy).iter().map(|table| self.of_plans(table)).collect()
        };
        let limits = self.limits(owner, next, (limits_before, removed));
        let tallies = before.map(|before| before.tallies.clone()).unwrap_or_default();
        let penalty_before = before.and_then(|before| before.penalty.as_ref());
        let penalty = policy.penalty.map(|penalty| self.penalty(penalty, penalty_before));
        let limiter = Joining {
            config: self.config,
            environment: self.environment,
            finder: &self.finder,
            policy,
            own: &limits,
            shared,
            penalty: penalty.as_ref().map(|(_, limiter)| limiter),
            tallies: &tallies,
        }
        .limiter();
        let is_alone = policy.is_the_same_for_all()
            && !policy.rule.is_named()
            && self.config.uses(policy).is_empty();
        Running { limiter, limits, is_alone, penalty, tallies }
    }

    /// The limits of plans that have one table of keys.
    fn of_plans(&self, table: &Table<'_>) -> NextLimit {
        let hasher = self.environment.hasher();
        let algorithm = table.algorithm(|applies_to| applies_to.terms(hasher));
        let was = table.limits.iter().find_map(|(_, limit)| limit.was.clone());
        let limiter = ValidLimiter { algorithm, bounds: table.bounds() };
        let parts = table.limits.iter();
        let parts = parts.map(|(applies_to, limit)| ((*applies_to).into(), (*limit).clone()));
        NextLimit {
            limit: ValidLimit { limiter, was, ..table.first.clone() },
            is_named: table.is_named,
            parts: parts.collect(),
        }
    }

    /// Limits that come after those before, by their names.
    fn limits(
        &mut self,
        owner: Owner<'a>,
        limits: Vec<NextLimit>,
        (before, removed): (&'a [RunningLimit], &mut Vec<(Owner<'a>, &'a RunningLimit)>),
    ) -> Vec<RunningLimit> {
        let predecessors: Vec<_> =
            limits.iter().map(|next| predecessor(&next.limit, &limits, before)).collect();
        let is_taken = |running: &RunningLimit| {
            predecessors.iter().flatten().any(|it| std::ptr::eq(*it, running))
        };
        let gone = before.iter().filter(|running| !is_taken(running));
        removed.extend(gone.map(|limit| (owner, limit)));
        let mut running = Vec::new();
        for (next, before) in limits.into_iter().zip(predecessors) {
            let NextLimit { limit, is_named, parts } = next;
            let (change, limiter) = self.follow(&limit, before);
            let next = RunningLimit { limiter, limit, is_named, parts };
            self.record(owner, change, (before, &next));
            running.push(next);
        }
        running
    }

    /// The limiter that comes after `running`.
    fn follow(
        &self,
        limit: &ValidLimit,
        running: Option<&RunningLimit>,
    ) -> (Change, Arc<dyn Member>) {
        let (algorithm, bounds) = (&limit.limiter.algorithm, limit.limiter.bounds);
        let start = || algorithm.limiter(bounds, self.environment);
        let Some(running) = running else { return (Change::New, start()) };
        if running.limit.scope != limit.scope {
            return (Change::Replaced, start());
        }
        if running.limit.limiter == limit.limiter {
            return (Change::Kept, Arc::clone(&running.limiter));
        }
        match algorithm.limiter_after(&*running.limiter, bounds) {
            Some((limiter, forgiven)) => (Change::Changed { forgiven }, limiter),
            None => (Change::Replaced, start()),
        }
    }

    /// Reports what became of a limit, of those of each plan by itself.
    fn record(
        &mut self,
        owner: Owner<'a>,
        change: Change,
        (before, next): (Option<&RunningLimit>, &RunningLimit),
    ) {
        let mut forgiven = if let Change::Changed { forgiven } = change { forgiven } else { 0 };
        for (applies_to, limit) in &next.parts {
            let before = before.and_then(|before| before.part(applies_to));
            let is_same = |before: &ValidLimit| {
                before.limiter == limit.limiter
                    && before.mode == limit.mode
                    && before.name == limit.name
            };
            let change = if change.loses_state() || change == Change::New {
                change
            } else if before.is_some_and(is_same) {
                Change::Kept
            } else {
                Change::Changed { forgiven: std::mem::take(&mut forgiven) }
            };
            self.report.record(owner, (next.shown_name(), applies_to), change);
        }
        let gone = before.iter().flat_map(|before| &before.parts);
        let gone = gone.filter(|(applies_to, _)| next.part(applies_to).is_none());
        for (applies_to, _) in gone {
            self.report.record(owner, (next.shown_name(), applies_to), Change::Removed);
        }
    }

    /// What blocks clients after too many denials. Of those that had to leave a full table nothing is remembered: a
    /// newcomer must not be blocked for them.
    fn penalty(
        &self,
        penalty: Penalty,
        before: Option<&(Penalty, Arc<Keyed<Penalty>>)>,
    ) -> (Penalty, Arc<Keyed<Penalty>>) {
        let bounds = Bounds { on_full: OnFull::Admit, ..Bounds::default() };
        let limiter = match before {
            Some((before, limiter)) if *before == penalty => Arc::clone(limiter),
            Some((_, limiter)) => Arc::new(limiter.moved_to(penalty, bounds).0),
            None => Arc::new(Keyed::with_bounds(penalty, bounds, self.environment)),
        };
        (penalty, limiter)
    }
}

/// A limit to come, as a [`RunningLimit`] knows it.
#[derive(Debug)]
struct NextLimit {
    limit: ValidLimit,
    is_named: bool,
    parts: Vec<(AppliesToName, ValidLimit)>,
}

impl NextLimit {
    fn alone(limit: &ValidLimit, is_named: bool) -> Self {
        let parts = vec![(AppliesToName::Everybody, limit.clone())];
        Self { limit: limit.clone(), is_named, parts }
    }
}

/// The limit whose state goes on in this one: of the same name, or of the name it had. Of two of one name it is that
/// with the same algorithm and scope.
fn predecessor<'a>(
    limit: &ValidLimit,
    all: &[NextLimit],
    before: &'a [RunningLimit],
) -> Option<&'a RunningLimit> {
    let going_on = before.iter().find(|running| running.limit.goes_on_as(limit));
    let is_claimed =
        |running: &RunningLimit| all.iter().any(|other| running.limit.goes_on_as(&other.limit));
    let by_name = |name: &str| {
        before.iter().find(|running| *running.limit.name == *name && !is_claimed(running))
    };
    let stays = |name: &str| all.iter().any(|other| *other.limit.name == *name);
    let was = || by_name(limit.was.as_deref().filter(|was| !stays(was))?);
    going_on.or_else(|| by_name(&limit.name)).or_else(was)
}
