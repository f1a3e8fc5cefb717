//! The reverse proxy, between real connections: raw bytes in, a real server behind.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod at_once;
mod bodies;
mod clients;
mod framing;
mod http2;
mod paths;
mod running;
mod upstream;
mod wire;
