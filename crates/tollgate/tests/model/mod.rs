//! The slow, obvious model: each algorithm as its definition says, in exact rational arithmetic, for one key. Waits and
//! remainders are not computed but searched for, by asking what would be admitted.

pub(crate) mod quota;

use num_rational::BigRational;
use quota::{MILLISECOND, Quota, ratio};

/// What a call must be answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Expected {
    pub(crate) allowed: bool,
    pub(crate) remaining: u64,
    pub(crate) retry_after_ms: Option<u64>,
    pub(crate) reset_after_ms: u64,
}

/// One key under one quota.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    quota: Quota,
    /// All that was admitted: when, and the cost.
    admitted: Vec<(u64, u32)>,
    /// A bucket's tokens, and when they were counted.
    tokens: BigRational,
    counted_at: u64,
    /// The starts of the windows that the key opened, each with its count.
    windows: Vec<(u64, u32)>,
}

impl Model {
    pub(crate) fn new(quota: Quota) -> Self {
        let tokens = BigRational::from_integer(quota.limit().into());
        Self { quota, admitted: Vec::new(), tokens, counted_at: 0, windows: Vec::new() }
    }

    /// Answers a call and charges it where it is allowed.
    pub(crate) fn call(&mut self, now: u64, cost: u32) -> Expected {
        let allowed = self.admits(now, cost);
        if allowed {
            self.charge(now, cost);
        }
        self.figures(now, cost, allowed)
    }

    /// The figures as they stand, of a call that was allowed or was not.
    pub(crate) fn figures(&self, now: u64, cost: u32, allowed: bool) -> Expected {
        let limit = self.quota.limit();
        let remaining = (0..=limit).rev().find(|cost| self.admits(now, *cost)).unwrap();
        let wait = |cost| first_ms(|ms| self.admits(now + ms * MILLISECOND, cost));
        let possible = !allowed && cost <= limit;
        Expected {
            allowed,
            remaining: remaining.into(),
            retry_after_ms: possible.then(|| wait(cost)),
            reset_after_ms: wait(limit),
        }
    }

    /// Whether a call would be admitted now.
    pub(crate) fn admits(&self, now: u64, cost: u32) -> bool {
        let whole = |number: u32| BigRational::from_integer(number.into());
        let limit = self.quota.limit();
        if cost == 0 {
            return true;
        }
        match &self.quota {
            Quota::Bucket { .. } => self.tokens_at(now) >= whole(cost),
            Quota::Log { window_ns, .. } => {
                let live = |(time, _): &&(u64, u32)| now - time < *window_ns;
                let used: u32 = self.admitted.iter().filter(live).map(|(_, cost)| cost).sum();
                used + cost <= limit
            }
            Quota::Fixed { .. } => {
                self.window_at(now).map_or(0, |(_, count)| count) + cost <= limit
            }
            Quota::Counter { window_ns, .. } => {
                let Some((start, current)) = self.window_at(now) else { return cost <= limit };
                let gone = ratio(now - start, *window_ns);
                let previous = whole(self.previous_count(start));
                previous * (whole(1) - gone) + whole(current) + whole(cost) <= whole(limit)
            }
        }
    }

    /// Takes the cost of a call that is admitted.
    pub(crate) fn charge(&mut self, now: u64, cost: u32) {
        if cost == 0 {
            return;
        }
        if let Quota::Bucket { .. } = self.quota {
            self.tokens = self.tokens_at(now) - BigRational::from_integer(cost.into());
            self.counted_at = now;
        }
        self.admitted.push((now, cost));
        let start = self.window_at(now).map_or(now, |(start, _)| start);
        match self.windows.last_mut() {
            Some((last, count)) if *last == start => *count += cost,
            _ => self.windows.push((start, cost)),
        }
    }

    fn tokens_at(&self, now: u64) -> BigRational {
        let Quota::Bucket { capacity, tokens, period_ns } = self.quota else { unreachable!() };
        let refilled = ratio(now - self.counted_at, 1) * ratio(tokens, period_ns);
        (self.tokens.clone() + refilled).min(BigRational::from_integer(capacity.into()))
    }

    /// The window that is open now, with its count; `None` where the next request opens one.
    fn window_at(&self, now: u64) -> Option<(u64, u32)> {
        let window_ns = self.quota.window_ns()?;
        let (start, count) = *self.windows.last()?;
        let passed = (now - start) / window_ns;
        match (&self.quota, passed) {
            (_, 0) => Some((start, count)),
            (Quota::Counter { .. }, 1) => Some((start + window_ns, 0)),
            _ => None,
        }
    }

    fn previous_count(&self, start: u64) -> u32 {
        let before = start.checked_sub(self.quota.window_ns().unwrap());
        let is_before = |(opened, _): &&(u64, u32)| Some(*opened) == before;
        self.windows.iter().rev().find(is_before).map_or(0, |(_, count)| *count)
    }
}

/// The least number of milliseconds for which `holds`, given that it then does for all greater ones.
fn first_ms(holds: impl Fn(u64) -> bool) -> u64 {
    let mut high = 1;
    while !holds(high) {
        high *= 2;
    }
    let mut low = 0;
    while low < high {
        let middle = u64::midpoint(low, high);
        if holds(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}
