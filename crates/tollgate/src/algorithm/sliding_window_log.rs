//! # Sliding window log
//!
//! A guest list of the last minute: the time of every admitted request. A stamp is gone once it is `windowMs` old,
//! so the window is half-open, `(now - windowMs, now]`, and a request is admitted when the list is short enough.
//!
//! ```text
//!                     now - 60 s                         now
//!          ● ●     ●      ┊      ●        ●   ● ●         ┊
//!     ─────────────────── ┊ ───────────────────────────── ┊ ───► time
//!          gone           ┊      4 of 5 used: one more    ┊
//! ```
//!
//! (A stamp exactly `windowMs` old must be gone. If only older ones were, a client that waits as long as it was
//! told would be denied once more, with a wait of 0.)
//!
//! **State**: a ring of stamps that grows with use, 4 bytes each in windows of up to 49 days (8 in longer ones) and 4
//! more each in a log that has seen a cost other than 1; beside it 40 bytes. A call of cost n is one entry.
//!
//! **Promise**: at most `maxRequests` in any `(t - windowMs, t]`, whatever t: exact, with no worst case beyond it.
//! Stamps are kept in ticks that divide a millisecond (1 ns up to windows of 4 s, 16 ns for a minute): exact at whole
//! milliseconds, and between them rounded towards denial by less than a tick.
//!
//! **Not for** large quotas of many clients: a full log of a million takes 4 MB for one key. A token bucket takes 12
//! bytes, whatever its capacity.
//!
//! **Source**: folklore; described as "sliding logs" in A. Quach, "How to design a scalable rate limiting algorithm",
//! Kong, 2017, <https://konghq.com/blog/engineering/how-to-design-a-scalable-rate-limiting-algorithm>.

use std::time::Duration;

use super::stamp_ring::{SlidingWindowLogState, Stamp, Width, usize_of};
use super::window_quota::WindowQuota;
use super::{Algorithm, CarriedOver};
use crate::clock::Time;
use crate::decision::{Decision, Figures};
use crate::parameters::{Faults, Parameters};

const NANOS_PER_MILLISECOND: u64 = 1_000_000;

/// Stamps of a window are told apart by their distance to the newest, in 32 bits.
const NARROW_TICKS: u64 = 4_294_967_295;

/// The exact times of admitted requests: never more than the quota in any window.
///
/// In a config file: `SlidingWindowLog` with `maxRequests` (1 to 1,000,000) and `windowMs` (1 ms to 366 days) or
/// `window` (`1m`).
///
/// ```
/// use std::time::Duration;
/// use tollgate::{Limiter, SlidingWindowLog, SlidingWindowLogLimiter};
///
/// let log = SlidingWindowLog::new(100, Duration::from_secs(60))?;
/// assert_eq!(SlidingWindowLogLimiter::new(log).allow("alice").remaining(), 99);
/// # Ok::<(), tollgate::Faults>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlidingWindowLog {
    quota: WindowQuota,
    tick_ns: u64,
    width: Width,
}

impl SlidingWindowLog {
    /// The largest quota: a log keeps every request.
    pub const MAX_REQUESTS: u32 = 1_000_000;

    /// At most `max_requests` in any `window`.
    ///
    /// # Errors
    /// When `max_requests` is not from 1 to 1,000,000, or the window is not from 1 ms to 366 days.
    pub fn new(max_requests: u32, window: Duration) -> Result<Self, Faults> {
        WindowQuota::new(max_requests, window, Self::MAX_REQUESTS).map(Self::of_quota)
    }

    /// Reads `maxRequests` and `windowMs` or `window`.
    ///
    /// # Errors
    /// Every field that is missing, unknown or out of range.
    pub fn from_parameters(parameters: &Parameters) -> Result<Self, Faults> {
        WindowQuota::from_parameters(parameters, Self::MAX_REQUESTS).map(Self::of_quota)
    }

    /// The most requests in a window.
    pub const fn max_requests(&self) -> u32 {
        self.quota.max_requests
    }

    /// The window's length.
    pub const fn window(&self) -> Duration {
        self.quota.window()
    }

    /// The finest ticks that divide a millisecond and number a window in 32 bits; where even milliseconds are too
    /// many, milliseconds in 64.
    fn of_quota(quota: WindowQuota) -> Self {
        let narrow = (1..=NANOS_PER_MILLISECOND)
            .filter(|tick_ns| NANOS_PER_MILLISECOND.is_multiple_of(*tick_ns))
            .find(|tick_ns| quota.window_ns.div_ceil(*tick_ns) < NARROW_TICKS);
        let width = if narrow.is_some() { Width::Narrow } else { Width::Wide };
        Self { quota, tick_ns: narrow.unwrap_or(NANOS_PER_MILLISECOND), width }
    }

