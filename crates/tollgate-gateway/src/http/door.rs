//! What is under which path at the door for requests.

use std::sync::Arc;

use hyper::Method;
use tokio::net::TcpListener;

use super::Received;
use super::answer::Answer;
use super::problem::Problem;
use crate::door::{Door, Shutdown};
use crate::gate::Gate;
use crate::{decision_api, health};

/// Serves the decision API and the questions of proxies.
pub(crate) async fn serve(listener: TcpListener, gate: Arc<Gate>, shutdown: Shutdown) {
    super::serve(listener, Door::Http, gate, shutdown, answer).await;
}

async fn answer(received: Received, gate: Arc<Gate>) -> Answer {
    route(received, &gate).await.unwrap_or_else(Answer::from)
}

async fn route(received: Received, gate: &Gate) -> Result<Answer, Problem> {
    let path = received.request.uri().path();
    match path {
        decision_api::ALLOW if gate.settings().decision_api => {
            only(&received, &[Method::POST], "POST")?;
            decision_api::allow(received, gate).await
        }
        _ => health::route(&received, gate).unwrap_or_else(|| Err(Problem::not_found(path))),
    }
}

/// Refuses every method but these.
pub(crate) fn only(
    received: &Received,
    methods: &[Method],
    named: &'static str,
) -> Result<(), Problem> {
    let request = &received.request;
    if methods.contains(request.method()) {
        return Ok(());
    }
    Err(Problem::method_not_allowed(request.uri().path(), request.method(), named))
}
