//! Limits that come with requests.

use std::time::Duration;

use tonic::Code as Grpc;

use crate::support::{Served, call, descriptor, header, hits, limited, request};
use crate::wire::rate_limit_response::{Code, DescriptorStatus, RateLimit};
use crate::wire::{RateLimitDescriptor, Unit};

const LIMITS: &str = "
default: { algorithm: FixedWindow, algoConfig: { maxRequests: 100, window: 1m } }
endpoints:
  - { endpoint: /search, algorithm: FixedWindow, algoConfig: { maxRequests: 100, window: 1m } }";

fn search(address: &str) -> RateLimitDescriptor {
    call("GET", "/search", address)
}

#[tokio::test]
async fn a_limit_that_comes_with_a_request_holds_instead_of_the_configs() {
    let served = Served::new(LIMITS).await;
    let mut client = served.client().await;
    let asked = limited(2, Unit::Second, search("203.0.113.7"));
    let status = |code: Code, limit_remaining| DescriptorStatus {
        code: code.into(),
        current_limit: Some(RateLimit {
            requests_per_unit: 2,
            unit: Unit::Second.into(),
            name: String::new(),
        }),
        limit_remaining,
        duration_until_reset: Some(prost_types::Duration { seconds: 1, nanos: 0 }),
    };
    assert_eq!(client.status(asked.clone()).await, status(Code::Ok, 1));
    assert_eq!(client.status(asked.clone()).await, status(Code::Ok, 0));
    let denied = client.answer(std::slice::from_ref(&asked)).await;
    assert_eq!(denied.statuses, [status(Code::OverLimit, 0)]);
    assert_eq!(header(&denied, "ratelimit-policy"), Some("\"request\";q=2;w=1"));
    assert_eq!(header(&denied, "retry-after"), Some("1"));
    assert_eq!(client.status(search("203.0.113.7")).await.limit_remaining, 99);
    served.clock.advance(Duration::from_secs(1));
    assert!(client.allows(hits(2, asked.clone())).await);
    assert!(!client.allows(hits(3, asked)).await);
    served.stop().await;
}

#[tokio::test]
async fn it_counts_by_the_entry_and_the_client_that_a_rule_names() {
    let served = Served::new(LIMITS).await;
    let mut client = served.client().await;
    let one = |asked| limited(1, Unit::Hour, asked);
    assert!(client.allows(one(search("203.0.113.7"))).await);
    // Another spelling, another method and another address: the first two are of the same entry and client.
    assert!(!client.allows(one(call("GET", "//search?again", "203.0.113.7"))).await);
    assert!(!client.allows(one(call("POST", "/search", "203.0.113.7"))).await);
    assert!(client.allows(one(search("203.0.113.8"))).await);
    // All that no entry is listed for counts together.
    assert!(client.allows(one(call("GET", "/1", "203.0.113.7"))).await);
    assert!(!client.allows(one(call("GET", "/2", "203.0.113.7"))).await);
    assert!(!client.allows(one(call("GET", "/%2F", "203.0.113.9"))).await);
    served.stop().await;
}

#[tokio::test]
async fn without_a_rule_it_counts_by_all_that_the_descriptor_says() {
    let served = Served::new(LIMITS).await;
    let mut client = served.client().await;
    let asked = |one: &str, other: &str| {
        limited(1, Unit::Day, descriptor(&[("one", one), ("other", other)]))
    };
    assert!(client.allows(asked("ab", "c")).await);
    assert!(client.allows(asked("a", "bc")).await);
    assert!(!client.allows(asked("ab", "c")).await);
    let swapped = descriptor(&[("other", "c"), ("one", "ab")]);
    assert!(!client.allows(limited(1, Unit::Day, swapped)).await);
    served.stop().await;
}

#[tokio::test]
async fn a_limit_of_nothing_denies_and_knows_no_wait() {
    let served = Served::new(LIMITS).await;
    let mut client = served.client().await;
    let answer = client.answer(&[limited(0, Unit::Minute, search("203.0.113.7"))]).await;
    let current_limit =
        Some(RateLimit { requests_per_unit: 0, unit: Unit::Minute.into(), name: String::new() });
    let code = Code::OverLimit.into();
    let status = DescriptorStatus { code, current_limit, ..DescriptorStatus::default() };
    assert_eq!(answer.statuses, [status]);
    assert_eq!(header(&answer, "retry-after"), None);
    assert_eq!(header(&answer, "content-type"), Some("application/problem+json"));
    served.stop().await;
}

#[tokio::test]
async fn it_is_charged_with_the_others_or_not_at_all() {
    let served = Served::new(LIMITS).await;
    let mut client = served.client().await;
    let own = limited(5, Unit::Minute, search("203.0.113.7"));
    let drained = search("203.0.113.8");
    assert!(client.allows(hits(100, drained.clone())).await);
    for asked in [[own.clone(), drained.clone()], [drained, own.clone()]] {
        assert_eq!(client.answer(&asked).await.overall_code(), Code::OverLimit);
    }
    assert_eq!(client.status(hits(0, own)).await.limit_remaining, 5);
    served.stop().await;
}

#[tokio::test]
async fn what_operators_say_of_a_client_comes_before_every_limit() {
    let served = Served::with(LIMITS, "  admin: { tokenFile: token }").await;
    let mut client = served.client().await;
    let [mine, other] = ["203.0.113.7", "203.0.113.8"].map(search);
    let own = |asked: &RateLimitDescriptor| limited(1, Unit::Hour, asked.clone());
    served.override_client("203.0.113.7", r#"{"mode": "block", "for": "2s"}"#).await;
    for asked in [mine.clone(), own(&mine)] {
        let answer = client.answer(&[other.clone(), asked]).await;
        assert_eq!(answer.overall_code(), Code::OverLimit);
        assert_eq!(header(&answer, "retry-after"), Some("2"));
        assert_eq!(answer.statuses[0].limit_remaining, 100);
    }
    served.override_client("203.0.113.7", r#"{"mode": "unlimited", "for": "2s"}"#).await;
    for _ in 0..3 {
        assert!(client.allows(own(&mine)).await);
    }
    served.clock.advance(Duration::from_secs(2));
    assert!(client.allows(own(&mine)).await);
    assert!(!client.allows(own(&mine)).await);
    served.stop().await;
}

#[tokio::test]
async fn so_many_different_ones_are_in_use_and_one_more_is_refused_and_counted() {
    let served = Served::new(LIMITS).await;
    let mut client = served.client().await;
    let asked = |requests| limited(requests, Unit::Second, search("203.0.113.7"));
    for requests in 1..=64 {
        assert!(client.allows(asked(requests)).await);
    }
    let free = search("203.0.113.8");
    let refused = client.ask(request(&[free.clone(), asked(65)])).await.unwrap_err();
    assert_eq!(refused.code(), Grpc::ResourceExhausted);
    assert!(refused.message().contains("64 different ones"), "{refused}");
    let hits_of = "tollgate_gateway_limits_hit_total{door=\"envoy\",limit=\"own_limits\"}";
    assert_eq!(served.metric(hits_of).await, 1);
    // Nothing of the refused request was charged, and those in use go on.
    assert_eq!(client.status(free).await.limit_remaining, 99);
    assert!(!client.allows(asked(1)).await);
    served.clock.advance(Duration::from_secs(1));
    assert!(client.allows(asked(65)).await);
    served.stop().await;
}
