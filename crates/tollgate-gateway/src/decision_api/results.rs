//! What was decided, and how it is answered.

use hyper::StatusCode;
use hyper::header::{CACHE_CONTROL, HeaderValue, RETRY_AFTER};
use serde::Serialize;
use tollgate::DecidedEach;
use tollgate_json::ResultJson;

use super::options::Options;
use crate::http::answer::{self, Answer};

/// What was decided.
pub(super) enum Results {
    One(ResultJson),
    List(Vec<ResultJson>),
    OneWithLimits(ResultWithLimits),
    ListWithLimits(Vec<ResultWithLimits>),
}

/// A result, and what each limit behind it says.
#[derive(Serialize)]
pub(super) struct ResultWithLimits {
    #[serde(flatten)]
    result: ResultJson,
    limits: Vec<LimitJson>,
}

/// What one limit says.
#[derive(Serialize)]
struct LimitJson {
    scope: &'static str,
    mode: &'static str,
    #[serde(flatten)]
    result: ResultJson,
}

impl ResultWithLimits {
    pub(super) fn of(each: &DecidedEach) -> Self {
        let limits = each.limits.iter().map(|limit| LimitJson {
            scope: limit.scope.word(),
            mode: limit.mode.word(),
            result: (&limit.result).into(),
        });
        Self { result: (&each.decided).into(), limits: limits.collect() }
    }
}

impl Results {
    /// The answer in HTTP. Where denials show in the status, one of them is enough.
    pub(super) fn into_answer(self, options: Options) -> Answer {
        let waits_ms = if options.denials_show { self.waits_of_denials() } else { Vec::new() };
        if waits_ms.is_empty() {
            return self.into_json(StatusCode::OK);
        }
        let mut answer = self.into_json(StatusCode::TOO_MANY_REQUESTS);
        let headers = answer.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        // All of them would be allowed no sooner than the last. Where one has no wait there is no promise.
        let waits_ms: Option<Vec<u64>> = waits_ms.into_iter().collect();
        if let Some(wait_ms) = waits_ms.and_then(|waits_ms| waits_ms.into_iter().max()) {
            headers.insert(RETRY_AFTER, HeaderValue::from(wait_ms.div_ceil(1_000)));
        }
        answer
    }

    fn waits_of_denials(&self) -> Vec<Option<u64>> {
        let results: Vec<&ResultJson> = match self {
            Self::One(result) => vec![result],
            Self::List(results) => results.iter().collect(),
            Self::OneWithLimits(one) => vec![&one.result],
            Self::ListWithLimits(list) => list.iter().map(|one| &one.result).collect(),
        };
        let denied = results.into_iter().filter(|result| !result.allowed);
        denied.map(|result| result.retry_after_ms).collect()
    }

    fn into_json(self, status: StatusCode) -> Answer {
        match self {
            Self::One(result) => answer::json(status, &result),
            Self::List(results) => answer::json(status, &results),
            Self::OneWithLimits(result) => answer::json(status, &result),
            Self::ListWithLimits(results) => answer::json(status, &results),
        }
    }
}
