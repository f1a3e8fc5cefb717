//! One key while its stripe's lock is held: judged first, and charged when the limits beside it agree.

use std::sync::Arc;

use super::mark::Mark;
use super::shard::{Rules, Shard};
use super::sharded::Sharded;
use crate::algorithm::Algorithm;
use crate::clock::Time;
use crate::decision::RateLimitResult;

/// A key whose lock is held.
pub(crate) trait Held {
    /// What the call would be answered if this limit were alone, with the figures after its charge; a denial is
    /// counted.
    fn judge(&mut self) -> RateLimitResult;

    /// The key's figures as they stand.
    fn figures(&self) -> RateLimitResult;

    /// Charges and counts a call that was judged to be allowed.
    fn charge(&mut self);

    /// What it takes to give the charge back that was just made; `None` where nothing was charged.
    fn receipt(&self) -> Option<Charge>;

    /// Forgets the key's own state.
    fn forget(&mut self);
}

/// A charge that may be given back.
#[derive(Clone, Debug)]
pub(crate) struct Charge {
    store: Arc<dyn Refund>,
    pub(super) hash: u64,
    pub(super) cost: u32,
    pub(super) trace: [u64; 2],
}

impl Charge {
    /// Gives it back; says whether anything was.
    pub(crate) fn refund(&self, now: Time) -> bool {
        self.store.refund(self, now)
    }
}

/// What can give a charge back.
pub(super) trait Refund: std::fmt::Debug + Send + Sync {
    fn refund(&self, charge: &Charge, now: Time) -> bool;
}

/// A key, and the stripe that holds it or would.
pub(super) struct HeldKey<'a, A: Algorithm> {
    pub(super) store: &'a Arc<Sharded<A>>,
    pub(super) rules: &'a Rules<A>,
    pub(super) mark: &'a Mark,
    pub(super) shard: &'a mut Shard<A::State>,
    pub(super) hash: u64,
    pub(super) now: Time,
    pub(super) cost: u64,
}

impl<A: Algorithm> Held for HeldKey<'_, A> {
    fn judge(&mut self) -> RateLimitResult {
        let call = (self.hash, self.now, self.cost);
        let decision = self.shard.judge(self.rules, self.mark.get(), call);
        if !decision.allowed() {
            self.shard.count(false);
        }
        RateLimitResult::new(decision, self.rules.algorithm.limit())
    }

    fn figures(&self) -> RateLimitResult {
        let decision = self.shard.judge(self.rules, self.mark.get(), (self.hash, self.now, 0));
        RateLimitResult::new(decision, self.rules.algorithm.limit())
    }

    fn charge(&mut self) {
        self.shard.charge(self.rules, self.mark, (self.hash, self.now, self.cost));
        self.shard.count(true);
    }
    fn receipt(&self) -> Option<Charge> {
        let cost = u32::try_from(self.cost).ok().filter(|cost| *cost > 0)?;
        let trace = self.shard.trace(self.rules, self.hash)?;
        let store = Arc::<Sharded<A>>::clone(self.store);
        Some(Charge { store, hash: self.hash, cost, trace })
    }

    fn forget(&mut self) {
        self.shard.forget(self.hash);
    }
}
