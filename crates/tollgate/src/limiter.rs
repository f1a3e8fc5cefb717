//! One limiter: the trait, and the one type that joins algorithm, store and clock.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;

use crate::algorithm::{Algorithm, SlidingWindowLog, TokenBucket};
use crate::clock::{Clock, ClockSource, MonotonicClock, Time};
use crate::config::{Bounds, LimiterConfig, OnFull};
use crate::decision::{CallError, CostExceedsLimit, RateLimitResult};
use crate::key::{Key, KeyHasher};
use crate::limit::{Mode, Scope};
use crate::receipt::Receipt;
use crate::store::{Counts, ResetReport, Store};

/// A token bucket for each key.
pub type TokenBucketLimiter = Keyed<TokenBucket>;

/// A sliding window log for each key.
pub type SlidingWindowLogLimiter = Keyed<SlidingWindowLog>;

/// What the limiters of one place share: the clock they ask, and the secret their keys are hashed under.
#[derive(Clone, Debug)]
pub struct Environment {
    clock: ClockSource,
    hasher: KeyHasher,
}

impl Environment {
    /// The machine's monotonic clock, and a secure hash under a random key.
    pub fn new() -> Self {
        let clock = ClockSource::Monotonic(MonotonicClock::new());
        Self { clock, hasher: KeyHasher::secure() }
    }

    /// A clock of your own, such as a [`ManualClock`](crate::ManualClock), and a secure hash under a random key.
    pub fn with_clock(clock: impl Clock + 'static) -> Self {
        Self { clock: ClockSource::Injected(Arc::new(clock)), hasher: KeyHasher::secure() }
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
}

impl Default for Environment {
    fn default() -> Self {
        Self::new()
    }
}

/// A call to one limiter: whose, at what cost, and when.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    key: Key,
    tenant: Option<Key>,
    cost: u64,
    /// Whether the caller said what it costs.
    is_priced: bool,
    at: Option<Time>,
}

