//! Caddy's JSON access log.
//!
//! `ts` is the request's end, so its `duration` is subtracted. `client_ip`, which heeds trusted proxies, goes before
//! `remote_ip`. Caddy blanks headers that carry credentials, so those cannot name clients.

use super::LoggedRequest;
use super::field::Field;
use super::time::start_of;
use crate::json::{Fields, Value};
use crate::line_fault::LineFault;

const END: Field = Field::time(&["ts"]);
const DURATION: Field = Field::duration(&["duration"]);
const USER: Field = Field::text(&["user_id"], "the user");
const ADDRESS: Field =
    Field::text(&["client_ip", "remote_ip"], "the client's address in `request`");
const METHOD: Field = Field::text(&["method"], "the method in `request`");
const TARGET: Field = Field::text(&["uri"], "the path in `request`");

/// Only Caddy has an object for the request.
pub(super) fn recognise<'a>(fields: &Fields<'a>) -> Option<Fields<'a>> {
    fields.value("request").and_then(Value::fields)
}

/// Reads a line whose `request` holds the fields given beside it.
pub(super) fn parse<'a>(
    fields: &Fields<'a>,
    request: &Fields<'a>,
) -> Result<LoggedRequest<'a>, LineFault> {
    Ok(LoggedRequest {
        start: start_of(END.require_time(fields)?, DURATION.duration_ns(fields)?),
        address: ADDRESS.require(request)?,
        user: USER.find(fields),
        user_agent: request.scalar_at("headers.User-Agent"),
        method: METHOD.require(request)?,
        target: TARGET.require(request)?,
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::{fault, read};

    #[test]
    fn a_request_begins_its_duration_before_the_lines_time() {
        let line = r#"{"level":"info","ts":1796097434.893378,"logger":"http.log.access","msg":"handled request","request":{"remote_ip":"127.0.0.1","remote_port":"4","client_ip":"198.51.100.7","proto":"HTTP/1.1","method":"GET","host":"localhost","uri":"/a%20b?q=1","headers":{"Authorization":["REDACTED"]}},"duration":0.000105,"status":200}"#;
        let expected = (1_796_097_434_893_273_000, "198.51.100.7".into(), "GET /a%20b".into());
        assert_eq!(read(line), expected);
    }

    #[test]
    fn times_and_durations_may_be_text() {
        let line = r#"{"ts":"2026-12-01T03:57:14.500+0000","request":{"remote_ip":"::1","method":"GET","uri":"/"},"duration":"250ms"}"#;
        assert_eq!(read(line), (1_796_097_434_250_000_000, "::1".into(), "GET /".into()));
        let line = r#"{"ts":"01/Dec/2026:03:57:14 +0000","request":{"remote_ip":"::1","method":"GET","uri":"/"}}"#;
        assert_eq!(read(line), (1_796_097_434_000_000_000, "::1".into(), "GET /".into()));
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        for (line, message) in [
            (
                r#"{"ts":1,"request":{"method":"GET","uri":"/"}}"#,
                "missing `client_ip` or `remote_ip`",
            ),
            (r#"{"request":{"client_ip":"::1","method":"GET","uri":"/"}}"#, "missing `ts`"),
            (
                r#"{"ts":true,"request":{"client_ip":"::1","method":"GET","uri":"/"}}"#,
                "`ts` is true",
            ),
            (
                r#"{"ts":1,"duration":"long","request":{"client_ip":"::1","method":"GET","uri":"/"}}"#,
                r#"`duration` is "long"; expected seconds"#,
            ),
        ] {
            assert!(fault(line).starts_with(message), "{line}: {}", fault(line));
        }
    }
}
