//! A JSON Schema of config files, by which editors complete, explain and check them while they are
//! written.

mod rule;

use std::ops::RangeInclusive;

use serde_json::{Value, json};
use tollgate::algorithm::WINDOW_MS;
use tollgate::{
    Concurrency, LimiterConfig, OnFull, Period, Policy, Rate, SlidingWindowLog, TokenBucket,
};

use crate::gateway::schema::gateway;
use crate::names::{
    ALGO_CONFIG, ALGORITHM, BLOCK_FOR, CLIENTS, COST, DEFAULT, DENIALS, ENDPOINT, ENDPOINTS, EVERY,
    EXEMPT, GATEWAY, MAX_KEYS, MODE, MODE_WORDS, NAME, ON_FULL, ON_FULL_WORDS, OVERRIDES, PENALTY,
    PLANS, SCOPE, SCOPE_WORDS, SHARED_LIMITS, USE, WAS,
};

use self::rule::{
    clients, of_one_form, override_of_client, parameter_properties, parameters_by_algorithm, plans,
    rule_properties,
};

const DECIMAL: &str = r"\+?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?";
const UNIT: &str = r"[A-Za-zµ]+";
const OFFSET: &str = r"^(UTC|[+-](0[0-9]|1[01]):[0-5][0-9]|\+1[23]:[0-5][0-9]|-12:00|\+14:00)$";
const DURATION: &str = r"([0-9]+(\.[0-9]+)?\s*[A-Za-zµ]+\s*)+";

/// The JSON Schema (draft 2020-12) of config files that use the built-in algorithms, as JSON text.
///
/// It cannot say everything: that an endpoint is given twice, that a shared limit is not there, or
/// that a capacity takes more than 100 years to refill, only [`load`](crate::load) tells, and that is
/// what decides.
pub fn schema() -> String {
    format!("{:#}\n", config())
}

fn config() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Tollgate limits",
        "description": "One limiter for each endpoint listed, and a default for every other.",
        "type": "object",
        "required": [DEFAULT],
        "additionalProperties": false,
        "properties": {
            DEFAULT: {
                "description": "The limiter of every endpoint that is not listed. They share \
                    it: a client has one quota over all of them.",
                "$ref": "#/$defs/policy",
            },
            ENDPOINTS: {
                "description": "Endpoints with a limiter of their own.",
                "type": "array",
                "items": { "$ref": "#/$defs/entry" },
            },
            SHARED_LIMITS: {
                "description": "Limits that endpoints share, one bucket for all who use it: a list, \
                    or a map by name.",
                "oneOf": [
                    { "type": "array", "items": { "$ref": "#/$defs/limit" } },
                    {
                        "type": "object",
                        "propertyNames": { "minLength": 1 },
                        "additionalProperties": { "$ref": "#/$defs/sharedLimit" },
                    },
                ],
            },
            EVERY: texts("The shared limits of every endpoint."),
            PLANS: plans(),
            CLIENTS: clients(),
            MAX_KEYS: { "$ref": "#/$defs/maxKeys" },
            ON_FULL: { "$ref": "#/$defs/onFull" },
            GATEWAY: { "$ref": "#/$defs/gateway" },
        },
        "$defs": {
            "gateway": gateway(),
            "policy": policy(),
            "entry": entry(),
            "plan": of_one_form(&rule_properties(), &[], &[]),
            "override": override_of_client(),
            "limit": limit(&[NAME]),
            "sharedLimit": limit(&[]),
            "maxKeys": max_keys(),
            "onFull": on_full(),
            "Concurrency": concurrency(),
            "TokenBucket": token_bucket(),
            "SlidingWindowLog": window_quota(SlidingWindowLog::MAX_REQUESTS),
            "FixedWindow": fixed_window(),
            "SlidingWindowCounter": window_quota(u32::MAX),
        },
    })
}

/// What `default` may say: one limit, a list of them, shared ones, or a word for the extremes; and what plans and
/// single clients get instead.
fn policy() -> Value {
    let mut properties = rule_properties();
    properties[MAX_KEYS] = json!({ "$ref": "#/$defs/maxKeys" });
    properties[ON_FULL] = json!({ "$ref": "#/$defs/onFull" });
    properties[USE] = texts("Shared limits that this endpoint uses.");
    properties[COST] =
        whole("What a call costs that does not say; 1 unless said.", 1..=u64::from(u32::MAX));
    properties[PENALTY] = json!({
        "description": "Blocks a client who was denied so many times in a row.",
        "type": "object",
        "required": [DENIALS, BLOCK_FOR],
        "additionalProperties": false,
        "properties": {
            DENIALS: whole("How many denials in a row.", Policy::PENALTY_DENIALS),
            BLOCK_FOR: duration("For how long, with the unit: 30s, 10m, 1h."),
        },
    });
    properties[EXEMPT] = texts("Clients that no limit of this endpoint holds for.");
    properties[PLANS] = json!({
        "description": "What the clients of each plan get instead.",
        "type": "object",
        "additionalProperties": { "$ref": "#/$defs/plan" },
    });
    properties[OVERRIDES] = json!({
        "description": "What single clients get instead, whatever their plan.",
        "type": "array",
        "items": { "$ref": "#/$defs/override" },
    });
    of_one_form(&properties, &[], &[USE])
}

