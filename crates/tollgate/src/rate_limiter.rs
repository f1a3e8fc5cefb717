//! The door: from an endpoint to its limiter.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arc_swap::ArcSwap;
use foldhash::fast::RandomState;
use parking_lot::Mutex;

use crate::clock::{Clock, Time};
use crate::concurrency::Permit;
use crate::config::{Config, ValidLimiter};
use crate::decision::{CostExceedsLimit, RateLimitResult};
use crate::key::{Key, KeyHasher};
use crate::limiter::{Decided, Environment, Limiter, Request};
use crate::reload::{Change, ReloadReport};
use crate::routes::{Routes, is_pattern, method_and_path};
use crate::store::{Counts, ResetReport};
use crate::wall_clock::{WallClock, WallClockSource};

/// Answers whether a client may call an endpoint now: looks the endpoint's limiter up and asks it.
///
/// An endpoint is found by its exact name; else, if it reads `METHOD /path`, by `/path`; else by the most specific
/// [pattern](crate::ConfigBuilder::endpoint) that matches; else the default limiter answers. All unknown endpoints
/// share that one, so inventing names wins nothing.
///
/// Share it by `Arc`; all methods take `&self`.
///
/// ```
/// use std::time::Duration;
/// use tollgate::{Config, RateLimiter, SlidingWindowLog, TokenBucket};
///
/// let config = Config::builder()
///     .default(TokenBucket::per_second(1).burst(10))
///     .endpoint("/search", SlidingWindowLog::new(100, Duration::from_secs(60)))
///     .build()?;
/// let limiter = RateLimiter::new(config);
///
/// assert_eq!(limiter.allow("alice", "GET /search").remaining(), 99);
/// assert_eq!(limiter.allow("alice", "/anything/else").remaining(), 9);
/// # Ok::<(), tollgate::Faults>(())
/// ```
///
/// # Consistency
/// Decisions on one client and endpoint are one after another (linearizable), whatever the threads. During a reload
/// two endpoints may for a moment be under different configs; one client's state of one endpoint never is.
#[derive(Debug)]
pub struct RateLimiter {
    endpoints: ArcSwap<Endpoints>,
    environment: Environment,
    /// One reload at a time; decisions never take it.
    reloading: Mutex<()>,
}

/// Which limiter answers for which endpoint: made whole, and swapped whole.
#[derive(Debug)]
struct Endpoints {
    default: Running,
    /// All others, in the order of the config.
    entries: Vec<(Arc<str>, Running)>,
    /// The limiters of all others by their names. (That of a pattern is no endpoint's name, and is not here.)
    exact: HashMap<Arc<str>, Arc<dyn Limiter>, RandomState>,
    /// Patterns, each with the index of its entry.
    routes: Arc<Routes>,
}

/// A limiter at work, and what it was made from.
#[derive(Clone, Debug)]
struct Running {
    limiter: Arc<dyn Limiter>,
    config: ValidLimiter,
}

/// One call to the door: who, where, at what cost and when.
///
/// ```
/// use tollgate::Call;
///
/// let call = Call::new("alice", "POST /reports").cost(5);
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    client: &'a str,
    endpoint: &'a str,
    cost: u64,
    at: Option<Time>,
}

impl<'a> Call<'a> {
    /// A call of cost 1, now.
    pub const fn new(client: &'a str, endpoint: &'a str) -> Self {
        Self { client, endpoint, cost: 1, at: None }
    }

    /// With another cost. A cost of 0 only looks.
    #[must_use]
    pub const fn cost(self, cost: u64) -> Self {
        Self { cost, ..self }
    }

    /// At a time of the caller's instead of the clock's, such as a recorded one.
    #[must_use]
    pub const fn at(self, time: Time) -> Self {
        Self { at: Some(time), ..self }
    }

    fn request(&self, key: Key) -> Request {
        let request = Request::new(key).cost(self.cost);
        match self.at {
            Some(time) => request.at(time),
            None => request,
        }
    }
}

/// A [`RateLimiter`] in the making, for a clock or a hash of your own.
#[derive(Debug)]
#[must_use]
pub struct RateLimiterBuilder {
    config: Config,
    /// Until the end, so that no clock of the machine is made where another is injected.
    environment: Option<Environment>,
    wall_clock: Option<WallClockSource>,
    hasher: KeyHasher,
}

impl RateLimiterBuilder {
    /// The clock to ask, such as a [`ManualClock`](crate::ManualClock). It is the wall clock too, counting from the
    /// beginning of 1970 UTC, unless [`wall_clock`](Self::wall_clock) gives another.
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.environment = Some(Environment::with_clock(clock));
        self
    }

    /// The wall clock that windows on the calendar ask.
    pub fn wall_clock(mut self, clock: impl WallClock + 'static) -> Self {
        self.wall_clock = Some(WallClockSource::Injected(Arc::new(clock)));
        self
    }

    /// How names of clients become keys.
    pub fn key_hasher(mut self, hasher: KeyHasher) -> Self {
        self.hasher = hasher;
        self
    }

    /// Makes every limiter of the config.
    pub fn build(self) -> RateLimiter {
        let Self { config, environment, wall_clock, hasher } = self;
        let environment = environment.unwrap_or_default().with_key_hasher(hasher);
        let environment = wall_clock.into_iter().fold(environment, Environment::with_wall_clock_of);
        let endpoints = Endpoints::start(config, &environment);
        RateLimiter {
            endpoints: ArcSwap::from_pointee(endpoints),
            environment,
            reloading: Mutex::new(()),
        }
    }
}

