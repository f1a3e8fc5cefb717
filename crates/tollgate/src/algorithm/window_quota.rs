//! What the three window algorithms are told: so many requests in a window of such a length.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::clock::{Time, nanos_of};
use crate::parameters::{Fault, Faults, ParameterReader, Parameters, whole_range};
use crate::wide::product;

const REQUESTS_FIELD: &str = "maxRequests";
const WINDOW_FIELD: &str = "windowMs";
const FRIENDLY_WINDOW_FIELD: &str = "window";

/// The windows that are allowed, in milliseconds: up to 366 days.
pub const WINDOW_MS: RangeInclusive<u64> = 1..=366 * 86_400_000;

/// At most `max_requests` in `window_ns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WindowQuota {
    pub(crate) max_requests: u32,
    pub(crate) window_ns: u64,
}

impl WindowQuota {
    /// Checks both numbers; `most` is the largest quota the algorithm takes.
    pub(crate) fn new(max_requests: u32, window: Duration, most: u32) -> Result<Self, Faults> {
        let mut faults: Vec<_> = Self::check_requests(max_requests, most).into_iter().collect();
        if !u64::try_from(window.as_millis()).is_ok_and(|millis| WINDOW_MS.contains(&millis)) {
            let message = format!("the window is {window:?}; expected 1 ms to 366 days");
            faults.push(Fault::of_field(WINDOW_FIELD, message));
        }
        Faults::check(faults)?;
        Ok(Self { max_requests, window_ns: nanos_of(window) })
    }

    /// Reads `maxRequests` and `windowMs` or `window`.
    pub(crate) fn from_parameters(parameters: &Parameters, most: u32) -> Result<Self, Faults> {
        let mut reader = parameters.reader();
        let quota = Self::read(&mut reader, most);
        reader.finish_with(quota)
    }

    pub(crate) fn read(reader: &mut ParameterReader<'_>, most: u32) -> Option<Self> {
        let max_requests = Self::read_requests(reader, most);
        let window = reader.window(WINDOW_FIELD, FRIENDLY_WINDOW_FIELD, WINDOW_MS);
        Some(Self { max_requests: max_requests?, window_ns: nanos_of(window?) })
    }

    /// Reads `maxRequests`.
    pub(crate) fn read_requests(reader: &mut ParameterReader<'_>, most: u32) -> Option<u32> {
        u32::try_from(reader.quota(REQUESTS_FIELD, 1..=u64::from(most))?).ok()
    }

    /// Checks `maxRequests`; `most` is the largest quota the algorithm takes.
    pub(crate) fn check_requests(max_requests: u32, most: u32) -> Option<Fault> {
        let requests = 1..=u64::from(most);
        (!requests.contains(&u64::from(max_requests))).then(|| {
            let expected = whole_range(&requests);
            let message = format!("`{REQUESTS_FIELD}` is {max_requests}; expected {expected}");
            Fault::of_field(REQUESTS_FIELD, message)
        })
    }

    pub(crate) const fn window(self) -> Duration {
        Duration::from_nanos(self.window_ns)
    }
}

impl WindowQuota {
    /// How many windows it takes to cover a time, and what all of them admit.
    pub(crate) fn windows_in(self, time: Duration) -> u64 {
        nanos_of(time).div_ceil(self.window_ns).max(1)
    }

    /// When a window of this length ends that has as much of it left `now` as a window of another length that
    /// ends at `end`: 300 ms into 1,000 is 30 ms into 100. What is left is rounded up, so no debt ends early.
    pub(crate) fn end_with_the_same_part_gone(self, end: Time, now: Time, from: Self) -> Time {
        let left = product(end.nanos_since(now).min(from.window_ns), self.window_ns);
        let left = left.div_ceil(u128::from(from.window_ns));
        now.plus_nanos(u64::try_from(left).expect("what is left of a window is no longer than it"))
    }
}
