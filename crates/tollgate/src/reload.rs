//! What a reload kept, changed and lost.

use std::sync::Arc;

use crate::summary::{AppliesTo, Owner};

/// What became of one limit's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// Nothing changed: everything is kept bit for bit.
    Kept,
    /// The limits changed and the algorithm did not: every key keeps its debt, up to the new limit. So it is for a plan
    /// that is new where others have a limit of that name: each client goes on from what it has used.
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
    applies_to: AppliesToName,
    change: Change,
}

/// An [`AppliesTo`] with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AppliesToName {
    Everybody,
    Plan(Arc<str>),
    Client(Arc<str>),
}

impl From<AppliesTo<'_>> for AppliesToName {
    fn from(applies_to: AppliesTo<'_>) -> Self {
        match applies_to {
            AppliesTo::Everybody => Self::Everybody,
            AppliesTo::Plan(name) => Self::Plan(name.into()),
            AppliesTo::Client(name) => Self::Client(name.into()),
        }
    }
}

impl<'a> From<&'a AppliesToName> for AppliesTo<'a> {
    fn from(name: &'a AppliesToName) -> Self {
        match name {
            AppliesToName::Everybody => Self::Everybody,
            AppliesToName::Plan(name) => Self::Plan(name),
            AppliesToName::Client(name) => Self::Client(name),
        }
    }
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
    /// Whom it is for. Those of plans, and of single clients, are told apart.
    pub applies_to: AppliesTo<'a>,
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
            applies_to: (&recorded.applies_to).into(),
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

    pub(crate) fn record(
        &mut self,
        owner: Owner<'_>,
        (limit, applies_to): (Option<&str>, &AppliesToName),
        change: Change,
    ) {
        let owner = match owner {
            Owner::Default => OwnerName::Default,
            Owner::Endpoint(name) => OwnerName::Endpoint(name.to_owned()),
            Owner::Shared => OwnerName::Shared,
        };
        let (limit, applies_to) = (limit.map(str::to_owned), applies_to.clone());
        self.changes.push(Recorded { owner, limit, applies_to, change });
    }
}
