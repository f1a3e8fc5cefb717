//! Which limiter answers for which endpoint: made whole from a config, followed by the next one whole.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use foldhash::fast::RandomState;

use crate::config::{Bounds, Config, OnFull};
use crate::joint::{JointLimiter, JointMember};
use crate::keyed::Keyed;
use crate::limit::{Mode, ValidLimit};
use crate::limit_name::LimitName;
use crate::limiter::{Environment, Limiter};
use crate::member::Member;
use crate::outright::{Entrance, Outright};
use crate::penalty::Penalty;
use crate::policy::{ValidPolicy, ValidRule};
use crate::reload::{Change, ReloadReport};
use crate::routes::{apart, is_pattern};
use crate::store::Counts;
use crate::summary::Owner;
use crate::tally::Tally;

/// The limiters of all endpoints.
#[derive(Debug)]
pub(crate) struct Endpoints {
    default: Running,
    /// All others, in the order of the config.
    entries: Vec<(Arc<str>, Running)>,
    /// The limiters of all others by their names. (That of a pattern is no endpoint's name, and is not here.)
    exact: HashMap<Arc<str>, Arc<dyn Limiter>, RandomState>,
    /// The limits that endpoints share.
    shared: Vec<RunningLimit>,
    config: Arc<Config>,
}

/// What answers for an endpoint, and what it is made of.
#[derive(Debug)]
struct Running {
    limiter: Arc<dyn Limiter>,
    /// The limits of its own.
    limits: Vec<RunningLimit>,
    /// Whether one limit answers for it, so that what the limit counts is what the endpoint does.
    is_alone: bool,
    /// What blocks clients after too many denials, and what it was made from.
    penalty: Option<(Penalty, Arc<Keyed<Penalty>>)>,
    tallies: Tallies,
}

/// A limit at work, and what it was made from.
#[derive(Clone, Debug)]
struct RunningLimit {
    limiter: Arc<dyn Member>,
    limit: ValidLimit,
    /// Whether it was given a name, and does not only bear its entry's.
    is_named: bool,
}

/// Calls that no store counts; they outlive reloads.
#[derive(Clone, Debug, Default)]
struct Tallies {
    together: Arc<Tally>,
    exempt: Arc<Tally>,
}

/// What one limit has done and holds.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LimitCounts {
    /// The endpoint it is of, `None` for the default, and for a limit that endpoints share.
    pub endpoint: Option<Arc<str>>,
    /// Whether endpoints share it.
    pub is_shared: bool,
    /// Its name; an entry's only limit that was given none bears the entry's.
    pub limit: Arc<str>,
    /// Whether it denies.
    pub mode: Mode,
    /// Calls it let pass and was charged, calls it denied or, in shadow, would have; and its keys. A call that another
    /// limit denied and this one did not is in neither count.
    pub counts: Counts,
}

impl Endpoints {
    /// The limiters of a config, all new.
    pub(crate) fn start(config: Config, environment: &Environment) -> Self {
        let config = &Arc::new(config);
        Succession { config, environment, before: None, report: ReloadReport::default() }.run().0
    }

    /// Those that come after these under another config, and what became of their state.
    pub(crate) fn follow(&self, config: Config, environment: &Environment) -> (Self, ReloadReport) {
        let (config, report) = (&Arc::new(config), ReloadReport::default());
        Succession { config, environment, before: Some(self), report }.run()
    }

    /// The limiter of an endpoint: by the exact name, else by the path of `METHOD /path`, else by the most specific
    /// pattern, else the default.
    #[inline]
    pub(crate) fn find(&self, endpoint: &str) -> &Arc<dyn Limiter> {
        match self.exact.get(endpoint) {
            Some(limiter) => limiter,
            None => self.find_by_path(endpoint),
        }
    }

    fn find_by_path(&self, endpoint: &str) -> &Arc<dyn Limiter> {
        let (method, path) = apart(endpoint);
        let by_name = method.and_then(|_| self.exact.get(path));
        let by_pattern = || Some(&self.by_pattern(method, path)?.1.limiter);
        by_name.or_else(by_pattern).unwrap_or(&self.default.limiter)
    }