/// What an entry of `endpoints` may say: as the default, and which endpoint it is of.
fn entry() -> Value {
    let mut entry = policy();
    entry["required"] = json!([ENDPOINT]);
    entry["properties"][ENDPOINT] = json!({
        "description": "The endpoint's name, matched exactly. `/path` answers for every method; \
            `POST /path` for one, and wins. A path with `{name}` for any one segment, or `*` at its \
            end for any rest, is a pattern: exact names win over it, and of patterns the most \
            specific.",
        "type": "string",
        "examples": ["/search", "POST /login", "GET /users/{id}", "/files/*"],
    });
    entry
}

/// A limit with a name, which stands in it or before it.
fn limit(required: &[&str]) -> Value {
    let mut properties = algorithm_properties();
    properties[SCOPE] = choice("Whose calls are counted together.", &SCOPE_WORDS.map(|it| it.0));
    properties[MODE] = choice(
        "shadow: decided and counted as if enforced, and nobody is denied.",
        &MODE_WORDS.map(|it| it.0),
    );
    properties[WAS] = json!({
        "description": "The name it had before, so that a reload hands its state on.",
        "type": "string",
    });
    for name in required {
        properties[*name] = json!({
            "description": "What results call it, and what a reload goes by.",
            "type": "string",
            "minLength": 1,
        });
    }
    let required = [required, &[ALGORITHM, ALGO_CONFIG]].concat();
    json!({
        "type": "object",
        "required": required,
        "additionalProperties": false,
        "properties": properties,
        "allOf": parameters_by_algorithm(),
    })
}

fn algorithm_properties() -> Value {
    let mut properties = parameter_properties();
    properties[MAX_KEYS] = json!({ "$ref": "#/$defs/maxKeys" });
    properties[ON_FULL] = json!({ "$ref": "#/$defs/onFull" });
    properties
}

pub(crate) fn texts(description: &str) -> Value {
    json!({ "description": description, "type": "array", "items": { "type": "string" } })
}

pub(crate) fn flag(description: &str) -> Value {
    json!({ "description": description, "type": "boolean" })
}

/// One of a few words, the first of which is the default.
pub(crate) fn choice(description: &str, words: &[&str]) -> Value {
    json!({ "description": description, "enum": words, "default": words.first() })
}

fn max_keys() -> Value {
    let description = "The most clients a limiter remembers at once. One at the top holds for \
        every entry without its own.";
    json!({
        "description": description,
        "type": "integer",
        "minimum": LimiterConfig::MAX_KEYS.start(),
        "maximum": LimiterConfig::MAX_KEYS.end(),
        "default": LimiterConfig::DEFAULT_MAX_KEYS,
    })
}

fn on_full() -> Value {
    let description = "What happens to a new client when so many are remembered. overflow: the \
        least indebted client makes room, and nobody gets quota twice; deny: the new one is \
        denied; admit: the least indebted makes room and is forgotten.";
    let default = ON_FULL_WORDS.into_iter().find(|(_, meaning)| *meaning == OnFull::default());
    json!({
        "description": description,
        "enum": ON_FULL_WORDS.map(|(word, _)| word),
        "default": default.map(|(word, _)| word),
    })
}

fn token_bucket() -> Value {
    json!({
        "description": "Bursts up to a capacity, and a steady rate in the long run.",
        "type": "object",
        "additionalProperties": false,
        "required": ["capacity"],
        "oneOf": one_of("refillRatePerSecond", "refill"),
        "properties": {
            "capacity": whole("The most tokens: the largest burst.", TokenBucket::CAPACITY),
            "refillRatePerSecond": {
                "description": "Tokens a second, a number or a text: 10, 0.5, \"0.001\".",
                "type": ["number", "string"],
                "exclusiveMinimum": 0,
                "maximum": Rate::MAX_PER_SECOND,
                "pattern": format!("^{DECIMAL}$"),
            },
            "refill": {
                "description": "Tokens per unit of time: 10/s, 100/min, 1000/h, 1/day, 5/10s.",
                "type": "string",
                "pattern": format!(r"^\s*{DECIMAL}\s*/\s*({DURATION}|{UNIT})\s*$"),
            },
        },
    })
}

