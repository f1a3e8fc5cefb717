//! Which limiter answers for which endpoint: made whole from a config, followed by the next one whole.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use foldhash::fast::RandomState;

use crate::config::Config;
use crate::key::KeyHasher;
use crate::keyed::Keyed;
use crate::limit::{Mode, ValidLimit};
use crate::limiter::{Environment, Limiter, Request};
use crate::member::Member;
use crate::penalty::Penalty;
use crate::plans::{PlanFinder, PlanName};
use crate::rate_limiter::Call;
use crate::reload::{AppliesToName, ReloadReport};
use crate::routes::apart;
use crate::store::Counts;
use crate::succession::Succession;
use crate::tally::Tally;

/// The limiters of all endpoints.
#[derive(Debug)]
pub(crate) struct Endpoints {
    pub(crate) default: Running,
    /// All others, in the order of the config.
    pub(crate) entries: Vec<(Arc<str>, Running)>,
    /// The limiters of all others by their names. (That of a pattern is no endpoint's name, and is not here.)
    pub(crate) exact: HashMap<Arc<str>, Arc<dyn Limiter>, RandomState>,
    /// The limits that endpoints share.
    pub(crate) shared: Vec<RunningLimit>,
    pub(crate) config: Arc<Config>,
    /// Where the config knows any.
    pub(crate) finder: Option<Arc<PlanFinder>>,
    /// Calls that named a plan that was not known; it outlives reloads.
    pub(crate) unknown_plans: Arc<AtomicU64>,
}

/// What answers for an endpoint, and what it is made of.
#[derive(Debug)]
pub(crate) struct Running {
    pub(crate) limiter: Arc<dyn Limiter>,
    /// The limits of its own.
    pub(crate) limits: Vec<RunningLimit>,
    /// Whether one limit answers for it, so that what the limit counts is what the endpoint does.
    pub(crate) is_alone: bool,
    /// What blocks clients after too many denials, and what it was made from.
    pub(crate) penalty: Option<(Penalty, Arc<Keyed<Penalty>>)>,
    pub(crate) tallies: Tallies,
}

/// A limit at work, and what it was made from.
#[derive(Clone, Debug)]
pub(crate) struct RunningLimit {
    pub(crate) limiter: Arc<dyn Member>,
    /// Where it is several limits of plans, the first of them, with the algorithm that has accounts for all.
    pub(crate) limit: ValidLimit,
    /// Whether it was given a name, and does not only bear its entry's.
    pub(crate) is_named: bool,
    /// The limits it consists of: one, but where there are plans.
    pub(crate) parts: Vec<(AppliesToName, ValidLimit)>,
}

/// Calls that no store counts; they outlive reloads.
#[derive(Clone, Debug, Default)]
pub(crate) struct Tallies {
    pub(crate) together: Arc<Tally>,
    pub(crate) exempt: Arc<Tally>,
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
        Succession::new(config, environment, None).run().0
    }

    /// Those that come after these under another config, and what became of their state.
    pub(crate) fn follow(&self, config: Config, environment: &Environment) -> (Self, ReloadReport) {
        let config = &Arc::new(config);
        Succession::new(config, environment, Some(self)).run()
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

    /// What an endpoint's limiter is asked.
    #[inline]
    pub(crate) fn request(&self, call: &Call<'_>, hasher: &KeyHasher) -> Request {
        let request = call.request(hasher);
        if self.finder.is_none() && call.plan_name().is_none() {
            return request;
        }
        request.on_plan(self.plan_of(call).unwrap_or(PlanName::NONE))
    }

    /// The plan that a call names, or that goes by the beginning of the client's name. Out of the way of calls where
    /// there are no plans.
    #[cold]
    #[inline(never)]
    fn plan_of(&self, call: &Call<'_>) -> Option<PlanName> {
        let finder = self.finder.as_ref();
        let named = call.plan_name().and_then(|name| {
            let plan = finder.and_then(|finder| finder.named(name));
            if plan.is_none() {
                self.unknown_plans.fetch_add(1, Ordering::Relaxed);
            }
            plan
        });
        named.or_else(|| finder?.of_prefix(call.client_name()))
    }

    /// How many calls named a plan that was not known.
    pub(crate) fn unknown_plans(&self) -> u64 {
        self.unknown_plans.load(Ordering::Relaxed)
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
        let own = self.iter().filter(|(_, running)| !running.is_alone);
        let own = own.flat_map(|(endpoint, running)| running.limit_counts(endpoint));
        own.chain(self.shared.iter().map(|limit| limit.counts(None, true))).collect()
    }

    fn iter(&self) -> impl Iterator<Item = (Option<&Arc<str>>, &Running)> {
        let named = self.entries.iter().map(|(name, running)| (Some(name), running));
        std::iter::once((None, &self.default)).chain(named)
    }
}

impl Running {
    /// What each of its limits has done. Plans may have limits of one name by two algorithms, which are one here.
    fn limit_counts(&self, endpoint: Option<&Arc<str>>) -> Vec<LimitCounts> {
        let mut all: Vec<LimitCounts> = Vec::new();
        for limit in &self.limits {
            let one = limit.counts(endpoint.map(Arc::clone), false);
            let named =
                |other: &&mut LimitCounts| (&other.limit, other.mode) == (&one.limit, one.mode);
            match all.iter_mut().find(named) {
                Some(other) => other.counts.add(&one.counts),
                None => all.push(one),
            }
        }
        all
    }
}

impl RunningLimit {
    fn counts(&self, endpoint: Option<Arc<str>>, is_shared: bool) -> LimitCounts {
        let (limit, counts) = (Arc::clone(&self.limit.name), self.limiter.counts());
        LimitCounts { endpoint, is_shared, limit, mode: self.limit.mode, counts }
    }

    /// What it consists of for these.
    pub(crate) fn part(&self, applies_to: &AppliesToName) -> Option<&ValidLimit> {
        self.parts.iter().find(|(to, _)| to == applies_to).map(|(_, limit)| limit)
    }

    pub(crate) fn shown_name(&self) -> Option<&str> {
        self.is_named.then_some(&*self.limit.name)
    }
}
