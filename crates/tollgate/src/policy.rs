//! What an endpoint gets: one limit, several that decide together, or a word for the extremes.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Time;
use crate::limit::Limit;
use crate::parameters::{Fault, Faults};
use crate::penalty::{DENIALS, Penalty};
use crate::rule::{Rule, ValidRule};
use crate::summary::AppliesTo;

/// What an endpoint gets. Most often one limit, which any algorithm or [`LimiterConfig`](crate::LimiterConfig) turns
/// into; else several that are charged all or none, or a word for the extremes.
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
    plans: Vec<(String, Rule)>,
    overrides: Vec<Override>,
    uses: Vec<String>,
    exempt: Vec<String>,
    cost: u64,
    penalty: Option<(u64, Duration)>,
}

/// What one client gets instead.
#[derive(Clone, Debug)]
struct Override {
    client: String,
    until: Option<Time>,
    rule: Rule,
}

impl Policy {
    /// The most limits that may decide one call together.
    pub const LIMITS_MAX: usize = 16;

    /// How many denials in a row may bring about a [`penalty`](Self::penalty).
    pub const PENALTY_DENIALS: RangeInclusive<u64> = DENIALS;

    /// Several limits that decide together: a call is charged to all or, where one denies, to none.
    pub fn limits(limits: impl IntoIterator<Item = Limit>) -> Self {
        Rule::limits(limits).into()
    }

    /// No limit at all: not even those that hold for every endpoint.
    pub fn unlimited() -> Self {
        Rule::unlimited().into()
    }

    /// Nobody may call; nothing is counted but the denials.
    pub fn deny() -> Self {
        Rule::deny().into()
    }

    /// What clients on a plan get instead of the endpoint's own limits. The plan is one of the
    /// [config's](crate::ConfigBuilder::plans); clients on a plan that is not named here get the endpoint's own.
    ///
    /// A client that changes plan keeps what it has used of each limit whose name and algorithm both have: nothing is
    /// won by going to and fro. The limits of such a name are one table of keys, with an account for each plan, so
    /// they have one bound.
    ///
    /// ```
    /// use tollgate::{Call, Config, Policy, RateLimiter, TokenBucket};
    ///
    /// let search = Policy::from(TokenBucket::per_minute(10)).plan("pro", TokenBucket::per_minute(1_000));
    /// let config = Config::builder()
    ///     .plans(["free", "pro"])
    ///     .client("alice", "pro")
    ///     .default(search)
    ///     .build()?;
    /// let limiter = RateLimiter::new(config);
    ///
    /// assert_eq!(limiter.allow("alice", "/search").limit(), 1_000);
    /// assert_eq!(limiter.allow("bob", "/search").limit(), 10);
    /// let call = Call::new("bob", "/search").plan("pro");
    /// assert_eq!(limiter.decide(&call)?.remaining(), 998);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn plan(mut self, plan: impl Into<String>, rule: impl Into<Rule>) -> Self {
        self.plans.push((plan.into(), rule.into()));
        self
    }

    /// What one client gets instead, whatever its plan.
    #[must_use]
    pub fn override_for(mut self, client: impl Into<String>, rule: impl Into<Rule>) -> Self {
        self.overrides.push(Override { client: client.into(), until: None, rule: rule.into() });
        self
    }

    /// The same until a time of day, counted from 1970 as by the [`WallClock`](crate::WallClock), by which it goes: if
    /// that steps back, it holds again.
    #[must_use]
    pub fn override_until(
        mut self,
        client: impl Into<String>,
        until: Time,
        rule: impl Into<Rule>,
    ) -> Self {
        let (client, until) = (client.into(), Some(until));
        self.overrides.push(Override { client, until, rule: rule.into() });
        self
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
        let rule = self.rule.check(entry)?;
        let (plans, overrides) = check_others((self.plans, self.overrides), entry)?;
        let shared = |names: Vec<String>| names.into_iter().map(Into::into).collect();
        let penalty =
            self.penalty.map(|(denials, time)| Penalty::new(denials, time)).transpose()?;
        if self.cost == 0 {
            let message = "`cost` is 0; expected at least 1, or `unlimited: true`";
            return Err(Fault::of_field("cost", message).into());
        }
        let (uses, exempt) = (shared(self.uses), shared(self.exempt));
        Ok(ValidPolicy { rule, plans, overrides, uses, exempt, cost: self.cost, penalty })
    }
}

