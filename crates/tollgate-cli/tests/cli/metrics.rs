//! `GET /metrics`.

use std::collections::{BTreeMap, BTreeSet};

use crate::files::{ScratchFile, bucket};
use crate::server::Server;

/// The samples of a text in Prometheus's format, each checked to be whole, announced and there once.
fn samples(text: &str) -> BTreeMap<String, String> {
    let mut kinds = BTreeMap::new();
    let mut helped = BTreeSet::new();
    let mut samples = BTreeMap::new();
    assert!(text.ends_with('\n'), "the last line is whole");
    for line in text.lines() {
        if let Some(help) = line.strip_prefix("# HELP ") {
            let (name, text) = help.split_once(' ').expect("a help has a text");
            assert!(!text.is_empty() && helped.insert(name), "{line}");
        } else if let Some(kind) = line.strip_prefix("# TYPE ") {
            let (name, kind) = kind.split_once(' ').expect("a type has a name");
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert!(kinds.insert(name, kind).is_none(), "{line}");
        } else {
            let (series, value) = line.rsplit_once(' ').expect("a sample has a value");
            let name = check_series(series);
            let family = ["_bucket", "_sum", "_count"]
                .iter()
                .filter_map(|suffix| name.strip_suffix(suffix))
                .find(|family| kinds.get(family) == Some(&"histogram"))
                .unwrap_or(name);
            assert!(helped.contains(family) && kinds.contains_key(family), "{line}");
            assert_eq!(kinds[family] == "counter", family.ends_with("_total"), "{line}");
            assert!(value.parse::<f64>().is_ok(), "{line}");
            let twice = samples.insert(series.to_owned(), value.to_owned());
            assert_eq!(twice, None, "{line}");
        }
    }
    samples
}

/// Checks the form `name{label="value",...}` and gives back the name.
fn check_series(series: &str) -> &str {
    let (name, labels) = series.split_once('{').unwrap_or((series, "}"));
    let is_name = |name: &str| {
        let mut characters = name.chars();
        let first = characters.next().is_some_and(|first| first.is_ascii_alphabetic());
        first && characters.all(|rest| rest.is_ascii_alphanumeric() || rest == '_')
    };
    assert!(is_name(name) && name.starts_with("tollgate_"), "{series}");
    let mut rest = labels.strip_suffix('}').expect("labels are closed");
    while !rest.is_empty() {
        let (label, after) = rest.split_once("=\"").expect("a label has a value");
        assert!(is_name(label), "{series}");
        let mut escaped = false;
        let end = after.find(|character| {
            let ends = character == '"' && !escaped;
            escaped = character == '\\' && !escaped;
            ends
        });
        let (_, after) = after.split_at(end.expect("a value is closed"));
        rest = after.trim_start_matches('"').trim_start_matches(',');
    }
    name
}

fn scrape(server: &Server) -> BTreeMap<String, String> {
    let answer = server.get(&server.admin, "/metrics");
    assert_eq!(answer.status, 200);
    assert_eq!(answer.content_type, "text/plain; version=0.0.4; charset=utf-8");
    samples(&answer.body)
}

