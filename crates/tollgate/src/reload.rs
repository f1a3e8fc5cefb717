//! What a reload kept, changed and lost.

use crate::summary::Owner;

/// What became of one limit's state.
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
    /// The algorithm changed, or whose calls are counted together: its keys start anew.
    Replaced,
    /// A new endpoint or limit, with keys of its own from now on.
    New,
    /// The endpoint or the limit is gone with its state.
    Removed,
}

impl Change {
    /// Whether what clients have used up is forgotten.
    pub const fn loses_state(self) -> bool {
        matches!(self, Self::Replaced | Self::Removed)
    }
}

/// What a reload did, limit by limit: first those that endpoints share, then the default's, then those of the endpoints
/// of the new config in its order, then those removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[must_use]
pub struct ReloadReport {
    changes: Vec<Recorded>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Recorded {
    owner: OwnerName,
    limit: Option<String>,
    change: Change,
}

/// An [`Owner`] with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
enum OwnerName {
    Default,
    Endpoint(String),
    Shared,
}

/// What became of one limit's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LimitChange<'a> {
    /// Whose limit it is.
    pub owner: Owner<'a>,
    /// Its name, `None` for an entry's only limit that was given none.
    pub limit: Option<&'a str>,
    /// What became of its state.
    pub change: Change,
}

impl ReloadReport {
    /// Each limit and what became of its state.
    pub fn limits(&self) -> impl Iterator<Item = LimitChange<'_>> {
        self.changes.iter().map(|recorded| LimitChange {
            owner: match &recorded.owner {
                OwnerName::Default => Owner::Default,
                OwnerName::Endpoint(name) => Owner::Endpoint(name),
                OwnerName::Shared => Owner::Shared,
            },
            limit: recorded.limit.as_deref(),
            change: recorded.change,
        })
    }

    /// Each endpoint and what became of its state, limit by limit; the default's endpoint is `None`. Limits that
    /// endpoints share are not among them.
    pub fn changes(&self) -> impl Iterator<Item = (Option<&str>, Change)> {
        self.limits().filter_map(|limit| match limit.owner {
            Owner::Default => Some((None, limit.change)),
            Owner::Endpoint(name) => Some((Some(name), limit.change)),
            Owner::Shared => None,
        })
    }

    pub(crate) fn record(&mut self, owner: Owner<'_>, limit: Option<&str>, change: Change) {
        let owner = match owner {
            Owner::Default => OwnerName::Default,
            Owner::Endpoint(name) => OwnerName::Endpoint(name.to_owned()),
            Owner::Shared => OwnerName::Shared,
        };
        self.changes.push(Recorded { owner, limit: limit.map(str::to_owned), change });
    }
}
