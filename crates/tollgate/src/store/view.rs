//! A store whose keys have accounts under several sets of parameters, as the one of them that judges sees it; and what
//! comes after a store, which may be such a one.

use std::fmt::Debug;
use std::sync::Arc;

use super::held::{Charge, Held, Refund};
use super::{Counts, Kind, ResetReport, Store};
use crate::algorithm::{Algorithm, Timeline};
use crate::clock::Time;
use crate::config::Bounds;
use crate::decision::RateLimitResult;
use crate::planned::{Planned, TermsOf};

/// A call of a key, by its hash: when, and at what cost.
type Call = (u64, Time, u64);

/// One set of parameters over a store of several.
#[derive(Debug)]
pub(crate) struct View<A: Algorithm> {
    store: Arc<Store<Planned<A>>>,
    of: TermsOf,
    /// Where they stand among all.
    judge: usize,
}

impl<A: Algorithm> View<A> {
    /// Parameters that are gone are those of everybody, or else the first.
    pub(crate) fn new(store: Arc<Store<Planned<A>>>, of: TermsOf) -> Self {
        let planned = store.algorithm();
        let judge = planned.position(of).or_else(|| planned.position(TermsOf::Everybody));
        Self { judge: judge.unwrap_or(0), store, of }
    }

    /// The same over another store.
    fn over(&self, store: &Arc<Store<Planned<A>>>) -> Self {
        Self::new(Arc::clone(store), self.of)
    }

    pub(crate) const fn store(&self) -> &Arc<Store<Planned<A>>> {
        &self.store
    }

    /// The parameters, with those that judge.
    fn planned(&self) -> &Planned<A> {
        match &self.store.kind {
            Kind::Sharded(sharded) => &sharded.view(self.judge).algorithm,
            // Accounts have no one size, so they do not lie in lines.
            Kind::Lines(lines) => &lines.rules().algorithm,
        }
    }

    /// Hands a key on while its lock is held.
    pub(crate) fn hold(&self, call: Call, then: &mut dyn FnMut(&mut dyn Held)) {
        let moved = match &self.store.kind {
            Kind::Sharded(sharded) => {
                sharded.hold((&self.store, sharded.view(self.judge)), call, then)
            }
            Kind::Lines(lines) => lines.hold(&self.store, call, then).map(Next::Store),
        };
        match moved {
            Some(Next::Store(next)) => self.over(&next).hold(call, then),
            Some(Next::Plans(next)) => next.hold(call, then),
            None => {}
        }
    }

    /// Judges a call and charges it where it is allowed, as one step.
    pub(crate) fn decide(&self, call: Call) -> RateLimitResult {
        let mut said = RateLimitResult::unlimited();
        self.hold(call, &mut |held| said = *held.decide());
        said
    }

    /// Judges a call without charging it.
    pub(crate) fn look(&self, (hash, now, cost): Call) -> RateLimitResult {
        let looked = match &self.store.kind {
            Kind::Sharded(sharded) => sharded.look(sharded.view(self.judge), (hash, now, cost)),
            Kind::Lines(lines) => Ok(lines.look(hash, now, cost)),
        };
        match looked {
            Ok(result) => result,
            Err(Next::Store(next)) => self.over(&next).look((hash, now, cost)),
            Err(Next::Plans(next)) => next.look((hash, now, cost)),
        }
    }

    /// The state that judges a key and the time it would be judged at, with the parameters in force.
    pub(crate) fn snapshot(&self, hash: u64, now: Time) -> (A, A::State, Time) {
        let found = match &self.store.kind {
            Kind::Sharded(sharded) => sharded.snapshot(hash, now),
            Kind::Lines(lines) => lines.snapshot(hash, now).map_err(Next::Store),
        };
        let judged = |planned: &Planned<A>, state, now| {
            (planned.judge().clone(), planned.judged_state(&state, now), now)
        };
        match found {
            Ok((state, now)) => judged(self.planned(), state, now),
            Err(Next::Store(next)) => self.over(&next).snapshot(hash, now),
            Err(Next::Plans(next)) => {
                let (planned, state, now) = next.snapshot(hash, now);
                judged(&planned, state, now)
            }
        }
    }

    /// The quota of the parameters in force.
    pub(crate) fn limit(&self) -> u32 {
        let moved = match &self.store.kind {
            Kind::Sharded(sharded) => sharded.moved(0),
            Kind::Lines(lines) => lines.moved(0).map(Next::Store),
        };
        match moved {
            Some(Next::Store(next)) => self.over(&next).limit(),
            Some(Next::Plans(next)) => next.limit(),
            None => self.planned().limit(),
        }
    }
}

/// The store to which a stripe has moved.
#[derive(Debug)]
pub(super) enum Next<A: Algorithm> {
    Store(Arc<Store<A>>),
    /// One in which keys have an account under the parameters before, and others.
    Plans(Arc<dyn Successor<A>>),
}

impl<A: Algorithm> Clone for Next<A> {
    fn clone(&self) -> Self {
        match self {
            Self::Store(next) => Self::Store(Arc::clone(next)),
            Self::Plans(next) => Self::Plans(Arc::clone(next)),
        }
    }
}

