//! What all doors share.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::{ArcSwap, Guard};
use tollgate::{
    Call, CallError, Clock, Config, Decided, DecidedEach, Environment, MonotonicClock, Permit,
    RateLimiter, Receipt, Time,
};
use tollgate_config::GatewayConfig;

use crate::config_file::ConfigFile;
use crate::door::Door;
use crate::http::rules::HttpRules;
use crate::metrics::Metrics;

/// What all doors share: the limits, and what is counted. A decision takes no lock here: the limiter swaps its limits
/// itself.
///
/// Doors ask for decisions here and not of the limiter, so that what operators do holds at every door.
pub(crate) struct Gate {
    pub(crate) config: Arc<ConfigFile>,
    pub(crate) metrics: Metrics,
    limiter: Arc<RateLimiter>,
    settings: ArcSwap<GatewayConfig>,
    http: ArcSwap<HttpRules>,
    clock: Arc<dyn Clock>,
    draining: AtomicBool,
}

impl Gate {
    /// For these limits and settings, on the machine's clock unless another is given.
    pub(crate) fn new(
        file: ConfigFile,
        limits: Config,
        settings: GatewayConfig,
        clock: Option<Arc<dyn Clock>>,
    ) -> Self {
        let limiter = Arc::new(match &clock {
            Some(clock) => RateLimiter::builder(limits).clock(Injected(Arc::clone(clock))).build(),
            None => RateLimiter::new(limits),
        });
        let config = Arc::new(file);
        let http = HttpRules::of(&settings, &limiter.config());
        Self {
            http: ArcSwap::from_pointee(http),
            metrics: Metrics::new(Arc::clone(&limiter), Arc::clone(&config)),
            config,
            limiter,
            settings: ArcSwap::from_pointee(settings),
            clock: clock.unwrap_or_else(|| Arc::new(MonotonicClock::new())),
            draining: AtomicBool::new(false),
        }
    }

    /// What the config file says of the gateway now.
    pub(crate) fn settings(&self) -> Guard<Arc<GatewayConfig>> {
        self.settings.load()
    }

    /// What the config makes of requests over HTTP now.
    pub(crate) fn http(&self) -> Guard<Arc<HttpRules>> {
        self.http.load()
    }

    /// The time by the clock of decisions, to measure how long answers take.
    pub(crate) fn now(&self) -> Time {
        self.clock.now()
    }

    /// The clock of decisions, for limiters of a door's own.
    pub(crate) fn environment(&self) -> Environment {
        Environment::with_clock(Injected(Arc::clone(&self.clock)))
    }

    /// Counts an answer that was begun then.
    pub(crate) fn record_answer(&self, door: Door, started: Time) {
        let took = Duration::from_nanos(self.now().nanos_since(started));
        self.metrics.record_answer(door, took);
    }

    /// Whether the gateway was told to stop.
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// Has probes told that the gateway stops.
    pub(crate) fn start_draining(&self) {
        self.draining.store(true, Ordering::Relaxed);
    }

    /// Judges a call and charges it if it is allowed.
    pub(crate) fn decide(&self, call: &Call<'_>) -> Decided {
        self.limiter.decide(call)
    }

    /// What a call would be answered, without charging it.
    pub(crate) fn look(&self, call: &Call<'_>) -> Decided {
        self.limiter.look(call)
    }

    /// The same, with what each limit says.
    pub(crate) fn decide_each(&self, call: &Call<'_>) -> DecidedEach {
        self.limiter.decide_each(call)
    }

    /// Judges a call that says when it ends, by dropping the permit.
    #[expect(dead_code, reason = "for doors that are being built")]
    pub(crate) fn acquire(&self, call: &Call<'_>) -> Result<Permit, CallError> {
        self.limiter.acquire_for(call)
    }

    /// The limits themselves, for what is no decision.
    pub(crate) fn limiter(&self) -> &RateLimiter {
        &self.limiter
    }

    /// Judges a call as [`decide`](Self::decide) does, with a receipt by which its charge can be given back.
    pub(crate) fn decide_with_receipt(&self, call: &Call<'_>) -> (Decided, Receipt) {
        self.limiter.decide_with_receipt(call)
    }

    /// Judges calls in order, by one reading of the clock.
    pub(crate) fn decide_many(&self, calls: &[Call<'_>]) -> Vec<Decided> {
        self.limiter.allow_many(calls)
    }

    /// Reads the config file again, and changes the limits where it has no faults. It takes its time.
    pub(crate) fn reload(&self) {
        if let Some(settings) = self.config.reload(&self.limiter) {
            self.http.store(Arc::new(HttpRules::of(&settings, &self.limiter.config())));
            self.settings.store(Arc::new(settings));
        }
    }
}

impl fmt::Debug for Gate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gate").field("limiter", &self.limiter).finish_non_exhaustive()
    }
}

/// A clock that the limiter shares with the gate.
struct Injected(Arc<dyn Clock>);

impl Clock for Injected {
    fn now(&self) -> Time {
        self.0.now()
    }
}
