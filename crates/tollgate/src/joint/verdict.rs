//! What the limits of one decision come to together.

use super::JointMember;
use crate::concurrency::Places;
use crate::decision::{RateLimitResult, Reason};
use crate::limit::Mode;
use crate::limit_name::LimitName;
use crate::limiter::LimitResult;
use crate::store::{Charge, Held};

/// Gathers what each limit says: first whether it allows, and once all have said so, its figures.
#[derive(Debug, Default)]
pub(super) struct Verdict<'a> {
    /// Of those that deny, the one with the longest wait.
    denial: Option<Spoken<Urgency>>,
    /// The one of which least remains.
    least: Option<Spoken<u64>>,
    /// Where somebody asked for more than the answer.
    ledger: Option<&'a mut Ledger>,
    /// Where the caller says when the call ends.
    places: Option<&'a mut Places>,
}

/// All that limits say and are charged.
#[derive(Debug, Default)]
pub(super) struct Ledger {
    /// What each says, with its place in the config.
    each: Vec<(usize, LimitResult)>,
    charges: Vec<Charge>,
}

/// What a limit says, and what makes it the one to speak for all.
#[derive(Clone, Copy, Debug)]
struct Spoken<T> {
    weight: T,
    place: usize,
    result: RateLimitResult,
}

/// How long a denial holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Urgency {
    /// So many milliseconds.
    Wait(u64),
    /// Nobody knows.
    Open,
    /// For good.
    Never,
}

impl Urgency {
    fn of(result: &RateLimitResult) -> Self {
        match result.retry_after_ms() {
            Some(wait_ms) => Self::Wait(wait_ms),
            None if result.reason() == Some(Reason::CostExceedsLimit) => Self::Never,
            None => Self::Open,
        }
    }
}

impl Ledger {
    /// What each limit says, in the order of the config.
    pub(super) fn into_each(self) -> Vec<LimitResult> {
        let mut each = self.each;
        each.sort_by_key(|(place, _)| *place);
        each.into_iter().map(|(_, result)| result).collect()
    }

    /// What was charged.
    pub(super) fn into_charges(self) -> Vec<Charge> {
        self.charges
    }
}

impl<'a> Verdict<'a> {
    /// One that keeps all that limits say and are charged.
    pub(super) fn kept_in(ledger: &'a mut Ledger) -> Self {
        Self { ledger: Some(ledger), ..Self::default() }
    }

    /// One that gathers the places of a call that says when it ends.
    pub(super) fn with_places(places: &'a mut Places) -> Self {
        Self { places: Some(places), ..Self::default() }
    }

    pub(super) const fn gathers_places(&self) -> bool {
        self.places.is_some()
    }

    /// Forgets what was said.
    pub(super) fn start_again(&mut self) {
        (self.denial, self.least) = (None, None);
        if let Some(ledger) = &mut self.ledger {
            ledger.each.clear();
        }
    }

    /// Whether the call is denied, and might be allowed at another time.
    pub(super) fn denies_for_now(&self) -> bool {
        self.denial.as_ref().is_some_and(|denial| denial.weight != Urgency::Never)
    }

    /// Hears that the client is blocked, whatever its limits say.
    pub(super) fn block(&mut self, result: &RateLimitResult, name: LimitName) {
        let (weight, place) = (Urgency::of(result), usize::MAX);
        let result = result.said_by(name);
        if self.denial.as_ref().is_none_or(|said| weight > said.weight) {
            self.denial = Some(Spoken { weight, place, result });
        }
        self.least = Some(Spoken { weight: 0, place, result });
    }

    /// Keeps what a limit was charged, for a receipt or a permit.
    #[inline]
    pub(super) fn keep(&mut self, held: &mut dyn Held) {
        if let Some(ledger) = &mut self.ledger {
            ledger.charges.extend(held.receipt());
        }
        if let Some(places) = &mut self.places
            && let Some(place) = held.place()
        {
            places.add(place);
        }
    }

    /// Whether all limits that were heard allow the call.
    pub(super) const fn allows(&self) -> bool {
        self.denial.is_none()
    }

    /// Hears that a limit denies the call.
    #[cold]
    pub(super) fn hear_denial(&mut self, member: &JointMember, result: &RateLimitResult) {
        if member.mode == Mode::Shadow {
            return;
        }
        let (weight, place) = (Urgency::of(result), member.place);
        let outranked = |said: &Spoken<Urgency>| {
            weight > said.weight || (weight == said.weight && place < said.place)
        };
        if self.denial.as_ref().is_none_or(outranked) {
            let result = result.said_by(member.name);
            self.denial = Some(Spoken { weight, place, result });
        }
    }

    /// Takes a limit's figures, as the decision leaves them.
    #[inline]
    pub(super) fn note(&mut self, member: &JointMember, figures: &RateLimitResult) {
        if let Some(ledger) = &mut self.ledger {
            let (scope, mode) = (member.scope, member.mode);
            let result = member.in_calls(*figures).said_by(member.name);
            ledger.each.push((member.place, LimitResult { scope, mode, result }));
        }
        if member.mode == Mode::Shadow {
            return;
        }
        let (weight, place) = (member.calls(figures.remaining()), member.place);
        let outranked = |said: &Spoken<u64>| {
            weight < said.weight || (weight == said.weight && place < said.place)
        };
        if self.least.as_ref().is_none_or(outranked) {
            let result = member.in_calls(*figures).said_by(member.name);
            self.least = Some(Spoken { weight, place, result });
        }
    }

    /// The answer for all of them.
    pub(super) fn into_result(self) -> RateLimitResult {
        match (self.denial, self.least) {
            (Some(denial), Some(least)) => denial.result.with_remaining(least.weight),
            (Some(denial), None) => denial.result,
            (None, Some(least)) => least.result,
            (None, None) => RateLimitResult::unlimited(),
        }
    }
}
