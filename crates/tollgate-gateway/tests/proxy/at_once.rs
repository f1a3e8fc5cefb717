//! Requests that become whole at the same instant.

use std::time::Duration;

use tokio::task::JoinSet;

use crate::wire::{Answer, Connection, Proxy};

const FIVE: &str =
    "default: { algorithm: FixedWindow, algoConfig: { maxRequests: 5, window: 1m } }";

/// Sends what was withheld of a request, and waits for its answer.
async fn complete(mut connection: Connection) -> Answer {
    connection.send(b"\n").await;
    connection.answer().await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn s23_requests_whose_last_bytes_come_together_get_the_quota_and_no_more() {
    let proxy = Proxy::start(FIVE, "").await;
    for round in 1..=10 {
        let mut connections = Vec::new();
        for _ in 0..30 {
            let mut connection = proxy.connect().await;
            connection.send(b"GET /x HTTP/1.1\r\nHost: a\r\n\r").await;
            connections.push(connection);
        }
        let answers: JoinSet<_> = connections.into_iter().map(complete).collect();
        let answers = answers.join_all().await;
        let allowed = answers.iter().filter(|answer| answer.status == 200).count();
        assert_eq!((allowed, proxy.upstream.requests()), (5, 5 * round));
        proxy.clock.advance(Duration::from_secs(60));
    }
}
