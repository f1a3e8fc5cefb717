//! One connection: reads, has the session answer, writes.

use std::pin::pin;
use std::time::Duration;

use tokio::io::{self, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::reply::Replies;
use super::request::COMMAND_BYTES_MAX;
use super::session::{Next, Session};
use crate::door::Shutdown;

/// What a connection reads at once at first, and the room for replies it keeps. Who sends more at once is given more.
const BUFFER_BYTES_MIN: usize = 4 * 1024;

/// How long a client may take to read its last reply and close: while it still sends, closing here would lose the reply.
const CLOSING_MAX: Duration = Duration::from_secs(1);

/// Answers commands until the client closes, says something that cannot be understood or asks for the end, or until
/// shutdown, which ends it between two reads.
///
/// # Errors
/// Those of the connection.
pub(super) async fn serve(
    mut stream: TcpStream,
    session: &Session,
    mut shutdown: Shutdown,
) -> io::Result<()> {
    let mut shutdown = pin!(shutdown.started());
    let mut read = Vec::with_capacity(BUFFER_BYTES_MIN);
    let mut replies = Replies::default();
    loop {
        make_room(&mut read);
        let bytes = tokio::select! {
            biased;
            bytes = stream.read_buf(&mut read) => bytes?,
            () = &mut shutdown => return Ok(()),
        };
        if bytes == 0 {
            return Ok(());
        }
        if answer(&mut stream, session, &mut read, &mut replies).await? == Next::Close {
            return close(stream).await;
        }
    }
}

/// Answers every whole command that was read, and leaves the rest.
async fn answer(
    stream: &mut TcpStream,
    session: &Session,
    read: &mut Vec<u8>,
    replies: &mut Replies,
) -> io::Result<Next> {
    loop {
        let progress = session.answer(read, replies);
        read.drain(..progress.taken);
        stream.write_all(replies.as_bytes()).await?;
        replies.clear(BUFFER_BYTES_MIN);
        if progress.next != Next::Answer {
            return Ok(progress.next);
        }
    }
}

/// Doubles a buffer that was filled, up to the longest command.
fn make_room(read: &mut Vec<u8>) {
    if read.len() == read.capacity() {
        let room = read.capacity().saturating_mul(2).min(COMMAND_BYTES_MAX);
        read.reserve_exact(room.saturating_sub(read.len()));
    }
}

/// Closes so that the last reply arrives.
async fn close(mut stream: TcpStream) -> io::Result<()> {
    stream.shutdown().await?;
    let mut nowhere = io::sink();
    let discarded = io::copy(&mut stream, &mut nowhere);
    // Who does not close in time loses the reply.
    drop(timeout(CLOSING_MAX, discarded).await);
    Ok(())
}
