//! tokio's time: as a clock for limiters, and as the moment until which a call waits.

use std::time::Duration;

use tokio::time::Instant;
use tollgate::{Clock, Time};

/// The clock of tokio's timers. A test that pauses tokio's time pauses a limiter on this clock with it.
///
/// Where time is not paused, the machine's own [`MonotonicClock`](tollgate::MonotonicClock) is cheaper to read. It may
/// drift from tokio's by some parts in a million, so a wait may take a millisecond more.
///
/// Its origin is the time of its making.
#[derive(Clone, Copy, Debug)]
pub struct TokioClock {
    origin: Instant,
}

impl TokioClock {
    /// A clock that starts now.
    pub fn new() -> Self {
        Self { origin: Instant::now() }
    }
}

impl Default for TokioClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for TokioClock {
    fn now(&self) -> Time {
        let elapsed = Instant::now().saturating_duration_since(self.origin);
        Time::from_nanos(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX))
    }
}

/// The moment after which a call waits no longer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Deadline(Option<Instant>);

impl Deadline {
    /// So long from now; never, where that is beyond the range of times.
    pub(crate) fn after(max_wait: Duration) -> Self {
        Self(Instant::now().checked_add(max_wait))
    }

    /// The moment after this wait, if that is no later than the deadline.
    pub(crate) fn allows(self, wait: Duration) -> Option<Instant> {
        let until = after(wait);
        self.0.is_none_or(|deadline| until <= deadline).then_some(until)
    }

    /// `moment`, or the deadline where that is sooner.
    pub(crate) fn or_sooner(self, moment: Instant) -> Instant {
        self.0.map_or(moment, |deadline| deadline.min(moment))
    }

    pub(crate) fn is_over(self) -> bool {
        self.0.is_some_and(|deadline| deadline <= Instant::now())
    }
}

/// The moment so long from now; a wait beyond the range of times ends with it.
pub(crate) fn after(wait: Duration) -> Instant {
    /// What tokio itself sleeps at most.
    const FAR: Duration = Duration::from_secs(86_400 * 365 * 30);
    let now = Instant::now();
    now.checked_add(wait).or_else(|| now.checked_add(FAR)).unwrap_or(now)
}
