//! Waits that differ, so that those who were denied together do not come back together.

use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Draws how much longer a client is told to wait.
#[derive(Debug)]
pub(super) struct Jitter {
    most_ms: u64,
    drawn: AtomicU64,
    seed: RandomState,
}

impl Jitter {
    pub(super) fn none() -> Self {
        Self::up_to(Duration::ZERO)
    }

    pub(super) fn up_to(most: Duration) -> Self {
        let most_ms = u64::try_from(most.as_millis()).unwrap_or(u64::MAX);
        Self { most_ms, drawn: AtomicU64::new(0), seed: RandomState::new() }
    }

    /// A wait in milliseconds, or a longer one. A keyed hash of a count is random enough to spread clients.
    pub(super) fn added_to(&self, wait_ms: u64) -> u64 {
        if self.most_ms == 0 {
            return wait_ms;
        }
        let drawn = self.seed.hash_one(self.drawn.fetch_add(1, Ordering::Relaxed));
        let more = self
            .most_ms
            .checked_add(1)
            .map_or(drawn, |values| drawn.checked_rem(values).unwrap_or(0));
        wait_ms.saturating_add(more)
    }
}
