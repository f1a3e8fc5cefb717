//! # Sliding window counter
//!
//! Two counters stand in for a log: the count of the window before is faded out as the current one goes on, as
//! if its requests had come evenly spread.
//!
//! ```text
//!        window before          current window
//!      ┌──────────────────┬──────────────────┐
//!      │   previous: 80   │  current: 30     │      25 % of the current window gone:
//!      └──────────────────┴────┬─────────────┘      80 × 75 % + 30 = 90 of 100 used
//!            ◄──────────────── │
//!              one window back now
//! ```
//!
//! A key's first window opens at its first admitted request; windows follow each other without gap, until
//! nothing was admitted in the current one and the one before.
//!
//! **State**: the current window's end and two counts, 16 bytes.
//!
//! **Promise**: the estimate is never above `maxRequests`. In truth at most `2 · maxRequests - 2` in any window's
//! length (`maxRequests` where that is more): the worst case is a window's quota spent at its very end, which the
//! estimate then fades as if it had been spread. At evenly spread traffic it is exact.
//!
//! **Not for** a bound that must hold exactly in every window: that is what the sliding window log is for, at 4
//! bytes a request.
//!
//! **Source**: J. Desgats, "How we built rate limiting capable of scaling to millions of domains", Cloudflare, 2017,
//! <https://blog.cloudflare.com/counting-things-a-lot-of-different-things/>.

use std::time::Duration;

use super::packed_time::PackedTime;
use super::window_quota::WindowQuota;
use super::{Algorithm, CarriedOver};
use crate::clock::Time;
use crate::decision::{Decision, Figures};
use crate::parameters::{Faults, Parameters};
use crate::wide::product;

/// Two counters that approximate a sliding window in 16 bytes.
///
/// In a config file: `SlidingWindowCounter` with `maxRequests` (1 to 4,294,967,295) and `windowMs` (1 ms to 366
/// days) or `window` (`1m`).
///
/// ```
/// use std::time::Duration;
/// use tollgate::{Keyed, Limiter, SlidingWindowCounter};
///
/// let limiter = Keyed::new(SlidingWindowCounter::new(100, Duration::from_secs(60))?);
/// assert_eq!(limiter.allow("alice").remaining(), 99);
/// # Ok::<(), tollgate::Faults>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlidingWindowCounter(WindowQuota);

/// What a [`SlidingWindowCounter`] keeps for a key: its window's end and two counts, 16 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlidingWindowCounterState {
    end: PackedTime,
    previous: u32,
    current: u32,
}

impl SlidingWindowCounter {
    /// At most `max_requests`, by the estimate, in a `window` that slides.
    ///
    /// # Errors
    /// When `max_requests` is 0, or the window is not from 1 ms to 366 days.
    pub fn new(max_requests: u32, window: Duration) -> Result<Self, Faults> {
        WindowQuota::new(max_requests, window, u32::MAX).map(Self)
    }

    /// Reads `maxRequests` and `windowMs` or `window`.
    ///
    /// # Errors
    /// Every field that is missing, unknown or out of range.
    pub fn from_parameters(parameters: &Parameters) -> Result<Self, Faults> {
        WindowQuota::from_parameters(parameters, u32::MAX).map(Self)
    }

    /// The most requests in a window.
    pub const fn max_requests(&self) -> u32 {
        self.0.max_requests
    }

    /// The window's length.
    pub const fn window(&self) -> Duration {
        self.0.window()
    }

    /// The state as it is `now`: at most one window is carried, whatever the time that passed.
    fn rolled(&self, state: SlidingWindowCounterState, now: Time) -> SlidingWindowCounterState {
        let end = state.end.get();
        if now < end {
            return state;
        }
        let next_end = end.plus_nanos(self.0.window_ns);
        if state.current == 0 || now >= next_end {
            let end = PackedTime::new(now.plus_nanos(self.0.window_ns));
            return SlidingWindowCounterState { end, previous: 0, current: 0 };
        }
        let end = PackedTime::new(next_end);
        SlidingWindowCounterState { end, previous: state.current, current: 0 }
    }

    const fn figures(
        &self,
        window: SlidingWindowCounterState,
        now: Time,
        cost: u32,
    ) -> CounterFigures {
        CounterFigures {
            window_ns: self.0.window_ns,
            left_ns: window.left_ns(now, self.0.window_ns),
            max_requests: self.0.max_requests,
            previous: window.previous,
            current: window.current,
            cost,
        }
    }
}

impl SlidingWindowCounterState {
    /// What is left of the current window; all of it for a caller whose time is a moment before its start.
    const fn left_ns(self, now: Time, window_ns: u64) -> u64 {
        let left = self.end.get().nanos_since(now);
        if left < window_ns { left } else { window_ns }
    }
}

impl Algorithm for SlidingWindowCounter {
    type State = SlidingWindowCounterState;

    fn limit(&self) -> u32 {
        self.0.max_requests
    }

    fn decide(&self, state: &SlidingWindowCounterState, now: Time, cost: u32) -> Decision {
        let mut window = self.rolled(*state, now);
        let allowed = cost == 0 || self.figures(window, now, cost).fits();
        if allowed {
            window.current = window.current.saturating_add(cost);
        }
        Decision::new(allowed, Figures::Counter(self.figures(window, now, cost)))
    }

    fn charge(&self, state: &mut SlidingWindowCounterState, now: Time, cost: u32) {
        *state = self.rolled(*state, now);
        state.current = state.current.saturating_add(cost);
    }

    fn quota_window(&self) -> Option<Duration> {
        Some(self.window())
    }

