//! What was said of a request's descriptors, in Envoy's words.
//!
//! Beside the statuses, from which Envoy can make fields of its own, go the same fields and the same body as at the
//! other doors: those of the descriptor that says no and takes longest, or of the one of which least remains.

use http::header::CONTENT_TYPE;
use http::{HeaderMap, StatusCode};
use prost_types::Duration;
use tollgate::RateLimitResult;
use tollgate_http::{Answers, Caller, EntryPolicy};

use super::judge::Said;
use super::wire::rate_limit_response::{Code, DescriptorStatus, RateLimit};
use super::wire::{HeaderValue, RateLimitResponse, Unit};
use crate::http::problem::{PROBLEM_JSON, Problem};

/// What was said of one descriptor, and what clients are told of the limits behind it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Saying<'a> {
    pub(super) said: &'a Said,
    /// The figures, and what clients are told of the limits they are of; none where no limit speaks.
    pub(super) told: Option<(&'a RateLimitResult, &'a EntryPolicy)>,
    /// The unit of time of the limit that speaks.
    pub(super) unit: Unit,
}

/// The answer to a request of one or more descriptors.
pub(super) fn of(sayings: &[Saying<'_>], answers: &Answers) -> RateLimitResponse {
    let denied = sayings.iter().filter(|saying| !saying.said.allows()).max_by_key(|it| it.wait());
    let code = if denied.is_some() { Code::OverLimit } else { Code::Ok };
    let (fields, body) = match denied {
        Some(saying) => saying.denial(answers),
        None => (fields_of_allowed(sayings, answers), Vec::new()),
    };
    RateLimitResponse {
        overall_code: code.into(),
        statuses: sayings.iter().map(Saying::status).collect(),
        response_headers_to_add: to_add(&fields),
        raw_body: body,
    }
}

/// The fields of the result of which least remains, where a limit holds at all.
fn fields_of_allowed(sayings: &[Saying<'_>], answers: &Answers) -> HeaderMap {
    let mut fields = HeaderMap::new();
    let told = sayings.iter().filter_map(|saying| saying.told);
    if let Some((result, policy)) = told.min_by_key(|(result, _)| result.remaining()) {
        answers.add_fields(result, policy, &Caller::default(), &mut fields);
    }
    fields
}

fn to_add(fields: &HeaderMap) -> Vec<HeaderValue> {
    let text = |value: &http::HeaderValue| value.to_str().ok().map(str::to_owned);
    let fields = fields.iter().filter_map(|(name, value)| Some((name, text(value)?)));
    fields.map(|(name, value)| HeaderValue { key: name.as_str().to_owned(), value }).collect()
}

impl Saying<'_> {
    /// How long the descriptor says to wait; longest of all, where no wait will do.
    fn wait(&self) -> u64 {
        self.told.and_then(|(result, _)| result.retry_after_ms()).unwrap_or(u64::MAX)
    }

    /// The fields and the body of a denial.
    fn denial(&self, answers: &Answers) -> (HeaderMap, Vec<u8>) {
        if let Some((result, policy)) = self.told {
            let (parts, body) = answers.denial(result, policy, &Caller::default()).into_parts();
            return (parts.headers, body.into_bytes());
        }
        let detail = if matches!(self.said, Said::Unclear) {
            "the request has a path or another value that can be read in more than one way, so no \
             limit can be found for it; send it in its plain form"
        } else {
            "the limit is no request at all; no wait will help"
        };
        let problem = Problem::new(StatusCode::TOO_MANY_REQUESTS, detail);
        let fields = HeaderMap::from_iter([(CONTENT_TYPE, PROBLEM_JSON)]);
        (fields, problem.to_json())
    }

    fn status(&self) -> DescriptorStatus {
        let code = if self.said.allows() { Code::Ok } else { Code::OverLimit };
        let figures = match self.said {
            Said::Nothing => {
                DescriptorStatus { limit_remaining: u32::MAX, ..DescriptorStatus::default() }
            }
            Said::Unclear => DescriptorStatus::default(),
            Said::Never => {
                let current_limit = Some(self.limit(0, ""));
                DescriptorStatus { current_limit, ..DescriptorStatus::default() }
            }
            Said::Endpoint(result) | Said::Own(result) => self.figures(result),
        };
        DescriptorStatus { code: code.into(), ..figures }
    }

    fn figures(&self, result: &RateLimitResult) -> DescriptorStatus {
        let saturated = |figure: u64| u32::try_from(figure).unwrap_or(u32::MAX);
        let limit = saturated(result.limit());
        let name = result.limit_name().unwrap_or_default();
        // Envoy tells its clients the whole seconds alone: a part of one is one, or a wait would read as none.
        let seconds = i64::try_from(result.reset_after_ms().div_ceil(1_000)).unwrap_or(i64::MAX);
        DescriptorStatus {
            // Where no limit holds, the limit is a number that says so.
            current_limit: (limit < u32::MAX).then(|| self.limit(limit, name)),
            limit_remaining: saturated(result.remaining()),
            duration_until_reset: Some(Duration { seconds, nanos: 0 }),
            ..DescriptorStatus::default()
        }
    }

    fn limit(&self, requests_per_unit: u32, name: &str) -> RateLimit {
        RateLimit { requests_per_unit, unit: self.unit.into(), name: name.to_owned() }
    }
}
