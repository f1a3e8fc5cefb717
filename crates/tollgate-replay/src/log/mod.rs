//! Access logs as real servers write them: one file a format, and the recognition of each line.

mod caddy;
mod common;
mod field;
mod naming;
mod nginx;
mod time;
mod traefik;

use std::borrow::Cow;

use tollgate::Time;

pub(crate) use naming::Naming;
pub use naming::{ClientFrom, EndpointFrom, UnknownChoice};

use crate::event::Event;
use crate::json::Fields;
use crate::line_fault::LineFault;

/// What the times of a recording count from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Origin {
    /// A moment of the recording's own, as in event lines.
    Recording,
    /// The start of 1970 in UTC, as in access logs.
    UnixEpoch,
}

/// A request as its log line has it.
#[derive(Debug, PartialEq, Eq)]
struct LoggedRequest<'a> {
    /// When it began, in nanoseconds since 1970.
    start: Time,
    address: Cow<'a, str>,
    user: Option<Cow<'a, str>>,
    user_agent: Option<Cow<'a, str>>,
    method: Cow<'a, str>,
    /// As it was sent: the path with its query, in most cases.
    target: Cow<'a, str>,
}

/// Reads a line of any format, event lines among them, and says what its time counts from.
pub(crate) fn parse_line(line: &str, naming: &Naming) -> Result<(Event, Origin), LineFault> {
    if !line.trim_start().starts_with('{') {
        return Ok((naming.event(&common::parse(line)?, None)?, Origin::UnixEpoch));
    }
    let fields = Fields::parse(line)?;
    if fields.has("atMs") || (fields.has("client") && fields.has("endpoint")) {
        return Ok((Event::from_fields(&fields)?, Origin::Recording));
    }
    let request = match caddy::recognise(&fields) {
        Some(request) => caddy::parse(&fields, &request),
        None if traefik::recognises(&fields) => traefik::parse(&fields),
        None => nginx::parse(&fields),
    }?;
    Ok((naming.event(&request, Some(&fields))?, Origin::UnixEpoch))
}

/// Method and target of a request line, `GET /path HTTP/1.1`.
///
/// Servers also log what was no request: nothing on a connection that timed out, or the start of a TLS handshake. No
/// limiter sees those, so they are faults.
fn request_line<'a>(request: &Cow<'a, str>) -> Result<(Cow<'a, str>, Cow<'a, str>), LineFault> {
    let parts = match request {
        Cow::Borrowed(request) => {
            split_request(request).map(|(method, target)| (method.into(), target.into()))
        }
        Cow::Owned(request) => split_request(request)
            .map(|(method, target)| (method.to_owned().into(), target.to_owned().into())),
    };
    let expected = "METHOD TARGET PROTOCOL, such as GET /path HTTP/1.1";
    parts.ok_or_else(|| LineFault::wrong("the request", request, expected))
}

