//! What Envoy is told of a request that is judged.

use std::time::Duration;

use serde_json::Value;
use tollgate::{Config, ManualClock, RateLimiter, TokenBucket};

use crate::support::{Served, call, descriptor, header, hits, request};
use crate::wire::rate_limit_response::{Code, DescriptorStatus, RateLimit};
use crate::wire::{RateLimitRequest, Unit};

const TWO_A_MINUTE: &str =
    "default: { algorithm: FixedWindow, algoConfig: { maxRequests: 2, window: 1m } }";

#[tokio::test]
async fn a_status_has_the_limit_what_remains_and_the_time_until_it_is_whole() {
    let served = Served::new(TWO_A_MINUTE).await;
    let mut client = served.client().await;
    let status = |code: Code, limit_remaining, seconds| DescriptorStatus {
        code: code.into(),
        current_limit: Some(RateLimit {
            requests_per_unit: 2,
            unit: Unit::Minute.into(),
            name: String::new(),
        }),
        limit_remaining,
        duration_until_reset: Some(prost_types::Duration { seconds, nanos: 0 }),
    };
    let asked = call("GET", "/x", "203.0.113.7");
    assert_eq!(client.status(asked.clone()).await, status(Code::Ok, 1, 60));
    served.clock.advance(Duration::from_millis(1));
    assert_eq!(client.status(asked.clone()).await, status(Code::Ok, 0, 60));
    // Whole seconds, rounded up: 59.998 s are left, and then 0.001 s.
    served.clock.advance(Duration::from_millis(1));
    assert_eq!(client.status(asked.clone()).await, status(Code::OverLimit, 0, 60));
    served.clock.advance(Duration::from_millis(59_997));
    assert_eq!(client.status(asked.clone()).await, status(Code::OverLimit, 0, 1));
    served.clock.advance(Duration::from_millis(1));
    assert_eq!(client.status(asked).await, status(Code::Ok, 1, 60));
    served.stop().await;
}

#[tokio::test]
async fn an_answer_has_the_fields_of_the_other_doors_and_a_denial_their_body() {
    let served = Served::new(TWO_A_MINUTE).await;
    let mut client = served.client().await;
    let asked = [call("GET", "/x", "203.0.113.7")];
    let allowed = client.answer(&asked).await;
    assert_eq!(header(&allowed, "ratelimit-policy"), Some("\"default\";q=2;w=60"));
    assert_eq!(header(&allowed, "ratelimit"), Some("\"default\";r=1;t=60"));
    assert_eq!((header(&allowed, "retry-after"), &*allowed.raw_body), (None, &b""[..]));

    client.answer(&asked).await;
    served.clock.advance(Duration::from_millis(500));
    let denied = client.answer(&asked).await;
    assert_eq!(denied.overall_code(), Code::OverLimit);
    assert_eq!(header(&denied, "retry-after"), Some("60"));
    assert_eq!(header(&denied, "ratelimit"), Some("\"default\";r=0;t=60"));
    assert_eq!(header(&denied, "content-type"), Some("application/problem+json"));
    assert_eq!(header(&denied, "cache-control"), Some("no-store"));
    let problem: Value = serde_json::from_slice(&denied.raw_body).unwrap();
    assert_eq!((&problem["status"], &problem["retryAfterMs"]), (&429.into(), &59_500.into()));
    served.stop().await;
}

#[tokio::test]
async fn a_limit_that_has_a_name_is_named_and_a_window_that_is_no_unit_has_none() {
    let limits = "
default:
  limits:
    - { name: burst, algorithm: TokenBucket, algoConfig: { capacity: 10, refillRatePerSecond: 1 } }
    - { name: hour, algorithm: FixedWindow, algoConfig: { maxRequests: 5, window: 1h } }";
    let served = Served::new(limits).await;
    let mut client = served.client().await;
    let asked = call("GET", "/x", "203.0.113.7");
    let limit = |name: &str, requests_per_unit, unit: Unit| {
        Some(RateLimit { requests_per_unit, unit: unit.into(), name: name.to_owned() })
    };
    let status = client.status(hits(3, asked.clone())).await;
    assert_eq!(status.current_limit, limit("hour", 5, Unit::Hour));
    served.reload(&limits.replace("5, window", "50, window"), "").await;
    let status = client.status(asked).await;
    assert_eq!(status.current_limit, limit("burst", 10, Unit::Unknown));
    served.stop().await;
}

