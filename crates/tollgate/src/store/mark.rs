//! The latest time a limiter has seen.

use super::sync::{AtomicU64, Ordering};
use crate::clock::Time;

/// How far a clock must be ahead of the mark to move it: cheap to read, rarely written.
const STEP_NS: u64 = 1_000_000;

/// The latest time there is, 481 years after a clock's origin: a later one counts as this. It leaves room for the
/// longest wait behind it, so that no sum of times reaches the end of its range, where all times look alike.
const END: Time = Time::from_nanos(u64::MAX - 3_250_000_000_000_000_000);

/// The latest mark: no time that is less than a step ahead of it is later than the end.
const LAST: u64 = END.as_nanos() - (STEP_NS - 1);

/// The latest time a limiter has seen, give or take a millisecond. On a line of its own: every decision reads it.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct Mark(AtomicU64);

impl Mark {
    /// The time to judge by: `now`, or the mark where a clock is behind it. Moves the mark where the clock is a
    /// step ahead.
    ///
    /// Relaxed is enough: who finds a key absent under its lock came after whoever forgot it there, and so reads the
    /// mark that one read, or a later one.
    #[inline]
    pub(crate) fn advance(&self, now: Time) -> Time {
        let mark = self.0.load(Ordering::Relaxed);
        // One comparison for both: before the mark, the difference wraps round and is large.
        if now.as_nanos().wrapping_sub(mark) < STEP_NS { now } else { self.settle(now) }
    }

    /// The same of a time that is before the mark, or a step and more ahead of it.
    #[inline(never)]
    fn settle(&self, now: Time) -> Time {
        if now.nanos_since(self.get()) >= STEP_NS {
            self.raise(now);
        }
        self.judge(now)
    }

    /// The time to judge by, without moving the mark: for those who only look.
    pub(crate) fn judge(&self, now: Time) -> Time {
        now.min(END).max(self.get())
    }

    /// Moves the mark to `time` exactly, unless it is there already, or at the end.
    #[cold]
    pub(crate) fn raise(&self, time: Time) {
        self.0.fetch_max(time.as_nanos().min(LAST), Ordering::Relaxed);
    }

    pub(crate) fn get(&self) -> Time {
        Time::from_nanos(self.0.load(Ordering::Relaxed))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn the_mark_moves_by_whole_milliseconds_and_never_back() {
        let mark = Mark::default();
        let at = Time::from_nanos;
        let steps = [
            (5_000_000, 5_000_000, 5_000_000),
            (5_999_999, 5_999_999, 5_000_000),
            (6_000_000, 6_000_000, 6_000_000),
            (1_000_000, 6_000_000, 6_000_000),
            (END.as_nanos() - 1, END.as_nanos() - 1, LAST),
            (END.as_nanos(), END.as_nanos(), LAST),
            (END.as_nanos() + 1, END.as_nanos(), LAST),
            (u64::MAX, END.as_nanos(), LAST),
            (6_000_000, LAST, LAST),
        ];
        for (now, judged, marked) in steps {
            assert_eq!(mark.advance(at(now)), at(judged), "judged at {now}");
            assert_eq!(mark.get(), at(marked), "marked at {now}");
        }
    }
}
