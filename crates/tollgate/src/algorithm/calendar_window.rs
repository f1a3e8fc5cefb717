//! # Calendar window
//!
//! A counter for the hour, the day, the week or the month: the quota is whole again when the clock on the wall says so,
//! at once for everybody.
//!
//! ```text
//! requests                    maxRequests 3 per day, UTC
//!   3 ┤          ●  ● ●     ● ● ●                      ●
//!     │ ┌─────── Monday ──────┐┌────── Tuesday ───────┐┌── Wednesday
//!     └─┴─────────────────────┴┴───────────┬──────────┴┴─────────► time of day
//!     midnight             midnight      a fourth: denied until midnight
//! ```
//!
//! **State**: the window's end and a count, 12 bytes, as in the fixed window; only what the end is differs.
//!
//! **Time**: `now` is the time of day, and so a limiter of this algorithm goes by the [`WallClock`](crate::WallClock);
//! see [`Timeline`]. A step back gives no quota again: the limiter's time stands still until the clock has caught
//! up. A step forward opens the window it leads into, once. Windows end at the times of one fixed offset from UTC, so
//! none is longer or shorter for a change to summer time.
//!
//! **Promise**: at most `maxRequests` in each hour, day, week (from Monday) or month. Worst case: `2 · maxRequests`
//! in a moment, half of it just before the end of a window and half just after, and from everybody at once: whoever
//! stands behind the limit sees the quotas of all clients come back together.
//!
//! **Not for** spreading load: use a token bucket for that, beside this for the quota somebody bought.
//!
//! **Source**: quotas per calendar day or month are folklore; that of the month's end is H. Hinnant, "chrono-compatible
//! low-level date algorithms", 2013, <https://howardhinnant.github.io/date_algorithms.html>.

use std::time::Duration;

use super::anchor::{Anchor, OFFSET_FIELD, PERIOD_FIELD};
use super::calendar::{Offset, Period};
use super::window_count::FixedWindowState;
use super::window_quota::WindowQuota;
use super::{Algorithm, CarriedOver, Timeline};
use crate::clock::{Time, nanos_of};
use crate::decision::Decision;
use crate::parameters::{Fault, Faults, ParameterReader, Parameters, Value};

/// A counter for each hour, day, week or month.
///
/// In a config file: `FixedWindow` with `anchor: calendar`, `maxRequests` (1 to 4,294,967,295), `per` (`hour`, `day`,
/// `week` or `month`) and, where it is not UTC, `offset` (`+02:00`).
///
/// ```
/// use tollgate::{CalendarWindow, Keyed, Limiter, Period};
///
/// let limiter = Keyed::new(CalendarWindow::new(1_000, Period::Day)?);
/// let result = limiter.allow("alice");
/// assert_eq!(result.remaining(), 999);
/// assert!(result.reset_after_ms() <= 86_400_000); // at midnight, UTC
/// # Ok::<(), tollgate::Faults>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CalendarWindow {
    max_requests: u32,
    period: Period,
    offset: Offset,
}

impl CalendarWindow {
    /// At most `max_requests` in each period of UTC's calendar.
    ///
    /// # Errors
    /// When `max_requests` is 0.
    pub fn new(max_requests: u32, period: Period) -> Result<Self, Faults> {
        match WindowQuota::check_requests(max_requests, u32::MAX) {
            Some(fault) => Err(fault.into()),
            None => Ok(Self { max_requests, period, offset: Offset::UTC }),
        }
    }

    /// By the calendar of another offset.
    #[must_use]
    pub const fn offset(self, offset: Offset) -> Self {
        Self { offset, ..self }
    }

    /// Reads `anchor`, which has to be `calendar`, `maxRequests`, `per` and `offset`.
    ///
    /// # Errors
    /// Every field that is missing, unknown or out of range.
    pub fn from_parameters(parameters: &Parameters) -> Result<Self, Faults> {
        let mut reader = parameters.reader();
        Anchor::Calendar.read(&mut reader);
        let max_requests = WindowQuota::read_requests(&mut reader, u32::MAX);
        let period = reader.choice(PERIOD_FIELD, &Period::WORDS);
        let offset = read_offset(&mut reader);
        let window = max_requests.zip(period).zip(offset);
        reader.finish_with(window.map(|((max_requests, period), offset)| Self {
            max_requests,
            period,
            offset,
        }))
    }