    /// In windows of one length the counts go on beside each other; else what is above the quota counts as a quota that
    /// was used up now.
    fn charge_beside(
        &self,
        state: &mut SlidingWindowCounterState,
        now: Time,
        cost: u32,
        (judged, _): (&Self, &SlidingWindowCounterState),
    ) -> bool {
        let max = self.0.max_requests;
        let mut window = self.rolled(*state, now);
        let fits = cost <= max && self.figures(window, now, cost).fits();
        if fits || judged.0.window_ns == self.0.window_ns {
            let most = max.max(window.current);
            window.current = window.current.saturating_add(cost).min(most);
        } else {
            window = self.rolled(SlidingWindowCounterState::default(), now);
            window.current = max;
        }
        *state = window;
        fits
    }

    /// The promise for each window's length, or what one more window than it takes can hold, where that is less.
    fn most_in(&self, time: Duration) -> Option<u64> {
        let (windows, max) = (self.0.windows_in(time), u64::from(self.0.max_requests));
        let promised = max.saturating_mul(2).saturating_sub(2).max(max);
        let held = windows.saturating_add(1).saturating_mul(max);
        Some(windows.saturating_mul(promised).min(held))
    }

    /// Which window it was.
    fn trace(&self, state: &SlidingWindowCounterState) -> [u64; 2] {
        [state.end.get().as_nanos(), 0]
    }

    fn refund(
        &self,
        state: &mut SlidingWindowCounterState,
        now: Time,
        cost: u32,
        [end, _]: [u64; 2],
    ) -> bool {
        let mut window = self.rolled(*state, now);
        let this_end = window.end.get().as_nanos();
        let count = if this_end == end {
            &mut window.current
        } else if this_end == end.saturating_add(self.0.window_ns) {
            &mut window.previous
        } else {
            return false;
        };
        let refunded = cost.min(*count);
        *count = count.saturating_sub(refunded);
        *state = window;
        refunded > 0
    }

    fn debt(&self, state: &SlidingWindowCounterState, now: Time) -> u64 {
        let window = self.rolled(*state, now);
        let estimate = self.figures(window, now, 0).used();
        // The current count is still owed in the next window.
        estimate.max(u64::from(window.current))
    }

    fn join(
        &self,
        state: &mut SlidingWindowCounterState,
        other: &SlidingWindowCounterState,
        now: Time,
    ) {
        let (a, b) = (self.rolled(*state, now), self.rolled(*other, now));
        let whole = |window: SlidingWindowCounterState| window.previous == 0 && window.current == 0;
        *state = match (whole(a), whole(b)) {
            (true, _) => b,
            (_, true) => a,
            (false, false) => SlidingWindowCounterState {
                end: PackedTime::new(a.end.get().max(b.end.get())),
                previous: a.previous.max(b.previous),
                current: a.current.max(b.current),
            },
        };
    }

    fn carry_over(
        &self,
        state: &mut SlidingWindowCounterState,
        now: Time,
        from: &Self,
    ) -> CarriedOver {
        let window = from.rolled(*state, now);
        let end = self.0.end_with_the_same_part_gone(window.end.get(), now, from.0);
        *state = SlidingWindowCounterState { end: PackedTime::new(end), ..window };
        CarriedOver::Whole
    }
}

/// What a counter's answer is worked out from, when somebody asks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CounterFigures {
    window_ns: u64,
    left_ns: u64,
    max_requests: u32,
    previous: u32,
    current: u32,
    cost: u32,
}

impl CounterFigures {
    /// Whether the estimate and the cost are within the quota.
    fn fits(&self) -> bool {
        self.room_for_previous(self.current).is_some_and(|room| {
            product(u64::from(self.previous), self.left_ns)
                <= product(u64::from(room), self.window_ns)
        })
    }

    /// What the faded count of the window before may still be for the cost to fit beside `current`.
    fn room_for_previous(&self, current: u32) -> Option<u32> {
        self.max_requests.checked_sub(current)?.checked_sub(self.cost)
    }

    /// The estimate, rounded up.
    fn used(&self) -> u64 {
        let faded = product(u64::from(self.previous), self.left_ns);
        let faded = faded.div_ceil(u128::from(self.window_ns));
        u64::try_from(faded).unwrap_or(u64::MAX).saturating_add(u64::from(self.current))
    }

    pub(crate) fn remaining(&self) -> u64 {
        u64::from(self.max_requests).saturating_sub(self.used())
    }

    /// Until the estimate has fallen enough: in this window while the window before fades, or else in the next
    /// while this one does.
    pub(crate) fn retry_after_ns(&self) -> u128 {
        let left = u128::from(self.left_ns);
        if let Some(room) = self.room_for_previous(self.current) {
            return left.saturating_sub(self.left_when_faded_to(room, self.previous));
        }
        let room = self.room_for_previous(0).unwrap_or(0);
        let window = u128::from(self.window_ns);
        let in_next = window.saturating_sub(self.left_when_faded_to(room, self.current));
        left.saturating_add(in_next)
    }

    /// How much of a window is left when a count has faded to `room`, rounded down.
    fn left_when_faded_to(&self, room: u32, count: u32) -> u128 {
        let window = u128::from(self.window_ns);
        product(u64::from(room), self.window_ns)
            .checked_div(u128::from(count))
            .unwrap_or(window)
            .min(window)
    }

    /// Until both counts are gone: this window's end while only the window before counts, else the next one's.
    pub(crate) fn reset_after_ns(&self) -> u128 {
        let left = u128::from(self.left_ns);
        match (self.previous, self.current) {
            (0, 0) => 0,
            (_, 0) => left,
            _ => left.saturating_add(u128::from(self.window_ns)),
        }
    }
}
