//! Quotas of all four algorithms with small numbers, and what each promises.

use std::time::Duration;

use num_rational::BigRational;
use tollgate::{
    AnyAlgorithm, FixedWindow, Parameters, SlidingWindowCounter, SlidingWindowLog, TokenBucket,
    Value,
};

pub(crate) const SECOND: u64 = 1_000_000_000;
pub(crate) const MILLISECOND: u64 = 1_000_000;

/// Parameters of an algorithm, small enough to be searched.
#[derive(Clone, Debug)]
pub(crate) enum Quota {
    /// Capacity, and a rate of tokens in so many nanoseconds.
    Bucket {
        capacity: u32,
        tokens: u64,
        period_ns: u64,
    },
    Log {
        max_requests: u32,
        window_ns: u64,
    },
    Fixed {
        max_requests: u32,
        window_ns: u64,
    },
    Counter {
        max_requests: u32,
        window_ns: u64,
    },
}

impl Quota {
    pub(crate) fn limit(&self) -> u32 {
        match self {
            Self::Bucket { capacity, .. } => *capacity,
            Self::Log { max_requests, .. }
            | Self::Fixed { max_requests, .. }
            | Self::Counter { max_requests, .. } => *max_requests,
        }
    }

    /// The library's algorithm of this quota.
    pub(crate) fn algorithm(&self) -> AnyAlgorithm {
        match self {
            Self::Bucket { capacity, tokens, period_ns } => {
                let refill = Value::Text(format!("{tokens}/{period_ns}ns"));
                let capacity = Value::Number(capacity.to_string());
                let parameters =
                    Parameters::new().with("capacity", capacity).with("refill", refill);
                AnyAlgorithm::new(TokenBucket::from_parameters(&parameters).unwrap())
            }
            Self::Log { max_requests, window_ns } => {
                let window = Duration::from_nanos(*window_ns);
                AnyAlgorithm::new(SlidingWindowLog::new(*max_requests, window).unwrap())
            }
            Self::Fixed { max_requests, window_ns } => {
                let window = Duration::from_nanos(*window_ns);
                AnyAlgorithm::new(FixedWindow::new(*max_requests, window).unwrap())
            }
            Self::Counter { max_requests, window_ns } => {
                let window = Duration::from_nanos(*window_ns);
                AnyAlgorithm::new(SlidingWindowCounter::new(*max_requests, window).unwrap())
            }
        }
    }

    /// The most that may be admitted in any `(t - length, t]`, by the algorithm's promise.
    pub(crate) fn most_in(&self, length_ns: u64) -> BigRational {
        let whole = |number: u64| BigRational::from_integer(number.into());
        let twice_less = |max: u32, less: u64| (2 * u64::from(max)).saturating_sub(less);
        match self {
            Self::Bucket { capacity, tokens, period_ns } => {
                whole(u64::from(*capacity)) + whole(length_ns) * ratio(*tokens, *period_ns)
            }
            Self::Log { max_requests, .. } => whole(u64::from(*max_requests)),
            Self::Fixed { max_requests, .. } => whole(twice_less(*max_requests, 1)),
            Self::Counter { max_requests, .. } => {
                whole(twice_less(*max_requests, 2).max(u64::from(*max_requests)))
            }
        }
    }

    /// The first interval in which more was admitted than promised, in words; times in nanoseconds, with costs.
    pub(crate) fn first_breach(&self, admitted: &[(u64, u64)]) -> Option<String> {
        for (index, (from, _)) in admitted.iter().enumerate() {
            let mut sum = 0;
            for (to, cost) in &admitted[index..] {
                sum += cost;
                let within = self.window_ns().is_none_or(|window_ns| to - from < window_ns);
                if within && ratio(sum, 1) > self.most_in(to - from) {
                    return Some(format!("{sum} admitted from {from} to {to} ns"));
                }
            }
        }
        None
    }

    pub(crate) fn window_ns(&self) -> Option<u64> {
        match self {
            Self::Bucket { .. } => None,
            Self::Log { window_ns, .. }
            | Self::Fixed { window_ns, .. }
            | Self::Counter { window_ns, .. } => Some(*window_ns),
        }
    }
}

pub(crate) fn ratio(numerator: u64, denominator: u64) -> BigRational {
    BigRational::new(numerator.into(), denominator.into())
}
