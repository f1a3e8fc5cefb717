//! One stripe's keys: a plain bounded table, single-threaded, that knows no lock.

use super::ResetReport;
use super::cells::Cells;
use super::counts::Counts;
use super::mark::Mark;
use super::rules::{CANDIDATES, Rules};
use super::table::Table;
use crate::algorithm::Algorithm;
use crate::clock::Time;
use crate::config::OnFull;
use crate::decision::{Decision, Reason};

/// Slots looked at for keys to forget, each time a key comes in: enough that at most a quarter of the table is
/// whole keys not yet forgotten.
const SWEPT_PER_INSERT: usize = 4;

/// The keys of one stripe, and the overflow cells of those that had to leave.
#[derive(Debug)]
pub(crate) struct Shard<S> {
    pub(super) table: Table<S>,
    cells: Cells<S>,
    /// The slot where the search for whole or little indebted keys goes on.
    hand: usize,
    counts: Counts,
}

impl<S> Default for Shard<S> {
    fn default() -> Self {
        Self {
            table: Table::default(),
            cells: Cells::default(),
            hand: 0,
            counts: Counts::default(),
        }
    }
}

/// The least indebted of some keys.
struct Weakest {
    slot: usize,
    debt: u64,
}

impl<S: Clone + Default> Shard<S> {
    /// Judges a call of a key that is held and charges it where it is allowed, as one step; `None` for a key that is
    /// not held, and for a cost that can never be met.
    #[inline(always)]
    #[expect(
        clippy::inline_always,
        reason = "out of line, its result is copied, which costs the short way a tenth"
    )]
    pub(crate) fn decide_held<A: Algorithm<State = S>>(
        &mut self,
        rules: &Rules<A>,
        (hash, now, cost): (u64, Time, u64),
    ) -> Option<Decision> {
        let cost = rules.within_limit(cost)?;
        let state = self.table.get_mut(hash)?;
        let decision = rules.algorithm.decide_and_charge(state, now, cost);
        self.count(decision.allowed());
        Some(decision)
    }

    /// Judges a call and charges it where it is allowed.
    pub(crate) fn decide<A: Algorithm<State = S>>(
        &mut self,
        rules: &Rules<A>,
        mark: &Mark,
        (hash, now, cost): (u64, Time, u64),
    ) -> Decision {
        let now = mark.advance(now);
        if let Some(decision) = self.decide_held(rules, (hash, now, cost)) {
            return decision;
        }
        let decision = match rules.within_limit(cost) {
            Some(cost) => self.decide_absent(rules, mark, (hash, now, cost)),
            None => self.excessive(rules, mark, (hash, now)),
        };
        self.count(decision.allowed());
        decision
    }

    #[inline]
    pub(super) fn count(&mut self, allowed: bool) {
        let count = if allowed { &mut self.counts.allowed } else { &mut self.counts.denied };
        *count = count.wrapping_add(1);
    }

    /// Judges a call without charging it: what would be answered, with the figures as they stand.
    pub(crate) fn look<A: Algorithm<State = S>>(
        &self,
        rules: &Rules<A>,
        mark: &Mark,
        (hash, now, cost): (u64, Time, u64),
    ) -> Decision {
        let now = mark.judge(now);
        let decision = self.judge(rules, now, (hash, now, cost));
        if decision.allowed() { self.judge(rules, now, (hash, now, 0)) } else { decision }
    }

    /// What any call would be answered, with the figures after its charge. Keys whole at `mark` would make room.
    pub(super) fn judge<A: Algorithm<State = S>>(
        &self,
        rules: &Rules<A>,
        mark: Time,
        (hash, now, cost): (u64, Time, u64),
    ) -> Decision {
        let held = self.table.get(hash);
        let entering;
        let state = if let Some(state) = held {
            state
        } else {
            entering = self.cells.entering(rules, hash, now);
            &entering
        };
        let Some(cost) = rules.within_limit(cost) else {
            return rules.algorithm.decide(state, now, 0).denied(Reason::CostExceedsLimit);
        };
        let decision = rules.algorithm.decide(state, now, cost);
        let turned_away = decision.allowed()
            && held.is_none()
            && cost > 0
            && rules.on_full == OnFull::Deny
            && self.is_full(rules)
            && self.weakest(rules, mark).is_none_or(|weakest| weakest.debt > 0);
        if !turned_away {
            return decision;
        }
        rules.algorithm.decide(state, now, 0).denied(Reason::TableFull)
    }

    /// Charges a call of a key that is not held and was judged to be allowed, at this very time and under the same
    /// lock.
    #[cold]
    pub(super) fn charge_newcomer<A: Algorithm<State = S>>(
        &mut self,
        rules: &Rules<A>,
        mark: &Mark,
        (hash, now, cost): (u64, Time, u32),
    ) {
        if rules.on_full == OnFull::Deny && self.is_full(rules) {
            self.forget_one(rules, mark);
        }
        let state = self.cells.entering(rules, hash, now);
        self.take_in(rules, mark, (hash, now, cost), state);
    }

    /// The state that a call of this key would be judged by.
    pub(crate) fn state<A: Algorithm<State = S>>(
        &self,
        rules: &Rules<A>,
        hash: u64,
        now: Time,
    ) -> S {
        self.table.get(hash).cloned().unwrap_or_else(|| self.cells.entering(rules, hash, now))
    }

    /// The answer to a cost that can never be met.
    fn excessive<A: Algorithm<State = S>>(
        &self,
        rules: &Rules<A>,
        mark: &Mark,
        (hash, now): (u64, Time),
    ) -> Decision {
        self.look(rules, mark, (hash, now, 0)).denied(Reason::CostExceedsLimit)
    }

    /// Forgets a key's own state.
    pub(crate) fn reset<A: Algorithm<State = S>>(
        &mut self,
        rules: &Rules<A>,
        mark: &Mark,
        (hash, now): (u64, Time),
    ) -> ResetReport {
        let now = mark.advance(now);
        let had_state = self.table.remove(hash).is_some();
        ResetReport { had_state, inherits_debt: self.cells.owe(rules, hash, now) }
    }

    /// The most bytes that a table of so many keys can take.
    pub(crate) fn bytes_max(keys: usize) -> usize {
        Table::<S>::slots_for(keys).saturating_mul(Table::<S>::SLOT_BYTES)
    }

    pub(crate) fn counts(&self) -> Counts {
        Counts { keys: u64::try_from(self.table.len()).unwrap_or(u64::MAX), ..self.counts }
    }

    fn decide_absent<A: Algorithm<State = S>>(
        &mut self,
        rules: &Rules<A>,
        mark: &Mark,
        (hash, now, cost): (u64, Time, u32),
    ) -> Decision {
        let state = self.cells.entering(rules, hash, now);
        let decision = rules.algorithm.decide(&state, now, cost);
        if !decision.allowed() || cost == 0 {
            return decision;
        }
        if rules.on_full == OnFull::Deny && self.is_full(rules) && !self.forget_one(rules, mark) {
            return rules.algorithm.decide(&state, now, 0).denied(Reason::TableFull);
        }
        self.take_in(rules, mark, (hash, now, cost), state);
        decision
    }

    /// Takes in a key that was not held, with the charge that brings it.
    fn take_in<A: Algorithm<State = S>>(
        &mut self,
        rules: &Rules<A>,
        mark: &Mark,
        (hash, now, cost): (u64, Time, u32),
        mut state: S,
    ) {
        if rules.algorithm.debt(&state, now) > 0 {
            self.counts.inherited_debts = self.counts.inherited_debts.saturating_add(1);
        }
        rules.algorithm.charge(&mut state, now, cost);
        self.admit(rules, mark, (hash, state));
    }

    /// Takes a key in. Where the table is full, the least indebted of some keys, the newcomer among them, leaves for
    /// its overflow cell.
    pub(crate) fn admit<A: Algorithm<State = S>>(
        &mut self,
        rules: &Rules<A>,
        mark: &Mark,
        newcomer: (u64, S),
    ) {
        self.sweep(rules, mark);
        if self.is_full(rules) {
            let newcomer_debt = rules.algorithm.debt(&newcomer.1, mark.get());
            let weakest =
                self.weakest(rules, mark.get()).filter(|weakest| weakest.debt <= newcomer_debt);
            self.hand = self.hand.saturating_add(CANDIDATES);
            let Some(weakest) = weakest else {
                return self.overflow(rules, mark, &newcomer);
            };
            if let Some(leaver) = self.table.remove_at(weakest.slot).filter(|_| weakest.debt > 0) {
                self.overflow(rules, mark, &leaver);
            }
        }
        self.insert(rules, mark, newcomer);
    }

    fn is_full<A>(&self, rules: &Rules<A>) -> bool {
        self.table.len() >= rules.layout.keys_per_stripe()
    }

    /// Forgets one whole key among the next candidates; says whether there was one.
    fn forget_one<A: Algorithm<State = S>>(&mut self, rules: &Rules<A>, mark: &Mark) -> bool {
        let whole = self.weakest(rules, mark.get()).filter(|weakest| weakest.debt == 0);
        self.hand = self.hand.saturating_add(CANDIDATES);
        whole.is_some_and(|whole| self.table.remove_at(whole.slot).is_some())
    }

    /// The least indebted of the next candidates from the hand on.
    fn weakest<A: Algorithm<State = S>>(&self, rules: &Rules<A>, now: Time) -> Option<Weakest> {
        let slots = self.table.slots();
        let hand = self.hand.checked_rem(slots).unwrap_or(0);
        (hand..slots)
            .chain(0..hand)
            .filter_map(|slot| Some((slot, self.table.at(slot)?.1)))
            .take(CANDIDATES)
            .map(|(slot, state)| Weakest { slot, debt: rules.algorithm.debt(state, now) })
            .min_by_key(|weakest| weakest.debt)
    }

    /// Remembers what a key that leaves owes.
    fn overflow<A: Algorithm<State = S>>(
        &mut self,
        rules: &Rules<A>,
        mark: &Mark,
        leaver: &(u64, S),
    ) {
        self.counts.evictions = self.counts.evictions.saturating_add(1);
        self.join_cell(rules, mark, leaver.0, &leaver.1);
    }

    /// Makes the cell of a hash at least as strict as `state`.
    pub(crate) fn join_cell<A: Algorithm<State = S>>(
        &mut self,
        rules: &Rules<A>,
        mark: &Mark,
        hash: u64,
        state: &S,
    ) {
        self.cells.join(rules, hash, state, mark.get());
    }

    /// Forgets whole keys in the next few slots.
    fn sweep<A: Algorithm<State = S>>(&mut self, rules: &Rules<A>, mark: &Mark) {
        let slots = self.table.slots();
        let now = mark.get();
        for _ in 0..SWEPT_PER_INSERT.min(slots) {
            let slot = self.hand.checked_rem(slots).unwrap_or(0);
            let held = self.table.at(slot);
            if held.is_some_and(|(_, state)| rules.algorithm.debt(state, now) == 0) {
                self.table.remove_at(slot);
            }
            self.hand = slot.saturating_add(1);
        }
    }

    fn insert<A: Algorithm<State = S>>(
        &mut self,
        rules: &Rules<A>,
        mark: &Mark,
        (hash, state): (u64, S),
    ) {
        if self.table.is_crowded() {
            let now = mark.get();
            let most = Table::<S>::slots_for(rules.layout.keys_per_stripe());
            self.table.grow(most, |state| rules.algorithm.debt(state, now) > 0);
        }
        self.table.insert(hash, state);
    }
}

