//! Connections of gRPC: HTTP/2, and nothing on them that could wait for ever.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http2;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tracing::{debug, error};

use super::services::Services;
use crate::accept::{Connection, accept};
use crate::door::{Door, Shutdown};
use crate::gate::Gate;
use crate::metrics::LimitHit;

/// What every client of HTTP/2 sends first: RFC 9113, section 3.4.
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// The most calls under way on one connection.
const CALLS_MAX: u32 = 1_000;

/// The most calls that were given up before they were looked at. Beyond it the connection ends, and with it all calls
/// under way, which Envoy would then let through. So it is far above what clients who break off in numbers can bring
/// about: the callers here are proxies, and not the clients behind them.
const GIVEN_UP_MAX: usize = 10_000;

/// The most bytes that a connection has sent ahead of their being read.
const AHEAD_BYTES_MAX: u32 = 1 << 20;

/// How long calls under way may take once the door closes. A question that has come is answered at once; what lasts
/// longer is one that does not come, or somebody who watches the health.
const DRAIN_MAX: Duration = Duration::from_secs(1);

/// Serves Envoy.
pub(crate) async fn serve(listener: TcpListener, gate: Arc<Gate>, shutdown: Shutdown) {
    let services = match Services::new(&gate) {
        Ok(services) => services,
        // What is told by reflection is checked in, and a test reads it.
        Err(error) => return error!("the services of gRPC cannot be described: {error}"),
    };
    services.start().await;
    let mut closing = shutdown.clone();
    let tell = async {
        closing.started().await;
        services.stop().await;
    };
    let taken =
        accept(listener, Door::Envoy, Arc::clone(&gate), shutdown, |connection, shutdown| {
            serve_connection(connection, services.clone(), Arc::clone(&gate), shutdown)
        });
    tokio::join!(tell, taken);
}

async fn serve_connection(
    connection: Connection,
    services: Services,
    gate: Arc<Gate>,
    mut shutdown: Shutdown,
) {
    // It counts as open as long as this lives.
    let Connection { stream, peer, connected: _connected } = connection;
    let greeted = tokio::select! {
        greeted = greeted(stream, &gate) => greeted,
        () = shutdown.started() => return,
    };
    let stream = match greeted {
        Ok(stream) => TokioIo::new(stream),
        Err(error) => return debug!(%peer, "a connection of Envoy's door broke off: {error}"),
    };
    let answer = service_fn(move |request| {
        let services = services.clone();
        async move { services.answer(request).await }
    });
    let connection = http(&gate).serve_connection(stream, answer);
    tokio::pin!(connection);
    let served = tokio::select! {
        served = connection.as_mut() => served,
        () = shutdown.started() => {
            connection.as_mut().graceful_shutdown();
            // Whoever is still there then is cut off.
            timeout(DRAIN_MAX, connection).await.unwrap_or(Ok(()))
        }
    };
    if let Err(error) = served {
        debug!(%peer, "a connection of Envoy's door broke off: {error}");
    }
}

/// HTTP/2 within the gateway's limits. Peers that are gone are found by asking whether they are there.
fn http(gate: &Gate) -> http2::Builder<TokioExecutor> {
    let limits = &gate.settings().limits;
    let mut http = http2::Builder::new(TokioExecutor::new());
    http.timer(TokioTimer::new())
        .max_concurrent_streams(CALLS_MAX)
        .max_pending_accept_reset_streams(GIVEN_UP_MAX)
        .max_header_list_size(limits.header_bytes)
        .initial_connection_window_size(AHEAD_BYTES_MAX)
        .initial_stream_window_size(AHEAD_BYTES_MAX)
        .keep_alive_interval(limits.idle_timeout)
        .keep_alive_timeout(limits.header_timeout);
    http
}

/// A connection whose client has begun to speak HTTP/2, in the time that header fields have.
async fn greeted(
    stream: TcpStream,
    gate: &Gate,
) -> io::Result<impl AsyncRead + AsyncWrite + Unpin + Send + use<>> {
    let time = gate.settings().limits.header_timeout;
    let (mut reader, writer) = stream.into_split();
    let mut preface = [0; PREFACE.len()];
    let read = timeout(time, reader.read_exact(&mut preface)).await;
    let read = read.inspect_err(|_elapsed| {
        gate.metrics.record_limit(Door::Envoy, LimitHit::HeaderTime);
    });
    read.map_err(io::Error::from).flatten()?;
    if preface != *PREFACE {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "the client does not speak HTTP/2"));
    }
    Ok(tokio::io::join(PREFACE.chain(reader), writer))
}
