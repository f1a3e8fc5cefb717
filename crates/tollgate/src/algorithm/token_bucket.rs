//! # Token bucket
//!
//! A bucket holds up to `capacity` tokens and a call takes as many as it costs. Tokens drip back at a steady
//! rate, never above the capacity, so a client may burst, and then keeps to the rate.
//!
//! ```text
//! tokens
//!   10 ┤●                                   capacity 10, 1 a second
//!      │ ╲  burst of 10                ╭──────── full again: no more than 10, however long idle
//!    5 ┤  ╲                       ╭────╯
//!      │   ╲            ╭────╮    │
//!    0 ┤    ●───────────╯    ●────╯
//!      └────┬───────────┬────┬──────────────────────► time
//!        denied: come   5 tokens
//!        back in 1 s    taken
//! ```
//!
//! **State**: one time, the moment the bucket will be full again, 12 bytes. A call moves it later by the time
//! its tokens take to drip back; it may proceed when that is no later than now plus the time a whole
//! bucket takes. This is the generic cell rate algorithm, the same bucket seen from its empty side. A time is
//! counted in parts of a nanosecond, as many as the rate's own denominator has, so nothing is ever rounded: at 3 a
//! second a drained bucket of 3 holds 3 again after 1,000 ms, not 999 and not 1,001.
//!
//! **Promise**: in any interval of length T at most `capacity + rate × T`, by the limiter's clock. Worst case: a
//! whole bucket at once, and again after `capacity / rate`.
//!
//! **Not for** a hard ceiling in every window of a length: a client can take nearly twice its capacity in the
//! time a bucket takes to fill. Use the sliding window log there.
//!
//! **Source**: J. Turner, "New directions in communications", IEEE Communications Magazine 24 (10), 1986 (the
//! leaky bucket); ITU-T I.371, annex A (the generic cell rate algorithm).

use std::num::{NonZeroU32, NonZeroU128};
use std::time::Duration;

use super::parts::Parts;
use super::token_bucket_builder::TokenBucketBuilder;
use super::{Algorithm, CarriedOver, Packing};
use crate::clock::{Time, millis_rounded_up, nanos_of};
use crate::decision::{Decision, Figures};
use crate::parameters::{Fault, Faults, Parameters, whole_range};
use crate::rate::{LONGEST_REFILL_NS, Rate};
use crate::wide::{mul_div_rounded_up, product, quotient};

const CAPACITY_FIELD: &str = "capacity";
pub(super) const RATE_FIELD: &str = "refillRatePerSecond";
const FRIENDLY_RATE_FIELD: &str = "refill";

/// A bucket of tokens that refills steadily: bursts up to a capacity, and a rate in the long run.
///
/// In a config file: `TokenBucket` with `capacity` (1 to 4,294,967,295) and `refillRatePerSecond` (above 0, at
/// most 10^9, a number or a string taken as written) or `refill` (`100/min`).
///
/// ```
/// use tollgate::{Limiter, TokenBucket, TokenBucketLimiter};
///
/// let limiter = TokenBucketLimiter::new(TokenBucket::per_second(10).burst(20).build()?);
/// assert_eq!(limiter.allow("alice").remaining(), 19);
/// # Ok::<(), tollgate::Faults>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TokenBucket {
    capacity: u32,
    rate: Rate,
    /// How long one token takes, in parts.
    token: u128,
    /// How long a whole bucket takes, in parts.
    full: u128,
}

/// What a [`TokenBucket`] keeps for a key: the moment it will be whole, in parts of a nanosecond, 12 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenBucketState(Parts);

impl TokenBucket {
    /// The capacities that are allowed.
    pub const CAPACITY: std::ops::RangeInclusive<u64> = 1..=4_294_967_295;

    /// So many tokens a second; unless [`burst`](TokenBucketBuilder::burst) says otherwise, the bucket holds one
    /// second's worth.
    pub fn per_second(tokens: u32) -> TokenBucketBuilder {
        TokenBucketBuilder::new(tokens, 1)
    }

    /// So many tokens a minute, and as many at once unless [`burst`](TokenBucketBuilder::burst) says otherwise.
    pub fn per_minute(tokens: u32) -> TokenBucketBuilder {
        TokenBucketBuilder::new(tokens, 60)
    }

    /// So many tokens an hour, and as many at once unless [`burst`](TokenBucketBuilder::burst) says otherwise.
    pub fn per_hour(tokens: u32) -> TokenBucketBuilder {
        TokenBucketBuilder::new(tokens, 3_600)
    }

