//! What the calendar says: the wall clock trait, the system's and one that tests move by hand.

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use crate::clock::{Clock, ManualClock, Time, nanos_of};

/// Tells the time of day, for windows that follow the calendar. Nothing else asks it.
///
/// It may step, as people and time servers set it. Limiters hold on to the latest time they have seen: a step back
/// hands out no quota again, and their time stands still until the clock has caught up; a step forward opens the
/// window it leads into, once.
pub trait WallClock: Send + Sync {
    /// The time since 1970-01-01 00:00:00 UTC, leap seconds not counted.
    fn time_of_day(&self) -> Time;
}

/// The operating system's clock of the time of day.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SystemWallClock;

impl SystemWallClock {
    /// The system's clock.
    pub const fn new() -> Self {
        Self
    }
}

impl WallClock for SystemWallClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock to ask")]
    fn time_of_day(&self) -> Time {
        // Before 1970 it is 1970: a clock that is set so has lost its time.
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Time::from_nanos(nanos_of(since))
    }
}

/// Moved by hand, its origin is the beginning of 1970 UTC.
impl WallClock for ManualClock {
    fn time_of_day(&self) -> Time {
        self.now()
    }
}

/// The wall clock a limiter holds.
#[derive(Clone)]
pub(crate) enum WallClockSource {
    System(SystemWallClock),
    Injected(Arc<dyn WallClock>),
    /// None: the times of decisions count from 1970 themselves.
    TimesOfDecisions,
}

impl WallClockSource {
    /// The time of day at a time of the other clock, now unless one is given.
    pub(crate) fn at(&self, time: Option<Time>, clock_now: impl FnOnce() -> Time) -> Time {
        let wall_now = match self {
            Self::System(clock) => clock.time_of_day(),
            Self::Injected(clock) => clock.time_of_day(),
            Self::TimesOfDecisions => return time.unwrap_or_else(clock_now),
        };
        let Some(time) = time else { return wall_now };
        let now = clock_now();
        let earlier_ns = now.nanos_since(time);
        let later = wall_now.plus_nanos(time.nanos_since(now));
        Time::from_nanos(later.as_nanos().saturating_sub(earlier_ns))
    }
}

impl fmt::Debug for WallClockSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::System(_) => "System",
            Self::Injected(_) => "Injected(..)",
            Self::TimesOfDecisions => "TimesOfDecisions",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_of_the_other_clock_is_as_far_from_now_by_the_wall_clock() {
        let wall = ManualClock::new();
        wall.set(Time::from_millis(10_000));
        let source = WallClockSource::Injected(Arc::new(wall));
        let at = |millis| source.at(Some(Time::from_millis(millis)), || Time::from_millis(500));
        assert_eq!(source.at(None, || Time::ZERO), Time::from_millis(10_000));
        assert_eq!(at(500), Time::from_millis(10_000));
        assert_eq!(at(400), Time::from_millis(9_900));
        assert_eq!(at(700), Time::from_millis(10_200));
        let without = WallClockSource::TimesOfDecisions;
        assert_eq!(without.at(None, || Time::from_millis(7)), Time::from_millis(7));
        assert_eq!(without.at(Some(Time::ZERO), || Time::from_millis(7)), Time::ZERO);
    }

    #[test]
    fn the_systems_clock_tells_a_time_of_this_century() {
        let year_2020 = Time::from_millis(1_577_836_800_000);
        let year_2100 = Time::from_millis(4_102_444_800_000);
        assert!((year_2020..year_2100).contains(&SystemWallClock::new().time_of_day()));
    }
}
