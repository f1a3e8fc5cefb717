//! # Fixed window
//!
//! A counter and the time its window opened. A key's window opens at its first admitted request, lasts
//! `windowMs`, and the next admitted request after that opens the next.
//!
//! ```text
//! requests            maxRequests 3, window 60 s
//!   3 ┤   ● ● ●                      ● ● ●
//!     │   ┌────────── 60 s ─────────┐┌────────── 60 s ─────────┐
//!     └───┴──────────────────────┬──┴┴─────────────────────────┴───► time
//!       first request          a fourth: denied until the window ends
//! ```
//!
//! **State**: the window's end and a count, 12 bytes. (Its end and not its start: a window that a reload made
//! longer may have started before the clock did.)
//!
//! **Promise**: at most `maxRequests` in each of disjoint windows of at least `windowMs`. Worst case:
//! `2 · maxRequests - 1` in one window's length across the seam, as where one request opens a window, the rest of
//! the quota comes at its end and a whole quota just after.
//!
//! **Not for** protecting something that cannot take nearly twice the quota at once: use the sliding window log or a
//! token bucket there.
//!
//! **Source**: the counter per client and interval is folklore; a public description is
//! <https://redis.io/docs/latest/commands/incr/> ("Pattern: Rate limiter").

use std::time::Duration;

use super::anchor::Anchor;
use super::window_count::FixedWindowState;
use super::window_quota::WindowQuota;
use super::{Algorithm, CarriedOver, Packing};
use crate::clock::Time;
use crate::decision::Decision;
use crate::parameters::{Faults, Parameters};

/// A counter per window that opens at a key's first request.
///
/// In a config file: `FixedWindow` with `maxRequests` (1 to 4,294,967,295) and `windowMs` (1 ms to 366 days) or
/// `window` (`1m`). With `anchor: calendar` it is a [`CalendarWindow`](crate::CalendarWindow).
///
/// ```
/// use std::time::Duration;
/// use tollgate::{FixedWindow, Keyed, Limiter};
///
/// let limiter = Keyed::new(FixedWindow::new(100, Duration::from_secs(60))?);
/// assert_eq!(limiter.allow("alice").remaining(), 99);
/// # Ok::<(), tollgate::Faults>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FixedWindow(WindowQuota);

impl FixedWindow {
    /// At most `max_requests` in each `window`.
    ///
    /// # Errors
    /// When `max_requests` is 0, or the window is not from 1 ms to 366 days.
    pub fn new(max_requests: u32, window: Duration) -> Result<Self, Faults> {
        WindowQuota::new(max_requests, window, u32::MAX).map(Self)
    }

    /// Reads `maxRequests`, `windowMs` or `window`, and `anchor`, which may say `first`.
    ///
    /// # Errors
    /// Every field that is missing, unknown or out of range.
    pub fn from_parameters(parameters: &Parameters) -> Result<Self, Faults> {
        let mut reader = parameters.reader();
        let quota = WindowQuota::read(&mut reader, u32::MAX);
        Anchor::First.read(&mut reader);
        reader.finish_with(quota.map(Self))
    }

    /// The most requests in a window.
    pub const fn max_requests(&self) -> u32 {
        self.0.max_requests
    }

    /// The window's length.
    pub const fn window(&self) -> Duration {
        self.0.window()
    }

    /// The state as it is `now`: a window that is over gives way to one that would open now.
    fn rolled(&self, state: FixedWindowState, now: Time) -> FixedWindowState {
        if state.is_open(now) { state } else { self.opened(now, 0) }
    }

    const fn opened(&self, now: Time, count: u32) -> FixedWindowState {
        FixedWindowState::new(now.plus_nanos(self.0.window_ns), count)
    }
}

impl Algorithm for FixedWindow {
    type State = FixedWindowState;

    const PACKING: Option<Packing<FixedWindowState>> = Some(Packing {
        pack: |state| (state.end().as_nanos(), state.count()),
        unpack: |end, count| FixedWindowState::new(Time::from_nanos(end), count),
    });

    fn limit(&self) -> u32 {
        self.0.max_requests
    }

    fn decide(&self, state: &FixedWindowState, now: Time, cost: u32) -> Decision {
        self.rolled(*state, now).decide(self.0.max_requests, now, cost)
    }

    fn charge(&self, state: &mut FixedWindowState, now: Time, cost: u32) {
        *state = self.rolled(*state, now).charged(cost);
    }

    fn quota_window(&self) -> Option<Duration> {
        Some(self.window())
    }

    fn charge_beside(
        &self,
        state: &mut FixedWindowState,
        now: Time,
        cost: u32,
        (_, judged): (&Self, &FixedWindowState),
    ) -> bool {
        let window = self.rolled(*state, now);
        let longest = now.plus_nanos(self.0.window_ns);
        let fits;
        (*state, fits) =
            window.charged_beside(self.0.max_requests, cost, judged.end().min(longest));
        fits
    }

    /// One more window than it takes, whose first request opened it before.
    fn most_in(&self, time: Duration) -> Option<u64> {
        let windows = self.0.windows_in(time).saturating_add(1);
        Some(windows.saturating_mul(self.0.max_requests.into()).saturating_sub(1))
    }

    fn trace(&self, state: &FixedWindowState) -> [u64; 2] {
        state.trace()
    }

    fn refund(&self, state: &mut FixedWindowState, now: Time, cost: u32, trace: [u64; 2]) -> bool {
        state.refund(now, cost, trace)
    }

    fn debt(&self, state: &FixedWindowState, now: Time) -> u64 {
        u64::from(self.rolled(*state, now).count())
    }

    fn join(&self, state: &mut FixedWindowState, other: &FixedWindowState, now: Time) {
        *state = self.rolled(*state, now).joined(self.rolled(*other, now));
    }

    /// A new key's window is its own, with the cell's count in it: to continue in the cell's window would let a key
    /// that leaves and returns take quota again and again.
    fn enter(&self, cell: &FixedWindowState, now: Time) -> FixedWindowState {
        self.opened(now, self.rolled(*cell, now).count())
    }

    fn carry_over(&self, state: &mut FixedWindowState, now: Time, from: &Self) -> CarriedOver {
        let window = from.rolled(*state, now);
        let end = self.0.end_with_the_same_part_gone(window.end(), now, from.0);
        *state = FixedWindowState::new(end, window.count());
        CarriedOver::Whole
    }
}
