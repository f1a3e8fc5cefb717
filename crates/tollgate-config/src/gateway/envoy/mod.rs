//! Envoy's rate limit service: where it is, and how descriptors become calls.

pub(crate) mod schema;
mod template;

use std::collections::BTreeSet;

use super::names::{CLIENT, DESCRIPTOR, DOMAIN, ENDPOINT, RULE_FIELDS, RULES, TENANT};
use crate::fields::Fields;
use crate::findings::Findings;
use crate::tree::{Node, Position, Value};
use crate::twice::Seen;

pub use template::{EndpointTemplate, Piece};

/// Envoy's rate limit service.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EnvoyConfig {
    /// Where it is, as `HOST:PORT`.
    pub listen: String,
    /// What descriptors mean. [`EnvoyRule::defaults`] unless said.
    pub rules: Vec<EnvoyRule>,
}

/// What the descriptors of one set of keys mean: which endpoint is called, by whom, on behalf of which tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EnvoyRule {
    /// The domain it holds for; `None` for every domain that has no rule of its own for these keys.
    pub domain: Option<String>,
    /// The keys of a descriptor's entries, all of them, in any order.
    pub descriptor: Vec<String>,
    /// The endpoint's name; `None` for the domain's name.
    pub endpoint: Option<EndpointTemplate>,
    /// The keys of the entries that together are the client; none where all are one.
    pub client: Vec<String>,
    /// The key of the entry that is the tenant.
    pub tenant: Option<String>,
}

/// The key under which Envoy gives the address of the client.
const ADDRESS: &str = "remote_address";

impl EnvoyRule {
    /// The rules where none are given, by the names that Envoy's own actions give to entries, and `method` and `path`
    /// for what a request asks.
    pub fn defaults() -> Vec<Self> {
        [
            (&["method", "path", "remote_address"][..], &["method", "path"][..]),
            (&["path", "remote_address"], &["path"]),
            (&["generic_key", "remote_address"], &["generic_key"]),
            (&["remote_address"], &[]),
            (&["generic_key"], &["generic_key"]),
        ]
        .map(|(descriptor, endpoint)| Self {
            domain: None,
            descriptor: owned(descriptor),
            endpoint: (!endpoint.is_empty()).then(|| EndpointTemplate::of_keys(endpoint)),
            client: descriptor
                .iter()
                .filter(|key| **key == ADDRESS)
                .map(|key| (*key).to_owned())
                .collect(),
            tenant: None,
        })
        .to_vec()
    }
}

/// Reads `rules`, the defaults where they are left out.
pub(super) fn read_rules(fields: &Fields<'_>, findings: &mut Findings) -> Vec<EnvoyRule> {
    let Some(entry) = fields.get(RULES) else { return EnvoyRule::defaults() };
    let Some(nodes) = entry.value.as_list() else {
        let expected = format!("a list of rules, each a map with `{DESCRIPTOR}`");
        findings.wrong(&entry.value, format_args!("`{RULES}`"), &expected);
        return Vec::new();
    };
    let mut rules = Vec::new();
    for (number, node) in (1..).zip(nodes) {
        let read = |findings: &mut Findings| read_rule(node, findings);
        rules.extend(findings.about(format!("rule {number}"), read).map(|rule| (rule, node)));
    }
    refuse_rules_given_twice(&rules, findings);
    rules.into_iter().map(|(rule, _)| rule).collect()
}

