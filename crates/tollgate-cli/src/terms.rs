//! What an algorithm's parameters come to, in the words of a table: rate, worst case, bytes.

use std::time::Duration;

use tollgate::algorithm::TokenBucketState;
use tollgate::{
    Algorithm, AnyAlgorithm, FixedWindow, Rate, SlidingWindowCounter, SlidingWindowLog, Time,
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
        if let Some(counter) = algorithm.downcast_ref::<SlidingWindowCounter>() {
            let max_requests = u64::from(counter.max_requests());
            let most = max_requests.saturating_mul(2).saturating_sub(2).max(max_requests);
            return Self::of_window(counter.max_requests(), counter.window(), most);
        }
        let unknown = || "-".to_owned();
        Self { rate: unknown(), worst_case: unknown(), heap_bytes_max: 0 }
    }

    fn of_bucket(bucket: TokenBucket) -> Self {
        let (capacity, rate) = (bucket.capacity(), rate_in_words(bucket.rate()));
        Self {
            worst_case: format!("{capacity} + {rate} × T in any time T"),
            rate,
            heap_bytes_max: 0,
        }
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

/// The units a rate is told in, the shortest first, in nanoseconds.
const UNITS: [(&str, u128); 4] = [
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
    ("day", 86_400_000_000_000),
];

/// A rate by the shortest unit that makes it whole, such as `100/min`; else in decimals.
fn rate_in_words(rate: Rate) -> String {
    let (tokens, nanos) = refill(rate);
    let rounded = |unit: u128| {
        let product = tokens.saturating_mul(unit);
        (product, product.saturating_add(nanos / 2).checked_div(nanos).unwrap_or(0))
    };
    for (unit, unit_nanos) in UNITS {
        let (product, count) = rounded(unit_nanos);
        // The time was rounded by less than a nanosecond, so the product is off by less than the count.
        if count > 0 && product.abs_diff(count.saturating_mul(nanos)) <= count {
            return format!("{count}/{unit}");
        }
    }
    let whole_unit = UNITS.into_iter().find(|(_, unit_nanos)| rounded(*unit_nanos).1 > 0);
    let (unit, unit_nanos) = whole_unit.unwrap_or(UNITS[3]);
    let (_, millionths) = rounded(unit_nanos.saturating_mul(1_000_000));
    let decimals = format!("{}.{:06}", millionths / 1_000_000, millionths % 1_000_000);
    format!("{}/{unit}", decimals.trim_end_matches('0'))
}

/// Some tokens, and the nanoseconds they take to come back, rounded up: nine digits of the rate or more.
///
/// A rate tells its figure to nobody, so a drained bucket is asked when it would be full.
fn refill(rate: Rate) -> (u128, u128) {
    let capacities = [u32::MAX, 1_000_000, 1_000, 1];
    let bucket = capacities.into_iter().find_map(|capacity| TokenBucket::new(capacity, rate).ok());
    let Some(bucket) = bucket else { return (0, 1) };
    let capacity = bucket.capacity();
    let mut drained = TokenBucketState::default();
    bucket.charge(&mut drained, Time::ZERO, capacity);
    let is_full = |nanos| bucket.decide(&drained, Time::from_nanos(nanos), capacity).allowed();
    let (mut before, mut full) = (0, u64::MAX);
    while full.saturating_sub(before) > 1 {
        let middle = before.midpoint(full);
        if is_full(middle) { full = middle } else { before = middle }
    }
    (u128::from(capacity), u128::from(full))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(algorithm: impl Algorithm) -> [String; 2] {
        let Terms { rate, worst_case, .. } = Terms::of(&AnyAlgorithm::new(algorithm));
        [rate, worst_case]
    }

    #[test]
    fn a_rate_is_told_by_the_shortest_unit_that_makes_it_whole() {
        for (written, told) in [
            ("1/s", "1/s"),
            ("100/min", "100/min"),
            ("120/min", "2/s"),
            ("1000/h", "1000/h"),
            ("1/day", "1/day"),
            ("1/10s", "6/min"),
            ("1000000000/s", "1000000000/s"),
            ("999999937/s", "999999937/s"),
            ("2.5/s", "150/min"),
            ("33.333333/s", "33.333333/s"),
            ("1/week", "0.142857/day"),
        ] {
            let rate = Rate::parse_friendly(written).unwrap();
            assert_eq!(rate_in_words(rate), told, "{written}");
        }
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