#[test]
fn decisions_are_counted_by_the_entry_that_answered() {
    let config = bucket(2)
        + "endpoints:\n  - endpoint: /search\n    algorithm: FixedWindow\n    algoConfig: { maxRequests: 1, window: 1h }\n";
    let server = Server::start(&ScratchFile::new("limits.yaml", config));
    for (endpoint, cost) in [("/a", 1), ("/b", 1), ("/c", 1), ("/c", 9), ("GET /search", 1)] {
        server.allow_at(endpoint, "a-client", cost);
    }
    server.post("/v1/allow", "neither read nor decided").problem(400);

    let samples = scrape(&server);
    let of = |series: &str| samples[&format!("tollgate_{series}")].as_str();
    assert_eq!(of(r#"decisions_total{endpoint="default",outcome="allowed"}"#), "2");
    assert_eq!(of(r#"decisions_total{endpoint="default",outcome="denied"}"#), "2");
    assert_eq!(of(r#"decisions_total{endpoint="/search",outcome="allowed"}"#), "1");
    assert_eq!(of(r#"decisions_total{endpoint="/search",outcome="denied"}"#), "0");
    for endpoint in ["default", "/search"] {
        assert_eq!(of(&format!("keys{{endpoint={endpoint:?}}}")), "1");
        assert_eq!(of(&format!("evictions_total{{endpoint={endpoint:?}}}")), "0");
        assert_eq!(of(&format!("inherited_debts_total{{endpoint={endpoint:?}}}")), "0");
        assert_eq!(of(&format!("mark_ahead_seconds{{endpoint={endpoint:?}}}")), "0.0");
    }
    assert_eq!(of(r#"answer_duration_seconds_count{door="http"}"#), "5");
    assert_eq!(of(r#"answer_duration_seconds_bucket{door="http",le="+Inf"}"#), "5");
    assert_eq!(of(r#"config_reloads_total{outcome="success"}"#), "0");
    assert_eq!(of(r#"config_reloads_total{outcome="failure"}"#), "0");
    let loaded_at: f64 = of("config_loaded_timestamp_seconds").parse().unwrap();
    assert!(loaded_at > 1.7e9, "{loaded_at}");
    assert_eq!(of(concat!(r#"build_info{version=""#, env!("CARGO_PKG_VERSION"), r#""}"#)), "1");
}

#[test]
fn evictions_and_inherited_debts_are_counted() {
    let config = bucket(1) + "maxKeys: 1\n";
    let server = Server::start(&ScratchFile::new("limits.yaml", config));
    for client in ["a", "b", "c"] {
        server.allow(client, 1);
    }
    let samples = scrape(&server);
    assert_eq!(samples[r#"tollgate_keys{endpoint="default"}"#], "1");
    assert_eq!(samples[r#"tollgate_evictions_total{endpoint="default"}"#], "1");
}

#[test]
fn neither_clients_nor_unlisted_endpoints_become_labels() {
    let server = Server::start(&ScratchFile::new("limits.yaml", bucket(9)));
    let before = scrape(&server).len();
    for number in 0..20 {
        server.allow_at(&format!("/secret-path-{number}"), &format!("secret-client-{number}"), 1);
    }
    let text = server.get(&server.admin, "/metrics").body;
    assert!(!text.contains("secret"), "{text}");
    assert_eq!(samples(&text).len(), before);
}

#[test]
fn any_name_of_an_endpoint_is_a_label() {
    let entry = |name: &str| {
        serde_json::json!({
            "endpoint": name, "algorithm": "FixedWindow", "algoConfig": { "maxRequests": 1, "windowMs": 1 }
        })
    };
    let names = ["default", "a\"b\\c\nd} 1", "ÄÖ 漢", ""];
    let config = serde_json::json!({
        "default": { "algorithm": "TokenBucket", "algoConfig": { "capacity": 1, "refill": "1/h" } },
        "endpoints": names.map(entry),
    });
    let server = Server::start(&ScratchFile::new("limits.json", config.to_string()));
    let keys: Vec<_> =
        scrape(&server).into_keys().filter(|series| series.starts_with("tollgate_keys")).collect();
    assert_eq!(keys.len(), 5, "{keys:?}");
    assert!(keys.contains(&r#"tollgate_keys{endpoint="(default)"}"#.to_owned()), "{keys:?}");
}

#[test]
fn metrics_are_on_the_admin_listener_only() {
    let server = Server::start(&ScratchFile::new("limits.yaml", bucket(1)));
    server.get(&server.api, "/metrics").problem(404);
    server.get(&server.admin, "/allow").problem(404);
    server.get(&server.admin, "/v1/allow").problem(403);
}
