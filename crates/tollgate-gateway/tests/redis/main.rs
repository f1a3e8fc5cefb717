//! The Redis door, asked over sockets by bytes and by real clients.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod bytes;
mod clients;

use std::fs;
use std::future::pending;
use std::net::SocketAddr;

use tollgate::ManualClock;
use tollgate_gateway::{Door, Gateway};

/// A gateway with an open Redis door, where a client has ten calls and a tenant's team five. The clock stands still.
struct Served {
    gateway: Gateway,
    address: SocketAddr,
}

impl Served {
    async fn start() -> Self {
        Self::start_with("").await
    }

    /// With more in the section `redis`.
    async fn start_with(settings: &str) -> Self {
        let limits = format!(
            "
            default: {{ algorithm: TokenBucket, algoConfig: {{ capacity: 10, refill: 1/s }} }}
            endpoints:
              - endpoint: /team
                limits:
                  - name: team
                    algorithm: TokenBucket
                    algoConfig: {{ capacity: 5, refill: 1/s }}
                    scope: tenant
            gateway:
              redis: {{ listen: 127.0.0.1:0{settings} }}
            "
        );
        Self::start_on(&limits).await
    }

    /// On a config of one's own.
    async fn start_on(config: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("limits.yaml");
        fs::write(&path, config).unwrap();
        let gateway = Gateway::builder(path)
            .listen("127.0.0.1:0")
            .admin("127.0.0.1:0")
            .clock(ManualClock::new())
            .start()
            .await
            .unwrap();
        let address = gateway.address(Door::Redis).unwrap();
        Self { gateway, address }
    }

    async fn stop(self) {
        self.gateway.stop(pending()).await.unwrap();
    }
}
