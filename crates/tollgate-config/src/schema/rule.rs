//! What clients get of an endpoint, on an entry, in its plans and in its overrides; and who is on which plan.

use serde_json::{Value, json};
use tollgate::{Config, LimiterFactory};

use super::flag;
use crate::names::{
    ALGO_CONFIG, ALGORITHM, CLIENT, DENY, LIMITS, PENALTY, PLAN, PREFIX, UNLIMITED, UNTIL, USE,
};

/// As RFC 3339 has it.
const TIME: &str = concat!(
    r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}",
    r"(\.[0-9]{1,9})?([Zz]|[+-][0-9]{2}:[0-9]{2})$",
);

pub(super) fn parameter_properties() -> Value {
    let names: Vec<_> = LimiterFactory::new().names().map(str::to_owned).collect();
    json!({
        ALGORITHM: { "description": "How requests are counted.", "enum": names },
        ALGO_CONFIG: { "description": "The algorithm's parameters.", "type": "object" },
    })
}

/// The algorithm decides what its parameters may be.
pub(super) fn parameters_by_algorithm() -> Vec<Value> {
    let parameters_of = |name: &str| {
        json!({
            "if": { "properties": { ALGORITHM: { "const": name } }, "required": [ALGORITHM] },
            "then": { "properties": { ALGO_CONFIG: { "$ref": format!("#/$defs/{name}") } } },
        })
    };
    LimiterFactory::new().names().map(parameters_of).collect()
}

/// One limit, a list of them, or a word for the extremes.
pub(super) fn rule_properties() -> Value {
    let mut properties = parameter_properties();
    properties[LIMITS] = json!({
        "description": "Several limits that decide together: all are charged, or none is.",
        "type": "array",
        "items": { "$ref": "#/$defs/limit" },
    });
    properties[UNLIMITED] = flag("No limit at all, not even those of every endpoint.");
    properties[DENY] = flag("Nobody may call.");
    properties
}

/// A map of these properties, of which one says what clients get; `others` may say it too, beside limits.
pub(super) fn of_one_form(properties: &Value, required: &[&str], others: &[&str]) -> Value {
    let is_true =
        |name: &str| json!({ "properties": { name: { "const": true } }, "required": [name] });
    let forms = [
        json!({ "anyOf": [{ "required": [ALGORITHM] }, { "required": [ALGO_CONFIG] }] }),
        json!({ "required": [LIMITS] }),
        is_true(UNLIMITED),
        is_true(DENY),
    ];
    let apart = forms_apart(&forms);
    let others = others.iter().map(|name| json!({ "required": [name] }));
    let any: Vec<_> = forms.into_iter().chain(others).collect();
    let all: Vec<_> = apart.into_iter().chain(parameters_by_algorithm()).collect();
    json!({
        "type": "object",
        "required": required,
        "additionalProperties": false,
        "properties": properties,
        "anyOf": any,
        "allOf": all,
        "dependentRequired": { ALGORITHM: [ALGO_CONFIG], ALGO_CONFIG: [ALGORITHM] },
    })
}

/// There is one form; shared limits and penalties go with those that count.
fn forms_apart(forms: &[Value; 4]) -> Vec<Value> {
    let [one, limits, unlimited, deny] = forms;
    let (shared, penalty) = (&json!({ "required": [USE] }), &json!({ "required": [PENALTY] }));
    let pairs = [
        (one, limits),
        (one, unlimited),
        (one, deny),
        (limits, unlimited),
        (limits, deny),
        (unlimited, deny),
        (unlimited, shared),
        (deny, shared),
        (unlimited, penalty),
        (deny, penalty),
    ];
    pairs.map(|(one, other)| json!({ "not": { "allOf": [one, other] } })).into()
}

/// What one client gets of an entry.
pub(super) fn override_of_client() -> Value {
    let mut properties = rule_properties();
    properties[CLIENT] = text("The client's name.");
    properties[UNTIL] = json!({
        "description": "When it ends, with the offset from UTC; never, unless said.",
        "type": "string",
        "format": "date-time",
        "pattern": TIME,
        "examples": ["2026-12-31T00:00:00Z", "2026-12-31T00:00:00+01:00"],
    });
    of_one_form(&properties, &[CLIENT], &[])
}

pub(super) fn plans() -> Value {
    json!({
        "description": "The names of the plans there are.",
        "type": "array",
        "items": { "type": "string", "minLength": 1 },
        "uniqueItems": true,
        "maxItems": Config::PLANS_MAX,
    })
}

/// Who is on which plan.
pub(super) fn clients() -> Value {
    json!({
        "description": "Who is on which plan. A client's own name wins over the plan that a call \
            names, and that over the longest prefix.",
        "type": "array",
        "items": {
            "type": "object",
            "required": [PLAN],
            "additionalProperties": false,
            "properties": {
                CLIENT: text("The client's name."),
                PREFIX: text("What the names of all these clients begin with."),
                PLAN: text("The plan, one of those above."),
            },
            "oneOf": [{ "required": [CLIENT] }, { "required": [PREFIX] }],
        },
    })
}

fn text(description: &str) -> Value {
    json!({ "description": description, "type": "string" })
}
