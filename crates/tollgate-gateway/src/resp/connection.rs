//! One connection: reads, has the session answer, writes.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{self, AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::reply::Replies;
use super::request::COMMAND_BYTES_MAX;
use super::session::{Next, Session};
use crate::door::{Door, Shutdown};
use crate::gate::Gate;
use crate::metrics::LimitHit;

/// What a connection reads at once at first, and the room for replies it keeps. Who sends more at once is given more.
const BUFFER_BYTES_MIN: usize = 4 * 1024;

/// How long a client may take to read its last reply and close: to close while it still sends would lose the reply.
const CLOSING_MAX: Duration = Duration::from_secs(1);

/// A client that is served.
#[derive(Debug)]
pub(super) struct Connection {
    stream: TcpStream,
    session: Session,
    gate: Arc<Gate>,
    /// What was read and not yet answered.
    read: Vec<u8>,
    replies: Replies,
    /// How long nothing may come between commands.
    idle_timeout: Option<Duration>,
    /// How long the rest of a command may take to come, and replies to be taken.
    stall_timeout: Duration,
}

impl Connection {
    /// The connection of this number.
    pub(super) fn new(stream: TcpStream, id: u64, gate: &Arc<Gate>) -> Self {
        let settings = gate.settings();
        Self {
            stream,
            session: Session::new(Arc::clone(gate), id),
            read: Vec::with_capacity(BUFFER_BYTES_MIN),
            replies: Replies::default(),
            idle_timeout: settings.redis.as_ref().and_then(|redis| redis.idle_timeout),
            stall_timeout: settings.limits.body_timeout,
            gate: Arc::clone(gate),
        }
    }

    /// Answers commands until the client closes, sends what cannot be understood or asks for the end, until it is
    /// silent for too long, or until shutdown, which ends it between two reads.
    ///
    /// # Errors
    /// Those of the connection; a client that is silent for too long is one.
    pub(super) async fn serve(mut self, mut shutdown: Shutdown) -> io::Result<()> {
        let mut shutdown = pin!(shutdown.started());
        loop {
            let bytes = tokio::select! {
                biased;
                () = &mut shutdown => return Ok(()),
                bytes = self.read() => bytes?,
            };
            if bytes == 0 {
                return Ok(());
            }
            if self.answer().await? == Next::Close {
                return self.close().await;
            }
        }
    }

    /// Reads what there is, as far as there is room: how many bytes, none at the end.
    async fn read(&mut self) -> io::Result<usize> {
        make_room(&mut self.read);
        let (time, hit) = match self.read.as_slice() {
            [] => (self.idle_timeout, LimitHit::IdleTime),
            [..] => (Some(self.stall_timeout), LimitHit::BodyTime),
        };
        let reading = self.stream.read_buf(&mut self.read);
        match time {
            None => reading.await,
            Some(time) => within(time, reading, hit, &self.gate).await,
        }
    }

    /// Answers every whole command that was read, and leaves the rest.
    async fn answer(&mut self) -> io::Result<Next> {
        loop {
            let started = self.gate.now();
            let progress = self.session.answer(&self.read, &mut self.replies);
            let took = Duration::from_nanos(self.gate.now().nanos_since(started));
            if progress.taken > 0 {
                self.gate.metrics.record_answer(Door::Redis, took);
            }
            self.read.drain(..progress.taken);
            let writing = self.stream.write_all(self.replies.as_bytes());
            within(self.stall_timeout, writing, LimitHit::WriteTime, &self.gate).await?;
            self.replies.clear(BUFFER_BYTES_MIN);
            if progress.next != Next::Answer {
                return Ok(progress.next);
            }
        }
    }

    /// Closes so that the last reply arrives.
    async fn close(mut self) -> io::Result<()> {
        self.stream.shutdown().await?;
        let mut nowhere = io::sink();
        // Who does not close in time may lose the reply.
        drop(timeout(CLOSING_MAX, io::copy(&mut self.stream, &mut nowhere)).await);
        Ok(())
    }
}

/// Doubles a buffer that is full, up to the longest command.
fn make_room(read: &mut Vec<u8>) {
    if read.len() == read.capacity() {
        let room = read.capacity().saturating_mul(2).min(COMMAND_BYTES_MAX);
        read.reserve_exact(room.saturating_sub(read.len()));
    }
}

/// Gives up on what takes longer than this; that is counted.
async fn within<T>(
    time: Duration,
    moving: impl Future<Output = io::Result<T>>,
    hit: LimitHit,
    gate: &Gate,
) -> io::Result<T> {
    timeout(time, moving).await.unwrap_or_else(|_elapsed| {
        gate.metrics.record_limit(Door::Redis, hit);
        Err(io::ErrorKind::TimedOut.into())
    })
}