fn split_request(request: &str) -> Option<(&str, &str)> {
    let (method, rest) = request.split_once(' ')?;
    let (target, complete) = match rest.rsplit_once(' ') {
        Some((target, protocol)) if protocol.starts_with("HTTP/") => (target, true),
        _ => (rest, false),
    };
    let is_target = target.starts_with('/') || (complete && !target.is_empty());
    let is_method = !method.is_empty() && method.bytes().all(|byte| byte.is_ascii_graphic());
    (is_target && is_method).then_some((method, target))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Reads a line, and gives start in nanoseconds, client and endpoint.
    pub(super) fn read(line: &str) -> (u64, String, String) {
        let (event, origin) = parse_line(line, &Naming::default()).unwrap();
        assert_eq!(origin, Origin::UnixEpoch);
        (event.at.as_nanos(), event.client, event.endpoint)
    }

    pub(super) fn fault(line: &str) -> String {
        parse_line(line, &Naming::default()).unwrap_err().to_string()
    }

    #[test]
    fn event_lines_are_known_by_their_fields() {
        let line = r#"{"atMs":1,"client":"a","endpoint":"/x"}"#;
        let event = Event::new(Time::from_millis(1), "a", "/x");
        assert_eq!(parse_line(line, &Naming::default()), Ok((event, Origin::Recording)));
        let misspelt = r#"{"atms":1,"client":"a","endpoint":"/x"}"#;
        assert_eq!(fault(misspelt), "unknown field `atms`; did you mean `atMs`?");
    }

    #[test]
    fn json_may_be_nested_as_deep_as_a_line_is_long() {
        let deep = format!(r#"{{"a":{}"#, "[".repeat(1_000_000));
        assert_eq!(fault(&deep), "no JSON: EOF while parsing a list at column 1000005");
    }

    #[test]
    fn what_was_no_request_is_a_fault() {
        for request in ["-", "", "\\x16\\x03\\x01", "GET", "GET ", " / HTTP/1.1", "quit now"] {
            let line = format!(r#"1.2.3.4 - - [17/May/2015:10:05:03 +0000] "{request}" 400 0"#);
            assert!(fault(&line).starts_with("the request is "), "{line}: {}", fault(&line));
        }
        assert_eq!(split_request("GET /a b HTTP/1.1"), Some(("GET", "/a b")));
        assert_eq!(split_request("GET /old"), Some(("GET", "/old")));
        let tunnel = "CONNECT example.com:443 HTTP/1.1";
        assert_eq!(split_request(tunnel), Some(("CONNECT", "example.com:443")));
    }

    #[test]
    fn a_client_can_be_another_part_of_the_request() {
        let common =
            r#"1.2.3.4 - alice [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 2 "-" "curl/8""#;
        let anonymous = r#"1.2.3.4 - - [17/May/2015:10:05:03 +0000] "GET / HTTP/1.1" 200 2"#;
        let caddy = r#"{"ts":1,"user_id":"","request":{"client_ip":"1.2.3.4","method":"GET","uri":"/","headers":{"User-Agent":["curl/8"],"X-Api-Key":["k1","k2"]}}}"#;
        for (choice, line, client) in [
            ("user", common, "alice"),
            ("user", anonymous, "1.2.3.4"),
            ("user", caddy, "1.2.3.4"),
            ("user-agent", common, "curl/8"),
            ("user-agent", anonymous, "-"),
            ("user-agent", caddy, "curl/8"),
            ("field:request.headers.X-Api-Key", caddy, "k1"),
            ("field:ts", caddy, "1"),
        ] {
            let naming = Naming { client: choice.parse().unwrap(), ..Naming::default() };
            assert_eq!(parse_line(line, &naming).unwrap().0.client, client, "{choice} of {line}");
        }
        let naming = Naming { client: "field:key".parse().unwrap(), ..Naming::default() };
        for line in [common, caddy] {
            assert_eq!(
                parse_line(line, &naming).unwrap_err().to_string(),
                "missing `key`; expected the client, a string or number in a JSON log",
            );
        }
    }

    #[test]
    fn an_endpoint_can_be_the_path_or_one_for_all() {
        let line = r#"1.2.3.4 - - [17/May/2015:10:05:03 +0000] "GET /a?q HTTP/1.1" 200 2"#;
        for (choice, endpoint) in [("method-path", "GET /a"), ("path", "/a"), ("*", "*")] {
            let naming = Naming { endpoint: choice.parse().unwrap(), ..Naming::default() };
            assert_eq!(parse_line(line, &naming).unwrap().0.endpoint, endpoint);
        }
    }

    proptest! {
        #[test]
        fn any_line_is_an_event_or_a_fault_that_can_be_shown(line in ".*", cut in 0_usize..200) {
            let samples = [
                "",
                r#"::1 - a b [01/Dec/2026:03:57:14 +0000] "GET /a\x22 HTTP/1.1" 200 2 "-" "ua \"q\"" 1 "r" 5ms"#,
                r#"{"ts":1796097434.893378,"request":{"client_ip":"::1","method":"GET","uri":"/a"},"duration":"1ms"}"#,
            ];
            for sample in samples {
                let (head, tail) = (sample.chars().take(cut), sample.chars().skip(cut));
                let spliced: String = head.chain(line.chars()).chain(tail).collect();
                if let Err(fault) = parse_line(&spliced, &Naming::default()) {
                    prop_assert!(!fault.to_string().contains(char::is_control));
                }
            }
        }
    }
}
