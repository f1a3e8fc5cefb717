//! Requests that two servers could read in two ways go no further.

use crate::wire::{Proxy, get};

const MANY: &str =
    "default: { algorithm: FixedWindow, algoConfig: { maxRequests: 99, window: 1m } }";

#[tokio::test]
async fn s62_s65_what_is_ambiguous_is_answered_by_400_and_closed() {
    let proxy = Proxy::start(MANY, "").await;
    let table = [
        "Content-Length: 5\r\nContent-Length: 6",
        "Content-Length: +5",
        "Content-Length: 5,6",
        "Content-Length: 0x5",
        "Content-Length: -1",
        "Transfer-Encoding: xchunked",
        "Transfer-Encoding: chunked, identity",
        "Transfer-Encoding: identity, chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        "X-Folded: a\r\n b",
        "X-Spaced : a",
        "X-Bare: a\rb",
    ];
    for fields in table {
        let mut connection = proxy.connect().await;
        let head = format!("POST /x HTTP/1.1\r\nHost: a\r\n{fields}\r\n\r\n");
        connection.send(head.as_bytes()).await;
        let answered = connection.read_to_end().await;
        let answered = String::from_utf8_lossy(&answered);
        assert!(answered.starts_with("HTTP/1.1 400 "), "{fields:?}: {answered}");
        assert_eq!(answered.matches("HTTP/1.1 ").count(), 1, "{fields:?}: {answered}");
    }
    for line in [
        "GET /x",
        "GET /x HTTP/1.2",
        "GET /x http/1.1",
        "POST /x HTTP/1.0\r\nTransfer-Encoding: chunked",
    ] {
        let mut connection = proxy.connect().await;
        connection.send(format!("{line}\r\nHost: a\r\n\r\n").as_bytes()).await;
        let answered = connection.read_to_end().await;
        let answered = String::from_utf8_lossy(&answered);
        assert!(answered.contains(" 400 ") || answered.contains(" 505 "), "{line:?}: {answered}");
    }
    assert_eq!(proxy.upstream.requests(), 0);
}

/// Nobody is believed who says by the PROXY protocol where a request came from.
#[tokio::test]
async fn s07_the_proxy_protocol_is_no_request() {
    let proxy = Proxy::start(MANY, "").await;
    let request = b"GET /x HTTP/1.1\r\nHost: a\r\n\r\n";
    for preface in [
        b"PROXY TCP4 192.0.2.1 192.0.2.2 56324 443\r\n".as_slice(),
        b"PROXY UNKNOWN\r\n",
        b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc0\0\x02\x01\xc0\0\x02\x02\xdc\x04\x01\xbb",
    ] {
        let mut connection = proxy.connect().await;
        connection.send(&[preface, request].concat()).await;
        let answered = connection.read_to_end().await;
        assert!(answered.starts_with(b"HTTP/1.1 400 "), "{}", answered.escape_ascii());
    }
    assert_eq!(proxy.upstream.requests(), 0);
}

#[tokio::test]
async fn svc28_a_head_that_is_too_large_is_refused_and_counted() {
    let proxy = Proxy::start(MANY, "  limits: { headerBytes: 8192 }").await;
    let large = "a".repeat(1 << 20);
    let mut connection = proxy.connect().await;
    connection.send_head(&get("/x", "X-Small: 1")).await;
    assert_eq!(connection.answer().await.status, 200);
    let head = format!("GET /x HTTP/1.1\r\nHost: a\r\nX-Large: {large}");
    connection.send_in_part(head.as_bytes()).await;
    let answered = connection.read_until(b"\r\n").await;
    assert!(answered.starts_with(b"HTTP/1.1 431 "), "{}", String::from_utf8_lossy(&answered));
}

/// RFC 9112, section 6.3: the chunks are read, the length is not, and the connection is closed. What goes on is framed
/// anew, once.
#[tokio::test]
async fn s62_of_chunks_and_a_length_only_the_chunks_count_and_nothing_behind_them_is_a_request() {
    let (chunks, length) = ("Transfer-Encoding: chunked", "Content-Length: 30");
    for (first, second) in [(chunks, length), (length, chunks)] {
        let proxy = Proxy::start(MANY, "").await;
        let mut connection = proxy.connect().await;
        let head = format!("POST /x HTTP/1.1\r\nHost: a\r\n{first}\r\n{second}\r\n\r\n");
        connection.send(head.as_bytes()).await;
        connection.send_in_part(b"0\r\n\r\nGET /y HTTP/1.1\r\nHost: a\r\n\r\n").await;
        let answer = connection.answer().await;
        assert_eq!((answer.sent_line(), answer.sent("content-length")), ("POST /x", None));
        assert_eq!(connection.read_to_end().await, b"");
        assert_eq!(proxy.upstream.requests(), 1);
    }
}
