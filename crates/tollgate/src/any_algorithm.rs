//! An algorithm whose type is forgotten, with all that can be made of it.

use std::any::{Any, TypeId};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::algorithm::Algorithm;
use crate::concurrency::{Concurrency, ConcurrencyLimiter};
use crate::config::Bounds;
use crate::keyed::Keyed;
use crate::limiter::{Environment, Limiter};
use crate::member::Member;
use crate::planned::{Planned, Terms, TermsOf};
use crate::store::Store;
use crate::viewed::Viewed;

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

    pub(crate) fn named(self, name: &str) -> Self {
        Self { name: name.into(), ..self }
    }

    pub(crate) fn limiter(&self, bounds: Bounds, environment: &Environment) -> Arc<dyn Member> {
        self.algorithm.make(bounds, environment)
    }

    /// The limiter that goes on where `running` stops, with all it holds, and how many keys' debts were above the new
    /// limit; `None` where it runs another algorithm.
    pub(crate) fn limiter_after(
        &self,
        running: &dyn Limiter,
        bounds: Bounds,
    ) -> Option<(Arc<dyn Member>, u64)> {
        self.algorithm.make_after(running, bounds)
    }
}

impl AnyAlgorithm {
    /// One limit under several sets of parameters of one algorithm, of which the first are those whose figures it
    /// tells; `None` where they are not of one algorithm, and where it counts calls under way.
    pub(crate) fn of_plans(terms: &[(TermsOf, &Self)]) -> Option<Self> {
        let (_, first) = terms.first()?;
        let terms: Vec<_> = terms.iter().map(|(of, it)| (*of, &*it.algorithm)).collect();
        let algorithm = first.algorithm.of_plans(&terms)?;
        Some(Self { name: Arc::clone(&first.name), algorithm })
    }

    /// Whether it is the same algorithm, under whatever parameters.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        self.algorithm.kind() == other.algorithm.kind()
    }

    /// Bytes of a key's account for one plan more.
    pub(crate) fn bytes_per_account(&self) -> usize {
        self.algorithm.bytes_per_account()
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
    fn make(&self, bounds: Bounds, environment: &Environment) -> Arc<dyn Member>;
    fn make_after(&self, running: &dyn Limiter, bounds: Bounds) -> Option<(Arc<dyn Member>, u64)>;

    /// Tells algorithms apart, and not their parameters.
    fn kind(&self) -> TypeId;

    fn bytes_per_account(&self) -> usize {
        0
    }

    fn of_plans(&self, _terms: &[(TermsOf, &dyn MakeLimiter)]) -> Option<Arc<dyn MakeLimiter>> {
        None
    }
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

    fn make(&self, bounds: Bounds, environment: &Environment) -> Arc<dyn Member> {
        Arc::new(Keyed::with_bounds(self.0.clone(), bounds, environment))
    }

    fn make_after(&self, running: &dyn Limiter, bounds: Bounds) -> Option<(Arc<dyn Member>, u64)> {
        let any: &dyn Any = running;
        let Some(keyed) = any.downcast_ref::<Keyed<A>>() else {
            // Plans that are gone: their accounts go, and the limit stays what it is.
            return Planner(Planned::of_everybody(self.0.clone())).make_after(running, bounds);
        };
        let (limiter, forgiven) = keyed.moved_to(self.0.clone(), bounds);
        Some((Arc::new(limiter), forgiven))
    }

    fn kind(&self) -> TypeId {
        TypeId::of::<A>()
    }

    fn bytes_per_account(&self) -> usize {
        Planned::of_everybody(self.0.clone()).account_bytes()
    }

    fn of_plans(&self, terms: &[(TermsOf, &dyn MakeLimiter)]) -> Option<Arc<dyn MakeLimiter>> {
        let algorithm = |maker: &dyn MakeLimiter| {
            let any: &dyn Any = maker;
            Some(any.downcast_ref::<Self>()?.0.clone())
        };
        let terms: Option<Vec<_>> = terms
            .iter()
            .map(|(of, maker)| Some(Terms { of: *of, algorithm: algorithm(*maker)? }))
            .collect();
        Some(Arc::new(Planner(Planned::new(terms?))))
    }
}

/// Makes limiters of several sets of parameters. (A maker of its own: a [`Maker`] could plan without end.)
#[derive(Debug)]
struct Planner<A>(Planned<A>);

impl<A: Algorithm> MakeLimiter for Planner<A> {
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
        Viewed::<A>::BYTES_PER_KEY.saturating_add(self.0.account_bytes())
    }

    fn table_bytes_max(&self, bounds: Bounds) -> u64 {
        let accounts = u64::try_from(self.0.account_bytes()).unwrap_or(u64::MAX);
        let of_keys = bounds.states_max().saturating_mul(accounts);
        Store::<Planned<A>>::bytes_max(bounds).saturating_add(of_keys)
    }

    fn equals(&self, other: &dyn MakeLimiter) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref::<Self>().is_some_and(|other| self.0 == other.0)
    }

    fn make(&self, bounds: Bounds, environment: &Environment) -> Arc<dyn Member> {
        Arc::new(Viewed::new(self.0.clone(), bounds, environment))
    }

    fn make_after(&self, running: &dyn Limiter, bounds: Bounds) -> Option<(Arc<dyn Member>, u64)> {
        let running: &dyn Any = running;
        let (limiter, forgiven) = if let Some(viewed) = running.downcast_ref::<Viewed<A>>() {
            viewed.moved_to(self.0.clone(), bounds)
        } else {
            Viewed::after(running.downcast_ref::<Keyed<A>>()?, self.0.clone(), bounds)
        };
        Some((Arc::new(limiter), forgiven))
    }

    fn kind(&self) -> TypeId {
        TypeId::of::<A>()
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

    fn make(&self, bounds: Bounds, environment: &Environment) -> Arc<dyn Member> {
        Arc::new(ConcurrencyLimiter::new(*self, bounds, environment))
    }

    fn make_after(&self, running: &dyn Limiter, bounds: Bounds) -> Option<(Arc<dyn Member>, u64)> {
        let running: &dyn Any = running;
        let running = running.downcast_ref::<ConcurrencyLimiter>()?;
        Some((Arc::new(running.moved_to(*self, bounds)), 0))
    }

    fn kind(&self) -> TypeId {
        TypeId::of::<Self>()
    }
}