fn concurrency() -> Value {
    json!({
        "description": "So many calls of a client at once.",
        "type": "object",
        "additionalProperties": false,
        "required": ["maxInFlight"],
        "properties": {
            "maxInFlight": whole("The most calls at once.", Concurrency::MAX_IN_FLIGHT),
            "leaseMs": whole(
                "How long a call counts at most, in milliseconds. Where nobody says when a call \
                    ends, as to the decision API, there has to be one.",
                Concurrency::LEASE_MS,
            ),
        },
    })
}

fn window_quota(requests_max: u32) -> Value {
    json!({
        "description": "So many requests in a window of time.",
        "type": "object",
        "additionalProperties": false,
        "required": ["maxRequests"],
        "oneOf": one_of("windowMs", "window"),
        "properties": {
            "maxRequests": whole("The most requests in a window.", 1..=u64::from(requests_max)),
            "windowMs": whole("The window in milliseconds.", WINDOW_MS),
            "window": duration("The window with its unit: 500ms, 30s, 1m, 12h, 7d."),
        },
    })
}

/// Windows that open with a client's first request, and those of the calendar.
fn fixed_window() -> Value {
    let mut first = window_quota(u32::MAX);
    first["properties"]["anchor"] = json!({
        "description": "What a window opens with: the first request, unless said.",
        "const": "first",
    });
    let calendar = json!({
        "description": "So many requests in each hour, day, week or month of the calendar.",
        "type": "object",
        "additionalProperties": false,
        "required": ["anchor", "maxRequests", "per"],
        "properties": {
            "anchor": { "const": "calendar" },
            "maxRequests": whole("The most requests in a period.", 1..=u64::from(u32::MAX)),
            "per": {
                "description": "The period; a week begins on Monday.",
                "enum": Period::WORDS.map(|(word, _)| word),
            },
            "offset": {
                "description": "The distance from UTC whose calendar it is, -12:00 to +14:00; \
                    summer time is not followed.",
                "type": "string",
                "pattern": OFFSET,
                "default": "UTC",
            },
        },
    });
    json!({ "oneOf": [first, calendar] })
}

pub(crate) fn whole(description: &str, range: RangeInclusive<u64>) -> Value {
    let (minimum, maximum) = range.into_inner();
    json!({
        "description": description, "type": "integer", "minimum": minimum, "maximum": maximum,
    })
}

/// A time with its unit.
pub(crate) fn duration(description: &str) -> Value {
    json!({ "description": description, "type": "string", "pattern": format!("^{DURATION}$") })
}

/// The plain field or the friendly one, never both.
fn one_of(plain: &str, friendly: &str) -> Value {
    json!([{ "required": [plain] }, { "required": [friendly] }])
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tollgate::{FixedWindow, LimiterFactory, Rate};

    use super::*;
    use crate::names::{
        CLIENT_FIELDS, CONFIG_FIELDS, ENTRY_FIELDS, LIMIT_FIELDS, LIMITER_FIELDS, OVERRIDE_FIELDS,
        PLAN_FIELDS,
    };

    #[test]
    fn the_figures_without_a_constant_in_the_library_are_its_own() {
        assert!(Rate::per_second(&Rate::MAX_PER_SECOND.to_string()).is_ok());
        assert!(Rate::per_second(&(Rate::MAX_PER_SECOND + 1).to_string()).is_err());
        assert!(FixedWindow::new(u32::MAX, Duration::from_millis(*WINDOW_MS.end())).is_ok());
        assert!(FixedWindow::new(u32::MAX, Duration::from_millis(WINDOW_MS.end() + 1)).is_err());
    }

    #[test]
    fn the_schema_knows_the_fields_and_algorithms_that_the_reader_knows() {
        let sorted = |names: &[&str]| {
            let mut names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
            names.sort_unstable();
            names
        };
        let properties = |schema: &Value| {
            let properties = schema["properties"].as_object().unwrap();
            properties.keys().cloned().collect::<Vec<_>>()
        };
        let config = config();
        assert_eq!(properties(&config), sorted(&CONFIG_FIELDS));
        assert_eq!(properties(&config["$defs"]["policy"]), sorted(LIMITER_FIELDS));
        assert_eq!(properties(&config["$defs"]["entry"]), sorted(ENTRY_FIELDS));
        assert_eq!(properties(&config["$defs"]["limit"]), sorted(&LIMIT_FIELDS));
        assert_eq!(properties(&config["$defs"]["plan"]), sorted(&PLAN_FIELDS));
        assert_eq!(properties(&config["$defs"]["override"]), sorted(&OVERRIDE_FIELDS));
        let clients = &config["properties"]["clients"]["items"];
        assert_eq!(properties(clients), sorted(&CLIENT_FIELDS));
        for name in LimiterFactory::new().names() {
            assert!(config["$defs"][name].is_object(), "{name}");
        }
    }
}
