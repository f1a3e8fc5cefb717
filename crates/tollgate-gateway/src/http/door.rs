//! What is under which path at the door for requests.

use std::sync::Arc;

use hyper::Method;
use tokio::net::TcpListener;

use super::Received;
use super::answer::Answer;
use super::problem::Problem;
use crate::decision_api::{self, Asks};
use crate::door::{Door, Shutdown};
use crate::gate::Gate;
use crate::{forward_auth, health};

/// Serves the decision API and the questions of proxies.
pub(crate) async fn serve(listener: TcpListener, gate: Arc<Gate>, shutdown: Shutdown) {
    super::serve(listener, Door::Http, gate, shutdown, answer).await;
}

async fn answer(received: Received, gate: Arc<Gate>) -> Answer {
    route(received, &gate).await.unwrap_or_else(Answer::from)
}

async fn route(received: Received, gate: &Gate) -> Result<Answer, Problem> {
    let path = received.request.uri().path();
    let settings = gate.settings();
    match path {
        decision_api::ALLOW if settings.decision_api => {
            drop(settings);
            decision_api::answer(received, gate, Asks::ToAllow).await
        }
        decision_api::PEEK if settings.decision_api => {
            drop(settings);
            decision_api::answer(received, gate, Asks::ToPeek).await
        }
        decision_api::OPENAPI if settings.decision_api => {
            only(&received, &[Method::GET, Method::HEAD], "GET, HEAD")?;
            Ok(decision_api::openapi())
        }
        forward_auth::FORWARD_AUTH if settings.forward_auth => {
            forward_auth::answer(&received, gate)
        }
        forward_auth::NGINX_AUTH if settings.nginx_auth => {
            Ok(forward_auth::answer_nginx(&received, gate))
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
