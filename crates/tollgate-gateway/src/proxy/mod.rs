//! The reverse proxy: any API is limited without touching it.
//!
//! A request is judged by the same rules as at every other door over HTTP; what is allowed is sent on and its answer
//! streamed back, what is denied never reaches the upstream. What was judged is what is forwarded: the path goes on in
//! the normal form by which its endpoint was found.
//!
//! Bodies are streamed both ways and never collected, so their size is not bounded here; how long they may be silent
//! is. A place of a concurrency limit is held until the last byte of the answer was sent, or the connection broke off.

mod active;
mod body;
mod connection;
mod fields;
mod forward;
mod tunnel;
mod upstream;

use std::sync::Arc;

use tokio::net::TcpListener;

use crate::accept::accept;
use crate::door::{Door, Shutdown};
use crate::gate::Gate;
use upstream::Upstream;

/// Serves the reverse proxy.
pub(crate) async fn serve(listener: TcpListener, gate: Arc<Gate>, shutdown: Shutdown) {
    let Some(upstream) = gate.settings().proxy.as_ref().and_then(Upstream::new) else { return };
    let upstream = Arc::new(upstream);
    let connection_gate = Arc::clone(&gate);
    accept(listener, Door::Proxy, gate, shutdown, move |connection, shutdown| {
        connection::serve(connection, Arc::clone(&upstream), Arc::clone(&connection_gate), shutdown)
    })
    .await;
}
