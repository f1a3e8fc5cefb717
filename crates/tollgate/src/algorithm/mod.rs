//! The algorithms: pure state machines that own no clock, no lock, no map and no I/O.
//!
//! [`Algorithm`] is what they have in common, and what one of your own implements. It comes down to four questions
//! about one key, put by the store under the key's lock: may this call proceed ([`decide`](Algorithm::decide)), what is
//! left behind when it does ([`charge`](Algorithm::charge)), how much has the key used ([`debt`](Algorithm::debt): a
//! key without any is forgotten, and who has least leaves a full table), and what is at least as strict as two states
//! ([`join`](Algorithm::join): so is a key remembered that had to leave). A fifth,
//! [`carry_over`](Algorithm::carry_over), is put when limits change, and [`charge_beside`](Algorithm::charge_beside)
//! where a client's plan decides and the other plans only count.
//!
//! Each algorithm's file opens with the idea, a drawing, the state and its size, the promise and its worst case, and
//! when not to use it. The types here are what they keep for a key.

mod anchor;
mod calendar;
mod calendar_window;
mod fixed_window;
mod packed_time;
mod parts;
mod sliding_window_counter;
mod sliding_window_log;
mod stamp_ring;
mod token_bucket;
mod token_bucket_builder;
mod window_count;
mod window_quota;

use std::fmt::Debug;
use std::time::Duration;

use crate::clock::Time;
use crate::decision::Decision;
use crate::parameters::Faults;

pub(crate) use anchor::Anchor;
pub use calendar::{Offset, Period};
pub use calendar_window::CalendarWindow;
pub use fixed_window::FixedWindow;
pub(crate) use sliding_window_counter::CounterFigures;
pub use sliding_window_counter::{SlidingWindowCounter, SlidingWindowCounterState};
pub use sliding_window_log::SlidingWindowLog;
pub use stamp_ring::SlidingWindowLogState;
pub(crate) use token_bucket::BucketFigures;
pub use token_bucket::{TokenBucket, TokenBucketState};
pub use token_bucket_builder::TokenBucketBuilder;
pub use window_count::FixedWindowState;
pub use window_quota::WINDOW_MS;

