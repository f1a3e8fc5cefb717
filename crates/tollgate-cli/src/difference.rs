//! What a reload from one config to another would keep, change and lose.

use tollgate::{Change, Config, LimiterSummary, ManualClock, PolicyKind, RateLimiter};

use crate::table::{Column, endpoint_name, table};
use crate::terms::Terms;

/// The difference, limit by limit: a reload is made, of limiters that hold nobody.
pub(crate) fn difference(running: &Config, next: &Config) -> String {
    let limiter = RateLimiter::builder(running.clone()).clock(ManualClock::new()).build();
    let report = limiter.reload(next.clone());
    let mut table = table(&[
        ("endpoint", Column::Text),
        ("limit", Column::Text),
        ("what clients have used up", Column::Text),
        ("was", Column::Text),
        ("is", Column::Text),
    ]);
    for limit in report.limits() {
        let named = |summary: &LimiterSummary<'_>| {
            summary.owner == limit.owner && (summary.limit_name == limit.limit)
        };
        let terms = |config: &Config| config.limiters().find(named).map(|it| terms_of(&it));
        let told = |terms: Option<String>| terms.unwrap_or_else(|| "-".to_owned());
        table.add_row([
            endpoint_name(Some(limit.owner.name())),
            limit.limit.map_or_else(|| "-".to_owned(), |name| endpoint_name(Some(name))),
            outcome(limit.change).to_owned(),
            told(terms(running)),
            told(terms(next)),
        ]);
    }
    let outright = outright(running, next);
    table.trim_fmt() + &outright
}

fn outcome(change: Change) -> &'static str {
    match change {
        Change::Kept => "kept: nothing changed",
        Change::Changed { .. } => "kept, under the new limit",
        Change::Replaced => "LOST: starts anew",
        Change::New => "new",
        Change::Removed => "LOST: removed",
        _ => "unknown",
    }
}

/// A limit's terms, on one line.
fn terms_of(limit: &LimiterSummary<'_>) -> String {
    let Terms { rate, .. } = Terms::of(limit.algorithm);
    let (burst, scope, mode) = (limit.algorithm.limit(), limit.scope.word(), limit.mode.word());
    format!("{} {burst}, {rate}, {scope}, {mode}", limit.algorithm.name())
}

/// Endpoints that begin or cease to be unlimited or denied.
fn outright(running: &Config, next: &Config) -> String {
    let kind_in = |config: &Config, endpoint: Option<&str>| {
        config.policies().find(|policy| policy.endpoint() == endpoint).map(|policy| policy.kind())
    };
    let changed = next.policies().filter_map(|policy| {
        let before = kind_in(running, policy.endpoint());
        let is_new = policy.kind() == PolicyKind::Limits && before.is_none();
        if before == Some(policy.kind()) || is_new {
            return None;
        }
        let name = endpoint_name(policy.endpoint());
        Some(format!("\n{name}: {} (was {})", word(Some(policy.kind())), word(before)))
    });
    changed.collect()
}

fn word(kind: Option<PolicyKind>) -> &'static str {
    match kind {
        Some(PolicyKind::Unlimited) => "unlimited",
        Some(PolicyKind::Deny) => "denied",
        Some(PolicyKind::Limits | _) => "limited",
        None => "not listed",
    }
}
