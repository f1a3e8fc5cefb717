//! Envoy's rate limit service, version 3, over gRPC.
//!
//! A request has a domain and descriptors, which `question` checks. `mapping` says what each descriptor means, by the
//! rules of the config and the `names` that values come to. `judge` decides all of them together, by the limits of the
//! config or by those that come with the request (`own_limits`), and `answer` says it in Envoy's words. `service` leads
//! from the one to the other, and `current` is what the config in force comes to. `connection` is HTTP/2, `services`
//! has health and reflection beside the service, and `wire` is generated from `proto/rls.proto`.
//!
//! Envoy lets a request through when its question fails, unless it is told otherwise. So whatever a client can bring
//! about has an answer here, and an error is only what Envoy's config brings about.

mod answer;
mod connection;
mod current;
mod judge;
mod mapping;
mod names;
mod own_limits;
mod question;
mod service;
mod services;
#[rustfmt::skip]
#[expect(
    clippy::allow_attributes,
    clippy::allow_attributes_without_reason,
    clippy::as_conversions,
    clippy::clone_on_ref_ptr,
    clippy::default_trait_access,
    clippy::excessive_nesting,
    clippy::doc_markdown,
    clippy::too_many_lines,
    clippy::trivially_copy_pass_by_ref,
    unnameable_types,
    unreachable_pub,
    unused_qualifications,
    reason = "generated from proto/rls.proto; a test sees that it is current"
)]
mod wire;

pub(crate) use connection::serve;