impl Request {
    /// A call of cost 1, or of what its endpoint [costs](crate::Policy::cost), now.
    pub const fn new(key: Key) -> Self {
        Self { key, tenant: None, cost: 1, is_priced: false, at: None }
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

    pub(crate) const fn key(&self) -> Key {
        self.key
    }

    pub(crate) const fn tenant_key(&self) -> Option<Key> {
        self.tenant
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
        self.decide(Request::new(self.key(name))).unwrap_or_else(|error| error.result())
    }

    /// Whether a call of this cost may proceed now: charged whole or not at all.
    ///
    /// # Errors
    /// When the cost is above the limit; nothing is charged. The lack of a tenant is a denial, as for
    /// [`allow`](Self::allow).
    fn allow_n(&self, name: &str, cost: u64) -> Result<RateLimitResult, CostExceedsLimit> {
        self.decide(Request::new(self.key(name)).cost(cost)).or_else(CallError::of_cost)
    }

    /// Whether a call of cost 1 would be allowed now, and the key's figures, without charging it.
    fn peek(&self, name: &str) -> RateLimitResult {
        self.look(Request::new(self.key(name))).unwrap_or_else(|error| error.result())
    }

    /// Decides a batch in order, at one reading of the clock: names with their costs.
    fn allow_many(&self, calls: &[(&str, u64)]) -> Vec<Decided> {
        let now = self.now();
        let request = |(name, cost): &(&str, u64)| Request::new(self.key(name)).cost(*cost).at(now);
        self.decide_many(&calls.iter().map(request).collect::<Vec<_>>())
    }

    /// Decides a batch in order, each call at a time of its own.
    fn allow_many_at(&self, calls: &[(&str, u64, Time)]) -> Vec<Decided> {
        let request = |(name, cost, time): &(&str, u64, Time)| {
            Request::new(self.key(name)).cost(*cost).at(*time)
        };
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

/// The limiter: an algorithm, a store and a clock, joined. The only place that knows all three.
///
/// # Memory
/// At most `maxKeys` keys are held, in memory taken as it is used: for each, [`Self::BYTES_PER_KEY`] in a table that is
/// two fifths to four fifths full, and what its state has on the heap (a log's stamps). After a first eviction come the
/// overflow cells, one state for each four keys. A known key takes no allocation but for the growth of its log.
///
/// Buckets and fixed windows that may hold 4,096 keys or more lie in cache lines, three keys to each. Their table, 30
/// bytes a key of the bound, is reserved whole; the system provides the pages that are used, and keeps them.
#[derive(Debug)]
pub struct Keyed<A: Algorithm> {
    store: Arc<Store<A>>,
    environment: Environment,
}

impl<A: Algorithm> Keyed<A> {
    /// Bytes a key takes: its hash and its state.
    pub const BYTES_PER_KEY: usize = size_of::<[u32; 2]>().saturating_add(size_of::<A::State>());

    /// A limiter on the machine's clock, for up to a million keys.
    pub fn new(algorithm: A) -> Self {
        Self::with_bounds(algorithm, Bounds::default(), &Environment::new())
    }

    /// A limiter with a clock, a hash or a bound of your own.
    ///
    /// ```
    /// use tollgate::{Environment, Keyed, Limiter, ManualClock, OnFull, TokenBucket};
    ///
    /// let environment = Environment::with_clock(ManualClock::new());
    /// let bucket = TokenBucket::per_second(1).build()?;
    /// let limiter = Keyed::with(bucket, 1, OnFull::Deny, &environment);
    /// assert!(limiter.allow("alice").allowed());
    /// assert!(!limiter.allow("bob").allowed()); // one key held, and alice has debt
    /// # Ok::<(), tollgate::Faults>(())
    /// ```
    pub fn with(algorithm: A, max_keys: u64, on_full: OnFull, environment: &Environment) -> Self {
        let (least, most) = (*LimiterConfig::MAX_KEYS.start(), *LimiterConfig::MAX_KEYS.end());
        let bounds = Bounds { max_keys: max_keys.clamp(least, most), on_full, ..Bounds::default() };
        Self::with_bounds(algorithm, bounds, environment)
    }

    pub(crate) fn with_bounds(algorithm: A, bounds: Bounds, environment: &Environment) -> Self {
        Self::of_store(Arc::new(Store::new(algorithm, bounds)), environment.clone())
    }

    fn of_store(store: Arc<Store<A>>, environment: Environment) -> Self {
        Self { store, environment }
    }

    /// The algorithm and the parameters it was made with; a reload since may have set others.
    pub fn algorithm(&self) -> &A {
        self.store.algorithm()
    }

    /// The limiter that goes on under other parameters or bounds, with all this one holds. This one sends its
    /// callers on.
    pub(crate) fn moved_to(&self, algorithm: A, bounds: Bounds) -> (Self, u64) {
        let (store, forgiven) = self.store.moved_to(algorithm, bounds, self.environment.now());
        (Self::of_store(store, self.environment.clone()), forgiven)
    }

    pub(crate) fn store(&self) -> &Arc<Store<A>> {
        &self.store
    }

    #[inline]
    fn time_of(&self, request: Request) -> Time {
        request.at.unwrap_or_else(|| self.environment.now())
    }
}

impl<A: Algorithm> Limiter for Keyed<A> {
    #[inline]
    fn decide(&self, request: Request) -> Decided {
        let now = self.time_of(request);
        self.store
            .decide((request.key.0, now, request.cost), |result| result.possible_at(request.cost))
    }

    fn decide_with_receipt(&self, request: Request) -> (Decided, Receipt) {
        let (now, mut result, mut charge) = (self.time_of(request), None, None);
        self.store.hold((request.key.0, now, request.cost), &mut |held| {
            if held.decide().allowed() {
                charge = held.receipt();
            }
            result = Some(*held.said());
        });
        let result = result.unwrap_or_else(RateLimitResult::unlimited);
        let receipt = Receipt::of(charge.into_iter().collect(), &self.environment);
        (result.possible_at(request.cost), receipt)
    }

    fn look(&self, request: Request) -> Decided {
        let now = self.time_of(request);
        self.store.look(request.key.0, now, request.cost).possible_at(request.cost)
    }

    fn key(&self, name: &str) -> Key {
        self.environment.hasher().key(name)
    }

    fn now(&self) -> Time {
        self.environment.now()
    }

    fn reset(&self, name: &str) -> ResetReport {
        self.store.reset(self.key(name).0, self.now())
    }

    fn counts(&self) -> Counts {
        self.store.counts(self.now())
    }

    fn limit(&self) -> u32 {
        self.store.limit()
    }

    /// Asks for the memory of a few calls at once, so that they wait for it together and not one after another.
    fn decide_many(&self, requests: &[Request]) -> Vec<Decided> {
        let now = self.environment.now();
        let mut decided = Vec::with_capacity(requests.len());
        for few in requests.chunks(PREFETCHED_AT_ONCE) {
            for request in few {
                self.store.prefetch(request.key.0);
            }
            decided.extend(few.iter().map(|request| self.decide(request.or_at(now))));
        }
        decided
    }

    fn prefetch(&self, key: Key) {
        self.store.prefetch(key.0);
    }

    /// The common case, without the detour by an error: no limit is below 1.
    #[inline]
    fn allow(&self, name: &str) -> RateLimitResult {
        self.store.decide((self.key(name).0, self.environment.now(), 1), |result| result)
    }
}
