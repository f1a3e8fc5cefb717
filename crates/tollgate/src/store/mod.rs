//! Where the state of keys lies: found by hash, changed one step at a time for each key, bounded.
//!
//! A store knows nothing of rates. It runs an algorithm's decide and charge as one step for a key, forgets what is
//! whole, and keeps within its bound by the algorithm's debt and join. There are two: [`sharded`], for any state, and
//! [`lines`], for small ones; no caller knows which it has.

mod cells;
mod counts;
mod held;
mod layout;
mod lines;
mod mark;
mod rules;
mod shard;
mod sharded;
mod sync;
mod table;
mod tally;
mod view;

use std::sync::Arc;

use self::held::Refund;
use self::layout::Layout;
use self::lines::Lines;
use self::rules::Rules;
use self::sharded::Sharded;
use self::tally::Tally;
use self::view::Next;
use crate::algorithm::{Algorithm, Timeline};
use crate::clock::Time;
use crate::config::{Bounds, OnFull};
use crate::decision::RateLimitResult;

pub use counts::Counts;
pub(crate) use held::{Charge, Held};
pub(crate) use mark::Mark;
pub(crate) use view::View;

/// Below so many keys the sharded store is small enough to lie in the cache, and takes less memory.
const LINES_FROM_KEYS: u64 = 4_096;

/// The keys of one limiter.
#[derive(Debug)]
pub(crate) struct Store<A: Algorithm> {
    shared: Arc<Shared>,
    kind: Kind<A>,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "there is one a limiter, and a box is one more load")]
enum Kind<A: Algorithm> {
    Sharded(Sharded<A>),
    Lines(Lines<A>),
}

/// What outlives a store: a reload hands it on.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    mark: Mark,
    tally: Tally,
}

/// What a reset found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResetReport {
    /// Whether the key had state of its own, which is gone now.
    pub had_state: bool,
    /// Whether the overflow cell the key now starts from still has debt, of this key or of others that had to leave.
    pub inherits_debt: bool,
}

impl<A: Algorithm> Store<A> {
    pub(crate) fn new(algorithm: A, bounds: Bounds) -> Self {
        Self::with_shared(algorithm, bounds, Arc::default())
    }

    fn with_shared(algorithm: A, bounds: Bounds, shared: Arc<Shared>) -> Self {
        let rules = Rules::new(algorithm, bounds.on_full, Self::layout(bounds));
        let kind = if Self::lies_in_lines(bounds) {
            Kind::Lines(Lines::new(rules, Arc::clone(&shared)))
        } else {
            Kind::Sharded(Sharded::new(rules, Arc::clone(&shared)))
        };
        Self { shared, kind }
    }

    /// Not where keys are held while other limits judge: a line's lock is meant to be held for nanoseconds, and what is
    /// saved by it is lost on the section's.
    const fn lies_in_lines(bounds: Bounds) -> bool {
        A::PACKING.is_some() && bounds.max_keys >= LINES_FROM_KEYS && !bounds.in_company
    }

    fn layout(bounds: Bounds) -> Layout {
        if Self::lies_in_lines(bounds) {
            Layout::of_sections(bounds.max_keys)
        } else {
            Layout::of_stripes(bounds.max_keys)
        }
    }

    /// The most bytes that a store of these bounds and its cells can take, without what states have on the heap.
    pub(crate) fn bytes_max(bounds: Bounds) -> u64 {
        let layout = Self::layout(bounds);
        let stripe = if Self::lies_in_lines(bounds) {
            Lines::<A>::bytes_max(layout)
        } else {
            Sharded::<A>::bytes_max(layout)
        };
        let has_cells = bounds.on_full == OnFull::Overflow;
        let cells = if has_cells { layout.cells_per_stripe() } else { 0 };
        let stripe = stripe.saturating_add(cells.saturating_mul(size_of::<A::State>()));
        u64::try_from(stripe.saturating_mul(layout.stripes())).unwrap_or(u64::MAX)
    }

    const fn rules(&self) -> &Rules<A> {
        match &self.kind {
            Kind::Sharded(sharded) => sharded.rules(),
            Kind::Lines(lines) => lines.rules(),
        }
    }

    pub(crate) const fn algorithm(&self) -> &A {
        &self.rules().algorithm
    }

    /// The quota of the parameters in force.
    pub(crate) fn limit(&self) -> u32 {
        let moved = match &self.kind {
            Kind::Sharded(sharded) => sharded.moved(0),
            Kind::Lines(lines) => lines.moved(0).map(Next::Store),
        };
        moved.map_or_else(|| self.algorithm().limit(), |next| next.limit())
    }

