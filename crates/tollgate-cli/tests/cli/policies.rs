//! Several limits on one endpoint, through the commands and the decision API.

use rustix::process::Signal;
use serde_json::{Value, json};

use crate::files::{ScratchFile, in_repository};
use crate::process::run;
use crate::server::Server;

const LIMITS: &str = "
default:
  limits:
    - { name: burst, algorithm: TokenBucket, algoConfig: { capacity: 5, refill: 1/h } }
    - { name: company, algorithm: TokenBucket, algoConfig: { capacity: 9, refill: 1/h }, scope: tenant }
    - { name: trial, algorithm: FixedWindow, algoConfig: { maxRequests: 1, window: 1h }, mode: shadow }
endpoints:
  - { endpoint: /healthz, unlimited: true }
  - { endpoint: /internal, deny: true, exempt: [operator] }
";

/// What a call is answered, without what depends on the time that passes.
fn answer(server: &Server, step: &Value) -> Value {
    let question = json!({
        "clientId": step["client"],
        "tenant": step["tenant"],
        "plan": step["plan"],
        "endpoint": step["endpoint"],
        "cost": step["cost"],
    });
    let mut result = server.post("/v1/allow", question.to_string()).json();
    let result = result.as_object_mut().expect("a result is an object");
    assert_eq!(result.remove("resetAfterMs").map(|it| it.is_u64()), Some(true));
    let wait = result.remove("retryAfterMs");
    assert!(result["allowed"] == false || wait == Some(Value::Null));
    json!(result)
}

/// The steps of these scenarios are at one moment, and their limits give nothing back before the test is over.
#[test]
fn scenarios_of_one_moment_pass_through_the_decision_api() {
    let names = ["scopes", "scopes-same-words", "shadow", "reload-by-limit-name", "plans"];
    let orders = ["012", "021", "102", "120", "201", "210"];
    let orders = orders.map(|order| format!("joint-order-{order}"));
    for name in names.map(str::to_owned).into_iter().chain(orders) {
        let path = in_repository(&format!("conformance/policies/{name}.json"));
        let scenario: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
        let file = ScratchFile::new("limits.json", scenario["config"].to_string());
        let server = Server::start(&file);
        let steps = scenario["steps"].as_array().unwrap().iter();
        for (number, step) in (1..).zip(steps.take_while(|step| step["atMs"] == 0)) {
            if let Some(config) = step.get("reload") {
                file.write(config.to_string());
                server.signal(Signal::HUP);
                server.wait_for_line("the config was reloaded");
                continue;
            }
            let mut expected = step["expect"].clone();
            expected.as_object_mut().unwrap().remove("resetAfterMs");
            expected.as_object_mut().unwrap().remove("retryAfterMs");
            assert_eq!(answer(&server, step), expected, "step {number} of {name}");
        }
    }
}

