//! Traefik's JSON access log.
//!
//! `StartUTC` is the request's start, to the nanosecond. Where it is dropped, the line's `time` is the end, in whole
//! seconds, and `Duration` counts nanoseconds. Headers are dropped unless Traefik is told to keep them.

use tollgate::Time;

use super::LoggedRequest;
use super::field::Field;
use super::time::start_of;
use crate::decimal;
use crate::json::Fields;
use crate::line_fault::LineFault;

const START: Field = Field::time(&["StartUTC", "StartLocal"]);
const END: Field = Field::time(&["time"]);
const DURATION: Field = Field::text(&["Duration"], "nanoseconds, a whole number");
const ADDRESS: Field = Field::text(&["ClientHost"], "the client's address");
const USER: Field = Field::text(&["ClientUsername"], "the user");
const USER_AGENT: Field = Field::text(&["request_User-Agent"], "the user agent");
const METHOD: Field = Field::text(&["RequestMethod"], "the method");
const TARGET: Field = Field::text(&["RequestPath"], "the path");

/// Only Traefik spells its fields so.
pub(super) fn recognises(fields: &Fields<'_>) -> bool {
    ["ClientHost", "RequestMethod", "RequestPath"].iter().any(|name| fields.has(name))
}

pub(super) fn parse<'a>(fields: &Fields<'a>) -> Result<LoggedRequest<'a>, LineFault> {
    Ok(LoggedRequest {
        start: start(fields)?,
        address: ADDRESS.require(fields)?,
        user: USER.find(fields),
        user_agent: USER_AGENT.find(fields),
        method: METHOD.require(fields)?,
        target: TARGET.require(fields)?,
    })
}

fn start(fields: &Fields<'_>) -> Result<Time, LineFault> {
    if let Some(start) = START.read_time(fields)? {
        return Ok(start);
    }
    let end = END.read_time(fields)?.ok_or_else(|| START.missing())?;
    let duration_ns = DURATION.read(fields, |text| decimal::scaled(text, 0).ok())?;
    Ok(start_of(end, duration_ns.unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::super::tests::{fault, read};

    #[test]
    fn a_line_is_read_at_its_start() {
        let line = r#"{"ClientHost":"127.0.0.1","RequestMethod":"GET","RequestPath":"/a%20b?q=1","DownstreamStatus":429,"Duration":715457,"StartUTC":"2026-12-01T03:57:14.928303156Z","time":"2026-12-01T03:57:14Z"}"#;
        let expected = (1_796_097_434_928_303_156, "127.0.0.1".into(), "GET /a%20b".into());
        assert_eq!(read(line), expected);
    }

    #[test]
    fn a_line_without_its_start_is_read_by_its_end_and_duration() {
        let line = r#"{"ClientHost":"::1","RequestMethod":"GET","RequestPath":"/","Duration":500000000,"time":"2026-12-01T04:57:14+01:00"}"#;
        assert_eq!(read(line), (1_796_097_433_500_000_000, "::1".into(), "GET /".into()));
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        for (line, message) in [
            (
                r#"{"ClientHost":"::1","RequestMethod":"GET","RequestPath":"/"}"#,
                "missing `StartUTC` or `StartLocal`",
            ),
            (
                r#"{"RequestMethod":"GET","StartUTC":"2026-12-01T03:57:14Z"}"#,
                "missing `ClientHost`",
            ),
            (
                r#"{"ClientHost":"::1","RequestMethod":"GET","RequestPath":"/","Duration":"5ms","time":"2026-12-01T03:57:14Z"}"#,
                r#"`Duration` is "5ms"; expected nanoseconds"#,
            ),
        ] {
            assert!(fault(line).starts_with(message), "{line}: {}", fault(line));
        }
    }
}
