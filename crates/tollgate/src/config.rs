//! What a limiter, and a set of them, is made from: checked once, and valid from then on.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::algorithm::IntoAlgorithm;
use crate::any_algorithm::AnyAlgorithm;
use crate::concurrency::Concurrency;
use crate::limit::{Limit, ValidLimit};
use crate::parameters::{Fault, Faults, whole_range};
use crate::plans::Plans;
use crate::policy::{Policy, ValidPolicy};
use crate::routes::{EndpointFault, Routes};
use crate::rule::check_limits;

/// What happens to a client not seen before when a limiter holds as many keys as it may.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnFull {
    /// The least indebted key makes room, and what it owed is remembered in its overflow cell: nobody gets quota
    /// twice; a newcomer whose cell has debt starts with it. The default.
    #[default]
    Overflow,
    /// Newcomers are denied until a key has its whole quota back.
    Deny,
    /// The least indebted key makes room and is forgotten: available before strict, so a flood of made-up clients can
    /// win back what a client used up.
    Admit,
}

/// How many keys a limiter holds, and what happens beyond.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    pub(crate) max_keys: u64,
    pub(crate) on_full: OnFull,
    /// Whether it decides together with others, so that its keys are held while they judge.
    pub(crate) in_company: bool,
}

impl Bounds {
    /// The most states kept: of keys and, where there are any, of overflow cells.
    pub(crate) fn states_max(self) -> u64 {
        let has_cells = self.on_full == OnFull::Overflow;
        let cells = if has_cells { self.max_keys.div_ceil(4).next_power_of_two() } else { 0 };
        self.max_keys.saturating_add(cells)
    }
}

impl Default for Bounds {
    fn default() -> Self {
        let max_keys = LimiterConfig::DEFAULT_MAX_KEYS;
        Self { max_keys, on_full: OnFull::default(), in_company: false }
    }
}

/// What one limiter is made from: an algorithm, and how much it may remember.
///
/// ```
/// use tollgate::{Config, LimiterConfig, TokenBucket};
///
/// let login = LimiterConfig::new(TokenBucket::per_minute(5)).max_keys(50_000);
/// let config = Config::builder().default(TokenBucket::per_second(10)).endpoint("/login", login).build();
/// assert!(config.is_ok());
/// ```
#[derive(Clone, Debug)]
pub struct LimiterConfig {
    algorithm: Result<AnyAlgorithm, Faults>,
    bounds: Bounds,
}

impl LimiterConfig {
    /// How many keys a limiter holds unless told otherwise.
    pub const DEFAULT_MAX_KEYS: u64 = 1_000_000;

    /// How many keys a limiter may be told to hold.
    pub const MAX_KEYS: RangeInclusive<u64> = 1..=1_000_000_000;

    /// A limiter of this algorithm that holds up to a million keys.
    pub fn new(algorithm: impl IntoAlgorithm) -> Self {
        Self::of(algorithm.into_algorithm().map(AnyAlgorithm::new))
    }

    /// A limiter of an algorithm that a [`LimiterFactory`](crate::LimiterFactory) made from a name.
    pub fn of_named(algorithm: AnyAlgorithm) -> Self {
        Self::of(Ok(algorithm))
    }

    fn of(algorithm: Result<AnyAlgorithm, Faults>) -> Self {
        Self { algorithm, bounds: Bounds::default() }
    }

    /// Bounds the keys held at once, 1 to 1,000,000,000; memory is taken as it is used.
    #[must_use]
    pub fn max_keys(mut self, max_keys: u64) -> Self {
        self.bounds.max_keys = max_keys;
        self
    }

    /// What happens to a newcomer when so many are held.
    #[must_use]
    pub fn on_full(mut self, on_full: OnFull) -> Self {
        self.bounds.on_full = on_full;
        self
    }

    pub(crate) fn check(self) -> Result<ValidLimiter, Faults> {
        if !Self::MAX_KEYS.contains(&self.bounds.max_keys) {
            let expected = whole_range(&Self::MAX_KEYS);
            let message = format!("`maxKeys` is {}; expected {expected}", self.bounds.max_keys);
            return Err(Fault::of_field("maxKeys", message).into());
        }
        Ok(ValidLimiter { algorithm: self.algorithm?, bounds: self.bounds })
    }
}

impl From<Concurrency> for LimiterConfig {
    fn from(concurrency: Concurrency) -> Self {
        Self::of_named(concurrency.into())
    }
}

impl From<Result<Concurrency, Faults>> for LimiterConfig {
    fn from(concurrency: Result<Concurrency, Faults>) -> Self {
        Self::of(concurrency.map(AnyAlgorithm::from))
    }
}

impl<T: IntoAlgorithm> From<T> for LimiterConfig {
    fn from(algorithm: T) -> Self {
        Self::new(algorithm)
    }
}

