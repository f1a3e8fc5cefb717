//! What a reload from one config to another would keep, change and lose.

use tollgate::{AppliesTo, Change, Config, LimiterSummary, ManualClock, PolicyKind, RateLimiter};

use crate::table::{Column, but_not_everybody, endpoint_name, table};
use crate::terms::Terms;

/// The difference, limit by limit: a reload is made, of limiters that hold nobody.
pub(crate) fn difference(running: &Config, next: &Config) -> String {
    let limiter = RateLimiter::builder(running.clone()).clock(ManualClock::new()).build();
    let report = limiter.reload(next.clone());
    let has_plans = report.limits().any(|limit| limit.applies_to != AppliesTo::Everybody);
    let whom: &[_] = if has_plans { &[("for", Column::Text)] } else { &[] };
    let what =
        [("what clients have used up", Column::Text), ("was", Column::Text), ("is", Column::Text)];
    let of = [("endpoint", Column::Text), ("limit", Column::Text)];
    let mut table = table(&[&of, whom, &what].concat());
    for limit in report.limits() {
        let named = |summary: &LimiterSummary<'_>| {
            summary.owner == limit.owner
                && summary.limit_name == limit.limit
                && summary.applies_to == limit.applies_to
        };
        let terms = |config: &Config| config.limiters().find(named).map(|it| terms_of(&it));
        let told = |terms: Option<String>| terms.unwrap_or_else(|| "-".to_owned());
        let of = [
            endpoint_name(Some(limit.owner.name())),
            limit.limit.map_or_else(|| "-".to_owned(), |name| endpoint_name(Some(name))),
        ];
        let whom = has_plans.then(|| endpoint_name(Some(&limit.applies_to.to_string())));
        let what = [outcome(limit.change).to_owned(), told(terms(running)), told(terms(next))];
        table.add_row(of.into_iter().chain(whom).chain(what));
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

/// Endpoints that begin or cease to be unlimited or denied, for everybody or for some.
fn outright(running: &Config, next: &Config) -> String {
    let before = kinds(running);
    let changed = kinds(next).into_iter().filter_map(|(endpoint, to, kind)| {
        let was = before.iter().find(|(of, whom, _)| (*of, *whom) == (endpoint, to));
        let was = was.map(|(_, _, kind)| *kind);
        let is_new = kind == PolicyKind::Limits && was.is_none();
        if was == Some(kind) || is_new {
            return None;
        }
        let (name, whom) = (endpoint_name(endpoint), but_not_everybody(to));
        Some(format!("\n{name}{whom}: {} (was {})", word(Some(kind)), word(was)))
    });
    changed.collect()
}

/// What answers at each endpoint for whom.
fn kinds(config: &Config) -> Vec<(Option<&str>, AppliesTo<'_>, PolicyKind)> {
    let mut kinds = Vec::new();
    for policy in config.policies() {
        let rules = policy.rules();
        kinds.extend(rules.map(|rule| (policy.endpoint(), rule.applies_to(), rule.kind())));
    }
    kinds
}

fn word(kind: Option<PolicyKind>) -> &'static str {
    match kind {
        Some(PolicyKind::Unlimited) => "unlimited",
        Some(PolicyKind::Deny) => "denied",
        Some(PolicyKind::Limits | _) => "limited",
        None => "not listed",
    }
}
