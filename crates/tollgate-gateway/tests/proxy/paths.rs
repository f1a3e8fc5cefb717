//! Which endpoint a request is for: what was judged is what is forwarded.

use crate::wire::{Proxy, get};

const LOGIN: &str = "
default: { algorithm: FixedWindow, algoConfig: { maxRequests: 1000, window: 1m } }
endpoints:
  - { endpoint: /login, algorithm: FixedWindow, algoConfig: { maxRequests: 3, window: 1m } }";

#[tokio::test]
async fn svc08_s14_respelled_paths_share_the_counter_and_reach_the_upstream_as_they_were_judged() {
    let proxy = Proxy::start(LOGIN, "").await;
    for (target, forwarded) in
        [("/login?x=1", "/login?x=1"), ("//login", "/login"), ("/a/../%6Cogin", "/login")]
    {
        let answer = proxy.ask(&get(target, "")).await;
        assert_eq!(
            (answer.status, answer.sent_line()),
            (200, &*format!("GET {forwarded}")),
            "{target}"
        );
    }
    for target in ["/login", "/./login", "/login;v=1", "/%2e/login", "/%2e%2e/login"] {
        assert_eq!(proxy.ask(&get(target, "")).await.status, 429, "{target}");
    }
    for target in ["/login%2F", "/%5clogin", "/\\login", "/login%00", "/a%2f..%2flogin"] {
        assert_eq!(proxy.ask(&get(target, "")).await.status, 400, "{target}");
    }
    assert_eq!(proxy.upstream.requests(), 3);
}

#[tokio::test]
async fn p19_the_host_of_a_target_is_the_host_that_is_forwarded() {
    let proxy = Proxy::start(LOGIN, "").await;
    let answer = proxy.ask(&get("http://other.example/login", "")).await;
    assert_eq!((answer.sent_line(), answer.sent("host")), ("GET /login", Some("other.example")));
    let answer = proxy.ask("GET /x HTTP/1.1\nHost: API.example.com.:80").await;
    assert_eq!(answer.sent("host"), Some("api.example.com"));
}

#[tokio::test]
async fn a_head_request_is_judged_as_the_get_it_stands_for() {
    let one = "default: { algorithm: FixedWindow, algoConfig: { maxRequests: 9, window: 1m } }
endpoints:
  - { endpoint: GET /x, algorithm: FixedWindow, algoConfig: { maxRequests: 1, window: 1m } }";
    let proxy = Proxy::start(one, "").await;
    assert_eq!(proxy.ask(&get("/x", "")).await.status, 200);
    let mut connection = proxy.connect().await;
    connection.send_head("HEAD /x HTTP/1.1\nHost: a").await;
    assert!(connection.read_until(b"\r\n").await.starts_with(b"HTTP/1.1 429 "));
}

#[tokio::test]
async fn a_denial_never_reaches_the_upstream_and_says_when_to_come_back() {
    let proxy = Proxy::start(LOGIN, "").await;
    assert_eq!(proxy.statuses(&[&get("/login", ""); 4]).await, [200, 200, 200, 429]);
    let denied = proxy.ask(&get("/login", "")).await;
    assert_eq!(denied.field("retry-after"), Some("60"));
    assert_eq!(denied.field("ratelimit-policy"), Some("\"/login\";q=3;w=60"));
    assert_eq!(denied.field("ratelimit"), Some("\"/login\";r=0;t=60"));
    assert_eq!(denied.field("content-type"), Some("application/problem+json"));
    assert_eq!(proxy.upstream.requests(), 3);
    proxy.clock.advance(std::time::Duration::from_secs(60));
    assert_eq!(proxy.ask(&get("/login", "")).await.status, 200);
}

#[tokio::test]
async fn an_answers_own_fields_are_kept_and_its_connections_are_not() {
    let proxy = Proxy::start(LOGIN, "").await;
    let answer = proxy.ask(&get("/fields", "")).await;
    assert_eq!(answer.field("x-own"), Some("kept"));
    assert_eq!((answer.field("x-hop"), answer.field("connection")), (None, None));
    assert_eq!(answer.list("ratelimit"), "\"theirs\";r=5;t=1, \"default\";r=999;t=60");
}

#[tokio::test]
async fn s14_a_target_that_is_refused_is_charged_to_the_default() {
    let two = "default: { algorithm: FixedWindow, algoConfig: { maxRequests: 2, window: 1m } }";
    let proxy = Proxy::start(two, "").await;
    let heads = [get("/a%2Fb", ""), get("/a%2Fb", ""), get("/x", "")];
    assert_eq!(proxy.statuses(&heads).await, [400, 400, 429]);
}
