//! A section's keys move to a store under other parameters or bounds, while decisions go on.

use std::sync::Arc;

use super::Lines;
use super::line::{EMPTY, SLOTS};
use super::section::{Place, Section};
use crate::algorithm::{Algorithm, CarriedOver};
use crate::store::Store;
use crate::store::counts::Counts;

impl<A: Algorithm> Lines<A> {
    /// A store under other parameters or bounds takes over the section: every debt, as of the mark.
    pub(crate) fn hand_over(&self, number: usize, next: &Arc<Store<A>>) -> u64 {
        let mut section = self.sections[number].lock();
        let now = self.shared.mark.get();
        let mut forgiven = 0_u64;
        let mut carry = |state: &mut A::State| {
            let carried = next.algorithm().carry_over(state, now, &self.rules.algorithm);
            forgiven = forgiven.saturating_add(u64::from(carried == CarriedOver::Forgiven));
        };
        for (cell, state) in section.cells.iter_mut().enumerate() {
            carry(state);
            next.take_cell(self.rules.layout, (number, cell), state);
        }
        let lines = self.ground.plan().homes(self.ground.level(number));
        for line in 0..lines.saturating_add(self.ground.plan().window) {
            for slot in 0..SLOTS {
                let place = Place { line, slot };
                if self.slot(number, place).0 == EMPTY {
                    continue;
                }
                let locked = self.line(number, place).lock();
                let mut state = Self::unpack(locked.words(slot));
                carry(&mut state);
                next.take_key(locked.hash(slot), state);
                locked.set_hash(slot, EMPTY);
            }
        }
        let counts = Counts { keys: 0, ..section.counts };
        *section = Section { moved: Some(Arc::clone(next)), ..Section::default() };
        next.take_counts(self.rules.layout, number, &counts);
        drop(section);
        forgiven
    }

    /// Takes in a key of a store that is moving here.
    pub(crate) fn take_key(&self, hash: u64, state: &A::State) {
        let number = self.rules.layout.stripe(hash);
        let mut section = self.sections[number].lock();
        self.bear_home(&mut section, number, hash);
        self.admit(&mut section, hash, state);
    }

    /// Joins a cell of a store that is moving here.
    pub(crate) fn join_cell(&self, hash: u64, state: &A::State) {
        let mut section = self.sections[self.rules.layout.stripe(hash)].lock();
        section.cells.join(&self.rules, hash, state, self.shared.mark.get());
    }

    pub(crate) fn add_counts(&self, number: usize, counts: &Counts) {
        self.sections[number].lock().counts.add(counts);
    }
}
