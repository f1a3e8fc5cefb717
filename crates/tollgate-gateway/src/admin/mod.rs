//! The listener of operators: probes and metrics for everybody who reaches it, all else by token.

mod access;
mod client;
mod config;
mod insight;
mod query;

use std::sync::Arc;

use hyper::header::HeaderValue;
use hyper::{Method, StatusCode};
use tokio::net::TcpListener;

pub(crate) use self::access::AdminRules;
pub use self::access::TokenFault;
pub(crate) use self::config::{forgiven, word};
use crate::door::{Door, Shutdown};
use crate::gate::Gate;
use crate::http::answer::{self, Answer};
use crate::http::door::only;
use crate::http::problem::Problem;
use crate::http::{self, Received};
use crate::{health, metrics};

/// Serves operators.
pub(crate) async fn serve(listener: TcpListener, gate: Arc<Gate>, shutdown: Shutdown) {
    let is_on_loopback = listener.local_addr().is_ok_and(|address| address.ip().is_loopback());
    if is_on_loopback {
        http::serve(listener, Door::Admin, gate, shutdown, answer_neighbours).await;
    } else {
        http::serve(listener, Door::Admin, gate, shutdown, answer_others).await;
    }
}

/// Whoever reaches a loopback address is on this machine, or a browser here that was tricked into asking.
async fn answer_neighbours(received: Received, gate: Arc<Gate>) -> Answer {
    match gate.admin().require_known_host(&received.request) {
        Ok(()) => {}
        Err(problem) => return problem.into(),
    }
    let is_open = received.request.uri().path() == METRICS;
    route(received, gate, is_open).await.unwrap_or_else(Answer::from)
}

async fn answer_others(received: Received, gate: Arc<Gate>) -> Answer {
    route(received, gate, false).await.unwrap_or_else(Answer::from)
}

const METRICS: &str = "/metrics";

async fn route(received: Received, gate: Arc<Gate>, is_open: bool) -> Result<Answer, Problem> {
    if let Some(answer) = health::route(&received, &gate) {
        return answer;
    }
    let path = received.request.uri().path();
    if !is_open && (path == METRICS || path.starts_with("/v1/")) {
        gate.admin().require_token(&received.request)?;
    }
    match path {
        METRICS => {
            only(&received, &[Method::GET, Method::HEAD], "GET, HEAD")?;
            read_metrics(&gate)
        }
        "/v1/config" => config::show(&received, &gate),
        "/v1/config/reload" => config::reload(&received, gate).await,
        "/v1/overrides" => insight::overrides(&received, &gate),
        "/v1/denied" => insight::denied(&received, &gate),
        "/v1/explain" => insight::explain(&received, &gate),
        _ if path.starts_with(client::PREFIX) => client::route(received, &gate).await,
        _ => Err(Problem::not_found(path)),
    }
}

fn read_metrics(gate: &Gate) -> Result<Answer, Problem> {
    let text = gate.metrics.render().map_err(|error| {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, format!("no metrics: {error}"))
    })?;
    Ok(answer::of_type(StatusCode::OK, HeaderValue::from_static(metrics::MEDIA_TYPE), text))
}