    /// The most requests in a period.
    pub const fn max_requests(&self) -> u32 {
        self.max_requests
    }

    /// The period.
    pub const fn period(&self) -> Period {
        self.period
    }

    /// The offset from UTC whose calendar it is.
    pub const fn offset_from_utc(&self) -> Offset {
        self.offset
    }

    /// The state as it is `now`: a window that is over gives way to the one of now.
    fn rolled(&self, state: FixedWindowState, now: Time) -> FixedWindowState {
        if state.is_open(now) { state } else { self.window_at(now, 0) }
    }

    fn window_at(&self, now: Time, count: u32) -> FixedWindowState {
        FixedWindowState::new(self.period.end_after(now, self.offset), count)
    }
}

impl Algorithm for CalendarWindow {
    type State = FixedWindowState;

    const TIMELINE: Timeline = Timeline::Calendar;

    fn limit(&self) -> u32 {
        self.max_requests
    }

    fn decide(&self, state: &FixedWindowState, now: Time, cost: u32) -> Decision {
        self.rolled(*state, now).decide(self.max_requests, now, cost)
    }

    fn charge(&self, state: &mut FixedWindowState, now: Time, cost: u32) {
        *state = self.rolled(*state, now).charged(cost);
    }

    /// The period's length; a month's differs, so it has none.
    fn quota_window(&self) -> Option<Duration> {
        let is_even = self.period != Period::Month;
        is_even.then(|| Duration::from_nanos(self.period.least_ns()))
    }

    fn charge_beside(
        &self,
        state: &mut FixedWindowState,
        now: Time,
        cost: u32,
        (_, judged): (&Self, &FixedWindowState),
    ) -> bool {
        let window = self.rolled(*state, now);
        let longest = now.plus_nanos(self.period.least_ns());
        let fits;
        (*state, fits) = window.charged_beside(self.max_requests, cost, judged.end().min(longest));
        fits
    }

    /// One more period than it takes, each as short as they get, while no clock steps.
    fn most_in(&self, time: Duration) -> Option<u64> {
        let periods = nanos_of(time).div_ceil(self.period.least_ns()).saturating_add(1);
        Some(periods.saturating_mul(self.max_requests.into()))
    }

    fn trace(&self, state: &FixedWindowState) -> [u64; 2] {
        state.trace()
    }

    fn refund(&self, state: &mut FixedWindowState, now: Time, cost: u32, trace: [u64; 2]) -> bool {
        state.refund(now, cost, trace)
    }

    fn debt(&self, state: &FixedWindowState, now: Time) -> u64 {
        u64::from(if state.is_open(now) { state.count() } else { 0 })
    }

    fn join(&self, state: &mut FixedWindowState, other: &FixedWindowState, now: Time) {
        *state = self.rolled(*state, now).joined(self.rolled(*other, now));
    }

    /// The count of the window that is open goes on in the window of now under the new calendar.
    fn carry_over(&self, state: &mut FixedWindowState, now: Time, from: &Self) -> CarriedOver {
        let is_same_calendar = (self.period, self.offset) == (from.period, from.offset);
        if !is_same_calendar {
            *state = self.window_at(now, from.rolled(*state, now).count());
        }
        CarriedOver::Whole
    }
}

fn read_offset(reader: &mut ParameterReader<'_>) -> Option<Offset> {
    if !reader.has(OFFSET_FIELD) {
        return Some(Offset::UTC);
    }
    let text = reader.text(OFFSET_FIELD)?;
    let offset = Offset::parse(text);
    if offset.is_none() {
        let found = Value::Text(text.to_owned());
        let message = format!(
            "`{OFFSET_FIELD}` is {found}; expected UTC or a fixed offset from it, such as \"+02:00\", from -12:00 to \
             +14:00"
        );
        reader.add(Fault::of_field(OFFSET_FIELD, message));
    }
    offset
}
