//! The one type that joins algorithm, store and clock.

use std::sync::Arc;
use std::time::Duration;

use crate::algorithm::{Algorithm, SlidingWindowLog, TokenBucket};
use crate::clock::{Time, nanos_of};
use crate::config::{Bounds, LimiterConfig, OnFull};
use crate::decision::{CallError, RateLimitResult};
use crate::key::Key;
use crate::limiter::{Decided, Environment, Limiter, PREFETCHED_AT_ONCE, Request};
use crate::receipt::Receipt;
use crate::store::{Charge, Counts, Held, ResetReport, Store};

/// A token bucket for each key.
pub type TokenBucketLimiter = Keyed<TokenBucket>;

/// A sliding window log for each key.
pub type SlidingWindowLogLimiter = Keyed<SlidingWindowLog>;

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
        let (store, forgiven) = self.store.moved_to(algorithm, bounds, self.time_of(None));
        (Self::of_store(store, self.environment.clone()), forgiven)
    }

    pub(crate) const fn store(&self) -> &Arc<Store<A>> {
        &self.store
    }

    pub(crate) const fn environment(&self) -> &Environment {
        &self.environment
    }

    /// The time by which a call is judged that came at a time of the clock.
    #[inline]
    pub(crate) fn time_of(&self, at: Option<Time>) -> Time {
        self.environment.time_on(A::TIMELINE, at)
    }
}

impl<A: Algorithm> Limiter for Keyed<A> {
    #[inline]
    fn decide(&self, request: Request) -> Decided {
        let (call, clock) = ((request.key().0, request.costs()), || self.time_of(request.time()));
        self.store.decide(call, clock, |result| result.possible_at(request.costs()))
    }

    fn decide_with_receipt(&self, request: Request) -> (Decided, Receipt) {
        let call = (request.key().0, self.time_of(request.time()), request.costs());
        let (result, charge) = decide_once(|then| self.store.hold(call, then));
        let receipt = Receipt::of(charge.into_iter().collect(), &self.environment);
        (result.possible_at(request.costs()), receipt)
    }

    fn look(&self, request: Request) -> Decided {
        let now = self.time_of(request.time());
        self.store.look(request.key().0, now, request.costs()).possible_at(request.costs())
    }

    fn wait_behind(&self, before: &[u64], request: Request) -> Result<Option<Duration>, CallError> {
        let result = self.look(request)?;
        let snapshot = self.store.snapshot(request.key().0, self.time_of(request.time()));
        Ok(wait_in_line(&result, snapshot, before.iter().copied().chain([request.costs()])))
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

    /// Asks for the memory of a few calls at once, so that they wait for it together and not one after another.
    fn decide_many(&self, requests: &[Request]) -> Vec<Decided> {
        let now = self.environment.now();
        let mut decided = Vec::with_capacity(requests.len());
        for few in requests.chunks(PREFETCHED_AT_ONCE) {
            for request in few {
                self.store.prefetch(request.key().0);
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
        self.store.decide((self.key(name).0, 1), || self.time_of(None), |result| result)
    }
}

/// Decides a call while its key is held, and says what was charged.
pub(crate) fn decide_once(
    hold: impl FnOnce(&mut dyn FnMut(&mut dyn Held)),
) -> (RateLimitResult, Option<Charge>) {
    let (mut result, mut charge) = (RateLimitResult::unlimited(), None);
    hold(&mut |held| {
        if held.decide().allowed() {
            charge = held.receipt();
        }
        result = *held.said();
    });
    (result, charge)
}

/// How long the last of these costs waits that are served one after another, from a key's state on; `None` where the
/// key was told that no wait is known.
pub(crate) fn wait_in_line<A: Algorithm>(
    told: &RateLimitResult,
    (algorithm, mut state, start): (A, A::State, Time),
    costs: impl Iterator<Item = u64>,
) -> Option<Duration> {
    if !told.allowed() && told.retry_after_ms().is_none() {
        return None;
    }
    let mut now = start;
    for cost in costs {
        // One that is above a lowered limit will be told so, and takes nothing.
        let Ok(cost) = u32::try_from(cost) else { continue };
        if cost <= algorithm.limit() {
            now = serve(&algorithm, &mut state, (now, cost));
        }
    }
    Some(Duration::from_nanos(now.nanos_since(start)))
}

/// Charges a call as soon as it may proceed, whole milliseconds from `now` on, and says when that is.
fn serve<A: Algorithm>(algorithm: &A, state: &mut A::State, (now, cost): (Time, u32)) -> Time {
    let result = RateLimitResult::new(algorithm.decide(state, now, cost), algorithm.limit());
    let wait = result.retry_after_ms().map(Duration::from_millis).unwrap_or_default();
    let served = now.plus_nanos(nanos_of(wait));
    algorithm.charge(state, served, cost);
    served
}
