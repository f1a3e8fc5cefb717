//! Whole responses, for requests that go no further.

use http::header::{CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, Response, StatusCode};
use percent_encoding::utf8_percent_encode;
use tollgate::RateLimitResult;

use super::fields::seconds;
use super::problem::{Problem, Wait};
use super::{Answers, Caller, Cors, ESCAPED, EntryPolicy};
use crate::{ClientFault, TargetFault};

const PROBLEM: HeaderValue = HeaderValue::from_static("application/problem+json");
const GRPC_STATUS: HeaderName = HeaderName::from_static("grpc-status");
const GRPC_MESSAGE: HeaderName = HeaderName::from_static("grpc-message");
const GRPC_PUSHBACK: HeaderName = HeaderName::from_static("grpc-retry-pushback-ms");

/// `RESOURCE_EXHAUSTED`. Never 14, `UNAVAILABLE`, which clients retry at once.
const RESOURCE_EXHAUSTED: HeaderValue = HeaderValue::from_static("8");

/// The same for scripts of other origins.
const EXPOSED_OF_GRPC: &str = "grpc-status, grpc-message, grpc-retry-pushback-ms";

/// What tells gRPC's clients not to come back by themselves.
const NEVER: HeaderValue = HeaderValue::from_static("-1");

impl Answers {
    /// The response to a request that was denied: 429 with `Retry-After`, the fields of the limit that denied, and a
    /// body that says why (`application/problem+json`, RFC 9457). To callers that speak gRPC it is 200 with
    /// `grpc-status` 8 and `grpc-retry-pushback-ms`.
    ///
    /// `Retry-After` is in whole seconds, rounded up, at least 1, and not there where no wait will help or none can be
    /// promised: a cost above the limit, a block, a table that is full. The body's `retryAfterMs` is the same wait to
    /// the millisecond.
    pub fn denial(
        &self,
        result: &RateLimitResult,
        policy: &EntryPolicy,
        caller: &Caller,
    ) -> Response<String> {
        let wait_ms = result.retry_after_ms().map(|wait_ms| self.jitter.added_to(wait_ms));
        let mut response = self.refusal(Problem::of(result, policy, wait_ms), caller);
        self.add_fields(result, policy, caller, response.headers_mut());
        response
    }

    /// The response to a request whose target names no endpoint: 400. A request that is refused may be charged to
    /// [`TargetFault::ENDPOINT`].
    pub fn bad_request(&self, fault: &TargetFault, caller: &Caller) -> Response<String> {
        self.bad(fault.to_string(), caller)
    }

    /// The response to a request that does not say whose it is: a denial for which no wait will help. Where it says two
    /// things, 400.
    pub fn unidentified(&self, fault: &ClientFault, caller: &Caller) -> Response<String> {
        match fault {
            ClientFault::Missing { .. } | ClientFault::Unknown { .. } => {
                let status = StatusCode::TOO_MANY_REQUESTS;
                let detail = fault.to_string();
                let problem = Problem { status, violated: None, detail, wait: Wait::NotPromised };
                self.refusal(problem, caller)
            }
            ClientFault::TwoFamilies => self.bad(fault.to_string(), caller),
        }
    }

    /// gRPC's clients take a 400 for an error that they do not retry.
    fn bad(&self, detail: String, caller: &Caller) -> Response<String> {
        let status = StatusCode::BAD_REQUEST;
        let problem = Problem { status, violated: None, detail, wait: Wait::Beside };
        let mut response = Response::new(String::new());
        say(problem, &mut response);
        self.say_to_all(caller, response.headers_mut());
        response
    }

    /// A denial, in the caller's protocol.
    fn refusal(&self, problem: Problem, caller: &Caller) -> Response<String> {
        let mut response = Response::new(String::new());
        if let Some(content_type) = caller.grpc_type() {
            say_grpc(&problem, content_type, response.headers_mut());
            if self.cors.is_some() && caller.origin().is_some() {
                Cors::expose(EXPOSED_OF_GRPC, response.headers_mut());
            }
        } else {
            let seconds = problem.wait.millis().map(|wait_ms| seconds(wait_ms).into());
            response.headers_mut().extend(seconds.map(|seconds| (RETRY_AFTER, seconds)));
            say(problem, &mut response);
        }
        self.say_to_all(caller, response.headers_mut());
        response
    }

    fn say_to_all(&self, caller: &Caller, fields: &mut HeaderMap) {
        fields.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some((cors, origin)) = self.cors.as_ref().zip(caller.origin()) {
            cors.allow(origin, fields);
        }
    }
}

fn say(problem: Problem, response: &mut Response<String>) {
    *response.status_mut() = problem.status;
    response.headers_mut().insert(CONTENT_TYPE, PROBLEM);
    *response.body_mut() = problem.into_body();
}

/// A response of nothing but trailers, which stand where the fields do.
fn say_grpc(problem: &Problem, content_type: &'static str, fields: &mut HeaderMap) {
    fields.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    fields.insert(GRPC_STATUS, RESOURCE_EXHAUSTED);
    let message = utf8_percent_encode(&problem.detail, ESCAPED).to_string();
    fields.extend(HeaderValue::try_from(message).ok().map(|message| (GRPC_MESSAGE, message)));
    let pushback = problem.wait.millis().map_or(NEVER, HeaderValue::from);
    fields.insert(GRPC_PUSHBACK, pushback);
}
