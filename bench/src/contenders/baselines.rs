//! What one writes in an afternoon: a token bucket under a mutex, in a map of names.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Instant;

use dashmap::DashMap;

use super::{Contender, Setting};
use crate::quota::Quota;

/// A token bucket: how many tokens there were, and when.
struct Bucket {
    tokens: f64,
    at: Instant,
}

impl Bucket {
    #[expect(clippy::disallowed_methods, reason = "a bucket of one's own reads the plain clock")]
    fn full(quota: Quota) -> Self {
        Self { tokens: quota.burst.into(), at: Instant::now() }
    }

    #[expect(clippy::disallowed_methods, reason = "a bucket of one's own reads the plain clock")]
    fn take(&mut self, quota: Quota) -> bool {
        let now = Instant::now();
        let refill = (now - self.at).as_secs_f64() * quota.tokens_per_second();
        self.tokens = (self.tokens + refill).min(quota.burst.into());
        self.at = now;
        let allowed = self.tokens >= 1.0;
        if allowed {
            self.tokens -= 1.0;
        }
        allowed
    }
}

/// A concurrent map with a mutex for each key.
pub(super) struct MapOfMutexes {
    buckets: DashMap<String, Mutex<Bucket>>,
    quota: Quota,
}

impl MapOfMutexes {
    pub(super) fn new(quota: Quota) -> Self {
        Self { buckets: DashMap::new(), quota }
    }

    pub(super) fn presized(setting: &Setting) -> Self {
        Self { buckets: DashMap::with_capacity(setting.keys), quota: setting.quota }
    }
}

impl Contender for MapOfMutexes {
    fn allow(&self, name: &str, _buffer: &mut String) -> bool {
        let take = |bucket: &Mutex<Bucket>| {
            bucket.lock().expect("nobody panics under the lock").take(self.quota)
        };
        if let Some(bucket) = self.buckets.get(name) {
            return take(&bucket);
        }
        let full = || Mutex::new(Bucket::full(self.quota));
        take(&self.buckets.entry(name.to_owned()).or_insert_with(full))
    }
}

/// A plain map under one mutex.
pub(super) struct MutexOfMap {
    buckets: Mutex<HashMap<String, Bucket>>,
    quota: Quota,
}

impl MutexOfMap {
    pub(super) fn new(quota: Quota) -> Self {
        Self { buckets: Mutex::default(), quota }
    }
}

impl Contender for MutexOfMap {
    fn allow(&self, name: &str, _buffer: &mut String) -> bool {
        let mut buckets = self.buckets.lock().expect("nobody panics under the lock");
        if let Some(bucket) = buckets.get_mut(name) {
            return bucket.take(self.quota);
        }
        let bucket = buckets.entry(name.to_owned()).or_insert(Bucket::full(self.quota));
        bucket.take(self.quota)
    }
}
