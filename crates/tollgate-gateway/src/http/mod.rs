//! HTTP/1.1 at a door: connections served within their bounds of room and time, answers made, problems told.

pub(crate) mod answer;
pub(crate) mod body;
pub(crate) mod door;
mod phase;
pub(crate) mod problem;
pub(crate) mod rules;
mod timed;

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpListener;
use tracing::debug;

use crate::accept::{Connection, accept};
use crate::door::{Door, Shutdown};
use crate::gate::Gate;
use crate::metrics::LimitHit;
use answer::Answer;
use phase::Phase;
use timed::Timed;

/// A request, and where it came from.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) request: Request<Incoming>,
    /// Who is at the other end of the connection.
    pub(crate) peer: SocketAddr,
    /// Which door it came through.
    pub(crate) door: Door,
}

/// Serves a door over HTTP: each request is answered by `answer`, until it is time to stop and none is under way.
pub(crate) async fn serve<A, F>(
    listener: TcpListener,
    door: Door,
    gate: Arc<Gate>,
    shutdown: Shutdown,
    answer: A,
) where
    A: Fn(Received, Arc<Gate>) -> F + Copy + Send + Sync + 'static,
    F: Future<Output = Answer> + Send + 'static,
{
    let connection_gate = Arc::clone(&gate);
    accept(listener, door, gate, shutdown, move |connection, shutdown| {
        serve_connection(connection, door, Arc::clone(&connection_gate), shutdown, answer)
    })
    .await;
}

async fn serve_connection<A, F>(
    connection: Connection,
    door: Door,
    gate: Arc<Gate>,
    mut shutdown: Shutdown,
    answer: A,
) where
    A: Fn(Received, Arc<Gate>) -> F + Copy + Send + Sync + 'static,
    F: Future<Output = Answer> + Send + 'static,
{
    let Connection { stream, peer, connected } = connection;
    let phase = Arc::new(Phase::new());
    let header_bytes = gate.settings().limits.header_bytes;
    let io = TokioIo::new(Timed::new(stream, Arc::clone(&phase), Arc::clone(&gate), door));
    let service = service_fn(|request| {
        phase.start_answering();
        let answer = answer(Received { request, peer, door }, Arc::clone(&gate));
        let phase = &phase;
        async move {
            let answer = answer.await;
            phase.start_waiting();
            Ok::<_, Infallible>(answer)
        }
    });
    let mut http = http1::Builder::new();
    http.max_header_size(usize::try_from(header_bytes).unwrap_or(usize::MAX));
    let mut served = pin!(http.serve_connection(io, service));
    let ended = tokio::select! {
        ended = served.as_mut() => ended,
        () = shutdown.started() => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    drop(connected);
    if let Err(error) = ended {
        if error.is_parse_too_large() {
            gate.metrics.record_limit(door, LimitHit::HeaderBytes);
        }
        debug!(%door, %peer, "a connection broke off: {error}");
    }
}
