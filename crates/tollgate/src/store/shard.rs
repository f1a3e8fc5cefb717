//! One stripe's keys: a plain bounded table, single-threaded, that knows no lock.

use hashbrown::HashTable;
use hashbrown::hash_table::OccupiedEntry;

use super::counts::Counts;
use super::layout::Layout;
use super::mark::Mark;
use super::{ResetReport, Verdict};
use crate::algorithm::Algorithm;
use crate::clock::Time;
use crate::config::OnFull;
use crate::decision::Decision;

/// Buckets looked at for keys to forget, each time a key comes in: enough that at most a quarter of the table is
/// whole keys not yet forgotten.
const SWEPT_PER_INSERT: usize = 4;

/// Keys among which the least indebted leaves when the table is full. Of few, the least may owe much, and cells then
/// fill up: a flood of twice what a table can hold denies 15 % of light clients in the long run with 8 candidates, 6 %
/// with 32, 4 % with 64, and a leave takes 0.2, 0.4 and 0.8 us.
const CANDIDATES: usize = 32;

/// What a shard needs to know to work: whose states it holds, how many, and the latest time seen.
#[derive(Debug)]
pub(crate) struct Rules<A> {
    pub(crate) algorithm: A,
    pub(crate) on_full: OnFull,
    pub(crate) layout: Layout,
}

/// A key's state. The hash is kept in halves, so that an entry takes no more alignment than the state.
#[derive(Debug)]
pub(crate) struct Entry<S> {
    hash: [u32; 2],
    pub(crate) state: S,
}

impl<S> Entry<S> {
    fn new(hash: u64, state: S) -> Self {
        Self { hash: halves(hash), state }
    }

    #[inline]
    pub(crate) fn hash(&self) -> u64 {
        u64::from(self.hash[1]) << 32 | u64::from(self.hash[0])
    }
}

#[expect(clippy::as_conversions, reason = "the two halves of 64 bits")]
#[expect(clippy::cast_possible_truncation, reason = "the two halves of 64 bits")]
const fn halves(hash: u64) -> [u32; 2] {
    [hash as u32, (hash >> 32) as u32]
}

/// The keys of one stripe, and the overflow cells of those that had to leave.
#[derive(Debug)]
pub(crate) struct Shard<S> {
    table: HashTable<Entry<S>>,
    /// Empty until a key has to leave.
    cells: Box<[S]>,
    /// The bucket where the search for whole or little indebted keys goes on.
    hand: usize,
    counts: Counts,
}

impl<S> Default for Shard<S> {
    fn default() -> Self {
        Self { table: HashTable::new(), cells: Box::default(), hand: 0, counts: Counts::default() }
    }
}

/// The least indebted of some keys.
struct Weakest {
    bucket: usize,
    debt: u64,
}

impl<S: Clone + Default> Shard<S> {
    /// Judges a call and charges it where it is allowed: one step for its key.
    #[inline]
    pub(crate) fn decide<A: Algorithm<State = S>>(
        &mut self,
        rules: &Rules<A>,
        mark: &Mark,
        call: (u64, Time, u32),
    ) -> Verdict {
        let (hash, now, cost) = call;
        let now = mark.advance(now);
        let verdict = match self.table.find_mut(hash, |entry| entry.hash() == hash) {
            Some(entry) => {
                let decision = rules.algorithm.decide(&entry.state, now, cost);
                if decision.allowed() && cost > 0 {
                    rules.algorithm.charge(&mut entry.state, now, cost);
                }
                Verdict::Judged(decision)
            }
            None => self.decide_absent(rules, mark, (hash, now, cost)),
        };
        self.counts.allowed = self.counts.allowed.wrapping_add(u64::from(verdict.allowed()));
        self.counts.denied = self.counts.denied.wrapping_add(u64::from(!verdict.allowed()));
        verdict
    }

    /// Judges a call without charging it: what would be answered, with the figures as they stand.
    pub(crate) fn look<A: Algorithm<State = S>>(
        &self,
        rules: &Rules<A>,
        mark: &Mark,
        call: (u64, Time, u32),
    ) -> Verdict {
        let (hash, now, cost) = call;
        let now = mark.judge(now);
        let held = self.table.find(hash, |entry| entry.hash() == hash);
        let state = held.map_or_else(|| self.entering(rules, hash, now), |held| held.state.clone());
        let decision = rules.algorithm.decide(&state, now, cost);
        if !decision.allowed() {
            return Verdict::Judged(decision);
        }
        let untouched = rules.algorithm.decide(&state, now, 0);
        let turned_away = held.is_none()
            && cost > 0
            && rules.on_full == OnFull::Deny
            && self.is_full(rules)
            && self.weakest(rules, now).is_none_or(|weakest| weakest.debt > 0);
        if turned_away { Verdict::TableFull(untouched) } else { Verdict::Judged(untouched) }
    }

