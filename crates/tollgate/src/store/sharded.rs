//! The sharded store: any state, behind one lock a stripe.

use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use super::ResetReport;
use super::counts::Counts;
use super::held::{Charge, Held, HeldKey, Refund};
use super::layout::Layout;
use super::mark::Mark;
use super::shard::{Rules, Shard};
use crate::algorithm::{Algorithm, CarriedOver, Timeline};
use crate::clock::Time;
use crate::config::{Bounds, OnFull};
use crate::decision::RateLimitResult;

/// States by hash, in stripes of one mutex each; a decision holds one of them and touches nothing else.
#[derive(Debug)]
pub(crate) struct Sharded<A: Algorithm> {
    rules: Rules<A>,
    /// Outlives the store: a reload hands it on.
    mark: Arc<Mark>,
    stripes: Box<[Stripe<A>]>,
}

/// On lines of its own, so that neighbours do not slow each other down.
#[derive(Debug)]
#[repr(align(128))]
struct Stripe<A: Algorithm>(Mutex<Room<A>>);

/// What is behind a stripe's lock: its keys, or after a reload the store they have moved to.
#[derive(Debug)]
enum Room<A: Algorithm> {
    Here(Shard<A::State>),
    Moved(Arc<Sharded<A>>),
}

impl<A: Algorithm> Sharded<A> {
    pub(crate) fn new(algorithm: A, bounds: Bounds) -> Self {
        Self::with_mark(algorithm, bounds, Arc::default())
    }

    fn with_mark(algorithm: A, bounds: Bounds, mark: Arc<Mark>) -> Self {
        let layout = Layout::for_keys(bounds.max_keys);
        let stripe = |_| Stripe(Mutex::new(Room::Here(Shard::default())));
        let stripes = (0..layout.stripes()).map(stripe).collect();
        Self { rules: Rules { algorithm, on_full: bounds.on_full, layout }, mark, stripes }
    }

    /// The most bytes that a table of these bounds and its cells can take, without what states have on the heap.
    pub(crate) fn bytes_max(bounds: Bounds) -> u64 {
        let layout = Layout::for_keys(bounds.max_keys);
        let slots = Shard::<A::State>::bytes_max(layout.keys_per_stripe());
        let has_cells = bounds.on_full == OnFull::Overflow;
        let cells = if has_cells { layout.cells_per_stripe() } else { 0 };
        let cells = cells.saturating_mul(size_of::<A::State>());
        let stripe = slots.saturating_add(cells).saturating_add(size_of::<Stripe<A>>());
        u64::try_from(stripe.saturating_mul(layout.stripes())).unwrap_or(u64::MAX)
    }

    pub(crate) const fn algorithm(&self) -> &A {
        &self.rules.algorithm
    }

    /// The quota of the parameters in force.
    pub(crate) fn limit(&self) -> u32 {
        self.with_shard(0, |store, _| store.algorithm().limit())
            .unwrap_or_else(|moved| moved.limit())
    }

    /// Judges a call and charges it where it is allowed, as one step.
    ///
    /// A key that is held takes the short way, which ends in one place: its result is built once, after the lock, and
    /// copied nowhere. (Copies of what was written in smaller parts a moment ago stall, and took a tenth of the time.)
    #[inline]
    pub(crate) fn decide(&self, hash: u64, now: Time, cost: u64) -> RateLimitResult {
        let mut room = self.stripes[self.rules.layout.stripe(hash)].0.lock();
        let now = self.mark.advance(now);
        if let Room::Here(shard) = &mut *room
            && let Some(decision) = shard.decide_held(&self.rules, (hash, now, cost))
        {
            drop(room);
            return RateLimitResult::new(decision, self.algorithm().limit());
        }
        self.decide_not_held(room, (hash, now, cost))
    }

    #[cold]
    #[inline(never)]
    fn decide_not_held(
        &self,
        mut room: MutexGuard<'_, Room<A>>,
        (hash, now, cost): (u64, Time, u64),
    ) -> RateLimitResult {
        match &mut *room {
            Room::Here(shard) => {
                let decision = shard.decide_not_held(&self.rules, &self.mark, (hash, now, cost));
                RateLimitResult::new(decision, self.algorithm().limit())
            }
            Room::Moved(next) => {
                let next = Arc::clone(next);
                drop(room);
                next.decide(hash, now, cost)
            }
        }
    }