#[tokio::test]
async fn hits_are_the_cost_and_none_of_a_descriptor_only_look() {
    let served = Served::new(
        "default: { algorithm: TokenBucket, algoConfig: { capacity: 10, refill: 1/min } }",
    )
    .await;
    let mut client = served.client().await;
    let asked = call("GET", "/x", "203.0.113.7");
    assert_eq!(client.status(asked.clone()).await.limit_remaining, 9);
    assert_eq!(client.status(hits(4, asked.clone())).await.limit_remaining, 5);
    assert_eq!(client.status(hits(0, asked.clone())).await.limit_remaining, 5);
    // A request's hits are for the descriptors that have none of their own.
    let two =
        RateLimitRequest { hits_addend: 2, ..request(&[asked.clone(), hits(1, asked.clone())]) };
    let answer = client.ask(two).await.unwrap();
    assert_eq!(answer.statuses.iter().map(|it| it.limit_remaining).collect::<Vec<_>>(), [3, 2]);
    // More than the limit ever gives is a denial without a wait, which charges nothing.
    let never = client.answer(&[hits(11, asked.clone())]).await;
    assert_eq!((never.overall_code(), header(&never, "retry-after")), (Code::OverLimit, None));
    assert_eq!(client.status(hits(u64::MAX, asked.clone())).await.code(), Code::OverLimit);
    assert_eq!(client.status(hits(0, asked)).await.limit_remaining, 2);
    served.stop().await;
}

#[tokio::test]
async fn an_endpoint_with_a_price_is_charged_it_where_no_hits_are_said() {
    let served = Served::new(
        "default: { algorithm: TokenBucket, algoConfig: { capacity: 10, refill: 1/min }, cost: 3 }",
    )
    .await;
    let mut client = served.client().await;
    let asked = call("GET", "/x", "203.0.113.7");
    assert_eq!(client.status(asked.clone()).await.limit_remaining, 7);
    assert_eq!(client.status(hits(1, asked)).await.limit_remaining, 6);
    served.stop().await;
}

#[tokio::test]
async fn a_descriptor_without_a_rule_is_allowed_and_counted() {
    let served = Served::new(TWO_A_MINUTE).await;
    let mut client = served.client().await;
    for _ in 0..3 {
        let status = client.status(descriptor(&[("source_cluster", "front")])).await;
        let expected = DescriptorStatus {
            code: Code::Ok.into(),
            limit_remaining: u32::MAX,
            ..DescriptorStatus::default()
        };
        assert_eq!(status, expected);
    }
    let count = served.metric("tollgate_envoy_descriptors_total{outcome=\"no_rule\"}").await;
    assert_eq!(count, 3);
    served.stop().await;
}

#[tokio::test]
async fn where_no_limit_holds_none_is_told() {
    let served = Served::new("default: { unlimited: true }").await;
    let mut client = served.client().await;
    let answer = client.answer(&[call("GET", "/x", "203.0.113.7")]).await;
    assert_eq!(answer.statuses[0].current_limit, None);
    assert_eq!(answer.response_headers_to_add, []);
    served.reload("default: { deny: true }", "").await;
    let answer = client.answer(&[call("GET", "/x", "203.0.113.7")]).await;
    assert_eq!((answer.overall_code(), header(&answer, "retry-after")), (Code::OverLimit, None));
    served.stop().await;
}

#[tokio::test]
async fn what_the_config_says_of_the_other_doors_holds_here_too() {
    let lines =
        "  fields: xRateLimit\n  client: { ipv6Prefix: 48 }\n  endpoint: { foldCase: true }";
    let limits = format!(
        "{TWO_A_MINUTE}\nendpoints:\n  - {{ endpoint: /login, algorithm: FixedWindow, \
         algoConfig: {{ maxRequests: 1, window: 1h }} }}"
    );
    let served = Served::with(&limits, lines).await;
    let mut client = served.client().await;
    let answer = client.answer(&[call("GET", "/LogIn", "2001:db8:1:2::1")]).await;
    assert_eq!(header(&answer, "x-ratelimit-limit"), Some("1"));
    assert_eq!(header(&answer, "ratelimit"), None);
    assert!(!client.allows(call("GET", "/login", "2001:db8:1:3::1")).await);
    assert!(client.allows(call("GET", "/login", "2001:db8:2::1")).await);
    served.stop().await;
}

#[tokio::test]
async fn s17_the_same_calls_are_decided_as_by_the_library() {
    let served = Served::new(
        "default: { algorithm: TokenBucket, algoConfig: { capacity: 5, refill: 2/s } }",
    )
    .await;
    let mut client = served.client().await;
    let clock = ManualClock::new();
    let config = Config::builder().default(TokenBucket::per_second(2).burst(5)).build().unwrap();
    let library = RateLimiter::builder(config).clock(clock.clone()).build();
    let mut random = 7_u64;
    for _ in 0..500 {
        random =
            random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let step = Duration::from_millis(random >> 56);
        served.clock.advance(step);
        clock.advance(step);
        let address = format!("203.0.113.{}", (random >> 40) % 3);
        let cost = (random >> 32) % 4;
        let status = client.status(hits(cost, call("GET", "/x", &address))).await;
        let result = library.allow_n(&address, "GET /x", cost).unwrap();
        let told = (status.code() == Code::Ok, u64::from(status.limit_remaining));
        assert_eq!(told, (result.allowed(), result.remaining()));
    }
    served.stop().await;
}
