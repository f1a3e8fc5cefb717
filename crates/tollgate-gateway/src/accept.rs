//! Taking connections, the same at every door: within a bound, through a lack of resources, until it is time to stop.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinError, JoinSet};
use tokio::time::sleep;
use tracing::{debug, error, warn};

use crate::door::{Door, Shutdown};
use crate::gate::Gate;
use crate::metrics::{Connected, LimitHit};

/// How long a door waits before it takes the next connection when the system has no more to give, such as file
/// descriptors: long enough not to spin, short enough to be back as soon as something is freed.
const PAUSE_WITHOUT_RESOURCES: Duration = Duration::from_millis(100);

/// A connection that was taken.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) stream: TcpStream,
    pub(crate) peer: SocketAddr,
    /// It counts as open until this is dropped.
    pub(crate) connected: Connected,
}

/// Takes connections until it is time to stop and has each of them served by a task of its own; returns when the last
/// is done. Dropped before that, it cuts them off.
///
/// `serve` is to end soon after the shutdown it is given starts. At most `limits.connections` are open at once: one
/// more is closed at once, which is counted. Small packets are sent at once (`TCP_NODELAY`).
pub(crate) async fn accept<F>(
    listener: TcpListener,
    door: Door,
    gate: Arc<Gate>,
    mut shutdown: Shutdown,
    serve: impl Fn(Connection, Shutdown) -> F,
) where
    F: Future<Output = ()> + Send + 'static,
{
    let most = u64::from(gate.settings().limits.connections);
    let mut tasks = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            biased;
            () = shutdown.started() => break,
            Some(ended) = tasks.join_next() => {
                note_panic(ended, door);
                continue;
            }
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok(_) if gate.metrics.connected(door) >= most => {
                gate.metrics.record_limit(door, LimitHit::Connections);
            }
            Ok((stream, peer)) => {
                if let Err(error) = stream.set_nodelay(true) {
                    debug!(%door, "TCP_NODELAY cannot be set: {error}");
                }
                let connected = gate.metrics.connect(door);
                tasks.spawn(serve(Connection { stream, peer, connected }, shutdown.clone()));
            }
            Err(error) => pause_after(&error, door).await,
        }
    }
    drop(listener);
    while let Some(ended) = tasks.join_next().await {
        note_panic(ended, door);
    }
}

/// One connection's task that panics takes no other with it, and does not go unnoticed.
fn note_panic(ended: Result<(), JoinError>, door: Door) {
    if let Err(panicked) = ended {
        error!(%door, "a connection broke off: {panicked}");
    }
}

/// A connection that broke off before it was taken is no reason to wait; a lack of resources is.
async fn pause_after(error: &io::Error, door: Door) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
        return;
    }
    warn!(%door, "a connection cannot be taken: {error}");
    sleep(PAUSE_WITHOUT_RESOURCES).await;
}
