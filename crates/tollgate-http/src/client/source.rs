//! Where a client's address comes from, and who is believed.

use std::fmt;
use std::net::IpAddr;

use http::header::FORWARDED;
use http::{HeaderMap, HeaderName};
use ipnet::{IpNet, Ipv4Net};

use super::ClientFault;
use super::address::{self, Network, unmapped};
use super::forwarded::{Last, address_of_element, last_of_list, last_of_quoted_list};
use super::key::ClientKey;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// The field by which proxies hand on the address of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ForwardingField {
    /// `X-Forwarded-For`: a list to which each proxy appends the address it saw.
    XForwardedFor,
    /// `Forwarded`, RFC 7239: the same as a list of `for=…`.
    Forwarded,
    /// A field with one address, which the nearest proxy sets, such as `X-Real-IP`.
    Single(HeaderName),
}

/// How a client's address is found.
///
/// The peer's is the only one that nobody can make up. Behind proxies that is the nearest proxy's, so a field is read
/// too, but only where the peer is trusted, and from its right end: each proxy appends whom it saw. The first address
/// from the right that is no trusted proxy's is the client's; what stands left of it the caller may have written.
///
/// - Where all are trusted, the leftmost is taken; where the field is missing, the peer.
/// - Where one cannot be read (`unknown`, a name, text), everybody for whom that is so shares one key, of those
///   "unidentified behind" the last proxy that could be told.
/// - Ports, brackets and blanks do not count, nor how an address is spelt. An IPv4 address that is mapped into IPv6 is
///   the IPv4 address, and so is one behind a translator (`64:ff9b::/96`, RFC 6052).
/// - An IPv6 client is its network of 64 bits, since it picks the rest itself; [`ipv6_prefix`](Self::ipv6_prefix) sets
///   another length.
#[derive(Clone, Debug)]
#[must_use]
pub struct ClientAddress {
    field: Option<ForwardingField>,
    trusted: Vec<IpNet>,
    hops_max: usize,
    ipv6_prefix: u8,
    is_strict: bool,
}

impl ClientAddress {
    /// How many proxies a request may come through unless told otherwise.
    pub const DEFAULT_MAX_HOPS: usize = 8;

    /// How many bits of an IPv6 address are one client's unless told otherwise.
    pub const DEFAULT_IPV6_PREFIX: u8 = 64;

    /// The peer's, whatever the request says.
    pub const fn of_peer() -> Self {
        Self {
            field: None,
            trusted: Vec::new(),
            hops_max: Self::DEFAULT_MAX_HOPS,
            ipv6_prefix: Self::DEFAULT_IPV6_PREFIX,
            is_strict: false,
        }
    }

    /// As this field says where the peer is one of these proxies.
    pub fn forwarded(field: ForwardingField, proxies: impl IntoIterator<Item = IpNet>) -> Self {
        Self { field: Some(field), ..Self::of_peer() }.trusted(proxies)
    }

    /// Trusts these proxies: for the forwarding field, and for keys that only proxies may set
    /// ([`HeaderKey::only_from_proxies`](crate::HeaderKey::only_from_proxies)).
    pub fn trusted(mut self, proxies: impl IntoIterator<Item = IpNet>) -> Self {
        self.trusted.extend(proxies.into_iter().map(unmapped_network));
        self
    }

    /// How many addresses of the field are looked at, at least 1 (0 is taken for 1): where the client is not among
    /// them, it is unidentified.
    pub const fn max_hops(mut self, hops: usize) -> Self {
        self.hops_max = if hops == 0 { 1 } else { hops };
        self
    }

    /// How many bits of an IPv6 address are one client's, up to 128 (more is taken for 128).
    pub const fn ipv6_prefix(mut self, bits: u8) -> Self {
        self.ipv6_prefix = if bits > 128 { 128 } else { bits };
        self
    }

    /// Refuses requests from trusted proxies that have both `X-Forwarded-For` and `Forwarded`: one of them came through
    /// unseen. Else the one that was not chosen is ignored.
    pub const fn strict(mut self) -> Self {
        self.is_strict = true;
        self
    }

    /// Whether a peer is one of the proxies that are trusted.
    pub fn trusts(&self, peer: IpAddr) -> bool {
        let peer = unmapped(peer);
        self.trusted.iter().any(|network| network.contains(&peer))
    }