    const fn nanos(&self, stamp: Stamp) -> u64 {
        stamp.0.saturating_mul(self.tick_ns)
    }

    /// When a stamp leaves the window.
    const fn leaves_at(&self, stamp: Stamp) -> Time {
        Time::from_nanos(self.nanos(stamp).saturating_add(self.quota.window_ns))
    }

    /// The first tick at or after a time: later by less than a tick, so it leaves later too.
    const fn stamp_of(&self, nanos: u64) -> Stamp {
        Stamp(nanos.div_ceil(self.tick_ns))
    }

    /// The later of `now` and the key's last charge, which is less than a tick before its stamp.
    fn judged_at(&self, log: &SlidingWindowLogState, now: Time) -> Time {
        let last_charge = (self.nanos(log.newest).saturating_add(1)).saturating_sub(self.tick_ns);
        now.max(Time::from_nanos(last_charge))
    }

    /// The index of the oldest entry still in the window; the number of entries where none is.
    fn first_live(&self, log: &SlidingWindowLogState, at: Time) -> usize {
        let live = |index: usize| self.leaves_at(log.stamp(index, self.width)) > at;
        if log.is_empty() || self.leaves_at(log.newest) <= at {
            return log.len();
        }
        if live(0) {
            return 0;
        }
        first_index(1..log.len(), live)
    }

    /// What the log says of a window: the entry it begins with, and the units from there on.
    fn used(&self, log: &SlidingWindowLogState, at: Time) -> (usize, u32) {
        let first = self.first_live(log, at);
        (first, log.units_from(first, self.width))
    }

    /// Until so many units, counted from the entry `first`, are gone.
    fn until_gone(&self, log: &SlidingWindowLogState, first: usize, units: u32, at: Time) -> u64 {
        let before = log.units_before(first, self.width);
        let enough = |index: usize| {
            let through = log.units_before(index.saturating_add(1), self.width);
            through.wrapping_sub(before) >= units
        };
        let last = if log.costed {
            first_index(first..log.len(), enough)
        } else {
            first.saturating_add(usize_of(units)).saturating_sub(1)
        };
        self.leaves_at(log.stamp(last, self.width)).nanos_since(at)
    }
}

impl Algorithm for SlidingWindowLog {
    type State = SlidingWindowLogState;

    fn limit(&self) -> u32 {
        self.quota.max_requests
    }

    fn decide(&self, log: &SlidingWindowLogState, now: Time, cost: u32) -> Decision {
        let at = self.judged_at(log, now);
        let (first, used) = self.used(log, at);
        let room = self.quota.max_requests.saturating_sub(used);
        let until_newest_leaves = self.leaves_at(log.newest).nanos_since(at);
        if cost > room {
            let too_many = used.saturating_sub(self.quota.max_requests.saturating_sub(cost));
            let retry_after_ns = self.until_gone(log, first, too_many, at);
            return Decision::new(false, Figures::plain(room, retry_after_ns, until_newest_leaves));
        }
        let reset_after_ns = match (cost, used) {
            (0, 0) => 0,
            (0, _) => until_newest_leaves,
            _ => self.leaves_at(self.stamp_of(at.as_nanos()).max(log.newest)).nanos_since(at),
        };
        Decision::new(true, Figures::plain(room.saturating_sub(cost), 0, reset_after_ns))
    }

    fn charge(&self, log: &mut SlidingWindowLogState, now: Time, cost: u32) {
        let at = self.judged_at(log, now);
        log.drop_oldest(self.first_live(log, at), self.width);
        log.push(self.stamp_of(at.as_nanos()), cost, self.width, usize_of(self.quota.max_requests));
    }

    fn quota_window(&self) -> Option<Duration> {
        Some(self.window())
    }

    /// Of more than the quota the newest are kept: as long as they are in the window nothing is left.
    fn charge_beside(
        &self,
        log: &mut SlidingWindowLogState,
        now: Time,
        cost: u32,
        _judged: (&Self, &SlidingWindowLogState),
    ) -> bool {
        let max = self.quota.max_requests;
        self.charge(log, now, cost.min(max));
        let fits = cost <= max && log.units_from(0, self.width) <= max;
        let too_few = |index: usize| log.units_from(index, self.width) < max;
        let oldest_kept = first_index(1..log.len(), too_few).saturating_sub(1);
        if !fits {
            log.drop_oldest(oldest_kept, self.width);
        }
        fits
    }

