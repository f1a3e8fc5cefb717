//! Sections of a few lines, which fill up, grow and overflow within a few calls.

use std::sync::Arc;

use crate::algorithm::Algorithm;
use crate::store::Shared;
use crate::store::lines::Lines;
use crate::store::lines::ground::Plan;
use crate::store::rules::Rules;

impl<A: Algorithm> Lines<A> {
    /// A store whose sections have so many lines at first, double so often, and look for a key in so many lines.
    pub(crate) fn planned(
        rules: Rules<A>,
        shared: Arc<Shared>,
        (base_lines, levels, window): (u64, u32, u64),
    ) -> Self {
        Self::with_plan(rules, shared, Plan { base_lines, levels, window })
    }
}
