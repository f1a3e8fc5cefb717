//! The names of fields that say where a request came from.

use http::HeaderName;

/// The fields by which proxies hand on what they saw.
const FORWARDING: [&str; 14] = [
    "cf-connecting-ip",
    "cf-connecting-ipv6",
    "client-ip",
    "fastly-client-ip",
    "forwarded",
    "true-client-ip",
    "x-client-ip",
    "x-cluster-client-ip",
    "x-forwarded-for",
    "x-forwarded-host",
    "x-forwarded-port",
    "x-forwarded-proto",
    "x-forwarded-server",
    "x-real-ip",
];

/// Whether a field is one by which proxies hand on what they saw of a client: a gateway takes it out of a request that
/// does not come from a proxy it trusts, and sets its own.
///
/// ```
/// use http::header::{FORWARDED, HOST};
///
/// assert!(tollgate_http::is_forwarding_field(&FORWARDED));
/// assert!(!tollgate_http::is_forwarding_field(&HOST));
/// ```
pub fn is_forwarding_field(name: &HeaderName) -> bool {
    FORWARDING.contains(&name.as_str())
}

/// Whether a field reads like a [forwarding field](is_forwarding_field), or like one of `others`, once underscores are
/// hyphens, and is none: upstreams that fold the two together take it for the true one, so a gateway lets none through.
/// Nothing here ever reads one.
///
/// ```
/// use http::HeaderName;
/// use tollgate_http::is_underscore_twin;
///
/// let is_twin = |name| is_underscore_twin(&HeaderName::from_static(name), &[]);
/// assert!(is_twin("x_forwarded-for"));
/// assert!(!is_twin("x-forwarded-for"));
/// assert!(!is_twin("x_api_key"));
/// ```
pub fn is_underscore_twin(name: &HeaderName, others: &[HeaderName]) -> bool {
    let name = name.as_str();
    let hyphens = |byte: u8| if byte == b'_' { b'-' } else { byte };
    let is_twin_of = |of: &str| name.bytes().map(hyphens).eq(of.bytes().map(hyphens)) && name != of;
    let others = others.iter().map(HeaderName::as_str);
    name.contains('_') && FORWARDING.iter().copied().chain(others).any(is_twin_of)
}
