//! What went wrong with a request, said as `application/problem+json` (RFC 9457).

use hyper::header::{ALLOW, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use hyper::{Method, StatusCode};
use serde::Serialize;

use super::answer::{self, Answer};

/// The media type of a problem.
pub(crate) const PROBLEM_JSON: HeaderValue = HeaderValue::from_static("application/problem+json");

/// A request that could not be answered: the status, and what the client can do about it.
#[derive(Debug)]
pub(crate) struct Problem {
    status: StatusCode,
    detail: String,
    /// A field that goes with the status.
    field: Option<(HeaderName, HeaderValue)>,
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
        Self { status, detail: detail.into(), field: None }
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
        let field = Some((ALLOW, HeaderValue::from_static(allow)));
        Self { field, ..Self::new(StatusCode::METHOD_NOT_ALLOWED, detail) }
    }

    /// Whoever asks has not shown that it may.
    pub(crate) fn unauthorized(detail: &str) -> Self {
        let field = Some((WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")));
        Self { field, ..Self::new(StatusCode::UNAUTHORIZED, detail) }
    }
}

impl Problem {
    /// The body, for doors that do not speak HTTP themselves.
    pub(crate) fn to_json(&self) -> Vec<u8> {
        let wire = Wire {
            r#type: "about:blank",
            title: self.status.canonical_reason().unwrap_or("Error"),
            status: self.status.as_u16(),
            detail: &self.detail,
        };
        // Texts and a number can be written.
        serde_json::to_vec(&wire).unwrap_or_default()
    }
}

impl From<Problem> for Answer {
    fn from(problem: Problem) -> Self {
        let mut answer = answer::of_type(problem.status, PROBLEM_JSON, problem.to_json());
        answer.headers_mut().extend(problem.field);
        answer
    }
}
