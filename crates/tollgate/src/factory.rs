//! From a name and parameters to an algorithm, and from an algorithm to a limiter: the one place that knows them all.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::algorithm::{
    Algorithm, Anchor, CalendarWindow, FixedWindow, SlidingWindowCounter, SlidingWindowLog,
    TokenBucket,
};
use crate::concurrency::{Concurrency, ConcurrencyLimiter};
use crate::config::Bounds;
use crate::keyed::Keyed;
use crate::limiter::{Environment, Limiter};
use crate::member::AtWork;
use crate::parameters::{Fault, Faults, Parameters, nearest_name};
use crate::store::Store;

/// Makes algorithms and limiters from config entries: an algorithm's name and its parameters.
///
/// It knows the built-in ones; [`register`](Self::register) adds your own under a name that config files can use.
///
/// ```
/// use tollgate::{Environment, LimiterFactory, Parameters, Value};
///
/// let quota = Parameters::new()
///     .with("maxRequests", Value::Number("100".to_owned()))
///     .with("window", Value::Text("1m".to_owned()));
/// let factory = LimiterFactory::new();
/// let limiter = factory.limiter("SlidingWindowLog", &quota, &Environment::new())?;
/// assert_eq!(limiter.allow("alice").remaining(), 99);
///
/// let fault = factory.algorithm("TokenBuckt", &quota).unwrap_err();
/// assert!(fault.to_string().contains("did you mean `TokenBucket`?"));
/// # Ok::<(), tollgate::Faults>(())
/// ```
#[derive(Clone)]
pub struct LimiterFactory {
    constructors: BTreeMap<String, Constructor>,
}

type Constructor = Arc<dyn Fn(&Parameters) -> Result<AnyAlgorithm, Faults> + Send + Sync>;

impl LimiterFactory {
    /// A factory that knows the built-in algorithms.
    pub fn new() -> Self {
        Self { constructors: BTreeMap::new() }
            .register("TokenBucket", TokenBucket::from_parameters)
            .register("SlidingWindowLog", SlidingWindowLog::from_parameters)
            .register("SlidingWindowCounter", SlidingWindowCounter::from_parameters)
            .with("FixedWindow", Arc::new(fixed_window))
            .with("Concurrency", Arc::new(concurrency))
    }

    /// Adds an algorithm under a name. A name that is known already means the new one from then on.
    #[must_use]
    pub fn register<A: Algorithm>(
        self,
        name: impl Into<String>,
        constructor: impl Fn(&Parameters) -> Result<A, Faults> + Send + Sync + 'static,
    ) -> Self {
        let erased = move |parameters: &_| constructor(parameters).map(AnyAlgorithm::new);
        self.with(name, Arc::new(erased))
    }

    fn with(mut self, name: impl Into<String>, constructor: Constructor) -> Self {
        self.constructors.insert(name.into(), constructor);
        self
    }

    /// For front doors that never learn when a call ends: a `Concurrency` without `leaseMs` is a fault here, since its
    /// places would never be taken, or never be returned.
    #[must_use]
    pub fn for_calls_without_end(self) -> Self {
        self.with("Concurrency", Arc::new(leased_concurrency))
    }

    /// The names known, in alphabetical order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.constructors.keys().map(String::as_str)
    }

    /// The algorithm of this name and these parameters.
    ///
    /// # Errors
    /// When the name is unknown (the fault lists the known ones, and the nearest), or with every fault of the
    /// parameters.
    pub fn algorithm(&self, name: &str, parameters: &Parameters) -> Result<AnyAlgorithm, Faults> {
        match self.constructors.get(name) {
            Some(constructor) => Ok(constructor(parameters)?.named(name)),
            None => Err(self.unknown(name).into()),
        }
    }

    /// A limiter of the algorithm of this name and these parameters, with the default bound on keys.
    ///
    /// # Errors
    /// As [`algorithm`](Self::algorithm).
    pub fn limiter(
        &self,
        name: &str,
        parameters: &Parameters,
        environment: &Environment,
    ) -> Result<Arc<dyn Limiter>, Faults> {
        Ok(self.algorithm(name, parameters)?.limiter(Bounds::default(), environment).into_limiter())
    }

    fn unknown(&self, name: &str) -> Fault {
        let known = self.names().collect::<Vec<_>>().join(", ");
        let message = match nearest_name(name, self.names()) {
            Some(nearest) => {
                format!("unknown algorithm `{name}`; did you mean `{nearest}`? known are {known}")
            }
            None => format!("unknown algorithm `{name}`; known are {known}"),
        };
        Fault::of_field("algorithm", message)
    }
}

