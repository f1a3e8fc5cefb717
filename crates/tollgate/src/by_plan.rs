//! The limiter of an endpoint whose clients are on plans: finds the client's, and delegates.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use foldhash::fast::RandomState;

use crate::algorithm::Timeline;
use crate::clock::Time;
use crate::concurrency::Permit;
use crate::decision::CallError;
use crate::key::Key;
use crate::limiter::{Decided, DecidedEach, Environment, Limiter, Request};
use crate::member::Member;
use crate::plans::{PlanFinder, PlanName};
use crate::receipt::Receipt;
use crate::store::{Counts, ResetReport};
use crate::tally::Tally;

/// Asks the limiter of the client's plan.
///
/// From the most particular word to the most general: an override of this client here; the plan that the operator gave
/// the client by its name; the plan that the call names; the plan of the longest prefix; what everybody gets.
#[derive(Debug)]
pub(crate) struct ByPlan {
    pub(crate) everybody: Arc<dyn Limiter>,
    /// Plans that get something else here.
    pub(crate) plans: HashMap<PlanName, Arc<dyn Limiter>, RandomState>,
    pub(crate) overrides: HashMap<Key, Override, RandomState>,
    pub(crate) finder: Arc<PlanFinder>,
    /// The tables behind all of them.
    pub(crate) tables: Vec<Arc<dyn Member>>,
    pub(crate) tally: Arc<Tally>,
    pub(crate) environment: Environment,
}

/// What one client gets instead.
#[derive(Debug)]
pub(crate) struct Override {
    /// A time of day.
    pub(crate) until: Option<Time>,
    pub(crate) limiter: Arc<dyn Limiter>,
}

impl ByPlan {
    fn limiter_of(&self, request: &Request) -> &dyn Limiter {
        if let Some(other) = self.overrides.get(&request.key()).filter(|it| self.holds(it, request))
        {
            return &*other.limiter;
        }
        let plan = self.finder.of_client(request.key()).or_else(|| request.plan());
        let limiter = plan.and_then(|plan| self.plans.get(&plan));
        &**limiter.unwrap_or(&self.everybody)
    }

    /// Whether an override has not ended at the time of a call.
    fn holds(&self, other: &Override, request: &Request) -> bool {
        let time_of_day = || self.environment.time_on(Timeline::Calendar, request.time());
        other.until.is_none_or(|until| time_of_day() < until)
    }
}

impl Limiter for ByPlan {
    fn decide(&self, request: Request) -> Decided {
        self.limiter_of(&request).decide(request)
    }

    fn decide_each(&self, request: Request) -> DecidedEach {
        self.limiter_of(&request).decide_each(request)
    }

    fn decide_with_receipt(&self, request: Request) -> (Decided, Receipt) {
        self.limiter_of(&request).decide_with_receipt(request)
    }

    fn look(&self, request: Request) -> Decided {
        self.limiter_of(&request).look(request)
    }

    fn acquire(&self, request: Request) -> Result<Permit, CallError> {
        self.limiter_of(&request).acquire(request)
    }

    fn wait_behind(&self, before: &[u64], request: Request) -> Result<Option<Duration>, CallError> {
        self.limiter_of(&request).wait_behind(before, request)
    }

    fn request(&self, name: &str) -> Request {
        let request = Request::new(self.key(name));
        self.finder.of_prefix(name).map_or(request, |plan| request.on_plan(plan))
    }

    fn key(&self, name: &str) -> Key {
        self.environment.hasher().key(name)
    }

    fn now(&self) -> Time {
        self.environment.now()
    }

    /// Under every plan, and under the client's override.
    fn reset(&self, name: &str) -> ResetReport {
        let own = self.overrides.get(&self.key(name)).map(|it| &it.limiter);
        let mut report = ResetReport::default();
        for limiter in self.plans.values().chain([&self.everybody]).chain(own) {
            let one = limiter.reset(name);
            report.had_state |= one.had_state;
            report.inherits_debt |= one.inherits_debt;
        }
        report
    }

    /// Calls as they were decided; keys and evictions of all tables.
    fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for table in &self.tables {
            counts.add(&table.counts());
        }
        let Counts { allowed, denied, .. } = self.tally.counts();
        Counts { allowed, denied, ..counts }
    }

    /// That of everybody.
    fn limit(&self) -> u32 {
        self.everybody.limit()
    }
}
