//! What single values of the section `gateway` look like.

use std::net::{IpAddr, SocketAddr};

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

/// A text that may be left out, and is checked.
pub(super) fn text_of(
    fields: &Fields<'_>,
    name: &str,
    expected: &str,
    is_right: fn(&str) -> bool,
    findings: &mut Findings,
) -> Option<String> {
    let text = fields.optional_text(name, expected, findings)?;
    if is_right(text) {
        return Some(text.to_owned());
    }
    let node = &fields.get(name)?.value;
    findings.wrong(node, format_args!("`{name}`"), expected);
    None
}

/// `HOST:PORT`, where the host is a name, or an address, in brackets where it is of IPv6.
pub(super) fn address(text: &str) -> bool {
    if text.parse::<SocketAddr>().is_ok() {
        return true;
    }
    let Some((name, port)) = text.rsplit_once(':') else { return false };
    host(name) && port.parse::<u16>().is_ok()
}

/// A name of a host, as DNS has them, or an IPv4 address.
pub(super) fn host(text: &str) -> bool {
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
pub(super) fn upstream(text: &str) -> bool {
    let Some(authority) = text.strip_prefix("http://") else { return false };
    let authority = authority.strip_suffix('/').unwrap_or(authority);
    address(authority) || address(&format!("{authority}:80"))
}

/// A token of RFC 9110.
pub(super) fn header_name(text: &str) -> bool {
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !text.is_empty() && text.bytes().all(is_token)
}

/// `SCHEME://HOST`, with a port where need be, as browsers send it; or any.
pub(super) fn origin(text: &str) -> bool {
    let Some((scheme, authority)) = text.split_once("://") else { return text == ANY_ORIGIN };
    let is_scheme = !scheme.is_empty() && scheme.bytes().all(|it| it.is_ascii_lowercase());
    is_scheme && (address(authority) || address(&format!("{authority}:80")))
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
