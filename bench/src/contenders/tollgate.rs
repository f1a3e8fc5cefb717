//! Tollgate, as its users hold it: limiters behind `Arc<dyn Limiter>`.

use std::sync::Arc;

use tollgate::{
    Config, Environment, KeyHasher, Limiter, LimiterConfig, OnFull, Rate, RateLimiter, Request,
    Time, TokenBucket, TokenBucketLimiter,
};

use super::{Contender, Setting};
use crate::keys::{Calls, for_each_name};
use crate::memory::bytes_of;
use crate::quota::Quota;

/// `Limiter::allow`.
pub(super) struct Allow(Arc<dyn Limiter>);

impl Allow {
    pub(super) fn new(setting: &Setting) -> Self {
        Self(limiter(setting.quota, setting.max_keys(), &Environment::new()))
    }

    pub(super) fn foldhash(setting: &Setting) -> Self {
        Self(limiter(setting.quota, setting.max_keys(), &foldhash()))
    }

    /// One that has held all keys and forgotten them: it keeps its room. Tollgate has no other way to make room first.
    pub(super) fn emptied(setting: &Setting) -> Self {
        let limiter = Self::new(setting);
        for_each_name(setting.keys, |name| assert!(limiter.0.allow(name).allowed()));
        for_each_name(setting.keys, |name| assert!(limiter.0.reset(name).had_state));
        limiter
    }
}

impl Contender for Allow {
    fn allow(&self, name: &str, _buffer: &mut String) -> bool {
        self.0.allow(name).allowed()
    }
}

/// `Limiter::decide` at a time that the caller passes.
pub(super) struct NowPassed {
    limiter: Arc<dyn Limiter>,
    now: Time,
}

impl NowPassed {
    pub(super) fn new(setting: &Setting) -> Self {
        let limiter = limiter(setting.quota, setting.max_keys(), &foldhash());
        Self { now: limiter.now(), limiter }
    }
}

impl Contender for NowPassed {
    fn allow(&self, name: &str, _buffer: &mut String) -> bool {
        let request = Request::new(self.limiter.key(name)).at(self.now);
        self.limiter.decide(request).is_ok_and(|result| result.allowed())
    }
}

/// `Limiter::allow_many`.
pub(super) struct Batches(Arc<dyn Limiter>);

impl Batches {
    const SIZE: usize = 32;

    pub(super) fn new(setting: &Setting) -> Self {
        Self(Allow::new(setting).0)
    }
}

impl Contender for Batches {
    fn allow(&self, name: &str, _buffer: &mut String) -> bool {
        self.0.allow(name).allowed()
    }

    fn run(&self, calls: &Calls) -> usize {
        let mut names = calls.iter();
        let mut batch = Vec::with_capacity(Self::SIZE);
        let mut allowed = 0;
        loop {
            batch.clear();
            batch.extend(names.by_ref().take(Self::SIZE).map(|name| (name, 1)));
            if batch.is_empty() {
                return allowed;
            }
            let decided = self.0.allow_many(&batch);
            allowed += decided.iter().flatten().filter(|result| result.allowed()).count();
        }
    }
}

/// `RateLimiter::allow` with four endpoints. Each client calls one of them, so that as many keys are held as elsewhere.
pub(super) struct FourEndpoints(RateLimiter);

impl FourEndpoints {
    const NAMES: [&str; 4] = ["/search", "/login", "/export", "GET /reports"];

    pub(super) fn new(setting: &Setting) -> Self {
        let limiter =
            || LimiterConfig::new(bucket(setting.quota)).max_keys(setting.max_keys() as u64);
        let config = Config::builder().default(limiter());
        let config =
            Self::NAMES.iter().fold(config, |config, name| config.endpoint(*name, limiter()));
        Self(RateLimiter::new(config.build().expect("the config is valid")))
    }

    fn endpoint(name: &str) -> &'static str {
        let last = name.as_bytes().last().expect("no name is empty");
        Self::NAMES[usize::from(last % 4)]
    }
}

impl Contender for FourEndpoints {
    fn allow(&self, name: &str, _buffer: &mut String) -> bool {
        self.0.allow(name, Self::endpoint(name)).allowed()
    }
}

/// A limiter at its bound.
pub struct Full {
    pub bytes: usize,
    pub keys_held: usize,
    pub evictions: usize,
}

impl Full {
    pub fn bytes_per_key(&self) -> f64 {
        self.bytes as f64 / self.keys_held as f64
    }
}

/// Fills a limiter that may hold `keys` with some more, so that it holds all it may, and the overflow cells of those
/// that had to leave.
pub fn full(keys: usize) -> Full {
    let (limiter, bytes) = bytes_of(|| {
        let limiter = limiter(Quota::SLOW, keys, &Environment::new());
        for_each_name(keys + keys.div_ceil(50), |name| assert!(limiter.allow(name).allowed()));
        limiter
    });
    let counts = limiter.counts();
    Full { bytes, keys_held: counts.keys as usize, evictions: counts.evictions as usize }
}

fn limiter(quota: Quota, max_keys: usize, environment: &Environment) -> Arc<dyn Limiter> {
    let on_full = OnFull::default();
    Arc::new(TokenBucketLimiter::with(bucket(quota), max_keys as u64, on_full, environment))
}

fn bucket(quota: Quota) -> TokenBucket {
    let rate = Rate::parse_friendly(&format!("{}/{}s", quota.tokens, quota.seconds));
    TokenBucket::new(quota.burst, rate.expect("the rate is valid")).expect("the bucket is valid")
}

fn foldhash() -> Environment {
    Environment::new().with_key_hasher(KeyHasher::fast())
}
