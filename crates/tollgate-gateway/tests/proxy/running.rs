//! An upstream that is not there, and a proxy that stops.

use std::future::pending;

use crate::wire::{Proxy, get};

const MANY: &str =
    "default: { algorithm: FixedWindow, algoConfig: { maxRequests: 99, window: 1m } }";

#[tokio::test]
async fn an_upstream_that_cannot_be_reached_is_a_bad_gateway() {
    let nowhere = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("limits.yaml");
    std::fs::write(
        &path,
        format!("{MANY}\ngateway: {{ proxy: {{ listen: '127.0.0.1:0', upstream: 'http://{nowhere}' }} }}"),
    )
    .unwrap();
    let builder =
        tollgate_gateway::Gateway::builder(path).listen("127.0.0.1:0").admin("127.0.0.1:0");
    let gateway = builder.start().await.unwrap();
    let address = gateway.address(tollgate_gateway::Door::Proxy).unwrap();
    let mut connection = crate::wire::Connection::to(address).await;
    let answer = connection.ask(&get("/x", "")).await;
    assert_eq!(answer.status, 502);
    assert!(answer.body.contains("the upstream cannot be reached"), "{}", answer.body);
}

#[tokio::test]
async fn an_upstream_that_does_not_answer_is_given_up_in_time() {
    let proxy = Proxy::start_with(MANY, "", ", timeout: 20ms").await;
    let answer = proxy.ask(&get("/held", "")).await;
    assert_eq!(answer.status, 504);
}

#[tokio::test]
async fn a_stop_lets_requests_under_way_end_and_closes_tunnels() {
    let proxy = Proxy::start(MANY, "").await;
    let (mut held, mut socket) = (proxy.connect().await, proxy.connect().await);
    held.send_head(&get("/held", "")).await;
    let upgrade = get("/socket", "Connection: Upgrade\nUpgrade: websocket");
    assert_eq!(socket.ask(&upgrade).await.status, 101);
    while proxy.upstream.requests() < 2 {
        tokio::task::yield_now().await;
    }
    let stopped = tokio::spawn(proxy.gateway.stop(pending()));
    assert_eq!(socket.read_to_end().await, b"");
    proxy.upstream.release();
    assert_eq!(held.answer().await.body, "released");
    stopped.await.unwrap().unwrap();
}
