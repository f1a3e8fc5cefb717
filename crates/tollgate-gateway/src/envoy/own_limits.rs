//! Limits that come with a request: so many requests a unit of time, instead of what the config says.
//!
//! There is one limiter for each different limit, made when it is first asked for: windows of one unit of time, each of
//! which opens at a key's first request. One that was last asked a unit of time ago has no open window, so it equals a
//! new one, and makes room for another limit. So the bound on how many there are costs nobody's count: beyond it a
//! request is refused, and nothing is forgotten.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tollgate::{AnyAlgorithm, Environment, FixedWindow, Keyed, OnFull, Time};
use tollgate_http::EntryPolicy;

/// The most different limits in use at once.
pub(super) const LIMITS_MAX: usize = 64;

/// The most keys each of them holds, in 2 MB, which are taken as they are used.
const KEYS_MAX: u64 = 65_536;

/// The limits that came with requests and are in use.
#[derive(Debug)]
pub(super) struct OwnLimits {
    environment: Environment,
    in_use: Mutex<BTreeMap<(u32, Duration), InUse>>,
}

/// The limiter of one such limit.
#[derive(Debug)]
pub(super) struct OwnLimiter {
    pub(super) limiter: Keyed<FixedWindow>,
    /// What clients are told of it.
    pub(super) policy: EntryPolicy,
}

#[derive(Debug)]
struct InUse {
    limiter: Arc<OwnLimiter>,
    asked_at: Time,
}

/// As many different limits are in use as may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TooManyLimits;

impl OwnLimits {
    /// None yet; they will decide on the clock of `environment`.
    pub(super) const fn new(environment: Environment) -> Self {
        Self { environment, in_use: Mutex::new(BTreeMap::new()) }
    }

    /// The limiter of a limit.
    pub(super) fn limiter(
        &self,
        limit: FixedWindow,
        now: Time,
    ) -> Result<Arc<OwnLimiter>, TooManyLimits> {
        let terms = (limit.max_requests(), limit.window());
        let mut in_use = self.in_use.lock();
        if let Some(known) = in_use.get_mut(&terms) {
            known.asked_at = known.asked_at.max(now);
            return Ok(Arc::clone(&known.limiter));
        }
        if in_use.len() >= LIMITS_MAX {
            in_use.retain(|(_, window), limit| limit.may_have_open_windows(*window, now));
        }
        if in_use.len() >= LIMITS_MAX {
            return Err(TooManyLimits);
        }
        let limiter = Arc::new(OwnLimiter::new(limit, &self.environment));
        in_use.insert(terms, InUse { limiter: Arc::clone(&limiter), asked_at: now });
        drop(in_use);
        Ok(limiter)
    }
}

impl OwnLimiter {
    fn new(limit: FixedWindow, environment: &Environment) -> Self {
        let limiter = Keyed::with(limit, KEYS_MAX, OnFull::Overflow, environment);
        Self { limiter, policy: EntryPolicy::of_limit("request", &AnyAlgorithm::new(limit)) }
    }
}

impl InUse {
    /// Whether a window may be open, or somebody is about to open one.
    fn may_have_open_windows(&self, window: Duration, now: Time) -> bool {
        u128::from(now.nanos_since(self.asked_at)) < window.as_nanos()
            || Arc::strong_count(&self.limiter) > 1
    }
}

#[cfg(test)]
mod tests {
    use tollgate::{Limiter, ManualClock};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn limit(requests: usize) -> FixedWindow {
        FixedWindow::new(u32::try_from(requests).unwrap(), SECOND).unwrap()
    }

    fn own_limits() -> OwnLimits {
        OwnLimits::new(Environment::with_clock(ManualClock::new()))
    }

    #[test]
    fn requests_with_the_same_limit_share_its_counts_and_others_do_not() {
        let own_limits = own_limits();
        let allowed = |requests, key| {
            let limiter = own_limits.limiter(limit(requests), Time::ZERO).unwrap();
            limiter.limiter.allow(key).allowed()
        };
        assert_eq!([1, 1, 2].map(|requests| allowed(requests, "alice")), [true, false, true]);
        assert!(allowed(1, "bob"));
    }

    #[test]
    fn one_limit_more_than_may_be_is_refused_until_one_has_no_open_window() {
        let own_limits = own_limits();
        for requests in 1..=LIMITS_MAX {
            own_limits.limiter(limit(requests), Time::from_millis(5)).unwrap();
        }
        let one_more = |at| own_limits.limiter(limit(LIMITS_MAX + 1), Time::from_millis(at));
        assert_eq!(one_more(1_004).unwrap_err(), TooManyLimits);
        // Those in use are not affected, and use keeps them.
        own_limits.limiter(limit(1), Time::from_millis(900)).unwrap();
        let held = own_limits.limiter(limit(2), Time::from_millis(5)).unwrap();
        one_more(1_005).unwrap();
        let kept: Vec<_> = own_limits.in_use.lock().keys().map(|(requests, _)| *requests).collect();
        assert_eq!(kept, [1, 2, 65]);
        drop(held);
    }
}
