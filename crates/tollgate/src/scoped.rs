//! A limit with a name that decides alone, since it counts calls under way: by client, by tenant or all together.

use std::sync::Arc;
use std::time::Duration;

use crate::clock::Time;
use crate::concurrency::Permit;
use crate::decision::{CallError, TenantMissing};
use crate::key::Key;
use crate::limit::{Mode, Scope};
use crate::limit_name::LimitName;
use crate::limiter::{Decided, DecidedEach, LimitResult, Limiter, Request};
use crate::store::{Counts, ResetReport};

/// Asks a limiter about the key that a limit's scope counts a call under, and names the answer.
#[derive(Debug)]
pub(crate) struct Scoped {
    pub(crate) name: LimitName,
    pub(crate) scope: Scope,
    pub(crate) limiter: Arc<dyn Limiter>,
}

impl Scoped {
    /// The same call, of the key that is counted.
    fn own(&self, request: Request) -> Result<Request, CallError> {
        match request.key_of(self.scope) {
            Some(key) => Ok(request.with_key(key)),
            None => Err(TenantMissing::said_by(self.name, self.limiter.limit()).into()),
        }
    }
}

impl Limiter for Scoped {
    fn decide(&self, request: Request) -> Decided {
        let decided = self.limiter.decide(self.own(request)?);
        decided.map(|result| result.said_by(self.name)).map_err(|error| error.said_by(self.name))
    }

    fn decide_each(&self, request: Request) -> DecidedEach {
        let decided = self.decide(request);
        let result = decided.unwrap_or_else(|error| error.result());
        let own = LimitResult { scope: self.scope, mode: Mode::Enforce, result };
        DecidedEach { decided, limits: vec![own] }
    }

    fn look(&self, request: Request) -> Decided {
        let looked = self.limiter.look(self.own(request)?);
        looked.map(|result| result.said_by(self.name)).map_err(|error| error.said_by(self.name))
    }

    fn acquire(&self, request: Request) -> Result<Permit, CallError> {
        let acquired = self.limiter.acquire(self.own(request)?);
        acquired.map(|permit| permit.said_by(self.name)).map_err(|error| error.said_by(self.name))
    }

    fn wait_behind(&self, before: &[u64], request: Request) -> Result<Option<Duration>, CallError> {
        let wait = self.limiter.wait_behind(before, self.own(request)?);
        wait.map_err(|error| error.said_by(self.name))
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
