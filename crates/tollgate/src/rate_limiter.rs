//! The door: from an endpoint to its limiter.

use std::sync::Arc;

use arc_swap::ArcSwap;
use parking_lot::Mutex;

use crate::clock::{Clock, Time};
use crate::concurrency::Permit;
use crate::config::Config;
use crate::decision::{CallError, CostExceedsLimit, RateLimitResult};
use crate::endpoints::{Endpoints, LimitCounts};
use crate::key::{Key, KeyHasher};
use crate::limiter::{Decided, DecidedEach, Environment, Limiter, PREFETCHED_AT_ONCE, Request};
use crate::receipt::Receipt;
use crate::reload::ReloadReport;
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
    tenant: Option<&'a str>,
    plan: Option<&'a str>,
    cost: Option<u64>,
    at: Option<Time>,
}

impl<'a> Call<'a> {
    /// A call of cost 1, or of what the endpoint [costs](crate::Policy::cost), now.
    pub const fn new(client: &'a str, endpoint: &'a str) -> Self {
        Self { client, endpoint, tenant: None, plan: None, cost: None, at: None }
    }

    /// With another cost. A cost of 0 only looks.
    #[must_use]
    pub const fn cost(self, cost: u64) -> Self {
        Self { cost: Some(cost), ..self }
    }

    /// At a time of the caller's instead of the clock's, such as a recorded one.
    #[must_use]
    pub const fn at(self, time: Time) -> Self {
        Self { at: Some(time), ..self }
    }

    /// Now by the clock, even if it was given a time of its own.
    #[must_use]
    pub const fn now(self) -> Self {
        Self { at: None, ..self }
    }

    /// On behalf of a tenant, by whom some limits count ([`Scope::Tenant`](crate::Scope::Tenant)).
    #[must_use]
    pub const fn tenant(self, tenant: &'a str) -> Self {
        Self { tenant: Some(tenant), ..self }
    }

    /// Of a client that is on this plan, unless the config puts this very client on another. A plan that the config
    /// does not know is as good as none, and is [counted](RateLimiter::unknown_plans).
    #[must_use]
    pub const fn plan(self, plan: &'a str) -> Self {
        Self { plan: Some(plan), ..self }
    }

