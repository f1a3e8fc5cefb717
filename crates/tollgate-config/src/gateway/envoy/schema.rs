//! The schema of `gateway.envoy.rules`.

use serde_json::{Value, json};

use super::super::names::{CLIENT, DESCRIPTOR, DOMAIN, ENDPOINT, TENANT};

/// What descriptors mean.
pub(crate) fn rules() -> Value {
    let key = json!({ "type": "string", "minLength": 1 });
    let keys = json!({ "type": "array", "items": key });
    let rule = json!({
        "description": "What the descriptors of one set of keys mean.",
        "type": "object",
        "additionalProperties": false,
        "required": [DESCRIPTOR],
        "properties": {
            DOMAIN: {
                "description": "The domain it holds for; unless said every one.",
                "type": "string",
            },
            DESCRIPTOR: {
                "description": "The keys of a descriptor's entries, all of them, in any order.",
                "type": "array",
                "items": key,
                "minItems": 1,
                "uniqueItems": true,
            },
            ENDPOINT: {
                "description": "The endpoint's name, with keys in braces for their values; unless \
                    said the domain's name.",
                "type": "string",
                "minLength": 1,
                "examples": ["{method} {path}"],
            },
            CLIENT: {
                "description": "The key whose value is the client, or several; unless said all \
                    are one.",
                "anyOf": [key, keys],
            },
            TENANT: {
                "description": "The key whose value is the tenant.",
                "type": "string",
                "minLength": 1,
            },
        },
    });
    json!({ "description": "What descriptors mean.", "type": "array", "items": rule })
}