impl<S> Shard<S> {
    /// Takes everything out, for a move to other parameters.
    pub(crate) fn take_apart(self) -> (Table<S>, Cells<S>, Counts) {
        (self.table, self.cells, self.counts)
    }

    /// Every state the shard keeps, keys' and cells', to be carried over in place.
    pub(crate) fn states_mut(&mut self) -> impl Iterator<Item = &mut S> {
        self.table.states_mut().chain(self.cells.iter_mut())
    }

    pub(crate) fn add_counts(&mut self, counts: &Counts) {
        self.counts.add(counts);
    }

    /// Checks the whole shard, for tests: bounded, every key in its place and there once.
    #[cfg(all(any(test, fuzzing), not(loom)))]
    pub(super) fn validate<A>(&self, rules: &Rules<A>, stripe: usize)
    where
        S: Default,
    {
        let hashes = self.table.validate();
        let most = rules.layout.keys_per_stripe();
        assert!(hashes.len() <= most, "too many keys");
        assert!(hashes.iter().all(|hash| rules.layout.stripe(*hash) == stripe), "a stray key");
        assert!(self.table.slots() <= Table::<S>::slots_for(most).max(8), "beyond its bound");
        let cells = self.cells.len();
        assert!(cells == 0 || cells == rules.layout.cells_per_stripe(), "{cells} cells");
    }
}
