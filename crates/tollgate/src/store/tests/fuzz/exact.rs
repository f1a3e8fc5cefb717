//! What one key is answered by definition: plain arithmetic on wide integers, one key at a time.

use std::fmt::Debug;
use std::time::Duration;

use arbitrary::{Result, Unstructured};

use crate::algorithm::{Algorithm, FixedWindow, TokenBucket};
use crate::rate::Rate;

const SECOND_NS: u64 = 1_000_000_000;
const MILLISECOND_NS: i128 = 1_000_000;

/// What a call is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) allowed: bool,
    pub(super) remaining: u64,
    pub(super) retry_after_ms: Option<u64>,
    pub(super) reset_after_ms: u64,
}

/// A quota whose answers can be worked out from what was admitted.
pub(super) trait Exact: Copy + Debug + PartialEq {
    type Algorithm: Algorithm;
    /// What one key has used. The default is a key never seen.
    type Key: Copy + Debug + Default;

    /// Whether a key that took over the debt of others is never allowed what it would not be without it. Not so where
    /// it opens windows of its own.
    const DEBT_ONLY_DENIES: bool;

    fn choose(choices: &mut Unstructured<'_>) -> Result<Self>;
    fn algorithm(self) -> Self::Algorithm;
    fn limit(self) -> u32;
    /// A time in which quota comes back.
    fn pace_ns(self) -> u64;
    fn is_whole(self, key: Self::Key, now: u64) -> bool;
    fn answer(self, key: Self::Key, now: u64, cost: u64) -> Answer;
    fn charge(self, key: &mut Self::Key, now: u64, cost: u64);
    /// Gives a charge back after which the key was as `charged`; says whether anything was.
    fn refund(self, key: &mut Self::Key, now: u64, charge: (Self::Key, u64)) -> bool;
    /// Keeps the debt under these parameters; says whether some was forgiven.
    fn carry_over(self, key: &mut Self::Key, now: u64, from: Self) -> bool;
}

/// A bucket. A token has as many drops as its period has nanoseconds, and as many drops come back in a nanosecond as
/// tokens do in a period.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ExactBucket {
    capacity: u32,
    tokens: u64,
    period_ns: u64,
}

/// The drops that were missing at a time. A clock may be less than a millisecond behind it: then more are missing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Missing {
    drops: i128,
    at: u64,
}

impl ExactBucket {
    fn drops(self, tokens: u64) -> i128 {
        i128::from(tokens) * i128::from(self.period_ns)
    }

    fn missing(self, key: Missing, now: u64) -> i128 {
        let passed = i128::from(now) - i128::from(key.at);
        (key.drops - passed * i128::from(self.tokens)).max(0)
    }

    fn wait_ms(self, drops: i128) -> u64 {
        millis(ceiling(drops, i128::from(self.tokens)))
    }
}

impl Exact for ExactBucket {
    type Algorithm = TokenBucket;
    type Key = Missing;
    const DEBT_ONLY_DENIES: bool = true;

    fn choose(choices: &mut Unstructured<'_>) -> Result<Self> {
        let capacity = *choices.choose(&[1, 2, 3, 5, 100])?;
        // Fractions in lowest terms: of a nanosecond, of seconds that do not divide, and whole ones.
        let rates =
            [(1, SECOND_NS), (3, SECOND_NS), (7, 86_400 * SECOND_NS), (59, 60 * SECOND_NS), (1, 1)];
        let (tokens, period_ns) = *choices.choose(&rates)?;
        Ok(Self { capacity, tokens, period_ns })
    }

    fn algorithm(self) -> TokenBucket {
        let rate = format!("{}/{}ns", self.tokens, self.period_ns);
        let rate = Rate::parse_friendly(&rate).expect("it is a rate");
        TokenBucket::new(self.capacity, rate).expect("the numbers are in range")
    }

    fn limit(self) -> u32 {
        self.capacity
    }

    fn pace_ns(self) -> u64 {
        self.period_ns / self.tokens
    }

    fn is_whole(self, key: Missing, now: u64) -> bool {
        self.missing(key, now) == 0
    }

