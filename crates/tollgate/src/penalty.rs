//! A block for those who were denied so many times in a row.
//!
//! It is kept like a limit's state, by an algorithm of its own: a denial is a charge of 1, and a call that passes makes
//! the key whole. A row is broken, too, by as long a time without a denial as the block would take.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::algorithm::{Algorithm, CarriedOver, WINDOW_MS};
use crate::clock::{Time, nanos_of};
use crate::decision::{Decision, Figures};
use crate::parameters::{Fault, Faults, whole_range};

/// After `denials` in a row, nobody passes for `block_ns`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Penalty {
    denials: u32,
    block_ns: u64,
}

/// Denials in a row, and until when they count.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PenaltyState {
    denials: u32,
    until: Time,
}

/// How many denials in a row there may be.
pub(crate) const DENIALS: RangeInclusive<u64> = 1..=1_000_000;

impl Penalty {
    /// # Errors
    /// When either number is out of range.
    pub(crate) fn new(denials: u64, block_for: Duration) -> Result<Self, Faults> {
        let mut faults = Vec::new();
        if !DENIALS.contains(&denials) {
            let expected = whole_range(&DENIALS);
            let message = format!("`denials` is {denials}; expected {expected}");
            faults.push(Fault::of_field("denials", message));
        }
        if !u64::try_from(block_for.as_millis()).is_ok_and(|millis| WINDOW_MS.contains(&millis)) {
            let message = format!("`blockFor` is {block_for:?}; expected 1 ms to 366 days");
            faults.push(Fault::of_field("blockFor", message));
        }
        Faults::check(faults)?;
        let denials = u32::try_from(denials).unwrap_or(u32::MAX);
        Ok(Self { denials, block_ns: nanos_of(block_for) })
    }

    /// After how many denials, and for how long.
    pub(crate) fn terms(self) -> (u64, Duration) {
        (self.denials.into(), Duration::from_nanos(self.block_ns))
    }

    fn counted(state: &PenaltyState, now: Time) -> u32 {
        if now < state.until { state.denials } else { 0 }
    }
}

impl Algorithm for Penalty {
    type State = PenaltyState;

    fn limit(&self) -> u32 {
        self.denials
    }

    fn decide(&self, state: &PenaltyState, now: Time, _cost: u32) -> Decision {
        let until_end = state.until.nanos_since(now);
        let is_blocked = Self::counted(state, now) >= self.denials;
        let (remaining, wait) = if is_blocked { (0, until_end) } else { (u32::MAX, 0) };
        Decision::new(!is_blocked, Figures::plain(remaining, wait, until_end))
    }

    fn charge(&self, state: &mut PenaltyState, now: Time, cost: u32) {
        let denials = Self::counted(state, now).saturating_add(cost);
        *state = PenaltyState { denials, until: now.plus_nanos(self.block_ns) };
    }

    fn debt(&self, state: &PenaltyState, now: Time) -> u64 {
        u64::from(Self::counted(state, now))
    }

    fn join(&self, state: &mut PenaltyState, other: &PenaltyState, now: Time) {
        let denials = Self::counted(state, now).max(Self::counted(other, now));
        *state = PenaltyState { denials, until: state.until.max(other.until) };
    }

    fn carry_over(&self, _state: &mut PenaltyState, _now: Time, _from: &Self) -> CarriedOver {
        CarriedOver::Whole
    }
}