    /// Forgets a key's own state.
    pub(crate) fn reset<A: Algorithm<State = S>>(
        &mut self,
        rules: &Rules<A>,
        mark: &Mark,
        (hash, now): (u64, Time),
    ) -> ResetReport {
        let now = mark.advance(now);
        let held = self.table.find_entry(hash, |entry| entry.hash() == hash);
        let had_state = held.map(OccupiedEntry::remove).is_ok();
        let inherits_debt = self
            .cells
            .get(rules.layout.cell(hash))
            .is_some_and(|cell| rules.algorithm.debt(cell, now) > 0);
        ResetReport { had_state, inherits_debt }
    }

    pub(crate) fn counts(&self) -> Counts {
        Counts { keys: u64::try_from(self.table.len()).unwrap_or(u64::MAX), ..self.counts }
    }

    #[cold]
    fn decide_absent<A: Algorithm<State = S>>(
        &mut self,
        rules: &Rules<A>,
        mark: &Mark,
        (hash, now, cost): (u64, Time, u32),
    ) -> Verdict {
        let mut state = self.entering(rules, hash, now);
        let decision = rules.algorithm.decide(&state, now, cost);
        if !decision.allowed() || cost == 0 {
            return Verdict::Judged(decision);
        }
        if rules.on_full == OnFull::Deny && self.is_full(rules) && !self.forget_one(rules, mark) {
            return Verdict::TableFull(rules.algorithm.decide(&state, now, 0));
        }
        if rules.algorithm.debt(&state, now) > 0 {
            self.counts.inherited_debts = self.counts.inherited_debts.saturating_add(1);
        }
        rules.algorithm.charge(&mut state, now, cost);
        self.admit(rules, mark, Entry::new(hash, state));
        Verdict::Judged(decision)
    }

    /// The state a key not held starts from: its overflow cell's, or a fresh one.
    fn entering<A: Algorithm<State = S>>(&self, rules: &Rules<A>, hash: u64, now: Time) -> S {
        match self.cells.get(rules.layout.cell(hash)) {
            Some(cell) if rules.algorithm.debt(cell, now) > 0 => rules.algorithm.enter(cell, now),
            Some(_) | None => S::default(),
        }
    }

