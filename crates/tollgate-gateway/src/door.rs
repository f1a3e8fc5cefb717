//! What a door is to the rest: a name for the figures, and a way to be told to stop.

use prometheus_client::encoding::{EncodeLabelValue, LabelValueEncoder};
use std::fmt::{self, Write};
use tokio::sync::watch;

/// A listener, and what is spoken on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Door {
    /// The decision API and the questions of proxies, over HTTP.
    Http,
    /// Metrics and what operators do, over HTTP.
    Admin,
    /// Envoy's rate limit service, over gRPC.
    Envoy,
    /// The protocol of Redis.
    Redis,
    /// The reverse proxy.
    Proxy,
}

impl Door {
    pub(crate) const ALL: [Self; 5] =
        [Self::Http, Self::Admin, Self::Envoy, Self::Redis, Self::Proxy];

    /// What metrics and logs call it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Http => "http",
            Self::Admin => "admin",
            Self::Envoy => "envoy",
            Self::Redis => "redis",
            Self::Proxy => "proxy",
        }
    }
}

impl fmt::Display for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl EncodeLabelValue for Door {
    fn encode(&self, encoder: &mut LabelValueEncoder<'_>) -> fmt::Result {
        encoder.write_str(self.name())
    }
}

/// Tells a door when to stop: it takes nothing new, finishes what is under way, and returns.
#[derive(Clone, Debug)]
pub(crate) struct Shutdown(watch::Receiver<bool>);

/// The other end of a [`Shutdown`]. One that is dropped stops the doors too.
#[derive(Debug)]
pub(crate) struct Stop(watch::Sender<bool>);

impl Stop {
    pub(crate) fn new() -> Self {
        Self(watch::Sender::new(false))
    }

    /// For a door that is to stop with the others.
    pub(crate) fn shutdown(&self) -> Shutdown {
        Shutdown(self.0.subscribe())
    }

    /// Has all doors stop.
    pub(crate) fn start(&self) {
        self.0.send_replace(true);
    }
}

impl Shutdown {
    /// Waits until it is time to stop.
    pub(crate) async fn started(&mut self) {
        // Where the sender is gone, nobody is left to serve for.
        drop(self.0.wait_for(|started| *started).await);
    }
}