impl RateLimiter {
    /// A limiter for each endpoint of the config and the default, all made now, on the machine's clock.
    pub fn new(config: Config) -> Self {
        Self::builder(config).build()
    }

    /// For a clock or a hash of your own.
    pub fn builder(config: Config) -> RateLimiterBuilder {
        let hasher = KeyHasher::secure();
        RateLimiterBuilder { config, environment: None, wall_clock: None, hasher }
    }

    /// Whether the client may call the endpoint now, at cost 1.
    #[inline]
    pub fn allow(&self, client: &str, endpoint: &str) -> RateLimitResult {
        self.endpoints.load().find(endpoint).allow(client)
    }

    /// Whether the client may call the endpoint now at this cost: charged whole or not at all.
    ///
    /// # Errors
    /// When the cost is above the endpoint's limit; nothing is charged.
    pub fn allow_n(&self, client: &str, endpoint: &str, cost: u64) -> Decided {
        self.decide(&Call::new(client, endpoint).cost(cost))
    }

    /// Judges a call and charges it if it is allowed, as one step: what all the others come down to.
    ///
    /// # Errors
    /// When the cost is above the endpoint's limit; nothing is charged.
    pub fn decide(&self, call: &Call<'_>) -> Decided {
        let key = self.key(call.client);
        self.endpoints.load().find(call.endpoint).decide(call.request(key))
    }

    /// Whether the client may call the endpoint now, for a call that says when it ends: by dropping the permit.
    ///
    /// It matters where calls under way are counted ([`Concurrency`](crate::Concurrency)); under any other limiter this
    /// is [`allow`](Self::allow).
    pub fn acquire(&self, client: &str, endpoint: &str) -> Permit {
        let acquired = self.acquire_n(client, endpoint, 1);
        acquired.unwrap_or_else(|error| Permit::without_end(error.result()))
    }

    /// As [`acquire`](Self::acquire), at another cost: so many places.
    ///
    /// # Errors
    /// When the cost is above the endpoint's limit; nothing is charged.
    pub fn acquire_n(
        &self,
        client: &str,
        endpoint: &str,
        cost: u64,
    ) -> Result<Permit, CostExceedsLimit> {
        let request = Request::new(self.key(client)).cost(cost);
        self.endpoints.load().find(endpoint).acquire(request)
    }

    /// Decides a batch in order, with the same answers as one by one; calls without a time share one reading of the
    /// clock.
    pub fn allow_many(&self, calls: &[Call<'_>]) -> Vec<Decided> {
        let now = self.environment.now();
        let endpoints = self.endpoints.load();
        let decide = |call: &Call<'_>| {
            let request = call.request(self.key(call.client)).or_at(now);
            endpoints.find(call.endpoint).decide(request)
        };
        calls.iter().map(decide).collect()
    }

