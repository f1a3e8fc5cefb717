//! Several descriptors of one request, and which of them mean one client and one endpoint.

use std::time::Duration;

use crate::support::{Served, call, descriptor, header, hits};
use crate::wire::rate_limit_response::Code;

const LIMITS: &str = "
default: { algorithm: FixedWindow, algoConfig: { maxRequests: 100, window: 1m } }
endpoints:
  - { endpoint: GET /login, algorithm: FixedWindow, algoConfig: { maxRequests: 3, window: 1m } }
  - { endpoint: login, algorithm: FixedWindow, algoConfig: { maxRequests: 2, window: 1h } }";

const ALICE: &str = "203.0.113.7";

#[tokio::test]
async fn each_descriptor_has_its_status_in_order_and_one_that_denies_denies_the_request() {
    let served = Served::new(LIMITS).await;
    let mut client = served.client().await;
    let asked = [
        call("GET", "/x", ALICE),
        descriptor(&[("unknown", "key")]),
        descriptor(&[("generic_key", "login")]),
        call("GET", "/login", ALICE),
    ];
    let seen = |answer: &crate::wire::RateLimitResponse| {
        let seen = |status: &crate::wire::rate_limit_response::DescriptorStatus| {
            (status.code() == Code::Ok, status.limit_remaining)
        };
        answer.statuses.iter().map(seen).collect::<Vec<_>>()
    };
    let answer = client.answer(&asked).await;
    assert_eq!(answer.overall_code(), Code::Ok);
    assert_eq!(seen(&answer), [(true, 99), (true, u32::MAX), (true, 1), (true, 2)]);
    assert_eq!(header(&answer, "ratelimit"), Some("\"login\";r=1;t=3600"));

    client.answer(&asked).await;
    let answer = client.answer(&asked).await;
    assert_eq!(answer.overall_code(), Code::OverLimit);
    // What the others had charged was given back.
    assert_eq!(seen(&answer), [(true, 98), (true, u32::MAX), (false, 0), (true, 1)]);
    assert_eq!(header(&answer, "retry-after"), Some("3600"));
    served.stop().await;
}

#[tokio::test]
async fn s25_a_denial_by_one_descriptor_costs_the_others_nothing() {
    let served = Served::new(LIMITS).await;
    let mut client = served.client().await;
    let group = descriptor(&[("generic_key", "login")]);
    let [mine, other] = [ALICE, "203.0.113.8"].map(|address| call("GET", "/login", address));
    assert_eq!(client.status(hits(2, group.clone())).await.code(), Code::Ok);
    for _ in 0..50 {
        for asked in [[mine.clone(), group.clone()], [group.clone(), other.clone()]] {
            assert_eq!(client.answer(&asked).await.overall_code(), Code::OverLimit);
        }
    }
    for asked in [mine, other] {
        assert_eq!(client.status(hits(0, asked)).await.limit_remaining, 3);
    }
    served.stop().await;
}

#[tokio::test]
async fn svc38_one_limit_asked_twice_with_one_left_is_denied_and_charged_for_neither() {
    let served = Served::new(LIMITS).await;
    let mut client = served.client().await;
    let asked = descriptor(&[("generic_key", "login")]);
    assert!(client.allows(asked.clone()).await);
    let answer = client.answer(&[asked.clone(), asked.clone()]).await;
    assert_eq!(answer.overall_code(), Code::OverLimit);
    assert_eq!(answer.statuses.iter().map(|it| it.limit_remaining).collect::<Vec<_>>(), [1, 0]);
    assert_eq!(client.status(asked).await.limit_remaining, 0);
    served.stop().await;
}

#[tokio::test]
async fn the_denial_that_lasts_longest_is_told() {
    let served = Served::new(LIMITS).await;
    let mut client = served.client().await;
    let (short, long) = (call("GET", "/login", ALICE), descriptor(&[("generic_key", "login")]));
    assert!(client.allows(hits(3, short.clone())).await);
    assert!(client.allows(hits(2, long.clone())).await);
    for asked in [[short.clone(), long.clone()], [long, short]] {
        let answer = client.answer(&asked).await;
        assert_eq!(header(&answer, "retry-after"), Some("3600"));
    }
    served.stop().await;
}

