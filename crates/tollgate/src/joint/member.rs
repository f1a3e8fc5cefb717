//! One of the limits that decide together: what it is asked, and what its answer means for the whole.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::TimedCall;
use super::verdict::Verdict;
use crate::clock::Time;
use crate::decision::RateLimitResult;
use crate::limit::{Mode, Scope};
use crate::limit_name::LimitName;
use crate::limiter::{Decided, Request};
use crate::member::{Asked, Member};
use crate::store::Held;

/// One of the limits.
#[derive(Debug)]
pub(crate) struct JointMember {
    pub(crate) name: LimitName,
    /// Where it stands in the config.
    pub(crate) place: usize,
    pub(crate) scope: Scope,
    pub(crate) mode: Mode,
    /// How often it is named: what a call costs is charged once for all of them.
    pub(crate) times: u32,
    /// Whether other endpoints use it too.
    pub(crate) shared: bool,
    pub(crate) limiter: Arc<dyn Member>,
    /// Until when a ceiling is known to deny what it denied last, in nanoseconds.
    pub(crate) denies_until: AtomicU64,
}

impl JointMember {
    /// What it is asked.
    pub(super) fn asked(&self, call: &TimedCall) -> Option<Asked> {
        let key = call.request.key_of(self.scope)?;
        let cost = call.request.costs().saturating_mul(u64::from(self.times));
        Some(Asked { key, now: call.now, cost, says_when_it_ends: call.says_when_it_ends })
    }

    /// The same as a request of its own.
    pub(super) fn request(&self, request: &Request) -> Option<Request> {
        let cost = request.costs().saturating_mul(u64::from(self.times));
        Some(request.with_key(request.key_of(self.scope)?).cost(cost))
    }

    pub(super) fn name_result(&self, decided: Decided, request: &Request) -> Decided {
        match decided {
            Ok(result) => Ok(self.in_calls(result).said_by(self.name)),
            Err(error) => error.result().said_by(self.name).possible_at(request.costs()),
        }
    }

    /// What remains in calls of the endpoint, each of which may be charged more than once.
    #[inline]
    pub(super) fn calls(&self, remaining: u64) -> u64 {
        if self.times == 1 {
            return remaining;
        }
        remaining.checked_div(u64::from(self.times)).unwrap_or(0)
    }

    /// The same of a result.
    #[inline]
    pub(super) fn in_calls(&self, result: RateLimitResult) -> RateLimitResult {
        if self.times == 1 {
            return result;
        }
        result.with_remaining(self.calls(result.remaining()))
    }

    /// Whether it would deny a call now, by a look at it.
    pub(super) fn denies(&self, call: &TimedCall) -> bool {
        let own = self.request(&call.request).map(|own| own.at(call.now));
        self.mode == Mode::Enforce
            && own.is_some_and(|own| !self.limiter.look(own).is_ok_and(|result| result.allowed()))
    }

    #[cold]
    pub(super) fn hear_denial(&self, held: &dyn Held, call: &TimedCall, verdict: &mut Verdict<'_>) {
        verdict.hear_denial(self, held.said());
        self.remember(held.said(), call.now);
    }

    /// Remembers how long a ceiling denies, so that the next calls see it before they take a lock.
    #[inline]
    pub(super) fn remember(&self, judged: &RateLimitResult, now: Time) {
        let is_ceiling = self.scope == Scope::Global && self.mode == Mode::Enforce;
        if is_ceiling && let Some(wait_ms) = judged.retry_after_ms() {
            let until = now.as_nanos().saturating_add(wait_ms.saturating_mul(1_000_000));
            self.denies_until.store(until, Ordering::Relaxed);
        }
    }

    /// Only a hint: a refund or a reload may have given something back, and a smaller cost may fit.
    pub(super) fn known_to_deny_until(&self) -> Time {
        Time::from_nanos(self.denies_until.load(Ordering::Relaxed))
    }
}
