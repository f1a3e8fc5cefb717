//! Scenario tables: a limiter on a clock moved by hand, and the one check that runs rows of calls against it.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::time::Duration;

use tollgate::{
    Call, Change, Config, Decided, FixedWindow, LimiterConfig, ManualClock, Rate, RateLimiter,
    Reason, Request, SlidingWindowCounter, SlidingWindowLog, Time, TokenBucket,
};

/// The endpoint of every row. No config here lists it, so the default limiter answers.
const ENDPOINT: &str = "/";

/// One call and the answer it must get: when, whose, at what cost.
pub(crate) type Row<'a> = (u64, &'a str, u64, Answer);

/// What a call is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// It may proceed; so many calls of cost 1 remain.
    Allowed(u64),
    /// It may not, but would after the wait.
    Denied { remaining: u64, retry_after_ms: u64 },
    /// Its cost can never be met; so many calls of cost 1 remain.
    Never(u64),
    /// Its key is new and the table of keys is full.
    TableFull,
}

/// A limiter under test and the clock it asks.
pub(crate) struct Table {
    pub(crate) limiter: RateLimiter,
    pub(crate) clock: ManualClock,
}

impl Table {
    /// One limiter for every endpoint, on a clock that stands at its origin.
    pub(crate) fn of(limiter: impl Into<LimiterConfig>) -> Self {
        let clock = ManualClock::new();
        let limiter = RateLimiter::builder(config(limiter)).clock(clock.clone()).build();
        Self { limiter, clock }
    }

    /// Runs rows whose times are in milliseconds.
    #[track_caller]
    pub(crate) fn check(&self, rows: &[Row<'_>]) {
        self.check_at(Time::from_millis, rows);
    }

    /// Runs rows whose times are in nanoseconds; waits are in milliseconds even so.
    #[track_caller]
    pub(crate) fn check_ns(&self, rows: &[Row<'_>]) {
        self.check_at(Time::from_nanos, rows);
    }

    /// Each row is answered as it says, and each wait is as long as it must be and no longer.
    #[track_caller]
    fn check_at(&self, time_of: fn(u64) -> Time, rows: &[Row<'_>]) {
        let mut latest = Time::ZERO;
        for (index, (at, key, cost, expected)) in rows.iter().enumerate() {
            let now = time_of(*at);
            let answered = Answer::from(self.call(now, key, *cost));
            assert_eq!(answered, *expected, "row {index}: {key:?} at {at}, cost {cost}");
            latest = latest.max(now);
            if let Answer::Denied { retry_after_ms, .. } = answered {
                self.check_wait(latest, key, *cost, retry_after_ms);
            }
        }
    }

    /// The call would be admitted when the wait is over, and not a millisecond sooner.
    #[track_caller]
    pub(crate) fn check_wait(&self, from: Time, key: &str, cost: u64, retry_after_ms: u64) {
        let limiter = self.limiter.limiter(ENDPOINT);
        let request = Request::new(limiter.key(key)).cost(cost);
        let admitted_after = |wait_ms| {
            let back = from + Duration::from_millis(wait_ms);
            limiter.look(request.at(back)).is_ok_and(|result| result.allowed())
        };
        let wait = format!("{retry_after_ms} ms for {key:?} from {from:?}, cost {cost}");
        assert!(admitted_after(retry_after_ms), "too short: {wait}");
        assert!(!admitted_after(retry_after_ms.saturating_sub(1)), "too long: {wait}");
    }

    /// Moves the clock to `now` and makes a call.
    pub(crate) fn call(&self, now: Time, key: &str, cost: u64) -> Decided {
        self.clock.set(now);
        self.limiter.decide(&Call::new(key, ENDPOINT).cost(cost))
    }

    /// How many of so many calls of cost 1, all at `now`, are admitted.
    pub(crate) fn admitted(&self, now: Time, key: &str, calls: usize) -> usize {
        self.clock.set(now);
        (0..calls).filter(|_| self.limiter.allow(key, ENDPOINT).allowed()).count()
    }

    /// Moves the clock, changes the limits, and says what became of the keys.
    pub(crate) fn reload(&self, at_ms: u64, limiter: impl Into<LimiterConfig>) -> Change {
        self.clock.set(Time::from_millis(at_ms));
        let report = self.limiter.reload(config(limiter));
        let (_, change) = report.changes().next().expect("the default's change comes first");
        change
    }

    /// How many keys are held.
    pub(crate) fn keys(&self) -> u64 {
        self.limiter.counts()[0].1.keys
    }
}

impl From<Decided> for Answer {
    fn from(decided: Decided) -> Self {
        let result = decided.unwrap_or_else(|error| error.result());
        let remaining = result.remaining();
        assert_eq!(result.allowed(), result.reason().is_none(), "only a denial has a reason");
        match (result.reason(), result.retry_after_ms()) {
            (None, None) => Self::Allowed(remaining),
            (Some(Reason::QuotaUsedUp), Some(retry_after_ms)) => {
                Self::Denied { remaining, retry_after_ms }
            }
            (Some(Reason::CostExceedsLimit), None) => Self::Never(remaining),
            (Some(Reason::TableFull), None) => Self::TableFull,
            (reason, wait) => panic!("{reason:?} does not go with a wait of {wait:?}"),
        }
    }
}

/// A config of one limiter for every endpoint.
fn config(limiter: impl Into<LimiterConfig>) -> Config {
    Config::builder().default(limiter).build().unwrap()
}

/// A bucket of this capacity that refills at a count per unit of time, such as `5/min`.
pub(crate) fn bucket(capacity: u32, refill: &str) -> TokenBucket {
    TokenBucket::new(capacity, Rate::parse_friendly(refill).unwrap()).unwrap()
}

pub(crate) fn log(max_requests: u32, window_ms: u64) -> SlidingWindowLog {
    SlidingWindowLog::new(max_requests, Duration::from_millis(window_ms)).unwrap()
}

pub(crate) fn fixed(max_requests: u32, window_ms: u64) -> FixedWindow {
    FixedWindow::new(max_requests, Duration::from_millis(window_ms)).unwrap()
}

pub(crate) fn counter(max_requests: u32, window_ms: u64) -> SlidingWindowCounter {
    SlidingWindowCounter::new(max_requests, Duration::from_millis(window_ms)).unwrap()
}
