//! What a reload kept, changed and lost.

/// What became of one endpoint's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// Nothing changed: everything is kept bit for bit.
    Kept,
    /// The limits changed and the algorithm did not: every key keeps its debt, up to the new limit.
    Changed {
        /// Keys, and overflow cells, whose debt was above the new limit; what was above it is forgiven.
        forgiven: u64,
    },
    /// The algorithm changed: its keys start anew.
    Replaced,
    /// A new endpoint, with keys of its own from now on. Until now the default limiter answered for it.
    New,
    /// The endpoint is gone with its state. The default limiter answers for it from now on.
    Removed,
}

impl Change {
    /// Whether what clients have used up is forgotten.
    pub const fn loses_state(self) -> bool {
        matches!(self, Self::Replaced | Self::Removed)
    }
}

/// What a reload did, endpoint by endpoint: the default first, then those of the new config in its order, then
/// those removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct ReloadReport {
    changes: Vec<(Option<String>, Change)>,
}

impl ReloadReport {
    /// Each endpoint and what became of its state; the default's endpoint is `None`.
    pub fn changes(&self) -> impl Iterator<Item = (Option<&str>, Change)> {
        self.changes.iter().map(|(endpoint, change)| (endpoint.as_deref(), *change))
    }

    pub(crate) fn record(&mut self, endpoint: Option<&str>, change: Change) {
        self.changes.push((endpoint.map(str::to_owned), change));
    }
}
