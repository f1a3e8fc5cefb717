//! What operators say of single clients for a while, over what the limits say.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::RwLock;
use tollgate::{Clock, RateLimitResult, Time};

/// How many clients may have an override at once.
pub(crate) const OVERRIDES_MAX: usize = 10_000;

/// What an operator says of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Every call is denied.
    Block,
    /// Every call is allowed, and none is charged.
    Unlimited,
}

/// What an operator says of a client, and until when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Override {
    pub(crate) mode: Mode,
    pub(crate) until: Time,
}

/// As many overrides as there may be are in force.
#[derive(Debug, thiserror::Error)]
#[error(
    "{OVERRIDES_MAX} clients have an override already; take one away, or wait until one lapses"
)]
pub(crate) struct TooManyOverrides;

/// The overrides in force. While there are none, which is nearly always, asking costs one read of a counter.
#[derive(Debug, Default)]
pub(crate) struct Overrides {
    count: AtomicUsize,
    by_client: RwLock<HashMap<Box<str>, Override>>,
}

impl Mode {
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Block => "block",
            Self::Unlimited => "unlimited",
        }
    }
}

impl Override {
    /// One that holds from now on, for this time.
    pub(crate) fn lasting(mode: Mode, now: Time, time: Duration) -> Self {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        Self { mode, until: Time::from_nanos(now.as_nanos().saturating_add(nanos)) }
    }

    /// What calls are answered.
    pub(crate) fn result(self, now: Time) -> RateLimitResult {
        match self.mode {
            Mode::Block => RateLimitResult::blocked_for(self.left(now)),
            Mode::Unlimited => RateLimitResult::unlimited(),
        }
    }

    /// How long it holds yet.
    pub(crate) fn left(self, now: Time) -> Duration {
        Duration::from_nanos(self.until.nanos_since(now))
    }
}

impl Overrides {
    pub(crate) fn is_empty(&self) -> bool {
        // Whoever sets one has the lock: a decision that began before sees it or does not, as with any race.
        self.count.load(Ordering::Relaxed) == 0
    }

    /// What is said of a client now, and when that is.
    pub(crate) fn find(&self, client: &str, clock: &dyn Clock) -> Option<(Override, Time)> {
        if self.is_empty() {
            return None;
        }
        let found = self.by_client.read().get(client).copied()?;
        let now = clock.now();
        (now < found.until).then_some((found, now))
    }

    /// Says something of a client, in place of what was said of it before.
    ///
    /// # Errors
    /// When as many clients have an override as may.
    pub(crate) fn set(
        &self,
        client: &str,
        set: Override,
        now: Time,
    ) -> Result<(), TooManyOverrides> {
        let mut by_client = self.by_client.write();
        by_client.retain(|_, old| now < old.until);
        if by_client.len() >= OVERRIDES_MAX && !by_client.contains_key(client) {
            return Err(TooManyOverrides);
        }
        by_client.insert(client.into(), set);
        self.count.store(by_client.len(), Ordering::Relaxed);
        drop(by_client);
        Ok(())
    }

    /// Takes back what is said of a client: whether something was.
    pub(crate) fn remove(&self, client: &str, now: Time) -> bool {
        let mut by_client = self.by_client.write();
        by_client.retain(|_, old| now < old.until);
        let removed = by_client.remove(client);
        self.count.store(by_client.len(), Ordering::Relaxed);
        drop(by_client);
        removed.is_some()
    }

    /// Those in force, by client.
    pub(crate) fn all(&self, now: Time) -> Vec<(Box<str>, Override)> {
        let by_client = self.by_client.read();
        let in_force = by_client.iter().filter(|(_, set)| now < set.until);
        let mut all: Vec<_> = in_force.map(|(client, set)| (client.clone(), *set)).collect();
        drop(by_client);
        all.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
        all
    }
}
