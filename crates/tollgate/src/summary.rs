//! What a config says, to be read.

use std::fmt;
use std::time::Duration;

use crate::any_algorithm::AnyAlgorithm;
use crate::clock::Time;
use crate::config::{Bounds, Config, OnFull};
use crate::key::{Key, KeyHasher};
use crate::limit::{Mode, Scope, ValidLimit};
use crate::penalty::Penalty;
use crate::planned::TermsOf;
use crate::plans::PlanName;
use crate::policy::ValidPolicy;
use crate::rule::ValidRule;
use crate::tables::{Table, tables};

impl Config {
    /// Every limit there is: the default's come first, then those of each endpoint in the order given, then those
    /// that endpoints share. Of an endpoint those for everybody come first, then those of its plans, then those of
    /// single clients. A policy that counts nothing has none.
    pub fn limiters(&self) -> impl Iterator<Item = LimiterSummary<'_>> {
        let own = self.policies().flat_map(|policy| policy.rules()).flat_map(RuleSummary::own);
        own.chain(self.shared.iter().map(LimiterSummary::shared))
    }

    /// The names of the plans, in the order given.
    pub fn plans(&self) -> impl Iterator<Item = &str> {
        self.plans.names.iter().map(|name| &**name)
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

    /// What answers for it, for whoever is on no plan that it names.
    pub fn kind(&self) -> PolicyKind {
        self.everybody().kind()
    }

    /// The limits that decide, for whoever is on no plan that it names: its own, then those it shares with others.
    pub fn limits(&self) -> impl Iterator<Item = LimiterSummary<'a>> + use<'a> {
        self.everybody().limits()
    }

    /// What everybody gets, then what the clients of each plan get instead, then what single clients do.
    pub fn rules(&self) -> impl Iterator<Item = RuleSummary<'a>> + use<'a> {
        let policy = *self;
        let until = |applies_to| match applies_to {
            AppliesTo::Client(client) => {
                policy.policy.overrides.iter().find(|it| &*it.client == client)?.until
            }
            AppliesTo::Everybody | AppliesTo::Plan(_) => None,
        };
        let summary = move |(applies_to, rule)| RuleSummary {
            policy,
            applies_to,
            until: until(applies_to),
            rule,
        };
        self.policy.rules().map(summary)
    }

    pub(crate) fn everybody(&self) -> RuleSummary<'a> {
        let (applies_to, rule) = (AppliesTo::Everybody, &self.policy.rule);
        RuleSummary { policy: *self, applies_to, until: None, rule }
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
        self.everybody().charges()
    }

    /// The clients that no limit holds for.
    pub fn exempt(&self) -> impl Iterator<Item = &'a str> {
        self.policy.exempt.iter().map(|client| &**client)
    }
}

/// Whom a rule of an endpoint, or a limit of it, is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AppliesTo<'a> {
    /// Whoever has no other.
    Everybody,
    /// Those on a plan.
    Plan(&'a str),
    /// One client: an override.
    Client(&'a str),
}

impl AppliesTo<'_> {
    /// The same for the tables of keys.
    pub(crate) fn terms(self, hasher: &KeyHasher) -> TermsOf {
        match self {
            Self::Everybody => TermsOf::Everybody,
            Self::Plan(name) => TermsOf::Plan(PlanName::of(name)),
            Self::Client(name) => TermsOf::Client(hasher.key(name)),
        }
    }
}

impl fmt::Display for AppliesTo<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Everybody => f.write_str("everybody"),
            Self::Plan(name) => write!(f, "plan {name:?}"),
            Self::Client(name) => write!(f, "override of client {name:?}"),
        }
    }
}

/// What a [`Config`] says of one endpoint for everybody, for the clients of a plan, or for one client.
#[derive(Clone, Copy, Debug)]
pub struct RuleSummary<'a> {
    policy: PolicySummary<'a>,
    applies_to: AppliesTo<'a>,
    until: Option<Time>,
    rule: &'a ValidRule,
}