#[test]
fn a_call_without_a_tenant_is_an_error_of_its_own_and_charges_nothing() {
    let server = Server::start(&ScratchFile::new("limits.yaml", LIMITS));
    let without = r#"{"clientId": "alice", "endpoint": "/x"}"#;
    let expected = json!({
        "allowed": false, "remaining": 0, "retryAfterMs": null, "limit": 9, "resetAfterMs": 0,
        "limitName": "company", "error": "tenantMissing",
    });
    assert_eq!(server.post("/v1/allow", without).json(), expected);
    let list = r#"[{"clientId": "alice", "endpoint": "/x"}, {"clientId": "alice", "tenant": "acme", "endpoint": "/x"}]"#;
    let answers = server.post("/v1/allow", list).json();
    assert_eq!(answers[0], expected);
    assert_eq!((&answers[1]["remaining"], &answers[1]["limitName"]), (&json!(4), &json!("burst")));
    let wrong = server.post("/v1/allow", r#"{"clientId": "a", "tenant": 1, "endpoint": "/x"}"#);
    assert!(wrong.problem(400).starts_with("tenant: "), "{}", wrong.problem(400));
}

#[test]
fn the_extremes_have_words_of_their_own() {
    let server = Server::start(&ScratchFile::new("limits.yaml", LIMITS));
    assert_eq!(server.allow_at("/healthz", "alice", 1_000_000)["allowed"], true);
    let blocked = server.allow_at("/internal", "alice", 1);
    assert_eq!((&blocked["allowed"], &blocked["retryAfterMs"]), (&json!(false), &Value::Null));
    assert_eq!(server.allow_at("/internal", "operator", 1)["allowed"], true);
}

#[test]
fn each_limit_is_counted_and_one_in_shadow_tells_what_it_would_have_denied() {
    let server = Server::start(&ScratchFile::new("limits.yaml", LIMITS));
    for _ in 0..5 {
        let call = r#"{"clientId": "alice", "tenant": "acme", "endpoint": "/x"}"#;
        assert_eq!(server.post("/v1/allow", call).json()["allowed"], true);
    }
    let metrics = server.get(&server.admin, "/metrics").body;
    let line = |limit: &str, mode: &str, outcome: &str, calls: u64| {
        let labels =
            format!("endpoint=\"default\",limit=\"{limit}\",mode=\"{mode}\",outcome=\"{outcome}\"");
        format!("tollgate_limit_decisions_total{{{labels}}} {calls}\n")
    };
    for expected in [
        line("burst", "enforce", "allowed", 5),
        line("burst", "enforce", "denied", 0),
        line("company", "enforce", "allowed", 5),
        line("trial", "shadow", "allowed", 1),
        line("trial", "shadow", "denied", 4),
    ] {
        assert!(metrics.contains(&expected), "{expected} is not in\n{metrics}");
    }
}

#[test]
fn the_table_of_a_check_names_limits_where_they_have_names() {
    let file = ScratchFile::new("limits.yaml", LIMITS);
    let finished = run(["check", file.name()]);
    assert_eq!((finished.status, finished.stderr.as_str()), (Some(0), ""));
    for part in [
        "burst",
        "company",
        "tenant",
        "client, in shadow",
        "/healthz: unlimited",
        "/internal: denied",
    ] {
        assert!(finished.stdout.contains(part), "{part} is not in\n{}", finished.stdout);
    }
}

#[test]
fn traffic_that_names_no_tenant_cannot_be_replayed_through_limits_by_tenant() {
    let limits = ScratchFile::new("limits.yaml", LIMITS);
    let with = r#"{"atMs": 0, "client": "alice", "tenant": "acme", "endpoint": "/x"}"#;
    let without = r#"{"atMs": 1, "client": "alice", "endpoint": "/x"}"#;
    let events = ScratchFile::new("events.jsonl", with);
    let finished = run(["replay", "--config", limits.name(), "--decisions", "-", events.name()]);
    assert_eq!(
        finished.stdout,
        "{\"atMs\":0,\"client\":\"alice\",\"tenant\":\"acme\",\"endpoint\":\"/x\",\"cost\":1,\"allowed\":true,\
         \"remaining\":4,\"retryAfterMs\":null,\"limit\":5,\"resetAfterMs\":3600000,\"limitName\":\"burst\"}\n"
    );
    events.write(format!("{with}\n{without}\n"));
    let finished = run(["replay", "--config", limits.name(), events.name()]);
    assert_eq!((finished.status, finished.stdout.as_str()), (Some(1), ""));
    assert!(finished.stderr.contains("\"company\" of 9 counts by tenant"), "{}", finished.stderr);
}

#[test]
fn a_call_may_name_a_plan_and_one_that_nobody_knows_is_counted() {
    const PLANS: &str = "
plans: [pro]
default:
  algorithm: TokenBucket
  algoConfig: { capacity: 5, refill: 1/h }
  plans:
    pro: { algorithm: TokenBucket, algoConfig: { capacity: 50, refill: 1/h } }
";
    let server = Server::start(&ScratchFile::new("limits.yaml", PLANS));
    let ask = |plan: &str| {
        let question = json!({ "clientId": "alice", "endpoint": "/x", "plan": plan });
        server.post("/v1/allow", question.to_string()).json()
    };
    assert_eq!(ask("pro")["remaining"], 49);
    assert_eq!(ask("pro ")["remaining"], 3);
    let metrics = server.get(&server.admin, "/metrics").body;
    assert!(metrics.contains("\ntollgate_unknown_plans_total 1\n"), "{metrics}");
    let wrong = server.post("/v1/allow", r#"{"clientId": "a", "plan": 1, "endpoint": "/x"}"#);
    assert!(wrong.problem(400).starts_with("plan: "), "{}", wrong.problem(400));
}
