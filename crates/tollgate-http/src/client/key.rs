//! A client's key: the text by which the limiter knows it.

use std::fmt::{self, Write as _};

use http::HeaderName;
use tollgate::KeyHasher;

use super::source::Seen;

/// The text by which the limiter knows a client.
///
/// A client that is told by its address alone is that address, `203.0.113.7` or `2001:db8:1:2::/64`, or all those
/// `unidentified behind 10.0.0.1`. Any other is a list of parts, each with its kind and the length of its value in
/// bytes: `address/11:203.0.113.7header x-api-key/6:abc123`. So no two lists of parts have one text, whatever the
/// values hold. A value that is not UTF-8 is told by its hexadecimal digits, and its kind says so.
///
/// The values of fields are secrets. [`as_str`](Self::as_str) has them, for the limiter, which keeps no names;
/// `Debug` does not, and [`shown`](Self::shown) has a hash in their place.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct ClientKey(Text);

/// Short texts, as all addresses are, lie in place.
#[derive(Clone)]
enum Text {
    Short(Short),
    Long(String),
}

/// Text of no more than so many bytes.
#[derive(Clone, Copy)]
struct Short {
    bytes: [u8; Self::ROOM],
    length: usize,
}

impl Short {
    /// What the longest text of an address takes.
    const ROOM: usize = "unidentified behind ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/127".len();

    const fn new() -> Self {
        Self { bytes: [0; Self::ROOM], length: 0 }
    }
}

impl fmt::Write for Short {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.length.saturating_add(text.len());
        let room = self.bytes.get_mut(self.length..end).ok_or(fmt::Error)?;
        room.copy_from_slice(text.as_bytes());
        self.length = end;
        Ok(())
    }
}

impl Text {
    fn as_str(&self) -> &str {
        match self {
            Self::Short(short) => {
                let written = short.bytes.get(..short.length).unwrap_or_default();
                // It was written as text.
                std::str::from_utf8(written).unwrap_or_default()
            }
            Self::Long(text) => text,
        }
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Text {}

impl std::hash::Hash for Text {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl ClientKey {
    pub(super) fn of_address(seen: &Seen) -> Self {
        let mut short = Short::new();
        Self(match write!(short, "{seen}") {
            Ok(()) => Text::Short(short),
            Err(fmt::Error) => Text::Long(seen.to_string()),
        })
    }

    /// The text to ask the limiter with. It holds the values of fields as they are: do not log it.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The key for people: addresses as they are, and in place of a field's value its hash under a secret of yours.
    ///
    /// ```
    /// use http::{HeaderMap, HeaderName};
    /// use tollgate::KeyHasher;
    /// use tollgate_http::{ClientAddress, ClientPart, Clients, HeaderKey, Identified, Otherwise};
    ///
    /// let api_key = HeaderKey::new(HeaderName::from_static("x-api-key"), Otherwise::Deny);
    /// let clients = Clients::by_header(api_key, ClientAddress::of_peer()).and(ClientPart::Address);
    /// let mut fields = HeaderMap::new();
    /// fields.insert("x-api-key", "open sesame".parse()?);
    /// let Identified::Client(client) = clients.identify("203.0.113.7".parse()?, &fields) else { unreachable!() };
    ///
    /// let hasher = KeyHasher::with_secret([7; 16]);
    /// let shown = client.shown(&hasher);
    /// assert_eq!(shown, format!("header x-api-key #{}, address 203.0.113.7", hasher.key("open sesame")));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn shown(&self, hasher: &KeyHasher) -> String {
        let mut shown = String::new();
        for part in self.parts() {
            if !shown.is_empty() {
                shown.push_str(", ");
            }
            match part {
                Part { kind, value } if is_secret(kind) => {
                    shown.push_str(kind);
                    shown.push_str(" #");
                    shown.push_str(&hasher.key(value).to_string());
                }
                Part { kind: "", value } => shown.push_str(value),
                Part { kind, value: "" } => shown.push_str(kind),
                Part { kind, value } => {
                    shown.push_str(kind);
                    shown.push(' ');
                    shown.push_str(value);
                }
            }
        }
        shown
    }

    /// The parts it was made of; an address that is alone has no kind.
    fn parts(&self) -> impl Iterator<Item = Part<'_>> {
        let mut rest = self.as_str();
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let (part, after) = Part::split(rest).unwrap_or((Part { kind: "", value: rest }, ""));
            rest = after;
            Some(part)
        })
    }
}

/// One part of a key.
#[derive(Clone, Copy, Debug)]
struct Part<'a> {
    kind: &'a str,
    value: &'a str,
}

impl<'a> Part<'a> {
    /// The first part of a text, and what follows; `None` where it is an address that is alone.
    fn split(text: &'a str) -> Option<(Self, &'a str)> {
        let (kind, rest) = text.split_once('/')?;
        let (length, rest) = rest.split_once(':')?;
        // `2001:db8::/64` has no length behind its slash.
        let (value, rest) = rest.split_at_checked(length.parse().ok()?)?;
        Some((Self { kind, value }, rest))
    }
}

/// Before the name of a field in the kind of its part. No field's name holds a blank, so no other kind is like it.
const FIELD: &str = "header ";

fn is_secret(kind: &str) -> bool {
    kind.starts_with(FIELD)
}

impl fmt::Debug for ClientKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientKey(")?;
        for (place, Part { kind, value }) in self.parts().enumerate() {
            f.write_str(if place > 0 { ", " } else { "" })?;
            match kind {
                "" => f.write_str(value)?,
                kind if is_secret(kind) => write!(f, "{kind}/...")?,
                kind => write!(f, "{kind}/{value}")?,
            }
        }
        f.write_str(")")
    }
}

/// A key in the making.
#[derive(Default)]
pub(super) struct Parts(String);

impl Parts {
    pub(super) fn push_seen(&mut self, seen: Seen) {
        let (kind, network) = seen.part();
        self.push(format_args!("{kind}"), &network.to_string());
    }

    pub(super) fn push_field(&mut self, name: &HeaderName, value: &[u8]) {
        if let Ok(value) = std::str::from_utf8(value) {
            return self.push(format_args!("{FIELD}{name}"), value);
        }
        let mut digits = String::with_capacity(value.len().saturating_mul(2));
        for byte in value {
            // Writing to a string cannot fail.
            let _written = write!(digits, "{byte:02x}");
        }
        self.push(format_args!("{FIELD}{name} in hexadecimal"), &digits);
    }

    /// For all requests that a field tells nothing of.
    pub(super) fn push_shared(&mut self, name: &HeaderName) {
        self.push(format_args!("no {name}"), "");
    }

    fn push(&mut self, kind: fmt::Arguments<'_>, value: &str) {
        // Writing to a string cannot fail.
        let _written = write!(self.0, "{kind}/{}:{value}", value.len());
    }

    pub(super) fn into_key(self) -> ClientKey {
        ClientKey(Text::Long(self.0))
    }
}