    /// Judges a call and charges it where it is allowed, as one step; `answer` makes of the result what the caller
    /// wants.
    ///
    /// A key found at once takes a short way of its own. Its result is built after the lock, in the place where the
    /// caller wants it, and copied nowhere: copies of what was written in smaller parts a moment ago stall, and took
    /// a third of the time.
    ///
    /// The clock is read when the key's line has been asked for: reading a time stamp counter waits for reads, and not
    /// for what was only asked for.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a result that is copied stalls")]
    pub(crate) fn decide<T>(
        &self,
        (hash, cost): (u64, u64),
        clock: impl FnOnce() -> Time,
        answer: impl Fn(RateLimitResult) -> T,
    ) -> T {
        let now = match &self.kind {
            Kind::Sharded(sharded) => {
                let now = clock();
                if let Some(decision) = sharded.decide_held(hash, now, cost) {
                    return answer(RateLimitResult::new(
                        decision,
                        sharded.rules().algorithm.limit(),
                    ));
                }
                now
            }
            Kind::Lines(lines) => {
                let home = lines.home_line(hash);
                home.prefetch();
                let now = clock();
                if let Some(decision) = lines.decide_at_home(home, (hash, now, cost)) {
                    return answer(RateLimitResult::new(decision, lines.rules().algorithm.limit()));
                }
                now
            }
        };
        answer(self.decide_anywhere(hash, now, cost))
    }

    /// Judges a call and charges it where it is allowed, wherever its key is, and if it is nowhere.
    #[cold]
    #[inline(never)]
    fn decide_anywhere(&self, hash: u64, now: Time, cost: u64) -> RateLimitResult {
        match &self.kind {
            Kind::Sharded(sharded) => sharded.decide(hash, now, cost),
            Kind::Lines(lines) => lines.decide(hash, now, cost),
        }
    }

    /// Hands a key on while its lock is held, so that other limits judge meanwhile.
    #[inline]
    pub(crate) fn hold(
        self: &Arc<Self>,
        call: (u64, Time, u64),
        then: &mut dyn FnMut(&mut dyn Held),
    ) {
        let moved = match &self.kind {
            Kind::Sharded(sharded) => sharded.hold((self, sharded.rules()), call, then),
            Kind::Lines(lines) => lines.hold(self, call, then).map(Next::Store),
        };
        if let Some(next) = moved {
            next.hold(call, then);
        }
    }

    /// A number that orders the locks of stores which are held together. A store and those it moves to share one mark,
    /// so they have one rank too.
    pub(crate) fn rank(&self) -> usize {
        Arc::as_ptr(&self.shared).addr()
    }