#[tokio::test]
async fn svc08_respelled_paths_share_a_limit_and_those_of_two_readings_are_denied() {
    let served = Served::new(LIMITS).await;
    let mut client = served.client().await;
    for path in ["/login", "//login", "/./login?x=1"] {
        assert!(client.allows(call("GET", path, ALICE)).await, "{path}");
    }
    for path in ["/x/../login", "/login/", "/%6Cogin", "/%2e/login", "/login;v=1"] {
        assert!(!client.allows(call("GET", path, ALICE)).await, "{path}");
        assert!(!client.allows(call("HEAD", path, ALICE)).await, "{path}");
    }
    for path in ["/x%2F..%2Flogin", "/x\\..\\login", "/login%00"] {
        let answer = client.answer(&[call("GET", path, "203.0.113.9")]).await;
        assert_eq!(answer.overall_code(), Code::OverLimit, "{path}");
        assert_eq!(header(&answer, "retry-after"), None);
        assert!(String::from_utf8_lossy(&answer.raw_body).contains("more than one way"));
    }
    let count = served.metric("tollgate_envoy_descriptors_total{outcome=\"unclear\"}").await;
    assert_eq!(count, 3);
    served.stop().await;
}

#[tokio::test]
async fn s14_a_client_cannot_write_itself_out_of_a_limit() {
    let served = Served::new(LIMITS).await;
    let mut client = served.client().await;
    let group = descriptor(&[("generic_key", "login")]);
    assert!(client.allows(hits(2, group.clone())).await);
    // Whatever stands in a descriptor beside one that denies, the request is denied.
    let long = "x".repeat(60_000);
    for value in ["", " ", "\0", "/%", "/%2F", "/\\", "*", "é", "/é", "GET /login", &long] {
        for key in ["path", "method", "remote_address", "user"] {
            let other = descriptor(&[(key, value)]);
            let answer = client.answer(&[other, group.clone()]).await;
            assert_eq!(answer.overall_code(), Code::OverLimit, "{key} {value:?}");
        }
        let other = descriptor(&[("path", value), ("method", value), ("remote_address", value)]);
        let answer = client.answer(&[other, group.clone()]).await;
        assert_eq!(answer.overall_code(), Code::OverLimit, "{value:?}");
    }
    served.stop().await;
}

#[tokio::test]
async fn s16_made_up_paths_share_the_default_limit() {
    let served = Served::new(
        "default: { algorithm: FixedWindow, algoConfig: { maxRequests: 5, window: 1m } }",
    )
    .await;
    let mut client = served.client().await;
    let mut admitted = 0;
    for number in 0..100 {
        let asked = call(["GET", "PUT", "MADE-UP"][number % 3], &format!("/{number}"), ALICE);
        admitted += usize::from(client.allows(asked).await);
    }
    assert_eq!(admitted, 5);
    served.stop().await;
}

#[tokio::test]
async fn a_reload_changes_the_rules_and_keeps_what_was_used() {
    let rules =
        |client: &str| format!("    rules:\n      - {{ descriptor: [user, team], {client} }}");
    let limits = "default: { algorithm: FixedWindow, algoConfig: { maxRequests: 2, window: 1m } }";
    let served = Served::with(limits, &rules("client: user")).await;
    let mut client = served.client().await;
    let asked = |user, team| descriptor(&[("team", team), ("user", user)]);
    assert!(client.allows(hits(2, asked("alice", "blue"))).await);
    assert!(!client.allows(asked("alice", "red")).await);

    served.reload(limits, &rules("client: [user, team]")).await;
    assert!(client.allows(asked("alice", "red")).await);
    served.reload(limits, &rules("client: user")).await;
    assert!(!client.allows(asked("alice", "red")).await);
    // Where the door is closed by a reload, it stays until the gateway stops, and goes by the default rules.
    served.clock.advance(Duration::from_secs(60));
    served.reload(limits, "").await;
    assert_eq!(client.status(asked("alice", "red")).await.limit_remaining, u32::MAX);
    served.stop().await;
}

#[tokio::test]
async fn a_tenant_is_told_by_its_entry_and_where_it_is_missing_a_limit_by_tenant_denies() {
    let limits = "
default:
  limits:
    - { name: team, scope: tenant, algorithm: FixedWindow, algoConfig: { maxRequests: 2, window: 1m } }";
    let rules = "    rules:
      - { descriptor: [user, team], client: user, tenant: team }
      - { descriptor: [user], client: user }";
    let served = Served::with(limits, rules).await;
    let mut client = served.client().await;
    let asked = |user, team| descriptor(&[("user", user), ("team", team)]);
    assert!(client.allows(asked("alice", "blue")).await);
    assert!(client.allows(asked("bob", "blue")).await);
    assert!(!client.allows(asked("carol", "blue")).await);
    assert!(client.allows(asked("carol", "red")).await);
    assert!(!client.allows(descriptor(&[("user", "dave")])).await);
    served.stop().await;
}
