//! The JSON Schema: current, valid, and of one mind with the reader.

use std::{env, fs};

use jsonschema::Validator;
use serde_json::{Value, json};
use tollgate::LimiterFactory;
use tollgate_config::{Format, schema, tree};

use crate::support::to_json;

const CHECKED_IN: &str = "../../docs/config.schema.json";

fn validator() -> Validator {
    let schema: Value = serde_json::from_str(&schema()).expect("the schema is JSON");
    jsonschema::draft202012::new(&schema).expect("the schema is one of draft 2020-12")
}

#[test]
fn the_schema_checked_in_is_current() {
    if env::var_os("UPDATE_SCHEMA").is_some() {
        fs::write(CHECKED_IN, schema()).unwrap();
    }
    // Compared as values: the order of an object's fields is left to how serde_json is built.
    let checked_in = fs::read_to_string(CHECKED_IN).unwrap_or_default();
    let checked_in: Value = serde_json::from_str(&checked_in).unwrap_or_default();
    let current: Value = serde_json::from_str(&schema()).unwrap();
    assert!(
        checked_in == current,
        "docs/config.schema.json is not what the code says; renew it with \
         `UPDATE_SCHEMA=1 cargo test -p tollgate-config --test config schema`"
    );
}

#[test]
fn the_example_satisfies_the_schema_in_each_format() {
    let validator = validator();
    for path in ["../../examples/limits.yaml", "tests/files/limits.json", "tests/files/limits.toml"]
    {
        let config = to_json(&tree::load(path).unwrap());
        let errors: Vec<_> =
            validator.iter_errors(&config).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{path}: {errors:?}");
    }
}

#[test]
fn each_faulty_entry_of_a_file_fails_the_schema_on_its_own() {
    let validator = validator();
    for extension in ["yaml", "json", "toml"] {
        let path = format!("tests/files/five_faults.{extension}");
        let config = to_json(&tree::load(&path).unwrap());
        let mut places: Vec<_> =
            validator.iter_errors(&config).map(|error| error.instance_path().to_string()).collect();
        places.dedup();
        for place in ["/default", "/endpoints/0", "/endpoints/1", "/endpoints/2"] {
            assert!(places.iter().any(|found| found.starts_with(place)), "{path}: {places:?}");
        }
    }
}

/// One limiter as the default of a config, by its algorithm and parameters.
fn config_of(algorithm: &str, parameters: &Value) -> Value {
    json!({ "default": { "algorithm": algorithm, "algoConfig": parameters } })
}

fn limiters() -> Vec<Value> {
    let buckets = [
        json!({ "capacity": 1, "refill": "100/min" }),
        json!({ "capacity": 1, "refill": " 1 / 1h 30m " }),
        json!({ "capacity": 1, "refill": "1/1.5s" }),
        json!({ "capacity": 1, "refill": "1e3/day" }),
        json!({ "capacity": 1, "refill": ".5/s" }),
        json!({ "capacity": 1, "refill": "100" }),
        json!({ "capacity": 1, "refill": "ten/min" }),
        json!({ "capacity": 1, "refill": 100 }),
        json!({ "capacity": 1, "refill": "1/s", "refillRatePerSecond": 1 }),
        json!({ "capacity": 1, "refillRatePerSecond": 0.5 }),
        json!({ "capacity": 1, "refillRatePerSecond": "1e-3" }),
        json!({ "capacity": 1, "refillRatePerSecond": "+5." }),
        json!({ "capacity": 1, "refillRatePerSecond": 1_000_000_000 }),
        json!({ "capacity": 1, "refillRatePerSecond": 1_000_000_001 }),
        json!({ "capacity": 1, "refillRatePerSecond": 0 }),
        json!({ "capacity": 1, "refillRatePerSecond": -1 }),
        json!({ "capacity": 1, "refillRatePerSecond": "fast" }),
        json!({ "capacity": 1, "refillRatePerSecond": null }),
        json!({ "capacity": 4_294_967_295_u64, "refillRatePerSecond": 9 }),
        json!({ "capacity": 4_294_967_296_u64, "refillRatePerSecond": 9 }),
        json!({ "capacity": 1.5, "refill": "1/s" }),
        json!({ "capacity": "1", "refill": "1/s" }),
        json!({ "capacity": 0, "refill": "1/s" }),
        json!({ "capacity": 1, "refill": "1/s", "burst": 1 }),
        json!({ "capacity": 1 }),
        json!({ "refill": "1/s" }),
        json!([]),
    ];
    let of_window = ["SlidingWindowLog", "FixedWindow", "SlidingWindowCounter"].into_iter();
    let windows =
        of_window.flat_map(|name| windows().into_iter().map(move |it| config_of(name, &it)));
    let in_flight = [
        json!({ "maxInFlight": 1 }),
        json!({ "maxInFlight": 1_000_000, "leaseMs": 31_622_400_000_u64 }),
        json!({ "maxInFlight": 1_000_001 }),
        json!({ "maxInFlight": 0 }),
        json!({ "maxInFlight": 1, "leaseMs": 0 }),
        json!({ "maxInFlight": 1, "leaseMs": 31_622_400_001_u64 }),
        json!({ "maxInFlight": 1, "lease": "1m" }),
        json!({}),
    ];
    let in_flight = in_flight.iter().map(|it| config_of("Concurrency", it));
    let buckets = buckets.iter().map(|it| config_of("TokenBucket", it));
    buckets.chain(windows).chain(in_flight).collect()
}

