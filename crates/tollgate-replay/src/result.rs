//! A decision as JSON: the result alone, as a decision API answers it, and a line that repeats the event before it.

use std::io::{self, Write};

use serde::{Serialize, Serializer};
use tollgate::{CallError, CostExceedsLimit, Decided, RateLimitResult};

use crate::event::Event;

/// The result of a call as JSON, the same wherever one is written.
///
/// ```
/// use tollgate::{Config, ManualClock, RateLimiter, TokenBucket};
/// use tollgate_replay::ResultJson;
///
/// let config = Config::builder().default(TokenBucket::per_second(1).burst(10)).build()?;
/// let limiter = RateLimiter::builder(config).clock(ManualClock::new()).build();
/// let result = ResultJson::from(&limiter.allow_n("alice", "/x", 1));
/// assert_eq!(
///     serde_json::to_string(&result)?,
///     r#"{"allowed":true,"remaining":9,"retryAfterMs":null,"limit":10,"resetAfterMs":1000}"#,
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResultJson {
    /// Whether the call may proceed.
    pub allowed: bool,
    /// How many calls of cost 1 would be allowed right now, after this one.
    pub remaining: u64,
    /// Milliseconds after which the same call would be allowed; `null` where it was, or where no wait will do.
    pub retry_after_ms: Option<u64>,
    /// The quota.
    pub limit: u64,
    /// Milliseconds until the whole quota is back if nobody calls.
    pub reset_after_ms: u64,
    /// The limit these figures are of; left out where the endpoint's limits have no names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_name: Option<&'static str>,
    /// Why no wait will do; left out where there is no error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ResultError>,
}

/// What else can be the matter with a call than that it comes too soon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResultError {
    /// The cost is above the limit.
    CostExceedsLimit,
    /// A limit counts by tenant, and the call names none.
    TenantMissing,
}

impl ResultError {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CostExceedsLimit => "costExceedsLimit",
            Self::TenantMissing => "tenantMissing",
        }
    }

    fn of(error: &CallError) -> Option<Self> {
        match error {
            CallError::CostExceedsLimit(_) => Some(Self::CostExceedsLimit),
            CallError::TenantMissing(_) => Some(Self::TenantMissing),
            _ => None,
        }
    }

    pub(crate) fn of_name(name: &str) -> Option<Self> {
        [Self::CostExceedsLimit, Self::TenantMissing].into_iter().find(|error| error.name() == name)
    }
}

impl Serialize for ResultError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl From<&Decided> for ResultJson {
    fn from(decided: &Decided) -> Self {
        match decided {
            Ok(result) => Self::new(result, None),
            Err(error) => Self::new(&error.result(), ResultError::of(error)),
        }
    }
}

/// What [`RateLimiter::allow_n`](tollgate::RateLimiter::allow_n) answers.
impl From<&Result<RateLimitResult, CostExceedsLimit>> for ResultJson {
    fn from(decided: &Result<RateLimitResult, CostExceedsLimit>) -> Self {
        Self::from(&decided.map_err(CallError::from))
    }
}

impl ResultJson {
    fn new(result: &RateLimitResult, error: Option<ResultError>) -> Self {
        Self {
            allowed: result.allowed(),
            remaining: result.remaining(),
            retry_after_ms: result.retry_after_ms(),
            limit: result.limit(),
            reset_after_ms: result.reset_after_ms(),
            limit_name: result.limit_name(),
            error,
        }
    }
}

/// Writes a decision line: the event, then the result of deciding it, as one line of JSON. The `atMs` of an event
/// from an access log counts from 1970.
///
/// # Errors
/// Those of the writer.
pub fn write_decision(writer: &mut impl Write, event: &Event, decided: &Decided) -> io::Result<()> {
    let line = DecisionLine { event, result: decided.into() };
    serde_json::to_writer(&mut *writer, &line)?;
    writer.write_all(b"\n")
}

#[derive(Serialize)]
struct DecisionLine<'a> {
    #[serde(flatten)]
    event: &'a Event,
    #[serde(flatten)]
    result: ResultJson,
}

#[cfg(test)]
mod tests {
    use tollgate::{Config, ManualClock, RateLimiter, Time, TokenBucket};

    use super::*;

    #[test]
    fn a_decision_line_repeats_the_event_and_adds_the_result() {
        let config =
            Config::builder().default(TokenBucket::per_second(1).burst(10)).build().unwrap();
        let limiter = RateLimiter::builder(config).clock(ManualClock::new()).build();
        let alice = Event::new(Time::from_nanos(12_500_000), "alice", "GET /x");
        for (event, line) in [
            (
                alice.clone(),
                r#"{"atMs":12.5,"client":"alice","endpoint":"GET /x","cost":1,"allowed":true,"remaining":9,"retryAfterMs":null,"limit":10,"resetAfterMs":1000}"#,
            ),
            (
                alice.clone().cost(10),
                r#"{"atMs":12.5,"client":"alice","endpoint":"GET /x","cost":10,"allowed":false,"remaining":9,"retryAfterMs":1000,"limit":10,"resetAfterMs":1000}"#,
            ),
            (
                alice.cost(11),
                r#"{"atMs":12.5,"client":"alice","endpoint":"GET /x","cost":11,"allowed":false,"remaining":9,"retryAfterMs":null,"limit":10,"resetAfterMs":1000,"error":"costExceedsLimit"}"#,
            ),
        ] {
            let mut written = Vec::new();
            write_decision(&mut written, &event, &limiter.decide(&event.call())).unwrap();
            assert_eq!(String::from_utf8(written).unwrap(), format!("{line}\n"));
        }
    }
}
