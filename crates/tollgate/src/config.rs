//! What a limiter, and a set of them, is made from: checked once, and valid from then on.

use std::collections::HashMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::algorithm::IntoAlgorithm;
use crate::concurrency::Concurrency;
use crate::factory::AnyAlgorithm;
use crate::parameters::{Fault, Faults, whole_range};
use crate::routes::{EndpointFault, Routes};

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
}

impl Default for Bounds {
    fn default() -> Self {
        Self { max_keys: LimiterConfig::DEFAULT_MAX_KEYS, on_full: OnFull::default() }
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

    fn check(self) -> Result<ValidLimiter, Faults> {
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

/// The limits of a whole API: one limiter for each endpoint named, and a default for every other. Valid by
/// construction, so making or reloading a [`RateLimiter`](crate::RateLimiter) from it cannot fail.
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
    pub(crate) default: ValidLimiter,
    pub(crate) endpoints: Vec<(Arc<str>, ValidLimiter)>,
    /// The patterns among the endpoints' names.
    pub(crate) routes: Arc<Routes>,
}

impl Config {
    /// A config in the making.
    pub fn builder() -> ConfigBuilder {
        ConfigBuilder { default: None, endpoints: Vec::new() }
    }

    /// What each endpoint gets, in the order given; the default comes first, with no endpoint.
    pub fn limiters(&self) -> impl Iterator<Item = LimiterSummary<'_>> {
        let named = self.endpoints.iter().map(|(name, limiter)| (Some(&**name), limiter));
        std::iter::once((None, &self.default)).chain(named).map(|(endpoint, limiter)| {
            LimiterSummary {
                endpoint,
                algorithm: &limiter.algorithm,
                max_keys: limiter.bounds.max_keys,
                on_full: limiter.bounds.on_full,
            }
        })
    }
}

/// What a [`Config`] says of one endpoint.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct LimiterSummary<'a> {
    /// The endpoint, `None` for the default.
    pub endpoint: Option<&'a str>,
    /// The algorithm and its parameters.
    pub algorithm: &'a AnyAlgorithm,
    /// The most keys held at once.
    pub max_keys: u64,
    /// What happens beyond.
    pub on_full: OnFull,
}

impl LimiterSummary<'_> {
    /// The most bytes the table of keys and its overflow cells can take, without what states have on the heap.
    pub fn table_bytes_max(&self) -> u64 {
        let bounds = Bounds { max_keys: self.max_keys, on_full: self.on_full };
        self.algorithm.table_bytes_max(bounds)
    }
}

/// A [`Config`] in the making. Nothing is checked until [`build`](Self::build), which then finds every fault.
#[derive(Clone, Debug)]
#[must_use]
pub struct ConfigBuilder {
    default: Option<LimiterConfig>,
    endpoints: Vec<(String, LimiterConfig)>,
}

impl ConfigBuilder {
    /// The limiter of every endpoint that is not listed.
    pub fn default(mut self, limiter: impl Into<LimiterConfig>) -> Self {
        self.default = Some(limiter.into());
        self
    }

    /// The limiter of one endpoint: any name, matched exactly. `/path` answers for `METHOD /path` too, unless that
    /// has an entry of its own.
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
    pub fn endpoint(mut self, name: impl Into<String>, limiter: impl Into<LimiterConfig>) -> Self {
        self.endpoints.push((name.into(), limiter.into()));
        self
    }

    /// Checks everything.
    ///
    /// # Errors
    /// Every fault there is: parameters out of range, an endpoint given twice, patterns that cannot be read or stand
    /// together, no default.
    pub fn build(self) -> Result<Config, Faults> {
        let mut faults = Vec::new();
        let mut valid = |name: &dyn fmt::Display, limiter: LimiterConfig| match limiter.check() {
            Ok(limiter) => Some(limiter),
            Err(found) => {
                let of_endpoint = |fault: &Fault| fault.clone().within(name);
                faults.extend(found.iter().map(of_endpoint));
                None
            }
        };
        let default = self.default.map(|limiter| valid(&"default", limiter));
        let endpoints: Vec<_> = self
            .endpoints
            .into_iter()
            .map(|(name, limiter)| (valid(&format_args!("endpoint {name:?}"), limiter), name))
            .collect();
        let mut seen = HashMap::new();
        for (_, name) in &endpoints {
            let times = seen.entry(name.as_str()).or_insert(0_u32);
            *times = times.saturating_add(1);
            if *times == 2 {
                faults.push(Fault::of_entry(format!("endpoint {name:?} is given twice; keep one")));
            }
        }
        let routes = routes_of(&endpoints, &mut faults);
        if default.is_none() {
            faults.push(Fault::of_entry("missing `default`, the limiter of endpoints not listed"));
        }
        Faults::check(faults)?;
        let named = |(limiter, name): (Option<ValidLimiter>, String)| Some((name.into(), limiter?));
        match default.flatten().zip(endpoints.into_iter().map(named).collect()) {
            Some((default, endpoints)) => {
                Ok(Config { default, endpoints, routes: Arc::new(routes) })
            }
            None => Err(Fault::of_entry("a limiter is missing").into()),
        }
    }
}

/// The patterns among the endpoints' names; what is wrong with them is added to the faults.
fn routes_of<T>(endpoints: &[(T, String)], faults: &mut Vec<Fault>) -> Routes {
    let names: Vec<_> = endpoints.iter().map(|(_, name)| name.as_str()).collect();
    Routes::new(&names).unwrap_or_else(|found| {
        let name = |fault: &EndpointFault| names.get(fault.index()).copied().unwrap_or_default();
        let of_endpoint = |fault| format!("endpoint {:?}: {fault}", name(&fault));
        faults.extend(found.into_iter().map(of_endpoint).map(Fault::of_entry));
        Routes::default()
    })
}
