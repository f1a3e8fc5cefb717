//! Bodies on their way through, and connections that become something else.

use crate::wire::{Proxy, get};

const MANY: &str =
    "default: { algorithm: FixedWindow, algoConfig: { maxRequests: 99, window: 1m } }";
const TWO_AT_ONCE: &str = "default: { algorithm: Concurrency, algoConfig: { maxInFlight: 2 } }";

/// No other door asks, so no lease is needed.
const ALONE: &str = "  decisionApi: false";

#[tokio::test]
async fn bodies_are_streamed_both_ways_and_not_collected() {
    let proxy = Proxy::start(MANY, "").await;
    let mut connection = proxy.connect().await;
    connection.send_head("POST /body HTTP/1.1\nHost: a\nTransfer-Encoding: chunked").await;
    connection.send(b"5\r\nfirst\r\n").await;
    // It comes back before the rest was sent.
    connection.read_until(b"first\r\n").await;
    connection.send(b"6\r\nsecond\r\n0\r\n\r\n").await;
    connection.read_until(b"second\r\n0\r\n\r\n").await;
}

#[tokio::test]
async fn a_websocket_passes_and_counts_as_under_way_until_it_ends() {
    let proxy = Proxy::start(TWO_AT_ONCE, ALONE).await;
    let ask = get(
        "/socket",
        "Connection: keep-alive, Upgrade\nUpgrade: websocket\nSec-WebSocket-Key: dGhl",
    );
    let (mut first, mut second) = (proxy.connect().await, proxy.connect().await);
    for connection in [&mut first, &mut second] {
        let answer = connection.ask(&ask).await;
        assert_eq!((answer.status, answer.field("upgrade")), (101, Some("websocket")));
    }
    assert_eq!(proxy.ask(&get("/x", "")).await.status, 429);
    first.send(b"hello").await;
    assert_eq!(first.read_to_end().await, b"hello");
    assert_eq!(until_allowed(&proxy).await, 200);
    drop(second);
}

#[tokio::test]
async fn svc37_a_place_is_held_for_the_life_of_the_answer_and_given_back_once() {
    let proxy = Proxy::start(TWO_AT_ONCE, ALONE).await;
    let (mut first, mut second) = (proxy.connect().await, proxy.connect().await);
    first.send_head(&get("/held", "")).await;
    second.send_head(&get("/held", "")).await;
    while proxy.upstream.requests() < 2 {
        tokio::task::yield_now().await;
    }
    assert_eq!(proxy.ask(&get("/x", "")).await.status, 429);
    proxy.upstream.release();
    // One is answered; the other breaks off in the middle.
    drop(second);
    assert_eq!(until_allowed(&proxy).await, 200);
    proxy.upstream.release();
    assert_eq!(first.answer().await.body, "released");
    assert_eq!(until_allowed(&proxy).await, 200);
}

/// The status once a place is free. What was given back shows a moment after its last byte.
async fn until_allowed(proxy: &Proxy) -> u16 {
    loop {
        let status = proxy.ask(&get("/x", "")).await.status;
        if status != 429 {
            return status;
        }
    }
}

#[tokio::test]
async fn s64_a_denied_body_is_never_taken_for_a_request() {
    let none = "default: { deny: true }";
    let proxy = Proxy::start(none, "").await;
    let mut connection = proxy.connect().await;
    connection.send_head("POST /x HTTP/1.1\nHost: a\nContent-Length: 1048576").await;
    assert_eq!(connection.answer().await.status, 429);
    connection.send(b"GET /secret HTTP/1.1\r\nHost: a\r\n\r\n").await;
    assert_eq!(connection.read_to_end().await, b"");
    assert_eq!(proxy.upstream.requests(), 0);
}

#[tokio::test]
async fn doors_that_do_not_see_a_call_end_ask_for_a_lease() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("limits.yaml");
    let proxy = "proxy: { listen: '127.0.0.1:0', upstream: 'http://127.0.0.1:1' }";
    std::fs::write(&path, format!("{TWO_AT_ONCE}\ngateway: {{ {proxy} }}")).unwrap();
    let refused = tollgate_gateway::Gateway::builder(path).start().await.unwrap_err();
    assert!(refused.to_string().contains("missing `leaseMs`"), "{refused}");
}
