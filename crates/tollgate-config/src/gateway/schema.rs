//! The section `gateway` in the JSON Schema.

use std::ops::RangeInclusive;

use serde_json::{Value, json};

use super::envoy::schema::rules;
use super::names::{
    ADMIN, ALLOW_ESCAPED_SLASH, BODY_BYTES, BODY_TIMEOUT, CLIENT, CONNECTIONS, CORS, CREDENTIALS,
    DECISION_API, DRAIN_TIMEOUT, ENDPOINT, ENVOY, FIELDS, FIELDS_WORDS, FOLD_CASE, FORWARD_AUTH,
    FORWARDED_HEADER, HEADER, HEADER_BYTES, HEADER_NAME, HEADER_TIMEOUT, HOSTS, HTTP2,
    IDLE_TIMEOUT, IPV6_PREFIX, JITTER, KEEP_PARAMETERS, KEEP_SLASHES, KEEP_TRAILING_SLASH, LIMITS,
    LISTEN, MAX_HOPS, NGINX_AUTH, ON_MISSING, ON_MISSING_WORDS, ONLY_FROM_PROXIES, ORIGINS, PROXY,
    REDIS, RULES, STRICT, TIMEOUT, TOKEN_FILE, TRUSTED_PROXIES, UPSTREAM,
};
use super::{ClientConfig, GatewayConfig, GatewayLimits};
use crate::schema::{choice, duration, flag, texts, whole};

const ADDRESS: &str = r"^(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+):[0-9]{1,5}$";
const HEADER_NAME_PATTERN: &str = r"^[A-Za-z0-9!#$%&'*+.^_`|~-]+$";
const UPSTREAM_PATTERN: &str = r"^http://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(:[0-9]{1,5})?/?$";
const ORIGIN_PATTERN: &str = r"^(\*|[a-z]+://(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9_.-]+)(:[0-9]{1,5})?)$";
const HOST_PATTERN: &str = r"^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$";

/// What the section may say.
pub(crate) fn gateway() -> Value {
    let default = GatewayConfig::default();
    map(
        "What `tollgate serve` serves, and how.",
        &[],
        &json!({
            LISTEN: address_or(&default.listen),
            DECISION_API: switch("Answer /v1/allow and /v1/peek.", default.decision_api),
            FORWARD_AUTH: switch(
                "Answer /v1/forward-auth, which Caddy and Traefik ask.",
                default.forward_auth,
            ),
            NGINX_AUTH: switch("Answer /v1/nginx-auth, which nginx asks.", default.nginx_auth),
            ADMIN: admin(&default.admin.listen),
            ENVOY: envoy(),
            REDIS: map(
                "The protocol of Redis.",
                &[LISTEN],
                &json!({
                    LISTEN: address(),
                    IDLE_TIMEOUT: duration("Between two commands. Any time unless said."),
                }),
            ),
            PROXY: proxy(),
            CLIENT: client(),
            ENDPOINT: endpoint(),
            FIELDS: choice("Which fields tell clients how they stand.", &FIELDS_WORDS.map(|it| it.0)),
            JITTER: duration("How much longer at most a denied client is told to wait."),
            CORS: cors(),
            LIMITS: limits(),
        }),
    )
}

fn admin(listen: &str) -> Value {
    map(
        "The listener of operators.",
        &[],
        &json!({
            LISTEN: address_or(listen),
            TOKEN_FILE: {
                "description": "A file with the token that operators show. Without it nothing can \
                    be changed, and the listener has to be on a loopback address.",
                "type": "string",
            },
            HOSTS: {
                "description": "Names by which it may be asked for, beside localhost and addresses.",
                "type": "array",
                "items": { "type": "string", "pattern": HOST_PATTERN },
            },
        }),
    )
}

fn envoy() -> Value {
    map(
        "Envoy's rate limit service, over gRPC.",
        &[LISTEN],
        &json!({ LISTEN: address(), RULES: rules() }),
    )
}

fn proxy() -> Value {
    map(
        "The reverse proxy.",
        &[LISTEN, UPSTREAM],
        &json!({
            LISTEN: address(),
            UPSTREAM: {
                "description": "Where requests go that are allowed.",
                "type": "string",
                "pattern": UPSTREAM_PATTERN,
                "examples": ["http://127.0.0.1:3000"],
            },
            HTTP2: flag("The upstream is spoken to in HTTP/2, which servers of gRPC need."),
            TIMEOUT: duration("How long the upstream may take until its answer begins; unless said 60s."),
        }),
    )
}

fn client() -> Value {
    let default = ClientConfig::default();
    map(
        "How clients are told apart: by address, or by a header.",
        &[],
        &json!({
            TRUSTED_PROXIES: texts(
                "Addresses and networks of proxies whose word counts for where a request came from.",
            ),
            FORWARDED_HEADER: header_name(
                "In which they say it: X-Forwarded-For, Forwarded, or one that holds an address.",
            ),
            MAX_HOPS: with_default(
                whole("How many proxies a request may come through.", ClientConfig::MAX_HOPS),
                default.max_hops,
            ),
            IPV6_PREFIX: with_default(
                whole("How many bits of an IPv6 address are one client's.", ClientConfig::IPV6_PREFIX),
                default.ipv6_prefix,
            ),
            STRICT: flag("Refuse requests with both X-Forwarded-For and Forwarded."),
            HEADER: map(
                "A header that names the client.",
                &[HEADER_NAME, ON_MISSING],
                &json!({
                    HEADER_NAME: header_name("Its name."),
                    ON_MISSING: {
                        "description": "What becomes of a request without it.",
                        "enum": ON_MISSING_WORDS.map(|(word, _)| word),
                    },
                    ONLY_FROM_PROXIES: flag("It counts only from a trusted proxy."),
                }),
            ),
        }),
    )
}

