//! A client's key in a field of the request.

use std::collections::HashSet;
use std::fmt;

use http::{HeaderMap, HeaderName};

use super::ClientFault;

/// A field of the request that tells clients apart: an API key, or a claim that a proxy has verified.
///
/// Its values are secrets: they are never shown.
///
/// A caller picks its own key where any value will do: each value is a client with a whole quota of its own. Say which
/// values there are ([`known`](Self::known)), or take them from a proxy that has checked them
/// ([`only_from_proxies`](Self::only_from_proxies)).
#[derive(Clone)]
#[must_use]
pub struct HeaderKey {
    name: HeaderName,
    missing: Otherwise,
    known: Option<(HashSet<Box<[u8]>>, Otherwise)>,
    only_from_proxies: bool,
}

/// What becomes of a request that a field tells nothing of. There is no default: each starves, spares or groups
/// somebody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Otherwise {
    /// It is refused.
    Deny,
    /// No limit holds for it.
    Skip,
    /// The client is told by its address.
    Address,
    /// All such requests are one client's.
    Shared,
}

/// What a field tells.
pub(super) enum Found<'a> {
    Value(&'a [u8]),
    Nobody(Otherwise, ClientFault),
}

impl HeaderKey {
    /// By the value of this field; `missing` says what becomes of a request where it is missing, empty, or given more
    /// than once.
    pub const fn new(name: HeaderName, missing: Otherwise) -> Self {
        Self { name, missing, known: None, only_from_proxies: false }
    }

    /// Only these values are clients; `otherwise` says what becomes of a request with another.
    pub fn known<V: Into<Vec<u8>>>(
        mut self,
        values: impl IntoIterator<Item = V>,
        otherwise: Otherwise,
    ) -> Self {
        let values = values.into_iter().map(|value| value.into().into_boxed_slice());
        self.known = Some((values.collect(), otherwise));
        self
    }

    /// The field counts only where the peer is a trusted proxy, as [`ClientAddress`](crate::ClientAddress) has them;
    /// from anybody else it is as good as missing.
    pub const fn only_from_proxies(mut self) -> Self {
        self.only_from_proxies = true;
        self
    }

    /// The field.
    pub const fn name(&self) -> &HeaderName {
        &self.name
    }

    /// Whether callers pick their own keys, which whoever reads a config warns of.
    pub const fn is_picked_by_callers(&self) -> bool {
        self.known.is_none() && !self.only_from_proxies
    }

    pub(super) fn find<'a>(&self, fields: &'a HeaderMap, from_proxy: bool) -> Found<'a> {
        let mut values = fields.get_all(&self.name).iter();
        let value = match (values.next(), values.next()) {
            (Some(value), None) => value.as_bytes().trim_ascii(),
            (Some(_), Some(_)) | (None, _) => &[],
        };
        if value.is_empty() || (self.only_from_proxies && !from_proxy) {
            let name = self.name.clone();
            return Found::Nobody(self.missing, ClientFault::Missing { name });
        }
        match &self.known {
            Some((known, otherwise)) if !known.contains(value) => {
                let name = self.name.clone();
                Found::Nobody(*otherwise, ClientFault::Unknown { name })
            }
            Some(_) | None => Found::Value(value),
        }
    }
}

impl fmt::Debug for HeaderKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = self.known.as_ref().map(|(values, otherwise)| (values.len(), otherwise));
        f.debug_struct("HeaderKey")
            .field("name", &self.name)
            .field("missing", &self.missing)
            .field("known", &known)
            .field("only_from_proxies", &self.only_from_proxies)
            .finish()
    }
}
