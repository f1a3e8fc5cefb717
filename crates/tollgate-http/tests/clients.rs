//! Who a request is from: vectors of addresses, cases from public reports, and properties.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::HashSet;
use std::net::IpAddr;

use http::{HeaderMap, HeaderName, HeaderValue};
use ipnet::IpNet;
use proptest::collection::vec;
use proptest::prelude::*;
use tollgate::{Config, FixedWindow, KeyHasher, RateLimiter};
use tollgate_http::{
    ClientAddress, ClientFault, ClientKey, ClientPart, Clients, ForwardingField, HeaderKey,
    Identified, Otherwise, is_forwarding_field, is_underscore_twin,
};

const XFF: &str = "x-forwarded-for";
const FWD: &str = "forwarded";
const API_KEY: HeaderName = HeaderName::from_static("x-api-key");

fn ip(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn proxies() -> [IpNet; 1] {
    ["10.0.0.0/8".parse().unwrap()]
}

fn through(field: ForwardingField) -> ClientAddress {
    ClientAddress::forwarded(field, proxies())
}

fn by_forwarded_for() -> Clients {
    Clients::by_address(through(ForwardingField::XForwardedFor))
}

/// Fields of these names and values, in this order.
fn fields(lines: &[(&str, &str)]) -> HeaderMap {
    let mut fields = HeaderMap::new();
    for (name, value) in lines {
        let name: HeaderName = name.parse().unwrap();
        fields.append(name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }
    fields
}

fn key(identified: Identified) -> ClientKey {
    match identified {
        Identified::Client(key) => key,
        Identified::Skipped | Identified::Refused(_) => panic!("expected a client"),
    }
}

fn key_of(clients: &Clients, peer: &str, lines: &[(&str, &str)]) -> String {
    key(clients.identify(ip(peer), &fields(lines))).as_str().to_owned()
}

/// What the key is of those who are unidentified behind a proxy.
fn behind(proxy: &str) -> String {
    format!("unidentified behind {proxy}")
}

/// Id, peer, lines of fields, key.
type Vector<'a> = (&'a str, &'a str, &'a [(&'a str, &'a str)], &'a str);

fn check(vectors: &[Vector<'_>]) {
    for (id, peer, lines, expected) in vectors {
        let is_forwarded = lines.iter().any(|(name, _)| *name == FWD);
        let field =
            if is_forwarded { ForwardingField::Forwarded } else { ForwardingField::XForwardedFor };
        let clients = Clients::by_address(through(field));
        let expected = match expected.strip_prefix("U ") {
            Some(proxy) => behind(proxy),
            None => (*expected).to_owned(),
        };
        assert_eq!(key_of(&clients, peer, lines), expected, "{id}");
    }
}

#[test]
fn v01_to_v12_addresses_in_x_forwarded_for() {
    check(&[
        ("V-01", "203.0.113.9", &[(XFF, "192.0.2.4")], "203.0.113.9"),
        ("V-02", "10.0.0.1", &[(XFF, "192.0.2.4, 198.51.100.7")], "198.51.100.7"),
        ("V-03", "10.0.0.1", &[(XFF, "192.0.2.4, 198.51.100.7, 10.0.0.2")], "198.51.100.7"),
        ("V-04", "10.0.0.1", &[(XFF, "192.0.2.4"), (XFF, "198.51.100.7")], "198.51.100.7"),
        ("V-05", "::ffff:198.51.100.7", &[], "198.51.100.7"),
        ("V-06", "2001:db8:1:2::7", &[(XFF, "192.0.2.4")], "2001:db8:1:2::/64"),
        ("V-07", "10.0.0.1", &[(XFF, "2001:db8:1:2::7")], "2001:db8:1:2::/64"),
        ("V-08", "10.0.0.1", &[(XFF, "2001:db8:1:2:ffff:ffff:ffff:ffff")], "2001:db8:1:2::/64"),
        ("V-09", "10.0.0.1", &[(XFF, "::ffff:c633:6407")], "198.51.100.7"),
        ("V-10", "10.0.0.1", &[(XFF, "2001:DB8:1:2:0:0:0:7")], "2001:db8:1:2::/64"),
        ("V-11", "10.0.0.1", &[(XFF, "64:ff9b::c633:6407")], "198.51.100.7"),
        // No caller can make up a loopback address behind a translator, which translates none.
        ("V-12", "10.0.0.1", &[(XFF, "64:ff9b::127.0.0.1")], "64:ff9b::/64"),
    ]);
}

#[test]
fn v13_to_v18_addresses_in_forwarded() {
    check(&[
        ("V-13", "10.0.0.1", &[(FWD, r#"for="[2001:db8:cafe::17]:4711""#)], "2001:db8:cafe::/64"),
        ("V-14", "10.0.0.1", &[(FWD, "for=198.51.100.7;proto=https;by=10.0.0.1")], "198.51.100.7"),
        (
            "V-15",
            "10.0.0.1",
            &[(FWD, "for=192.0.2.4, For=\"198.51.100.7:1\" , for=10.0.0.2")],
            "198.51.100.7",
        ),
        ("V-16", "10.0.0.1", &[(FWD, "for=unknown")], "U 10.0.0.1"),
        ("V-17", "10.0.0.1", &[(FWD, "for=_secret, for=10.0.0.5")], "U 10.0.0.5"),
        (
            "V-18",
            "10.0.0.1",
            &[(FWD, "for=192.0.2.4"), (FWD, "by=10.0.0.1;for=198.51.100.7;")],
            "198.51.100.7",
        ),
        ("none of it", "10.0.0.1", &[(FWD, "proto=https")], "U 10.0.0.1"),
        ("twice", "10.0.0.1", &[(FWD, "for=192.0.2.4;for=198.51.100.7")], "U 10.0.0.1"),
        ("a peer that is not trusted", "203.0.113.9", &[(FWD, "for=192.0.2.4")], "203.0.113.9"),
    ]);
}

#[test]
fn a_quote_that_a_caller_leaves_open_hides_nothing_that_proxies_append() {
    check(&[
        ("open", "10.0.0.1", &[(FWD, r#"for="192.0.2.4, for=198.51.100.7"#)], "198.51.100.7"),
        (
            "a comma",
            "10.0.0.1",
            &[(FWD, r#"for=198.51.100.7;host="a, for=192.0.2.4""#)],
            "198.51.100.7",
        ),
        (
            "escaped",
            "10.0.0.1",
            &[(FWD, r#"for=192.0.2.4, for=198.51.100.7;host="a\", b""#)],
            "198.51.100.7",
        ),
        (
            "a semicolon",
            "10.0.0.1",
            &[(FWD, r#"host="a;for=192.0.2.4";for=198.51.100.7"#)],
            "198.51.100.7",
        ),
        (
            "escapes",
            "10.0.0.1",
            &[(FWD, r#"host="\\\";for=192.0.2.4";for=198.51.100.7"#)],
            "198.51.100.7",
        ),
        ("closed only", "10.0.0.1", &[(FWD, r#"for=198.51.100.7", for=10.0.0.5"#)], "U 10.0.0.5"),
        ("an escaped address", "10.0.0.1", &[(FWD, r#"for="198.51.100\.7""#)], "U 10.0.0.1"),
    ]);
}

#[test]
fn v19_to_v26_odd_addresses() {
    check(&[
        ("V-19", "10.0.0.1", &[(XFF, "198.51.100.7:5555")], "198.51.100.7"),
        ("V-20", "10.0.0.1", &[(XFF, "198.51.100.07")], "U 10.0.0.1"),
        ("V-21", "10.0.0.1", &[(XFF, "198.51.100.7, somebody, 10.0.0.3")], "U 10.0.0.3"),
        ("V-22", "10.0.0.1", &[(XFF, "fe80::1%eth0")], "U 10.0.0.1"),
        ("V-24", "10.0.0.1", &[(XFF, "198.51.100.7,")], "U 10.0.0.1"),
        ("V-25", "10.0.0.1", &[], "10.0.0.1"),
        ("V-26", "10.0.0.1", &[(XFF, "::1")], "::/64"),
    ]);
}

#[test]
fn v23_only_so_many_hops_are_looked_at() {
    let hops = |count: u32| (1..=count).rev().map(|hop| format!("10.0.{}.{}", hop >> 8, hop & 255));
    let list = |count| hops(count).collect::<Vec<_>>().join(", ");
    let clients = by_forwarded_for();
    assert_eq!(key_of(&clients, "10.1.1.1", &[(XFF, &list(8))]), "10.0.0.8");
    assert_eq!(key_of(&clients, "10.1.1.1", &[(XFF, &list(9))]), behind("10.0.0.8"));
    assert_eq!(key_of(&clients, "10.1.1.1", &[(XFF, &list(5_000))]), behind("10.0.0.8"));
    let none = Clients::by_address(through(ForwardingField::XForwardedFor).max_hops(0));
    assert_eq!(key_of(&none, "10.1.1.1", &[(XFF, "198.51.100.7")]), "198.51.100.7");
    let two = Clients::by_address(through(ForwardingField::XForwardedFor).max_hops(2));
    assert_eq!(key_of(&two, "10.1.1.1", &[(XFF, "198.51.100.7, 10.0.0.2")]), "198.51.100.7");
    assert_eq!(
        key_of(&two, "10.1.1.1", &[(XFF, "198.51.100.7, 10.0.0.3, 10.0.0.2")]),
        behind("10.0.0.3")
    );
}

#[test]
fn svc01_r70_a_chain_is_read_from_the_right_through_trusted_hops_only() {
    check(&[
        ("a", "10.0.0.1", &[(XFF, "198.51.100.1, 203.0.113.7")], "203.0.113.7"),
        ("b", "10.0.0.1", &[(XFF, "198.51.100.2, 203.0.113.7, 10.0.0.2")], "203.0.113.7"),
        ("c", "10.0.0.1", &[(XFF, "198.51.100.3"), (XFF, "203.0.113.7")], "203.0.113.7"),
        ("d", "203.0.113.9", &[(XFF, "198.51.100.4")], "203.0.113.9"),
        ("e", "10.0.0.1", &[(XFF, "10.0.0.5, 10.0.0.6")], "10.0.0.5"),
        ("f", "10.0.0.1", &[(XFF, "198.51.100.5, unknown")], "U 10.0.0.1"),
    ]);
}

/// Whether each request in turn is allowed, of so many in a minute.
fn allowed(limit: u32, keys: &[String]) -> Vec<bool> {
    let minute = std::time::Duration::from_secs(60);
    let config = Config::builder().default(FixedWindow::new(limit, minute)).build().unwrap();
    let limiter = RateLimiter::new(config);
    keys.iter().map(|key| limiter.allow(key, "GET /").allowed()).collect()
}

#[test]
fn r71_two_clients_behind_one_proxy_are_two_keys() {
    let clients = by_forwarded_for();
    let key = |client| key_of(&clients, "10.0.0.1", &[(XFF, client)]);
    assert_ne!(key("203.0.113.7"), key("203.0.113.8"));
    assert_ne!(key("203.0.113.7"), key_of(&clients, "10.0.0.1", &[]));
}

#[test]
fn svc02_r73_ports_brackets_and_blanks_make_no_new_key() {
    let clients = by_forwarded_for();
    let texts = ["203.0.113.7:51034", "203.0.113.7:51035", "  203.0.113.7\t", "203.0.113.7"];
    let keys = texts.map(|text| key_of(&clients, "10.0.0.1", &[(XFF, text)]));
    assert_eq!(allowed(3, &keys), [true, true, true, false]);

    let v6 = ["[2001:db8::1]:443", "2001:DB8:0:0::1"];
    let v6 = v6.map(|text| key_of(&clients, "10.0.0.1", &[(XFF, text)]));
    let by_forwarded = Clients::by_address(through(ForwardingField::Forwarded));
    let forwarded = key_of(&by_forwarded, "10.0.0.1", &[(FWD, r#"for="[2001:db8::1]:47011""#)]);
    assert_eq!(v6, [forwarded.clone(), forwarded]);
}

#[test]
fn svc07_ipv4_in_ipv6_goes_by_bits_and_not_by_spelling() {
    let clients = by_forwarded_for();
    let table = [
        ("::ffff:1.2.3.4", "1.2.3.4"),
        ("::ffff:102:304", "1.2.3.4"),
        ("1.2.3.4", "1.2.3.4"),
        ("::ffff:1.2.3.5", "1.2.3.5"),
        ("2001:db8:1:2::1.2.3.4", "2001:db8:1:2::/64"),
        ("64:ff9b::1.2.3.4", "1.2.3.4"),
        // Neither is this a translator's prefix, nor are these mapped.
        ("64:ff9b:1::1.2.3.4", "64:ff9b:1::/64"),
        ("::1.2.3.4", "::/64"),
        ("::fffe:1.2.3.4", "::/64"),
    ];
    for (text, expected) in table {
        assert_eq!(key_of(&clients, "10.0.0.1", &[(XFF, text)]), expected, "{text}");
        assert_eq!(key_of(&clients, text, &[]), expected, "{text} as the peer");
    }
}

#[test]
fn s01_mapped_clients_share_no_key_whatever_the_length_of_ipv6_networks() {
    for (prefix, network) in
        [(64, "2001:db8:1:2::/64"), (56, "2001:db8:1::/56"), (32, "2001:db8::/32")]
    {
        let clients = Clients::by_address(ClientAddress::of_peer().ipv6_prefix(prefix));
        let key = |peer| key_of(&clients, peer, &[]);
        assert_eq!(key("::ffff:127.0.0.1"), key("::ffff:7f00:1"));
        assert_ne!(key("::ffff:127.0.0.1"), key("::ffff:127.0.0.2"));
        assert_eq!(key("2001:db8:1:2:3:4:5:6"), network);
    }
    for most in [128, 200] {
        let whole = Clients::by_address(ClientAddress::of_peer().ipv6_prefix(most));
        assert_eq!(key_of(&whole, "2001:db8::1", &[]), "2001:db8::1");
    }
    let none = Clients::by_address(ClientAddress::of_peer().ipv6_prefix(0));
    assert_eq!(key_of(&none, "2001:db8::1", &[]), "::/0");
}

#[test]
fn s02_forwarding_fields_of_a_peer_that_is_not_trusted_are_ignored_and_told() {
    let lines = ["x-forwarded-for", "x-real-ip", "forwarded", "cf-connecting-ip", "true-client-ip"];
    let nobody = ClientAddress::forwarded(ForwardingField::XForwardedFor, []);
    let clients = Clients::by_address(nobody.clone());
    for (place, line) in lines.into_iter().enumerate() {
        let text = format!("198.51.100.{place}");
        assert_eq!(key_of(&clients, "203.0.113.9", &[(line, &text)]), "203.0.113.9");
        assert!(nobody.is_untrusted_forwarding(ip("203.0.113.9"), &fields(&[(line, &text)])));
        assert!(is_forwarding_field(&line.parse().unwrap()), "{line}");
    }
    assert!(!nobody.is_untrusted_forwarding(ip("203.0.113.9"), &fields(&[("accept", "*/*")])));
    let proxied = through(ForwardingField::XForwardedFor);
    assert!(!proxied.is_untrusted_forwarding(ip("10.0.0.1"), &fields(&[(XFF, "192.0.2.4")])));
}

#[test]
fn s04_a_forged_loopback_gains_nothing() {
    check(&[
        ("forged", "10.0.0.1", &[(XFF, "127.0.0.1, 198.51.100.7")], "198.51.100.7"),
        ("asserted", "10.0.0.1", &[(XFF, "127.0.0.1")], "127.0.0.1"),
        ("untrusted", "198.51.100.7", &[(XFF, "127.0.0.1")], "198.51.100.7"),
    ]);
}

#[test]
fn s05_of_two_families_the_one_that_was_chosen_counts_or_the_request_is_refused() {
    let both = [(XFF, "198.51.100.7"), (FWD, "for=192.0.2.1")];
    assert_eq!(key_of(&by_forwarded_for(), "10.0.0.1", &both), "198.51.100.7");
    let strict = Clients::by_address(through(ForwardingField::XForwardedFor).strict());
    let identified = strict.identify(ip("10.0.0.1"), &fields(&both));
    assert_eq!(identified, Identified::Refused(ClientFault::TwoFamilies));
    assert_eq!(key_of(&strict, "10.0.0.1", &both[..1]), "198.51.100.7");
    assert_eq!(key_of(&strict, "203.0.113.9", &both), "203.0.113.9");
}

#[test]
fn s08_scoped_and_odd_addresses_are_none_and_crash_nothing() {
    let long = "1".repeat(65_536);
    for text in ["fe80::1%eth0", "fe80::1%", "[::1", "::1]:x", &long, "\u{e9}"] {
        assert_eq!(key_of(&by_forwarded_for(), "10.0.0.1", &[(XFF, text)]), behind("10.0.0.1"));
    }
    let mut odd = HeaderMap::new();
    odd.insert(XFF, HeaderValue::from_bytes(b"\xff\xfe").unwrap());
    let identified = by_forwarded_for().identify(ip("10.0.0.1"), &odd);
    assert_eq!(key(identified).as_str(), behind("10.0.0.1"));
}

#[test]
fn svc05_s11_underscore_twins_are_known_and_never_read() {
    let lines =
        [("x_forwarded_for", "192.0.2.4"), ("x-forwarded_for", "192.0.2.5"), (XFF, "198.51.100.7")];
    assert_eq!(key_of(&by_forwarded_for(), "10.0.0.1", &lines), "198.51.100.7");
    let own = ["x-ratelimit-policy".parse().unwrap(), "x_own".parse().unwrap()];
    for twin in
        ["x_forwarded_for", "x_real_ip", "x-forwarded_for", "x_forwarded-for", "x_ratelimit_policy"]
    {
        assert!(is_underscore_twin(&twin.parse().unwrap(), &own), "{twin}");
    }
    for other in [
        "x-forwarded-for",
        "x_forwarded",
        "x_own",
        "x_request_id",
        "x-ratelimit-policy",
        "forwarded",
    ] {
        assert!(!is_underscore_twin(&other.parse().unwrap(), &own), "{other}");
    }
}

#[test]
fn a_field_with_one_address_counts_from_proxies_alone_and_only_once() {
    let real_ip = ForwardingField::Single(HeaderName::from_static("x-real-ip"));
    let clients = Clients::by_address(through(real_ip));
    let line = ("x-real-ip", "198.51.100.7:80");
    let table = [
        ("10.0.0.1", vec![line], "198.51.100.7".to_owned()),
        ("203.0.113.9", vec![line], "203.0.113.9".to_owned()),
        ("10.0.0.1", vec![], "10.0.0.1".to_owned()),
        ("10.0.0.1", vec![line, line], behind("10.0.0.1")),
        ("10.0.0.1", vec![("x-real-ip", "192.0.2.4, 198.51.100.7")], behind("10.0.0.1")),
        ("10.0.0.1", vec![("x-real-ip", "")], behind("10.0.0.1")),
    ];
    for (peer, lines, expected) in table {
        assert_eq!(key_of(&clients, peer, &lines), expected, "{lines:?}");
    }
}

#[test]
fn a_proxy_is_trusted_however_its_address_is_written() {
    let as_v4: IpNet = "10.0.0.0/8".parse().unwrap();
    let mapped: IpNet = "::ffff:10.0.0.0/104".parse().unwrap();
    let v6: IpNet = "2001:db8::/32".parse().unwrap();
    for network in [as_v4, mapped] {
        let address = ClientAddress::forwarded(ForwardingField::XForwardedFor, [network, v6]);
        for peer in ["10.1.2.3", "::ffff:10.1.2.3", "2001:db8::1"] {
            assert!(address.trusts(ip(peer)), "{peer} of {network}");
        }
        // Behind a translator anybody may seem to be 10.1.2.3.
        for peer in ["11.1.2.3", "64:ff9b::10.1.2.3", "2001:db9::1"] {
            assert!(!address.trusts(ip(peer)), "{peer} of {network}");
        }
    }
}

fn by_api_key(key: HeaderKey) -> Clients {
    Clients::by_header(key, through(ForwardingField::XForwardedFor))
}

#[test]
fn svc29_r74_a_key_that_is_missing_empty_or_repeated_gets_what_the_config_names() {
    let missing: [&[(&str, &str)]; 4] = [
        &[],
        &[("x-api-key", "")],
        &[("x-api-key", "  ")],
        &[("x-api-key", "one"), ("x-api-key", "two")],
    ];
    for lines in missing {
        let identified = |otherwise, peer| {
            by_api_key(HeaderKey::new(API_KEY, otherwise)).identify(ip(peer), &fields(lines))
        };
        let fault = ClientFault::Missing { name: API_KEY };
        assert_eq!(identified(Otherwise::Deny, "192.0.2.1"), Identified::Refused(fault));
        assert_eq!(identified(Otherwise::Skip, "192.0.2.1"), Identified::Skipped);
        let by_address =
            ["192.0.2.1", "192.0.2.2"].map(|peer| identified(Otherwise::Address, peer));
        assert_eq!(
            by_address.map(|client| key(client).as_str().to_owned()),
            ["192.0.2.1", "192.0.2.2"]
        );
        let shared = ["192.0.2.1", "192.0.2.2"].map(|peer| identified(Otherwise::Shared, peer));
        assert_eq!(shared[0], shared[1]);
        let shared = key(shared[0].clone());
        assert_eq!(shared.as_str(), "no x-api-key/0:");
        assert_eq!(shared.shown(&KeyHasher::secure()), "no x-api-key");
    }
}

#[test]
fn svc29_made_up_keys_fall_back_to_the_address_where_keys_are_known() {
    let keys = |api_key: HeaderKey| -> Vec<String> {
        let clients = by_api_key(api_key);
        (0..30)
            .map(|n| key_of(&clients, "192.0.2.1", &[("x-api-key", &format!("made up {n}"))]))
            .collect()
    };
    let picked = HeaderKey::new(API_KEY, Otherwise::Deny);
    assert!(picked.is_picked_by_callers());
    let known = picked.clone().known(["the key"], Otherwise::Address);
    assert!(!known.is_picked_by_callers());
    let verified = HeaderKey::new(API_KEY, Otherwise::Address).only_from_proxies();
    assert!(!verified.is_picked_by_callers());
    let denied = |keys: &[String]| allowed(3, keys).iter().filter(|allowed| !**allowed).count();
    assert_eq!(denied(&keys(picked)), 0);
    assert_eq!(denied(&keys(known.clone())), 27);
    assert_eq!(denied(&keys(verified.clone())), 27);

    let line = [("x-api-key", "the key")];
    assert_eq!(key_of(&by_api_key(known), "192.0.2.1", &line), "header x-api-key/7:the key");
    assert_eq!(key_of(&by_api_key(verified), "10.0.0.1", &line), "header x-api-key/7:the key");
    let fault = ClientFault::Unknown { name: API_KEY };
    let strict =
        by_api_key(HeaderKey::new(API_KEY, Otherwise::Skip).known(["the key"], Otherwise::Deny));
    let identified = strict.identify(ip("192.0.2.1"), &fields(&[("x-api-key", "another")]));
    assert_eq!(identified, Identified::Refused(fault));
}

/// By two fields, both of which may be missing.
fn by_user_and_path() -> Clients {
    let part = |name| HeaderKey::new(HeaderName::from_static(name), Otherwise::Shared);
    Clients::by_header(part("x-user"), ClientAddress::of_peer()).and(part("x-path"))
}

fn pair(user: &[u8], path: &[u8]) -> ClientKey {
    let mut fields = HeaderMap::new();
    for (name, value) in [("x-user", user), ("x-path", path)] {
        fields.insert(name, HeaderValue::from_bytes(value).unwrap());
    }
    key(by_user_and_path().identify(ip("192.0.2.1"), &fields))
}

#[test]
fn s13_parts_of_a_key_cannot_be_shifted() {
    let texts = [
        "",
        "a",
        "ab",
        "abc",
        "b",
        "bc",
        "c",
        ":",
        "|",
        "/",
        "a:b",
        "1:a",
        "2:ab",
        "a/1:b",
        "header x-path/1:a",
    ];
    let pairs = texts.iter().flat_map(|user| texts.iter().map(move |path| (user, path)));
    let mut seen = HashSet::new();
    for (user, path) in pairs {
        assert!(seen.insert(pair(user.as_bytes(), path.as_bytes())), "({user}, {path})");
    }
    assert_eq!(pair(b"ab", b"c").as_str(), "header x-user/2:abheader x-path/1:c");
    // What is not UTF-8 is no other's text.
    assert_eq!(pair(b"\xff", b"c").as_str(), "header x-user in hexadecimal/2:ffheader x-path/1:c");
    assert_ne!(pair(b"\xff", b"c"), pair(b"ff", b"c"));
}

#[test]
fn a_client_with_several_parts_differs_where_one_does() {
    let api_key = HeaderKey::new(API_KEY, Otherwise::Address);
    let clients = by_api_key(api_key).and(ClientPart::Address);
    let line = ("x-api-key", "k");
    let table = [
        ("192.0.2.1", vec![line], "header x-api-key/1:kaddress/9:192.0.2.1"),
        ("192.0.2.2", vec![line], "header x-api-key/1:kaddress/9:192.0.2.2"),
        ("192.0.2.2", vec![], "address/9:192.0.2.2address/9:192.0.2.2"),
        ("10.0.0.1", vec![line, (XFF, "?")], "header x-api-key/1:kunidentified/8:10.0.0.1"),
    ];
    for (peer, lines, expected) in table {
        assert_eq!(key_of(&clients, peer, &lines), expected);
    }
}

#[test]
fn a_header_that_reads_like_an_address_is_not_that_address() {
    let clients = by_api_key(HeaderKey::new(API_KEY, Otherwise::Address));
    let by_header = key_of(&clients, "192.0.2.1", &[("x-api-key", "198.51.100.7")]);
    assert_ne!(by_header, key_of(&clients, "198.51.100.7", &[]));
    let behind_proxy = behind("10.0.0.1");
    assert_ne!(
        key_of(&clients, "192.0.2.1", &[("x-api-key", &behind_proxy)]),
        key_of(&clients, "10.0.0.1", &[(XFF, "?")])
    );
}

#[test]
fn s49_s86_secrets_are_shown_nowhere() {
    let canary = "canary-7f3a";
    let api_key = HeaderKey::new(API_KEY, Otherwise::Deny).known([canary], Otherwise::Deny);
    let clients = by_api_key(api_key).and(ClientPart::Address);
    let lines = fields(&[("x-api-key", canary)]);
    let identified = clients.identify(ip("192.0.2.1"), &lines);
    let client = key(identified.clone());
    let unknown = clients.identify(ip("192.0.2.1"), &fields(&[("x-api-key", "canary-other")]));
    let hasher = KeyHasher::with_secret([1; 16]);
    let shown = client.shown(&hasher);
    for text in
        [format!("{clients:?}"), format!("{identified:?}"), format!("{unknown:?}"), shown.clone()]
    {
        assert!(!text.contains("canary"), "{text}");
    }
    // One secret shows it as the same on every instance, another as something else.
    assert_eq!(shown, format!("header x-api-key #{}, address 192.0.2.1", hasher.key(canary)));
    assert_ne!(shown, client.shown(&KeyHasher::with_secret([2; 16])));
    assert_eq!(format!("{client:?}"), "ClientKey(header x-api-key/..., address/192.0.2.1)");
    let by_address = key(by_forwarded_for().identify(ip("2001:db8::1"), &HeaderMap::new()));
    assert_eq!(by_address.shown(&hasher), "2001:db8::/64");
    assert_eq!(format!("{by_address:?}"), "ClientKey(2001:db8::/64)");
}

#[test]
fn svc28_long_keys_are_not_cut() {
    let long = |last: &str| format!("{}{last}", "k".repeat(4_095));
    assert_ne!(pair(long("a").as_bytes(), b"c"), pair(long("b").as_bytes(), b"c"));
}

#[test]
fn an_address_takes_no_allocation() {
    let (clients, peer) = (by_forwarded_for(), ip("10.0.0.1"));
    let longest = "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff";
    let one = Clients::by_address(through(ForwardingField::XForwardedFor).ipv6_prefix(127));
    for text in ["198.51.100.7, 10.0.0.2", "2001:db8::1", longest, "?"] {
        let lines = fields(&[(XFF, text)]);
        for clients in [&clients, &one] {
            let mut length = 0;
            let counted = allocation_counter::measure(|| {
                length = key(clients.identify(peer, &lines)).as_str().len();
            });
            assert_eq!((counted.count_total, length > 0), (0, true), "{text}");
        }
    }
}

/// A caller's text, made up of what could confuse a reader.
fn forged() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop_oneof![
        Just(b"192.0.2.66".to_vec()),
        Just(b"10.0.0.66".to_vec()),
        Just(b"for=192.0.2.66".to_vec()),
        Just(b"\"".to_vec()),
        Just(b"\\".to_vec()),
        Just(b",".to_vec()),
        Just(b";".to_vec()),
        Just(b" ".to_vec()),
        vec(
            any::<u8>().prop_filter("a byte of a field", |byte| *byte >= 0x20 && *byte != 0x7f),
            0..4
        ),
    ];
    vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn what_a_caller_writes_left_of_the_first_untrusted_hop_changes_nothing(
        forged in forged(), in_a_line_of_its_own: bool, hops in 0_u8..4, is_forwarded: bool,
    ) {
        let (name, field) = if is_forwarded {
            (FWD, ForwardingField::Forwarded)
        } else {
            (XFF, ForwardingField::XForwardedFor)
        };
        let element = |address: &str| if is_forwarded { format!("for={address}") } else { address.to_owned() };
        let mut appended = element("198.51.100.7");
        for hop in 0..hops {
            appended = format!("{appended}, {}", element(&format!("10.0.0.{hop}")));
        }
        let mut lines = HeaderMap::new();
        if in_a_line_of_its_own {
            lines.append(name, HeaderValue::from_bytes(&forged).unwrap());
            lines.append(name, appended.parse().unwrap());
        } else {
            let joined = [&forged[..], b", ", appended.as_bytes()].concat();
            lines.append(name, HeaderValue::from_bytes(&joined).unwrap());
        }
        let clients = Clients::by_address(through(field));
        let identified = clients.identify(ip("10.0.0.1"), &lines);
        prop_assert_eq!(key(identified).as_str().to_owned(), "198.51.100.7");
    }

    #[test]
    fn any_bytes_in_any_field_identify_somebody(
        bytes in vec(any::<u8>().prop_filter("a byte of a field", |byte| *byte >= 0x20 && *byte != 0x7f), 0..200),
        peer: u128,
    ) {
        let mut lines = HeaderMap::new();
        for name in [XFF, FWD, "x-real-ip", "x-api-key"] {
            lines.append(name, HeaderValue::from_bytes(&bytes).unwrap());
        }
        let everybody: [IpNet; 2] = ["::/0".parse().unwrap(), "0.0.0.0/0".parse().unwrap()];
        let real_ip = ForwardingField::Single(HeaderName::from_static("x-real-ip"));
        for field in [ForwardingField::XForwardedFor, ForwardingField::Forwarded, real_ip] {
            let address = ClientAddress::forwarded(field, everybody);
            let api_key = HeaderKey::new(API_KEY, Otherwise::Address);
            for clients in [Clients::by_address(address.clone()), Clients::by_header(api_key, address)] {
                let peer = IpAddr::from(std::net::Ipv6Addr::from_bits(peer));
                let client = key(clients.identify(peer, &lines));
                prop_assert!(!client.as_str().is_empty());
                prop_assert!(!client.shown(&KeyHasher::secure()).is_empty());
            }
        }
    }

    #[test]
    fn s13_two_lists_of_parts_have_two_texts(
        one in (vec(0x20_u8..0x7f, 0..6), vec(0x20_u8..0x7f, 0..6)),
        other in (vec(0x20_u8..0x7f, 0..6), vec(0x20_u8..0x7f, 0..6)),
    ) {
        // Blanks around a value are not part of it.
        let trimmed = |(user, path): &(Vec<u8>, Vec<u8>)| (user.trim_ascii().to_vec(), path.trim_ascii().to_vec());
        let is_same = trimmed(&one) == trimmed(&other);
        prop_assert_eq!(pair(&one.0, &one.1) == pair(&other.0, &other.1), is_same);
    }
}