    fn answer(self, key: Missing, now: u64, cost: u64) -> Answer {
        let (missing, all) = (self.missing(key, now), self.drops(self.capacity.into()));
        let after = missing + self.drops(cost);
        let allowed = cost == 0 || after <= all;
        let is_possible = cost <= u64::from(self.capacity);
        let missing = if allowed { after } else { missing };
        Answer {
            allowed,
            remaining: whole((all - missing).max(0) / self.drops(1)),
            retry_after_ms: (!allowed && is_possible).then(|| self.wait_ms(after - all)),
            reset_after_ms: self.wait_ms(missing),
        }
    }

    fn charge(self, key: &mut Missing, now: u64, cost: u64) {
        *key = Missing { drops: self.missing(*key, now) + self.drops(cost), at: now };
    }

    fn refund(self, key: &mut Missing, now: u64, (charged, cost): (Missing, u64)) -> bool {
        if self.is_whole(charged, now) || self.is_whole(*key, now) {
            return false;
        }
        *key = Missing { drops: (self.missing(*key, now) - self.drops(cost)).max(0), at: now };
        true
    }

    fn carry_over(self, key: &mut Missing, now: u64, from: Self) -> bool {
        let drops = ceiling(from.missing(*key, now) * self.drops(1), from.drops(1));
        let all = self.drops(self.capacity.into());
        *key = Missing { drops: drops.min(all), at: now };
        drops > all
    }
}

/// A window that opens at a key's first admitted call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ExactWindow {
    max_requests: u32,
    window_ns: u64,
}

/// The last window, and what was admitted in it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Opened {
    end: u64,
    count: u64,
}

impl Opened {
    fn is_open(self, now: u64) -> bool {
        self.count > 0 && now < self.end
    }
}

impl ExactWindow {
    fn at(self, key: Opened, now: u64) -> Opened {
        if key.is_open(now) { key } else { Opened { end: now + self.window_ns, count: 0 } }
    }
}

impl Exact for ExactWindow {
    type Algorithm = FixedWindow;
    type Key = Opened;
    const DEBT_ONLY_DENIES: bool = false;

    fn choose(choices: &mut Unstructured<'_>) -> Result<Self> {
        let max_requests = *choices.choose(&[1, 2, 3, 5, 100])?;
        let window_ms = *choices.choose(&[1, 7, 1_000, 86_400_000])?;
        Ok(Self { max_requests, window_ns: window_ms * 1_000_000 })
    }

    fn algorithm(self) -> FixedWindow {
        let window = Duration::from_nanos(self.window_ns);
        FixedWindow::new(self.max_requests, window).expect("the numbers are in range")
    }

    fn limit(self) -> u32 {
        self.max_requests
    }

    fn pace_ns(self) -> u64 {
        self.window_ns
    }

    fn is_whole(self, key: Opened, now: u64) -> bool {
        !key.is_open(now)
    }

    fn answer(self, key: Opened, now: u64, cost: u64) -> Answer {
        let Opened { end, count } = self.at(key, now);
        let limit = u64::from(self.max_requests);
        let allowed = cost == 0 || count + cost <= limit;
        let count = if allowed { count + cost } else { count };
        let until_end_ms = millis(i128::from(end) - i128::from(now));
        Answer {
            allowed,
            remaining: limit.saturating_sub(count),
            retry_after_ms: (!allowed && cost <= limit).then_some(until_end_ms),
            reset_after_ms: if count == 0 { 0 } else { until_end_ms },
        }
    }

    fn charge(self, key: &mut Opened, now: u64, cost: u64) {
        *key = self.at(*key, now);
        key.count += cost;
    }

    fn refund(self, key: &mut Opened, now: u64, (charged, cost): (Opened, u64)) -> bool {
        let is_same = key.is_open(now) && key.end == charged.end;
        if is_same {
            key.count = key.count.saturating_sub(cost);
        }
        is_same
    }

    fn carry_over(self, key: &mut Opened, now: u64, from: Self) -> bool {
        let Opened { end, count } = from.at(*key, now);
        let left = i128::from((end - now).min(from.window_ns)) * i128::from(self.window_ns);
        let left = whole(ceiling(left, i128::from(from.window_ns)));
        *key = Opened { end: now + left, count };
        false
    }
}

/// A quotient, rounded up.
fn ceiling(dividend: i128, divisor: i128) -> i128 {
    (dividend + divisor - 1) / divisor
}

/// Nanoseconds in milliseconds, rounded up.
fn millis(nanos: i128) -> u64 {
    whole(ceiling(nanos, MILLISECOND_NS))
}

fn whole(number: i128) -> u64 {
    u64::try_from(number).expect("it is a count or a wait")
}
