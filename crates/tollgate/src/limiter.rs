//! One limiter: the trait, and the one type that joins algorithm, store and clock.

use std::any::Any;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use crate::algorithm::{Algorithm, SlidingWindowLog, Timeline, TokenBucket};
use crate::clock::{Clock, ClockSource, MonotonicClock, Time, nanos_of};
use crate::concurrency::Permit;
use crate::config::{Bounds, LimiterConfig, OnFull};
use crate::decision::{CostExceedsLimit, RateLimitResult};
use crate::key::{Key, KeyHasher};
use crate::store::{Counts, ResetReport, Sharded};
use crate::wall_clock::{SystemWallClock, WallClock, WallClockSource};

/// A token bucket for each key.
pub type TokenBucketLimiter = Keyed<TokenBucket>;

/// A sliding window log for each key.
pub type SlidingWindowLogLimiter = Keyed<SlidingWindowLog>;

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
    fn time_on(&self, timeline: Timeline, at: Option<Time>) -> Time {
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

/// A call to one limiter: whose, at what cost, and when.
#[derive(Clone, Copy, Debug)]
pub struct Request {
    key: Key,
    cost: u64,
    at: Option<Time>,
}

impl Request {
    /// A call of cost 1, now.
    pub const fn new(key: Key) -> Self {
        Self { key, cost: 1, at: None }
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

    pub(crate) const fn key(&self) -> Key {
        self.key
    }

    pub(crate) const fn units(&self) -> u64 {
        self.cost
    }

    pub(crate) const fn time(&self) -> Option<Time> {
        self.at
    }

    /// At this time unless it has one.
    pub(crate) const fn or_at(self, time: Time) -> Self {
        match self.at {
            Some(_) => self,
            None => self.at(time),
        }
    }
}

/// The answer to a call with a cost: a result, or the error that the cost can never be met.
pub type Decided = Result<RateLimitResult, CostExceedsLimit>;

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
    /// When the cost is above the limit; nothing is charged.
    fn decide(&self, request: Request) -> Decided;

    /// What a call would be answered, without charging it: the figures as they stand.
    ///
    /// # Errors
    /// When the cost is above the limit.
    fn look(&self, request: Request) -> Decided;

    /// As [`decide`](Self::decide), for a call that says when it ends, which matters where calls under way are counted.
    ///
    /// # Errors
    /// When the cost is above the limit; nothing is charged.
    fn acquire(&self, request: Request) -> Result<Permit, CostExceedsLimit> {
        self.decide(request).map(Permit::without_end)
    }

    /// How long a call would have to wait behind calls of the same key at these costs, if each is served as soon as
    /// it may be and nobody else uses the key; `None` where no wait can be promised. Nothing is charged.
    ///
    /// A limiter of your own may leave this as it is: then it is the wait for all costs at once, as far as the limit
    /// goes, which may be too short where together they are above it.
    ///
    /// # Errors
    /// When the cost is above the limit.
    fn wait_behind(
        &self,
        before: &[u64],
        request: Request,
    ) -> Result<Option<Duration>, CostExceedsLimit> {
        let alone = self.look(request)?;
        let costs = before.iter().copied().fold(request.cost, u64::saturating_add);
        let together = costs.min(u64::from(self.limit())).max(request.cost);
        let result = self.look(request.cost(together)).unwrap_or(alone);
        let wait = result.retry_after_ms().map(Duration::from_millis);
        Ok(if result.allowed() { Some(Duration::ZERO) } else { wait })
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

    /// Whether a call of cost 1 may proceed now.
    fn allow(&self, name: &str) -> RateLimitResult {
        self.decide(Request::new(self.key(name))).unwrap_or_else(|error| error.result())
    }

    /// Whether a call of this cost may proceed now: charged whole or not at all.
    ///
    /// # Errors
    /// When the cost is above the limit; nothing is charged.
    fn allow_n(&self, name: &str, cost: u64) -> Decided {
        self.decide(Request::new(self.key(name)).cost(cost))
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

/// The limiter: an algorithm, a store and a clock, joined. The only place that knows all three.
///
/// # Memory
/// At most `maxKeys` keys are held, in memory taken as it is used: for each, [`Self::BYTES_PER_KEY`] in a table that is
/// two fifths to four fifths full, and what its state has on the heap (a log's stamps). After a first eviction come the
/// overflow cells, one state for each four keys. A known key takes no allocation but for the growth of its log.
#[derive(Debug)]
pub struct Keyed<A: Algorithm> {
    store: Arc<Sharded<A>>,
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
        let bounds = Bounds { max_keys: max_keys.clamp(least, most), on_full };
        Self::with_bounds(algorithm, bounds, environment)
    }

    pub(crate) fn with_bounds(algorithm: A, bounds: Bounds, environment: &Environment) -> Self {
        Self::of_store(Arc::new(Sharded::new(algorithm, bounds)), environment.clone())
    }

    fn of_store(store: Arc<Sharded<A>>, environment: Environment) -> Self {
        Self { store, environment }
    }

    /// The algorithm and the parameters it was made with; a reload since may have set others.
    pub fn algorithm(&self) -> &A {
        self.store.algorithm()
    }

    /// The limiter that goes on under other parameters or bounds, with all this one holds. This one sends its
    /// callers on.
    pub(crate) fn moved_to(&self, algorithm: A, bounds: Bounds) -> (Self, u64) {
        let (store, forgiven) = self.store.moved_to(algorithm, bounds, self.time_of(None));
        (Self::of_store(store, self.environment.clone()), forgiven)
    }

    /// The time by which a call is judged that came at a time of the clock.
    #[inline]
    fn time_of(&self, at: Option<Time>) -> Time {
        self.environment.time_on(A::TIMELINE, at)
    }
}

impl<A: Algorithm> Limiter for Keyed<A> {
    #[inline]
    fn decide(&self, request: Request) -> Decided {
        let now = self.time_of(request.at);
        self.store.decide(request.key.0, now, request.cost).possible_at(request.cost)
    }

    fn look(&self, request: Request) -> Decided {
        let now = self.time_of(request.at);
        self.store.look(request.key.0, now, request.cost).possible_at(request.cost)
    }

    fn wait_behind(
        &self,
        before: &[u64],
        request: Request,
    ) -> Result<Option<Duration>, CostExceedsLimit> {
        let result = self.look(request)?;
        if !result.allowed() && result.retry_after_ms().is_none() {
            return Ok(None);
        }
        let (algorithm, mut state, start) =
            self.store.snapshot(request.key.0, self.time_of(request.at));
        let mut now = start;
        for cost in before.iter().chain([&request.cost]) {
            // One that is above a lowered limit will be told so, and takes nothing.
            let Ok(cost) = u32::try_from(*cost) else { continue };
            if cost <= algorithm.limit() {
                now = serve(&algorithm, &mut state, (now, cost));
            }
        }
        Ok(Some(Duration::from_nanos(now.nanos_since(start))))
    }

    fn key(&self, name: &str) -> Key {
        self.environment.hasher().key(name)
    }

    fn now(&self) -> Time {
        self.environment.now()
    }

    fn reset(&self, name: &str) -> ResetReport {
        self.store.reset(self.key(name).0, self.time_of(None))
    }

    fn counts(&self) -> Counts {
        self.store.counts(self.time_of(None))
    }

    fn limit(&self) -> u32 {
        self.store.limit()
    }

    /// The common case, without the detour by an error: no limit is below 1.
    #[inline]
    fn allow(&self, name: &str) -> RateLimitResult {
        self.store.decide(self.key(name).0, self.time_of(None), 1)
    }
}

/// Charges a call as soon as it may proceed, whole milliseconds from `now` on, and says when that is.
fn serve<A: Algorithm>(algorithm: &A, state: &mut A::State, (now, cost): (Time, u32)) -> Time {
    let result = RateLimitResult::new(algorithm.decide(state, now, cost), algorithm.limit());
    let wait = result.retry_after_ms().map(Duration::from_millis).unwrap_or_default();
    let served = now.plus_nanos(nanos_of(wait));
    algorithm.charge(state, served, cost);
    served
}
