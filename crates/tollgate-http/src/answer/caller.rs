//! What an answer has to know of the request.

use http::header::{ACCESS_CONTROL_REQUEST_METHOD, CONTENT_TYPE, ORIGIN};
use http::{HeaderMap, HeaderValue, Method};

/// What an answer has to know of the request: take it before the request is handed on.
#[derive(Clone, Debug, Default)]
pub struct Caller {
    grpc: Option<&'static str>,
    origin: Option<HeaderValue>,
}

const GRPC: &str = "application/grpc";

impl Caller {
    /// Of a request's fields.
    pub fn of(fields: &HeaderMap) -> Self {
        let content_type = fields.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
        Self { grpc: content_type.and_then(grpc), origin: fields.get(ORIGIN).cloned() }
    }

    /// Whether the caller speaks gRPC, which knows no status 429.
    pub const fn is_grpc(&self) -> bool {
        self.grpc.is_some()
    }

    /// Whether a request is a browser's question whether a script may send another: `OPTIONS` with both `Origin` and
    /// `Access-Control-Request-Method`. The script cannot help it, so by default a gateway does not charge it. Any
    /// other `OPTIONS` is a request like all.
    pub fn is_preflight(method: &Method, fields: &HeaderMap) -> bool {
        *method == Method::OPTIONS
            && fields.contains_key(ORIGIN)
            && fields.contains_key(ACCESS_CONTROL_REQUEST_METHOD)
    }

    /// The content type of an answer to a caller that speaks gRPC.
    pub(super) const fn grpc_type(&self) -> Option<&'static str> {
        self.grpc
    }

    /// The script's origin, where a browser says it.
    pub(super) const fn origin(&self) -> Option<&HeaderValue> {
        self.origin.as_ref()
    }
}

/// The content type to answer this one with, where it is gRPC's.
fn grpc(content_type: &[u8]) -> Option<&'static str> {
    let (start, rest) = content_type.split_at_checked(GRPC.len())?;
    if !start.eq_ignore_ascii_case(GRPC.as_bytes()) {
        return None;
    }
    let starts_with = |text: &str| {
        rest.get(..text.len()).is_some_and(|rest| rest.eq_ignore_ascii_case(text.as_bytes()))
    };
    match rest.first() {
        None | Some(b'+' | b';' | b' ') => Some(GRPC),
        Some(_) if starts_with("-web-text") => Some("application/grpc-web-text+proto"),
        Some(_) if starts_with("-web") => Some("application/grpc-web+proto"),
        Some(_) => None,
    }
}