fn endpoint() -> Value {
    map(
        "Which spellings of a path are told apart.",
        &[],
        &json!({
            FOLD_CASE: flag("/Login is judged as /login."),
            KEEP_SLASHES: flag("// stays two slashes."),
            KEEP_TRAILING_SLASH: flag("/login/ is another endpoint than /login."),
            KEEP_PARAMETERS: flag("What follows a ; is part of the name."),
            ALLOW_ESCAPED_SLASH: flag("%2F is let through, part of a segment."),
        }),
    )
}

fn cors() -> Value {
    map(
        "Whose scripts may read answers.",
        &[ORIGINS],
        &json!({
            ORIGINS: {
                "description": "The origins, or * for any.",
                "type": "array",
                "items": { "type": "string", "pattern": ORIGIN_PATTERN },
            },
            CREDENTIALS: flag("Also for requests with cookies; not for any origin."),
        }),
    )
}

fn limits() -> Value {
    let default = GatewayLimits::default();
    let bytes = |what: &str, range: RangeInclusive<u64>, default: u64| {
        with_default(whole(&format!("The most bytes of {what}."), range), default)
    };
    map(
        "What requests may take, of room and of time.",
        &[],
        &json!({
            HEADER_BYTES: bytes(
                "a request's line and header fields",
                GatewayLimits::HEADER_BYTES,
                default.header_bytes.into(),
            ),
            BODY_BYTES: bytes("a request's body", GatewayLimits::BODY_BYTES, default.body_bytes),
            CONNECTIONS: with_default(
                whole("The most connections open at one door.", GatewayLimits::CONNECTIONS),
                default.connections,
            ),
            HEADER_TIMEOUT: duration("For header fields to come, from their first byte. 10s unless said."),
            BODY_TIMEOUT: duration("For the next part of a body or an answer. 30s unless said."),
            IDLE_TIMEOUT: duration("Between two requests, at least. 75s unless said."),
            DRAIN_TIMEOUT: duration("For requests under way at the end. 25s unless said."),
        }),
    )
}

fn map(description: &str, required: &[&str], properties: &Value) -> Value {
    json!({
        "description": description,
        "type": "object",
        "additionalProperties": false,
        "required": required,
        "properties": properties,
    })
}

fn address() -> Value {
    json!({
        "description": "An address and a port.",
        "type": "string",
        "pattern": ADDRESS,
        "examples": ["127.0.0.1:8080"],
    })
}

fn address_or(default: &str) -> Value {
    with_default(address(), default)
}

fn header_name(description: &str) -> Value {
    json!({ "description": description, "type": "string", "pattern": HEADER_NAME_PATTERN })
}

fn switch(description: &str, default: bool) -> Value {
    with_default(flag(description), default)
}

fn with_default(mut schema: Value, default: impl Into<Value>) -> Value {
    schema["default"] = default.into();
    schema
}

#[cfg(test)]
mod tests {
    use super::super::names;
    use super::*;

    #[test]
    fn the_schema_knows_the_fields_that_the_reader_knows() {
        let gateway = gateway();
        let part = |path: &str| gateway.pointer(path).unwrap()["properties"].as_object().unwrap();
        let cases: [(&str, &[&str]); 11] = [
            ("", &names::GATEWAY_FIELDS),
            ("/properties/admin", &names::ADMIN_FIELDS),
            ("/properties/envoy", &names::ENVOY_FIELDS),
            ("/properties/envoy/properties/rules/items", &names::RULE_FIELDS),
            ("/properties/redis", &names::REDIS_FIELDS),
            ("/properties/proxy", &names::PROXY_FIELDS),
            ("/properties/client", &names::CLIENT_FIELDS),
            ("/properties/client/properties/header", &names::HEADER_FIELDS),
            ("/properties/endpoint", &names::ENDPOINT_FIELDS),
            ("/properties/cors", &names::CORS_FIELDS),
            ("/properties/limits", &names::LIMITS_FIELDS),
        ];
        for (path, known) in cases {
            let mut known: Vec<_> = known.iter().map(|name| (*name).to_owned()).collect();
            known.sort_unstable();
            assert_eq!(part(path).keys().cloned().collect::<Vec<_>>(), known, "{path}");
        }
    }

    #[test]
    fn the_times_in_the_descriptions_are_the_defaults() {
        let default = GatewayLimits::default();
        let limits = limits();
        for (name, time) in [
            (HEADER_TIMEOUT, default.header_timeout),
            (BODY_TIMEOUT, default.body_timeout),
            (IDLE_TIMEOUT, default.idle_timeout),
            (DRAIN_TIMEOUT, default.drain_timeout),
        ] {
            let told = limits["properties"][name]["description"].as_str().unwrap();
            assert!(told.contains(&format!(" {}s unless said", time.as_secs())), "{told}");
        }
    }
}
