//! Limiters that count no quota: everything is allowed, nothing is, or some clients are not asked.

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
        ResetReport { had_state: false, inherits_debt: false }
    }

    fn counts(&self) -> Counts {
        self.tally.counts()
    }

    fn limit(&self) -> u32 {
        if self.answer.allowed() { u32::MAX } else { 0 }
    }
}

/// A limiter that some clients are not held to.
#[derive(Debug)]
pub(crate) struct Exempting {
    exempt: HashSet<Key, RandomState>,
    unlimited: Outright,
    others: Arc<dyn Limiter>,
}

impl Exempting {
    /// The limiter of all `others`, which the clients of these names are not asked by.
    pub(crate) fn new(clients: &[Arc<str>], unlimited: Outright, others: Arc<dyn Limiter>) -> Self {
        let exempt = clients.iter().map(|client| unlimited.key(client)).collect();
        Self { exempt, unlimited, others }
    }

    fn limiter_of(&self, key: Key) -> &dyn Limiter {
        if self.exempt.contains(&key) { &self.unlimited } else { &*self.others }
    }
}

impl Limiter for Exempting {
    fn decide(&self, request: Request) -> Decided {
        self.limiter_of(request.key()).decide(request)
    }

    fn decide_each(&self, request: Request) -> DecidedEach {
        self.limiter_of(request.key()).decide_each(request)
    }

    fn decide_with_receipt(&self, request: Request) -> (Decided, Receipt) {
        self.limiter_of(request.key()).decide_with_receipt(request)
    }

    fn look(&self, request: Request) -> Decided {
        self.limiter_of(request.key()).look(request)
    }

    fn acquire(&self, request: Request) -> Result<Permit, CallError> {
        self.limiter_of(request.key()).acquire(request)
    }

    fn wait_behind(&self, before: &[u64], request: Request) -> Result<Option<Duration>, CallError> {
        self.limiter_of(request.key()).wait_behind(before, request)
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
