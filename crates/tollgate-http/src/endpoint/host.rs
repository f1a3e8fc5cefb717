//! The host that a request is for.

use std::borrow::Cow;
use std::fmt;
use std::net::Ipv6Addr;

use super::{TargetFault, TargetFaultKind};

/// A host in its normal form: letters in lower case, without a dot at the end, and without a port that is the default
/// of `http` or `https`.
///
/// ```
/// use tollgate_http::Host;
///
/// let host = Host::read(b"API.Example.com.:8080")?;
/// assert_eq!((host.name(), host.port()), ("api.example.com", Some(8080)));
/// assert_eq!(host.to_string(), "api.example.com:8080");
/// assert_eq!(Host::read(b"api.example.com:443")?.to_string(), "api.example.com");
/// # Ok::<(), tollgate_http::TargetFault>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host<'a> {
    name: Cow<'a, str>,
    port: Option<u16>,
}

/// The ports that go without saying.
const DEFAULT_PORTS: [u16; 2] = [80, 443];

impl<'a> Host<'a> {
    /// Reads a name or an address, with or without a port.
    ///
    /// # Errors
    /// When it is not well-formed. Names outside ASCII come as `xn--…`.
    pub fn read(host: &'a [u8]) -> Result<Self, TargetFault> {
        let text = std::str::from_utf8(host)
            .map_err(|error| TargetFaultKind::HostMalformed.at(error.valid_up_to()))?;
        let name_ends = match text.strip_prefix('[') {
            Some(_) => text.find(']').map(|end| end.saturating_add(1)),
            None => Some(text.find(':').unwrap_or(text.len())),
        };
        let parts = name_ends.and_then(|end| text.split_at_checked(end));
        let (name, port) = parts.ok_or(TargetFaultKind::HostMalformed.at(0))?;
        let port_fault = || TargetFaultKind::HostMalformed.at(name.len());
        let port = match port.strip_prefix(':') {
            None if port.is_empty() => None,
            // `name:` is the default port's.
            Some("") => None,
            Some(digits) => Some(read_port(digits).ok_or_else(port_fault)?),
            None => return Err(port_fault()),
        };
        let port = port.filter(|port| !DEFAULT_PORTS.contains(port));
        Ok(Self { name: read_name(name)?, port })
    }

    /// The name or address alone; an IPv6 address has its brackets.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The port, where it is not a default one.
    pub const fn port(&self) -> Option<u16> {
        self.port
    }

    pub(super) fn into_owned(self) -> Host<'static> {
        Host { name: Cow::Owned(self.name.into_owned()), port: self.port }
    }
}

impl fmt::Display for Host<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

fn read_port(digits: &str) -> Option<u16> {
    let all_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse().ok().filter(|_| all_digits)
}

fn read_name(name: &str) -> Result<Cow<'_, str>, TargetFault> {
    if let Some(address) = name.strip_prefix('[') {
        let address = address.strip_suffix(']').and_then(|text| text.parse::<Ipv6Addr>().ok());
        let address = address.ok_or(TargetFaultKind::HostMalformed.at(0))?;
        return Ok(Cow::Owned(format!("[{address}]")));
    }
    let belongs = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
    if let Some(at) = name.bytes().position(|byte| !belongs(byte)) {
        return Err(TargetFaultKind::HostMalformed.at(at));
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    if name.is_empty() || name.starts_with('.') || name.ends_with('.') || name.contains("..") {
        return Err(TargetFaultKind::HostMalformed.at(0));
    }
    let is_lower = !name.bytes().any(|byte| byte.is_ascii_uppercase());
    Ok(if is_lower { Cow::Borrowed(name) } else { Cow::Owned(name.to_ascii_lowercase()) })
}