impl Default for LimiterFactory {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for LimiterFactory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

/// Both kinds of fixed window, by what their windows begin with.
fn fixed_window(parameters: &Parameters) -> Result<AnyAlgorithm, Faults> {
    match Anchor::of(parameters) {
        Anchor::First => FixedWindow::from_parameters(parameters).map(AnyAlgorithm::new),
        Anchor::Calendar => CalendarWindow::from_parameters(parameters).map(AnyAlgorithm::new),
    }
}

fn concurrency(parameters: &Parameters) -> Result<AnyAlgorithm, Faults> {
    Concurrency::from_parameters(parameters).map(AnyAlgorithm::from)
}

fn leased_concurrency(parameters: &Parameters) -> Result<AnyAlgorithm, Faults> {
    let concurrency = Concurrency::from_parameters(parameters)?;
    concurrency.expect_lease()?;
    Ok(concurrency.into())
}

/// Any algorithm with its parameters, its type forgotten: what a config holds.
#[derive(Clone)]
pub struct AnyAlgorithm {
    name: Arc<str>,
    algorithm: Arc<dyn MakeLimiter>,
}

impl AnyAlgorithm {
    /// Forgets an algorithm's type; its name is that of its type.
    pub fn new<A: Algorithm>(algorithm: A) -> Self {
        let path = std::any::type_name::<A>();
        let name = path.rsplit("::").next().unwrap_or(path).into();
        Self { name, algorithm: Arc::new(Maker(algorithm)) }
    }

    /// The name that config files know it by.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The quota: the largest cost that can ever be met.
    pub fn limit(&self) -> u32 {
        self.algorithm.limit()
    }

    /// The algorithm itself, where it is of the type asked for.
    pub fn downcast_ref<A: Algorithm>(&self) -> Option<&A> {
        let any: &dyn Any = &*self.algorithm;
        any.downcast_ref::<Maker<A>>().map(|maker| &maker.0)
    }

    /// The most that may be admitted in any time of this length; `None` where the algorithm does not say.
    pub fn most_in(&self, time: Duration) -> Option<u64> {
        self.algorithm.most_in(time)
    }

    /// The time over which the quota is given, as it is told to clients: a window's length, or how long an empty bucket
    /// takes to be whole. `None` for months of the calendar, for calls under way, and where the algorithm does not say.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{AnyAlgorithm, FixedWindow, TokenBucket};
    ///
    /// let minute = Duration::from_secs(60);
    /// let window = AnyAlgorithm::new(FixedWindow::new(100, minute)?);
    /// let bucket = AnyAlgorithm::new(TokenBucket::per_second(10).burst(600).build()?);
    /// assert_eq!(window.quota_window(), Some(minute));
    /// assert_eq!(bucket.quota_window(), Some(minute));
    /// # Ok::<(), tollgate::Faults>(())
    /// ```
    pub fn quota_window(&self) -> Option<Duration> {
        self.algorithm.quota_window()
    }

    /// The bound on calls under way, where it is one and no algorithm.
    pub fn as_concurrency(&self) -> Option<Concurrency> {
        let any: &dyn Any = &*self.algorithm;
        any.downcast_ref::<Concurrency>().copied()
    }

    /// Bytes a key takes in the table, without what its state has on the heap.
    pub fn bytes_per_key(&self) -> usize {
        self.algorithm.bytes_per_key()
    }

    pub(crate) fn table_bytes_max(&self, bounds: Bounds) -> u64 {
        self.algorithm.table_bytes_max(bounds)
    }

    fn named(self, name: &str) -> Self {
        Self { name: name.into(), ..self }
    }

    pub(crate) fn limiter(&self, bounds: Bounds, environment: &Environment) -> AtWork {
        self.algorithm.make(bounds, environment)
    }

