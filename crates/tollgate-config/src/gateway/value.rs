//! What single values of the section `gateway` look like.

use std::net::{IpAddr, SocketAddr};

use http::{HeaderName, HeaderValue};
use ipnet::IpNet;

use crate::fields::Fields;
use crate::findings::Findings;

pub(super) const ADDRESS: &str = "an address and a port, such as 127.0.0.1:8080";
pub(super) const UPSTREAM: &str = "the server behind, such as http://127.0.0.1:3000";
pub(super) const HEADER_NAME: &str = "the name of a header, such as X-Api-Key";
pub(super) const HOST: &str = "a host name without a port, such as tollgate.internal";
pub(super) const ORIGIN: &str = "an origin, such as https://app.example.com, or *";
pub(super) const ORIGINS: &str = "a list of origins, or [\"*\"] for any";
pub(super) const ANY_ORIGIN: &str = "*";

/// A text that may be left out, and what is made of it.
pub(super) fn text_of<T>(
    fields: &Fields<'_>,
    name: &str,
    expected: &str,
    make: fn(&str) -> Option<T>,
    findings: &mut Findings,
) -> Option<T> {
    let text = fields.optional_text(name, expected, findings)?;
    let value = make(text);
    if let (None, Some(entry)) = (&value, fields.get(name)) {
        findings.wrong(&entry.value, format_args!("`{name}`"), expected);
    }
    value
}

/// `HOST:PORT`, where the host is a name, or an address, in brackets where it is of IPv6.
pub(super) fn address(text: &str) -> Option<String> {
    let of_name = || {
        let (name, port) = text.rsplit_once(':')?;
        (is_host(name) && port.parse::<u16>().is_ok()).then_some(())
    };
    let is_right = text.parse::<SocketAddr>().is_ok() || of_name().is_some();
    is_right.then(|| text.to_owned())
}

fn is_authority(text: &str) -> bool {
    address(text).is_some() || address(&format!("{text}:80")).is_some()
}

/// A name of a host, as DNS has them, or an IPv4 address.
pub(super) fn host(text: &str) -> Option<String> {
    is_host(text).then(|| text.to_owned())
}

fn is_host(text: &str) -> bool {
    let label = |label: &str| {
        let mut letters = label.bytes();
        !label.is_empty()
            && letters.all(|it| it.is_ascii_alphanumeric() || it == b'-' || it == b'_')
    };
    text.len() <= 253 && text.split('.').all(label)
}

/// Whether an address is one that only this machine reaches, as far as it is written.
pub(super) fn is_on_loopback(address: &str) -> bool {
    match address.parse::<SocketAddr>() {
        Ok(address) => address.ip().is_loopback(),
        // What a name resolves to shows when it is listened on.
        Err(_) => true,
    }
}

/// `http://HOST`, with a port where it is not 80.
pub(super) fn upstream(text: &str) -> Option<String> {
    let authority = text.strip_prefix("http://")?;
    is_authority(authority.strip_suffix('/').unwrap_or(authority)).then(|| text.to_owned())
}

pub(super) fn header_name(text: &str) -> Option<HeaderName> {
    HeaderName::try_from(text).ok()
}

/// `SCHEME://HOST`, with a port where need be, as browsers send it; or any.
pub(super) fn origin(text: &str) -> Option<HeaderValue> {
    let is_named = text.split_once("://").is_some_and(|(scheme, authority)| {
        let is_scheme = !scheme.is_empty() && scheme.bytes().all(|it| it.is_ascii_lowercase());
        is_scheme && is_authority(authority)
    });
    let is_right = is_named || text == ANY_ORIGIN;
    HeaderValue::try_from(text).ok().filter(|_| is_right)
}

/// An address, or a network in CIDR notation. The error says what was expected.
pub(super) fn network(text: &str) -> Result<IpNet, String> {
    if let Ok(address) = text.parse::<IpAddr>() {
        return Ok(address.into());
    }
    let Ok(network) = text.parse::<IpNet>() else {
        return Err("an address, or a network such as 10.0.0.0/8".to_owned());
    };
    // It would be another network than it looks like.
    if network != network.trunc() {
        return Err(format!("{}, or {}", network.trunc(), IpNet::from(network.addr())));
    }
    Ok(network)
}
