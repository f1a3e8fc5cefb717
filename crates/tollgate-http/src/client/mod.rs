//! Who a request is from.
//!
//! Whatever a caller can write into a request, it writes. An address counts where the peer itself or a proxy that is
//! trusted has seen it, and nothing that stands left of the first hop that is not trusted, or of one that cannot be
//! read, is ever believed.

mod address;
mod forwarded;
mod header_key;
mod key;
mod names;
mod source;

use std::net::IpAddr;

use http::HeaderMap;
use thiserror::Error;

pub use header_key::{HeaderKey, Otherwise};
pub use key::ClientKey;
use key::Parts;
pub use names::{is_forwarding_field, is_underscore_twin};
use source::Seen;
pub use source::{ClientAddress, ForwardingField};

use header_key::Found;

/// How clients are told apart: by their address, by a field of the request, or by several of these together.
///
/// ```
/// use http::{HeaderMap, HeaderName};
/// use tollgate_http::{ClientAddress, Clients, ForwardingField, HeaderKey, Identified, Otherwise};
///
/// let proxies = ["10.0.0.0/8".parse()?];
/// let address = ClientAddress::forwarded(ForwardingField::XForwardedFor, proxies);
/// let api_key = HeaderKey::new(HeaderName::from_static("x-api-key"), Otherwise::Address);
/// let clients = Clients::by_header(api_key, address);
///
/// let mut fields = HeaderMap::new();
/// fields.insert("x-forwarded-for", "192.0.2.4, 198.51.100.7".parse()?);
/// let Identified::Client(client) = clients.identify("10.0.0.1".parse()?, &fields) else { unreachable!() };
/// assert_eq!(client.as_str(), "198.51.100.7");
///
/// fields.insert("x-api-key", "open sesame".parse()?);
/// let Identified::Client(client) = clients.identify("10.0.0.1".parse()?, &fields) else { unreachable!() };
/// assert_eq!(client.as_str(), "header x-api-key/11:open sesame");
/// assert_eq!(format!("{client:?}"), "ClientKey(header x-api-key/...)");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Clients {
    parts: Vec<ClientPart>,
    address: ClientAddress,
}

/// One of the things clients are told apart by.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum ClientPart {
    /// The client's address.
    Address,
    /// A field of the request.
    Header(HeaderKey),
}

impl From<HeaderKey> for ClientPart {
    fn from(key: HeaderKey) -> Self {
        Self::Header(key)
    }
}

/// Who a request is from, or what becomes of it instead.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a request is limited, not limited, or refused")]
pub enum Identified {
    /// A client, by the key to ask the limiter with.
    Client(ClientKey),
    /// Nobody whom a limit holds for, as [`Otherwise::Skip`] says.
    Skipped,
    /// Nobody, and the request is to be refused ([`Answers::unidentified`](crate::Answers::unidentified)).
    Refused(ClientFault),
}

/// Why a request is refused for what it says, or does not say, of its client.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ClientFault {
    /// The field is missing, or empty, or given several times, or not one that a trusted proxy vouches for.
    #[error(
        "the field `{name}` is missing, empty or given more than once; send it once, with a value"
    )]
    Missing {
        /// The field.
        name: http::HeaderName,
    },
    /// The field has a value that is not among those known.
    #[error("the value of the field `{name}` is not known; send one that is")]
    Unknown {
        /// The field.
        name: http::HeaderName,
    },
    /// Two families of forwarding fields come at once ([`ClientAddress::strict`]).
    #[error("both `x-forwarded-for` and `forwarded` are given; send one of them")]
    TwoFamilies,
}

impl Clients {
    /// By address.
    pub fn by_address(address: ClientAddress) -> Self {
        Self { parts: vec![ClientPart::Address], address }
    }

    /// By a field of the request. `address` says how a client's address is found, where the field's rules need it.
    pub fn by_header(key: HeaderKey, address: ClientAddress) -> Self {
        Self { parts: vec![key.into()], address }
    }

    /// And by this as well: two requests are from one client where all parts are equal.
    pub fn and(mut self, part: impl Into<ClientPart>) -> Self {
        self.parts.push(part.into());
        self
    }

    /// Who a request is from. `peer` is the address of the connection.
    ///
    /// Never panics, whatever the fields hold. Takes no allocation where the client is an address.
    pub fn identify(&self, peer: IpAddr, fields: &HeaderMap) -> Identified {
        self.find(peer, fields).unwrap_or_else(|instead| instead)
    }

    /// # Errors
    /// What becomes of the request instead.
    fn find(&self, peer: IpAddr, fields: &HeaderMap) -> Result<Identified, Identified> {
        if let [ClientPart::Address] = &*self.parts {
            return Ok(Identified::Client(self.seen(peer, fields)?.alone()));
        }
        let is_trusted = self.address.trusts(peer);
        let mut parts = Parts::default();
        for part in &self.parts {
            match part {
                ClientPart::Address => parts.push_seen(self.seen(peer, fields)?),
                ClientPart::Header(key) => match key.find(fields, is_trusted) {
                    Found::Value(value) => parts.push_field(key.name(), value),
                    Found::Nobody(Otherwise::Address, _) => {
                        let seen = self.seen(peer, fields)?;
                        if self.parts.len() == 1 {
                            return Ok(Identified::Client(seen.alone()));
                        }
                        parts.push_seen(seen);
                    }
                    Found::Nobody(Otherwise::Shared, _) => parts.push_shared(key.name()),
                    Found::Nobody(Otherwise::Skip, _) => return Ok(Identified::Skipped),
                    Found::Nobody(Otherwise::Deny, fault) => {
                        return Err(Identified::Refused(fault));
                    }
                },
            }
        }
        Ok(Identified::Client(parts.into_key()))
    }

    fn seen(&self, peer: IpAddr, fields: &HeaderMap) -> Result<Seen, Identified> {
        self.address.find(peer, fields).map_err(Identified::Refused)
    }
}