    /// The name of the entry whose limiter [`find`](Self::find) finds.
    pub(crate) fn entry(&self, endpoint: &str) -> Option<&Arc<str>> {
        let by_name = |name| Some(self.exact.get_key_value(name)?.0);
        let (method, path) = apart(endpoint);
        by_name(endpoint)
            .or_else(|| method.and_then(|_| by_name(path)))
            .or_else(|| Some(&self.by_pattern(method, path)?.0))
    }

    fn by_pattern(&self, method: Option<&str>, path: &str) -> Option<&(Arc<str>, Running)> {
        self.entries.get(self.config.routes.find(method, path)?)
    }

    /// What the limiters were made from.
    pub(crate) const fn config(&self) -> &Arc<Config> {
        &self.config
    }

    /// What each endpoint's limiter has done, the default's first.
    pub(crate) fn counts(&self) -> Vec<(Option<Arc<str>>, Counts)> {
        let counted = |(name, running): (Option<&Arc<str>>, &Running)| {
            (name.map(Arc::clone), running.limiter.counts())
        };
        self.iter().map(counted).collect()
    }

    /// What each limit has done where it does not answer alone: those of the default first, then those of each
    /// endpoint, then those that are shared.
    pub(crate) fn limit_counts(&self) -> Vec<LimitCounts> {
        let own =
            self.iter().filter(|(_, running)| !running.is_alone).flat_map(|(endpoint, running)| {
                running
                    .limits
                    .iter()
                    .map(move |limit| limit.counts(endpoint.map(Arc::clone), false))
            });
        own.chain(self.shared.iter().map(|limit| limit.counts(None, true))).collect()
    }

    fn iter(&self) -> impl Iterator<Item = (Option<&Arc<str>>, &Running)> {
        let named = self.entries.iter().map(|(name, running)| (Some(name), running));
        std::iter::once((None, &self.default)).chain(named)
    }
}

impl RunningLimit {
    fn counts(&self, endpoint: Option<Arc<str>>, is_shared: bool) -> LimitCounts {
        let (limit, counts) = (Arc::clone(&self.limit.name), self.limiter.counts());
        LimitCounts { endpoint, is_shared, limit, mode: self.limit.mode, counts }
    }

    fn shown_name(&self) -> Option<&str> {
        self.is_named.then_some(&*self.limit.name)
    }
}

/// The making of the next limiters out of those before, if there are any.
struct Succession<'a> {
    config: &'a Arc<Config>,
    environment: &'a Environment,
    before: Option<&'a Endpoints>,
    report: ReloadReport,
}

