//! The decision API: questions in JSON, answers in JSON.
//!
//! A body is read whole before anything is decided, so what cannot be read charges nothing. Its media type is not
//! looked at: what is read is JSON whatever it is called, so that the plainest client works.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::rejection::QueryRejection;
use axum::extract::{Query, State};
use axum::http::header::{CACHE_CONTROL, RETRY_AFTER};
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use http_body_util::BodyExt;
use serde::Deserialize;
use tollgate::Clock;
use tollgate_replay::ResultJson;

use super::Gate;
use super::problem::Problem;
use super::question::{Asked, Question};

/// The most bytes of a body that are read.
const BODY_BYTES_MAX: usize = 1 << 20;

/// The most bytes of a body that is too large which are taken in and thrown away before the answer: a connection
/// closed on a client that still sends loses the answer.
const BODY_BYTES_DISCARDED_MAX: usize = 16 << 20;

pub(super) fn routes() -> Router<Arc<Gate>> {
    Router::new().route("/v1/allow", post(allow))
}

async fn allow(
    State(gate): State<Arc<Gate>>,
    options: Result<Query<Options>, QueryRejection>,
    body: Body,
) -> Result<Response, Problem> {
    let Query(options) =
        options.map_err(|rejection| Problem::bad_request(rejection.body_text()))?;
    let body = read(body).await?;
    let started = gate.clock.now();
    let asked = Asked::parse(&body).map_err(Problem::bad_request)?;
    let results = decide(&gate, &asked);
    let answer = results.into_response(options.status);
    gate.metrics.record_answer(Duration::from_nanos(gate.clock.now().nanos_since(started)));
    Ok(answer)
}

/// Takes in a whole body, up to the most that is read.
async fn read(mut body: Body) -> Result<Vec<u8>, Problem> {
    let mut read = Vec::new();
    let mut length = 0_usize;
    while let Some(frame) = body.frame().await {
        let frame =
            frame.map_err(|error| Problem::bad_request(format!("the body broke off: {error}")))?;
        let Ok(data) = frame.into_data() else { continue };
        length = length.saturating_add(data.len());
        if length <= BODY_BYTES_MAX {
            read.extend_from_slice(&data);
        } else if length > BODY_BYTES_DISCARDED_MAX {
            break;
        }
    }
    if length > BODY_BYTES_MAX {
        let detail = format!("the body is above {BODY_BYTES_MAX} bytes; send a shorter list");
        return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, detail));
    }
    Ok(read)
}

/// Decides everything that was asked, in order and by one reading of the clock.
fn decide(gate: &Gate, asked: &Asked<'_>) -> Results {
    match asked {
        Asked::One(question) => Results::One((&gate.limiter.decide(&question.call())).into()),
        Asked::List(questions) => {
            let calls: Vec<_> = questions.iter().map(Question::call).collect();
            Results::List(gate.limiter.allow_many(&calls).iter().map(Into::into).collect())
        }
    }
}

/// What may stand behind the `?`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Options {
    #[serde(default)]
    status: StatusOption,
}

/// Whether a denial shows in the status.
#[derive(Clone, Copy, Default, Deserialize, PartialEq, Eq)]
enum StatusOption {
    #[default]
    #[serde(rename = "0")]
    AlwaysOk,
    #[serde(rename = "1")]
    TooManyRequests,
}

/// What was decided.
enum Results {
    One(ResultJson),
    List(Vec<ResultJson>),
}

impl Results {
    fn as_slice(&self) -> &[ResultJson] {
        match self {
            Self::One(result) => std::slice::from_ref(result),
            Self::List(results) => results,
        }
    }

    /// The answer in HTTP. Where denials show in the status, one of them is enough.
    fn into_response(self, status: StatusOption) -> Response {
        let mut denied = self.as_slice().iter().filter(|result| !result.allowed).peekable();
        if status == StatusOption::AlwaysOk || denied.peek().is_none() {
            return self.into_json();
        }
        // The whole list would be allowed no sooner than the last of them. Without a wait there is no promise.
        let waits: Option<Vec<u64>> = denied.map(|result| result.retry_after_ms).collect();
        let wait = waits.and_then(|waits| waits.into_iter().max());
        let retry_after =
            wait.map(|millis| [(RETRY_AFTER, HeaderValue::from(millis.div_ceil(1_000)))]);
        let no_store = [(CACHE_CONTROL, HeaderValue::from_static("no-store"))];
        (StatusCode::TOO_MANY_REQUESTS, no_store, retry_after, self.into_json()).into_response()
    }

    fn into_json(self) -> Response {
        match self {
            Self::One(result) => Json(result).into_response(),
            Self::List(results) => Json(results).into_response(),
        }
    }
}
