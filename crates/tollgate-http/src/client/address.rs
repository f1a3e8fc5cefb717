//! Addresses: how they are read, and what is one client's.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The longest text of an address in a field: an IPv6 address with brackets and a port.
const TEXT_MAX: usize = "[0000:0000:0000:0000:0000:0000:255.255.255.255]:65535".len();

/// The prefix under which translators put an IPv4 address into an IPv6 one, RFC 6052.
const TRANSLATED: [u16; 6] = [0x64, 0xff9b, 0, 0, 0, 0];

/// What counts as one client: an IPv4 address, or the network of an IPv6 address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Network {
    V4(Ipv4Addr),
    V6 { network: Ipv6Addr, prefix: u8 },
}

impl Network {
    /// The client's that has this address. `prefix` is the length of an IPv6 client's network.
    pub(super) fn of(address: IpAddr, prefix: u8) -> Self {
        match unmapped(address) {
            IpAddr::V4(address) => Self::V4(address),
            IpAddr::V6(address) => match translated(address) {
                Some(address) => Self::V4(address),
                None => Self::V6 { network: cut(address, prefix), prefix },
            },
        }
    }
}

impl fmt::Display for Network {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::V4(address) => address.fmt(f),
            Self::V6 { network, prefix: 128 } => network.fmt(f),
            Self::V6 { network, prefix } => write!(f, "{network}/{prefix}"),
        }
    }
}

/// The address, with an IPv4 one that is mapped into IPv6 as itself. By its bits: `::ffff:1.2.3.4` has two spellings.
pub(super) fn unmapped(address: IpAddr) -> IpAddr {
    address.to_canonical()
}

/// The IPv4 address behind a translator. Only addresses of the open internet are translated: one that seems to be
/// private or local was made up.
fn translated(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [.., high, low] = address.segments();
    if !address.segments().starts_with(&TRANSLATED) {
        return None;
    }
    let bits = u32::from(high).checked_shl(16)? | u32::from(low);
    let address = Ipv4Addr::from_bits(bits);
    let is_local = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_unspecified()
        || address.is_multicast()
        || address.is_broadcast();
    (!is_local).then_some(address)
}

fn cut(address: Ipv6Addr, prefix: u8) -> Ipv6Addr {
    let below = 128_u32.saturating_sub(u32::from(prefix));
    let mask = u128::MAX.checked_shl(below).unwrap_or(0);
    Ipv6Addr::from_bits(address.to_bits() & mask)
}

/// Reads an address as fields have it: with or without a port, an IPv6 one with or without brackets. `None` where it is
/// none: a name, `unknown`, an address with a zone or with leading zeros.
pub(super) fn read(element: &[u8]) -> Option<IpAddr> {
    if element.len() > TEXT_MAX {
        return None;
    }
    let text = std::str::from_utf8(element).ok()?;
    if let Some(rest) = text.strip_prefix('[') {
        let (address, port) = rest.split_once(']')?;
        let address = address.parse::<Ipv6Addr>().ok()?;
        return is_port(port).then_some(address.into());
    }
    if let Ok(address) = text.parse() {
        return Some(address);
    }
    let (address, port) = text.split_at_checked(text.find(':')?)?;
    let address = address.parse::<Ipv4Addr>().ok()?;
    is_port(port).then_some(address.into())
}

/// Nothing, or a port behind its colon. RFC 7239 lets proxies hide it behind a name that begins with `_`.
fn is_port(text: &str) -> bool {
    let Some(port) = text.strip_prefix(':') else { return text.is_empty() };
    let belongs = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-');
    match port.strip_prefix('_') {
        Some(name) => !name.is_empty() && name.bytes().all(belongs),
        None => (1..=5).contains(&port.len()) && port.bytes().all(|byte| byte.is_ascii_digit()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_read_in_all_its_forms_and_nothing_else_is() {
        let v4 = "203.0.113.7";
        let v6 = "2001:db8::1";
        let read_as = [
            ("203.0.113.7", v4),
            ("203.0.113.7:51034", v4),
            ("203.0.113.7:_hidden", v4),
            ("2001:db8::1", v6),
            ("2001:DB8:0:0::1", v6),
            ("[2001:db8::1]", v6),
            ("[2001:db8::1]:443", v6),
            ("[2001:0db8:0000:0000:0000:0000:0.0.0.1]:65535", v6),
        ];
        for (text, address) in read_as {
            assert_eq!(read(text.as_bytes()), Some(address.parse().unwrap()), "{text}");
        }
        let none = [
            "",
            " ",
            "unknown",
            "_secret",
            "203.0.113.07",
            "203.0.113",
            "203.0.113.7.",
            "203.0.113.7:",
            "203.0.113.7:x",
            "203.0.113.7:123456",
            "203.0.113.7:1:2",
            "fe80::1%eth0",
            "fe80::1%",
            "[::1",
            "::1]:x",
            "[::1]x",
            "[203.0.113.7]",
            "[]",
            ":",
            "0x7f.1",
            "2001:db8::1:443:",
            "é",
        ];
        for text in none {
            assert_eq!(read(text.as_bytes()), None, "{text}");
        }
        assert_eq!(read(b"\xff\xfe"), None);
        assert_eq!(read(&vec![b'1'; 65_536]), None);
    }
}
