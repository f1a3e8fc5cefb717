//! What each key may do, said once for all contenders.

use std::time::Duration;

/// A token bucket: so many tokens in so many seconds, and at most a burst of them at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quota {
    pub tokens: u32,
    pub seconds: u32,
    pub burst: u32,
}

impl Quota {
    /// For one key that calls all the time: plenty, so that no call is denied.
    pub const FAST: Self = Self { tokens: 1_000_000_000, seconds: 1, burst: 1_000_000_000 };

    /// For many keys: plenty again, and so slow to come back that no key is whole again while it is measured, so that
    /// every key stays held.
    pub const SLOW: Self = Self { tokens: 1, seconds: 600, burst: 3_000_000 };

    /// Used up at once, so that every call is denied. Two tokens, since throttlecrab forgets a key with a burst of one
    /// as soon as it has used it.
    pub const SPENT: Self = Self { tokens: 1, seconds: 3_600, burst: 2 };

    /// The time one token takes to come back.
    pub fn interval(self) -> Duration {
        Duration::from_secs(self.seconds.into()) / self.tokens
    }

    pub fn tokens_per_second(self) -> f64 {
        f64::from(self.tokens) / f64::from(self.seconds)
    }
}
