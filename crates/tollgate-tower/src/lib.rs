//! Rate limits as a [tower] layer, for services of axum, hyper and tonic.
//!
//! Should you use this? If your service is built of tower's layers and is to limit itself. To limit one that is not
//! yours, put `tollgate serve` in front of it; to ask without HTTP, call [`RateLimiter`](tollgate::RateLimiter).
//!
//! ```
//! use axum::{Router, routing::get};
//! use tollgate::{Config, TokenBucket};
//! use tollgate_tower::TollgateLayer;
//!
//! let config = Config::builder()
//!     .default(TokenBucket::per_second(10))
//!     .endpoint("GET /search", TokenBucket::per_minute(60).burst(5))
//!     .build()?;
//! let limits = TollgateLayer::new(config);
//! let service: Router = Router::new().route("/search", get(|| async { "found" })).layer(limits);
//! # Ok::<(), tollgate::Faults>(())
//! ```
//!
//! A request that is denied is answered by 429 with `Retry-After`, the `RateLimit` fields and a problem that says why,
//! or in gRPC by `RESOURCE_EXHAUSTED`, and never reaches the service; what is allowed has the fields in its response.
//! [`tollgate_http`] says all that can be set about them.
//!
//! # Map
//! [`TollgateLayer`] wraps services; [`Tollgate`] is a wrapped one. Who a request is from is told by the address of its
//! connection ([`TollgateLayer::peer`]) and the rules of [`Clients`](tollgate_http::Clients), or by a function of yours
//! ([`TollgateLayer::client`]); which endpoint it is for, by [`EndpointRules`](tollgate_http::EndpointRules) or by a
//! function too.
//!
//! [tower]: https://docs.rs/tower

#![forbid(unsafe_code)]

mod body;
mod layer;
mod service;

pub use body::LimitedBody;
pub use layer::TollgateLayer;
pub use service::{Answering, Tollgate};
