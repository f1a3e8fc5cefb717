//! What each door has had: connections, answers and how long they took, limits that were hit.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use super::encode;
use crate::door::Door;

/// A bound of the gateway that a request or a connection ran into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LimitHit {
    /// As many connections were open as may be.
    Connections,
    /// The header fields of a request were too large.
    HeaderBytes,
    /// They took too long to come.
    HeaderTime,
    /// A body was too large.
    BodyBytes,
    /// The next part of one took too long to come.
    BodyTime,
    /// Nothing was asked on a connection for too long.
    IdleTime,
    /// An answer was not taken for too long.
    WriteTime,
    /// As many limits that came with requests were in use as may be.
    OwnLimits,
}

impl LimitHit {
    const ALL: [Self; 8] = [
        Self::Connections,
        Self::HeaderBytes,
        Self::HeaderTime,
        Self::BodyBytes,
        Self::BodyTime,
        Self::IdleTime,
        Self::WriteTime,
        Self::OwnLimits,
    ];

    const fn name(self) -> &'static str {
        match self {
            Self::Connections => "connections",
            Self::HeaderBytes => "header_bytes",
            Self::HeaderTime => "header_time",
            Self::BodyBytes => "body_bytes",
            Self::BodyTime => "body_time",
            Self::IdleTime => "idle_time",
            Self::WriteTime => "write_time",
            Self::OwnLimits => "own_limits",
        }
    }
}

/// The upper bounds of the buckets, in nanoseconds: from a quarter of a microsecond to a quarter of a second, four
/// times apart.
const BOUNDS_NS: [u64; 11] = {
    let mut bounds = [250; 11];
    let mut index = 1;
    while index < bounds.len() {
        bounds[index] = bounds[index - 1] * 4;
        index += 1;
    }
    bounds
};

/// How long answers took. Atomics and not a library's histogram, whose lock every answer would take.
#[derive(Debug, Default)]
struct Durations {
    buckets: [AtomicU64; BOUNDS_NS.len()],
    longer: AtomicU64,
    sum_ns: AtomicU64,
}

impl Durations {
    fn record(&self, duration: Duration) {
        let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
        let bucket = BOUNDS_NS.iter().position(|bound| nanos <= *bound);
        let bucket = bucket.and_then(|index| self.buckets.get(index)).unwrap_or(&self.longer);
        bucket.fetch_add(1, Ordering::Relaxed);
        self.sum_ns.fetch_add(nanos, Ordering::Relaxed);
    }
}

/// The figures of one door.
#[derive(Debug, Default)]
struct DoorFigures {
    connected: AtomicU64,
    connections: AtomicU64,
    untrusted_forwarding: AtomicU64,
    limits: [AtomicU64; LimitHit::ALL.len()],
    durations: Durations,
}

/// The figures of all doors.
#[derive(Debug, Default)]
pub(super) struct DoorMetrics([Arc<DoorFigures>; Door::ALL.len()]);

/// A connection that counts as open until this is dropped.
#[derive(Debug)]
pub(crate) struct Connected(Arc<DoorFigures>);

impl Drop for Connected {
    fn drop(&mut self) {
        self.0.connected.fetch_sub(1, Ordering::Relaxed);
    }
}

impl DoorMetrics {
    fn of(&self, door: Door) -> &Arc<DoorFigures> {
        let [http, admin, envoy, redis, proxy] = &self.0;
        match door {
            Door::Http => http,
            Door::Admin => admin,
            Door::Envoy => envoy,
            Door::Redis => redis,
            Door::Proxy => proxy,
        }
    }

    pub(super) fn connect(&self, door: Door) -> Connected {
        let figures = self.of(door);
        figures.connections.fetch_add(1, Ordering::Relaxed);
        figures.connected.fetch_add(1, Ordering::Relaxed);
        Connected(Arc::clone(figures))
    }

    pub(super) fn record_answer(&self, door: Door, duration: Duration) {
        self.of(door).durations.record(duration);
    }

    pub(super) fn record_limit(&self, door: Door, hit: LimitHit) {
        let known = LimitHit::ALL.iter().position(|known| *known == hit);
        if let Some(count) = known.and_then(|index| self.of(door).limits.get(index)) {
            count.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(super) fn record_untrusted_forwarding(&self, door: Door) {
        self.of(door).untrusted_forwarding.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let each = |figure: fn(&DoorFigures) -> &AtomicU64| {
            Door::ALL.map(|door| (door, figure(self.of(door)).load(Ordering::Relaxed)))
        };
        let open = each(|door| &door.connected)
            .map(|(door, open)| ([("door", door.name())], ConstGauge::new(open)));
        encode(encoder, "connections_open", "Connections open now", open)?;

        let taken = each(|door| &door.connections)
            .map(|(door, taken)| ([("door", door.name())], ConstCounter::new(taken)));
        encode(encoder, "connections", "Connections taken", taken)?;

        let untrusted = each(|door| &door.untrusted_forwarding)
            .map(|(door, times)| ([("door", door.name())], ConstCounter::new(times)));
        let help = "Requests that said where they came from, and not from a trusted proxy";
        encode(encoder, "untrusted_forwarding", help, untrusted)?;

        let limits = Door::ALL.into_iter().flat_map(|door| {
            LimitHit::ALL.into_iter().zip(&self.of(door).limits).map(move |(hit, times)| {
                let labels = [("door", door.name()), ("limit", hit.name())];
                (labels, ConstCounter::new(times.load(Ordering::Relaxed)))
            })
        });
        let help = "Requests and connections that ran into a limit of the gateway";
        encode(encoder, "gateway_limits_hit", help, limits)?;
        self.encode_durations(encoder)
    }

    fn encode_durations(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let help = "Time to read a question, decide it and write the answer, without the network.";
        let mut family = encoder.encode_descriptor(
            "answer_duration_seconds",
            help,
            None,
            MetricType::Histogram,
        )?;
        for door in Door::ALL {
            let durations = &self.of(door).durations;
            let seconds = |nanos: u64| Duration::from_nanos(nanos).as_secs_f64();
            let bounds = BOUNDS_NS.map(seconds).into_iter().chain([f64::MAX]);
            let counts = durations.buckets.iter().chain([&durations.longer]);
            let buckets: Vec<_> =
                bounds.zip(counts.map(|count| count.load(Ordering::Relaxed))).collect();
            let count = buckets.iter().map(|(_, count)| count).sum();
            let sum = seconds(durations.sum_ns.load(Ordering::Relaxed));
            let labels = [("door", door.name())];
            let mut metric = family.encode_family(&labels)?;
            metric.encode_histogram::<[(&str, &str); 0]>(sum, count, &buckets, None)?;
        }
        Ok(())
    }
}