/// A [`LimiterConfig`] that was checked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ValidLimiter {
    pub(crate) algorithm: AnyAlgorithm,
    pub(crate) bounds: Bounds,
}

/// The limits of a whole API: a policy for each endpoint named, and a default for every other. Valid by construction,
/// so making or reloading a [`RateLimiter`](crate::RateLimiter) from it cannot fail.
///
/// ```
/// use std::time::Duration;
/// use tollgate::{Config, SlidingWindowLog, TokenBucket};
///
/// let config = Config::builder()
///     .default(TokenBucket::per_second(1).burst(10))
///     .endpoint("/search", SlidingWindowLog::new(100, Duration::from_secs(60)))
///     .build()?;
/// # Ok::<(), tollgate::Faults>(())
/// ```
#[derive(Clone, Debug)]
pub struct Config {
    pub(crate) default: ValidPolicy,
    pub(crate) endpoints: Vec<(Arc<str>, ValidPolicy)>,
    /// The patterns among the endpoints' names.
    pub(crate) routes: Routes,
    /// The limits that endpoints share, by name.
    pub(crate) shared: Vec<ValidLimit>,
    /// The shared limits of every endpoint.
    pub(crate) every: Vec<Arc<str>>,
    pub(crate) plans: Plans,
}

impl Config {
    /// The most plans there may be: a key has an account for each.
    pub const PLANS_MAX: usize = 32;

    /// A config in the making.
    pub fn builder() -> ConfigBuilder {
        ConfigBuilder {
            default: None,
            endpoints: Vec::new(),
            shared: Vec::new(),
            every: Vec::new(),
            plans: Plans::default(),
        }
    }

    /// The limits that hold for an endpoint's calls beside its own, in order, with how often each is named: those it
    /// uses, then those of every endpoint.
    pub(crate) fn uses<'a>(&'a self, policy: &'a ValidPolicy) -> Vec<(&'a ValidLimit, u32)> {
        let mut uses: Vec<(&ValidLimit, u32)> = Vec::new();
        for name in policy.uses.iter().chain(&self.every) {
            if let Some((_, times)) = uses.iter_mut().find(|(limit, _)| limit.name == *name) {
                *times = times.saturating_add(1);
            } else if let Some(limit) = self.shared.iter().find(|limit| limit.name == *name) {
                uses.push((limit, 1));
            }
        }
        uses
    }
}

/// A [`Config`] in the making. Nothing is checked until [`build`](Self::build), which then finds every fault.
#[derive(Clone, Debug)]
#[must_use]
pub struct ConfigBuilder {
    default: Option<Policy>,
    endpoints: Vec<(String, Policy)>,
    shared: Vec<Limit>,
    every: Vec<String>,
    plans: Plans,
}

/// The name of the default's entry in faults, and of its only limit.
pub(crate) const DEFAULT: &str = "default";

impl ConfigBuilder {
    /// What every endpoint gets that is not listed.
    pub fn default(mut self, policy: impl Into<Policy>) -> Self {
        self.default = Some(policy.into());
        self
    }

    /// What one endpoint gets: any name, matched exactly. `/path` answers for `METHOD /path` too, unless that has an
    /// entry of its own.
    ///
    /// A path with `{` or `*` is a pattern, for one method (`GET /users/{id}`) or for all (`/users/{id}`). A segment
    /// `{name}` stands for any one segment that is not empty; `*` at the end stands for any rest, the empty one too, so
    /// `/files/*` matches `/files/` and all below it, and not `/files`. One pattern has one limiter: a client has one
    /// quota over all endpoints that it matches.
    ///
    /// Exact names win over patterns. Of the patterns that match, the most specific wins: the one whose paths the
    /// others match too; of two with the same paths, the one that names the method. Two patterns of which each matches
    /// what the other does not, such as `/{a}/x` and `/y/{b}`, are refused together unless what both match, `/y/x`, has
    /// an entry too. So are two that match the same.
    ///
    /// Names are compared byte by byte: nothing is decoded, folded or cut off. `/a`, `/a/`, `/%61` and `/a?x=1` are
    /// four names, and who calls for requests from outside brings them into one form first. (A brace or star that is
    /// meant as such cannot be listed; a `%7B` can.)
    ///
    /// ```
    /// use tollgate::{Config, RateLimiter, TokenBucket};
    ///
    /// let bucket = |tokens| TokenBucket::per_hour(tokens);
    /// let config = Config::builder()
    ///     .default(bucket(1))
    ///     .endpoint("/users/*", bucket(2))
    ///     .endpoint("/users/{id}", bucket(3))
    ///     .endpoint("DELETE /users/{id}", bucket(4))
    ///     .endpoint("/users/me", bucket(5))
    ///     .build()?;
    /// let limiter = RateLimiter::new(config);
    /// let limit = |endpoint| limiter.limiter(endpoint).limit();
    ///
    /// assert_eq!(limit("GET /users/7/posts"), 2);
    /// assert_eq!(limit("GET /users/7"), 3);
    /// assert_eq!(limit("DELETE /users/7"), 4);
    /// assert_eq!(limit("DELETE /users/me"), 5);
    /// assert_eq!(limit("/users"), 1);
    /// # Ok::<(), tollgate::Faults>(())
    /// ```
    pub fn endpoint(mut self, name: impl Into<String>, policy: impl Into<Policy>) -> Self {
        self.endpoints.push((name.into(), policy.into()));
        self
    }