fn read_rule(node: &Node, findings: &mut Findings) -> Option<EnvoyRule> {
    let expected = format!("a map with `{DESCRIPTOR}`");
    let fields = Fields::of(node, "a rule", &expected, findings)?;
    fields.refuse_unknown(&RULE_FIELDS, findings);
    let domain = fields.optional_text(DOMAIN, "the domain that Envoy says", findings);
    let descriptor = read_descriptor(&fields, findings)?;
    let endpoint = fields
        .optional_text(ENDPOINT, "a name such as \"{method} {path}\"", findings)
        .zip(fields.get(ENDPOINT))
        .and_then(|(text, entry)| {
            let read = EndpointTemplate::parse(text, &descriptor);
            read.map_err(|wrong| findings.at(&entry.value, format_args!("`{ENDPOINT}` {wrong}")))
                .ok()
        });
    let client = read_keys(CLIENT, &fields, &descriptor, findings);
    let tenant = fields.optional_text(TENANT, "the key of an entry", findings);
    let tenant = tenant.zip(fields.get(TENANT)).and_then(|(key, entry)| {
        known_key(TENANT, (key, (&entry.value).into()), &descriptor, findings)
    });
    Some(EnvoyRule {
        domain: domain.map(str::to_owned),
        descriptor: owned(&descriptor),
        endpoint,
        client: owned(&client),
        tenant: tenant.map(str::to_owned),
    })
}

/// The keys of a rule's descriptors: at least one, none of them twice.
fn read_descriptor<'a>(fields: &Fields<'a>, findings: &mut Findings) -> Option<Vec<&'a str>> {
    let node = fields.required(DESCRIPTOR, "the keys of its entries", findings)?;
    let keys = fields.texts(DESCRIPTOR, "the keys of its entries", findings);
    if node.as_list().is_some_and(<[Node]>::is_empty) {
        findings
            .at(node, format_args!("`{DESCRIPTOR}` is empty; expected the keys of its entries"));
    }
    let mut seen = Seen::default();
    for (key, place) in &keys {
        if key.is_empty() {
            findings.at(*place, format_args!("`{DESCRIPTOR}` has an empty key; Envoy sends none"));
        }
        seen.refuse_again(key, *place, &format!("`{key}`"), findings);
    }
    Some(keys.into_iter().map(|(key, _)| key).collect())
}

/// The keys of entries that together name somebody: one, or a list of them.
fn read_keys<'a>(
    name: &str,
    fields: &Fields<'a>,
    descriptor: &[&str],
    findings: &mut Findings,
) -> Vec<&'a str> {
    let Some(entry) = fields.get(name) else { return Vec::new() };
    let expected = "the key of an entry, or a list of keys";
    let keys: Vec<(&str, Position)> = match &entry.value.value {
        Value::Text(key) => vec![(key, (&entry.value).into())],
        Value::List(_) => fields.texts(name, "keys of entries", findings),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Map(_) => {
            findings.wrong(&entry.value, format_args!("`{name}`"), expected);
            Vec::new()
        }
    };
    keys.into_iter().filter_map(|key| known_key(name, key, descriptor, findings)).collect()
}

fn known_key<'a>(
    name: &str,
    (key, place): (&'a str, Position),
    descriptor: &[&str],
    findings: &mut Findings,
) -> Option<&'a str> {
    let known = template::known(key, descriptor);
    known.map_err(|wrong| findings.at(place, format_args!("`{name}` {wrong}"))).ok()
}

/// Of two rules for one domain and the same keys, one would never be asked.
fn refuse_rules_given_twice(rules: &[(EnvoyRule, &Node)], findings: &mut Findings) {
    let of_rule = |rule: &EnvoyRule| {
        let keys: BTreeSet<_> = rule.descriptor.iter().map(String::as_str).collect();
        match &rule.domain {
            Some(domain) => format!("the rule for {keys:?} in the domain {domain:?}"),
            None => format!("the rule for {keys:?} in any domain"),
        }
    };
    let named: Vec<_> = rules.iter().map(|(rule, node)| (of_rule(rule), *node)).collect();
    let mut seen = Seen::default();
    for (name, node) in &named {
        seen.refuse_again(name, (*node).into(), name, findings);
    }
}

fn owned(texts: &[&str]) -> Vec<String> {
    texts.iter().copied().map(str::to_owned).collect()
}
