//! The count in one window and when it ends: what both kinds of fixed window keep.

use super::packed_time::PackedTime;
use crate::clock::Time;
use crate::decision::{Decision, Figures};

/// What a fixed window keeps for a key: its end and the count in it, 12 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FixedWindowState {
    end: PackedTime,
    count: u32,
}

impl FixedWindowState {
    pub(super) const fn new(end: Time, count: u32) -> Self {
        Self { end: PackedTime::new(end), count }
    }

    pub(super) const fn end(self) -> Time {
        self.end.get()
    }

    pub(super) const fn count(self) -> u32 {
        self.count
    }

    /// Whether anything was counted in a window that is not over.
    pub(super) fn is_open(self, now: Time) -> bool {
        self.count > 0 && now < self.end()
    }

    /// Judges a call in this window, which is the one at `now`.
    pub(super) fn decide(self, max_requests: u32, now: Time, cost: u32) -> Decision {
        let room = max_requests.saturating_sub(self.count);
        let until_end = self.end().nanos_since(now);
        if cost > room {
            return Decision::new(false, Figures::plain(room, until_end, until_end));
        }
        let idle = self.count == 0 && cost == 0;
        let reset_after = if idle { 0 } else { until_end };
        Decision::new(true, Figures::plain(room.saturating_sub(cost), 0, reset_after))
    }

    /// This window with a cost counted.
    pub(super) const fn charged(self, cost: u32) -> Self {
        Self { count: self.count.saturating_add(cost), ..self }
    }

    /// This window with a cost counted that another window let pass; says too whether there was room for it. What is
    /// above the quota counts, as a used-up window, as long as it does there: else a quota that returns here in the
    /// midst of that window would come on top of it.
    pub(super) fn charged_beside(self, max_requests: u32, cost: u32, until: Time) -> (Self, bool) {
        if cost <= max_requests.saturating_sub(self.count) {
            return (self.charged(cost), true);
        }
        (Self::new(self.end().max(until), max_requests.max(self.count)), false)
    }

    /// Which window it is: what a refund has to know.
    pub(super) const fn trace(self) -> [u64; 2] {
        [self.end.get().as_nanos(), 0]
    }

    /// Gives a cost back while the window is open that it was counted in; says whether anything was.
    pub(super) fn refund(&mut self, now: Time, cost: u32, trace: [u64; 2]) -> bool {
        let refunded =
            if now < self.end() && self.trace() == trace { cost.min(self.count) } else { 0 };
        self.count = self.count.saturating_sub(refunded);
        refunded > 0
    }

    /// A window at least as strict as this and another.
    pub(super) fn joined(self, other: Self) -> Self {
        match (self.count, other.count) {
            (0, _) => other,
            (_, 0) => self,
            _ => Self::new(self.end().max(other.end()), self.count.max(other.count)),
        }
    }
}
