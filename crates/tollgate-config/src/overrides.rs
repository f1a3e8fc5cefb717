//! Overrides: what single clients get of an entry instead, for good or until a time.

use jiff::Timestamp;
use tollgate::{Policy, Rule, Time};

use crate::fields::Fields;
use crate::findings::Findings;
use crate::names::{ALGORITHM, CLIENT, LIMITS, OVERRIDE_FIELDS, OVERRIDES, UNTIL};
use crate::rule::RuleReader;
use crate::tree::{Node, Value};
use crate::twice::Seen;

/// What one client gets instead.
#[derive(Debug)]
pub(crate) struct Override {
    client: String,
    until: Option<Time>,
    rule: Rule,
}

impl Override {
    /// Hands it on to the library.
    pub(crate) fn add_to(self, policy: Policy) -> Policy {
        match self.until {
            Some(until) => policy.override_until(self.client, until, self.rule),
            None => policy.override_for(self.client, self.rule),
        }
    }
}

/// Reads the overrides of an entry.
pub(crate) fn read_overrides(
    fields: &Fields<'_>,
    rules: &RuleReader<'_>,
    findings: &mut Findings,
) -> Vec<Override> {
    let Some(entry) = fields.get(OVERRIDES) else { return Vec::new() };
    let Value::List(nodes) = &entry.value.value else {
        let expected =
            format!("a list, each a map with `{CLIENT}`, and `{ALGORITHM}` or `{LIMITS}`");
        findings.wrong(&entry.value, format_args!("`{OVERRIDES}`"), &expected);
        return Vec::new();
    };
    let mut seen = Seen::default();
    for node in nodes {
        if let Some((node, name)) = node.get(CLIENT).and_then(|it| Some((it, it.as_text()?))) {
            seen.refuse_again(name, node.into(), &format!("override of client {name:?}"), findings);
        }
    }
    let numbered = (1..).zip(nodes);
    numbered.filter_map(|(number, node)| read_override(number, node, rules, findings)).collect()
}

fn read_override(
    number: usize,
    node: &Node,
    rules: &RuleReader<'_>,
    findings: &mut Findings,
) -> Option<Override> {
    let position = format!("element {number} of `{OVERRIDES}`");
    let expected = format!("a map with `{CLIENT}`, and `{ALGORITHM}` or `{LIMITS}`");
    let fields = Fields::of(node, &position, &expected, findings)?;
    let subject = match node.get(CLIENT).and_then(Node::as_text) {
        Some(client) => format!("override of client {client:?}"),
        None => position,
    };
    findings.about(subject, |findings| {
        fields.refuse_unknown(&OVERRIDE_FIELDS, findings);
        let client = fields.text(CLIENT, "the name of a client", findings);
        let until = fields.get(UNTIL).map(|entry| read_time(&entry.value, findings));
        let rule = rules.read(&fields, &[], findings);
        // Given and not readable is a fault; left out is for good.
        let until = until.map_or(Some(None), |time| time.map(Some));
        Some(Override { client: client?.to_owned(), until: until?, rule: rule? })
    })
}

/// A time of day with its offset from UTC, as RFC 3339 writes it; before 1970 it is 1970.
fn read_time(node: &Node, findings: &mut Findings) -> Option<Time> {
    let timestamp = node.as_text().and_then(|text| text.parse::<Timestamp>().ok());
    let Some(timestamp) = timestamp else {
        let expected = "a time with its offset from UTC, such as 2026-12-31T00:00:00Z";
        findings.wrong(node, format_args!("`{UNTIL}`"), expected);
        return None;
    };
    let nanos = timestamp.as_nanosecond().max(0);
    Some(Time::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
}