    /// A limit that endpoints share, one bucket for all who use it: those that [`use`](Policy::uses) it, or
    /// [`every`](Self::every) one.
    pub fn shared_limit(mut self, limit: Limit) -> Self {
        self.shared.push(limit);
        self
    }

    /// Has every endpoint use a shared limit, but those that are unlimited or denied outright.
    pub fn every(mut self, shared_limit: impl Into<String>) -> Self {
        self.every.push(shared_limit.into());
        self
    }

    /// The plans there are, [32](Config::PLANS_MAX) at most. What the clients on one get of an endpoint, its policy
    /// [says](Policy::plan).
    pub fn plans(mut self, names: impl IntoIterator<Item = impl Into<Arc<str>>>) -> Self {
        self.plans.names.extend(names.into_iter().map(Into::into));
        self
    }

    /// Puts a client on a plan, whatever plan its [calls](crate::Call::plan) name: who is named here is meant.
    pub fn client(mut self, name: impl Into<Arc<str>>, plan: impl Into<Arc<str>>) -> Self {
        self.plans.clients.push((name.into(), plan.into()));
        self
    }

    /// Puts all clients on a plan whose names begin so, unless a longer beginning has another, or their calls name one.
    pub fn clients_with_prefix(
        mut self,
        prefix: impl Into<Arc<str>>,
        plan: impl Into<Arc<str>>,
    ) -> Self {
        self.plans.prefixes.push((prefix.into(), plan.into()));
        self
    }

    /// Checks everything.
    ///
    /// # Errors
    /// Every fault there is: parameters out of range, an endpoint or a limit given twice, patterns that cannot be read
    /// or stand together, a shared limit or a plan that is not there, what does not go together for one call, no
    /// default.
    pub fn build(self) -> Result<Config, Faults> {
        let mut faults = Vec::new();
        if self.default.is_none() {
            faults.push(Fault::of_entry("missing `default`, the limiter of endpoints not listed"));
        }
        let mut valid = |subject: &dyn fmt::Display, entry: &str, policy: Policy| {
            let within = |fault: &Fault| fault.clone().within(subject);
            let checked = policy.check(entry);
            checked.map_err(|found| faults.extend(found.iter().map(within))).ok()
        };
        let default = self.default.and_then(|policy| valid(&DEFAULT, DEFAULT, policy));
        let mut endpoints: Vec<(Arc<str>, ValidPolicy)> = Vec::new();
        let mut names = Vec::new();
        for (name, policy) in self.endpoints {
            let policy = valid(&format_args!("endpoint {name:?}"), &name, policy);
            endpoints.extend(policy.map(|policy| (name.as_str().into(), policy)));
            names.push(name);
        }
        refuse_twice(&names, &mut faults);
        let routes = routes_of(&names, &mut faults);
        let shared = check_limits(self.shared);
        let shared = shared.map_err(|found| faults.extend(found.iter().cloned())).ok();
        let every = self.every.into_iter().map(Into::into).collect();
        let config = default.zip(shared).map(|(default, shared)| {
            let plans = self.plans;
            let config = Config { default, endpoints, routes, shared, every, plans };
            config.check_together(&mut faults);
            config
        });
        Faults::check(faults)?;
        config.ok_or_else(|| Fault::of_entry("a limiter is missing").into())
    }
}

fn refuse_twice(names: &[String], faults: &mut Vec<Fault>) {
    let mut seen = BTreeMap::new();
    for name in names {
        let times = seen.entry(name.as_str()).or_insert(0_u32);
        *times = times.saturating_add(1);
        if *times == 2 {
            faults.push(Fault::of_entry(format!("endpoint {name:?} is given twice; keep one")));
        }
    }
}

/// The patterns among the endpoints' names; what is wrong with them is added to the faults.
fn routes_of(names: &[String], faults: &mut Vec<Fault>) -> Routes {
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    Routes::new(&names).unwrap_or_else(|found| {
        let name = |fault: &EndpointFault| names.get(fault.index()).copied().unwrap_or_default();
        let of_endpoint = |fault| format!("endpoint {:?}: {fault}", name(&fault));
        faults.extend(found.into_iter().map(of_endpoint).map(Fault::of_entry));
        Routes::default()
    })
}
