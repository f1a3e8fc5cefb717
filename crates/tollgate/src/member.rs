//! A limiter that can decide together with others: it judges a key, keeps its lock while the others judge, and charges
//! when all agree.

use std::fmt::Debug;
use std::sync::Arc;

use crate::algorithm::Algorithm;
use crate::clock::Time;
use crate::key::Key;
use crate::keyed::Keyed;
use crate::limiter::Limiter;
use crate::planned::TermsOf;
use crate::store::Held;

/// What a limiter among several is asked: about which key, when by the clock, at what cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked {
    pub(crate) key: Key,
    pub(crate) now: Time,
    pub(crate) cost: u64,
    /// Whether the caller does, which matters to who counts calls under way.
    pub(crate) says_when_it_ends: bool,
}

/// A limiter that can decide together with others.
pub(crate) trait Member: Limiter + Debug {
    /// Where its locks stand in the order in which all threads take locks. It outlives reloads.
    fn rank(&self) -> usize;

    /// Hands the key on while its lock is held. It is judged at the time asked for on the limiter's own timeline.
    fn hold(&self, asked: Asked, then: &mut dyn FnMut(&mut dyn Held));

    /// The same keys as one of several sets of parameters judges them; `None` where there is but one.
    fn seen_by(&self, _of: TermsOf) -> Option<Arc<dyn Member>> {
        None
    }
}

impl<A: Algorithm> Member for Keyed<A> {
    fn rank(&self) -> usize {
        self.store().rank()
    }

    fn hold(&self, asked: Asked, then: &mut dyn FnMut(&mut dyn Held)) {
        let now = self.time_of(Some(asked.now));
        self.store().hold((asked.key.0, now, asked.cost), then);
    }
}
