//! Envoy's rate limit service as its callers see it: over gRPC, with a client that is not ours, and with Envoy itself.

#![expect(
    clippy::arithmetic_side_effects,
    clippy::as_conversions,
    clippy::unwrap_used,
    reason = "a test stops at the first surprise"
)]

mod answers;
mod callers;
mod company;
mod generated;
mod own_limits;
mod proxy;
mod refused;
mod support;
#[rustfmt::skip]
#[path = "../../src/envoy/wire.rs"]
#[expect(
    clippy::allow_attributes,
    clippy::allow_attributes_without_reason,
    clippy::clone_on_ref_ptr,
    clippy::excessive_nesting,
    clippy::pedantic,
    unnameable_types,
    unreachable_pub,
    unused_qualifications,
    reason = "the generated messages, to ask with"
)]
mod wire;
