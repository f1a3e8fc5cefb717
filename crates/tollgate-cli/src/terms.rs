//! What an algorithm's parameters come to, in the words of a table: rate, worst case, bytes.

use std::time::Duration;

use tollgate::{
    AnyAlgorithm, CalendarWindow, Concurrency, FixedWindow, SlidingWindowCounter, SlidingWindowLog,
    TokenBucket,
};

/// What a limiter grants each key, and what a key takes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Terms {
    /// The calls that are granted in the long run.
    pub(crate) rate: String,
    /// The most that is admitted in any window.
    pub(crate) worst_case: String,
    /// The most bytes of a key's state outside the table of keys.
    pub(crate) heap_bytes_max: u64,
}

impl Terms {
    /// The terms of an algorithm; of one that is not built in, only what all algorithms have.
    pub(crate) fn of(algorithm: &AnyAlgorithm) -> Self {
        if let Some(concurrency) = algorithm.as_concurrency() {
            return Self::of_concurrency(concurrency);
        }
        if let Some(bucket) = algorithm.downcast_ref::<TokenBucket>() {
            return Self::of_bucket(*bucket);
        }
        if let Some(log) = algorithm.downcast_ref::<SlidingWindowLog>() {
            let heap_bytes_max = log_bytes_max(log);
            let (max_requests, window) = (log.max_requests(), log.window());
            return Self { heap_bytes_max, ..Self::of_window(max_requests, window, max_requests) };
        }
        if let Some(fixed) = algorithm.downcast_ref::<FixedWindow>() {
            let max_requests = u64::from(fixed.max_requests());
            let most = max_requests.saturating_mul(2).saturating_sub(1);
            return Self::of_window(fixed.max_requests(), fixed.window(), most);
        }
        if let Some(calendar) = algorithm.downcast_ref::<CalendarWindow>() {
            return Self::of_calendar(*calendar);
        }
        if let Some(counter) = algorithm.downcast_ref::<SlidingWindowCounter>() {
            let max_requests = u64::from(counter.max_requests());
            let most = max_requests.saturating_mul(2).saturating_sub(2).max(max_requests);
            return Self::of_window(counter.max_requests(), counter.window(), most);
        }
        let unknown = || "-".to_owned();
        Self { rate: unknown(), worst_case: unknown(), heap_bytes_max: 0 }
    }

    fn of_bucket(bucket: TokenBucket) -> Self {
        let (capacity, rate) = (bucket.capacity(), bucket.rate().to_string());
        Self {
            worst_case: format!("{capacity} + {rate} × T in any time T"),
            rate,
            heap_bytes_max: 0,
        }
    }

    fn of_calendar(window: CalendarWindow) -> Self {
        let (max_requests, period) = (window.max_requests(), window.period());
        let offset = window.offset_from_utc();
        Self {
            rate: format!("{max_requests} per {period}, {offset}"),
            worst_case: format!("{} around its end", u64::from(max_requests).saturating_mul(2)),
            heap_bytes_max: 0,
        }
    }

    fn of_concurrency(concurrency: Concurrency) -> Self {
        /// What each call under way takes beside its key, in the two orders leases are kept in.
        const LEASE_BYTES: u64 = 56;
        let most = concurrency.max_in_flight();
        let (rate, lease_bytes) = match concurrency.lease_time() {
            Some(lease) => (
                format!("{most} at once, each {} at most", humantime::format_duration(lease)),
                LEASE_BYTES,
            ),
            None => (format!("{most} at once"), 0),
        };
        let heap_bytes_max = u64::from(most).saturating_mul(lease_bytes);
        Self { rate, worst_case: format!("{most} at once"), heap_bytes_max }
    }

    fn of_window(max_requests: u32, window: Duration, most: impl Into<u64>) -> Self {
        let window = humantime::format_duration(window);
        Self {
            rate: format!("{max_requests} per {window}"),
            worst_case: format!("{} in any {window}", most.into()),
            heap_bytes_max: 0,
        }
    }
}

/// A full log: a stamp for each request, and a cost beside it where any was not 1.
fn log_bytes_max(log: &SlidingWindowLog) -> u64 {
    const COST_BYTES: u64 = 4;
    // Stamps number the milliseconds of a long window in 64 bits instead of 32.
    let is_long = log.window().as_millis() >= u128::from(u32::MAX);
    let stamp_bytes = if is_long { 8 } else { 4 };
    u64::from(log.max_requests()).saturating_mul(COST_BYTES.saturating_add(stamp_bytes))
}

#[cfg(test)]
mod tests {
    use tollgate::{Algorithm, Period};

    use super::*;

    fn terms(algorithm: impl Algorithm) -> [String; 2] {
        let Terms { rate, worst_case, .. } = Terms::of(&AnyAlgorithm::new(algorithm));
        [rate, worst_case]
    }

    #[test]
    fn the_worst_case_is_the_promise_of_the_algorithm() {
        let minute = Duration::from_secs(60);
        let bucket = TokenBucket::per_second(2).burst(10).build().unwrap();
        assert_eq!(terms(bucket), ["2/s", "10 + 2/s × T in any time T"]);
        let log = SlidingWindowLog::new(100, minute).unwrap();
        assert_eq!(terms(log), ["100 per 1m", "100 in any 1m"]);
        let fixed = FixedWindow::new(100, minute).unwrap();
        assert_eq!(terms(fixed), ["100 per 1m", "199 in any 1m"]);
        let calendar = CalendarWindow::new(100, Period::Day).unwrap();
        assert_eq!(terms(calendar), ["100 per day, UTC", "200 around its end"]);
        let counter = SlidingWindowCounter::new(100, Duration::from_millis(1_500)).unwrap();
        assert_eq!(terms(counter), ["100 per 1s 500ms", "198 in any 1s 500ms"]);
        let one = SlidingWindowCounter::new(1, minute).unwrap();
        assert_eq!(terms(one), ["1 per 1m", "1 in any 1m"]);
    }

    #[test]
    fn a_full_log_takes_eight_bytes_a_request_and_twelve_in_a_long_window() {
        for (days, bytes) in [(1, 800), (49, 800), (50, 1_200)] {
            let log = SlidingWindowLog::new(100, Duration::from_secs(days * 86_400)).unwrap();
            assert_eq!(Terms::of(&AnyAlgorithm::new(log)).heap_bytes_max, bytes, "{days} days");
        }
    }
}