    /// Hands a key on while its stripe's lock is held, so that other limits judge meanwhile.
    #[inline]
    pub(crate) fn hold(
        self: &Arc<Self>,
        (hash, now, cost): (u64, Time, u64),
        then: &mut dyn FnMut(&mut dyn Held),
    ) {
        let mut room = self.stripes[self.rules.layout.stripe(hash)].0.lock();
        let now = self.mark.advance(now);
        let next = match &mut *room {
            Room::Here(shard) => {
                let (rules, mark) = (&self.rules, &*self.mark);
                let said = RateLimitResult::unlimited();
                then(&mut HeldKey {
                    store: self,
                    rules,
                    mark,
                    shard,
                    hash,
                    now,
                    cost,
                    said,
                    slot: None,
                });
                return;
            }
            Room::Moved(next) => Arc::clone(next),
        };
        drop(room);
        next.hold_after_move((hash, now, cost), then);
    }

    #[cold]
    #[inline(never)]
    fn hold_after_move(
        self: &Arc<Self>,
        call: (u64, Time, u64),
        then: &mut dyn FnMut(&mut dyn Held),
    ) {
        self.hold(call, then);
    }

    /// A number that orders the locks of stores which are held together. A store and those it moves to have one mark,
    /// so they have one rank too.
    pub(crate) fn rank(&self) -> usize {
        Arc::as_ptr(&self.mark).addr()
    }

    /// Judges a call without charging it.
    pub(crate) fn look(&self, hash: u64, now: Time, cost: u64) -> RateLimitResult {
        self.with_shard(self.rules.layout.stripe(hash), |store, shard| {
            let decision = shard.look(&store.rules, &store.mark, (hash, now, cost));
            RateLimitResult::new(decision, store.algorithm().limit())
        })
        .unwrap_or_else(|moved| moved.look(hash, now, cost))
    }

    /// A key's state and the time it would be judged at, with the parameters in force: to reckon with, apart from the
    /// store.
    pub(crate) fn snapshot(&self, hash: u64, now: Time) -> (A, A::State, Time) {
        self.with_shard(self.rules.layout.stripe(hash), |store, shard| {
            let now = store.mark.judge(now);
            (store.algorithm().clone(), shard.state(&store.rules, hash, now), now)
        })
        .unwrap_or_else(|moved| moved.snapshot(hash, now))
    }

    /// Forgets a key's own state.
    pub(crate) fn reset(&self, hash: u64, now: Time) -> ResetReport {
        self.with_shard(self.rules.layout.stripe(hash), |store, shard| {
            shard.reset(&store.rules, &store.mark, (hash, now))
        })
        .unwrap_or_else(|moved| moved.reset(hash, now))
    }

    /// What all stripes have counted.
    pub(crate) fn counts(&self, now: Time) -> Counts {
        let mut total = Counts::default();
        let mut moved_to = None;
        for stripe in 0..self.stripes.len() {
            match self.with_shard(stripe, |_, shard| shard.counts()) {
                Ok(counts) => total.add(&counts),
                Err(next) => moved_to = Some(next),
            }
        }
        if let Some(next) = moved_to {
            total.add(&next.counts(now));
        }
        total.mark_ahead_ms = self.mark.get().nanos_since(now) / 1_000_000;
        total
    }

    /// A store under other parameters or bounds, with all that this one holds: every debt, as of `now`. Says too how
    /// many keys had more debt than their new limit, the rest of which is forgiven.
    ///
    /// Goes stripe by stripe while decisions go on. Who asks for a key of a stripe that has moved is sent on to the
    /// new store, so every charge lies before its key's move or after it, and nobody waits for more than one stripe's
    /// share.
    pub(crate) fn moved_to(&self, algorithm: A, bounds: Bounds, now: Time) -> (Arc<Self>, u64) {
        self.mark.raise(now);
        let next = Arc::new(Self::with_mark(algorithm, bounds, Arc::clone(&self.mark)));
        let mut forgiven = 0_u64;
        for (index, stripe) in self.stripes.iter().enumerate() {
            let mut room = stripe.0.lock();
            let forwarding = Room::Moved(Arc::clone(&next));
            // The lock is held until the new store has it all: a key is never in neither.
            if let Room::Here(shard) = std::mem::replace(&mut *room, forwarding) {
                forgiven = forgiven.saturating_add(next.take_over(shard, index, self));
            }
        }
        (next, forgiven)
    }

    /// Takes over one stripe of the store before.
    fn take_over(&self, mut shard: Shard<A::State>, index: usize, from: &Self) -> u64 {
        let now = self.mark.get();
        let mut forgiven = 0_u64;
        for state in shard.states_mut() {
            let carried = self.algorithm().carry_over(state, now, from.algorithm());
            forgiven = forgiven.saturating_add(u64::from(carried == CarriedOver::Forgiven));
        }
        let same_place = self.rules.layout == from.rules.layout;
        if same_place && self.rules.on_full == from.rules.on_full {
            *self.stripes[index].0.lock() = Room::Here(shard);
        } else {
            self.spread(shard, index, from.rules.layout);
        }
        forgiven
    }

