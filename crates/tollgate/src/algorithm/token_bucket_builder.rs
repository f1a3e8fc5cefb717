//! Token buckets said in the words of a rate and a burst.

use super::IntoAlgorithm;
use super::token_bucket::{RATE_FIELD, TokenBucket};
use crate::parameters::{Fault, Faults};
use crate::rate::{Decimal, Rate};

/// A [`TokenBucket`] in the making: its numbers are checked when it is built, or when the
/// [`Config`](crate::Config) around it is.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct TokenBucketBuilder {
    tokens: u32,
    seconds: u64,
    capacity: u32,
}

impl TokenBucketBuilder {
    pub(super) fn new(tokens: u32, seconds: u64) -> Self {
        Self { tokens, seconds, capacity: tokens }
    }

    /// The most tokens the bucket holds: how many calls may come at once.
    pub fn burst(mut self, capacity: u32) -> Self {
        self.capacity = capacity;
        self
    }

    /// Checks the numbers.
    ///
    /// # Errors
    /// When the rate or the capacity is 0, or the rate is above 10^9 a second.
    pub fn build(self) -> Result<TokenBucket, Faults> {
        let period_ns = self.seconds.saturating_mul(1_000_000_000);
        let rate =
            Rate::per(Decimal::whole(u64::from(self.tokens)), period_ns).map_err(|error| {
                Fault::of_field(
                    RATE_FIELD,
                    format!("the rate is {} in {} s; expected {error}", self.tokens, self.seconds),
                )
            })?;
        Ok(TokenBucket::new(self.capacity, rate)?)
    }
}

impl IntoAlgorithm for TokenBucketBuilder {
    type Algorithm = TokenBucket;

    fn into_algorithm(self) -> Result<TokenBucket, Faults> {
        self.build()
    }
}
