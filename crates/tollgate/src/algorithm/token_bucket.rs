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
//! whole nanoseconds and a fraction with the rate's own denominator, so nothing is ever rounded: at 3 a second a
//! drained bucket of 3 holds 3 again after 1,000 ms, not 999 and not 1,001.
//!
//! **Promise**: in any interval of length T at most `capacity + rate × T`, by the limiter's clock. Worst case: a
//! whole bucket at once, and again after `capacity / rate`.
//!
//! **Not for** a hard ceiling in every window of a length: a client can take nearly twice its capacity in the
//! time a bucket takes to fill. Use the sliding window log there.
//!
//! **Source**: J. Turner, "New directions in communications", IEEE Communications Magazine 24 (10), 1986 (the
//! leaky bucket); ITU-T I.371, annex A (the generic cell rate algorithm).

use std::num::NonZeroU64;
use std::time::Duration;

use super::packed_time::PackedTime;
use super::span::Span;
use super::token_bucket_builder::TokenBucketBuilder;
use super::{Algorithm, CarriedOver, Packing};
use crate::clock::{Time, millis_rounded_up, nanos_of};
use crate::decision::{Decision, Figures};
use crate::parameters::{Fault, Faults, Parameters, whole_range};
use crate::rate::{LONGEST_REFILL_NS, Rate};
use crate::wide::{mul_div_rounded_up, product};

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
    full: Span,
}

/// What a [`TokenBucket`] keeps for a key: the moment it will be whole, 12 bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenBucketState {
    whole_at: PackedTime,
    fraction: u32,
}

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
        let refill_parts = rate.parts_per_token().get().saturating_mul(u128::from(capacity));
        let longest = LONGEST_REFILL_NS.saturating_mul(u128::from(rate.denominator().get()));
        if refill_parts > longest {
            let message = format!(
                "`{CAPACITY_FIELD}` is {capacity}; at this rate it takes more than 100 years to \
                 refill; expected less capacity or a higher rate"
            );
            return Err(Fault::of_field(CAPACITY_FIELD, message));
        }
        Ok(Self { capacity, rate, full: Span::of_tokens(rate, capacity) })
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

    /// When the bucket would be whole if `cost` more were taken at `start`, when it is.
    #[inline]
    fn whole_after(&self, start: Span, cost: u32) -> Span {
        match cost {
            0 => start,
            // The common case pays no multiplication.
            1 => start.plus(Span::of_one_token(self.rate), self.rate),
            _ => start.plus(Span::of_tokens(self.rate, cost), self.rate),
        }
    }
}

impl Algorithm for TokenBucket {
    type State = TokenBucketState;

