//! A server that the system gives too little.

use std::io::Write;
use std::net::TcpStream;

use crate::files::{ScratchFile, bucket};
use crate::server::Server;

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
