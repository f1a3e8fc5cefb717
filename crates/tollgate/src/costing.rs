//! A limiter whose calls cost more than 1 unless they say otherwise.

use std::sync::Arc;
use std::time::Duration;

use crate::clock::Time;
use crate::concurrency::Permit;
use crate::decision::CallError;
use crate::key::Key;
use crate::limiter::{Decided, DecidedEach, Limiter, Request};
use crate::receipt::Receipt;
use crate::store::{Counts, ResetReport};

/// Names a price for calls that bring none.
#[derive(Debug)]
pub(crate) struct Costing {
    pub(crate) cost: u64,
    pub(crate) limiter: Arc<dyn Limiter>,
}

impl Limiter for Costing {
    fn decide(&self, request: Request) -> Decided {
        self.limiter.decide(request.or_cost(self.cost))
    }

    fn decide_each(&self, request: Request) -> DecidedEach {
        self.limiter.decide_each(request.or_cost(self.cost))
    }

    fn decide_with_receipt(&self, request: Request) -> (Decided, Receipt) {
        self.limiter.decide_with_receipt(request.or_cost(self.cost))
    }

    fn default_cost(&self) -> u64 {
        self.cost
    }

    fn look(&self, request: Request) -> Decided {
        self.limiter.look(request.or_cost(self.cost))
    }

    fn acquire(&self, request: Request) -> Result<Permit, CallError> {
        self.limiter.acquire(request.or_cost(self.cost))
    }

    fn wait_behind(&self, before: &[u64], request: Request) -> Result<Option<Duration>, CallError> {
        self.limiter.wait_behind(before, request.or_cost(self.cost))
    }

    fn request(&self, name: &str) -> Request {
        self.limiter.request(name)
    }

    fn key(&self, name: &str) -> Key {
        self.limiter.key(name)
    }

    fn now(&self) -> Time {
        self.limiter.now()
    }

    fn reset(&self, name: &str) -> ResetReport {
        self.limiter.reset(name)
    }

    fn counts(&self) -> Counts {
        self.limiter.counts()
    }

    fn limit(&self) -> u32 {
        self.limiter.limit()
    }
}
