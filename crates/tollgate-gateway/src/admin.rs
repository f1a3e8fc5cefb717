//! The listener of operators.

use std::sync::Arc;

use hyper::header::HeaderValue;
use hyper::{Method, StatusCode};
use tokio::net::TcpListener;

use crate::door::{Door, Shutdown};
use crate::gate::Gate;
use crate::http::answer::{self, Answer};
use crate::http::door::only;
use crate::http::problem::Problem;
use crate::http::{self, Received};
use crate::{health, metrics};

/// Serves operators.
pub(crate) async fn serve(listener: TcpListener, gate: Arc<Gate>, shutdown: Shutdown) {
    http::serve(listener, Door::Admin, gate, shutdown, answer).await;
}

async fn answer(received: Received, gate: Arc<Gate>) -> Answer {
    route(&received, &gate).unwrap_or_else(Answer::from)
}

fn route(received: &Received, gate: &Gate) -> Result<Answer, Problem> {
    match received.request.uri().path() {
        "/metrics" => {
            only(received, &[Method::GET, Method::HEAD], "GET, HEAD")?;
            read_metrics(gate)
        }
        path => health::route(received, gate).unwrap_or_else(|| Err(Problem::not_found(path))),
    }
}

fn read_metrics(gate: &Gate) -> Result<Answer, Problem> {
    let text = gate.metrics.render().map_err(|error| {
        Problem::new(StatusCode::INTERNAL_SERVER_ERROR, format!("no metrics: {error}"))
    })?;
    Ok(answer::of_type(StatusCode::OK, HeaderValue::from_static(metrics::MEDIA_TYPE), text))
}
