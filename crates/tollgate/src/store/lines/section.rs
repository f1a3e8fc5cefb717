//! What happens under a section's mutex: keys that come, leave and move, homes that are born.

use std::sync::Arc;

use super::line::{EMPTY, Line, SLOTS, Words};
use super::{Lines, Search};
use crate::algorithm::Algorithm;
use crate::clock::Time;
use crate::decision::{Decision, RateLimitResult, Reason};
use crate::store::cells::Cells;
use crate::store::counts::Counts;
use crate::store::sync::MutexGuard;
use crate::store::{ResetReport, Store};

/// What is kept of a section beside its lines.
#[derive(Debug)]
pub(super) struct Section<A: Algorithm> {
    pub(super) cells: Cells<A::State>,
    pub(super) held: usize,
    pub(super) counts: Counts,
    /// Set when a reload has moved the section's keys: to this store.
    pub(super) moved: Option<Arc<Store<A>>>,
}

impl<A: Algorithm> Default for Section<A> {
    fn default() -> Self {
        Self { cells: Cells::default(), held: 0, counts: Counts::default(), moved: None }
    }
}

impl<A: Algorithm> Section<A> {
    /// What was counted here, or where the section has moved.
    pub(super) fn counts(&self) -> Result<Counts, Arc<Store<A>>> {
        match &self.moved {
            Some(next) => Err(Arc::clone(next)),
            None => {
                Ok(Counts { keys: u64::try_from(self.held).unwrap_or(u64::MAX), ..self.counts })
            }
        }
    }
}

/// A slot, by its line's number in the section.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) line: u64,
    pub(super) slot: usize,
}