/// Parameters of windows, those that open with the first request and those of the calendar.
fn windows() -> Vec<Value> {
    vec![
        json!({ "maxRequests": 1_000_000, "windowMs": 1 }),
        json!({ "maxRequests": 1_000_001, "windowMs": 1 }),
        json!({ "maxRequests": 4_294_967_295_u64, "windowMs": 1 }),
        json!({ "maxRequests": 4_294_967_296_u64, "windowMs": 1 }),
        json!({ "maxRequests": 0, "windowMs": 1 }),
        json!({ "maxRequests": 1, "windowMs": 31_622_400_000_u64 }),
        json!({ "maxRequests": 1, "windowMs": 31_622_400_001_u64 }),
        json!({ "maxRequests": 1, "windowMs": 0 }),
        json!({ "maxRequests": 1, "windowMs": "1m" }),
        json!({ "maxRequests": 1, "window": "1m" }),
        json!({ "maxRequests": 1, "window": "1m30s" }),
        json!({ "maxRequests": 1, "window": "1.5 hours" }),
        json!({ "maxRequests": 1, "window": "60" }),
        json!({ "maxRequests": 1, "window": 60 }),
        json!({ "maxRequests": 1, "window": "" }),
        json!({ "maxRequests": 1, "window": "1m", "windowMs": 1 }),
        json!({ "maxRequests": 1 }),
        json!({ "windowMs": 1 }),
        json!({ "anchor": "first", "maxRequests": 1, "window": "1m" }),
        json!({ "anchor": "first", "maxRequests": 1, "per": "day" }),
        json!({ "anchor": "calendar", "maxRequests": 1, "per": "hour" }),
        json!({ "anchor": "calendar", "maxRequests": 4_294_967_295_u64, "per": "month", "offset": "UTC" }),
        json!({ "anchor": "calendar", "maxRequests": 4_294_967_296_u64, "per": "month" }),
        json!({ "anchor": "calendar", "maxRequests": 1, "per": "week", "offset": "+13:45" }),
        json!({ "anchor": "calendar", "maxRequests": 1, "per": "day", "offset": "+14:00" }),
        json!({ "anchor": "calendar", "maxRequests": 1, "per": "day", "offset": "+14:01" }),
        json!({ "anchor": "calendar", "maxRequests": 1, "per": "day", "offset": "-12:00" }),
        json!({ "anchor": "calendar", "maxRequests": 1, "per": "day", "offset": "-12:30" }),
        json!({ "anchor": "calendar", "maxRequests": 1, "per": "day", "offset": "+02:60" }),
        json!({ "anchor": "calendar", "maxRequests": 1, "per": "day", "offset": "Europe/Paris" }),
        json!({ "anchor": "calendar", "maxRequests": 1, "per": "day", "offset": 2 }),
        json!({ "anchor": "calendar", "maxRequests": 0, "per": "day" }),
        json!({ "anchor": "calendar", "maxRequests": 1, "per": "year" }),
        json!({ "anchor": "calendar", "maxRequests": 1, "window": "1d" }),
        json!({ "anchor": "calendar", "maxRequests": 1, "window": "1d", "per": "day" }),
        json!({ "anchor": "calendr", "maxRequests": 1, "per": "day" }),
        json!({ "maxRequests": 1, "per": "day" }),
    ]
}

