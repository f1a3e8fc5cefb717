//! The decision API: questions in JSON, answers in JSON.
//!
//! A body is read whole before anything is decided, so what cannot be read charges nothing. Its media type is not
//! looked at: what is read is JSON whatever it is called, so that the plainest client works.

mod options;
mod question;
mod results;

use hyper::{Method, StatusCode};

use crate::gate::Gate;
use crate::http::answer::{self, Answer};
use crate::http::door::only;
use crate::http::problem::Problem;
use crate::http::{Received, body};
use options::Options;
use question::{Asked, Question};
use results::{ResultWithLimits, Results};

/// The path under which calls are decided.
pub(crate) const ALLOW: &str = "/v1/allow";

/// The path under which they are only looked at.
pub(crate) const PEEK: &str = "/v1/peek";

/// The path of the API's description.
pub(crate) const OPENAPI: &str = "/openapi.json";

/// What is wanted of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Asks {
    /// That it is decided, and charged if it is allowed.
    ToAllow,
    /// What it would be answered, and that it charges nothing.
    ToPeek,
}

/// Answers what a body asks.
pub(crate) async fn answer(
    mut received: Received,
    gate: &Gate,
    asks: Asks,
) -> Result<Answer, Problem> {
    only(&received, &[Method::POST], "POST")?;
    let query = received.request.uri().query();
    let options = Options::parse(query, asks).map_err(Problem::bad_request)?;
    let body = body::read(received.request.body_mut(), gate, received.door).await?;
    let started = gate.now();
    let asked = Asked::parse(&body).map_err(Problem::bad_request)?;
    let answer = decide(gate, &asked, asks, options).into_answer(options);
    gate.record_answer(received.door, started);
    Ok(answer)
}

/// The API's description, in `OpenAPI` 3.1.
pub(crate) fn openapi() -> Answer {
    answer::of_type(StatusCode::OK, answer::JSON, include_str!("openapi.json"))
}

/// Decides everything that was asked, in order; calls that are charged, by one reading of the clock.
fn decide(gate: &Gate, asked: &Asked<'_>, asks: Asks, options: Options) -> Results {
    match (asked, asks) {
        (Asked::One(question), _) if options.with_limits => {
            Results::OneWithLimits(ResultWithLimits::of(&gate.decide_each(&question.call())))
        }
        (Asked::List(questions), _) if options.with_limits => {
            let decided = questions.iter().map(|question| gate.decide_each(&question.call()));
            Results::ListWithLimits(decided.map(|each| ResultWithLimits::of(&each)).collect())
        }
        (Asked::One(question), Asks::ToAllow) => {
            Results::One((&gate.decide(&question.call())).into())
        }
        (Asked::One(question), Asks::ToPeek) => Results::One((&gate.look(&question.call())).into()),
        (Asked::List(questions), Asks::ToAllow) => {
            let calls: Vec<_> = questions.iter().map(Question::call).collect();
            Results::List(gate.decide_many(&calls).iter().map(Into::into).collect())
        }
        (Asked::List(questions), Asks::ToPeek) => {
            let looks = questions.iter().map(|question| gate.look(&question.call()));
            Results::List(looks.map(|decided| (&decided).into()).collect())
        }
    }
}
