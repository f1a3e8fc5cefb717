//! Names of endpoints and clients, made of values that clients may choose: no two lists of values have one name, and
//! what is one client or endpoint at the other doors is the same one here.

use std::borrow::Cow;
use std::fmt::Write;
use std::net::IpAddr;

use http::{HeaderMap, Method};
use tollgate_http::{Clients, EndpointRules, Identified};

use super::wire::rate_limit_descriptor::Entry;
use crate::http::rules::HttpRules;

/// The key under which Envoy gives the address of the client.
const ADDRESS: &str = "remote_address";

/// A list of texts as one: each behind its length, so that nothing in it can be taken for the next.
pub(super) fn tuple<T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> String {
    texts.into_iter().fold(String::new(), |mut tuple, text| {
        let text = text.as_ref();
        // Writing to a text cannot fail.
        let _written = write!(tuple, "{}:{text}", text.len());
        tuple
    })
}

/// The forms that addresses and paths are brought into, which are those of the other doors.
#[derive(Debug)]
pub(super) struct Forms {
    addresses: Clients,
    endpoints: EndpointRules,
}

impl Forms {
    pub(super) fn of(http: &HttpRules) -> Self {
        Self { addresses: Clients::by_address(http.address.clone()), endpoints: http.endpoints }
    }

    /// Those of a config that says nothing of them.
    #[cfg(test)]
    pub(super) fn by_default() -> Self {
        let addresses = Clients::by_address(tollgate_http::ClientAddress::of_peer());
        Self { addresses, endpoints: EndpointRules::new() }
    }

    /// The client that these entries are: an address alone as at the other doors, anything else as a list in which each
    /// value stands behind its key and its length.
    pub(super) fn client(&self, entries: &[&Entry]) -> String {
        if let [entry] = entries
            && let Some(address) = self.address(entry)
        {
            return address;
        }
        entries.iter().fold(String::new(), |mut client, entry| {
            let value = self.address(entry).map_or(Cow::Borrowed(&*entry.value), Cow::Owned);
            // Writing to a text cannot fail.
            let _written = write!(client, "{}/{}:{value}", entry.key, value.len());
            client
        })
    }

    /// What counts as one client of an address: itself, or the network of an IPv6 address.
    fn address(&self, entry: &Entry) -> Option<String> {
        let address: IpAddr = Some(&entry.value).filter(|_| entry.key == ADDRESS)?.parse().ok()?;
        match self.addresses.identify(address, &HeaderMap::new()) {
            Identified::Client(client) => Some(client.as_str().to_owned()),
            Identified::Skipped | Identified::Refused(_) => None,
        }
    }

    /// A value as it is part of an endpoint's name: a path in its normal form. `None` where a path has none, since
    /// servers read it in more than one way.
    pub(super) fn value<'a>(&self, value: &'a str) -> Option<Cow<'a, str>> {
        if !value.starts_with('/') {
            return Some(Cow::Borrowed(value));
        }
        let endpoint = self.endpoints.endpoint(&Method::GET, value.as_bytes(), None).ok()?;
        Some(Cow::Owned(endpoint.path().to_owned()))
    }

    /// A method and a path as one name, in which no method escapes the limits of the path. `None` where either is none,
    /// or the path has no normal form.
    pub(super) fn request(&self, method: &str, path: &str) -> Option<String> {
        let method = Method::from_bytes(method.as_bytes()).ok()?;
        if !path.starts_with('/') {
            return Some(format!("{method} {path}"));
        }
        let endpoint = self.endpoints.endpoint(&method, path.as_bytes(), None).ok()?;
        Some(endpoint.name().to_owned())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn forms() -> Forms {
        Forms::by_default()
    }

    fn entry(key: &str, value: &str) -> Entry {
        Entry { key: key.to_owned(), value: value.to_owned() }
    }

    fn client_of(values: &[(&str, &str)]) -> String {
        let entries: Vec<_> = values.iter().map(|(key, value)| entry(key, value)).collect();
        forms().client(&entries.iter().collect::<Vec<_>>())
    }

    #[test]
    fn svc07_an_address_is_told_by_its_bits_and_not_by_its_spelling() {
        for (address, client) in [
            ("203.0.113.7", "203.0.113.7"),
            ("::ffff:203.0.113.7", "203.0.113.7"),
            ("::ffff:cb00:7107", "203.0.113.7"),
            ("2001:db8:1:2::1", "2001:db8:1:2::/64"),
            ("2001:DB8:1:2:0:0:0:9", "2001:db8:1:2::/64"),
        ] {
            assert_eq!(client_of(&[("remote_address", address)]), client);
        }
    }

    #[test]
    fn what_is_no_address_alone_stands_behind_its_key_and_length() {
        for (values, client) in [
            (&[("user", "bob")][..], "user/3:bob"),
            (&[("user", "203.0.113.7")], "user/11:203.0.113.7"),
            (&[("remote_address", "unknown")], "remote_address/7:unknown"),
            (
                &[("remote_address", "::ffff:203.0.113.7"), ("user", "bob")],
                "remote_address/11:203.0.113.7user/3:bob",
            ),
            (&[], ""),
        ] {
            assert_eq!(client_of(values), client);
        }
    }

    #[test]
    fn a_path_is_in_its_normal_form_and_other_values_are_as_they_are() {
        for (value, name) in [
            ("/a/./b//c?d", Some("/a/b/c")),
            ("/%61", Some("/a")),
            ("login", Some("login")),
            ("*", Some("*")),
            ("", Some("")),
            ("/a%2Fb", None),
        ] {
            assert_eq!(forms().value(value).as_deref(), name, "{value}");
        }
    }

    proptest! {
        #[test]
        fn s13_no_two_lists_have_one_name(
            one in prop::collection::vec("[a1:/|]{0,3}", 0..4),
            other in prop::collection::vec("[a1:/|]{0,3}", 0..4),
        ) {
            prop_assert_eq!(tuple(&one) == tuple(&other), one == other);
        }

        #[test]
        fn no_value_stops_the_gateway(value: String, path in "/.{0,40}") {
            client_of(&[("remote_address", &value), ("user", &value)]);
            let _either_way = (forms().value(&value), forms().value(&path));
        }
    }
}
