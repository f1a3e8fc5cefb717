//! What goes over a socket, and how long.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::advance;

use crate::Served;

/// Far longer than any time-out.
const MONTH: Duration = Duration::from_secs(30 * 86_400);

async fn sent(served: &Served, bytes: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    stream.write_all(bytes).await.unwrap();
    stream
}

/// What comes until the server closes.
async fn rest(stream: &mut TcpStream) -> String {
    let mut read = String::new();
    stream.read_to_string(&mut read).await.unwrap();
    read
}

#[tokio::test]
async fn a_pipeline_longer_than_any_buffer_is_answered_in_order() {
    let served = Served::start().await;
    let stream = TcpStream::connect(served.address).await.unwrap();
    let (mut replies, mut commands) = stream.into_split();
    let numbers = 0..40_000;
    let ask = |number| format!("ECHO {number}\nTOLLGATE.PEEK client-{number} /x\n");
    let asked: String = numbers.clone().map(ask).collect();
    let asking = tokio::spawn(async move {
        commands.write_all(asked.as_bytes()).await.unwrap();
        commands.write_all(b"QUIT\n").await.unwrap();
        commands
    });
    let mut read = String::new();
    replies.read_to_string(&mut read).await.unwrap();
    drop(asking.await.unwrap());
    let reply = |number: u32| {
        let number = number.to_string();
        format!("${}\r\n{number}\r\n*5\r\n:1\r\n:10\r\n:10\r\n:-1\r\n:0\r\n", number.len())
    };
    let expected: String = numbers.map(reply).chain(["+OK\r\n".to_owned()]).collect();
    assert!(read == expected, "the replies are others, or in another order");
}

#[tokio::test]
async fn a_command_may_come_byte_by_byte() {
    let served = Served::start().await;
    let mut stream = TcpStream::connect(served.address).await.unwrap();
    stream.set_nodelay(true).unwrap();
    let command = b"*4\r\n$14\r\ntollgate.allow\r\n$5\r\nalice\r\n$2\r\n/x\r\n$1\r\n3\r\nQUIT\r\n";
    for byte in command {
        stream.write_all(&[*byte]).await.unwrap();
    }
    assert_eq!(rest(&mut stream).await, "*5\r\n:1\r\n:10\r\n:7\r\n:-1\r\n:3000\r\n+OK\r\n");
}

#[tokio::test]
async fn what_cannot_be_understood_is_told_and_the_connection_closed_whatever_follows() {
    let served = Served::start().await;
    let mut stream = sent(&served, b"PING\n*1\r\nPING\r\n").await;
    stream.write_all(&b"x".repeat(50_000)).await.unwrap();
    let error = "-ERR Protocol error: expected '$', got 'P'\r\n";
    assert_eq!(rest(&mut stream).await, format!("+PONG\r\n{error}"));
}

#[tokio::test]
async fn commands_in_the_body_of_a_page_s_request_are_not_run() {
    let served = Served::start().await;
    let request = b"POST / HTTP/1.1\r\nHost: localhost\r\n\r\nTOLLGATE.ALLOW alice /x\r\n";
    let error = "-ERR Protocol error: this is HTTP; expected the protocol of Redis\r\n";
    assert_eq!(rest(&mut sent(&served, request).await).await, error);
    let mut stream = sent(&served, b"TOLLGATE.PEEK alice /x\nQUIT\n").await;
    assert_eq!(rest(&mut stream).await, "*5\r\n:1\r\n:10\r\n:10\r\n:-1\r\n:0\r\n+OK\r\n");
}

#[tokio::test(start_paused = true)]
async fn a_client_may_be_silent_for_any_time_between_commands() {
    let served = Served::start().await;
    let mut stream = sent(&served, b"PING\n").await;
    let mut pong = [0; 7];
    stream.read_exact(&mut pong).await.unwrap();
    advance(MONTH).await;
    stream.write_all(b"QUIT\n").await.unwrap();
    assert_eq!((&pong, &*rest(&mut stream).await), (b"+PONG\r\n", "+OK\r\n"));
}

#[tokio::test(start_paused = true)]
async fn a_client_that_is_silent_for_longer_than_is_said_is_closed() {
    let served = Served::start_with(", idleTimeout: 1h").await;
    let mut stream = sent(&served, b"").await;
    assert_eq!(rest(&mut stream).await, "");
}

#[tokio::test(start_paused = true)]
async fn a_command_that_stops_half_way_is_given_up() {
    let served = Served::start().await;
    let mut stream = sent(&served, b"*1\r\n$4\r\nPI").await;
    assert_eq!(rest(&mut stream).await, "");
}

#[tokio::test(start_paused = true)]
async fn a_client_that_takes_no_replies_is_given_up() {
    let served = Served::start().await;
    let mut stream = sent(&served, b"").await;
    let questions = b"COMMAND DOCS\n".repeat(10_000);
    // It ends where the server has closed.
    while stream.write_all(&questions).await.is_ok() {}
}

#[tokio::test]
async fn stopping_closes_connections_that_wait_for_the_next_command() {
    let served = Served::start().await;
    let mut stream = sent(&served, b"PING\n").await;
    let mut pong = [0; 7];
    stream.read_exact(&mut pong).await.unwrap();
    served.stop().await;
    assert_eq!(rest(&mut stream).await, "");
}
