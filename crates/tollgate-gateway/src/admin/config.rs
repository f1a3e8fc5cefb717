//! The config in force, and another in its place.

use std::sync::Arc;

use hyper::{Method, StatusCode};
use serde::Serialize;
use tokio::task::spawn_blocking;
use tollgate::{Change, LimiterSummary, PolicyKind, PolicySummary, ReloadReport};

use super::query::Query;
use crate::audit::Audit;
use crate::gate::Gate;
use crate::http::Received;
use crate::http::answer::{self, Answer};
use crate::http::door::only;
use crate::http::problem::Problem;
use crate::reload::{Reloaded, dry_run};

/// The config in force. The token is no part of it, only where it lies.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown<'a> {
    file: String,
    version: u64,
    loaded_at: String,
    failures: u64,
    last_error: Option<&'a str>,
    doors: Vec<(&'static str, &'a str)>,
    policies: Vec<Policy<'a>>,
}

#[derive(Serialize)]
struct Policy<'a> {
    /// `null` for the default.
    endpoint: Option<&'a str>,
    kind: &'static str,
    limits: Vec<Limit<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Limit<'a> {
    name: Option<&'a str>,
    algorithm: &'a str,
    quota: u32,
    scope: &'static str,
    mode: &'static str,
    max_keys: u64,
}

impl<'a> Limit<'a> {
    pub(super) fn of(summary: &LimiterSummary<'a>) -> Self {
        Self {
            name: summary.limit_name,
            algorithm: summary.algorithm.name(),
            quota: summary.algorithm.limit(),
            scope: summary.scope.word(),
            mode: summary.mode.word(),
            max_keys: summary.max_keys,
        }
    }
}

impl<'a> Policy<'a> {
    fn of(policy: &PolicySummary<'a>) -> Self {
        Self {
            endpoint: policy.endpoint(),
            kind: kind(policy),
            limits: policy.limits().map(|limit| Limit::of(&limit)).collect(),
        }
    }
}

/// The word for what a policy comes to.
pub(super) fn kind(policy: &PolicySummary<'_>) -> &'static str {
    match policy.kind() {
        PolicyKind::Unlimited => "unlimited",
        PolicyKind::Deny => "deny",
        PolicyKind::Limits | _ => "limits",
    }
}

pub(super) fn show(received: &Received, gate: &Gate) -> Result<Answer, Problem> {
    only(received, &[Method::GET], "GET")?;
    let loads = gate.config.loads();
    let settings = gate.settings();
    let limits = gate.limiter().config();
    let shown = Shown {
        file: gate.config.path().display().to_string(),
        version: loads.version,
        loaded_at: humantime::format_rfc3339_millis(loads.loaded_at).to_string(),
        failures: loads.failures,
        last_error: loads.last_error.as_deref(),
        doors: settings.listeners().collect(),
        policies: limits.policies().map(|policy| Policy::of(&policy)).collect(),
    };
    Ok(answer::json(StatusCode::OK, &shown))
}

/// What a reload did, or would do.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Outcome<'a> {
    applied: bool,
    version: u64,
    changes: Vec<LimitChange<'a>>,
}

#[derive(Serialize)]
struct LimitChange<'a> {
    endpoint: &'a str,
    limit: Option<&'a str>,
    change: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    forgiven: Option<u64>,
}

impl<'a> Outcome<'a> {
    fn of(report: &'a ReloadReport, version: u64, applied: bool) -> Self {
        let change = |limit: tollgate::LimitChange<'a>| LimitChange {
            endpoint: limit.owner.name(),
            limit: limit.limit,
            change: word(limit.change),
            forgiven: forgiven(limit.change).filter(|_| applied),
        };
        Self { applied, version, changes: report.limits().map(change).collect() }
    }
}

/// The word for what became of a limit's state.
pub(crate) const fn word(change: Change) -> &'static str {
    match change {
        Change::Kept => "kept",
        Change::Changed { .. } => "changed",
        Change::Replaced => "replaced",
        Change::New => "new",
        Change::Removed => "removed",
        _ => "other",
    }
}

/// How many keys' debt was above the new limit, where the limit has changed.
pub(crate) const fn forgiven(change: Change) -> Option<u64> {
    if let Change::Changed { forgiven } = change { Some(forgiven) } else { None }
}

/// Reads the config file and puts it in force, or with `dryRun=1` only tells what that would do.
pub(super) async fn reload(received: &Received, gate: Arc<Gate>) -> Result<Answer, Problem> {
    only(received, &[Method::POST], "POST")?;
    let is_dry = Query::read(received.request.uri().query(), &["dryRun"])?.flag("dryRun")?;
    let work = Arc::clone(&gate);
    // Reading files and moving millions of keys takes its time.
    let done = spawn_blocking(move || {
        if is_dry {
            dry_run(&work).map(|report| Reloaded { report, version: work.config.loads().version })
        } else {
            work.reload()
        }
    });
    let done = done.await.map_err(|error| {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, format!("the reload broke off: {error}"))
    })?;
    if !is_dry {
        let outcome = if done.is_ok() { "applied" } else { "refused" };
        Audit::of(received).record("reload", outcome);
    }
    match done {
        Ok(Reloaded { report, version }) => {
            let outcome = Outcome::of(&report, version, !is_dry);
            Ok(answer::json(StatusCode::OK, &outcome))
        }
        Err(faults) => Err(Problem::new(StatusCode::UNPROCESSABLE_ENTITY, faults.to_string())),
    }
}
