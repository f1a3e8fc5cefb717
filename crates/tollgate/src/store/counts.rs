//! Plain counters that anyone can read.

/// What a limiter has done since it was made, and what it holds now. Counts outlive reloads that keep the algorithm.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Calls that were allowed.
    pub allowed: u64,
    /// Calls that were denied, those of a cost above the limit among them.
    pub denied: u64,
    /// Keys held now.
    pub keys: u64,
    /// Keys that had to leave while they still had debt.
    pub evictions: u64,
    /// Newcomers that were admitted and started with the debt of their overflow cell.
    pub inherited_debts: u64,
    /// How far the latest time ever seen is ahead of the clock, in milliseconds: above 0 for long, the clock has
    /// leapt ahead and back, and time stands still until it catches up.
    pub mark_ahead_ms: u64,
}

impl Counts {
    /// Adds what another part of the same limiter counted.
    pub(crate) fn add(&mut self, other: &Self) {
        self.allowed = self.allowed.saturating_add(other.allowed);
        self.denied = self.denied.saturating_add(other.denied);
        self.keys = self.keys.saturating_add(other.keys);
        self.evictions = self.evictions.saturating_add(other.evictions);
        self.inherited_debts = self.inherited_debts.saturating_add(other.inherited_debts);
        self.mark_ahead_ms = self.mark_ahead_ms.max(other.mark_ahead_ms);
    }
}