impl<T: Into<Rule>> From<T> for Policy {
    fn from(rule: T) -> Self {
        Self {
            rule: rule.into(),
            plans: Vec::new(),
            overrides: Vec::new(),
            uses: Vec::new(),
            exempt: Vec::new(),
            cost: 1,
            penalty: None,
        }
    }
}

/// Checks what plans and single clients get instead.
///
/// # Errors
/// Every fault of their limits, and whoever is given twice.
fn check_others(
    (plans, overrides): (Vec<(String, Rule)>, Vec<Override>),
    entry: &str,
) -> Result<(Vec<ValidPlan>, Vec<ValidOverride>), Faults> {
    let (mut faults, mut seen) = (Vec::new(), BTreeSet::new());
    let mut check = |subject: String, rule: Rule| {
        let within = |fault: &Fault| fault.clone().within(&subject);
        let checked = rule.check(entry);
        let checked = checked.map_err(|found| faults.extend(found.iter().map(within))).ok();
        if !seen.insert(subject.clone()) {
            faults.push(Fault::of_entry(format!("{subject} is given twice; keep one")));
        }
        checked
    };
    let mut valid_plans = Vec::new();
    for (plan, rule) in plans {
        let rule = check(format!("plan {plan:?}"), rule);
        valid_plans.extend(rule.map(|rule| ValidPlan { name: plan.into(), rule }));
    }
    let mut valid_overrides = Vec::new();
    for Override { client, until, rule } in overrides {
        let rule = check(format!("override of client {client:?}"), rule);
        let client = client.into();
        valid_overrides.extend(rule.map(|rule| ValidOverride { client, until, rule }));
    }
    Faults::check(faults)?;
    Ok((valid_plans, valid_overrides))
}

/// A [`Policy`] that was checked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ValidPolicy {
    pub(crate) rule: ValidRule,
    pub(crate) plans: Vec<ValidPlan>,
    pub(crate) overrides: Vec<ValidOverride>,
    /// The names of shared limits, in order; one named twice is charged for both.
    pub(crate) uses: Vec<Arc<str>>,
    /// Clients without limits.
    pub(crate) exempt: Vec<Arc<str>>,
    /// What a call costs that does not say.
    pub(crate) cost: u64,
    pub(crate) penalty: Option<Penalty>,
}

/// What clients on a plan get.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ValidPlan {
    pub(crate) name: Arc<str>,
    pub(crate) rule: ValidRule,
}

/// What one client gets.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ValidOverride {
    pub(crate) client: Arc<str>,
    pub(crate) until: Option<Time>,
    pub(crate) rule: ValidRule,
}

impl ValidPolicy {
    /// Whether all clients are under the same rule.
    pub(crate) const fn is_the_same_for_all(&self) -> bool {
        self.plans.is_empty() && self.overrides.is_empty()
    }

    /// Each rule with those it is for: first everybody, then plans, then single clients.
    pub(crate) fn rules(&self) -> impl Iterator<Item = (AppliesTo<'_>, &ValidRule)> {
        let plans = self.plans.iter().map(|plan| (AppliesTo::Plan(&plan.name), &plan.rule));
        let clients =
            self.overrides.iter().map(|other| (AppliesTo::Client(&other.client), &other.rule));
        std::iter::once((AppliesTo::Everybody, &self.rule)).chain(plans).chain(clients)
    }
}
