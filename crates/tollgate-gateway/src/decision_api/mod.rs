//! The decision API: questions in JSON, answers in JSON.
//!
//! A body is read whole before anything is decided, so what cannot be read charges nothing. Its media type is not
//! looked at: what is read is JSON whatever it is called, so that the plainest client works.

mod options;
mod question;

use std::time::Duration;

use hyper::StatusCode;
use hyper::header::{CACHE_CONTROL, HeaderValue, RETRY_AFTER};
use tollgate_json::ResultJson;

use crate::gate::Gate;
use crate::http::answer::{self, Answer};
use crate::http::problem::Problem;
use crate::http::{Received, body};
use options::Options;
use question::{Asked, Question};

/// The path under which calls are decided.
pub(crate) const ALLOW: &str = "/v1/allow";

/// Decides what a body asks.
pub(crate) async fn allow(mut received: Received, gate: &Gate) -> Result<Answer, Problem> {
    let options = Options::parse(received.request.uri().query()).map_err(Problem::bad_request)?;
    let body = body::read(received.request.body_mut(), gate, received.door).await?;
    let started = gate.now();
    let asked = Asked::parse(&body).map_err(Problem::bad_request)?;
    let answer = decide(gate, &asked).into_answer(options);
    let took = Duration::from_nanos(gate.now().nanos_since(started));
    gate.metrics.record_answer(received.door, took);
    Ok(answer)
}

/// Decides everything that was asked, in order and by one reading of the clock.
fn decide(gate: &Gate, asked: &Asked<'_>) -> Results {
    match asked {
        Asked::One(question) => Results::One((&gate.decide(&question.call())).into()),
        Asked::List(questions) => {
            let calls: Vec<_> = questions.iter().map(Question::call).collect();
            Results::List(gate.decide_many(&calls).iter().map(Into::into).collect())
        }
    }
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
    fn into_answer(self, options: Options) -> Answer {
        let mut denied = self.as_slice().iter().filter(|result| !result.allowed).peekable();
        if !options.denials_show || denied.peek().is_none() {
            return self.into_json(StatusCode::OK);
        }
        // The whole list would be allowed no sooner than the last of them. Without a wait there is no promise.
        let waits: Option<Vec<u64>> = denied.map(|result| result.retry_after_ms).collect();
        let wait = waits.and_then(|waits| waits.into_iter().max());
        let mut answer = self.into_json(StatusCode::TOO_MANY_REQUESTS);
        let headers = answer.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if let Some(millis) = wait {
            headers.insert(RETRY_AFTER, HeaderValue::from(millis.div_ceil(1_000)));
        }
        answer
    }

    fn into_json(self, status: StatusCode) -> Answer {
        match self {
            Self::One(result) => answer::json(status, &result),
            Self::List(results) => answer::json(status, &results),
        }
    }
}
