//! SIGTERM and Ctrl-C: requests in flight are answered first.

use std::io::{self, Read, Write};
use std::net::TcpStream;

use rustix::process::Signal;

use crate::files::{ScratchFile, bucket};
use crate::server::Server;

/// A question without the brace that ends it.
const BEGUN: &str = r#"{"clientId": "alice", "endpoint": "/x""#;

fn server() -> Server {
    Server::start(&ScratchFile::new("limits.yaml", bucket(3)))
}

/// A request whose body lacks its last byte: the server has it, and said so.
fn begin_request(server: &Server) -> io::Result<TcpStream> {
    let mut connection = TcpStream::connect(&server.api)?;
    let length = BEGUN.len().saturating_add(1);
    write!(
        connection,
        "POST /v1/allow HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\ncontent-length: {length}\r\n\r\n"
    )?;
    let mut go_on = [0; 25];
    connection.read_exact(&mut go_on)?;
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    connection.write_all(BEGUN.as_bytes())?;
    Ok(connection)
}

#[test]
fn an_idle_server_stops_at_once_and_well() {
    for signal in [Signal::TERM, Signal::INT] {
        let server = server();
        // A connection that is kept alive, and idle, does not hold the server.
        assert_eq!(server.allow("alice", 1)["allowed"], true);
        server.signal(signal);
        let (log, status) = server.wait();
        assert_eq!(status, Some(0), "{log:#?}");
        assert!(log.iter().any(|line| line.contains("stopped")), "{log:#?}");
    }
}

#[test]
fn a_request_in_flight_is_answered_and_new_ones_are_not_taken() {
    let server = server();
    let mut connection = begin_request(&server).unwrap();
    server.signal(Signal::TERM);
    server.wait_for_line("stopping");

    let readiness = server.get(&server.admin, "/readyz");
    assert_eq!((readiness.status, &readiness.json()["status"]), (503, &"draining".into()));
    assert_eq!(server.get(&server.admin, "/healthz").status, 200);
    assert_eq!(server.get(&server.admin, "/metrics").status, 200);

    connection.write_all(b"}").unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
    assert!(answer.ends_with(r#""limit":3,"resetAfterMs":3600000}"#), "{answer}");
    let api = server.api.clone();
    let (log, status) = server.wait();
    assert_eq!(status, Some(0), "{log:#?}");
    assert!(TcpStream::connect(api).is_err());
}

#[test]
fn a_second_signal_ends_at_once_and_says_that_requests_were_cut_off() {
    let server = server();
    let mut connection = begin_request(&server).unwrap();
    server.signal(Signal::TERM);
    server.wait_for_line("stopping");
    server.signal(Signal::TERM);
    let (log, status) = server.wait();
    assert_eq!(status, Some(1), "{log:#?}");
    assert!(log.iter().any(|line| line.contains("a second signal cut off")), "{log:#?}");
    let mut answer = Vec::new();
    // The connection is closed or reset; in neither way with an answer.
    drop(connection.read_to_end(&mut answer));
    assert_eq!(answer, b"");
}

#[test]
fn the_log_can_be_json() {
    let file = ScratchFile::new("limits.yaml", bucket(3));
    let server = Server::start_with(file.path(), &["--log-format", "json"]);
    server.signal(Signal::TERM);
    let (log, status) = server.wait();
    assert_eq!(status, Some(0));
    let last: serde_json::Value = serde_json::from_str(log.last().unwrap()).unwrap();
    assert_eq!((&last["level"], &last["message"]), (&"INFO".into(), &"stopped".into()));
}

#[test]
fn an_address_in_use_is_named_and_nothing_is_served() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let file = ScratchFile::new("limits.yaml", bucket(3));
    for (option, other) in [("--listen", "--admin"), ("--admin", "--listen")] {
        let args = ["serve", "--config", file.name(), option, &address, other, "127.0.0.1:0"];
        let finished = crate::process::run(args);
        assert_eq!((finished.status, finished.stdout.as_str()), (Some(1), ""));
        let expected = format!(
            "error: cannot listen on {address}, the address of {option}: Address already in use"
        );
        assert!(finished.stderr.contains(&expected), "{}", finished.stderr);
    }
}
