//! What time it is: a point in time, the clock trait, the real clock and one that tests move by hand.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const NANOS_PER_MILLISECOND: u64 = 1_000_000;

/// A point in time: whole nanoseconds since the origin of the clock that told it.
///
/// Times of two clocks have nothing to do with each other. The range is 584 years, of which limiters tell apart the
/// first 481; sums saturate.
///
/// ```
/// use std::time::Duration;
/// use tollgate::Time;
///
/// let start = Time::from_millis(1_500);
/// assert_eq!(start + Duration::from_millis(500), Time::from_millis(2_000));
/// assert_eq!(start.nanos_since(Time::from_millis(2_000)), 0); // never negative
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// The origin of every clock.
    pub const ZERO: Self = Self(0);

    /// The time `nanos` nanoseconds after the clock's origin.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// The time `millis` milliseconds after the clock's origin.
    pub const fn from_millis(millis: u64) -> Self {
        Self(millis.saturating_mul(NANOS_PER_MILLISECOND))
    }

    /// Nanoseconds since the clock's origin.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Nanoseconds from `earlier` to this time, 0 where `earlier` is later.
    pub const fn nanos_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// The time `nanos` nanoseconds later, at most the end of the range.
    #[must_use]
    pub const fn plus_nanos(self, nanos: u64) -> Self {
        Self(self.0.saturating_add(nanos))
    }
}

impl std::ops::Add<Duration> for Time {
    type Output = Self;

    fn add(self, duration: Duration) -> Self {
        self.plus_nanos(nanos_of(duration))
    }
}

/// A duration in nanoseconds, at most what 64 bits hold (584 years).
pub(crate) fn nanos_of(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

/// A span of nanoseconds in milliseconds, rounded up: a wait must be enough.
pub(crate) fn millis_rounded_up(nanos: u128) -> u64 {
    u64::try_from(nanos.div_ceil(u128::from(NANOS_PER_MILLISECOND))).unwrap_or(u64::MAX)
}

/// Tells the time. A limiter asks its clock once a decision and reads time nowhere else.
///
/// It should not step back; where it does, limiters hold on to the latest time they have seen, so that
/// no quota is handed out or taken away.
pub trait Clock: Send + Sync {
    /// The time now.
    fn now(&self) -> Time;
}

/// The machine's clock: reads the processor's time stamp counter where it can be trusted, and the
/// operating system's monotonic clock elsewhere.
///
/// The counter's pace is measured once a process, on first use, for at most 200 ms, so a clock drifts
/// from the operating system's by some parts in a million (seconds a week), and does not follow later
/// corrections of it. Whether time passes while the machine is suspended is the hardware's choice:
/// counters of current x86 and Arm machines usually go on, Linux's monotonic clock stands still. Where it stands
/// still, clients wait the rest of their time after the machine wakes.
///
/// Its origin is the time of its making.
#[derive(Clone, Debug)]
pub struct MonotonicClock {
    counter: quanta::Clock,
    origin: u64,
}

impl MonotonicClock {
    /// A clock that starts now.
    pub fn new() -> Self {
        let counter = quanta::Clock::new();
        let origin = counter.raw();
        Self { counter, origin }
    }
}

impl Default for MonotonicClock {
    fn default() -> Self {
        Self::new()
    }
}

impl Clock for MonotonicClock {
    #[inline]
    fn now(&self) -> Time {
        Time(self.counter.delta_as_nanos(self.origin, self.counter.raw()))
    }
}

/// A clock that stands still until it is moved, for tests and replays. Clones show the same time.
///
/// ```
/// use std::time::Duration;
/// use tollgate::{Clock, ManualClock, Time};
///
/// let clock = ManualClock::new();
/// clock.advance(Duration::from_secs(1));
/// assert_eq!(clock.now(), Time::from_millis(1_000));
/// clock.set(Time::ZERO); // it may step back, as a broken clock does
/// ```
#[derive(Clone, Debug, Default)]
pub struct ManualClock(Arc<AtomicU64>);

impl ManualClock {
    /// A clock that stands at its origin.
    pub fn new() -> Self {
        Self::default()
    }

    /// Moves the clock to `time`, forward or back.
    pub fn set(&self, time: Time) {
        self.0.store(time.0, Ordering::Relaxed);
    }

    /// Moves the clock forward.
    pub fn advance(&self, duration: Duration) {
        let later = |nanos: u64| Some(nanos.saturating_add(nanos_of(duration)));
        let _before = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, later);
    }
}

impl Clock for ManualClock {
    fn now(&self) -> Time {
        Time(self.0.load(Ordering::Relaxed))
    }
}

/// The clock a limiter holds: the machine's without an indirect call, or whichever was injected.
#[derive(Clone)]
pub(crate) enum ClockSource {
    Monotonic(MonotonicClock),
    Injected(Arc<dyn Clock>),
}

impl ClockSource {
    #[inline]
    pub(crate) fn now(&self) -> Time {
        match self {
            Self::Monotonic(clock) => clock.now(),
            Self::Injected(clock) => clock.now(),
        }
    }
}

impl fmt::Debug for ClockSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Monotonic(clock) => clock.fmt(f),
            Self::Injected(_) => f.write_str("Injected(..)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_and_differences_of_times_saturate() {
        let end = Time::from_nanos(u64::MAX);
        assert_eq!(end + Duration::from_nanos(1), end);
        assert_eq!(Time::from_millis(u64::MAX), end);
        assert_eq!(Time::ZERO.nanos_since(end), 0);
        assert_eq!(Time::ZERO + Duration::MAX, end);
    }

    #[test]
    fn a_wait_is_rounded_up_to_the_millisecond() {
        for (nanos, millis) in [(0, 0), (1, 1), (1_000_000, 1), (1_000_001, 2)] {
            assert_eq!(millis_rounded_up(nanos), millis, "{nanos} ns");
        }
    }

    #[test]
    fn the_machines_clock_goes_forward_and_clones_of_a_manual_clock_agree() {
        let clock = MonotonicClock::new();
        let first = clock.now();
        assert!(clock.now() >= first);

        let manual = ManualClock::new();
        let clone = manual.clone();
        manual.advance(Duration::from_nanos(7));
        assert_eq!(clone.now(), Time::from_nanos(7));
    }
}
