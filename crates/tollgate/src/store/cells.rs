//! What keys owed that had to leave: the overflow cells.

use super::rules::Rules;
use crate::algorithm::Algorithm;
use crate::clock::Time;
use crate::config::OnFull;

/// The overflow cells of one stripe: each holds a state at least as strict as every state it took in, and a key not
/// in the table starts from its cell's.
#[derive(Debug)]
pub(crate) struct Cells<S>(Box<[S]>);

impl<S> Default for Cells<S> {
    /// No cells until a key has to leave.
    fn default() -> Self {
        Self(Box::default())
    }
}

impl<S: Clone + Default> Cells<S> {
    /// The state a key not held starts from: its cell's, or a fresh one.
    pub(crate) fn entering<A: Algorithm<State = S>>(
        &self,
        rules: &Rules<A>,
        hash: u64,
        now: Time,
    ) -> S {
        match self.0.get(rules.layout.cell(hash)) {
            Some(cell) if rules.algorithm.debt(cell, now) > 0 => rules.algorithm.enter(cell, now),
            Some(_) | None => S::default(),
        }
    }

    /// Whether a key not held would start with debt.
    pub(crate) fn owe<A: Algorithm<State = S>>(
        &self,
        rules: &Rules<A>,
        hash: u64,
        now: Time,
    ) -> bool {
        let cell = self.0.get(rules.layout.cell(hash));
        cell.is_some_and(|cell| rules.algorithm.debt(cell, now) > 0)
    }

    /// Makes the cell of a hash at least as strict as `state`.
    pub(crate) fn join<A: Algorithm<State = S>>(
        &mut self,
        rules: &Rules<A>,
        hash: u64,
        state: &S,
        now: Time,
    ) {
        if rules.on_full == OnFull::Admit {
            return;
        }
        if self.0.is_empty() {
            self.0 = vec![S::default(); rules.layout.cells_per_stripe()].into_boxed_slice();
        }
        if let Some(cell) = self.0.get_mut(rules.layout.cell(hash)) {
            rules.algorithm.join(cell, state, now);
        }
    }
}

impl<S> Cells<S> {
    #[cfg(all(any(test, fuzzing), not(loom)))]
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &S> {
        self.0.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut S> {
        self.0.iter_mut()
    }
}
