//! What requests and connections may take, of room and of time.

use std::io::{Read, Write};
use std::net::TcpStream;

use tollgate_gateway::Door;

use crate::running::Running;

fn start(limits: &str) -> Running {
    Running::start(format!(
        "{{ default: {{ algorithm: TokenBucket, algoConfig: {{ capacity: 9, refill: 1/h }} }},
           gateway: {{ limits: {{ {limits} }} }} }}"
    ))
}

fn hits(running: &Running, limit: &str) -> u64 {
    running.metric(&format!("tollgate_gateway_limits_hit_total{{door=\"http\",limit=\"{limit}\"}}"))
}

fn connect(running: &Running) -> TcpStream {
    TcpStream::connect(running.address(Door::Http)).unwrap()
}

/// All that the gateway sends until it closes the connection.
fn rest(connection: &mut TcpStream) -> String {
    let mut rest = Vec::new();
    // A reset is an end as well.
    drop(connection.read_to_end(&mut rest));
    String::from_utf8(rest).unwrap()
}

#[test]
fn header_fields_that_are_too_large_are_refused() {
    let running = start("headerBytes: 1024");
    let request = |bytes: usize| {
        let head = "GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\nx: ";
        format!("{head}{}\r\n\r\n", "y".repeat(bytes - head.len() - 4))
    };
    assert!(running.raw(Door::Http, &request(1_000)).starts_with("HTTP/1.1 200 "));
    assert!(running.raw(Door::Http, &request(1_100)).starts_with("HTTP/1.1 431 "));
    running.wait_until(|| hits(&running, "header_bytes") == 1);
}

#[test]
fn a_body_that_is_too_large_is_refused() {
    let running = start("bodyBytes: 1024");
    let body = |bytes: usize| format!("{:<bytes$}", r#"{"clientId": "a", "endpoint": "/x"}"#);
    assert_eq!(running.send(Door::Http, ("POST", "/v1/allow"), &[], &body(1_024)).status, 200);
    assert_eq!(running.send(Door::Http, ("POST", "/v1/allow"), &[], &body(1_025)).status, 413);
    assert_eq!(hits(&running, "body_bytes"), 1);
}

#[test]
fn s67_a_client_that_sends_header_fields_slowly_is_cut_off() {
    let running = start("headerTimeout: 50ms");
    let mut connection = connect(&running);
    connection.write_all(b"GET /healthz HTTP/1.1\r\nhost: ").unwrap();
    assert_eq!(rest(&mut connection), "");
    running.wait_until(|| hits(&running, "header_time") == 1);
    assert_eq!(hits(&running, "idle_time"), 0);
}

#[test]
fn s67_the_time_of_header_fields_is_not_set_back_by_each_byte() {
    let running = start("headerTimeout: 50ms");
    let mut connection = connect(&running);
    connection.write_all(b"GET /healthz HTTP/1.1\r\nx: ").unwrap();
    // One byte after another, as fast as they are taken, until nobody takes them.
    while connection.write_all(b"y").is_ok() && hits(&running, "header_time") < 1 {}
    assert_eq!(hits(&running, "header_time"), 1);
}

#[test]
fn s67_a_body_that_does_not_come_is_answered_and_not_waited_for() {
    let running = start("bodyTimeout: 50ms");
    let request =
        "POST /v1/allow HTTP/1.1\r\nhost: x\r\ncontent-length: 100\r\n\r\n{\"clientId\": ";
    let answer = running.raw(Door::Http, request);
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert_eq!(hits(&running, "body_time"), 1);
}

#[test]
fn s67_a_connection_on_which_nothing_is_asked_is_closed() {
    let running = start("idleTimeout: 50ms");
    assert_eq!(rest(&mut connect(&running)), "");
    running.wait_until(|| hits(&running, "idle_time") == 1);
    let mut used = connect(&running);
    used.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    assert!(rest(&mut used).ends_with("ok\n"));
    running.wait_until(|| hits(&running, "idle_time") == 2);
}

#[test]
fn s67_an_answer_that_nobody_takes_is_not_waited_for() {
    let running = start("bodyTimeout: 50ms");
    let question = r#"{"clientId":"a","endpoint":"/x"}"#;
    let list = format!("[{}]", vec![question; 10_000].join(","));
    let request = format!(
        "POST /v1/allow HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n{list}",
        list.len()
    );
    let mut connection = connect(&running);
    while hits(&running, "write_time") < 1 {
        // It fails once the gateway has given up.
        drop(connection.write_all(request.as_bytes()));
    }
    let question: serde_json::Value = serde_json::from_str(question).unwrap();
    assert_eq!(
        running.post("/v1/allow", &question).status,
        200,
        "others are answered all the same"
    );
}

#[test]
fn one_connection_too_many_is_closed_and_a_place_that_is_free_is_given() {
    let running = start("connections: 2");
    let ask = |connection: &mut TcpStream| {
        connection.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
        let mut answer = [0; 15];
        connection.read_exact(&mut answer).is_ok() && &answer == b"HTTP/1.1 200 OK"
    };
    let (mut first, mut second) = (connect(&running), connect(&running));
    assert!(ask(&mut first) && ask(&mut second));
    assert_eq!(rest(&mut connect(&running)), "");
    assert_eq!(hits(&running, "connections"), 1);
    assert_eq!(running.metric("tollgate_connections_open{door=\"http\"}"), 2);
    drop(first);
    running.wait_until(|| running.metric("tollgate_connections_open{door=\"http\"}") == 1);
    assert!(ask(&mut connect(&running)));
}

/// Each of these could be read in two ways, by the gateway and by whoever stands before it.
#[test]
fn s62_s65_ambiguous_framing_is_refused_and_the_connection_closed() {
    let running = start("");
    let body = r#"{"clientId": "a", "endpoint": "/x"}"#;
    let length = body.len();
    let requests = [
        format!("content-length: {length}\r\ntransfer-encoding: chunked\r\n"),
        format!("content-length: {length}\r\ncontent-length: 3\r\n"),
        format!("content-length: +{length}\r\n"),
        format!("content-length: 0x{length:x}\r\n"),
        format!("content-length: {length},3\r\n"),
        "transfer-encoding: xchunked\r\n".to_owned(),
        "transfer-encoding: chunked, identity\r\n".to_owned(),
        format!("content-length : {length}\r\n"),
    ];
    for fields in requests {
        let smuggled = "GET /v1/smuggled HTTP/1.1\r\nhost: x\r\n\r\n";
        let request = format!("POST /v1/allow HTTP/1.1\r\nhost: x\r\n{fields}\r\n{body}{smuggled}");
        let answer = running.raw(Door::Http, &request);
        let refused = answer.starts_with("HTTP/1.1 400 ") || answer.starts_with("HTTP/1.1 501 ");
        assert!(refused || answer.starts_with("HTTP/1.1 4"), "{fields}: {answer}");
        assert!(!answer.contains("smuggled"), "{fields}: {answer}");
    }
    for line in ["POST /v1/allow", "POST /v1/allow HTTP/1.2", "POST /v1/allow http/1.1"] {
        let answer = running.raw(Door::Http, &format!("{line}\r\nhost: x\r\n\r\n"));
        assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 400 "), "{line}: {answer}");
    }
    let question: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(running.post("/v1/allow", &question).json()["remaining"], 8, "nothing was charged");
}