    /// A bucket of this capacity and rate.
    ///
    /// # Errors
    /// When the capacity is 0, or takes more than 100 years to refill.
    pub fn new(capacity: u32, rate: Rate) -> Result<Self, Fault> {
        if capacity == 0 {
            let expected = whole_range(&Self::CAPACITY);
            let message = format!("`{CAPACITY_FIELD}` is 0; expected {expected}");
            return Err(Fault::of_field(CAPACITY_FIELD, message));
        }
        let token = rate.parts_per_token().get();
        let full = token.saturating_mul(u128::from(capacity));
        let longest = LONGEST_REFILL_NS.saturating_mul(u128::from(rate.denominator().get()));
        if full > longest {
            let message = format!(
                "`{CAPACITY_FIELD}` is {capacity}; at this rate it takes more than 100 years to \
                 refill; expected less capacity or a higher rate"
            );
            return Err(Fault::of_field(CAPACITY_FIELD, message));
        }
        Ok(Self { capacity, rate, token, full })
    }

    /// Reads `capacity` and `refillRatePerSecond` or `refill`.
    ///
    /// # Errors
    /// Every field that is missing, unknown or out of range.
    pub fn from_parameters(parameters: &Parameters) -> Result<Self, Faults> {
        let mut reader = parameters.reader();
        let capacity = reader.quota(CAPACITY_FIELD, Self::CAPACITY);
        let rate = reader.rate(RATE_FIELD, FRIENDLY_RATE_FIELD);
        let capacity = capacity.and_then(|capacity| u32::try_from(capacity).ok());
        let bucket = match capacity.zip(rate).map(|(capacity, rate)| Self::new(capacity, rate)) {
            Some(Err(fault)) => {
                reader.add(fault);
                None
            }
            Some(Ok(bucket)) => Some(bucket),
            None => None,
        };
        reader.finish_with(bucket)
    }

    /// The most tokens it holds.
    pub const fn capacity(&self) -> u32 {
        self.capacity
    }

    /// How fast they come back.
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// A time in parts of a nanosecond.
    #[inline]
    fn parts_at(&self, time: Time) -> u128 {
        product(time.as_nanos(), u64::from(self.rate.denominator().get()))
    }

    /// The time until a bucket is whole, in parts.
    fn owed(&self, state: &TokenBucketState, now: Time) -> u128 {
        state.parts().saturating_sub(self.parts_at(now))
    }

    /// How long so many tokens take, in parts: less than 2^94, since the capacity takes 100 years at most.
    #[inline]
    fn parts_of(&self, tokens: u32) -> u128 {
        self.token.wrapping_mul(u128::from(tokens))
    }
}

impl Algorithm for TokenBucket {
    type State = TokenBucketState;

    const PACKING: Option<Packing<TokenBucketState>> = Some(Packing {
        pack: |state| state.0.words(),
        unpack: |low, high| TokenBucketState(Parts::from_words(low, high)),
    });

    fn limit(&self) -> u32 {
        self.capacity
    }

    #[inline]
    fn decide(&self, state: &TokenBucketState, now: Time, cost: u32) -> Decision {
        self.decide_and_charge(&mut { *state }, now, cost)
    }

    #[inline]
    fn charge(&self, state: &mut TokenBucketState, now: Time, cost: u32) {
        let start = state.parts().max(self.parts_at(now));
        *state = TokenBucketState::of(start.wrapping_add(self.parts_of(cost)));
    }

    /// The time that decides is the state that follows: worked out once.
    #[inline]
    fn decide_and_charge(&self, state: &mut TokenBucketState, now: Time, cost: u32) -> Decision {
        let now = self.parts_at(now);
        let start = state.parts().max(now);
        let after = start.wrapping_add(self.parts_of(cost));
        let figures = |whole_at: u128| {
            Figures::Bucket(BucketFigures::new(self, whole_at.wrapping_sub(now), cost))
        };
        if cost > 0 && after <= now.wrapping_add(self.full) {
            *state = TokenBucketState::of(after);
            return Decision::new(true, figures(after));
        }
        Decision::new(cost == 0, figures(start))
    }

