//! The sharded store: any state, behind one lock a stripe.

use std::sync::Arc;

use parking_lot::Mutex;

use super::counts::Counts;
use super::held::{Charge, Held, HeldKey};
use super::layout::Layout;
use super::rules::Rules;
use super::shard::Shard;
use super::view::{Next, View};
use super::{Kind, ResetReport, Shared, Store};
use crate::algorithm::{Algorithm, CarriedOver};
use crate::clock::Time;
use crate::decision::{Decision, RateLimitResult};
use crate::planned::Planned;

/// States by hash, in stripes of one mutex each; a decision holds one of them and touches nothing else.
#[derive(Debug)]
pub(crate) struct Sharded<A: Algorithm> {
    rules: Rules<A>,
    /// The same with one of several sets of parameters as the one that judges, where there are several.
    views: Box<[Rules<A>]>,
    shared: Arc<Shared>,
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
    Moved(Next<A>),
}

impl<A: Algorithm> Sharded<A> {
    pub(crate) fn new(rules: Rules<A>, shared: Arc<Shared>) -> Self {
        let stripe = |_| Stripe(Mutex::new(Room::Here(Shard::default())));
        let stripes = (0..rules.layout.stripes()).map(stripe).collect();
        let views = rules.algorithm.views().into_iter();
        let views = views.map(|judge| Rules::new(judge, rules.on_full, rules.layout)).collect();
        Self { rules, views, shared, stripes }
    }

    /// The rules by which one of several sets of parameters judges.
    pub(crate) fn view(&self, view: usize) -> &Rules<A> {
        self.views.get(view).unwrap_or(&self.rules)
    }

    /// The most bytes that a stripe can take, without its cells.
    pub(crate) fn bytes_max(layout: Layout) -> usize {
        let slots = Shard::<A::State>::bytes_max(layout.keys_per_stripe());
        slots.saturating_add(size_of::<Stripe<A>>())
    }

    pub(crate) const fn rules(&self) -> &Rules<A> {
        &self.rules
    }

    /// Judges a call of a key that is held.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a result that is copied stalls")]
    pub(crate) fn decide_held(&self, hash: u64, now: Time, cost: u64) -> Option<Decision> {
        let mut room = self.stripes[self.rules.layout.stripe(hash)].0.lock();
        let now = self.shared.mark.advance(now);
        match &mut *room {
            Room::Here(shard) => shard.decide_held(&self.rules, (hash, now, cost)),
            Room::Moved(_) => None,
        }
    }

    /// Judges a call and charges it where it is allowed, as one step.
    pub(crate) fn decide(&self, hash: u64, now: Time, cost: u64) -> RateLimitResult {
        self.with_shard(self.rules.layout.stripe(hash), |shard| {
            let decision = shard.decide(&self.rules, &self.shared.mark, (hash, now, cost));
            RateLimitResult::new(decision, self.rules.algorithm.limit())
        })
        .unwrap_or_else(|moved| moved.decide((hash, now, cost)))
    }

    /// Hands a key on while its stripe's lock is held, judged by these rules, or says to which store the stripe has
    /// moved.
    #[inline]
    pub(crate) fn hold(
        &self,
        (store, rules): (&Arc<Store<A>>, &Rules<A>),
        (hash, now, cost): (u64, Time, u64),
        then: &mut dyn FnMut(&mut dyn Held),
    ) -> Option<Next<A>> {
        let mut room = self.stripes[self.rules.layout.stripe(hash)].0.lock();
        let now = self.shared.mark.advance(now);
        match &mut *room {
            Room::Here(shard) => {
                let mark = &self.shared.mark;
                let said = RateLimitResult::unlimited();
                then(&mut HeldKey { store, rules, mark, shard, hash, now, cost, said, slot: None });
                None
            }
            Room::Moved(next) => Some(next.clone()),
        }
    }

    /// Gives a charge back to a key that is held; says whether anything was, or where the stripe has moved.
    pub(crate) fn refund(&self, charge: &Charge, now: Time) -> Result<bool, Next<A>> {
        self.with_shard(self.rules.layout.stripe(charge.hash), |shard| {
            shard.refund(&self.rules, charge, self.shared.mark.advance(now))
        })
    }

    /// The same of a charge by several sets of parameters.
    pub(crate) fn refund_all(
        &self,
        (charge, traces): (&Charge, &[[u64; 2]]),
        now: Time,
    ) -> Result<bool, Next<A>> {
        self.with_shard(self.rules.layout.stripe(charge.hash), |shard| {
            let now = self.shared.mark.advance(now);
            let refund = |state| self.rules.algorithm.refund_all(state, now, charge.cost, traces);
            shard.table.get_mut(charge.hash).is_some_and(refund)
        })
    }

    /// Judges a call by these rules without charging it, or says where the stripe has moved.
    pub(crate) fn look(
        &self,
        rules: &Rules<A>,
        (hash, now, cost): (u64, Time, u64),
    ) -> Result<RateLimitResult, Next<A>> {
        self.with_shard(self.rules.layout.stripe(hash), |shard| {
            let decision = shard.look(rules, &self.shared.mark, (hash, now, cost));
            RateLimitResult::new(decision, rules.algorithm.limit())
        })
    }

    /// A key's state and the time it would be judged at, or where the stripe has moved.
    pub(crate) fn snapshot(&self, hash: u64, now: Time) -> Result<(A::State, Time), Next<A>> {
        self.with_shard(self.rules.layout.stripe(hash), |shard| {
            let now = self.shared.mark.judge(now);
            (shard.state(&self.rules, hash, now), now)
        })
    }

