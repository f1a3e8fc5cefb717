//! One limiter, whatever it is: what it is asked, and what it answers.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use crate::algorithm::Timeline;
use crate::clock::{Clock, ClockSource, MonotonicClock, Time};
use crate::concurrency::Permit;
use crate::decision::{CallError, CostExceedsLimit, RateLimitResult};
use crate::key::{Key, KeyHasher};
use crate::limit::{Mode, Scope};
use crate::plans::PlanName;
use crate::receipt::Receipt;
use crate::store::{Counts, ResetReport};
use crate::wall_clock::{SystemWallClock, WallClock, WallClockSource};

/// What the limiters of one place share: the clocks they ask, and the secret their keys are hashed under.
#[derive(Clone, Debug)]
pub struct Environment {
    clock: ClockSource,
    wall_clock: WallClockSource,
    hasher: KeyHasher,
}

impl Environment {
    /// The machine's monotonic clock and wall clock, and a secure hash under a random key.
    pub fn new() -> Self {
        let clock = ClockSource::Monotonic(MonotonicClock::new());
        let wall_clock = WallClockSource::System(SystemWallClock::new());
        Self { clock, wall_clock, hasher: KeyHasher::secure() }
    }

    /// A clock of your own, such as a [`ManualClock`](crate::ManualClock), and a secure hash under a random key.
    ///
    /// The clock is the wall clock too, as if its origin were the beginning of 1970 UTC, unless another one is given.
    pub fn with_clock(clock: impl Clock + 'static) -> Self {
        let clock = ClockSource::Injected(Arc::new(clock));
        let wall_clock = WallClockSource::TimesOfDecisions;
        Self { clock, wall_clock, hasher: KeyHasher::secure() }
    }

    /// With another wall clock, which only windows on the calendar ask.
    #[must_use]
    pub fn with_wall_clock(self, clock: impl WallClock + 'static) -> Self {
        self.with_wall_clock_of(WallClockSource::Injected(Arc::new(clock)))
    }

    pub(crate) fn with_wall_clock_of(self, wall_clock: WallClockSource) -> Self {
        Self { wall_clock, ..self }
    }

    /// With another hash for keys.
    #[must_use]
    pub fn with_key_hasher(self, hasher: KeyHasher) -> Self {
        Self { hasher, ..self }
    }

    pub(crate) const fn hasher(&self) -> &KeyHasher {
        &self.hasher
    }

    pub(crate) fn now(&self) -> Time {
        self.clock.now()
    }

    /// A time of the clock, now unless one is given, on an algorithm's timeline.
    #[inline]
    pub(crate) fn time_on(&self, timeline: Timeline, at: Option<Time>) -> Time {
        match timeline {
            Timeline::Monotonic => at.unwrap_or_else(|| self.now()),
            Timeline::Calendar => self.wall_clock.at(at, || self.now()),
        }
    }
}

impl Default for Environment {
    fn default() -> Self {
        Self::new()
    }
}

/// The key of a limit that counts everybody's calls together.
const EVERYBODY: Key = Key(1);

/// A call to one limiter: whose, at what cost, and when.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    key: Key,
    tenant: Option<Key>,
    plan: PlanName,
    cost: u64,
    /// Whether the caller said what it costs.
    is_priced: bool,
    at: Option<Time>,
}

impl Request {
    /// A call of cost 1, or of what its endpoint [costs](crate::Policy::cost), now.
    pub const fn new(key: Key) -> Self {
        Self { key, tenant: None, plan: PlanName::NONE, cost: 1, is_priced: false, at: None }
    }

    /// With another cost. A cost of 0 only looks.
    #[must_use]
    pub const fn cost(self, cost: u64) -> Self {
        Self { cost, is_priced: true, ..self }
    }

    /// At a time of the caller's instead of the clock's, such as a recorded one.
    #[must_use]
    pub const fn at(self, time: Time) -> Self {
        Self { at: Some(time), ..self }
    }

    /// With this cost unless the caller said another.
    pub(crate) const fn or_cost(self, cost: u64) -> Self {
        if self.is_priced { self } else { self.cost(cost) }
    }

