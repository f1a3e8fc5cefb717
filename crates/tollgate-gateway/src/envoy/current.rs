//! What the config in force comes to here: made once for each reload.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::{ArcSwap, Guard};
use tollgate::{PolicySummary, RateLimitResult};
use tollgate_config::{EnvoyRule, GatewayConfig};

use super::mapping::Mapping;
use super::names::Forms;
use super::wire::Unit;
use crate::gate::Gate;
use crate::http::rules::HttpRules;

/// What the config in force comes to.
#[derive(Debug)]
pub(super) struct Current {
    settings: Arc<GatewayConfig>,
    pub(super) http: Arc<HttpRules>,
    pub(super) mapping: Mapping,
    units: HashMap<Option<String>, Vec<(Option<String>, Unit)>>,
}

impl Current {
    pub(super) fn of(gate: &Gate) -> Self {
        let (settings, http) = (Arc::clone(&gate.settings()), Arc::clone(&gate.http_rules()));
        // Where a reload takes the door out of the config, it stays until the gateway ends: listeners are opened at
        // the start alone.
        let rules = settings.envoy.as_ref().map(|envoy| envoy.rules.clone());
        let forms = Forms::of(&http);
        Self {
            mapping: Mapping::new(&rules.unwrap_or_else(EnvoyRule::defaults), forms),
            units: gate.limiter().config().policies().map(|policy| units_of(&policy)).collect(),
            settings,
            http,
        }
    }

    /// The one in force: `kept`, unless there was a reload since.
    pub(super) fn in_force(kept: &ArcSwap<Self>, gate: &Gate) -> Guard<Arc<Self>> {
        let current = kept.load();
        let is_current = Arc::ptr_eq(&current.settings, &gate.settings())
            && Arc::ptr_eq(&current.http, &gate.http_rules());
        if is_current {
            return current;
        }
        kept.store(Arc::new(Self::of(gate)));
        kept.load()
    }

    /// The unit of time of the limit that speaks by a result, one of an entry's; unknown, where its window is none of
    /// Envoy's units.
    pub(super) fn unit(&self, entry: Option<&str>, result: &RateLimitResult) -> Unit {
        let units = self.units.get(&entry.map(str::to_owned)).map(Vec::as_slice);
        let is_it = |(name, _): &&(Option<String>, Unit)| name.as_deref() == result.limit_name();
        units.unwrap_or_default().iter().find(is_it).map_or(Unit::Unknown, |(_, unit)| *unit)
    }
}

fn units_of(policy: &PolicySummary<'_>) -> (Option<String>, Vec<(Option<String>, Unit)>) {
    let limits = policy.limits().map(|limit| {
        let window = limit.algorithm.quota_window();
        (limit.limit_name.map(str::to_owned), window.map_or(Unit::Unknown, unit_of))
    });
    (policy.endpoint().map(str::to_owned), limits.collect())
}

/// The unit that is as long as a window. Months and years of Envoy's differ in length.
fn unit_of(window: Duration) -> Unit {
    match window.as_millis() {
        1_000 => Unit::Second,
        60_000 => Unit::Minute,
        3_600_000 => Unit::Hour,
        86_400_000 => Unit::Day,
        604_800_000 => Unit::Week,
        _ => Unit::Unknown,
    }
}
