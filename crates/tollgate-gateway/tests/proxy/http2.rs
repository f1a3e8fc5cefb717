//! Callers that speak HTTP/2.

use bytes::Bytes;
use http_body_util::{BodyExt, Empty};
use hyper::client::conn::http2::{self, SendRequest};
use hyper::{Request, Response};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::net::TcpStream;

use crate::wire::Proxy;

const ONE: &str = "default: { algorithm: FixedWindow, algoConfig: { maxRequests: 1, window: 1m } }";

type Sender = SendRequest<Empty<Bytes>>;

async fn connect(proxy: &Proxy) -> Sender {
    let stream = TcpStream::connect(proxy.address).await.unwrap();
    let (sender, connection) =
        http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
    drop(tokio::spawn(connection));
    sender
}

async fn ask(sender: &mut Sender, path: &str, fields: &[(&str, &str)]) -> Response<Bytes> {
    let mut request = Request::get(format!("http://api.example.com{path}"));
    for (name, value) in fields {
        request = request.header(*name, *value);
    }
    let (head, body) =
        sender.send_request(request.body(Empty::new()).unwrap()).await.unwrap().into_parts();
    Response::from_parts(head, body.collect().await.unwrap().to_bytes())
}

#[tokio::test]
async fn a_request_of_http2_is_limited_and_forwarded_as_one_of_http1() {
    let proxy = Proxy::start(ONE, "").await;
    let mut sender = connect(&proxy).await;
    let answer = ask(&mut sender, "/a/../x", &[("cookie", "a=1"), ("cookie", "b=2")]).await;
    let body = String::from_utf8(answer.body().to_vec()).unwrap();
    assert_eq!(answer.status(), 200);
    assert!(body.starts_with("GET /x\n"), "{body}");
    assert!(
        body.contains("\ncookie: a=1; b=2\n") && body.contains("\nhost: api.example.com\n"),
        "{body}"
    );
    assert_eq!(ask(&mut sender, "/x", &[]).await.status(), 429);
}

#[tokio::test]
async fn svc32_grpc_callers_are_told_resource_exhausted_and_never_unavailable() {
    let proxy = Proxy::start_with(ONE, "", ", http2: true").await;
    let mut sender = connect(&proxy).await;
    let grpc = [("content-type", "application/grpc"), ("te", "trailers")];
    let answer = ask(&mut sender, "/shop.Cart/Add", &grpc).await;
    assert_eq!(answer.status(), 200);
    assert!(String::from_utf8_lossy(answer.body()).contains("\nte: trailers\n"));
    let denied = ask(&mut sender, "/shop.Cart/Add", &grpc).await;
    assert_eq!(
        (denied.status().as_u16(), &denied.headers()["grpc-status"]),
        (200, &"8".parse().unwrap())
    );
    assert_eq!(denied.headers()["grpc-retry-pushback-ms"], "60000");
    assert_eq!(proxy.upstream.requests(), 1);
}

#[tokio::test]
async fn svc37_streams_that_are_reset_give_back_their_places() {
    let limits = "default: { algorithm: Concurrency, algoConfig: { maxInFlight: 2 } }";
    let proxy = Proxy::start(limits, "  decisionApi: false").await;
    for _ in 0..20 {
        let mut sender = connect(&proxy).await;
        for _ in 0..10 {
            let request = Request::get("http://a/held").body(Empty::new()).unwrap();
            let asked = tokio::spawn(sender.send_request(request));
            tokio::task::yield_now().await;
            asked.abort();
        }
    }
    let mut sender = connect(&proxy).await;
    while ask(&mut sender, "/x", &[]).await.status() != 200 {}
}

/// CVE-2023-44487: streams that are opened and reset at once cost the other side more than the caller. Told in bytes:
/// clients worth their name would not do it.
#[tokio::test]
async fn svc37_a_rapid_reset_ends_its_connection_and_keeps_nobody_out() {
    const STREAMS: u32 = 20_000;
    let limits =
        "default: { algorithm: FixedWindow, algoConfig: { maxRequests: 100000, window: 1m } }";
    let proxy = Proxy::start(limits, "").await;
    let mut attacker = proxy.connect().await;
    let mut bytes = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    bytes.extend(frame(4, 0, 0, b""));
    for stream in (1..=STREAMS).map(|index| index * 2 - 1) {
        // GET http://a/held, in HPACK's static table and literals.
        bytes.extend(frame(1, 0b101, stream, b"\x82\x86\x04\x05/held\x01\x01a"));
        bytes.extend(frame(3, 0, stream, &8_u32.to_be_bytes()));
    }
    attacker.send_in_part(&bytes).await;
    drop(attacker.read_to_end().await);
    assert!(proxy.upstream.requests() < STREAMS, "all {STREAMS} streams were handed on");
    let mut sender = connect(&proxy).await;
    assert_eq!(ask(&mut sender, "/x", &[]).await.status(), 200);
}

/// A frame of HTTP/2, RFC 9113, section 4.1.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}