impl<'a> Succession<'a> {
    fn run(mut self) -> (Endpoints, ReloadReport) {
        let (config, before) = (self.config, self.before);
        let shared_before = before.map_or(&[][..], |before| &before.shared);
        let mut removed = Vec::new();
        let shared =
            self.limits(Owner::Shared, &config.shared, true, (shared_before, &mut removed));
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
            self.report.record(owner, limit.shown_name(), Change::Removed);
        }
        let plain = entries.iter().filter(|(name, _)| !is_pattern(name));
        let exact = plain.map(|(name, running)| (Arc::clone(name), Arc::clone(&running.limiter)));
        let (exact, config) = (exact.collect(), Arc::clone(config));
        (Endpoints { default, entries, exact, shared, config }, self.report)
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
        let is_named = !matches!(policy.rule, ValidRule::One(_));
        let limits = self.limits(owner, policy.own(), is_named, (limits_before, removed));
        let tallies = before.map(|before| before.tallies.clone()).unwrap_or_default();
        let penalty_before = before.and_then(|before| before.penalty.as_ref());
        let penalty = policy.penalty.map(|penalty| self.penalty(penalty, penalty_before));
        let by_denials = penalty.as_ref().map(|(_, limiter)| {
            let limiter: Arc<dyn Member> = Arc::<Keyed<Penalty>>::clone(limiter);
            limiter
        });
        let limiter = self.limiter(policy, (&limits, shared), by_denials, &tallies);
        let is_alone = !is_named && self.config.uses(policy).is_empty();
        Running { limiter, limits, is_alone, penalty, tallies }
    }

    /// Limits that come after those before, by their names.
    fn limits(
        &mut self,
        owner: Owner<'a>,
        limits: &[ValidLimit],
        is_named: bool,
        (before, removed): (&'a [RunningLimit], &mut Vec<(Owner<'a>, &'a RunningLimit)>),
    ) -> Vec<RunningLimit> {
        let named = |name: &str| before.iter().find(|running| *running.limit.name == *name);
        let stays = |name: &str| limits.iter().any(|limit| *limit.name == *name);
        let mut next = Vec::new();
        let mut taken: Vec<&RunningLimit> = Vec::new();
        for limit in limits {
            let was = limit.was.as_deref().filter(|was| !stays(was));
            let running = named(&limit.name).or_else(|| named(was?));
            taken.extend(running);
            let (change, limiter) = self.follow(limit, running);
            self.report.record(owner, is_named.then_some(&*limit.name), change);
            next.push(RunningLimit { limiter, limit: limit.clone(), is_named });
        }
        let is_taken = |running: &RunningLimit| taken.iter().any(|it| std::ptr::eq(*it, running));
        let gone = before.iter().filter(|running| !is_taken(running));
        removed.extend(gone.map(|limit| (owner, limit)));
        next
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
            let is_same = running.limit.mode == limit.mode && running.limit.name == limit.name;
            let change = if is_same { Change::Kept } else { Change::Changed { forgiven: 0 } };
            return (change, Arc::clone(&running.limiter));
        }
        match algorithm.limiter_after(&*running.limiter, bounds) {
            Some((limiter, forgiven)) => (Change::Changed { forgiven }, limiter),
            None => (Change::Replaced, start()),
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

    /// Joins the limits of an endpoint, its own and those that are shared.
    fn limiter(
        &self,
        policy: &ValidPolicy,
        (own, shared): (&[RunningLimit], &[RunningLimit]),
        penalty: Option<Arc<dyn Member>>,
        tallies: &Tallies,
    ) -> Arc<dyn Limiter> {
        let environment = || self.environment.clone();
        let together = || Arc::clone(&tallies.together);
        let uses = self.config.uses(policy);
        let limiter: Arc<dyn Limiter> = match (&policy.rule, own) {
            (ValidRule::Unlimited, _) => Arc::new(Outright::unlimited(environment(), together())),
            (ValidRule::Deny, _) => Arc::new(Outright::blocked(environment(), together())),
            (ValidRule::One(_), [only]) if uses.is_empty() && penalty.is_none() => {
                Arc::<dyn Member>::clone(&only.limiter)
            }
            (ValidRule::One(_) | ValidRule::Limits(_), _) => {
                let of_others = uses.iter().filter_map(|(limit, times)| {
                    let running = shared.iter().find(|other| other.limit.name == limit.name)?;
                    Some((running, *times, true))
                });
                let all = own.iter().map(|limit| (limit, 1, false)).chain(of_others);
                let members = all.enumerate().map(member).collect();
                Arc::new(JointLimiter::new(members, penalty, environment(), together()))
            }
        };
        if policy.exempt.is_empty() && policy.cost == 1 {
            return limiter;
        }
        let unlimited = Outright::unlimited(environment(), Arc::clone(&tallies.exempt));
        Arc::new(Entrance::new(policy.cost, &policy.exempt, unlimited, limiter))
    }
}

fn member((place, (running, times, shared)): (usize, (&RunningLimit, u32, bool))) -> JointMember {
    JointMember {
        name: LimitName::of(&running.limit.name),
        place,
        scope: running.limit.scope,
        mode: running.limit.mode,
        times,
        shared,
        limiter: Arc::clone(&running.limiter),
        denies_until: AtomicU64::new(0),
    }
}
