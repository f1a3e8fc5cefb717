//! The Redis door: decisions in the protocol of Redis, so that any Redis client is a client.
//!
//! ```text
//! bytes ─► request ─► session ─► question ─► the gate        many connections, each: connection
//!          words      commands   a call        │
//! bytes ◄─ reply  ◄────────────── answer  ◄────┘
//! ```
//!
//! Commands may be pipelined without end: what was read is answered before more is read. A connection holds at most one
//! command that is not whole, of 64 KiB, and about as many bytes of replies.

mod answer;
mod commands;
mod connection;
mod introduction;
mod question;
mod reply;
mod request;
mod session;
mod word;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpListener;
use tracing::debug;

use crate::accept::accept;
use crate::door::{Door, Shutdown};
use crate::gate::Gate;
use connection::Connection;

/// After so much silence the system asks whether the peer is still there. Connections may be idle for any time, so that
/// nothing else would notice those whose peers are gone.
const KEEPALIVE: Duration = Duration::from_secs(300);

/// Serves clients until the shutdown starts.
pub(crate) async fn serve(listener: TcpListener, gate: Arc<Gate>, shutdown: Shutdown) {
    let connections = AtomicU64::new(1);
    accept(listener, Door::Redis, Arc::clone(&gate), shutdown, |accepted, shutdown| {
        let gate = Arc::clone(&gate);
        let id = connections.fetch_add(1, Ordering::Relaxed);
        async move {
            let keepalive = TcpKeepalive::new().with_time(KEEPALIVE);
            if let Err(error) = SockRef::from(&accepted.stream).set_tcp_keepalive(&keepalive) {
                debug!(door = %Door::Redis, "keepalive cannot be set: {error}");
            }
            let connection = Connection::new(accepted.stream, id, &gate);
            if let Err(error) = connection.serve(shutdown).await {
                debug!(door = %Door::Redis, peer = %accepted.peer, "a connection ended: {error}");
            }
            drop(accepted.connected);
        }
    })
    .await;
}