/// What a store asks of one that took over its keys for several sets of parameters.
pub(super) trait Successor<A: Algorithm>: Debug + Send + Sync {
    fn decide(&self, call: Call) -> RateLimitResult;
    fn hold(&self, call: Call, then: &mut dyn FnMut(&mut dyn Held));
    fn look(&self, call: Call) -> RateLimitResult;
    fn snapshot(&self, hash: u64, now: Time) -> (A, A::State, Time);
    fn reset(&self, hash: u64, now: Time) -> ResetReport;
    fn stripe_counts(&self) -> Counts;
    fn limit(&self) -> u32;
}

impl<A: Algorithm> Successor<A> for View<A> {
    fn decide(&self, call: Call) -> RateLimitResult {
        Self::decide(self, call)
    }

    fn hold(&self, call: Call, then: &mut dyn FnMut(&mut dyn Held)) {
        Self::hold(self, call, then);
    }

    fn look(&self, call: Call) -> RateLimitResult {
        Self::look(self, call)
    }

    fn snapshot(&self, hash: u64, now: Time) -> (A, A::State, Time) {
        Self::snapshot(self, hash, now)
    }

    fn reset(&self, hash: u64, now: Time) -> ResetReport {
        self.store.reset(hash, now)
    }

    fn stripe_counts(&self) -> Counts {
        self.store.stripe_counts()
    }

    fn limit(&self) -> u32 {
        Self::limit(self)
    }
}

impl<A: Algorithm> Next<A> {
    #[cold]
    #[inline(never)]
    pub(super) fn decide(&self, (hash, now, cost): Call) -> RateLimitResult {
        match self {
            Self::Store(next) => next.decide_anywhere(hash, now, cost),
            Self::Plans(next) => next.decide((hash, now, cost)),
        }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn hold(&self, call: Call, then: &mut dyn FnMut(&mut dyn Held)) {
        match self {
            Self::Store(next) => next.hold(call, then),
            Self::Plans(next) => next.hold(call, then),
        }
    }

    pub(super) fn look(&self, (hash, now, cost): Call) -> RateLimitResult {
        match self {
            Self::Store(next) => next.look(hash, now, cost),
            Self::Plans(next) => next.look((hash, now, cost)),
        }
    }

    pub(super) fn snapshot(&self, hash: u64, now: Time) -> (A, A::State, Time) {
        match self {
            Self::Store(next) => next.snapshot(hash, now),
            Self::Plans(next) => next.snapshot(hash, now),
        }
    }

    pub(super) fn reset(&self, hash: u64, now: Time) -> ResetReport {
        match self {
            Self::Store(next) => next.reset(hash, now),
            Self::Plans(next) => next.reset(hash, now),
        }
    }

    pub(super) fn stripe_counts(&self) -> Counts {
        match self {
            Self::Store(next) => next.stripe_counts(),
            Self::Plans(next) => next.stripe_counts(),
        }
    }

    pub(super) fn limit(&self) -> u32 {
        match self {
            Self::Store(next) => next.limit(),
            Self::Plans(next) => next.limit(),
        }
    }
}

impl<A: Algorithm> Store<A> {
    /// A store of several sets of parameters, with all that this one holds as of `now`, seen by those of everybody.
    /// Says too how many debts were above a new limit.
    pub(crate) fn moved_to_plans(
        &self,
        planned: Planned<A>,
        bounds: Bounds,
        now: Time,
    ) -> (Arc<View<A>>, u64) {
        // From lines first to stripes, which know the way on.
        let (stripes, _) =
            self.moved_to(self.algorithm().clone(), Bounds { in_company: true, ..bounds }, now);
        let shared = Arc::clone(&self.shared);
        let store = Arc::new(Store::with_shared(planned, bounds, shared));
        let view = Arc::new(View::new(store, TermsOf::Everybody));
        let mut forgiven = 0_u64;
        if let Kind::Sharded(sharded) = &stripes.kind {
            for stripe in 0..sharded.rules().layout.stripes() {
                forgiven = forgiven.saturating_add(sharded.hand_over_to_plans(stripe, &view));
            }
        }
        (view, forgiven)
    }
}

/// A charge by several sets of parameters, with what each has to know to give it back.
#[derive(Debug)]
pub(super) struct ChargeOfAll<A: Algorithm> {
    pub(super) store: Arc<Store<A>>,
    pub(super) traces: Vec<[u64; 2]>,
}

impl<A: Algorithm> Refund for ChargeOfAll<A> {
    fn refund(&self, charge: &Charge, now: Time) -> bool {
        let mut store = Arc::clone(&self.store);
        loop {
            let Kind::Sharded(sharded) = &store.kind else { return false };
            let next = match sharded.refund_all((charge, &self.traces), now) {
                Ok(refunded) => return refunded,
                Err(Next::Store(next)) if next.algorithm() == self.store.algorithm() => next,
                Err(_) => return false,
            };
            store = next;
        }
    }

    fn timeline(&self) -> Timeline {
        A::TIMELINE
    }
}
