//! What all doors share.

mod denied;
mod overrides;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::{ArcSwap, Guard};
use tollgate::{
    Call, CallError, Clock, Config, Decided, DecidedEach, Environment, MonotonicClock, Permit,
    RateLimitResult, RateLimiter, Receipt, Time,
};
use tollgate_config::GatewayConfig;

use crate::admin::AdminRules;
use crate::config_file::ConfigFile;
use crate::door::Door;
use crate::http::rules::HttpRules;
use crate::metrics::Metrics;
pub(crate) use denied::TopDenied;
pub(crate) use overrides::{Mode, Override, Overrides};

/// What all doors share: the limits, and what is counted. A decision takes no lock here: the limiter swaps its limits
/// itself.
///
/// Doors ask for decisions here and not of the limiter, so that what operators say holds at every door.
pub(crate) struct Gate {
    pub(crate) config: Arc<ConfigFile>,
    pub(crate) metrics: Metrics,
    pub(crate) overrides: Overrides,
    pub(crate) top_denied: TopDenied,
    limiter: Arc<RateLimiter>,
    settings: ArcSwap<GatewayConfig>,
    http_rules: ArcSwap<HttpRules>,
    admin: ArcSwap<AdminRules>,
    clock: Arc<dyn Clock>,
    draining: AtomicBool,
}

impl Gate {
    /// For these limits and settings, on the machine's clock unless another is given.
    pub(crate) fn new(
        file: ConfigFile,
        limits: Config,
        settings: GatewayConfig,
        admin: AdminRules,
        clock: Option<Arc<dyn Clock>>,
    ) -> Self {
        let limiter = Arc::new(match &clock {
            Some(clock) => RateLimiter::builder(limits).clock(Injected(Arc::clone(clock))).build(),
            None => RateLimiter::new(limits),
        });
        let config = Arc::new(file);
        let http_rules = HttpRules::of(&settings, &limiter.config());
        Self {
            metrics: Metrics::new(Arc::clone(&limiter), Arc::clone(&config)),
            config,
            overrides: Overrides::default(),
            top_denied: TopDenied::default(),
            limiter,
            settings: ArcSwap::from_pointee(settings),
            http_rules: ArcSwap::from_pointee(http_rules),
            admin: ArcSwap::from_pointee(admin),
            clock: clock.unwrap_or_else(|| Arc::new(MonotonicClock::new())),
            draining: AtomicBool::new(false),
        }
    }

    /// What the config file says of the gateway now.
    pub(crate) fn settings(&self) -> Guard<Arc<GatewayConfig>> {
        self.settings.load()
    }

    /// What the config makes of requests over HTTP now.
    pub(crate) fn http_rules(&self) -> Guard<Arc<HttpRules>> {
        self.http_rules.load()
    }

    /// Who is heard as an operator now.
    pub(crate) fn admin(&self) -> Guard<Arc<AdminRules>> {
        self.admin.load()
    }

    /// Puts another config in the place of the one in force. Decisions go on meanwhile.
    pub(crate) fn replace(
        &self,
        limits: Config,
        settings: GatewayConfig,
        admin: AdminRules,
    ) -> tollgate::ReloadReport {
        let report = self.limiter.reload(limits);
        self.http_rules.store(Arc::new(HttpRules::of(&settings, &self.limiter.config())));
        self.admin.store(Arc::new(admin));
        self.settings.store(Arc::new(settings));
        report
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

    /// The limits themselves, for what is no decision.
    pub(crate) fn limiter(&self) -> &RateLimiter {
        &self.limiter
    }

    /// Judges a call and charges it if it is allowed.
    pub(crate) fn decide(&self, call: &Call<'_>) -> Decided {
        let decided = self.overridden(call).map_or_else(|| self.limiter.decide(call), Ok);
        self.note(call, &decided);
        decided
    }

    /// The same, with what each limit says.
    pub(crate) fn decide_each(&self, call: &Call<'_>) -> DecidedEach {
        let overridden = self.overridden(call).map(DecidedEach::outright);
        let each = overridden.unwrap_or_else(|| self.limiter.decide_each(call));
        self.note(call, &each.decided);
        each
    }

    /// Judges calls in order, by one reading of the clock.
    pub(crate) fn decide_many(&self, calls: &[Call<'_>]) -> Vec<Decided> {
        if !self.overrides.is_empty() {
            return calls.iter().map(|call| self.decide(call)).collect();
        }
        let decided = self.limiter.allow_many(calls);
        for (call, decided) in calls.iter().zip(&decided) {
            self.note(call, decided);
        }
        decided
    }

    /// Judges a call that says when it ends, by dropping the permit.
    pub(crate) fn acquire(&self, call: &Call<'_>) -> Result<Permit, CallError> {
        let overridden = self.overridden(call).map(|result| Ok(Permit::without_end(result)));
        let acquired = overridden.unwrap_or_else(|| self.limiter.acquire_for(call));
        self.note(call, &acquired.as_ref().map(Permit::result).map_err(|error| *error));
        acquired
    }

    /// What a call would be answered, without charging it.
    pub(crate) fn look(&self, call: &Call<'_>) -> Decided {
        match self.overrides.find(call.client_name(), &*self.clock) {
            Some((set, now)) => Ok(set.result(now)),
            None => self.limiter.look(call),
        }
    }

    /// Judges a call as [`decide`](Self::decide) does, with a receipt by which its charge can be given back; none where
    /// an operator decided.
    pub(crate) fn decide_with_receipt(&self, call: &Call<'_>) -> (Decided, Option<Receipt>) {
        self.decide_by(call, || self.limiter.decide_with_receipt(call))
    }

    /// The same by a limit of a door's own, unless an operator says something of the client.
    pub(crate) fn decide_by(
        &self,
        call: &Call<'_>,
        decide: impl FnOnce() -> (Decided, Receipt),
    ) -> (Decided, Option<Receipt>) {
        let (decided, receipt) = if let Some(result) = self.overridden(call) {
            (Ok(result), None)
        } else {
            let (decided, receipt) = decide();
            (decided, Some(receipt))
        };
        self.note(call, &decided);
        (decided, receipt)
    }

    /// What a limit of a door's own says without charging it, unless an operator says something of the client.
    pub(crate) fn look_by(&self, call: &Call<'_>, look: impl FnOnce() -> Decided) -> Decided {
        let set = self.overrides.find(call.client_name(), &*self.clock);
        set.map_or_else(look, |(set, now)| Ok(set.result(now)))
    }

    /// What an operator says of a client now.
    pub(crate) fn override_of(&self, client: &str) -> Option<Override> {
        self.overrides.find(client, &*self.clock).map(|(set, _)| set)
    }

    /// What an operator says of a call's client, which counts as a decision.
    fn overridden(&self, call: &Call<'_>) -> Option<RateLimitResult> {
        let (set, now) = self.overrides.find(call.client_name(), &*self.clock)?;
        self.metrics.record_overridden(set.mode);
        Some(set.result(now))
    }

    /// Remembers who was denied.
    fn note(&self, call: &Call<'_>, decided: &Decided) {
        if decided.as_ref().is_ok_and(RateLimitResult::allowed) {
            return;
        }
        let client = call.client_name();
        self.top_denied.record(client, || format!("#{}", self.limiter.key(client)));
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