    /// The limiter that goes on where `running` stops, with all it holds, and how many keys' debts were above the new
    /// limit; `None` where it runs another algorithm.
    pub(crate) fn limiter_after(
        &self,
        running: &dyn Limiter,
        bounds: Bounds,
    ) -> Option<(AtWork, u64)> {
        self.algorithm.make_after(running, bounds)
    }
}

impl From<Concurrency> for AnyAlgorithm {
    fn from(concurrency: Concurrency) -> Self {
        Self { name: "Concurrency".into(), algorithm: Arc::new(concurrency) }
    }
}

impl PartialEq for AnyAlgorithm {
    /// The same algorithm with the same parameters.
    fn eq(&self, other: &Self) -> bool {
        self.algorithm.equals(&*other.algorithm)
    }
}

impl fmt::Debug for AnyAlgorithm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.algorithm.fmt(f)
    }
}

/// What can be done with an algorithm whose type is forgotten.
trait MakeLimiter: Any + fmt::Debug + Send + Sync {
    fn limit(&self) -> u32;
    fn most_in(&self, time: Duration) -> Option<u64>;
    fn quota_window(&self) -> Option<Duration>;
    fn bytes_per_key(&self) -> usize;
    fn table_bytes_max(&self, bounds: Bounds) -> u64;
    fn equals(&self, other: &dyn MakeLimiter) -> bool;
    fn make(&self, bounds: Bounds, environment: &Environment) -> AtWork;
    fn make_after(&self, running: &dyn Limiter, bounds: Bounds) -> Option<(AtWork, u64)>;
}

struct Maker<A>(A);

impl<A: fmt::Debug> fmt::Debug for Maker<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<A: Algorithm> MakeLimiter for Maker<A> {
    fn limit(&self) -> u32 {
        self.0.limit()
    }

    fn most_in(&self, time: Duration) -> Option<u64> {
        self.0.most_in(time)
    }

    fn quota_window(&self) -> Option<Duration> {
        self.0.quota_window()
    }

    fn bytes_per_key(&self) -> usize {
        Keyed::<A>::BYTES_PER_KEY
    }

    fn table_bytes_max(&self, bounds: Bounds) -> u64 {
        Store::<A>::bytes_max(bounds)
    }

    fn equals(&self, other: &dyn MakeLimiter) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref::<Self>().is_some_and(|other| self.0 == other.0)
    }

    fn make(&self, bounds: Bounds, environment: &Environment) -> AtWork {
        AtWork::Member(Arc::new(Keyed::with_bounds(self.0.clone(), bounds, environment)))
    }

    fn make_after(&self, running: &dyn Limiter, bounds: Bounds) -> Option<(AtWork, u64)> {
        let running: &dyn Any = running;
        let running = running.downcast_ref::<Keyed<A>>()?;
        let (limiter, forgiven) = running.moved_to(self.0.clone(), bounds);
        Some((AtWork::Member(Arc::new(limiter)), forgiven))
    }
}

impl MakeLimiter for Concurrency {
    fn limit(&self) -> u32 {
        self.max_in_flight()
    }

    /// Calls that are short may be any number.
    fn most_in(&self, _time: Duration) -> Option<u64> {
        None
    }

    fn quota_window(&self) -> Option<Duration> {
        None
    }

    fn bytes_per_key(&self) -> usize {
        ConcurrencyLimiter::BYTES_PER_KEY
    }

    fn table_bytes_max(&self, bounds: Bounds) -> u64 {
        ConcurrencyLimiter::table_bytes_max(bounds)
    }

    fn equals(&self, other: &dyn MakeLimiter) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref::<Self>() == Some(self)
    }

    fn make(&self, bounds: Bounds, environment: &Environment) -> AtWork {
        AtWork::Alone(Arc::new(ConcurrencyLimiter::new(*self, bounds, environment)))
    }

    fn make_after(&self, running: &dyn Limiter, bounds: Bounds) -> Option<(AtWork, u64)> {
        let running: &dyn Any = running;
        let running = running.downcast_ref::<ConcurrencyLimiter>()?;
        Some((AtWork::Alone(Arc::new(running.moved_to(*self, bounds))), 0))
    }
}
