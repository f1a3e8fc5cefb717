//! `GET /openapi.json`: what it says is what is answered.

use jsonschema::Validator;
use serde_json::{Value, json};

use crate::running::{Answer, Running};

const CONFIG: &str = "
default: { algorithm: TokenBucket, algoConfig: { capacity: 3, refill: 1/h } }
endpoints:
  - endpoint: /several
    limits:
      - { name: burst, algorithm: TokenBucket, algoConfig: { capacity: 2, refill: 1/h } }
      - { name: company, algorithm: FixedWindow, algoConfig: { maxRequests: 9, window: 1h }, scope: tenant }
      - { name: trial, algorithm: FixedWindow, algoConfig: { maxRequests: 1, window: 1h }, mode: shadow }
  - { endpoint: /blocked, deny: true }
";

/// The description, and what it says of this part of it.
struct Described(Value);

impl Described {
    fn validator(&self, pointer: &str) -> Validator {
        let mut schema = self.0.pointer(pointer).unwrap_or_else(|| panic!("{pointer}")).clone();
        schema["components"] = self.0["components"].clone();
        jsonschema::draft202012::new(&schema).unwrap()
    }

    /// Checks an answer to a request on this path against what is said of it.
    fn check(&self, path: &str, method: &str, answer: &Answer) {
        let status = answer.status;
        let described = format!("/paths/{}/{method}/responses/{status}", path.replace('/', "~1"));
        let content =
            &self.0.pointer(&described).unwrap_or_else(|| panic!("{described}"))["content"];
        let media_type = answer.header("content-type").unwrap().split(';').next().unwrap();
        assert!(content.get(media_type).is_some(), "{described}: {media_type} of {content}");
        let schema = format!("{described}/content/{}/schema", media_type.replace('/', "~1"));
        let value = match media_type {
            "text/plain" => json!(answer.body),
            _ => answer.json(),
        };
        let errors: Vec<_> =
            self.validator(&schema).iter_errors(&value).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{schema}: {value}: {errors:?}");
    }
}

#[test]
fn every_answer_is_one_that_the_description_says() {
    let running = Running::start(CONFIG);
    let described = Described(running.get("/openapi.json").json());
    for path in ["/healthz", "/readyz", "/openapi.json"] {
        described.check(path, "get", &running.get(path));
    }
    let question = |endpoint: &str, cost: u64| json!({ "clientId": "alice", "tenant": "acme", "endpoint": endpoint, "cost": cost });
    let bodies = [
        question("/x", 1),
        question("/x", 4),
        question("/x", 3),
        question("/x", 1),
        question("/blocked", 1),
        question("/several", 2),
        question("/several", 1),
        json!({ "clientId": "alice", "endpoint": "/several" }),
        json!([question("/several", 0), question("/x", 1)]),
        json!([]),
        json!({ "clientId": "alice" }),
        json!([{ "clientId": 5 }]),
        json!("alice"),
    ];
    let accepts =
        described.validator("/paths/~1v1~1allow/post/requestBody/content/application~1json/schema");
    for body in &bodies {
        for query in ["", "?status=1", "?limits=1", "?limits=1&status=1", "?limits=2"] {
            let answer = running.post(&format!("/v1/allow{query}"), body);
            described.check("/v1/allow", "post", &answer);
            if query.is_empty() {
                assert_eq!(accepts.is_valid(body), answer.status == 200, "{body}: {answer:?}");
            }
        }
        for query in ["", "?status=1"] {
            described.check("/v1/peek", "post", &running.post(&format!("/v1/peek{query}"), body));
        }
    }
    described.check("/v1/allow", "post", &running.get("/v1/allow"));
    let large = format!("{{\"clientId\": \"{}\"}}", "a".repeat(1 << 20));
    let large = running.send(tollgate_gateway::Door::Http, ("POST", "/v1/allow"), &[], &large);
    assert_eq!(large.status, 413);
    described.check("/v1/allow", "post", &large);
}

#[test]
fn the_examples_of_the_description_are_answered() {
    let running = Running::start(CONFIG);
    let described = running.get("/openapi.json").json();
    for path in ["/v1/allow", "/v1/peek"] {
        let content =
            &described["paths"][path]["post"]["requestBody"]["content"]["application/json"];
        for (name, example) in content["examples"].as_object().unwrap() {
            assert_eq!(running.post(path, &example["value"]).status, 200, "{name}");
        }
    }
}

#[test]
fn a_closed_decision_api_has_no_paths() {
    let running = Running::start(format!("{CONFIG}gateway: {{ decisionApi: false }}\n"));
    for path in ["/v1/allow", "/v1/peek", "/openapi.json"] {
        let told = running.get(path).problem(404);
        assert_eq!(told, format!("nothing is served under {path}"));
    }
    assert_eq!(running.get("/healthz").status, 200);
}
