//! One key of a line while its line is locked, so that other limits judge meanwhile.
//!
//! The section's mutex is held too: a key that is not there comes in only if the others agree. Hits on other lines go
//! on.

use std::sync::Arc;

use super::Lines;
use super::line::{EMPTY, Locked};
use super::section::{Place, Section};
use crate::algorithm::Algorithm;
use crate::clock::Time;
use crate::decision::{Decision, RateLimitResult, Reason};
use crate::store::Store;
use crate::store::held::{Charge, Held};
use crate::store::sync::MutexGuard;

/// A key, the section that holds it or would, and its line's lock where it is there.
struct HeldLine<'a, A: Algorithm> {
    store: &'a Arc<Store<A>>,
    lines: &'a Lines<A>,
    section: MutexGuard<'a, Section<A>>,
    locked: Option<(Locked<'a>, Place)>,
    hash: u64,
    now: Time,
    cost: u64,
    said: RateLimitResult,
}

impl<A: Algorithm> Lines<A> {
    /// Hands a key on while its line is locked, or says to which store its section has moved.
    pub(crate) fn hold(
        &self,
        store: &Arc<Store<A>>,
        (hash, now, cost): (u64, Time, u64),
        then: &mut dyn FnMut(&mut dyn Held),
    ) -> Option<Arc<Store<A>>> {
        let hash = super::not_empty(hash);
        let number = self.rules.layout.stripe(hash);
        let mut section = match self.enter(number) {
            Ok(section) => section,
            Err(next) => return Some(next),
        };
        let now = self.shared.mark.advance(now);
        self.bear_home(&mut section, number, hash);
        let locked = self.place_of(number, hash);
        let locked = locked.map(|place| (self.line(number, place).lock(), place));
        let said = RateLimitResult::unlimited();
        then(&mut HeldLine { store, lines: self, section, locked, hash, now, cost, said });
        None
    }

    /// Gives a charge back to a key that is held; says whether anything was, or where the section has moved.
    pub(crate) fn refund(&self, charge: &Charge, now: Time) -> Result<bool, Arc<Store<A>>> {
        // The store that charged it may have been another, to which no hash is an empty slot's.
        let hash = super::not_empty(charge.hash);
        let number = self.rules.layout.stripe(hash);
        let mut section = self.enter(number)?;
        let now = self.shared.mark.advance(now);
        self.bear_home(&mut section, number, hash);
        let refunded = self.place_of(number, hash).is_some_and(|place| {
            let mut locked = self.line(number, place).lock();
            let before = locked.words(place.slot);
            let mut state = Self::unpack(before);
            let algorithm = &self.rules.algorithm;
            let refunded = algorithm.refund(&mut state, now, charge.cost, charge.trace);
            locked.set_words(place.slot, before, Self::pack(&state));
            refunded
        });
        drop(section);
        Ok(refunded)
    }
}

impl<A: Algorithm> HeldLine<'_, A> {
    /// The key's state, or the one it would come in with.
    fn state(&self) -> A::State {
        match &self.locked {
            Some((locked, place)) => Lines::<A>::unpack(locked.words(place.slot)),
            None => self.section.cells.entering(&self.lines.rules, self.hash, self.now),
        }
    }

    /// What the call would be answered at this cost, with the figures after its charge.
    fn judged(&self, cost: u64) -> Decision {
        let algorithm = &self.lines.rules.algorithm;
        let state = self.state();
        let untouched = |reason| algorithm.decide(&state, self.now, 0).denied(reason);
        let Some(within) = self.lines.rules.within_limit(cost) else {
            return untouched(Reason::CostExceedsLimit);
        };
        let decision = algorithm.decide(&state, self.now, within);
        let comes_in = self.locked.is_none() && decision.allowed() && cost > 0;
        if comes_in && self.lines.turns_away(&self.section, self.hash) {
            return untouched(Reason::TableFull);
        }
        decision
    }

    fn say(&mut self, cost: u64) {
        let limit = self.lines.rules.algorithm.limit();
        self.said = RateLimitResult::new(self.judged(cost), limit);
    }
}

impl<A: Algorithm> Held for HeldLine<'_, A> {
    fn judge(&mut self) -> bool {
        self.say(self.cost);
        let allowed = self.said.allowed();
        if !allowed {
            self.lines.shared.tally.count(false);
        }
        allowed
    }

    fn decide(&mut self) -> &RateLimitResult {
        if self.judge() {
            self.charge();
        }
        &self.said
    }

    fn restate(&mut self) {
        self.say(0);
    }

    fn said(&self) -> &RateLimitResult {
        &self.said
    }

    fn charge(&mut self) -> &RateLimitResult {
        self.lines.shared.tally.count(true);
        let mut state = self.state();
        if let Some(cost) = self.lines.rules.within_limit(self.cost).filter(|cost| *cost > 0) {
            if let Some((locked, place)) = &mut self.locked {
                self.lines.rules.algorithm.charge(&mut state, self.now, cost);
                let before = locked.words(place.slot);
                locked.set_words(place.slot, before, Lines::<A>::pack(&state));
            } else {
                self.lines.take_in(&mut self.section, (self.hash, self.now, cost), state);
            }
        }
        &self.said
    }

    fn receipt(&self) -> Option<Charge> {
        let cost = u32::try_from(self.cost).ok().filter(|cost| *cost > 0)?;
        let number = self.lines.rules.layout.stripe(self.hash);
        let words = match &self.locked {
            Some((locked, place)) => locked.words(place.slot),
            // It came in a moment ago, unless it went straight to its overflow cell.
            None => self.lines.slot(number, self.lines.place_of(number, self.hash)?).1,
        };
        let trace = self.lines.rules.algorithm.trace(&Lines::<A>::unpack(words));
        let store = Arc::<Store<A>>::clone(self.store);
        Some(Charge { store, hash: self.hash, cost, trace })
    }

    fn forget(&mut self) {
        let number = self.lines.rules.layout.stripe(self.hash);
        let (lines, hash) = (self.lines, self.hash);
        let here = self.locked.take().or_else(|| {
            let place = lines.place_of(number, hash)?;
            Some((lines.line(number, place).lock(), place))
        });
        if let Some((locked, place)) = here {
            locked.set_hash(place.slot, EMPTY);
            self.section.held = self.section.held.saturating_sub(1);
        }
    }
}