    /// Asks for the memory in which a key lies, most likely, without waiting for it.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) {
        match &self.kind {
            Kind::Sharded(_) => {}
            Kind::Lines(lines) => lines.prefetch(hash),
        }
    }

    /// Judges a call without charging it.
    pub(crate) fn look(&self, hash: u64, now: Time, cost: u64) -> RateLimitResult {
        match &self.kind {
            Kind::Sharded(sharded) => {
                let looked = sharded.look(sharded.rules(), (hash, now, cost));
                looked.unwrap_or_else(|moved| moved.look((hash, now, cost)))
            }
            Kind::Lines(lines) => lines.look(hash, now, cost),
        }
    }

    /// A key's state and the time it would be judged at, with the parameters in force: to reckon with, apart from the
    /// store.
    pub(crate) fn snapshot(&self, hash: u64, now: Time) -> (A, A::State, Time) {
        let found = match &self.kind {
            Kind::Sharded(sharded) => sharded.snapshot(hash, now),
            Kind::Lines(lines) => lines.snapshot(hash, now).map_err(Next::Store),
        };
        match found {
            Ok((state, now)) => (self.algorithm().clone(), state, now),
            Err(moved) => moved.snapshot(hash, now),
        }
    }

    /// Forgets a key's own state.
    pub(crate) fn reset(&self, hash: u64, now: Time) -> ResetReport {
        match &self.kind {
            Kind::Sharded(sharded) => sharded.reset(hash, now),
            Kind::Lines(lines) => lines.reset(hash, now),
        }
    }

    /// What was counted, here and where the keys have moved since.
    pub(crate) fn counts(&self, now: Time) -> Counts {
        let mut total = self.stripe_counts();
        let (allowed, denied) = self.shared.tally.sum();
        total.add(&Counts { allowed, denied, ..Counts::default() });
        total.mark_ahead_ms = self.shared.mark.get().nanos_since(now) / 1_000_000;
        total
    }

    fn stripe_counts(&self) -> Counts {
        let mut total = Counts::default();
        let mut moved_to = None;
        for stripe in 0..self.rules().layout.stripes() {
            let counted = match &self.kind {
                Kind::Sharded(sharded) => sharded.counts(stripe),
                Kind::Lines(lines) => lines.counts(stripe).map_err(Next::Store),
            };
            match counted {
                Ok(counts) => total.add(&counts),
                Err(next) => moved_to = Some(next),
            }
        }
        if let Some(next) = moved_to {
            total.add(&next.stripe_counts());
        }
        total
    }

    /// A store under other parameters or bounds, with all that this one holds: every debt, as of `now`. Says too how
    /// many keys had more debt than their new limit, the rest of which is forgiven.
    pub(crate) fn moved_to(&self, algorithm: A, bounds: Bounds, now: Time) -> (Arc<Self>, u64) {
        self.shared.mark.raise(now);
        let next = Arc::new(Self::with_shared(algorithm, bounds, Arc::clone(&self.shared)));
        let forgiven = self.hand_over(&next);
        (next, forgiven)
    }

    /// Gives all that it holds to the store that comes after it; says how many debts were above the new limit.
    ///
    /// Goes stripe by stripe while decisions go on. Who asks for a key of a stripe that has moved is sent on to the
    /// new store, so every charge lies before its key's move or after it, and nobody waits for more than one stripe's
    /// share.
    fn hand_over(&self, next: &Arc<Self>) -> u64 {
        let hand_over = |stripe| match &self.kind {
            Kind::Sharded(sharded) => sharded.hand_over(stripe, next),
            Kind::Lines(lines) => lines.hand_over(stripe, next),
        };
        let stripes = 0..self.rules().layout.stripes();
        stripes.map(hand_over).fold(0, u64::saturating_add)
    }

    /// Takes in a key of a store that is moving here, its state carried over. One that is whole is left behind: it
    /// would make others leave, or be counted as one that had to.
    fn take_key(&self, hash: u64, state: A::State) {
        if self.algorithm().debt(&state, self.shared.mark.get()) == 0 {
            return;
        }
        match &self.kind {
            Kind::Sharded(sharded) => sharded.take_key(hash, state),
            Kind::Lines(lines) => lines.take_key(hash, &state),
        }
    }

    /// Takes in a cell of a store that is moving here, its state carried over.
    fn take_cell(&self, from: Layout, (stripe, cell): (usize, usize), state: &A::State) {
        if self.algorithm().debt(state, self.shared.mark.get()) == 0 {
            return;
        }
        for hash in self.rules().layout.hashes_of_cell(from, stripe, cell) {
            match &self.kind {
                Kind::Sharded(sharded) => sharded.join_cell(hash, state),
                Kind::Lines(lines) => lines.join_cell(hash, state),
            }
        }
    }

    /// Goes on from what a stripe of a store that is moving here has counted.
    fn take_counts(&self, from: Layout, stripe: usize, counts: &Counts) {
        let stripe = self.rules().layout.stripe(from.hash_in(stripe, 0));
        match &self.kind {
            Kind::Sharded(sharded) => sharded.add_counts(stripe, counts),
            Kind::Lines(lines) => lines.add_counts(stripe, counts),
        }
    }

    /// Checks the whole store, for tests.
    #[cfg(all(any(test, fuzzing), not(loom)))]
    fn validate(&self) {
        for stripe in 0..self.rules().layout.stripes() {
            match &self.kind {
                Kind::Sharded(sharded) => sharded.validate(stripe),
                Kind::Lines(lines) => lines.validate(stripe),
            }
        }
    }
}

impl<A: Algorithm> Refund for Store<A> {
    /// Under other parameters than those it was charged by, a charge cannot be told from others, so it stays.
    fn refund(&self, charge: &Charge, now: Time) -> bool {
        let refunded = match &self.kind {
            Kind::Sharded(sharded) => sharded.refund(charge, now),
            Kind::Lines(lines) => lines.refund(charge, now).map_err(Next::Store),
        };
        refunded.unwrap_or_else(|moved| match moved {
            Next::Store(next) => next.algorithm() == self.algorithm() && next.refund(charge, now),
            Next::Plans(_) => false,
        })
    }

    fn timeline(&self) -> Timeline {
        A::TIMELINE
    }
}

#[cfg(all(any(test, fuzzing), not(loom)))]
pub(crate) mod tests;