impl<A: Algorithm> Lines<A> {
    /// Takes a section's mutex, or says to which store the section has moved.
    pub(super) fn enter(&self, number: usize) -> Result<MutexGuard<'_, Section<A>>, Arc<Store<A>>> {
        let section = self.sections[number].lock();
        match &section.moved {
            Some(next) => Err(Arc::clone(next)),
            None => Ok(section),
        }
    }

    /// Judges a call whose key was not found: it is elsewhere by now, or new.
    #[cold]
    #[inline(never)]
    pub(super) fn decide_missed(&self, hash: u64, now: Time, cost: u32) -> RateLimitResult {
        let number = self.rules.layout.stripe(hash);
        let mut section = match self.enter(number) {
            Ok(section) => section,
            Err(next) => return next.decide_anywhere(hash, now, u64::from(cost)),
        };
        // Read again: the key may be absent because it was whole at a later time than this caller has seen.
        let now = self.shared.mark.advance(now);
        self.bear_home(&mut section, number, hash);
        // Nobody moves or removes a key without the mutex, so this search is final.
        let decision = match self.decide_present(hash, now, cost) {
            Search::Found(decision) => decision,
            Search::Missed => self.decide_absent(&mut section, (hash, now, cost)),
        };
        drop(section);
        self.shared.tally.count(decision.allowed());
        RateLimitResult::new(decision, self.rules.algorithm.limit())
    }

    fn decide_absent(&self, section: &mut Section<A>, call: (u64, Time, u32)) -> Decision {
        let (hash, now, cost) = call;
        let algorithm = &self.rules.algorithm;
        let state = section.cells.entering(&self.rules, hash, now);
        let decision = algorithm.decide(&state, now, cost);
        if !decision.allowed() || cost == 0 {
            return decision;
        }
        if self.turns_away(section, hash) {
            return algorithm.decide(&state, now, 0).denied(Reason::TableFull);
        }
        self.take_in(section, call, state);
        decision
    }

    /// Takes in a key that was not held, with the charge that brings it.
    pub(super) fn take_in(
        &self,
        section: &mut Section<A>,
        (hash, now, cost): (u64, Time, u32),
        mut state: A::State,
    ) {
        let algorithm = &self.rules.algorithm;
        let inherits = u64::from(algorithm.debt(&state, now) > 0);
        section.counts.inherited_debts = section.counts.inherited_debts.saturating_add(inherits);
        algorithm.charge(&mut state, now, cost);
        self.admit(section, hash, &state);
    }

    /// Judges a call without charging it, whose key was not found.
    pub(super) fn look_missed(
        &self,
        hash: u64,
        now: Time,
        cost: u32,
    ) -> Result<Decision, Arc<Store<A>>> {
        let number = self.rules.layout.stripe(hash);
        let mut section = self.enter(number)?;
        let now = self.shared.mark.judge(now);
        self.bear_home(&mut section, number, hash);
        let (state, held) = match self.read(hash) {
            Search::Found(words) => (Self::unpack(words), true),
            Search::Missed => (section.cells.entering(&self.rules, hash, now), false),
        };
        let decision = self.rules.algorithm.decide(&state, now, cost);
        if !decision.allowed() {
            return Ok(decision);
        }
        let untouched = self.rules.algorithm.decide(&state, now, 0);
        let turned_away = !held && cost > 0 && self.turns_away(&section, hash);
        drop(section);
        Ok(if turned_away { untouched.denied(Reason::TableFull) } else { untouched })
    }

    /// A key's state and the time it would be judged at, or where the section has moved.
    pub(crate) fn snapshot(&self, hash: u64, now: Time) -> Result<(A::State, Time), Arc<Store<A>>> {
        let hash = super::not_empty(hash);
        let number = self.rules.layout.stripe(hash);
        let mut section = self.enter(number)?;
        let now = self.shared.mark.judge(now);
        self.bear_home(&mut section, number, hash);
        let state = match self.read(hash) {
            Search::Found(words) => Self::unpack(words),
            Search::Missed => section.cells.entering(&self.rules, hash, now),
        };
        drop(section);
        Ok((state, now))
    }

    pub(super) fn reset_in_section(&self, hash: u64, now: Time) -> ResetReport {
        let number = self.rules.layout.stripe(hash);
        let mut section = match self.enter(number) {
            Ok(section) => section,
            Err(next) => return next.reset(hash, now),
        };
        self.bear_home(&mut section, number, hash);
        let had_state = self.place_of(number, hash).is_some_and(|place| {
            self.line(number, place).lock().set_hash(place.slot, EMPTY);
            section.held = section.held.saturating_sub(1);
            true
        });
        let inherits_debt = section.cells.owe(&self.rules, hash, self.shared.mark.judge(now));
        drop(section);
        ResetReport { had_state, inherits_debt }
    }

    pub(super) fn line(&self, number: usize, place: Place) -> Line<'_> {
        self.ground.line(number, place.line)
    }

    /// A slot's hash and state; as long as the mutex is held, only the state can change.
    pub(super) fn slot(&self, number: usize, place: Place) -> (u64, Words) {
        let line = self.line(number, place);
        loop {
            let head = line.head();
            let slot = (line.hash(place.slot), line.words(head, place.slot));
            if line.is_unchanged(head) {
                return slot;
            }
        }
    }

    pub(super) fn home_in(&self, number: usize, hash: u64) -> u64 {
        self.ground.home(number, hash)
    }

    /// The slots in which a key may lie, from its home on.
    pub(super) fn places(&self, number: usize, hash: u64) -> impl Iterator<Item = Place> + use<A> {
        self.places_from(self.home_in(number, hash))
    }

    /// The slots in which the keys of a home may lie.
    pub(super) fn places_from(&self, home: u64) -> impl Iterator<Item = Place> + use<A> {
        let window = home..home.saturating_add(self.ground.plan().window);
        window.flat_map(|line| (0..SLOTS).map(move |slot| Place { line, slot }))
    }

    pub(super) fn place_of(&self, number: usize, hash: u64) -> Option<Place> {
        self.places(number, hash).find(|place| self.slot(number, *place).0 == hash)
    }
}
