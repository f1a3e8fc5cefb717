//! Answers, whole in memory.

use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Response, StatusCode};
use serde::Serialize;

/// An answer, whole before it is sent.
pub(crate) type Answer = Response<Full<Bytes>>;

pub(crate) const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// An answer of this media type.
pub(crate) fn of_type(
    status: StatusCode,
    media_type: HeaderValue,
    body: impl Into<Bytes>,
) -> Answer {
    let mut answer = Answer::new(Full::new(body.into()));
    *answer.status_mut() = status;
    answer.headers_mut().insert(CONTENT_TYPE, media_type);
    answer
}

/// An answer without a body.
pub(crate) fn empty(status: StatusCode) -> Answer {
    let mut answer = Answer::new(Full::default());
    *answer.status_mut() = status;
    answer
}

/// A short text.
pub(crate) fn text(body: &'static str) -> Answer {
    of_type(StatusCode::OK, HeaderValue::from_static("text/plain; charset=utf-8"), body)
}

/// A value of ours in JSON.
pub(crate) fn json(status: StatusCode, value: &impl Serialize) -> Answer {
    let mut body = Vec::with_capacity(256);
    match serde_json::to_writer(&mut body, value) {
        Ok(()) => of_type(status, JSON, body),
        // Only maps whose keys are no texts, and errors of their own making, cannot be written.
        Err(error) => {
            tracing::error!("an answer cannot be written: {error}");
            of_type(StatusCode::INTERNAL_SERVER_ERROR, JSON, Bytes::new())
        }
    }
}