/// A rate limiting algorithm: a pure state machine of (parameters, a key's state, now).
///
/// The parameters are `self`; a key's state and the time are arguments. Implement it to bring an algorithm of
/// your own; [`Keyed`](crate::Keyed) gives it keys, atomicity, bounded memory, live reload and counts, and
/// [`LimiterFactory::register`](crate::LimiterFactory::register) a name that config files can use.
///
/// `now` never goes back by more than a millisecond for one key, but it may by less: treat an earlier time as
/// the latest one the state knows, and let subtractions saturate.
pub trait Algorithm: Clone + PartialEq + Debug + Send + Sync + 'static {
    /// What is kept for one key. The default is a key never seen, which has its whole quota.
    type State: Clone + Default + Debug + Send + 'static;

    /// How a state that fits 12 bytes is packed into them, so that keys can lie three to a cache line. Only the
    /// built-in algorithms can say so.
    #[doc(hidden)]
    const PACKING: Option<Packing<Self::State>> = None;

    /// What the times it is given are.
    const TIMELINE: Timeline = Timeline::Monotonic;

    /// The quota: the largest cost that can ever be met. At least 1.
    fn limit(&self) -> u32;

    /// Judges a call of this cost, and only reads. The cost is at most [`limit`](Self::limit); a cost of 0 is
    /// always allowed. The figures of an allowed call are those after its charge.
    fn decide(&self, state: &Self::State, now: Time, cost: u32) -> Decision;

    /// Takes the cost of a call that was allowed at this very state and time.
    fn charge(&self, state: &mut Self::State, now: Time, cost: u32);

    /// Both in one, as the stores run it: judges a call, and takes its cost where it is allowed. An algorithm may say
    /// it in a cheaper way.
    #[doc(hidden)]
    #[inline]
    fn decide_and_charge(&self, state: &mut Self::State, now: Time, cost: u32) -> Decision {
        let decision = self.decide(state, now, cost);
        if decision.allowed() && cost > 0 {
            self.charge(state, now, cost);
        }
        decision
    }

    /// Counts a call that was allowed under other parameters of the same algorithm, such as those of the client's plan:
    /// `judged` are those parameters, and the state that the call left behind there. It takes the cost, or where not so
    /// much is left, leaves nothing; so no client has more left here than one that used all of it. Says whether the
    /// whole cost was taken.
    fn charge_beside(
        &self,
        state: &mut Self::State,
        now: Time,
        cost: u32,
        _judged: (&Self, &Self::State),
    ) -> bool {
        let fits = cost <= self.limit() && self.decide(state, now, cost).allowed();
        if !fits {
            *state = Self::State::default();
        }
        self.charge(state, now, if fits { cost } else { self.limit() });
        fits
    }

    /// The same with one of several sets of parameters as the one that judges, where there are several.
    #[doc(hidden)]
    fn views(&self) -> Vec<Self> {
        Vec::new()
    }

    /// What a [`refund_all`](Self::refund_all) has to know beside the trace.
    #[doc(hidden)]
    fn other_traces(&self, _state: &Self::State) -> Vec<[u64; 2]> {
        Vec::new()
    }

    /// As [`refund`](Self::refund), to all that a state consists of.
    #[doc(hidden)]
    fn refund_all(
        &self,
        _state: &mut Self::State,
        _now: Time,
        _cost: u32,
        _traces: &[[u64; 2]],
    ) -> bool {
        false
    }

    /// What a [`refund`](Self::refund) of a charge has to know later of the state right after it.
    fn trace(&self, _state: &Self::State) -> [u64; 2] {
        [0; 2]
    }

    /// Gives back the cost of a charge that turned out not to be due; says whether anything was given back. `trace` is
    /// what [`trace`](Self::trace) said right after the charge. Nothing is given back once the key would have been
    /// whole, and never more than makes it whole. By default nothing is.
    fn refund(&self, _state: &mut Self::State, _now: Time, _cost: u32, _trace: [u64; 2]) -> bool {
        false
    }

    /// The most that may be admitted in any time of this length; `None` where that is not known. By default it is not.
    fn most_in(&self, _time: Duration) -> Option<u64> {
        None
    }

    /// The time over which the quota is given, as it is told to clients: a window's length, or how long an empty bucket
    /// takes to be whole. `None` where there is no one time, as by default.
    fn quota_window(&self) -> Option<Duration> {
        None
    }

    /// How much of its quota the key has used: 0 exactly when it has all of it (the key may be forgotten), else
    /// a number that rises with the units used (the key with the lowest leaves first when the table is full).
    fn debt(&self, state: &Self::State, now: Time) -> u64;

    /// Makes `state` at least as strict as both states are at `now` and ever after. So is a key that had to leave
    /// remembered: joined with others.
    fn join(&self, state: &mut Self::State, other: &Self::State, now: Time);

    /// The state a new key starts from when its overflow cell holds `cell`: as it is, unless that would let a key
    /// that leaves and returns take its quota again.
    fn enter(&self, cell: &Self::State, _now: Time) -> Self::State {
        cell.clone()
    }

    /// Turns a state kept under the parameters `from` into one under these, with the same debt, as of `now`.
    fn carry_over(&self, state: &mut Self::State, now: Time, from: &Self) -> CarriedOver;
}

/// How a state is packed into 12 bytes. A state of all zeroes is a key never seen.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Packing<S> {
    pub(crate) pack: fn(&S) -> (u64, u32),
    pub(crate) unpack: fn(u64, u32) -> S,
}

impl<S: Default> Packing<S> {
    /// Stands where states are not packed, in code that is compiled for them too and never run.
    pub(crate) const UNUSED: Self = Self { pack: |_| (0, 0), unpack: |_, _| S::default() };
}

/// What the times that an algorithm is given are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Timeline {
    /// Times of the limiter's [`Clock`](crate::Clock), which goes forward evenly from an origin that means nothing.
    Monotonic,
    /// Times of day, from the limiter's [`WallClock`](crate::WallClock), since 1970-01-01 00:00:00 UTC. They may step,
    /// though what an algorithm is given never goes back by more than on any other timeline.
    Calendar,
}

/// Whether a key's debt survived a change of parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a debt is kept or it is not")]
pub enum CarriedOver {
    /// All of it.
    Whole,
    /// Up to the new limit: what was above it is forgiven.
    Forgiven,
}

/// What can be turned into an algorithm: an algorithm itself, or a builder whose numbers are still to be checked.
pub trait IntoAlgorithm {
    /// The algorithm.
    type Algorithm: Algorithm;

    /// Checks the numbers.
    ///
    /// # Errors
    /// Every parameter that is out of range.
    fn into_algorithm(self) -> Result<Self::Algorithm, Faults>;
}

impl<A: Algorithm> IntoAlgorithm for A {
    type Algorithm = A;

    fn into_algorithm(self) -> Result<A, Faults> {
        Ok(self)
    }
}

impl<A: Algorithm> IntoAlgorithm for Result<A, Faults> {
    type Algorithm = A;

    fn into_algorithm(self) -> Self {
        self
    }
}
