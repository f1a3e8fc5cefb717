//! The end: what is under way is answered first.

use std::future::{pending, ready};
use std::io::{Read, Write};
use std::net::TcpStream;

use tollgate_gateway::{CutOff, Door};

use crate::running::Running;

const CONFIG: &str =
    "default: { algorithm: TokenBucket, algoConfig: { capacity: 9, refill: 1/h } }\n";

/// A request whose body lacks its last byte: the gateway has it, and said so.
fn begin(running: &Running) -> TcpStream {
    let mut connection = TcpStream::connect(running.address(Door::Http)).unwrap();
    let body = br#"{"clientId": "a", "endpoint": "/x""#;
    let head = "POST /v1/allow HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\n";
    write!(connection, "{head}content-length: {}\r\n\r\n", body.len().saturating_add(1)).unwrap();
    let mut go_on = [0; 25];
    connection.read_exact(&mut go_on).unwrap();
    connection.write_all(body).unwrap();
    connection
}

#[test]
fn nothing_under_way_is_nothing_to_wait_for() {
    let running = Running::start(CONFIG);
    assert_eq!(running.get("/healthz").status, 200);
    assert_eq!(running.stop(), Ok(()));
}

#[test]
fn a_request_under_way_is_answered() {
    let running = Running::start(CONFIG);
    let mut connection = begin(&running);
    let Running { gateway, runtime, .. } = running;
    let stopped = runtime.spawn(gateway.stop(pending()));
    connection.write_all(b"}").unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert_eq!(runtime.block_on(stopped).unwrap(), Ok(()));
}

#[test]
fn a_request_that_never_ends_is_cut_off_by_the_deadline() {
    let running =
        Running::start(format!("{CONFIG}gateway: {{ limits: {{ drainTimeout: 50ms }} }}\n"));
    let mut connection = begin(&running);
    assert_eq!(running.stop(), Err(CutOff::Deadline));
    let mut answer = Vec::new();
    drop(connection.read_to_end(&mut answer));
    assert_eq!(answer, b"");
}

#[test]
fn whoever_will_not_wait_cuts_requests_off_at_once() {
    let running = Running::start(CONFIG);
    let mut connection = begin(&running);
    let Running { gateway, runtime, .. } = running;
    assert_eq!(runtime.block_on(gateway.stop(ready(()))), Err(CutOff::Impatience));
    let mut answer = Vec::new();
    drop(connection.read_to_end(&mut answer));
    assert_eq!(answer, b"");
}