    /// Takes a key in. Where the table is full, the least indebted of some keys, the newcomer among them, leaves for
    /// its overflow cell.
    pub(crate) fn admit<A: Algorithm<State = S>>(
        &mut self,
        rules: &Rules<A>,
        mark: &Mark,
        newcomer: Entry<S>,
    ) {
        self.sweep(rules, mark);
        if self.is_full(rules) {
            let newcomer_debt = rules.algorithm.debt(&newcomer.state, mark.get());
            let weakest =
                self.weakest(rules, mark.get()).filter(|weakest| weakest.debt <= newcomer_debt);
            self.hand = self.hand.saturating_add(CANDIDATES);
            let Some(weakest) = weakest else {
                return self.overflow(rules, mark, &newcomer);
            };
            if let Some(leaver) = self.remove(weakest.bucket).filter(|_| weakest.debt > 0) {
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
        whole.is_some_and(|whole| self.remove(whole.bucket).is_some())
    }

    /// The least indebted of the next candidates from the hand on.
    fn weakest<A: Algorithm<State = S>>(&self, rules: &Rules<A>, now: Time) -> Option<Weakest> {
        let buckets = self.table.num_buckets();
        let hand = self.hand.checked_rem(buckets).unwrap_or(0);
        (hand..buckets)
            .chain(0..hand)
            .filter_map(|bucket| Some((bucket, self.table.get_bucket(bucket)?)))
            .take(CANDIDATES)
            .map(|(bucket, held)| Weakest { bucket, debt: rules.algorithm.debt(&held.state, now) })
            .min_by_key(|weakest| weakest.debt)
    }

    fn remove(&mut self, bucket: usize) -> Option<Entry<S>> {
        let held = self.table.get_bucket_entry(bucket).ok()?;
        Some(held.remove().0)
    }

    /// Remembers what a key that leaves owes.
    fn overflow<A: Algorithm<State = S>>(
        &mut self,
        rules: &Rules<A>,
        mark: &Mark,
        leaver: &Entry<S>,
    ) {
        self.counts.evictions = self.counts.evictions.saturating_add(1);
        self.join_cell(rules, mark, leaver.hash(), &leaver.state);
    }

    /// Makes the cell of a hash at least as strict as `state`.
    pub(crate) fn join_cell<A: Algorithm<State = S>>(
        &mut self,
        rules: &Rules<A>,
        mark: &Mark,
        hash: u64,
        state: &S,
    ) {
        if rules.on_full == OnFull::Admit {
            return;
        }
        if self.cells.is_empty() {
            self.cells = vec![S::default(); rules.layout.cells_per_stripe()].into_boxed_slice();
        }
        if let Some(cell) = self.cells.get_mut(rules.layout.cell(hash)) {
            rules.algorithm.join(cell, state, mark.get());
        }
    }

    /// Forgets whole keys in the next few buckets.
    fn sweep<A: Algorithm<State = S>>(&mut self, rules: &Rules<A>, mark: &Mark) {
        let buckets = self.table.num_buckets();
        let now = mark.get();
        for _ in 0..SWEPT_PER_INSERT.min(buckets) {
            let bucket = self.hand.checked_rem(buckets).unwrap_or(0);
            let whole = |held: &Entry<S>| rules.algorithm.debt(&held.state, now) == 0;
            if self.table.get_bucket(bucket).is_some_and(whole) {
                self.remove(bucket);
            }
            self.hand = bucket.saturating_add(1);
        }
    }

    fn insert<A: Algorithm<State = S>>(
        &mut self,
        rules: &Rules<A>,
        mark: &Mark,
        newcomer: Entry<S>,
    ) {
        if self.table.len() == self.table.capacity() {
            self.make_room(rules, mark);
        }
        self.table.insert_unique(newcomer.hash(), newcomer, Entry::hash);
    }

    /// Lays the table out anew: without its whole keys, and twice as large where that leaves it more than half
    /// full. Left to itself the table would also double when it is littered with the places of removed keys, and grow
    /// beyond what its bound needs.
    fn make_room<A: Algorithm<State = S>>(&mut self, rules: &Rules<A>, mark: &Mark) {
        let now = mark.get();
        self.table.retain(|held| rules.algorithm.debt(&held.state, now) > 0);
        let held = self.table.len();
        let half = self.table.num_buckets() / 2;
        let wanted = if held < half { half } else { held.saturating_mul(2) };
        let capacity = wanted.max(held.saturating_add(1)).min(capacity_most(rules));
        let mut roomier = HashTable::with_capacity(capacity);
        for entry in self.table.drain() {
            roomier.insert_unique(entry.hash(), entry, Entry::hash);
        }
        self.table = roomier;
        self.hand = 0;
    }
}

/// The most a shard's table is made for: an eighth above its bound, so that a full table does not fill up with the
/// places of removed keys at once.
fn capacity_most<A>(rules: &Rules<A>) -> usize {
    let most = rules.layout.keys_per_stripe();
    most.saturating_add(most / 8).saturating_add(1)
}

impl<S> Shard<S> {
    /// Takes everything out, for a move to other parameters.
    pub(crate) fn take_apart(self) -> (HashTable<Entry<S>>, Box<[S]>, Counts) {
        (self.table, self.cells, self.counts)
    }

    /// Every state the shard keeps, keys' and cells', to be carried over in place.
    pub(crate) fn states_mut(&mut self) -> impl Iterator<Item = &mut S> {
        self.table.iter_mut().map(|entry| &mut entry.state).chain(self.cells.iter_mut())
    }

    pub(crate) fn add_counts(&mut self, counts: &Counts) {
        self.counts.add(counts);
    }

    /// Checks the whole shard, for tests: bounded, every key in its place and there once.
    #[cfg(test)]
    pub(super) fn validate<A>(&self, rules: &Rules<A>, stripe: usize) {
        let mut hashes: Vec<u64> = self.table.iter().map(Entry::hash).collect();
        assert!(hashes.len() <= rules.layout.keys_per_stripe(), "too many keys");
        assert!(hashes.iter().all(|hash| rules.layout.stripe(*hash) == stripe), "a stray key");
        hashes.sort_unstable();
        assert!(hashes.windows(2).all(|pair| pair[0] != pair[1]), "a key twice");
        let cells = self.cells.len();
        assert!(cells == 0 || cells == rules.layout.cells_per_stripe(), "{cells} cells");
        let largest = HashTable::<u64>::with_capacity(capacity_most(rules)).num_buckets();
        assert!(self.table.num_buckets() <= largest, "a table beyond its bound");
    }
}

impl Verdict {
    pub(crate) const fn allowed(&self) -> bool {
        match self {
            Self::Judged(decision) => decision.allowed(),
            Self::TableFull(_) => false,
        }
    }

    pub(crate) const fn decision(&self) -> Decision {
        match self {
            Self::Judged(decision) | Self::TableFull(decision) => *decision,
        }
    }
}
