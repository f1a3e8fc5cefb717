//! What a config says, to be read.

use std::time::Duration;

use crate::config::{Bounds, Config, OnFull};
use crate::factory::AnyAlgorithm;
use crate::limit::{Mode, Scope, ValidLimit};
use crate::penalty::Penalty;
use crate::policy::{ValidPolicy, ValidRule};

impl Config {
    /// Every limit there is: the default's come first, then those of each endpoint in the order given, then those
    /// that endpoints share. A policy that counts nothing has none.
    pub fn limiters(&self) -> impl Iterator<Item = LimiterSummary<'_>> {
        let default = (Owner::Default, &self.default);
        let named = self.endpoints.iter().map(|(name, policy)| (Owner::Endpoint(name), policy));
        let own = std::iter::once(default).chain(named).flat_map(|(owner, policy)| {
            let is_named = !matches!(policy.rule, ValidRule::One(_));
            policy.own().iter().map(move |limit| LimiterSummary::of(owner, is_named, limit))
        });
        own.chain(self.shared.iter().map(|limit| LimiterSummary::of(Owner::Shared, true, limit)))
    }

    /// What every endpoint gets that is not listed.
    pub(crate) fn default_policy(&self) -> PolicySummary<'_> {
        PolicySummary { owner: Owner::Default, config: self, policy: &self.default }
    }

    /// What each endpoint gets: the default first, then the endpoints in the order given.
    pub fn policies(&self) -> impl Iterator<Item = PolicySummary<'_>> {
        let named = self.endpoints.iter().map(|(name, policy)| (Owner::Endpoint(name), policy));
        let summary = |(owner, policy)| PolicySummary { owner, config: self, policy };
        std::iter::once(self.default_policy()).chain(named.map(summary))
    }
}

/// What a [`Config`] says of one endpoint.
#[derive(Clone, Copy, Debug)]
pub struct PolicySummary<'a> {
    owner: Owner<'a>,
    config: &'a Config,
    policy: &'a ValidPolicy,
}

/// What answers for an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PolicyKind {
    /// Limits, one or several.
    Limits,
    /// Nothing: all are allowed.
    Unlimited,
    /// A block: all are denied.
    Deny,
}

impl<'a> PolicySummary<'a> {
    /// The endpoint, `None` for the default.
    pub fn endpoint(&self) -> Option<&'a str> {
        self.owner.endpoint()
    }

    /// What answers for it.
    pub fn kind(&self) -> PolicyKind {
        match self.policy.rule {
            ValidRule::One(_) | ValidRule::Limits(_) => PolicyKind::Limits,
            ValidRule::Unlimited => PolicyKind::Unlimited,
            ValidRule::Deny => PolicyKind::Deny,
        }
    }

    /// The limits that decide: its own, then those it shares with others.
    pub fn limits(&self) -> impl Iterator<Item = LimiterSummary<'a>> {
        let (owner, is_named) = (self.owner, !matches!(self.policy.rule, ValidRule::One(_)));
        let own = self.policy.own().iter();
        let counts = self.policy.counts();
        let uses = if counts { self.config.uses(self.policy) } else { Vec::new() };
        own.map(move |limit| LimiterSummary::of(owner, is_named, limit)).chain(
            uses.into_iter().map(|(limit, _)| LimiterSummary::of(Owner::Shared, true, limit)),
        )
    }

    /// What a call costs that does not say.
    pub const fn cost(&self) -> u64 {
        self.policy.cost
    }

    /// After how many denials in a row a client is blocked, and for how long.
    pub fn penalty(&self) -> Option<(u64, Duration)> {
        self.policy.penalty.map(Penalty::terms)
    }

    /// The same limits, each with how often a call is charged to it: as often as the entry names it.
    pub fn charges(&self) -> Vec<(LimiterSummary<'a>, u32)> {
        let counts = self.policy.counts();
        let uses = if counts { self.config.uses(self.policy) } else { Vec::new() };
        let times = |limit: &LimiterSummary<'_>| {
            let is_it = |(used, _): &&(&ValidLimit, u32)| {
                limit.owner == Owner::Shared && Some(&*used.name) == limit.limit_name
            };
            uses.iter().find(is_it).map_or(1, |(_, times)| *times)
        };
        self.limits().map(|limit| (limit, times(&limit))).collect()
    }

    /// The clients that no limit holds for.
    pub fn exempt(&self) -> impl Iterator<Item = &'a str> {
        self.policy.exempt.iter().map(|client| &**client)
    }
}

impl<'a> Owner<'a> {
    /// The endpoint's name, `default` or `(shared)`.
    pub const fn name(self) -> &'a str {
        match self {
            Self::Default => "default",
            Self::Endpoint(name) => name,
            Self::Shared => "(shared)",
        }
    }

    /// The endpoint, where it is one's own.
    pub const fn endpoint(self) -> Option<&'a str> {
        match self {
            Self::Endpoint(name) => Some(name),
            Self::Default | Self::Shared => None,
        }
    }
}

/// Whose limits they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Owner<'a> {
    /// Those of every endpoint that is not listed.
    Default,
    /// One endpoint's.
    Endpoint(&'a str),
    /// Those of all endpoints that use them.
    Shared,
}

/// What a [`Config`] says of one limit.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct LimiterSummary<'a> {
    /// Whose it is.
    pub owner: Owner<'a>,
    /// The endpoint, `None` for the default and for a limit that endpoints share.
    pub endpoint: Option<&'a str>,
    /// The limit's name, `None` for an entry's only limit that was given none.
    pub limit_name: Option<&'a str>,
    /// Whose calls are counted together.
    pub scope: Scope,
    /// Whether it denies.
    pub mode: Mode,
    /// The algorithm and its parameters.
    pub algorithm: &'a AnyAlgorithm,
    /// The most keys held at once.
    pub max_keys: u64,
    /// What happens beyond.
    pub on_full: OnFull,
}

impl<'a> LimiterSummary<'a> {
    fn of(owner: Owner<'a>, is_named: bool, limit: &'a ValidLimit) -> Self {
        Self {
            owner,
            endpoint: owner.endpoint(),
            limit_name: is_named.then_some(&*limit.name),
            scope: limit.scope,
            mode: limit.mode,
            algorithm: &limit.limiter.algorithm,
            max_keys: limit.limiter.bounds.max_keys,
            on_full: limit.limiter.bounds.on_full,
        }
    }

    /// The most bytes the table of keys and its overflow cells can take, without what states have on the heap.
    pub fn table_bytes_max(&self) -> u64 {
        let in_company = self.limit_name.is_some();
        let bounds = Bounds { max_keys: self.max_keys, on_full: self.on_full, in_company };
        self.algorithm.table_bytes_max(bounds)
    }
}