    /// On behalf of a tenant, by whom some limits count.
    #[must_use]
    pub const fn tenant(self, tenant: Key) -> Self {
        Self { tenant: Some(tenant), ..self }
    }

    /// Of a client on a plan, unless the operator gave it another.
    pub(crate) const fn on_plan(self, plan: PlanName) -> Self {
        Self { plan, ..self }
    }

    /// The plan that is named.
    pub(crate) fn plan(&self) -> Option<PlanName> {
        Some(self.plan).filter(|plan| *plan != PlanName::NONE)
    }

    /// Whose call it is.
    pub const fn key(&self) -> Key {
        self.key
    }

    /// The tenant on whose behalf it is made.
    pub const fn tenant_key(&self) -> Option<Key> {
        self.tenant
    }

    /// The key that a limit of this scope counts the call under; `None` where the call lacks a tenant.
    pub(crate) const fn key_of(&self, scope: Scope) -> Option<Key> {
        match scope {
            Scope::Client => Some(self.key),
            Scope::Tenant => self.tenant,
            Scope::Global => Some(EVERYBODY),
        }
    }

    pub(crate) const fn costs(&self) -> u64 {
        self.cost
    }

    pub(crate) const fn time(&self) -> Option<Time> {
        self.at
    }

    /// The same of another key.
    pub(crate) const fn with_key(self, key: Key) -> Self {
        Self { key, ..self }
    }

    /// At this time unless it has one.
    pub(crate) const fn or_at(self, time: Time) -> Self {
        match self.at {
            Some(_) => self,
            None => self.at(time),
        }
    }
}

/// The answer to a call: a result, or the error that it cannot be judged, such as by its cost.
pub type Decided = Result<RateLimitResult, CallError>;

/// The answer to a call, and what each limit behind it says.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DecidedEach {
    /// The answer.
    pub decided: Decided,
    /// Each limit's own, in the order of the config; none where the call could not be judged.
    pub limits: Vec<LimitResult>,
}

impl DecidedEach {
    /// An answer that no limit stands behind.
    pub const fn outright(result: RateLimitResult) -> Self {
        Self { decided: Ok(result), limits: Vec::new() }
    }
}

/// What one of several limits says of a call.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct LimitResult {
    /// Whose calls it counts together.
    pub scope: Scope,
    /// Whether it denies; one in shadow takes no part in the answer.
    pub mode: Mode,
    /// Its answer and figures: of a call that was allowed, those after its charge; else as they stand.
    pub result: RateLimitResult,
}

/// A rate limiter for many keys under one quota. It knows a key and its own parameters, nothing of HTTP or users.
///
/// Share it by `Arc`; all methods take `&self`.
///
/// # Consistency
/// Decisions on one key are one after another (linearizable), whatever the threads; keys are independent.
pub trait Limiter: Any + Debug + Send + Sync {
    /// Judges a call and charges it if it is allowed, as one step: what all other methods come down to.
    ///
    /// # Errors
    /// When the cost is above the limit, or a tenant is missing; nothing is charged.
    fn decide(&self, request: Request) -> Decided;

    /// The same, with what each limit says where there are several.
    fn decide_each(&self, request: Request) -> DecidedEach {
        let decided = self.decide(request);
        let result = decided.unwrap_or_else(|error| error.result());
        let own = LimitResult { scope: Scope::Client, mode: Mode::Enforce, result };
        DecidedEach { decided, limits: vec![own] }
    }

    /// The same, with what it takes to give the charge back. By default that cannot be done.
    fn decide_with_receipt(&self, request: Request) -> (Decided, Receipt) {
        (self.decide(request), Receipt::none())
    }

    /// What a call costs that does not say.
    fn default_cost(&self) -> u64 {
        1
    }

    /// What a call would be answered, without charging it: the figures as they stand.
    ///
    /// # Errors
    /// When the cost is above the limit, or a tenant is missing.
    fn look(&self, request: Request) -> Decided;

    /// As [`decide`](Self::decide), for a call that says when it ends, which matters where calls under way are counted.
    ///
    /// # Errors
    /// When the cost is above the limit, or a tenant is missing; nothing is charged.
    fn acquire(&self, request: Request) -> Result<Permit, CallError> {
        self.decide(request).map(Permit::without_end)
    }

