//! What Envoy's descriptors came to.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::counter::ConstCounter;

use super::encode;

/// What a descriptor came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DescriptorOutcome {
    /// Its limit allowed the request.
    Allowed,
    /// Its limit denied it.
    Denied,
    /// No rule speaks of it, so it was allowed.
    NoRule,
    /// It could be read in more than one way, so it was denied.
    Unclear,
}

/// How many descriptors came to what.
#[derive(Debug, Default)]
pub(super) struct EnvoyMetrics {
    allowed: AtomicU64,
    denied: AtomicU64,
    no_rule: AtomicU64,
    unclear: AtomicU64,
}

impl EnvoyMetrics {
    pub(super) fn record(&self, outcome: DescriptorOutcome) {
        let count = match outcome {
            DescriptorOutcome::Allowed => &self.allowed,
            DescriptorOutcome::Denied => &self.denied,
            DescriptorOutcome::NoRule => &self.no_rule,
            DescriptorOutcome::Unclear => &self.unclear,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let series = [
            ("allowed", &self.allowed),
            ("denied", &self.denied),
            ("no_rule", &self.no_rule),
            ("unclear", &self.unclear),
        ];
        let series = series.map(|(outcome, count)| {
            ([("outcome", outcome)], ConstCounter::new(count.load(Ordering::Relaxed)))
        });
        let help = "Descriptors that Envoy asked about; those without a rule are allowed, those \
                    that can be read in more than one way are not";
        encode(encoder, "envoy_descriptors", help, series)
    }
}