    const PACKING: Option<Packing<TokenBucketState>> = Some(Packing {
        pack: |state| (state.whole_at.get().as_nanos(), state.fraction),
        unpack: |nanos, fraction| TokenBucketState::of(Span { nanos, fraction }),
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
        *state = TokenBucketState::of(self.whole_after(state.span().no_sooner_than(now), cost));
    }

    /// The time that decides is the state that follows: worked out once.
    #[inline]
    fn decide_and_charge(&self, state: &mut TokenBucketState, now: Time, cost: u32) -> Decision {
        let start = state.span().no_sooner_than(now);
        let after = self.whole_after(start, cost);
        let allowed = cost == 0 || after <= Span::at(now).plus(self.full, self.rate);
        if allowed && cost > 0 {
            *state = TokenBucketState::of(after);
        }
        let owed = if allowed { after } else { start }.since(now);
        Decision::new(allowed, Figures::Bucket(BucketFigures::new(self.rate, owed, cost)))
    }

    /// The time an empty bucket takes to be whole, rounded up to a nanosecond.
    fn quota_window(&self) -> Option<Duration> {
        let part = u64::from(self.full.fraction > 0);
        Some(Duration::from_nanos(self.full.nanos.saturating_add(part)))
    }

    fn most_in(&self, time: Duration) -> Option<u64> {
        let parts = product(nanos_of(time), u64::from(self.rate.denominator().get()));
        let refilled = parts / self.rate.parts_per_token();
        Some(u64::try_from(refilled).unwrap_or(u64::MAX).saturating_add(self.capacity.into()))
    }

    /// When the bucket would be whole if nothing more were taken.
    fn trace(&self, state: &TokenBucketState) -> [u64; 2] {
        let Span { nanos, fraction } = state.span();
        [nanos, u64::from(fraction)]
    }

    /// The tokens come back, as many as fit. That they were away for a time stays: what came back meanwhile counts,
    /// also where the bucket would have been whole without the charge.
    fn refund(
        &self,
        state: &mut TokenBucketState,
        now: Time,
        cost: u32,
        [nanos, fraction]: [u64; 2],
    ) -> bool {
        let after = Span { nanos, fraction: u32::try_from(fraction).unwrap_or(u32::MAX) };
        let (before, now) = (state.span(), Span::at(now));
        if after <= now || before <= now {
            return false;
        }
        let parts = |span: Span| span.parts_after(Time::ZERO, self.rate);
        let taken = parts(Span::of_tokens(self.rate, cost));
        let refunded = parts(before).saturating_sub(taken).max(parts(now));
        *state = TokenBucketState::of(Span::at(Time::ZERO).plus_parts(refunded, self.rate));
        true
    }

    fn debt(&self, state: &TokenBucketState, now: Time) -> u64 {
        // Every key's tokens take equally long, so the time until it is whole orders keys by tokens used.
        let whole_at = state.span();
        let owed_ns = whole_at.nanos.saturating_sub(now.as_nanos());
        owed_ns.saturating_add(u64::from(whole_at > Span::at(now) && whole_at.fraction > 0))
    }

    fn join(&self, state: &mut TokenBucketState, other: &TokenBucketState, _now: Time) {
        *state = TokenBucketState::of(state.span().max(other.span()));
    }

    fn carry_over(&self, state: &mut TokenBucketState, now: Time, from: &Self) -> CarriedOver {
        let owed_parts = state.span().parts_after(now, from.rate);
        // The same tokens under the new rate: owed × (new time a token) / (old time a token), rounded up to the
        // new unit, both denominators being inside the parts a token takes.
        let (new, old) = (self.rate.parts_per_token(), from.rate.parts_per_token());
        let owed_parts = mul_div_rounded_up(owed_parts, new.get(), old.get());
        let full_parts = self.full.parts_after(Time::ZERO, self.rate);
        let carried = owed_parts.filter(|owed| *owed <= full_parts);
        let owed = Span::at(now).plus_parts(carried.unwrap_or(full_parts), self.rate);
        *state = TokenBucketState::of(owed);
        if carried.is_some() { CarriedOver::Whole } else { CarriedOver::Forgiven }
    }
}

impl TokenBucketState {
    #[inline]
    const fn of(span: Span) -> Self {
        let whole_at = PackedTime::new(Time::from_nanos(span.nanos));
        Self { whole_at, fraction: span.fraction }
    }

    #[inline]
    fn span(&self) -> Span {
        Span { nanos: self.whole_at.get().as_nanos(), fraction: self.fraction }
    }
}

/// What a bucket's answer is worked out from, when somebody asks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BucketFigures {
    rate: Rate,
    /// The time until the bucket is whole.
    owed_ns: u64,
    owed_fraction: u32,
    cost: u32,
}

impl BucketFigures {
    #[inline]
    const fn new(rate: Rate, owed: Span, cost: u32) -> Self {
        Self { rate, owed_ns: owed.nanos, owed_fraction: owed.fraction, cost }
    }

    #[inline]
    pub(crate) fn remaining(&self, capacity: u32) -> u64 {
        self.remaining_in_whole_nanos(capacity).unwrap_or_else(|| self.remaining_in_parts(capacity))
    }

    /// Whole tokens, rounded down; at most the capacity.
    fn remaining_in_parts(&self, capacity: u32) -> u64 {
        let spare = self.parts_of_tokens(capacity).saturating_sub(self.owed_parts());
        u64::try_from(spare / self.rate.parts_per_token()).unwrap_or(u64::MAX)
    }

    /// The same without wide arithmetic, where a token takes whole nanoseconds.
    #[inline]
    fn remaining_in_whole_nanos(&self, capacity: u32) -> Option<u64> {
        if self.rate.denominator().get() != 1 {
            return None;
        }
        let token_ns = NonZeroU64::new(self.rate.whole_ns())?;
        let full_ns = u64::from(capacity).saturating_mul(token_ns.get());
        Some(full_ns.saturating_sub(self.owed_ns) / token_ns)
    }

    pub(crate) fn retry_after_ms(&self, capacity: u32) -> u64 {
        let needed = self.owed_parts().saturating_add(self.parts_of_tokens(self.cost));
        self.millis(needed.saturating_sub(self.parts_of_tokens(capacity)))
    }

    pub(crate) fn reset_after_ms(&self) -> u64 {
        self.millis(self.owed_parts())
    }

    fn owed_parts(&self) -> u128 {
        let owed = Span { nanos: self.owed_ns, fraction: self.owed_fraction };
        owed.parts_after(Time::ZERO, self.rate)
    }

    fn parts_of_tokens(&self, tokens: u32) -> u128 {
        Span::of_tokens(self.rate, tokens).parts_after(Time::ZERO, self.rate)
    }

    fn millis(&self, parts: u128) -> u64 {
        millis_rounded_up(parts.div_ceil(u128::from(self.rate.denominator().get())))
    }
}
