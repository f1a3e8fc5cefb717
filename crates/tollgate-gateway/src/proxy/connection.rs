//! One client's connection, of HTTP/1.1 or HTTP/2 as its first bytes say.

use std::convert::Infallible;
use std::sync::Arc;

use hyper::service::service_fn;
use hyper::{Request, Version};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use tracing::debug;

use super::active::Activity;
use super::forward::Exchange;
use super::tunnel::Tunnels;
use super::upstream::Upstream;
use crate::accept::Connection;
use crate::door::{Door, Shutdown};
use crate::gate::Gate;
use crate::http::phase::Phase;
use crate::http::timed::Timed;
use crate::metrics::LimitHit;

/// The most requests under way at once on one connection of HTTP/2.
const STREAMS_MAX: u32 = 200;

/// The least that the transport takes in at once; less, it does not allow.
const BUFFER_BYTES_MIN: usize = 8 << 10;

pub(super) async fn serve(
    connection: Connection,
    upstream: Arc<Upstream>,
    gate: Arc<Gate>,
    mut shutdown: Shutdown,
) {
    let Connection { stream, peer, connected } = connection;
    let phase = Arc::new(Phase::new());
    let activity = Activity::new(Arc::clone(&phase));
    let http = builder(&gate);
    let transport = Timed::new(stream, Arc::clone(&phase), Arc::clone(&gate), Door::Proxy);
    let tunnels = Tunnels::default();
    let service = service_fn(|request: Request<_>| {
        if request.version() == Version::HTTP_2 {
            phase.speak_frames();
        }
        let exchange = Exchange {
            peer: peer.ip(),
            active: activity.start(),
            gate: Arc::clone(&gate),
            upstream: Arc::clone(&upstream),
            tunnels: tunnels.clone(),
        };
        async move { Ok::<_, Infallible>(exchange.answer(request).await) }
    });
    let served = http.serve_connection_with_upgrades(TokioIo::new(transport), service);
    let mut served = std::pin::pin!(served);
    let ended = tokio::select! {
        ended = served.as_mut() => ended,
        () = shutdown.started() => {
            served.as_mut().graceful_shutdown();
            served.await
        }
    };
    if let Err(error) = ended {
        let too_large =
            error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_parse_too_large);
        if too_large {
            gate.metrics.record_limit(Door::Proxy, LimitHit::HeaderBytes);
        }
        debug!(door = %Door::Proxy, %peer, "a connection broke off: {error}");
    }
    tunnels.run(shutdown).await;
    drop(connected);
}

fn builder(gate: &Gate) -> auto::Builder<TokioExecutor> {
    let header_bytes = gate.settings().limits.header_bytes;
    let mut http = auto::Builder::new(TokioExecutor::new());
    let buffer = usize::try_from(header_bytes).unwrap_or(usize::MAX).max(BUFFER_BYTES_MIN);
    http.http1().max_buf_size(buffer).timer(TokioTimer::new()).header_read_timeout(None);
    http.http2()
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(header_bytes)
        .timer(TokioTimer::new());
    http
}