    /// Puts the keys and cells of one stripe of another layout where they belong in this one.
    fn spread(&self, shard: Shard<A::State>, index: usize, from: Layout) {
        let layout = self.rules.layout;
        let (table, cells, counts) = shard.take_apart();
        let first = layout.stripe(from.hash_in(index, 0));
        self.in_new(first, |shard| shard.add_counts(&counts));
        for (cell, state) in cells.iter().enumerate() {
            if self.algorithm().debt(state, self.mark.get()) == 0 {
                continue;
            }
            for hash in layout.hashes_of_cell(from, index, cell) {
                self.in_new(layout.stripe(hash), |shard| {
                    shard.join_cell(&self.rules, &self.mark, hash, state);
                });
            }
        }
        for (hash, state) in table.into_iter() {
            let stripe = layout.stripe(hash);
            self.in_new(stripe, |shard| shard.admit(&self.rules, &self.mark, (hash, state)));
        }
    }

    /// Works on a stripe of a store that is being filled, and so has not moved on yet.
    fn in_new(&self, stripe: usize, work: impl FnOnce(&mut Shard<A::State>)) {
        let moved = self.with_shard(stripe, |_, shard| work(shard));
        debug_assert!(moved.is_ok(), "a store is filled before it is moved on");
    }

    /// Runs `work` under a stripe's lock, or says which store its keys have moved to.
    #[inline]
    fn with_shard<T>(
        &self,
        stripe: usize,
        work: impl FnOnce(&Self, &mut Shard<A::State>) -> T,
    ) -> Result<T, Arc<Self>> {
        match &mut *self.stripes[stripe].0.lock() {
            Room::Here(shard) => Ok(work(self, shard)),
            Room::Moved(next) => Err(Arc::clone(next)),
        }
    }

    /// Checks every stripe, for tests.
    #[cfg(test)]
    pub(crate) fn validate(&self) {
        for stripe in 0..self.stripes.len() {
            let checked = self.with_shard(stripe, |store, shard| {
                shard.validate(&store.rules, stripe);
            });
            assert!(checked.is_ok(), "only the store in use is checked");
        }
    }
}

impl<A: Algorithm> Refund for Sharded<A> {
    /// Under other parameters than those it was charged by, a charge cannot be told from others, so it stays.
    fn refund(&self, charge: &Charge, now: Time) -> bool {
        let stripe = self.rules.layout.stripe(charge.hash);
        self.with_shard(stripe, |store, shard| {
            shard.refund(&store.rules, charge, store.mark.advance(now))
        })
        .unwrap_or_else(|moved| moved.algorithm() == self.algorithm() && moved.refund(charge, now))
    }

    fn timeline(&self) -> Timeline {
        A::TIMELINE
    }
}

#[cfg(test)]
#[expect(clippy::arithmetic_side_effects, reason = "small numbers in tests")]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::algorithm::TokenBucket;

    fn bounds(max_keys: u64, on_full: OnFull) -> Bounds {
        Bounds { max_keys, on_full }
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

        #[test]
        fn the_table_is_whole_after_any_calls_floods_resets_and_moves(
            sizes in proptest::collection::vec(prop_oneof![1..40_u64, 40..9_000_u64], 1..4),
            keys in proptest::collection::vec(any::<u64>(), 1..3_000),
            on_full in prop_oneof![Just(OnFull::Overflow), Just(OnFull::Deny), Just(OnFull::Admit)],
            step_ns in prop_oneof![Just(0), 1..50_000_000_u64],
        ) {
            let bucket = TokenBucket::per_second(1).burst(2).build().unwrap();
            let mut store = Arc::new(Sharded::new(bucket, bounds(500, on_full)));
            let mut now = 0;
            for max_keys in sizes {
                for (index, hash) in keys.iter().enumerate() {
                    now += step_ns;
                    let _decision = store.decide(*hash, Time::from_nanos(now), 1);
                    if index % 17 == 0 {
                        store.reset(keys[index / 2], Time::from_nanos(now));
                    }
                }
                store.validate();
                let before = store.counts(Time::from_nanos(now));
                store = store.moved_to(bucket, bounds(max_keys, on_full), Time::from_nanos(now)).0;
                store.validate();
                let after = store.counts(Time::from_nanos(now));
                prop_assert_eq!((after.allowed, after.denied), (before.allowed, before.denied));
                prop_assert!(after.keys <= before.keys.min(max_keys));
            }
        }
    }
}