fn documents() -> Vec<Value> {
    let bucket = json!({ "capacity": 1, "refill": "1/s" });
    let limiter = json!({ "algorithm": "TokenBucket", "algoConfig": bucket });
    let limit = json!({ "name": "day", "algorithm": "TokenBucket", "algoConfig": bucket });
    let mut trial = limit.clone();
    trial["scope"] = json!("tenant");
    trial["mode"] = json!("shadow");
    trial["was"] = json!("night");
    let mut wrong = limit.clone();
    wrong["scope"] = json!("company");
    let entry = json!({ "endpoint": "/a", "algorithm": "TokenBucket", "algoConfig": bucket });
    vec![
        json!({}),
        json!([]),
        json!(null),
        json!({ "default": limiter }),
        json!({ "default": limiter, "endpoints": [] }),
        json!({ "default": limiter, "endpoints": null }),
        json!({ "default": limiter, "endpoints": { "/a": limiter } }),
        json!({ "default": limiter, "endpoints": [entry] }),
        json!({ "default": limiter, "endpoints": [limiter] }),
        json!({ "default": limiter, "endpoints": ["/a"] }),
        json!({ "default": entry }),
        json!({ "default": limiter, "maxKeys": 1, "onFull": "admit" }),
        json!({ "default": limiter, "maxKeys": 0 }),
        json!({ "default": limiter, "maxKeys": 1_000_000_001 }),
        json!({ "default": limiter, "onFull": "reject" }),
        json!({ "default": limiter, "limits": [] }),
        json!({ "default": { "limits": [limit] } }),
        json!({ "default": { "limits": [limiter] } }),
        json!({ "default": { "limits": [{ "name": "", "algorithm": "TokenBucket", "algoConfig": bucket }] } }),
        json!({ "default": { "limits": limit } }),
        json!({ "default": { "limits": [limit], "algorithm": "TokenBucket", "algoConfig": bucket } }),
        json!({ "default": { "limits": [limit], "unlimited": true } }),
        json!({ "default": { "limits": [limit], "unlimited": false } }),
        json!({ "default": { "unlimited": true, "deny": true } }),
        json!({ "default": { "unlimited": true } }),
        json!({ "default": { "deny": true, "exempt": ["alice"] } }),
        json!({ "default": { "deny": false } }),
        json!({ "default": { "deny": 1 } }),
        json!({ "default": { "deny": true, "exempt": "alice" } }),
        json!({ "default": limiter, "sharedLimits": [limit], "every": ["day"] }),
        json!({ "default": limiter, "sharedLimits": { "day": limiter }, "every": ["day"] }),
        json!({ "default": limiter, "sharedLimits": { "day": limit } }),
        json!({ "default": limiter, "sharedLimits": { "": limiter } }),
        json!({ "default": limiter, "sharedLimits": "day" }),
        json!({ "default": { "use": ["day"] }, "sharedLimits": [limit] }),
        json!({ "default": { "use": ["day"], "deny": true }, "sharedLimits": [limit] }),
        json!({ "default": { "limits": [trial] } }),
        json!({ "default": { "limits": [limit], "cost": 5, "penalty": { "denials": 3, "blockFor": "10m" } } }),
        json!({ "default": { "limits": [limit], "cost": 0 } }),
        json!({ "default": { "limits": [limit], "penalty": { "denials": 3 } } }),
        json!({ "default": { "limits": [limit], "penalty": { "denials": 0, "blockFor": "10m" } } }),
        json!({ "default": { "limits": [limit], "penalty": { "denials": 1, "blockFor": 10 } } }),
        json!({ "default": { "unlimited": true, "penalty": { "denials": 1, "blockFor": "10m" } } }),
        json!({ "default": { "deny": true, "cost": 5 } }),
        json!({ "default": { "limits": [wrong] } }),
        json!({ "default": { "algorithm": "TokenBucket" } }),
        json!({ "default": { "algoConfig": bucket } }),
        config_of("TokenBuckt", &bucket),
    ]
}

