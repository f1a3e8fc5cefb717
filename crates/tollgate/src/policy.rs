//! What an endpoint gets: one limit, several that decide together, or a word for the extremes.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use crate::config::LimiterConfig;
use crate::limit::{Limit, ValidLimit};
use crate::parameters::{Fault, Faults};
use crate::penalty::{DENIALS, Penalty};

/// What an endpoint gets. Most often one limit, which any algorithm or [`LimiterConfig`] turns into; else several that
/// are charged all or none, or a word for the extremes.
///
/// ```
/// use std::time::Duration;
/// use tollgate::{Config, FixedWindow, Limit, Policy, RateLimiter, TokenBucket};
///
/// let hour = Duration::from_secs(3_600);
/// let config = Config::builder()
///     .default(TokenBucket::per_second(10))
///     .shared_limit(Limit::new("api", FixedWindow::new(1_000, hour)))
///     .every("api")
///     .endpoint("/search", TokenBucket::per_minute(10))
///     .endpoint("/healthz", Policy::unlimited())
///     .endpoint("/internal", Policy::deny().exempt(["operator"]))
///     .build()?;
/// let limiter = RateLimiter::new(config);
///
/// assert_eq!(limiter.allow("alice", "/search").limit_name(), Some("/search"));
/// assert!(limiter.allow("alice", "/healthz").allowed());
/// assert!(!limiter.allow("alice", "/internal").allowed());
/// assert!(limiter.allow("operator", "/internal").allowed());
/// # Ok::<(), tollgate::Faults>(())
/// ```
#[derive(Clone, Debug)]
pub struct Policy {
    rule: Rule,
    uses: Vec<String>,
    exempt: Vec<String>,
    cost: u64,
    penalty: Option<(u64, Duration)>,
}

#[derive(Clone, Debug)]
enum Rule {
    One(LimiterConfig),
    Limits(Vec<Limit>),
    Unlimited,
    Deny,
}

impl Policy {
    /// The most limits that may decide one call together.
    pub const LIMITS_MAX: usize = 16;

    /// How many denials in a row may bring about a [`penalty`](Self::penalty).
    pub const PENALTY_DENIALS: RangeInclusive<u64> = DENIALS;

    /// Several limits that decide together: a call is charged to all or, where one denies, to none.
    pub fn limits(limits: impl IntoIterator<Item = Limit>) -> Self {
        Self::of(Rule::Limits(limits.into_iter().collect()))
    }

    /// No limit at all: not even those that hold for every endpoint.
    pub fn unlimited() -> Self {
        Self::of(Rule::Unlimited)
    }

    /// Nobody may call; nothing is counted but the denials.
    pub fn deny() -> Self {
        Self::of(Rule::Deny)
    }

    fn of(rule: Rule) -> Self {
        Self { rule, uses: Vec::new(), exempt: Vec::new(), cost: 1, penalty: None }
    }

    /// Also this limit, of those that endpoints share. Used twice, it is charged once for both.
    #[must_use]
    pub fn uses(mut self, shared_limit: impl Into<String>) -> Self {
        self.uses.push(shared_limit.into());
        self
    }

    /// Clients that no limit of this endpoint holds for, by their names.
    #[must_use]
    pub fn exempt(mut self, clients: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.exempt.extend(clients.into_iter().map(Into::into));
        self
    }

    /// What a call costs that does not say, 1 unless this does: an expensive endpoint takes more of a shared quota.
    #[must_use]
    pub fn cost(self, cost: u64) -> Self {
        Self { cost, ..self }
    }

    /// After so many denials in a row (1 to 1,000,000) the client is blocked for a time (1 ms to 366 days). A row ends
    /// with a call that passes, or with as long a time without a denial. Denials are not free then: a client that polls
    /// is blocked.
    #[must_use]
    pub fn penalty(self, denials: u64, block_for: Duration) -> Self {
        Self { penalty: Some((denials, block_for)), ..self }
    }

    /// Checks everything but the names of shared limits. `entry` is the endpoint, or `default`.
    ///
    /// # Errors
    /// Every fault of its limits.
    pub(crate) fn check(self, entry: &str) -> Result<ValidPolicy, Faults> {
        let rule = match self.rule {
            Rule::Unlimited => ValidRule::Unlimited,
            Rule::Deny => ValidRule::Deny,
            Rule::One(limiter) => ValidRule::One(ValidLimit::alone(entry.into(), limiter.check()?)),
            Rule::Limits(limits) => ValidRule::Limits(check_limits(limits)?),
        };
        let shared = |names: Vec<String>| names.into_iter().map(Into::into).collect();
        let penalty =
            self.penalty.map(|(denials, time)| Penalty::new(denials, time)).transpose()?;
        if self.cost == 0 {
            let message = "`cost` is 0; expected at least 1, or `unlimited: true`";
            return Err(Fault::of_field("cost", message).into());
        }
        let (uses, exempt) = (shared(self.uses), shared(self.exempt));
        Ok(ValidPolicy { rule, uses, exempt, cost: self.cost, penalty })
    }
}

impl<T: Into<LimiterConfig>> From<T> for Policy {
    fn from(limiter: T) -> Self {
        Self::of(Rule::One(limiter.into()))
    }
}

/// Checks limits that stand in one list.
///
/// # Errors
/// Every fault of each, and names given twice.
pub(crate) fn check_limits(limits: Vec<Limit>) -> Result<Vec<ValidLimit>, Faults> {
    let mut faults = Vec::new();
    let mut valid: Vec<ValidLimit> = Vec::new();
    for limit in limits {
        match limit.check() {
            Ok(limit) => valid.push(limit),
            Err(found) => faults.extend(found.iter().cloned()),
        }
    }
    let mut seen = BTreeSet::new();
    for limit in &valid {
        if !seen.insert(&*limit.name) {
            let message = format!("limit {:?} is given twice; keep one", limit.name);
            faults.push(Fault::of_field("name", message));
        }
    }
    Faults::check(faults)?;
    Ok(valid)
}

/// A [`Policy`] that was checked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ValidPolicy {
    pub(crate) rule: ValidRule,
    /// The names of shared limits, in order; one named twice is charged for both.
    pub(crate) uses: Vec<Arc<str>>,
    /// Clients without limits.
    pub(crate) exempt: Vec<Arc<str>>,
    /// What a call costs that does not say.
    pub(crate) cost: u64,
    pub(crate) penalty: Option<Penalty>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ValidRule {
    /// One limit without a name of its own.
    One(ValidLimit),
    Limits(Vec<ValidLimit>),
    Unlimited,
    Deny,
}

impl ValidPolicy {
    /// The limits of its own, without those that are shared.
    pub(crate) fn own(&self) -> &[ValidLimit] {
        match &self.rule {
            ValidRule::One(limit) => std::slice::from_ref(limit),
            ValidRule::Limits(limits) => limits,
            ValidRule::Unlimited | ValidRule::Deny => &[],
        }
    }

    /// Whether limits decide at all.
    pub(crate) const fn counts(&self) -> bool {
        matches!(self.rule, ValidRule::One(_) | ValidRule::Limits(_))
    }
}
