//! Connections that were upgraded, such as `WebSocket`s: bytes both ways, until one side ends.

use std::pin::pin;
use std::sync::Arc;

use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, copy, split};
use tollgate::Permit;
use tracing::debug;

use super::active::Active;
use crate::door::{Door, Shutdown};

/// What a connection becomes once its upgrade was answered. Run by the connection's own task, so that it counts as
/// open and is cut off with it.
#[derive(Clone, Default)]
pub(super) struct Tunnels(Arc<Mutex<Option<Tunnel>>>);

/// The two sides of an upgraded connection, and what it holds while it lasts.
pub(super) struct Tunnel {
    pub(super) client: OnUpgrade,
    pub(super) upstream: OnUpgrade,
    pub(super) permit: Option<Permit>,
    pub(super) active: Active,
}

impl Tunnels {
    /// Keeps a tunnel until its connection has sent the answer.
    pub(super) fn open(&self, tunnel: Tunnel) {
        *self.0.lock() = Some(tunnel);
    }

    /// Carries bytes until a side ends, or it is time to stop.
    pub(super) async fn run(&self, mut shutdown: Shutdown) {
        let Some(tunnel) = self.0.lock().take() else { return };
        tokio::select! {
            () = tunnel.carry() => {}
            // Nobody knows when it would end by itself.
            () = shutdown.started() => {}
        }
    }
}

impl Tunnel {
    async fn carry(self) {
        let Self { client, upstream, permit, active } = self;
        let (client, upstream) = match tokio::try_join!(client, upstream) {
            Ok(both) => both,
            Err(error) => {
                debug!(door = %Door::Proxy, "an upgrade broke off: {error}");
                return;
            }
        };
        let (client_says, client_hears) = split(TokioIo::new(client));
        let (upstream_says, upstream_hears) = split(TokioIo::new(upstream));
        let mut answers = pin!(hand_on(upstream_says, client_hears));
        // A client that has said all may still be answered; where the upstream has, nobody is left to listen.
        tokio::select! {
            () = &mut answers => {}
            () = hand_on(client_says, upstream_hears) => answers.await,
        }
        drop((permit, active));
    }
}

/// Hands on what one side says until it has said all, and tells the other side so.
async fn hand_on(mut says: impl AsyncRead + Unpin, mut hears: impl AsyncWrite + Unpin) {
    let handed_on = copy(&mut says, &mut hears).await;
    if let Err(error) = handed_on.and(hears.shutdown().await) {
        debug!(door = %Door::Proxy, "a tunnel broke off: {error}");
    }
}