    /// Forgets a key's own state.
    pub(crate) fn reset(&self, hash: u64, now: Time) -> ResetReport {
        self.with_shard(self.rules.layout.stripe(hash), |shard| {
            shard.reset(&self.rules, &self.shared.mark, (hash, now))
        })
        .unwrap_or_else(|moved| moved.reset(hash, now))
    }

    /// What a stripe has counted, or where it has moved.
    pub(crate) fn counts(&self, stripe: usize) -> Result<Counts, Next<A>> {
        self.with_shard(stripe, |shard| shard.counts())
    }

    /// Where a stripe has moved, if it has.
    pub(crate) fn moved(&self, stripe: usize) -> Option<Next<A>> {
        self.with_shard(stripe, |_| ()).err()
    }

    /// Gives a stripe to the store that comes after this one; says how many debts were above the new limit.
    pub(crate) fn hand_over(&self, stripe: usize, next: &Arc<Store<A>>) -> u64 {
        let mut room = self.stripes[stripe].0.lock();
        // The lock is held until the new store has it all: a key is never in neither.
        match std::mem::replace(&mut *room, Room::Moved(Next::Store(Arc::clone(next)))) {
            Room::Here(shard) => self.carry_over(shard, stripe, next),
            Room::Moved(_) => 0,
        }
    }

    /// The same where from now on several sets of parameters judge.
    pub(super) fn hand_over_to_plans(&self, stripe: usize, next: &Arc<View<A>>) -> u64 {
        let successor = Next::Plans(Arc::<View<A>>::clone(next));
        let mut room = self.stripes[stripe].0.lock();
        match std::mem::replace(&mut *room, Room::Moved(successor)) {
            Room::Here(shard) => self.open_accounts(shard, stripe, next.store()),
            Room::Moved(_) => 0,
        }
    }

    /// Puts the keys and cells of one stripe into a store of accounts.
    fn open_accounts(
        &self,
        shard: Shard<A::State>,
        stripe: usize,
        next: &Store<Planned<A>>,
    ) -> u64 {
        let (table, cells, counts) = shard.take_apart();
        let (layout, rules, now) = (self.rules.layout, &self.rules, self.shared.mark.get());
        next.take_counts(layout, stripe, &counts);
        let mut forgiven = 0_u64;
        let mut opened = |state| {
            let (state, carried) = next.algorithm().state_of(state, now, &rules.algorithm);
            forgiven = forgiven.saturating_add(u64::from(carried == CarriedOver::Forgiven));
            state
        };
        for (cell, state) in cells.iter().enumerate() {
            next.take_cell(layout, (stripe, cell), &opened(state.clone()));
        }
        for (hash, state) in table.into_iter() {
            next.take_key(hash, opened(state));
        }
        forgiven
    }

    fn carry_over(&self, mut shard: Shard<A::State>, stripe: usize, next: &Store<A>) -> u64 {
        let now = self.shared.mark.get();
        let mut forgiven = 0_u64;
        for state in shard.states_mut() {
            let carried = next.algorithm().carry_over(state, now, &self.rules.algorithm);
            forgiven = forgiven.saturating_add(u64::from(carried == CarriedOver::Forgiven));
        }
        match &next.kind {
            Kind::Sharded(sharded) if sharded.is_laid_out_like(self) => {
                *sharded.stripes[stripe].0.lock() = Room::Here(shard);
            }
            Kind::Sharded(_) | Kind::Lines(_) => self.spread(shard, stripe, next),
        }
        forgiven
    }

    fn is_laid_out_like(&self, other: &Self) -> bool {
        self.rules.layout == other.rules.layout && self.rules.on_full == other.rules.on_full
    }

    /// Puts the keys and cells of one stripe where they belong in a store laid out otherwise.
    fn spread(&self, shard: Shard<A::State>, stripe: usize, next: &Store<A>) {
        let (table, cells, counts) = shard.take_apart();
        next.take_counts(self.rules.layout, stripe, &counts);
        for (cell, state) in cells.iter().enumerate() {
            next.take_cell(self.rules.layout, (stripe, cell), state);
        }
        for (hash, state) in table.into_iter() {
            next.take_key(hash, state);
        }
    }

    pub(crate) fn take_key(&self, hash: u64, state: A::State) {
        self.in_new(self.rules.layout.stripe(hash), |shard| {
            shard.admit(&self.rules, &self.shared.mark, (hash, state));
        });
    }

    pub(crate) fn join_cell(&self, hash: u64, state: &A::State) {
        self.in_new(self.rules.layout.stripe(hash), |shard| {
            shard.join_cell(&self.rules, &self.shared.mark, hash, state);
        });
    }

    pub(crate) fn add_counts(&self, stripe: usize, counts: &Counts) {
        self.in_new(stripe, |shard| shard.add_counts(counts));
    }

    /// Works on a stripe of a store that is being filled, and so has not moved on yet.
    fn in_new(&self, stripe: usize, work: impl FnOnce(&mut Shard<A::State>)) {
        let moved = self.with_shard(stripe, work);
        debug_assert!(moved.is_ok(), "a store is filled before it is moved on");
    }

    /// Runs `work` under a stripe's lock, or says which store its keys have moved to.
    #[inline]
    fn with_shard<T>(
        &self,
        stripe: usize,
        work: impl FnOnce(&mut Shard<A::State>) -> T,
    ) -> Result<T, Next<A>> {
        match &mut *self.stripes[stripe].0.lock() {
            Room::Here(shard) => Ok(work(shard)),
            Room::Moved(next) => Err(next.clone()),
        }
    }

    /// Checks a stripe, for tests.
    #[cfg(all(any(test, fuzzing), not(loom)))]
    pub(crate) fn validate(&self, stripe: usize) {
        let checked = self.with_shard(stripe, |shard| shard.validate(&self.rules, stripe));
        assert!(checked.is_ok(), "only the store in use is checked");
    }
}
