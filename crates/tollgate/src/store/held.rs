//! One key while its stripe's lock is held: judged first, and charged when the limits beside it agree.

use super::mark::Mark;
use super::shard::{Rules, Shard};
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
}

/// A key, and the stripe that holds it or would.
pub(super) struct HeldKey<'a, A: Algorithm> {
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
}