impl<'a> RuleSummary<'a> {
    /// Whom it is for.
    pub const fn applies_to(&self) -> AppliesTo<'a> {
        self.applies_to
    }

    /// Until what time of day it is for them, where it ends.
    pub const fn until(&self) -> Option<Time> {
        self.until
    }

    /// What answers for them.
    pub const fn kind(&self) -> PolicyKind {
        match self.rule {
            ValidRule::One(_) | ValidRule::Limits(_) => PolicyKind::Limits,
            ValidRule::Unlimited => PolicyKind::Unlimited,
            ValidRule::Deny => PolicyKind::Deny,
        }
    }

    /// The limits that decide: its own, then those that endpoints share.
    pub fn limits(&self) -> impl Iterator<Item = LimiterSummary<'a>> + use<'a> {
        self.charges().into_iter().map(|(limit, _)| limit)
    }

    /// The same limits, each with how often a call is charged to it: as often as the entry names it.
    pub fn charges(&self) -> Vec<(LimiterSummary<'a>, u32)> {
        let PolicySummary { config, policy, .. } = self.policy;
        let uses = if self.rule.counts() { config.uses(policy) } else { Vec::new() };
        let shared = uses.into_iter().map(|(limit, times)| (LimiterSummary::shared(limit), times));
        self.own().map(|limit| (limit, 1)).chain(shared).collect()
    }

    /// Its own.
    fn own(self) -> impl Iterator<Item = LimiterSummary<'a>> {
        self.rule.own().iter().map(move |limit| LimiterSummary::own(&self, limit))
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
    /// Whom it is for.
    pub applies_to: AppliesTo<'a>,
    limit: &'a ValidLimit,
    /// Where it may have a table together with limits of plans.
    policy: Option<&'a ValidPolicy>,
}

impl<'a> LimiterSummary<'a> {
    fn own(rule: &RuleSummary<'a>, limit: &'a ValidLimit) -> Self {
        let PolicySummary { owner, policy, .. } = rule.policy;
        let (applies_to, is_named) = (rule.applies_to, rule.rule.is_named());
        Self { applies_to, policy: Some(policy), ..Self::of(owner, is_named, limit) }
    }

    fn shared(limit: &'a ValidLimit) -> Self {
        Self::of(Owner::Shared, true, limit)
    }

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
            applies_to: AppliesTo::Everybody,
            limit,
            policy: None,
        }
    }

    /// Bytes a key takes in the table, without what its state has on the heap. Of limits of plans that have one table,
    /// the first has the key and its account, and each other one more account.
    pub fn bytes_per_key(&self) -> usize {
        match self.shared_table() {
            Some(table) if std::ptr::eq(table.first, self.limit) => {
                let alone = AnyAlgorithm::of_plans(&[(TermsOf::Everybody, self.algorithm)]);
                alone.map_or(0, |alone| alone.bytes_per_key())
            }
            Some(_) => self.algorithm.bytes_per_account(),
            None => self.algorithm.bytes_per_key(),
        }
    }

    /// The most bytes the table of keys and its overflow cells can take, without what states have on the heap. Of
    /// limits of plans that have one table, the first has all of it.
    pub fn table_bytes_max(&self) -> u64 {
        let Some(table) = self.shared_table() else {
            let in_company = self.limit_name.is_some();
            return self.algorithm.table_bytes_max(Bounds { in_company, ..self.bounds() });
        };
        if !std::ptr::eq(table.first, self.limit) {
            return 0;
        }
        // Clients are few, so one key stands for all of them.
        let terms = |applies_to| match applies_to {
            AppliesTo::Everybody => TermsOf::Everybody,
            AppliesTo::Plan(name) => TermsOf::Plan(PlanName::of(name)),
            AppliesTo::Client(_) => TermsOf::Client(Key(0)),
        };
        table.algorithm(terms).table_bytes_max(table.bounds())
    }

    const fn bounds(&self) -> Bounds {
        Bounds { max_keys: self.max_keys, on_full: self.on_full, in_company: false }
    }

    /// The table it has together with others.
    fn shared_table(&self) -> Option<Table<'a>> {
        let policy = self.policy.filter(|policy| !policy.is_the_same_for_all())?;
        let has_it =
            |table: &Table<'_>| table.limits.iter().any(|(_, it)| std::ptr::eq(*it, self.limit));
        tables(policy).into_iter().find(has_it).filter(|table| !table.is_plain())
    }
}
