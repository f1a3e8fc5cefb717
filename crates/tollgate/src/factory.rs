//! From a name and parameters to an algorithm, and from an algorithm to a limiter: the one place that knows them all.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::algorithm::{
    Algorithm, Anchor, CalendarWindow, FixedWindow, SlidingWindowCounter, SlidingWindowLog,
    TokenBucket,
};
use crate::any_algorithm::AnyAlgorithm;
use crate::concurrency::Concurrency;
use crate::config::Bounds;
use crate::limiter::{Environment, Limiter};
use crate::parameters::{Fault, Faults, Parameters, nearest_name};

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
        Ok(self.algorithm(name, parameters)?.limiter(Bounds::default(), environment))
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
