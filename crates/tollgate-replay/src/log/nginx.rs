//! A JSON access log whose fields an administrator named: nginx with `escape=json`, Apache with a `LogFormat` of its
//! own.
//!
//! The usual names are known. Of several times the finest counts. nginx writes the line when the request ends, so
//! `request_time` (seconds) is subtracted where it is there.

use std::borrow::Cow;

use super::field::Field;
use super::time::start_of;
use super::{LoggedRequest, request_line};
use crate::json::Fields;
use crate::line_fault::LineFault;

const END: Field =
    Field::time(&["msec", "@timestamp", "timestamp", "ts", "time_iso8601", "time", "time_local"]);
const DURATION: Field = Field::duration(&["request_time", "rt"]);
const ADDRESS: Field = Field::text(
    &[
        "remote_addr",
        "client_ip",
        "clientip",
        "clientIp",
        "remote_ip",
        "remoteIP",
        "client",
        "ip",
        "remote_host",
    ],
    "the client's address",
);
const USER: Field = Field::text(&["remote_user", "user"], "the user");
const USER_AGENT: Field =
    Field::text(&["http_user_agent", "user_agent", "userAgent", "agent"], "the user agent");
const REQUEST: Field =
    Field::text(&["request", "request_line"], "the request, or a method and a path");
const METHOD: Field = Field::text(&["request_method", "method"], "the method");
const TARGET: Field = Field::text(&["request_uri", "uri", "path", "url", "request"], "the path");

pub(super) fn parse<'a>(fields: &Fields<'a>) -> Result<LoggedRequest<'a>, LineFault> {
    if END.find(fields).is_none() && ADDRESS.find(fields).is_none() {
        let reason = "its fields are those of no known log, and an event line has `atMs`";
        return Err(LineFault::UnknownFormat { reason });
    }
    let start = start_of(END.require_time(fields)?, DURATION.duration_ns(fields)?);
    let (method, target) = method_and_target(fields)?;
    Ok(LoggedRequest {
        start,
        address: ADDRESS.require(fields)?,
        user: USER.find(fields),
        user_agent: USER_AGENT.find(fields),
        method,
        target,
    })
}

/// From the request line, or from fields of their own; `request` may be a path beside a method.
fn method_and_target<'a>(fields: &Fields<'a>) -> Result<(Cow<'a, str>, Cow<'a, str>), LineFault> {
    let method = METHOD.find(fields).filter(|method| !method.is_empty());
    match (REQUEST.find(fields).as_ref().map(request_line), method) {
        (Some(Ok(parts)), _) => Ok(parts),
        (_, Some(method)) => Ok((method, TARGET.require(fields)?)),
        (Some(Err(fault)), None) => Err(fault),
        (None, None) => Err(REQUEST.missing()),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{fault, read};

    #[test]
    fn the_usual_names_are_known() {
        for (line, nanos) in [
            (
                r#"{"time":"2026-12-01T03:57:14+00:00","msec":"1796097434.876","remote_addr":"::1","request":"GET /a?q=1 HTTP/1.1","status":200,"rt":0.076}"#,
                1_796_097_434_800_000_000,
            ),
            (
                r#"{"time_iso8601":"2026-12-01T04:57:14+01:00","client":"::1","method":"GET","uri":"/a?q","request_time":"0.000"}"#,
                1_796_097_434_000_000_000,
            ),
            (
                r#"{"@timestamp":"2026-12-01T03:57:14.5Z","remote_ip":"::1","request_method":"GET","request_uri":"/a"}"#,
                1_796_097_434_500_000_000,
            ),
            (
                r#"{"time":"[01/Dec/2026:03:57:14 +0000]","remoteIP":"::1","request":"/a","query":"?q","method":"GET","userAgent":"x"}"#,
                1_796_097_434_000_000_000,
            ),
        ] {
            assert_eq!(read(line), (nanos, "::1".into(), "GET /a".into()), "{line}");
        }
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        for (line, message) in [
            (
                "{}",
                "neither an event line nor an access log line: its fields are those of no known log",
            ),
            (
                r#"{"time":"2026-12-01T03:57:14Z","request":"GET / HTTP/1.1"}"#,
                "missing `remote_addr` or",
            ),
            (r#"{"remote_addr":"::1","request":"GET / HTTP/1.1"}"#, "missing `msec` or"),
            (
                r#"{"time":"noon","remote_addr":"::1","request":"GET / HTTP/1.1"}"#,
                r#"`time` is "noon"; expected"#,
            ),
            (
                r#"{"msec":1,"rt":"-","remote_addr":"::1","request":"GET / HTTP/1.1"}"#,
                r#"`rt` is "-"; expected seconds"#,
            ),
            (
                r#"{"msec":1,"remote_addr":"::1","request":"\u0016\u0003","method":""}"#,
                "the request is ",
            ),
            (r#"{"msec":1,"remote_addr":"::1","method":"GET"}"#, "missing `request_uri` or"),
            (r#"{"msec":1,"remote_addr":"::1"}"#, "missing `request` or `request_line`"),
        ] {
            assert!(fault(line).starts_with(message), "{line}: {}", fault(line));
        }
    }
}