    fn most_in(&self, time: Duration) -> Option<u64> {
        Some(self.quota.windows_in(time).saturating_mul(self.quota.max_requests.into()))
    }

    /// Its stamp.
    fn trace(&self, log: &SlidingWindowLogState) -> [u64; 2] {
        [log.newest.0, 0]
    }

    /// Takes that many units of that stamp out of the log.
    fn refund(
        &self,
        log: &mut SlidingWindowLogState,
        now: Time,
        cost: u32,
        [stamp, _]: [u64; 2],
    ) -> bool {
        let first = self.first_live(log, self.judged_at(log, now));
        let mut due = cost;
        let mut kept = Vec::new();
        for (entry, units) in log.entries(first, self.width) {
            let refunded = if entry == Stamp(stamp) { due.min(units) } else { 0 };
            due = due.saturating_sub(refunded);
            kept.push((entry, units.saturating_sub(refunded)));
        }
        let most = usize_of(self.quota.max_requests);
        let kept = kept.into_iter().filter(|(_, units)| *units > 0);
        *log = SlidingWindowLogState::of_entries(kept, self.width, most);
        due < cost
    }

    fn debt(&self, log: &SlidingWindowLogState, now: Time) -> u64 {
        u64::from(self.used(log, self.judged_at(log, now)).1)
    }

    /// The k-th newest unit of the joined log is the later of both logs' k-th newest, up to the longer log.
    fn join(&self, log: &mut SlidingWindowLogState, other: &SlidingWindowLogState, now: Time) {
        let live = |log: &SlidingWindowLogState| {
            let first = self.first_live(log, self.judged_at(log, now));
            log.entries(first, self.width).rev().collect::<Vec<_>>()
        };
        let joined = later_of_each_unit(&live(log), &live(other));
        let most = usize_of(self.quota.max_requests);
        *log = SlidingWindowLogState::of_entries(joined.into_iter().rev(), self.width, most);
    }

    fn carry_over(&self, log: &mut SlidingWindowLogState, now: Time, from: &Self) -> CarriedOver {
        if self.quota.window_ns != from.quota.window_ns {
            let at = from.judged_at(log, now);
            let first = from.first_live(log, at);
            // Dropped as well: what a shorter window has let go by the newest stamp, which 32 bits could not tell
            // apart.
            let newest_ns = from.nanos(log.newest);
            let kept = log
                .entries(first, from.width)
                .map(|(stamp, cost)| (self.stamp_of(from.nanos(stamp)), cost))
                .filter(|(stamp, _)| self.leaves_at(*stamp).as_nanos() > newest_ns);
            let most = usize_of(self.quota.max_requests);
            let carried = SlidingWindowLogState::of_entries(kept, self.width, most);
            *log = carried;
        }
        CarriedOver::Whole
    }
}

/// Both from the newest to the oldest, as stamps with their costs; so is what is returned.
fn later_of_each_unit(ours: &[(Stamp, u32)], theirs: &[(Stamp, u32)]) -> Vec<(Stamp, u32)> {
    let mut joined = Vec::with_capacity(ours.len().max(theirs.len()));
    let (mut ours, mut theirs) = (ours.iter().copied(), theirs.iter().copied());
    let (mut our, mut their) = (ours.next(), theirs.next());
    loop {
        let (stamp, units) = match (our, their) {
            (None, None) => return joined,
            (Some(one), None) | (None, Some(one)) => one,
            (Some(our), Some(their)) => (our.0.max(their.0), our.1.min(their.1)),
        };
        joined.push((stamp, units));
        let rest = |(stamp, cost): (Stamp, u32)| {
            let left = cost.saturating_sub(units);
            (left > 0).then_some((stamp, left))
        };
        our = our.and_then(rest).or_else(|| ours.next());
        their = their.and_then(rest).or_else(|| theirs.next());
    }
}

/// The first index for which `holds` is true, given that it is for every later one; the range's end where it is
/// for none.
fn first_index(range: std::ops::Range<usize>, holds: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (range.start, range.end);
    while low < high {
        let middle = low.midpoint(high);
        if holds(middle) {
            high = middle;
        } else {
            low = middle.saturating_add(1);
        }
    }
    low
}
