//! Limiters that count no quota: everything is allowed, nothing is, or a call is priced and handed on.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use foldhash::fast::RandomState;

use crate::clock::Time;
use crate::concurrency::Permit;
use crate::decision::{CallError, RateLimitResult, Reason};
use crate::key::Key;
use crate::limiter::{Decided, DecidedEach, Environment, Limiter, Request};
use crate::receipt::Receipt;
use crate::store::{Counts, ResetReport};
use crate::tally::Tally;

/// Gives every call the same answer.
#[derive(Debug)]
pub(crate) struct Outright {
    answer: RateLimitResult,
    environment: Environment,
    /// Outlives reloads.
    tally: Arc<Tally>,
}

impl Outright {
    /// Everything is allowed.
    pub(crate) const fn unlimited(environment: Environment, tally: Arc<Tally>) -> Self {
        Self { answer: RateLimitResult::unlimited(), environment, tally }
    }

    /// Nothing is allowed.
    pub(crate) const fn blocked(environment: Environment, tally: Arc<Tally>) -> Self {
        Self { answer: RateLimitResult::refused(Reason::Blocked, 0), environment, tally }
    }
}

impl Limiter for Outright {
    fn decide(&self, request: Request) -> Decided {
        self.tally.count(request.key(), self.answer.allowed());
        Ok(self.answer)
    }

    fn look(&self, _request: Request) -> Decided {
        Ok(self.answer)
    }

    fn key(&self, name: &str) -> Key {
        self.environment.hasher().key(name)
    }

    fn now(&self) -> Time {
        self.environment.now()
    }

    fn reset(&self, _name: &str) -> ResetReport {
        ResetReport::default()
    }

    fn counts(&self) -> Counts {
        self.tally.counts()
    }

    fn limit(&self) -> u32 {
        if self.answer.allowed() { u32::MAX } else { 0 }
    }
}

/// What comes before an endpoint's limits: a price for calls that bring none, and clients that are not held to any.
#[derive(Debug)]
pub(crate) struct Entrance {
    cost: u64,
    exempt: HashSet<Key, RandomState>,
    unlimited: Outright,
    others: Arc<dyn Limiter>,
}

impl Entrance {
    /// Before the limiter of all `others`, which the exempt clients of these names are not asked by.
    pub(crate) fn new(
        cost: u64,
        exempt: &[Arc<str>],
        unlimited: Outright,
        others: Arc<dyn Limiter>,
    ) -> Self {
        let exempt = exempt.iter().map(|client| unlimited.key(client)).collect();
        Self { cost, exempt, unlimited, others }
    }

    /// Who is asked about a call, and what.
    fn ask(&self, request: Request) -> (&dyn Limiter, Request) {
        let is_exempt = self.exempt.contains(&request.key());
        let limiter = if is_exempt { &self.unlimited } else { &*self.others };
        (limiter, request.or_cost(self.cost))
    }
}

impl Limiter for Entrance {
    fn decide(&self, request: Request) -> Decided {
        let (limiter, request) = self.ask(request);
        limiter.decide(request)
    }

    fn decide_each(&self, request: Request) -> DecidedEach {
        let (limiter, request) = self.ask(request);
        limiter.decide_each(request)
    }

    fn decide_with_receipt(&self, request: Request) -> (Decided, Receipt) {
        let (limiter, request) = self.ask(request);
        limiter.decide_with_receipt(request)
    }

    fn default_cost(&self) -> u64 {
        self.cost
    }

    fn look(&self, request: Request) -> Decided {
        let (limiter, request) = self.ask(request);
        limiter.look(request)
    }

    fn acquire(&self, request: Request) -> Result<Permit, CallError> {
        let (limiter, request) = self.ask(request);
        limiter.acquire(request)
    }

    fn wait_behind(&self, before: &[u64], request: Request) -> Result<Option<Duration>, CallError> {
        let (limiter, request) = self.ask(request);
        limiter.wait_behind(before, request)
    }

    fn request(&self, name: &str) -> Request {
        self.others.request(name)
    }

    fn key(&self, name: &str) -> Key {
        self.unlimited.key(name)
    }

    fn now(&self) -> Time {
        self.unlimited.now()
    }

    fn reset(&self, name: &str) -> ResetReport {
        self.others.reset(name)
    }

    fn counts(&self) -> Counts {
        let mut counts = self.others.counts();
        counts.add(&self.unlimited.counts());
        counts
    }

    fn limit(&self) -> u32 {
        self.others.limit()
    }
}
