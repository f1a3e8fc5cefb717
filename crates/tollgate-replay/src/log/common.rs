//! The common log format and the combined one: what Apache and nginx write unless told otherwise.
//!
//! ```text
//! 198.18.0.7 - alice [17/May/2015:10:05:03 +0000] "GET /a?q=1 HTTP/1.1" 200 2326 "https://from.example/" "agent"
//! address  ident user  time                        request              status size  referrer            user agent
//! ```
//!
//! The common format ends after the size. Anything may follow the combined one, as Traefik appends a count, its router,
//! the server and a duration; it is not read. Debian's Apache puts `host:port` before the address, which is passed
//! over.
//!
//! The time is the request's start for Apache and Traefik, and its end for nginx, which the line does not tell apart.

use std::borrow::Cow;

use super::time::{TIME_EXPECTED, parse_common_time};
use super::{LoggedRequest, request_line};
use crate::line_fault::LineFault;

pub(super) fn parse(line: &str) -> Result<LoggedRequest<'_>, LineFault> {
    let unknown = |reason| LineFault::UnknownFormat { reason };
    let (who, rest) =
        line.split_once(" [").ok_or_else(|| unknown("there is no time in brackets"))?;
    let (time, rest) =
        rest.split_once("] ").ok_or_else(|| unknown("the time's bracket stays open"))?;
    let (address, user) = address_and_user(who)
        .ok_or_else(|| unknown("no address, identity and user come before the time"))?;
    let start =
        parse_common_time(time).ok_or_else(|| LineFault::wrong("the time", time, TIME_EXPECTED))?;
    let (request, rest) =
        quoted(rest).ok_or_else(|| unknown("no request in quotes comes after the time"))?;
    let (method, target) = request_line(&request)?;
    Ok(LoggedRequest {
        start,
        address: Cow::Borrowed(address),
        user: Some(Cow::Borrowed(user)),
        user_agent: user_agent(rest),
        method,
        target,
    })
}

/// What comes before the time. A user may have spaces.
fn address_and_user(who: &str) -> Option<(&str, &str)> {
    let (first, rest) = who.split_once(' ')?;
    let (address, rest) = match rest.split_once(' ')? {
        (address, rest) if is_host_and_port(first) && rest.contains(' ') => (address, rest),
        _ => (first, rest),
    };
    let (_identity, user) = rest.split_once(' ')?;
    Some((address, user))
}

fn is_host_and_port(text: &str) -> bool {
    let is_port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    text.split_once(':').is_some_and(|(_host, port)| is_port(port))
}

/// The second quoted text after the request: the first is the referrer.
fn user_agent(after_request: &str) -> Option<Cow<'_, str>> {
    let referrer = after_request.find('"')?;
    let (_referrer, rest) = quoted(after_request.get(referrer..)?)?;
    quoted(rest.trim_start()).map(|(agent, _rest)| agent)
}

/// The text within the quotes that `text` begins with, its escapes undone, and what follows it.
fn quoted(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let text = text.strip_prefix('"')?;
    let mut escaped = false;
    let end = text.bytes().position(|byte| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends
    })?;
    let (within, rest) = text.split_at_checked(end)?;
    Some((unescaped(within), rest.strip_prefix('"')?))
}

/// Undoes `\"`, `\\` and the like (Apache) and `\x22` (both). Bytes that make no UTF-8 become replacement characters.
fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('\\') {
        return Cow::Borrowed(text);
    }
    let mut plain = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        let (byte, length) = if *first == b'\\' { escaped_byte(after) } else { (*first, 0) };
        plain.push(byte);
        rest = after.get(length..).unwrap_or_default();
    }
    Cow::Owned(String::from_utf8_lossy(&plain).into_owned())
}

/// What an escape stands for, and how many bytes it takes after its backslash.
fn escaped_byte(after_backslash: &[u8]) -> (u8, usize) {
    match after_backslash {
        [b'x', digits @ ..] => match byte_of_hexadecimal(digits) {
            Some(byte) => (byte, 3),
            None => (b'x', 1),
        },
        [b'n', ..] => (b'\n', 1),
        [b'r', ..] => (b'\r', 1),
        [b't', ..] => (b'\t', 1),
        [plain, ..] => (*plain, 1),
        [] => (b'\\', 0),
    }
}