/// Sections `gateway`, right and wrong.
fn gateways() -> impl Iterator<Item = Value> {
    let limiter =
        json!({ "algorithm": "TokenBucket", "algoConfig": { "capacity": 1, "refill": "1/s" } });
    let sections = [
        json!({}),
        json!(null),
        json!([]),
        json!({ "listen": "127.0.0.1:0", "decisionApi": false, "forwardAuth": true, "nginxAuth": true }),
        json!({ "listen": "localhost:8080" }),
        json!({ "listen": "[::1]:8080" }),
        json!({ "listen": "8080" }),
        json!({ "listen": 8080 }),
        json!({ "listen": "127.0.0.1" }),
        json!({ "decisionApi": "yes" }),
        json!({ "decisionApis": true }),
        json!({ "admin": { "listen": "127.0.0.1:9090", "tokenFile": "token", "hosts": ["a.internal"] } }),
        json!({ "admin": { "hosts": ["a:80"] } }),
        json!({ "admin": { "token": "secret" } }),
        json!({ "envoy": { "listen": "127.0.0.1:8082" }, "redis": { "listen": "127.0.0.1:6379" } }),
        json!({ "envoy": {} }),
        json!({ "redis": true }),
        json!({ "proxy": { "listen": "127.0.0.1:8000", "upstream": "http://127.0.0.1:3000" } }),
        json!({ "proxy": { "listen": "127.0.0.1:8000", "upstream": "http://web/" } }),
        json!({ "proxy": { "listen": "127.0.0.1:8000", "upstream": "https://web" } }),
        json!({ "proxy": { "listen": "127.0.0.1:8000", "upstream": "http://web/path" } }),
        json!({ "proxy": { "listen": "127.0.0.1:8000" } }),
        json!({ "client": { "trustedProxies": ["10.0.0.0/8", "::1"], "forwardedHeader": "Forwarded" } }),
        json!({ "client": { "trustedProxies": "10.0.0.0/8" } }),
        json!({ "client": { "forwardedHeader": "X Forwarded For" } }),
        json!({ "client": { "maxHops": 0 } }),
        json!({ "client": { "ipv6Prefix": 129 } }),
        json!({ "client": { "ipv6Prefix": 56, "maxHops": 2, "strict": true } }),
        json!({ "client": { "header": { "name": "X-Api-Key", "onMissing": "deny", "onlyFromProxies": true } } }),
        json!({ "client": { "header": { "name": "X-Api-Key" } } }),
        json!({ "client": { "header": { "name": "X-Api-Key", "onMissing": "fallback" } } }),
        json!({ "endpoint": { "foldCase": true, "keepSlashes": false } }),
        json!({ "endpoint": { "foldCase": 1 } }),
        json!({ "fields": "xRateLimit", "jitter": "2s" }),
        json!({ "fields": "draft" }),
        json!({ "jitter": 2 }),
        json!({ "cors": { "origins": ["https://app.example.com", "http://localhost:5173"], "credentials": true } }),
        json!({ "cors": { "origins": ["*"] } }),
        json!({ "cors": { "origins": ["app.example.com"] } }),
        json!({ "cors": {} }),
        json!({ "limits": { "headerBytes": 1024, "bodyBytes": 1024, "connections": 1, "headerTimeout": "1s" } }),
        json!({ "limits": { "headerBytes": 1023 } }),
        json!({ "limits": { "bodyBytes": 1_073_741_825_u64 } }),
        json!({ "limits": { "connections": 0 } }),
        json!({ "limits": { "idleTimeout": 75 } }),
        json!({ "limits": { "idleTimeout": "75s", "bodyTimeout": "1m", "drainTimeout": "25s" } }),
    ];
    sections.into_iter().map(move |section| json!({ "default": limiter, "gateway": section }))
}

