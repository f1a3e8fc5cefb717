//! Requests that cannot be judged: errors, which Envoy lets through unless it is told otherwise, so no client can bring
//! one about.

use tonic::Code;

use crate::support::{Served, call, descriptor, limited, request};
use crate::wire::rate_limit_descriptor::RateLimitOverride;
use crate::wire::{RateLimitDescriptor, RateLimitRequest, Unit};

const TWO_A_MINUTE: &str =
    "default: { algorithm: FixedWindow, algoConfig: { maxRequests: 2, window: 1m } }";

#[tokio::test]
async fn s70_what_cannot_be_judged_is_an_invalid_argument_and_charges_nothing() {
    let served = Served::new(TWO_A_MINUTE).await;
    let mut client = served.client().await;
    let good = call("GET", "/x", "203.0.113.7");
    let good_alone = [good.clone()];
    let unknown = Some(RateLimitOverride { requests_per_unit: 5, unit: 99 });
    let negative = RateLimitDescriptor { is_negative_hits: true, ..good.clone() };
    for (asked, message) in [
        (RateLimitRequest { domain: String::new(), ..request(&good_alone) }, "domain is empty"),
        (request(&[]), "descriptors is empty"),
        (request(&vec![good.clone(); 10_000]), "descriptors has 10000 elements"),
        (request(&[good.clone(), descriptor(&[])]), "descriptors[1].entries is empty"),
        (request(&[good.clone(), descriptor(&[("", "x")])]), "descriptors[1].entries has an empty"),
        (
            request(&[good.clone(), RateLimitDescriptor { limit: unknown, ..good.clone() }]),
            "descriptors[1].limit.unit is 99",
        ),
        (
            request(&[good.clone(), limited(5, Unit::Unknown, good.clone())]),
            "descriptors[1].limit.unit is 0",
        ),
        (request(&[good.clone(), negative]), "descriptors[1].is_negative_hits"),
    ] {
        let refused = client.ask(asked).await.unwrap_err();
        assert_eq!(refused.code(), Code::InvalidArgument, "{refused}");
        assert!(refused.message().starts_with(message), "{refused}");
    }
    assert_eq!(client.status(good).await.limit_remaining, 1);
    served.stop().await;
}

#[tokio::test]
async fn s70_huge_texts_are_judged_and_a_message_beyond_the_bound_is_refused_and_counted() {
    let served = Served::new(TWO_A_MINUTE).await;
    let mut client = served.client().await;
    // Those of one end differ in the other.
    for end in ["a", "b"] {
        let path = format!("/{}{end}", "x".repeat(400_000));
        let user = format!("{}{end}", "y".repeat(400_000));
        let asked = descriptor(&[("path", &path), ("remote_address", &user)]);
        assert!(client.allows(asked.clone()).await);
        assert!(client.allows(asked.clone()).await);
        assert!(!client.allows(asked).await);
    }
    let asked = call("GET", &"x".repeat(1 << 20), "203.0.113.7");
    let refused = client.ask(request(&[asked])).await.unwrap_err();
    assert_eq!(refused.code(), Code::OutOfRange);
    let hits_of = "tollgate_gateway_limits_hit_total{door=\"envoy\",limit=\"body_bytes\"}";
    assert_eq!(served.metric(hits_of).await, 1);
    assert!(client.allows(call("GET", "/x", "203.0.113.7")).await);
    served.stop().await;
}
