//! What went wrong with a request, said as `application/problem+json` (RFC 9457).

use hyper::header::{ALLOW, HeaderValue};
use hyper::{Method, StatusCode};
use serde::Serialize;

use super::answer::{self, Answer};

/// A request that could not be answered: the status, and what the client can do about it.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    detail: String,
    allow: Option<&'static str>,
}

/// As it goes over the wire.
#[derive(Serialize)]
struct Wire<'a> {
    /// No page describes these problems further than their status does.
    r#type: &'static str,
    title: &'a str,
    status: u16,
    detail: &'a str,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into(), allow: None }
    }

    pub(crate) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }

    /// Nothing is served under this path.
    pub(crate) fn not_found(path: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, format!("nothing is served under {path}"))
    }

    /// The path is served, and the method is not. The header `Allow` names those that are.
    pub(crate) fn method_not_allowed(path: &str, method: &Method, allow: &'static str) -> Self {
        let detail = format!("{path} does not answer {method}; see the header `allow`");
        Self { allow: Some(allow), ..Self::new(StatusCode::METHOD_NOT_ALLOWED, detail) }
    }
}

impl From<Problem> for Answer {
    fn from(problem: Problem) -> Self {
        let wire = Wire {
            r#type: "about:blank",
            title: problem.status.canonical_reason().unwrap_or("Error"),
            status: problem.status.as_u16(),
            detail: &problem.detail,
        };
        let mut answer = answer::json(problem.status, &wire);
        let media_type = HeaderValue::from_static("application/problem+json");
        answer.headers_mut().insert(hyper::header::CONTENT_TYPE, media_type);
        if let Some(methods) = problem.allow {
            answer.headers_mut().insert(ALLOW, HeaderValue::from_static(methods));
        }
        answer
    }
}
