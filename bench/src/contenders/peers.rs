//! The other peers, each through its ordinary call in process, as its documentation shows it.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use limitador::limit::{Limit, Namespace};
use rate_net::Eviction;
use throttlecrab::AdaptiveStore;

use super::{Contender, Setting};
use crate::quota::Quota;

/// rate-net's token bucket, the default of its five algorithms.
pub(super) struct RateNet(rate_net::RateLimiter);

impl RateNet {
    pub(super) fn new(setting: &Setting) -> Self {
        let Quota { tokens, seconds, burst } = setting.quota;
        let builder = rate_net::RateLimiter::builder()
            .quota(tokens, Duration::from_secs(seconds.into()))
            .burst(burst)
            .eviction(Eviction::capacity(setting.max_keys()));
        Self(builder.try_build().expect("the quota is valid"))
    }
}

impl Contender for RateNet {
    /// By `check_bytes`, which its documentation recommends for names that are at hand by reference.
    fn allow(&self, name: &str, _buffer: &mut String) -> bool {
        self.0.check_bytes(name).is_allow()
    }
}

/// throttlecrab's GCRA in the mutex that its documentation asks for.
pub(super) struct Throttlecrab {
    limiter: Mutex<throttlecrab::RateLimiter<AdaptiveStore>>,
    quota: Quota,
}

impl Throttlecrab {
    /// With room for all keys from the start: the store sweeps itself whole at each call while it is more than three
    /// quarters full.
    pub(super) fn new(setting: &Setting) -> Self {
        let store = AdaptiveStore::builder().capacity(setting.keys.max(1_000)).build();
        let limiter = Mutex::new(throttlecrab::RateLimiter::new(store));
        Self { limiter, quota: setting.quota }
    }
}

impl Contender for Throttlecrab {
    #[expect(clippy::disallowed_methods, reason = "throttlecrab's callers read this clock")]
    fn allow(&self, name: &str, _buffer: &mut String) -> bool {
        let Quota { tokens, seconds, burst } = self.quota;
        let mut limiter = self.limiter.lock().expect("nobody panics under the lock");
        let (burst, tokens, seconds) = (burst.into(), tokens.into(), seconds.into());
        let answer = limiter.rate_limit(name, burst, tokens, seconds, 1, SystemTime::now());
        answer.expect("the quota is valid").0
    }
}

/// tokio-rate-limit's token bucket.
pub(super) struct TokioRateLimit(tokio_rate_limit::RateLimiter);

impl TokioRateLimit {
    /// It knows no rate below one a second.
    pub(super) fn new(quota: Quota) -> Self {
        let builder = tokio_rate_limit::RateLimiter::builder()
            .requests_per_second((quota.tokens / quota.seconds).max(1).into())
            .burst(quota.burst.into());
        Self(builder.build().expect("the quota is valid"))
    }
}

impl Contender for TokioRateLimit {
    fn allow(&self, name: &str, _buffer: &mut String) -> bool {
        self.0.check(name).permitted
    }
}

/// limitador's in-memory counters: a fixed window, the only algorithm it has.
pub(super) struct Limitador {
    limiter: limitador::RateLimiter,
    namespace: Namespace,
}

impl Limitador {
    const VARIABLE: &str = "client";
    const WINDOW_SECONDS: u64 = 3_600;

    pub(super) fn new(setting: &Setting) -> Self {
        let namespace = Namespace::from("bench");
        let variable = Self::VARIABLE.try_into().expect("the variable is a name");
        let burst = setting.quota.burst.into();
        let limit = Limit::new(namespace.clone(), burst, Self::WINDOW_SECONDS, [], [variable]);
        let limiter = limitador::RateLimiter::new(setting.max_keys() as u64);
        limiter.add_limit(limit);
        Self { limiter, namespace }
    }
}

impl Contender for Limitador {
    fn allow(&self, name: &str, _buffer: &mut String) -> bool {
        let values = HashMap::from([(Self::VARIABLE.to_owned(), name.to_owned())]);
        let answer = self.limiter.check_rate_limited_and_update(&self.namespace, &values.into(), 1);
        !answer.expect("memory does not fail").limited
    }
}