    pub(crate) const fn plan_name(&self) -> Option<&'a str> {
        self.plan
    }

    /// The client's name.
    pub const fn client_name(&self) -> &'a str {
        self.client
    }

    /// The endpoint's name.
    pub const fn endpoint_name(&self) -> &'a str {
        self.endpoint
    }

    pub(crate) const fn tenant_name(&self) -> Option<&'a str> {
        self.tenant
    }

    pub(crate) const fn cost_given(&self) -> Option<u64> {
        self.cost
    }

    #[inline]
    pub(crate) fn request(&self, hasher: &KeyHasher) -> Request {
        let request = Request::new(hasher.key(self.client));
        let request = match self.cost {
            Some(cost) => request.cost(cost),
            None => request,
        };
        let request = match self.tenant {
            Some(tenant) => request.tenant(hasher.key(tenant)),
            None => request,
        };
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

    /// Whether the client may call the endpoint now, at cost 1 (or what the endpoint costs). It names no tenant: where
    /// a limit needs one, it is denied, with [`Reason::TenantMissing`](crate::Reason::TenantMissing).
    #[inline]
    pub fn allow(&self, client: &str, endpoint: &str) -> RateLimitResult {
        self.endpoints.load().find(endpoint).allow(client)
    }

    /// Whether the client may call the endpoint now at this cost: charged whole or not at all.
    ///
    /// # Errors
    /// When the cost is above the endpoint's limit; nothing is charged. The lack of a tenant is a denial, as for
    /// [`allow`](Self::allow).
    pub fn allow_n(
        &self,
        client: &str,
        endpoint: &str,
        cost: u64,
    ) -> Result<RateLimitResult, CostExceedsLimit> {
        self.decide(&Call::new(client, endpoint).cost(cost)).or_else(CallError::of_cost)
    }

    /// Judges a call and charges it if it is allowed, as one step: what all the others come down to.
    ///
    /// # Errors
    /// When the cost is above the endpoint's limit, or one of its limits counts by tenant and the call names none;
    /// nothing is charged.
    pub fn decide(&self, call: &Call<'_>) -> Decided {
        let endpoints = self.endpoints.load();
        let request = endpoints.request(call, self.environment.hasher());
        endpoints.find(call.endpoint).decide(request)
    }

    /// The same, with what each of the endpoint's limits says.
    pub fn decide_each(&self, call: &Call<'_>) -> DecidedEach {
        let endpoints = self.endpoints.load();
        let request = endpoints.request(call, self.environment.hasher());
        endpoints.find(call.endpoint).decide_each(request)
    }

    /// The same, with a receipt by which the charge can be given back.
    pub fn decide_with_receipt(&self, call: &Call<'_>) -> (Decided, Receipt) {
        let endpoints = self.endpoints.load();
        let request = endpoints.request(call, self.environment.hasher());
        endpoints.find(call.endpoint).decide_with_receipt(request)
    }

    /// A call as its endpoint's [`limiter`](Self::limiter) is asked it, for those who ask that themselves: with its
    /// keys, and the plan it names or that goes by the client's name.
    pub fn request(&self, call: &Call<'_>) -> Request {
        self.endpoints.load().request(call, self.environment.hasher())
    }

    /// What a call costs: what it says, or else what its endpoint costs.
    pub fn cost_of(&self, call: &Call<'_>) -> u64 {
        call.cost.unwrap_or_else(|| self.endpoints.load().find(call.endpoint).default_cost())
    }

    /// Whether the client may call the endpoint now, for a call that says when it ends: by dropping the permit.
    ///
    /// It matters where calls under way are counted ([`Concurrency`](crate::Concurrency)); under any other limiter this
    /// is [`allow`](Self::allow).
    pub fn acquire(&self, client: &str, endpoint: &str) -> Permit {
        let acquired = self.acquire_for(&Call::new(client, endpoint));
        acquired.unwrap_or_else(|error| Permit::without_end(error.result()))
    }

    /// As [`acquire`](Self::acquire), at another cost: so many places.
    ///
    /// # Errors
    /// When the cost is above the endpoint's limit, or a tenant is missing; nothing is charged.
    pub fn acquire_n(&self, client: &str, endpoint: &str, cost: u64) -> Result<Permit, CallError> {
        self.acquire_for(&Call::new(client, endpoint).cost(cost))
    }

    /// As [`acquire`](Self::acquire), for any call.
    ///
    /// # Errors
    /// As [`decide`](Self::decide).
    pub fn acquire_for(&self, call: &Call<'_>) -> Result<Permit, CallError> {
        let endpoints = self.endpoints.load();
        let request = endpoints.request(call, self.environment.hasher());
        endpoints.find(call.endpoint).acquire(request)
    }

    /// Decides a batch in order, with the same answers as one by one; calls without a time share one reading of the
    /// clock.
    pub fn allow_many(&self, calls: &[Call<'_>]) -> Vec<Decided> {
        let now = self.environment.now();
        let endpoints = self.endpoints.load();
        let mut decided = Vec::with_capacity(calls.len());
        let mut asked = Vec::with_capacity(calls.len().min(PREFETCHED_AT_ONCE));
        for few in calls.chunks(PREFETCHED_AT_ONCE) {
            asked.extend(few.iter().map(|call| {
                let limiter = endpoints.find(call.endpoint);
                let request = endpoints.request(call, self.environment.hasher()).or_at(now);
                limiter.prefetch(request.key());
                (limiter, request)
            }));
            decided.extend(asked.drain(..).map(|(limiter, request)| limiter.decide(request)));
        }
        decided
    }

    /// Decides a batch in order, each call at the time given beside it.
    pub fn allow_many_at(&self, calls: &[(Call<'_>, Time)]) -> Vec<Decided> {
        self.allow_many(&calls.iter().map(|(call, time)| call.at(*time)).collect::<Vec<_>>())
    }

    /// What a call would be answered now, without charging it: the figures as they stand.
    ///
    /// # Errors
    /// As [`decide`](Self::decide).
    pub fn look(&self, call: &Call<'_>) -> Decided {
        let endpoints = self.endpoints.load();
        let request = endpoints.request(call, self.environment.hasher());
        endpoints.find(call.endpoint).look(request)
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

    /// The config in force.
    pub fn config(&self) -> Arc<Config> {
        Arc::clone(self.endpoints.load().config())
    }

    /// What each limiter has done and holds: the default's first, with no endpoint, then in the order of the config.
    pub fn counts(&self) -> Vec<(Option<Arc<str>>, Counts)> {
        self.endpoints.load().counts()
    }

    /// What each limit has done and holds that does not answer for its endpoint alone: the default's first, then those
    /// of the endpoints in the order of the config, then those that are shared.
    pub fn limit_counts(&self) -> Vec<LimitCounts> {
        self.endpoints.load().limit_counts()
    }

    /// How many calls named a plan that the config in force did not know. They were decided as if they named none.
    pub fn unknown_plans(&self) -> u64 {
        self.endpoints.load().unknown_plans()
    }

    /// Changes the limits while decisions go on, and loses nothing that clients have used up where the algorithm stays.
    ///
    /// Entries that did not change keep everything. Limits are known by their endpoint and name (or the
    /// name they [were](crate::Limit::was) known by). Where the algorithm stays, each key keeps its debt under the new
    /// limits; where it changes or the limit goes, state is lost, and the report says so. No decision is dropped,
    /// and none waits for more than one stripe's share of the move.
    pub fn reload(&self, config: Config) -> ReloadReport {
        let _one_at_a_time = self.reloading.lock();
        let (next, report) = self.endpoints.load().follow(config, &self.environment);
        self.endpoints.store(Arc::new(next));
        report
    }
}
