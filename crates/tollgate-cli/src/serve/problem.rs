//! What went wrong with a request, said as `application/problem+json` (RFC 9457).

use axum::Json;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderValue, Method, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use serde::Serialize;

/// A request that could not be answered: the status, and what the client can do about it.
#[derive(Debug)]
pub(super) struct Problem {
    status: StatusCode,
    detail: String,
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
    pub(super) fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        Self { status, detail: detail.into() }
    }

    pub(super) fn bad_request(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, detail)
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let wire = Wire {
            r#type: "about:blank",
            title: self.status.canonical_reason().unwrap_or("Error"),
            status: self.status.as_u16(),
            detail: &self.detail,
        };
        let mut response = (self.status, Json(wire)).into_response();
        let media_type = HeaderValue::from_static("application/problem+json");
        response.headers_mut().insert(CONTENT_TYPE, media_type);
        response
    }
}

/// The answer where nothing is served under a path.
pub(super) async fn not_found(uri: Uri) -> Problem {
    Problem::new(StatusCode::NOT_FOUND, format!("nothing is served under {}", uri.path()))
}

/// The answer where a path is served, and the method is not. The header `Allow` names those that are.
pub(super) async fn method_not_allowed(method: Method, uri: Uri) -> Problem {
    let detail = format!("{} does not answer {method}; see the header `allow`", uri.path());
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, detail)
}
