//! One key while its stripe's lock is held: judged first, and charged when the limits beside it agree.

use std::sync::Arc;

use super::Store;
use super::mark::Mark;
use super::rules::Rules;
use super::shard::Shard;
use super::view::ChargeOfAll;
use crate::algorithm::{Algorithm, Timeline};
use crate::clock::Time;
use crate::concurrency::Place;
use crate::decision::{Decision, RateLimitResult};

/// A key whose lock is held.
pub(crate) trait Held {
    /// Judges the call as if this limit were alone; a denial is counted. Says whether it is allowed.
    fn judge(&mut self) -> bool;

    /// Judges, charges and counts a call at once, for the one that judges last.
    fn decide(&mut self) -> &RateLimitResult;

    /// Takes back what was said: from then on the figures are those that stand.
    fn restate(&mut self);

    /// What was said last: of a call that is allowed, with the figures after its charge. Kept here, where it was made,
    /// since each copy of it costs.
    fn said(&self) -> &RateLimitResult;

    /// Charges and counts a call that was judged to be allowed.
    fn charge(&mut self) -> &RateLimitResult;

    /// What it takes to give the charge back that was just made; `None` where nothing was charged.
    fn receipt(&self) -> Option<Charge>;

    /// The place that was just taken, of a call that says when it ends; `None` where there is nothing to return.
    fn place(&mut self) -> Option<Place> {
        None
    }

    /// Forgets the key's own state.
    fn forget(&mut self);
}

/// A charge that may be given back.
#[derive(Clone, Debug)]
pub(crate) struct Charge {
    pub(super) store: Arc<dyn Refund>,
    pub(super) hash: u64,
    pub(super) cost: u32,
    pub(super) trace: [u64; 2],
}

impl Charge {
    /// Gives it back; says whether anything was.
    pub(crate) fn refund(&self, now: Time) -> bool {
        self.store.refund(self, now)
    }

    /// What the time of a refund has to be.
    pub(crate) fn timeline(&self) -> Timeline {
        self.store.timeline()
    }
}

/// What can give a charge back.
pub(super) trait Refund: std::fmt::Debug + Send + Sync {
    fn refund(&self, charge: &Charge, now: Time) -> bool;

    /// What its times are.
    fn timeline(&self) -> Timeline;
}

/// A key, and the stripe that holds it or would.
pub(super) struct HeldKey<'a, A: Algorithm> {
    pub(super) store: &'a Arc<Store<A>>,
    pub(super) rules: &'a Rules<A>,
    pub(super) mark: &'a Mark,
    pub(super) shard: &'a mut Shard<A::State>,
    pub(super) hash: u64,
    pub(super) now: Time,
    pub(super) cost: u64,
    pub(super) said: RateLimitResult,
    /// Where the key is held, once it was judged.
    pub(super) slot: Option<usize>,
}

impl<A: Algorithm> HeldKey<'_, A> {
    /// What a call of a key that is held would be answered; `None` for a key that is not, and for a cost that can never
    /// be met.
    #[inline]
    fn judge_held(&mut self) -> Option<Decision> {
        let cost = self.rules.within_limit(self.cost)?;
        let state = self.shard.table.state_at(self.slot?)?;
        Some(self.rules.algorithm.decide(state, self.now, cost))
    }

    #[inline]
    fn say(&mut self, decision: Decision) {
        self.said = RateLimitResult::new(decision, self.rules.algorithm.limit());
    }
}

impl<A: Algorithm> Held for HeldKey<'_, A> {
    #[inline]
    fn judge(&mut self) -> bool {
        let call = (self.hash, self.now, self.cost);
        self.slot = self.shard.table.slot_of(self.hash);
        match self.judge_held() {
            Some(decision) => self.say(decision),
            None => self.say(self.shard.judge(self.rules, self.mark.get(), call)),
        }
        let allowed = self.said.allowed();
        if !allowed {
            self.shard.count(false);
        }
        allowed
    }

    #[inline]
    fn decide(&mut self) -> &RateLimitResult {
        let call = (self.hash, self.now, self.cost);
        let decision = self.shard.decide(self.rules, self.mark, call);
        self.say(decision);
        &self.said
    }

    fn restate(&mut self) {
        let call = (self.hash, self.now, 0);
        self.say(self.shard.judge(self.rules, self.mark.get(), call));
    }

    fn said(&self) -> &RateLimitResult {
        &self.said
    }

    #[inline]
    fn charge(&mut self) -> &RateLimitResult {
        self.shard.count(true);
        if let Some(cost) = self.rules.within_limit(self.cost).filter(|cost| *cost > 0) {
            if let Some(state) = self.slot.and_then(|slot| self.shard.table.state_at(slot)) {
                self.rules.algorithm.charge(state, self.now, cost);
            } else {
                let call = (self.hash, self.now, cost);
                self.shard.charge_newcomer(self.rules, self.mark, call);
            }
        }
        &self.said
    }

    fn receipt(&self) -> Option<Charge> {
        let cost = u32::try_from(self.cost).ok().filter(|cost| *cost > 0)?;
        let trace = self.shard.trace(self.rules, self.hash)?;
        let store = Arc::<Store<A>>::clone(self.store);
        let state = self.shard.table.get(self.hash)?;
        let traces = self.rules.algorithm.other_traces(state);
        let store: Arc<dyn Refund> =
            if traces.is_empty() { store } else { Arc::new(ChargeOfAll { store, traces }) };
        Some(Charge { store, hash: self.hash, cost, trace })
    }

    fn forget(&mut self) {
        self.shard.forget(self.hash);
    }
}

impl<S: Clone + Default> Shard<S> {
    /// What a refund has to know of the charge just made; `None` where the key went straight to its overflow cell.
    fn trace<A: Algorithm<State = S>>(&self, rules: &Rules<A>, hash: u64) -> Option<[u64; 2]> {
        self.table.get(hash).map(|state| rules.algorithm.trace(state))
    }

    /// Gives a charge back to a key that is held; says whether anything was.
    pub(super) fn refund<A: Algorithm<State = S>>(
        &mut self,
        rules: &Rules<A>,
        charge: &Charge,
        now: Time,
    ) -> bool {
        let refund = |state| rules.algorithm.refund(state, now, charge.cost, charge.trace);
        self.table.get_mut(charge.hash).is_some_and(refund)
    }

    fn forget(&mut self, hash: u64) {
        self.table.remove(hash);
    }
}