    /// Whether a peer that is not trusted sent a field that says where the request came from: it was ignored, and a
    /// gateway counts that.
    pub fn is_untrusted_forwarding(&self, peer: IpAddr, fields: &HeaderMap) -> bool {
        !self.trusts(peer) && fields.keys().any(super::is_forwarding_field)
    }

    /// # Errors
    /// When both families are there and must not be.
    pub(super) fn find(&self, peer: IpAddr, fields: &HeaderMap) -> Result<Seen, ClientFault> {
        let Some(field) = &self.field else { return Ok(self.known(peer)) };
        if !self.trusts(peer) {
            return Ok(self.known(peer));
        }
        let has_both = || fields.contains_key(X_FORWARDED_FOR) && fields.contains_key(FORWARDED);
        if self.is_strict && has_both() {
            return Err(ClientFault::TwoFamilies);
        }
        Ok(match field {
            ForwardingField::XForwardedFor => {
                let hops = Hops::new(fields, &X_FORWARDED_FOR, last_of_list);
                self.first_stranger(peer, hops.map(address::read))
            }
            ForwardingField::Forwarded => {
                let hops = Hops::new(fields, &FORWARDED, last_of_quoted_list);
                self.first_stranger(peer, hops.map(address_of_element))
            }
            ForwardingField::Single(name) => self.single(peer, fields, name),
        })
    }

    /// The first address from the right that is no trusted proxy's.
    fn first_stranger(&self, peer: IpAddr, hops: impl Iterator<Item = Option<IpAddr>>) -> Seen {
        let mut nearest = peer;
        for (count, hop) in hops.enumerate() {
            match hop {
                Some(address) if count < self.hops_max => nearest = address,
                Some(_) | None => return self.behind(nearest),
            }
            if !self.trusts(nearest) {
                break;
            }
        }
        self.known(nearest)
    }

    fn single(&self, peer: IpAddr, fields: &HeaderMap, name: &HeaderName) -> Seen {
        let mut values = fields.get_all(name).iter();
        match (values.next(), values.next()) {
            (None, _) => self.known(peer),
            (Some(value), None) => match address::read(value.as_bytes().trim_ascii()) {
                Some(address) => self.known(address),
                None => self.behind(peer),
            },
            (Some(_), Some(_)) => self.behind(peer),
        }
    }

    fn known(&self, address: IpAddr) -> Seen {
        Seen { network: Network::of(address, self.ipv6_prefix), is_behind: false }
    }

    fn behind(&self, address: IpAddr) -> Seen {
        Seen { network: Network::of(address, self.ipv6_prefix), is_behind: true }
    }
}

/// The network, with an IPv4 one that is mapped into IPv6 as itself.
fn unmapped_network(network: IpNet) -> IpNet {
    let unmapped = || {
        let prefix = network.prefix_len().checked_sub(96)?;
        let IpAddr::V4(address) = unmapped(network.addr()) else { return None };
        matches!(network, IpNet::V6(_)).then(|| Ipv4Net::new(address, prefix).ok()).flatten()
    };
    unmapped().map_or(network, IpNet::V4)
}

/// What was found out about a client's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    network: Network,
    /// Whether it is not the client's but that of the last proxy that could be told.
    is_behind: bool,
}

impl Seen {
    /// The key of a client that is told by nothing else.
    pub(super) fn alone(self) -> ClientKey {
        ClientKey::of_address(&self)
    }

    /// What kind of part it is of a key with others, and its text.
    pub(super) fn part(self) -> (&'static str, Network) {
        (if self.is_behind { "unidentified" } else { "address" }, self.network)
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_behind {
            f.write_str("unidentified behind ")?;
        }
        self.network.fmt(f)
    }
}

/// The elements of a field, from the right, over all its lines.
struct Hops<'a, L> {
    lines: L,
    rest: Option<&'a [u8]>,
    last: fn(&'a [u8]) -> Last<'a>,
}

impl<'a> Hops<'a, ()> {
    fn new(
        fields: &'a HeaderMap,
        name: &HeaderName,
        last: fn(&'a [u8]) -> Last<'a>,
    ) -> Hops<'a, impl Iterator<Item = &'a [u8]> + use<'a>> {
        let lines = fields.get_all(name).into_iter().rev().map(http::HeaderValue::as_bytes);
        Hops { lines, rest: None, last }
    }
}

impl<'a, L: Iterator<Item = &'a [u8]>> Iterator for Hops<'a, L> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let list = self.rest.take().or_else(|| self.lines.next())?;
        let (element, rest) = (self.last)(list);
        self.rest = rest;
        Some(element)
    }
}