/// Plans and overrides.
fn plans() -> Vec<Value> {
    let bucket = json!({ "capacity": 1, "refill": "1/s" });
    let limiter = json!({ "algorithm": "TokenBucket", "algoConfig": bucket });
    let limits =
        json!({ "limits": [{ "name": "day", "algorithm": "TokenBucket", "algoConfig": bucket }] });
    let with = |field: &str, value: Value| {
        let mut policy = limiter.clone();
        policy[field] = value;
        json!({ "plans": ["free", "pro"], "default": policy })
    };
    let clients = |clients: Value| json!({ "plans": ["free", "pro"], "clients": clients, "default": limiter });
    let overriding = |fields: Value| {
        let mut other = limiter.clone();
        if let (Some(other), Some(fields)) = (other.as_object_mut(), fields.as_object()) {
            other.extend(fields.clone());
        }
        with("overrides", json!([other]))
    };
    let many: Vec<_> = (0..33).map(|number| number.to_string()).collect();
    vec![
        json!({ "plans": [], "default": limiter }),
        json!({ "plans": "pro", "default": limiter }),
        json!({ "plans": ["pro", "pro"], "default": limiter }),
        json!({ "plans": [""], "default": limiter }),
        json!({ "plans": many, "default": limiter }),
        with("plans", json!({})),
        with("plans", json!([])),
        with("plans", json!({ "free": limits, "pro": limiter })),
        with("plans", json!({ "free": { "unlimited": true }, "pro": { "deny": true } })),
        with("plans", json!({ "pro": {} })),
        with("plans", json!({ "pro": null })),
        with("plans", json!({ "pro": { "unlimited": true, "deny": true } })),
        with("plans", json!({ "pro": { "use": ["day"] } })),
        with(
            "plans",
            json!({ "pro": { "algorithm": "TokenBucket", "algoConfig": bucket, "maxKeys": 5 } }),
        ),
        with("plans", json!({ "pro": { "algorithm": "TokenBucket" } })),
        clients(json!([])),
        clients(json!({ "alice": "pro" })),
        clients(
            json!([{ "client": "alice", "plan": "pro" }, { "prefix": "acme-", "plan": "free" }]),
        ),
        clients(json!([{ "client": "alice", "prefix": "a", "plan": "pro" }])),
        clients(json!([{ "client": "alice" }])),
        clients(json!([{ "plan": "pro" }])),
        clients(json!([{ "client": 7, "plan": "pro" }])),
        clients(json!(["alice"])),
        overriding(json!({ "client": "bob" })),
        overriding(json!({})),
        overriding(json!({ "client": "bob", "until": "2026-12-31T00:00:00Z" })),
        overriding(json!({ "client": "bob", "until": "2026-12-31T00:00:00.5+01:00" })),
        overriding(json!({ "client": "bob", "until": "2026-12-31" })),
        overriding(json!({ "client": "bob", "until": "2026-12-31T00:00:00" })),
        overriding(json!({ "client": "bob", "until": 1_798_675_200 })),
        overriding(json!({ "client": "bob", "unlimited": true })),
        with("overrides", json!([{ "client": "bob", "unlimited": true }])),
        with("overrides", json!({ "bob": limiter })),
    ]
}

#[test]
fn the_schema_and_the_reader_agree() {
    let validator = validator();
    let factory = LimiterFactory::new();
    for document in limiters().into_iter().chain(documents()).chain(gateways()).chain(plans()) {
        let text = document.to_string();
        let read = tollgate_config::parse(&text, Format::Json, "f", &factory);
        assert_eq!(validator.is_valid(&document), read.is_ok(), "{text}: {read:?}");
    }
}
