//! What `tollgate serve` runs: a gateway that answers decisions over HTTP and the protocols of proxies.
//!
//! Should you use this? To run the gateway inside a program or a test of your own. It reads a config file, listens, and
//! is stopped by its handle; it catches no signals and starts no log.
//!
//! ```
//! use tollgate_gateway::{Door, Gateway};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("limits.yaml");
//! std::fs::write(&path, "{ default: { algorithm: TokenBucket, algoConfig: { capacity: 10, refill: 1/s } } }")?;
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! let gateway = Gateway::builder(&path).listen("127.0.0.1:0").admin("127.0.0.1:0").start().await?;
//! assert!(gateway.address(Door::Http).is_some());
//! gateway.stop(std::future::pending()).await?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Map
//! [`Gateway`] binds a listener for each [`Door`] and has each served by its module. All doors share one gate, which
//! decides; connections are taken in one place, which bounds and counts them, and drained by one stop.

#![forbid(unsafe_code)]

mod accept;
mod admin;
mod audit;
mod config_file;
mod decision_api;
mod door;
mod envoy;
mod forward_auth;
mod gate;
mod gateway;
mod health;
mod http;
mod metrics;
mod proxy;
mod reload;
mod resp;
mod watch;

pub use admin::TokenFault;
pub use door::Door;
pub use gateway::{CutOff, Gateway, GatewayBuilder, StartError};
pub use reload::ReloadFault;
