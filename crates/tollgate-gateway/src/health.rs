//! Whether the process is alive and ready, for probes.

use hyper::{Method, StatusCode};
use serde::Serialize;

use crate::door::Door;
use crate::gate::Gate;
use crate::http::Received;
use crate::http::answer::{self, Answer};
use crate::http::door::only;
use crate::http::problem::Problem;

/// Answers probes, on every listener over HTTP; `None` where the path is none of theirs.
pub(crate) fn route(received: &Received, gate: &Gate) -> Option<Result<Answer, Problem>> {
    let answer: fn(&Received, &Gate) -> Answer = match received.request.uri().path() {
        "/healthz" => |_received, _gate| answer::text("ok\n"),
        "/readyz" => readiness,
        _ => return None,
    };
    Some(only(received, &[Method::GET, Method::HEAD], "GET, HEAD").map(|()| answer(received, gate)))
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

fn readiness(received: &Received, gate: &Gate) -> Answer {
    let (code, status) = if gate.is_draining() {
        (StatusCode::SERVICE_UNAVAILABLE, "draining")
    } else {
        (StatusCode::OK, "ready")
    };
    let loads = gate.config.loads();
    let config = ConfigInUse {
        version: loads.version,
        loaded_at: humantime::format_rfc3339_millis(loads.loaded_at).to_string(),
        last_reload_error: loads.last_error.clone().map(|error| shown(error, received)),
    };
    answer::json(code, &Readiness { status, config })
}

/// Faults name the file and what is in it, which is nobody's business who asks from elsewhere at an open door.
fn shown(error: String, received: &Received) -> String {
    if received.door == Door::Admin || received.peer.ip().is_loopback() {
        return error;
    }
    "the config file has faults; the log and the admin listener tell which".to_owned()
}
