//! Whether the process is alive and ready, for probes.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::routing::get;
use axum::{Json, Router};
use serde::Serialize;

use super::Gate;

pub(super) fn routes() -> Router<Arc<Gate>> {
    Router::new().route("/healthz", get(alive)).route("/readyz", get(ready))
}

async fn alive() -> &'static str {
    "ok\n"
}

/// Whether new requests are welcome, and which limits are in use.
#[derive(Serialize)]
struct Readiness {
    status: &'static str,
    config: ConfigInUse,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ConfigInUse {
    version: u64,
    loaded_at: String,
    last_reload_error: Option<String>,
}

async fn ready(State(gate): State<Arc<Gate>>) -> (StatusCode, Json<Readiness>) {
    let (code, status) = if gate.is_draining() {
        (StatusCode::SERVICE_UNAVAILABLE, "draining")
    } else {
        (StatusCode::OK, "ready")
    };
    let loads = gate.config.loads();
    let config = ConfigInUse {
        version: loads.version,
        loaded_at: humantime::format_rfc3339_millis(loads.loaded_at).to_string(),
        last_reload_error: loads.last_error.clone(),
    };
    (code, Json(Readiness { status, config }))
}
