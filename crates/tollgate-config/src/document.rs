//! A whole config: the default, the endpoints, and the bounds that hold for all of them.

use std::collections::BTreeSet;

use tollgate::{Config, ConfigBuilder, Limit, LimiterFactory, Policy, endpoint_faults};

use crate::entry::{EntryReader, endpoint_of};
use crate::fields::Fields;
use crate::findings::Findings;
use crate::gateway::{self, GatewayConfig};
use crate::limits::{Bounds, LimitReader, name_of};
use crate::names::{CONFIG_FIELDS, DEFAULT, ENDPOINT, ENDPOINTS, EVERY, GATEWAY, SHARED_LIMITS};
use crate::plans::PlanReader;
use crate::tree::{Node, Value};
use crate::twice::Seen;

/// Reads a config, and finds everything that is wrong with it: the limits, and what a gateway serves.
pub(crate) fn read(
    root: &Node,
    factory: &LimiterFactory,
    findings: &mut Findings,
) -> Option<(Config, GatewayConfig)> {
    refuse_keys_given_twice(root, findings);
    let expected = format!("a map with `{DEFAULT}` and, where need be, `{ENDPOINTS}`");
    let fields = Fields::of(root, "the config", &expected, findings)?;
    fields.refuse_unknown(&CONFIG_FIELDS, findings);
    let bounds = Bounds::read(&fields, findings);
    let limits = LimitReader { factory, bounds };
    let shared = fields.get(SHARED_LIMITS).map(|entry| &entry.value);
    let shared_limits =
        shared.map_or(Some(Vec::new()), |node| limits.read_named(node, SHARED_LIMITS, findings));
    let plans = PlanReader::read(&fields, findings);
    let every = fields.texts(EVERY, "the names of shared limits", findings);
    let reader = EntryReader {
        limits,
        shared: shared.map(shared_names).unwrap_or_default(),
        every: every.iter().map(|(name, _)| *name).collect(),
        plans,
    };
    findings.about(EVERY.to_owned(), |findings| {
        for (name, place) in &every {
            reader.refuse_unknown_shared_limit(name, *place, findings);
        }
    });
    let default = read_default(&fields, &reader, findings);
    let endpoints = read_endpoints(&fields, &reader, findings);
    let gateway = gateway::read::read(fields.get(GATEWAY), findings);
    if !findings.is_empty() {
        return None;
    }
    let EntryReader { every, plans, .. } = reader;
    let parts = Parts { default: default?, endpoints, shared: shared_limits?, every, plans };
    Some((build(root, parts, findings)?, gateway))
}

/// The parts of a config, in which no fault was found.
struct Parts<'a> {
    default: Policy,
    endpoints: Vec<(String, Policy)>,
    shared: Vec<Limit>,
    every: Vec<&'a str>,
    plans: PlanReader<'a>,
}

/// The names of shared limits, also of those that have faults.
fn shared_names(node: &Node) -> BTreeSet<&str> {
    match &node.value {
        Value::Map(entries) => entries.iter().map(|entry| entry.key.as_str()).collect(),
        Value::List(nodes) => nodes.iter().filter_map(name_of).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => BTreeSet::new(),
    }
}

fn read_default(
    fields: &Fields<'_>,
    reader: &EntryReader<'_>,
    findings: &mut Findings,
) -> Option<Policy> {
    let expected = "the limiter of every endpoint that is not listed";
    let node = fields.required(DEFAULT, expected, findings)?;
    reader.read_default(node, findings)
}

fn read_endpoints(
    fields: &Fields<'_>,
    reader: &EntryReader<'_>,
    findings: &mut Findings,
) -> Vec<(String, Policy)> {
    let Some(entry) = fields.get(ENDPOINTS) else { return Vec::new() };
    let Value::List(nodes) = &entry.value.value else {
        let expected = format!("a list of entries, each a map with `{ENDPOINT}`");
        findings.wrong(&entry.value, format_args!("`{ENDPOINTS}`"), &expected);
        return Vec::new();
    };
    refuse_endpoints_given_twice(nodes, findings);
    refuse_patterns(nodes, findings);
    let numbered = (1..).zip(nodes);
    numbered.filter_map(|(number, node)| reader.read_entry(number, node, findings)).collect()
}

fn build(root: &Node, parts: Parts<'_>, findings: &mut Findings) -> Option<Config> {
    let builder = Config::builder().default(parts.default);
    let builder = parts
        .endpoints
        .into_iter()
        .fold(builder, |builder, (name, policy)| builder.endpoint(name, policy));
    let builder = parts.shared.into_iter().fold(builder, ConfigBuilder::shared_limit);
    let builder = parts.every.into_iter().fold(builder, ConfigBuilder::every);
    let builder = parts.plans.add_to(builder);
    match builder.build() {
        Ok(config) => Some(config),
        Err(faults) => {
            findings.add_faults(&faults, |_| root.into());
            None
        }
    }
}

fn refuse_endpoints_given_twice(nodes: &[Node], findings: &mut Findings) {
    let mut seen = Seen::default();
    for node in nodes {
        let endpoint = endpoint_of(node).zip(node.get(ENDPOINT));
        if let Some((name, place)) = endpoint {
            seen.refuse_again(name, place.into(), &format!("endpoint {name:?}"), findings);
        }
    }
}

/// Has the library say which names are patterns that cannot be read or stand together.
fn refuse_patterns(nodes: &[Node], findings: &mut Findings) {
    let endpoint = |node| endpoint_of(node).zip(node.get(ENDPOINT));
    let endpoints: Vec<_> = nodes.iter().filter_map(endpoint).collect();
    let names: Vec<_> = endpoints.iter().map(|(name, _)| *name).collect();
    for fault in endpoint_faults(&names) {
        let Some((name, place)) = endpoints.get(fault.index()) else { continue };
        let other = fault.other().and_then(|other| endpoints.get(other));
        let other = other.map_or_else(String::new, |(_, other)| {
            format!(" (the other is at line {}, column {})", other.line, other.column)
        });
        findings.about(format!("endpoint {name:?}"), |findings| {
            findings.at(*place, format_args!("{fault}{other}"));
        });
    }
}

/// Finds the keys that a map gives twice, in every map there is.
fn refuse_keys_given_twice(node: &Node, findings: &mut Findings) {
    match &node.value {
        Value::List(nodes) => {
            for node in nodes {
                refuse_keys_given_twice(node, findings);
            }
        }
        Value::Map(entries) => {
            let mut seen = Seen::default();
            for entry in entries {
                let what = format!("`{}`", entry.key);
                seen.refuse_again(&entry.key, entry.into(), &what, findings);
                refuse_keys_given_twice(&entry.value, findings);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {}
    }
}
