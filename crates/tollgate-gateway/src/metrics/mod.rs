//! Figures for Prometheus. Those of the limiters are pulled when somebody asks; those of the doors are counted as they
//! go.

mod doors;
mod envoy;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeLabelSet, EncodeMetric, prometheus_text,
};
use prometheus_client::metrics::TypedMetric;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;
use tollgate::{Counts, LimitCounts, RateLimiter};

use self::doors::DoorMetrics;
pub(crate) use self::doors::{Connected, LimitHit};
pub(crate) use self::envoy::DescriptorOutcome;
use self::envoy::EnvoyMetrics;
use crate::config_file::ConfigFile;
use crate::door::Door;
use crate::gate::Mode;

/// The media type of what [`Metrics::render`] writes.
pub(crate) const MEDIA_TYPE: &str = prometheus_text::CONTENT_TYPE;

/// All there is to read on `/metrics`.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    doors: Arc<DoorMetrics>,
    envoy: Arc<EnvoyMetrics>,
    overridden: Arc<Overridden>,
}

/// Decisions that operators made.
#[derive(Debug, Default)]
struct Overridden {
    blocked: AtomicU64,
    unlimited: AtomicU64,
}

impl Metrics {
    pub(crate) fn new(limiter: Arc<RateLimiter>, config: Arc<ConfigFile>) -> Self {
        let mut registry = Registry::with_prefix("tollgate");
        let version = Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]);
        registry.register("build", "The version that runs", version);
        let doors = Arc::new(DoorMetrics::default());
        let envoy = Arc::new(EnvoyMetrics::default());
        let overridden = Arc::new(Overridden::default());
        registry.register_collector(Box::new(Pulled {
            limiter,
            config,
            doors: Arc::clone(&doors),
            envoy: Arc::clone(&envoy),
            overridden: Arc::clone(&overridden),
        }));
        Self { registry, doors, envoy, overridden }
    }

    /// How many connections are open at a door.
    pub(crate) fn connected(&self, door: Door) -> u64 {
        self.doors.connected(door)
    }

    /// Counts a connection, and that it is open until what is given back is dropped.
    pub(crate) fn connect(&self, door: Door) -> Connected {
        self.doors.connect(door)
    }

    /// Counts an answer that took this long, from a whole question to a whole answer.
    pub(crate) fn record_answer(&self, door: Door, duration: Duration) {
        self.doors.record_answer(door, duration);
    }

    /// Counts that a request or a connection ran into a limit of the gateway.
    pub(crate) fn record_limit(&self, door: Door, hit: LimitHit) {
        self.doors.record_limit(door, hit);
    }

    /// Counts what one of Envoy's descriptors came to.
    pub(crate) fn record_descriptor(&self, outcome: DescriptorOutcome) {
        self.envoy.record(outcome);
    }

    /// Counts a decision that an operator made.
    pub(crate) fn record_overridden(&self, mode: Mode) {
        let count = match mode {
            Mode::Block => &self.overridden.blocked,
            Mode::Unlimited => &self.overridden.unlimited,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a request from no trusted proxy that says where it came from, which was not believed.
    pub(crate) fn record_untrusted_forwarding(&self, door: Door) {
        self.doors.record_untrusted_forwarding(door);
    }

    /// Every figure as it stands, in Prometheus's text format.
    pub(crate) fn render(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        prometheus_text::encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

/// What is looked up when somebody asks.
#[derive(Debug)]
struct Pulled {
    limiter: Arc<RateLimiter>,
    config: Arc<ConfigFile>,
    doors: Arc<DoorMetrics>,
    envoy: Arc<EnvoyMetrics>,
    overridden: Arc<Overridden>,
}

impl Collector for Pulled {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let limiters = labelled(self.limiter.counts());
        encode_decisions(&mut encoder, &limiters)?;
        encode_keys(&mut encoder, &limiters)?;
        encode_limits(&mut encoder, &limiters, &self.limiter.limit_counts())?;
        let unknown_plans = (NO_LABELS, ConstCounter::new(self.limiter.unknown_plans()));
        let help = "Calls that named a plan that is not known, decided as if they named none";
        encode(&mut encoder, "unknown_plans", help, [unknown_plans])?;
        self.encode_overridden(&mut encoder)?;
        self.doors.encode(&mut encoder)?;
        self.envoy.encode(&mut encoder)?;
        self.encode_loads(&mut encoder)
    }
}

impl Pulled {
    fn encode_overridden(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let counts = [
            (Mode::Block, &self.overridden.blocked),
            (Mode::Unlimited, &self.overridden.unlimited),
        ];
        let series = counts.map(|(mode, count)| {
            ([("mode", mode.word())], ConstCounter::new(count.load(Ordering::Relaxed)))
        });
        let help = "Calls decided by an operator's override, which no limit counts";
        encode(encoder, "overridden_decisions", help, series)
    }

    fn encode_loads(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let loads = self.config.loads();
        let outcomes = [("success", loads.version.saturating_sub(1)), ("failure", loads.failures)];
        let series = |(outcome, times)| ([("outcome", outcome)], ConstCounter::new(times));
        let help = "Times the config file was read again";
        encode(encoder, "config_reloads", help, outcomes.into_iter().map(series))?;

        let series = (NO_LABELS, ConstGauge::new(loads.version));
        let help = "How many configs were in use, the one in use among them";
        encode(encoder, "config_version", help, [series])?;

        let loaded_at = loads.loaded_at.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let series = (NO_LABELS, ConstGauge::new(loaded_at.as_secs_f64()));
        let help = "When the limits in use were loaded, in seconds since 1970";
        encode(encoder, "config_loaded_timestamp_seconds", help, [series])
    }
}

/// A limiter's endpoint and its counts.
type Labelled = (Arc<str>, Counts);

/// A label's name and value.
type Label<'a> = (&'static str, &'a str);

const NO_LABELS: [Label<'_>; 0] = [];

/// Names the default limiter, which has no endpoint, apart from all that have one.
fn labelled(limiters: Vec<(Option<Arc<str>>, Counts)>) -> Vec<Labelled> {
    let is_taken = |name: &str| limiters.iter().any(|(named, _)| named.as_deref() == Some(name));
    let mut default = "default".to_owned();
    while is_taken(&default) {
        default = format!("({default})");
    }
    let default: Arc<str> = default.into();
    let name = |(endpoint, counts): (Option<_>, _)| {
        (endpoint.unwrap_or_else(|| Arc::clone(&default)), counts)
    };
    limiters.into_iter().map(name).collect()
}

fn encode_decisions(encoder: &mut DescriptorEncoder<'_>, limiters: &[Labelled]) -> fmt::Result {
    let series = limiters.iter().flat_map(|(endpoint, counts)| {
        [("allowed", counts.allowed), ("denied", counts.denied)].map(|(outcome, calls)| {
            ([("endpoint", &**endpoint), ("outcome", outcome)], ConstCounter::new(calls))
        })
    });
    encode(encoder, "decisions", "Calls decided; a cost above the limit is a denial", series)
}

fn encode_keys(encoder: &mut DescriptorEncoder<'_>, limiters: &[Labelled]) -> fmt::Result {
    let keys = each(limiters, |counts| ConstGauge::new(counts.keys));
    encode(encoder, "keys", "Keys held now", keys)?;

    let evictions = each(limiters, |counts| ConstCounter::new(counts.evictions));
    let help = "Keys that had to leave while they had debt, because the table was full";
    encode(encoder, "evictions", help, evictions)?;

    let inherited_debts = each(limiters, |counts| ConstCounter::new(counts.inherited_debts));
    let help = "Newcomers admitted with the debt of keys that had to leave";
    encode(encoder, "inherited_debts", help, inherited_debts)?;

    let ahead = |counts: &Counts| Duration::from_millis(counts.mark_ahead_ms).as_secs_f64();
    let mark_ahead = each(limiters, |counts| ConstGauge::new(ahead(counts)));
    let help =
        "How far the latest time seen is ahead of the clock, which leapt back if it stays so";
    encode(encoder, "mark_ahead_seconds", help, mark_ahead)
}

/// What each of several limits says, those in shadow among them. The limits that endpoints share have no endpoint.
fn encode_limits(
    encoder: &mut DescriptorEncoder<'_>,
    limiters: &[Labelled],
    limits: &[LimitCounts],
) -> fmt::Result {
    let default = limiters.first().map_or("default", |(endpoint, _)| endpoint);
    let series = limits.iter().flat_map(|limit| {
        let endpoint =
            if limit.is_shared { "" } else { limit.endpoint.as_deref().unwrap_or(default) };
        [("allowed", limit.counts.allowed), ("denied", limit.counts.denied)].map(
            |(outcome, calls)| {
                let labels = [
                    ("endpoint", endpoint),
                    ("limit", &*limit.limit),
                    ("mode", limit.mode.word()),
                    ("outcome", outcome),
                ];
                (labels, ConstCounter::new(calls))
            },
        )
    });
    let help = "Calls that each of several limits was charged, and those that it denied or, in shadow, would have";
    encode(encoder, "limit_decisions", help, series)
}

/// One series for each limiter.
fn each<M>(
    limiters: &[Labelled],
    metric: impl Fn(&Counts) -> M,
) -> impl Iterator<Item = ([Label<'_>; 1], M)> {
    limiters.iter().map(move |(endpoint, counts)| ([("endpoint", &**endpoint)], metric(counts)))
}

fn encode<M: EncodeMetric + TypedMetric>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    series: impl IntoIterator<Item = (impl EncodeLabelSet, M)>,
) -> fmt::Result {
    let mut family = encoder.encode_descriptor(name, &format!("{help}."), None, M::TYPE)?;
    for (labels, metric) in series {
        metric.encode(family.encode_family(&labels)?)?;
    }
    Ok(())
}