    /// How long a call would have to wait behind calls of the same key at these costs, if each is served as soon as
    /// it may be and nobody else uses the key; `None` where no wait can be promised. Nothing is charged.
    ///
    /// A limiter of your own may leave this as it is: then it is the wait for all costs at once, as far as the limit
    /// goes, which may be too short where together they are above it.
    ///
    /// # Errors
    /// When the cost is above the limit, or a tenant is missing.
    fn wait_behind(&self, before: &[u64], request: Request) -> Result<Option<Duration>, CallError> {
        let alone = self.look(request)?;
        let costs = before.iter().copied().fold(request.cost, u64::saturating_add);
        let together = costs.min(u64::from(self.limit())).max(request.cost);
        let result = self.look(request.cost(together)).unwrap_or(alone);
        let wait = result.retry_after_ms().map(Duration::from_millis);
        Ok(if result.allowed() { Some(Duration::ZERO) } else { wait })
    }

    /// A call of cost 1 by the client of this name. Where plans go by the beginning of a name it is on that plan, as a
    /// request of the client's [key](Self::key) alone is not.
    fn request(&self, name: &str) -> Request {
        Request::new(self.key(name))
    }

    /// The key of a name, to ask with more than once.
    fn key(&self, name: &str) -> Key;

    /// The time by this limiter's clock.
    fn now(&self) -> Time;

    /// Forgets what a key has used. Debt in the overflow cell the key starts from afterwards stays; the report says so.
    fn reset(&self, name: &str) -> ResetReport;

    /// What it has done and holds.
    fn counts(&self) -> Counts;

    /// The quota in force: the largest cost that can ever be met.
    fn limit(&self) -> u32;

    /// Asks for the memory in which a key's state lies, ahead of a decision: callers with several to make wait for all
    /// of it at once. Changes nothing, and does nothing where the memory is near anyway.
    fn prefetch(&self, _key: Key) {}

    /// Whether a call of cost 1 may proceed now. It names no tenant: where a limit needs one, it is denied, with
    /// [`Reason::TenantMissing`](crate::Reason::TenantMissing).
    fn allow(&self, name: &str) -> RateLimitResult {
        self.decide(self.request(name)).unwrap_or_else(|error| error.result())
    }

    /// Whether a call of this cost may proceed now: charged whole or not at all.
    ///
    /// # Errors
    /// When the cost is above the limit; nothing is charged. The lack of a tenant is a denial, as for
    /// [`allow`](Self::allow).
    fn allow_n(&self, name: &str, cost: u64) -> Result<RateLimitResult, CostExceedsLimit> {
        self.decide(self.request(name).cost(cost)).or_else(CallError::of_cost)
    }

    /// Whether a call of cost 1 would be allowed now, and the key's figures, without charging it.
    fn peek(&self, name: &str) -> RateLimitResult {
        self.look(self.request(name)).unwrap_or_else(|error| error.result())
    }

    /// Decides a batch in order, at one reading of the clock: names with their costs.
    fn allow_many(&self, calls: &[(&str, u64)]) -> Vec<Decided> {
        let now = self.now();
        let request = |(name, cost): &(&str, u64)| self.request(name).cost(*cost).at(now);
        self.decide_many(&calls.iter().map(request).collect::<Vec<_>>())
    }

    /// Decides a batch in order, each call at a time of its own.
    fn allow_many_at(&self, calls: &[(&str, u64, Time)]) -> Vec<Decided> {
        let request =
            |(name, cost, time): &(&str, u64, Time)| self.request(name).cost(*cost).at(*time);
        self.decide_many(&calls.iter().map(request).collect::<Vec<_>>())
    }

    /// Decides a batch in order, with the same answers as one by one; requests without a time share one reading of
    /// the clock.
    fn decide_many(&self, requests: &[Request]) -> Vec<Decided> {
        let now = self.now();
        requests.iter().map(|request| self.decide(request.or_at(now))).collect()
    }
}

/// Calls of a batch whose memory is asked for before the first is decided: as many misses as a processor core can have
/// open, and a little more.
pub(crate) const PREFETCHED_AT_ONCE: usize = 32;
