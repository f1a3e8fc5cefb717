//! A line that repeats an event and adds how it was decided.

use std::io::{self, Write};

use serde::Serialize;
use tollgate::Decided;
use tollgate_json::ResultJson;

use crate::event::Event;

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
