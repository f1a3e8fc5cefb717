//! Bodies on their way through: streamed, and watched.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::{Sleep, sleep};
use tollgate::Permit;

use super::active::Active;
use crate::door::Door;
use crate::gate::Gate;
use crate::http::answer::Answer;
use crate::metrics::LimitHit;

/// A body that breaks off when nothing of it comes for too long.
pub(super) struct Watched {
    body: Incoming,
    gate: Arc<Gate>,
    time: Duration,
    /// Set while the next part is waited for: a body that comes at once costs no timer.
    silence: Option<Pin<Box<Sleep>>>,
}

impl Watched {
    pub(super) const fn new(body: Incoming, gate: Arc<Gate>, time: Duration) -> Self {
        Self { body, gate, time, silence: None }
    }
}

impl Body for Watched {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let this = self.get_mut();
        if let Poll::Ready(frame) = Pin::new(&mut this.body).poll_frame(context) {
            this.silence = None;
            return Poll::Ready(frame.map(|frame| frame.map_err(io::Error::other)));
        }
        let time = this.time;
        let silence = this.silence.get_or_insert_with(|| Box::pin(sleep(time)));
        ready!(silence.as_mut().poll(context));
        this.gate.metrics.record_limit(Door::Proxy, LimitHit::BodyTime);
        let silent = format!("nothing of the body came for {} s", time.as_secs());
        Poll::Ready(Some(Err(io::Error::new(io::ErrorKind::TimedOut, silent))))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of an answer, and what is held until it was sent or is given up.
pub(super) struct Held {
    body: Kind,
    /// The place first: it is given back before the connection counts as idle.
    _held: Option<(Option<Permit>, Active)>,
}

enum Kind {
    /// The upstream's.
    Streamed(Incoming),
    /// One of our own.
    Whole(Full<Bytes>),
}

impl Held {
    /// The upstream's answer.
    pub(super) const fn streamed(body: Incoming, permit: Option<Permit>, active: Active) -> Self {
        Self { body: Kind::Streamed(body), _held: Some((permit, active)) }
    }

    /// An answer of our own.
    pub(super) fn whole(answer: Answer, active: Active) -> hyper::Response<Self> {
        answer.map(|body| Self { body: Kind::Whole(body), _held: Some((None, active)) })
    }

    /// No body at all: what is held goes another way.
    pub(super) fn empty() -> Self {
        Self { body: Kind::Whole(Full::default()), _held: None }
    }
}

impl Body for Held {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        match &mut self.get_mut().body {
            Kind::Streamed(body) => Pin::new(body).poll_frame(context),
            Kind::Whole(body) => Pin::new(body).poll_frame(context).map_err(|never| match never {}),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.body {
            Kind::Streamed(body) => body.is_end_stream(),
            Kind::Whole(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.body {
            Kind::Streamed(body) => body.size_hint(),
            Kind::Whole(body) => body.size_hint(),
        }
    }
}