    /// The time an empty bucket takes to be whole, rounded up to a nanosecond.
    fn quota_window(&self) -> Option<Duration> {
        let nanos = self.full.div_ceil(u128::from(self.rate.denominator().get()));
        Some(Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
    }

    fn most_in(&self, time: Duration) -> Option<u64> {
        let parts = product(nanos_of(time), u64::from(self.rate.denominator().get()));
        let refilled = parts / self.rate.parts_per_token();
        Some(u64::try_from(refilled).unwrap_or(u64::MAX).saturating_add(self.capacity.into()))
    }

    /// When the bucket would be whole if nothing more were taken.
    fn trace(&self, state: &TokenBucketState) -> [u64; 2] {
        let (low, high) = state.0.words();
        [low, u64::from(high)]
    }

    /// The tokens come back, as many as fit. That they were away for a time stays: what came back meanwhile counts,
    /// also where the bucket would have been whole without the charge.
    fn refund(
        &self,
        state: &mut TokenBucketState,
        now: Time,
        cost: u32,
        [low, high]: [u64; 2],
    ) -> bool {
        let after = u128::from(high) << u64::BITS | u128::from(low);
        let (before, now) = (state.parts(), self.parts_at(now));
        if after <= now || before <= now {
            return false;
        }
        *state = TokenBucketState::of(before.saturating_sub(self.parts_of(cost)).max(now));
        true
    }

    /// Every key's tokens take equally long, so the time until it is whole orders keys by tokens used.
    fn debt(&self, state: &TokenBucketState, now: Time) -> u64 {
        let owed = self.owed(state, now);
        let excess_bits = u64::BITS.saturating_sub(self.full.leading_zeros());
        u64::try_from(owed >> excess_bits).unwrap_or(u64::MAX).max(u64::from(owed > 0))
    }

    fn join(&self, state: &mut TokenBucketState, other: &TokenBucketState, _now: Time) {
        *state = TokenBucketState::of(state.parts().max(other.parts()));
    }

    fn carry_over(&self, state: &mut TokenBucketState, now: Time, from: &Self) -> CarriedOver {
        // The same tokens under the new rate: owed × (new time a token) / (old time a token), rounded up to the
        // new unit, both denominators being inside the parts a token takes.
        let owed = mul_div_rounded_up(from.owed(state, now), self.token, from.token);
        let carried = owed.filter(|owed| *owed <= self.full);
        let owed = carried.unwrap_or(self.full);
        *state = TokenBucketState::of(self.parts_at(now).wrapping_add(owed));
        if carried.is_some() { CarriedOver::Whole } else { CarriedOver::Forgiven }
    }
}

impl TokenBucketState {
    #[inline]
    const fn of(parts: u128) -> Self {
        Self(Parts::new(parts))
    }

    #[inline]
    fn parts(self) -> u128 {
        self.0.get()
    }
}

/// What a bucket's answer is worked out from, when somebody asks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BucketFigures {
    /// The time until the bucket is whole, in parts.
    owed: Parts,
    /// How long one token takes, in parts.
    token: Parts,
    /// The parts a nanosecond is cut into.
    denominator: NonZeroU32,
    cost: u32,
}

impl BucketFigures {
    #[inline]
    const fn new(bucket: &TokenBucket, owed: u128, cost: u32) -> Self {
        let (owed, token) = (Parts::new(owed), Parts::new(bucket.token));
        Self { owed, token, denominator: bucket.rate.denominator(), cost }
    }

    /// Whole tokens, rounded down; at most the capacity.
    #[inline]
    pub(crate) fn remaining(&self, capacity: u32) -> u64 {
        let spare = self.parts_of(capacity).saturating_sub(self.owed.get());
        NonZeroU128::new(self.token.get()).map_or(0, |token| quotient(spare, token))
    }

    pub(crate) fn retry_after_ms(&self, capacity: u32) -> u64 {
        let needed = self.owed.get().saturating_add(self.parts_of(self.cost));
        self.millis(needed.saturating_sub(self.parts_of(capacity)))
    }

    pub(crate) fn reset_after_ms(&self) -> u64 {
        self.millis(self.owed.get())
    }

    fn parts_of(&self, tokens: u32) -> u128 {
        self.token.get().saturating_mul(u128::from(tokens))
    }

    fn millis(&self, parts: u128) -> u64 {
        millis_rounded_up(parts.div_ceil(u128::from(self.denominator.get())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_debt_is_above_0_to_the_last_part_and_rises_with_the_tokens_used() {
        let rates = ["1", "3", "1e9", "0.0000810000037", "3.2e-10"];
        for (text, capacity) in rates.into_iter().zip([10, 10, u32::MAX, 100_000, 1]) {
            let bucket = TokenBucket::new(capacity, Rate::per_second(text).unwrap()).unwrap();
            let now = Time::from_millis(5);
            let debts: Vec<_> = [0, 1, capacity.div_ceil(2), capacity]
                .map(|cost| {
                    let mut state = TokenBucketState::default();
                    bucket.charge(&mut state, now, cost);
                    bucket.debt(&state, now)
                })
                .into();
            assert!(debts[0] == 0 && debts[1] > 0 && debts.is_sorted(), "{text}");

            let last_part = TokenBucketState::of(bucket.parts_at(now) + 1);
            assert_eq!((bucket.debt(&last_part, now), bucket.debt(&last_part, now + NS)), (1, 0));
        }
    }

    const NS: Duration = Duration::from_nanos(1);
}
