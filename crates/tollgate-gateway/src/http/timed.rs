//! A transport that gives up on silence.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Sleep, sleep};

use super::phase::{Moment, Phase};
use crate::door::Door;
use crate::gate::Gate;
use crate::metrics::LimitHit;

/// A connection that ends when nothing comes for too long: between requests, in the middle of header fields, or where
/// an answer is not taken. (While a body is read, its reader keeps the time.)
///
/// The time of header fields runs from their first byte on, however many come after it. The time between requests is
/// kept by a timer that is set anew only when it has run out, so that requests in quick succession cost none: a
/// connection is idle for at least `idle_timeout`, and for at most twice as long, before it is closed.
#[derive(Debug)]
pub(super) struct Timed {
    stream: TcpStream,
    phase: Arc<Phase>,
    gate: Arc<Gate>,
    door: Door,
    reading: Timer,
    writing: Option<Pin<Box<Sleep>>>,
    header_timeout: Duration,
    idle_timeout: Duration,
    write_timeout: Duration,
}

/// A timer, and what it was set for.
#[derive(Debug, Default)]
struct Timer {
    sleep: Option<Pin<Box<Sleep>>>,
    set_in: Option<Moment>,
}

impl Timer {
    fn set(&mut self, moment: Moment, time: Duration) {
        self.set_in = Some(moment);
        match &mut self.sleep {
            Some(running) => running.as_mut().set(sleep(time)),
            None => self.sleep = Some(Box::pin(sleep(time))),
        }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.sleep.as_mut().map_or(Poll::Pending, |running| running.as_mut().poll(context))
    }
}

impl Timed {
    pub(super) fn new(stream: TcpStream, phase: Arc<Phase>, gate: Arc<Gate>, door: Door) -> Self {
        let limits = &gate.settings().limits;
        let (header_timeout, idle_timeout) = (limits.header_timeout, limits.idle_timeout);
        let write_timeout = limits.body_timeout;
        Self {
            stream,
            phase,
            gate,
            door,
            reading: Timer::default(),
            writing: None,
            header_timeout,
            idle_timeout,
            write_timeout,
        }
    }

    /// Waits in silence, as long as the phase allows.
    fn poll_silence(&mut self, context: &mut Context<'_>) -> Poll<LimitHit> {
        let moment = self.phase.moment();
        let is_set = self.reading.set_in == Some(moment);
        if moment.is_reading_head() {
            if !is_set {
                self.reading.set(moment, self.header_timeout);
            }
            return self.reading.poll(context).map(|()| LimitHit::HeaderTime);
        }
        // It runs while an answer is made as well: hyper does not look for the next request anew once it is sent.
        if self.reading.sleep.is_none() {
            self.reading.set(moment, self.idle_timeout);
        }
        ready!(self.reading.poll(context));
        if is_set && moment.is_waiting() {
            return Poll::Ready(LimitHit::IdleTime);
        }
        // It was set before requests that came since.
        self.reading.set(moment, self.idle_timeout);
        self.reading.poll(context).map(|()| LimitHit::IdleTime)
    }

    /// Gives the answer more time where some of it was taken, and ends the connection where none is.
    fn watch_writing<T>(
        &mut self,
        written: Poll<io::Result<T>>,
        context: &mut Context<'_>,
    ) -> Poll<io::Result<T>> {
        if written.is_ready() {
            self.writing = None;
            return written;
        }
        let time = self.write_timeout;
        let waiting = self.writing.get_or_insert_with(|| Box::pin(sleep(time)));
        ready!(waiting.as_mut().poll(context));
        self.gate.metrics.record_limit(self.door, LimitHit::WriteTime);
        Poll::Ready(Err(io::Error::from(io::ErrorKind::TimedOut)))
    }
}

impl AsyncRead for Timed {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        if let Poll::Ready(read) = Pin::new(&mut this.stream).poll_read(context, buffer) {
            if buffer.filled().len() > before {
                this.phase.hear();
            }
            return Poll::Ready(read);
        }
        let hit = ready!(this.poll_silence(context));
        this.gate.metrics.record_limit(this.door, hit);
        Poll::Ready(Err(io::Error::from(io::ErrorKind::TimedOut)))
    }
}

impl AsyncWrite for Timed {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write(context, bytes);
        this.watch_writing(written, context)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let this = self.get_mut();
        let written = Pin::new(&mut this.stream).poll_write_vectored(context, slices);
        this.watch_writing(written, context)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