    /// Decides a batch in order, each call at the time given beside it.
    pub fn allow_many_at(&self, calls: &[(Call<'_>, Time)]) -> Vec<Decided> {
        self.allow_many(&calls.iter().map(|(call, time)| call.at(*time)).collect::<Vec<_>>())
    }

    /// Whether a call of cost 1 would be allowed now, and the client's figures, without charging it.
    pub fn peek(&self, client: &str, endpoint: &str) -> RateLimitResult {
        self.endpoints.load().find(endpoint).peek(client)
    }

    /// Forgets what a client has used of an endpoint's quota (of the default's, where the endpoint is not listed).
    pub fn reset(&self, client: &str, endpoint: &str) -> ResetReport {
        self.endpoints.load().find(endpoint).reset(client)
    }

    /// The key of a client's name, to ask [`limiter`](Self::limiter)s with more than once.
    pub fn key(&self, client: &str) -> Key {
        self.environment.hasher().key(client)
    }

    /// The limiter that answers for an endpoint. It stays right across reloads that keep the endpoint's algorithm.
    pub fn limiter(&self, endpoint: &str) -> Arc<dyn Limiter> {
        Arc::clone(self.endpoints.load().find(endpoint))
    }

    /// The name of the entry whose limiter answers for an endpoint, `None` for the default's.
    pub fn entry(&self, endpoint: &str) -> Option<Arc<str>> {
        self.endpoints.load().entry(endpoint).map(Arc::clone)
    }

    /// What each limiter has done and holds: the default's first, with no endpoint, then in the order of the config.
    pub fn counts(&self) -> Vec<(Option<Arc<str>>, Counts)> {
        let endpoints = self.endpoints.load();
        let counted = |(name, running): (Option<&Arc<str>>, &Running)| {
            (name.map(Arc::clone), running.limiter.counts())
        };
        endpoints.iter().map(counted).collect()
    }

    /// Changes the limits while decisions go on, and loses nothing that clients have used up where the algorithm stays.
    ///
    /// Entries that did not change keep everything. Where the algorithm stays, each key keeps its debt under the new
    /// limits; where it changes or the endpoint goes, state is lost, and the report says so. No decision is dropped,
    /// and none waits for more than one stripe's share of the move.
    pub fn reload(&self, config: Config) -> ReloadReport {
        let _one_at_a_time = self.reloading.lock();
        let running = self.endpoints.load_full();
        let mut report = ReloadReport::default();
        let default = self.follow(&running.default, None, config.default, &mut report);
        let before: HashMap<_, _> =
            running.entries.iter().map(|(name, entry)| (name, entry)).collect();
        let mut entries = Vec::new();
        for (name, limiter) in config.endpoints {
            let next = if let Some(before) = before.get(&name) {
                self.follow(before, Some(&name), limiter, &mut report)
            } else {
                report.record(Some(&name), Change::New);
                Running::start(limiter, &self.environment)
            };
            entries.push((name, next));
        }
        let after: HashSet<_> = entries.iter().map(|(name, _)| name).collect();
        for (gone, _) in running.entries.iter().filter(|(name, _)| !after.contains(name)) {
            report.record(Some(gone), Change::Removed);
        }
        self.endpoints.store(Arc::new(Endpoints::new(default, entries, config.routes)));
        report
    }

    /// The limiter that comes after `running`.
    fn follow(
        &self,
        running: &Running,
        endpoint: Option<&str>,
        config: ValidLimiter,
        report: &mut ReloadReport,
    ) -> Running {
        let unchanged = running.config == config;
        let moved = || config.algorithm.limiter_after(&*running.limiter, config.bounds);
        let (change, limiter) = match (!unchanged).then(moved) {
            None => (Change::Kept, Arc::clone(&running.limiter)),
            Some(Some((limiter, forgiven))) => (Change::Changed { forgiven }, limiter),
            Some(None) => {
                (Change::Replaced, config.algorithm.limiter(config.bounds, &self.environment))
            }
        };
        report.record(endpoint, change);
        Running { limiter, config }
    }
}

impl Endpoints {
    fn start(config: Config, environment: &Environment) -> Self {
        let default = Running::start(config.default, environment);
        let start = |(name, limiter)| (name, Running::start(limiter, environment));
        let entries = config.endpoints.into_iter().map(start).collect();
        Self::new(default, entries, config.routes)
    }

    fn new(default: Running, entries: Vec<(Arc<str>, Running)>, routes: Arc<Routes>) -> Self {
        let plain = entries.iter().filter(|(name, _)| !is_pattern(name));
        let exact = plain.map(|(name, running)| (Arc::clone(name), Arc::clone(&running.limiter)));
        Self { default, exact: exact.collect(), entries, routes }
    }

    #[inline]
    fn find(&self, endpoint: &str) -> &Arc<dyn Limiter> {
        match self.exact.get(endpoint) {
            Some(limiter) => limiter,
            None => self.find_by_path(endpoint),
        }
    }

    fn find_by_path(&self, endpoint: &str) -> &Arc<dyn Limiter> {
        let (method, path) = apart(endpoint);
        let by_name = method.and_then(|_| self.exact.get(path));
        let by_pattern = || Some(&self.by_pattern(method, path)?.1.limiter);
        by_name.or_else(by_pattern).unwrap_or(&self.default.limiter)
    }

    /// The name of the entry whose limiter [`find`](Self::find) finds.
    fn entry(&self, endpoint: &str) -> Option<&Arc<str>> {
        let by_name = |name| Some(self.exact.get_key_value(name)?.0);
        let (method, path) = apart(endpoint);
        by_name(endpoint)
            .or_else(|| method.and_then(|_| by_name(path)))
            .or_else(|| Some(&self.by_pattern(method, path)?.0))
    }

    fn by_pattern(&self, method: Option<&str>, path: &str) -> Option<&(Arc<str>, Running)> {
        self.entries.get(self.routes.find(method, path)?)
    }

    fn iter(&self) -> impl Iterator<Item = (Option<&Arc<str>>, &Running)> {
        let named = self.entries.iter().map(|(name, running)| (Some(name), running));
        std::iter::once((None, &self.default)).chain(named)
    }
}

impl Running {
    fn start(config: ValidLimiter, environment: &Environment) -> Self {
        Self { limiter: config.algorithm.limiter(config.bounds, environment), config }
    }
}

/// An endpoint's method, where it has one, and the rest.
fn apart(endpoint: &str) -> (Option<&str>, &str) {
    match method_and_path(endpoint) {
        Some((method, path)) => (Some(method), path),
        None => (None, endpoint),
    }
}
