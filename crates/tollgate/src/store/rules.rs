//! What a store needs to know to work: whose states it holds, how many, and what to do beyond.

use super::layout::Layout;
use crate::algorithm::Algorithm;
use crate::config::OnFull;
use crate::wide::low_half;

/// Keys among which the least indebted leaves when the table is full. Of few, the least may owe much, and cells then
/// fill up: a flood of twice what a table can hold denies 15 % of light clients in the long run with 8 candidates, 6 %
/// with 32, 4 % with 64; a call that makes a key leave takes 0.35, 0.47 and 0.62 us.
pub(crate) const CANDIDATES: usize = 32;

/// The rules of one store: they do not change while it lives.
#[derive(Debug)]
pub(crate) struct Rules<A> {
    pub(crate) algorithm: A,
    pub(crate) on_full: OnFull,
    pub(crate) layout: Layout,
}

impl<A: Algorithm> Rules<A> {
    pub(crate) fn new(algorithm: A, on_full: OnFull, layout: Layout) -> Self {
        Self { algorithm, on_full, layout }
    }

    /// The cost as the algorithm takes it, where it can be met at all.
    #[inline]
    pub(crate) fn within_limit(&self, cost: u64) -> Option<u32> {
        (cost <= u64::from(self.algorithm.limit())).then_some(low_half(cost))
    }
}