fn byte_of_hexadecimal(digits: &[u8]) -> Option<u8> {
    let digits = digits.get(..2).filter(|digits| digits.iter().all(u8::is_ascii_hexdigit))?;
    u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::super::tests::{fault, read};
    use super::*;

    const TIME: u64 = 1_796_097_434_000_000_000;

    #[test]
    fn lines_of_real_servers_are_read() {
        for (line, client, endpoint) in [
            // nginx, combined.
            (
                r#"127.0.0.1 - - [01/Dec/2026:03:57:14 +0000] "GET /a%20b?q=1 HTTP/1.1" 200 2 "-" "ua \x22q\x22""#,
                "127.0.0.1",
                "GET /a%20b",
            ),
            // Traefik, combined and more.
            (
                r#"127.0.0.1 - - [01/Dec/2026:03:57:14 +0000] "GET /a%20b?q=1 HTTP/1.1" 404 335 "-" "-" 1 "r@file" "http://127.0.0.1:21080" 5ms"#,
                "127.0.0.1",
                "GET /a%20b",
            ),
            // Apache, common, a user with a space, another zone.
            (
                r#"2001:db8::7 - John Doe [01/Dec/2026:05:57:14 +0200] "POST /b HTTP/1.0" 201 -"#,
                "2001:db8::7",
                "POST /b",
            ),
            // Debian's Apache, with the virtual host before the address.
            (
                r#"example.com:443 198.51.100.7 - - [01/Dec/2026:03:57:14 +0000] "GET / HTTP/1.1" 200 2 "-" "-""#,
                "198.51.100.7",
                "GET /",
            ),
            // Quotes in the path, as Apache and as nginx escape them.
            (
                r#"::1 - - [01/Dec/2026:03:57:14 +0000] "GET /a\"b\\ HTTP/1.1" 200 2"#,
                "::1",
                r#"GET /a"b\"#,
            ),
            (
                r#"::1 - - [01/Dec/2026:03:57:14 +0000] "GET /a\x22b\x5C\xC3\xA9\xFF HTTP/1.1" 200 2"#,
                "::1",
                "GET /a\"b\\é\u{fffd}",
            ),
        ] {
            assert_eq!(read(line), (TIME, client.to_owned(), endpoint.to_owned()), "{line}");
        }
    }

    #[test]
    fn user_and_user_agent_are_found() {
        let line = r#"::1 - John Doe [01/Dec/2026:03:57:14 +0000] "GET / HTTP/1.1" 200 2 "a \"b\"" "ua \x22q\x22" 1 "r""#;
        let request = parse(line).unwrap();
        assert_eq!(request.user.as_deref(), Some("John Doe"));
        assert_eq!(request.user_agent.as_deref(), Some(r#"ua "q""#));
    }

    #[test]
    fn a_broken_line_is_a_fault_that_says_where_it_breaks() {
        for (line, reason) in [
            ("", "there is no time in brackets"),
            ("\u{0}\u{1}binary", "there is no time in brackets"),
            (r#"::1 - - [01/Dec/2026:03:57:14 +0000 "GET"#, "the time's bracket stays open"),
            (
                r#"[01/Dec/2026:03:57:14 +0000] "GET / HTTP/1.1" 200"#,
                "there is no time in brackets",
            ),
            (
                r#"::1 - [01/Dec/2026:03:57:14 +0000] "GET / HTTP/1.1""#,
                "no address, identity and user",
            ),
            (
                r#"::1 - - [1 Dec 2026] "GET / HTTP/1.1" 200"#,
                "the time is 1 Dec 2026; expected a time",
            ),
            (r"::1 - - [01/Dec/2026:03:57:14 +0000] GET / 200", "no request in quotes"),
            (r#"::1 - - [01/Dec/2026:03:57:14 +0000] "GET /a\" 200"#, "no request in quotes"),
        ] {
            assert!(fault(line).contains(reason), "{line}: {}", fault(line));
        }
    }

    #[test]
    fn escapes_that_are_none_stay_as_they_are() {
        for (text, plain) in
            [("a\\", "a\\"), (r"\x4", "x4"), (r"\xzz", "xzz"), (r"\t\n\r\q", "\t\n\rq")]
        {
            assert_eq!(unescaped(text), plain, "{text}");
        }
    }
}
