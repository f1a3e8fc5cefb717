//! A whole config: the default, the endpoints, and the bounds that hold for all of them.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use tollgate::{Config, LimiterConfig, LimiterFactory, endpoint_faults};

use crate::entry::{Bounds, EntryReader, endpoint_of};
use crate::fields::Fields;
use crate::findings::Findings;
use crate::names::{CONFIG_FIELDS, DEFAULT, ENDPOINT, ENDPOINTS};
use crate::tree::{Node, Position, Value};

/// Reads a config, and finds everything that is wrong with it.
pub(crate) fn read(
    root: &Node,
    factory: &LimiterFactory,
    findings: &mut Findings,
) -> Option<Config> {
    refuse_keys_given_twice(root, findings);
    let expected = format!("a map with `{DEFAULT}` and, where need be, `{ENDPOINTS}`");
    let fields = Fields::of(root, "the config", &expected, findings)?;
    fields.refuse_unknown(&CONFIG_FIELDS, findings);
    let bounds = Bounds::read(&fields, findings);
    let reader = EntryReader { factory, bounds };
    let default = read_default(&fields, &reader, findings);
    let endpoints = read_endpoints(&fields, &reader, findings);
    if !findings.is_empty() {
        return None;
    }
    build(root, default?, endpoints, findings)
}

fn read_default(
    fields: &Fields<'_>,
    reader: &EntryReader<'_>,
    findings: &mut Findings,
) -> Option<LimiterConfig> {
    let expected = "the limiter of every endpoint that is not listed";
    let node = fields.required(DEFAULT, expected, findings)?;
    reader.read_default(node, findings)
}

fn read_endpoints(
    fields: &Fields<'_>,
    reader: &EntryReader<'_>,
    findings: &mut Findings,
) -> Vec<(String, LimiterConfig)> {
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

fn build(
    root: &Node,
    default: LimiterConfig,
    endpoints: Vec<(String, LimiterConfig)>,
    findings: &mut Findings,
) -> Option<Config> {
    let builder = Config::builder().default(default);
    let builder = endpoints
        .into_iter()
        .fold(builder, |builder, (name, limiter)| builder.endpoint(name, limiter));
    match builder.build() {
        Ok(config) => Some(config),
        Err(faults) => {
            findings.add_faults(&faults, |_| root.into());
            None
        }
    }
}

fn refuse_endpoints_given_twice(nodes: &[Node], findings: &mut Findings) {
    let mut seen = HashMap::new();
    for node in nodes {
        let endpoint = endpoint_of(node).zip(node.get(ENDPOINT));
        if let Some((name, place)) = endpoint {
            refuse_seen(&mut seen, name, place.into(), &format!("endpoint {name:?}"), findings);
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
            let mut seen = HashMap::new();
            for entry in entries {
                let what = format!("`{}`", entry.key);
                refuse_seen(&mut seen, &entry.key, entry.into(), &what, findings);
                refuse_keys_given_twice(&entry.value, findings);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {}
    }
}

/// Remembers where a name was seen, and finds fault with it the second time.
fn refuse_seen<'a>(
    seen: &mut HashMap<&'a str, Position>,
    name: &'a str,
    place: Position,
    what: &str,
    findings: &mut Findings,
) {
    match seen.entry(name) {
        Entry::Vacant(vacant) => {
            vacant.insert(place);
        }
        Entry::Occupied(first) => {
            let Position { line, column } = first.get();
            let message =
                format!("{what} is given twice, first at line {line}, column {column}; keep one");
            findings.at(place, message);
        }
    }
}
