//! A server that the system gives too little.

use std::fs;
use std::io::Write;
use std::net::TcpStream;

use rustix::process::{Resource, getrlimit, setrlimit};

use crate::files::{ScratchFile, bucket};
use crate::server::Server;

const CONNECTIONS: u64 = 10_000;

/// What else each of the two processes has open.
const OTHER_FILES: u64 = 200;

/// The most memory that a connection may take while nothing is said on it.
const KIBIBYTES_EACH_MAX: u64 = 32;

const CONFIG: &str = "
default: { algorithm: TokenBucket, algoConfig: { capacity: 10, refill: 1/s } }
gateway: { limits: { connections: 10001 } }";

/// Connections beyond the number of files a process may have open are not taken, and taken once there is room.
#[test]
fn s68_a_lack_of_file_descriptors_is_outlived() {
    let server = Server::start_with_files(&ScratchFile::new("limits.yaml", bucket(9)), 40);
    let mut connections: Vec<_> =
        (0..100).map(|_| TcpStream::connect(&server.api).unwrap()).collect();
    for connection in &mut connections {
        connection.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    }
    server.wait_for_line("a connection cannot be taken: Too many open files");
    drop(connections);
    assert_eq!(server.allow("alice", 1)["allowed"], true);
    assert_eq!(server.get(&server.admin, "/healthz").status, 200);
}

#[test]
fn ten_thousand_idle_connections_cost_little_and_keep_nobody_out() {
    allow_open_files();
    let server = Server::start(&ScratchFile::new("limits.yaml", CONFIG));
    assert_eq!(server.allow("alice", 1)["allowed"], true);
    let before = resident_kibibytes(server.id());
    let connect = |_| TcpStream::connect(&*server.api).expect("one more is taken");
    let idle: Vec<TcpStream> = (0..CONNECTIONS).map(connect).collect();
    assert_eq!(server.allow("alice", 1)["allowed"], true);
    let each = (resident_kibibytes(server.id()) - before) / CONNECTIONS;
    assert!(each <= KIBIBYTES_EACH_MAX, "{each} KiB a connection");
    drop(idle);
}

/// Lets this process and those it starts open as many files as the test needs.
fn allow_open_files() {
    let mut limit = getrlimit(Resource::Nofile);
    let needed = CONNECTIONS + OTHER_FILES;
    if limit.current.is_none_or(|current| current >= needed) {
        return;
    }
    limit.current = Some(needed);
    setrlimit(Resource::Nofile, limit)
        .unwrap_or_else(|error| panic!("{needed} open files are not allowed here: {error}"));
}

/// How much memory a process holds.
fn resident_kibibytes(id: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{id}/status")).expect("the process runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.trim().strip_suffix(" kB"));
    number.and_then(|number| number.parse().ok()).expect("it is told in kB")
}
