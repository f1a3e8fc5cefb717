//! The listener of operators.

use std::time::Duration;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};
use tollgate_gateway::{Door, StartError};

use crate::running::{Answer, Running};

const TOKEN: &str = "a-token-of-the-tests";

const CONFIG: &str = "
default: { algorithm: FixedWindow, algoConfig: { maxRequests: 2, window: 1h } }
endpoints:
  - { endpoint: 'GET /users/{id}', algorithm: TokenBucket, algoConfig: { capacity: 5, refill: 1/s }, cost: 2 }
gateway: { admin: { tokenFile: token, hosts: [Tollgate.internal] } }
";

fn start() -> Running {
    Running::start_with(CONFIG, &[("token", &format!("{TOKEN}\n"))])
}

fn admin(running: &Running, method: &str, path: &str, body: &str) -> Answer {
    let bearer = format!("Bearer {TOKEN}");
    running.send(Door::Admin, (method, path), &[("authorization", &bearer)], body)
}

fn allow(running: &Running, client: &str) -> Value {
    running.post("/v1/allow", &json!({ "clientId": client, "endpoint": "/x" })).json()
}

#[test]
fn only_the_token_is_heard_but_for_probes_and_metrics_on_this_machine() {
    let running = start();
    for path in ["/healthz", "/readyz", "/metrics"] {
        assert_eq!(running.send(Door::Admin, ("GET", path), &[], "").status, 200, "{path}");
    }
    let paths =
        ["/v1/config", "/v1/denied", "/v1/overrides", "/v1/explain", "/v1/clients/a", "/v1/none"];
    for path in paths {
        for wrong in [
            "",
            "Bearer",
            "Bearer ",
            "Bearer a-token-of-the-test",
            "Bearer a-token-of-the-testsx",
            "Basic eA==",
        ] {
            let headers = [("authorization", wrong)];
            let headers = if wrong.is_empty() { &[][..] } else { &headers };
            let refused = running.send(Door::Admin, ("GET", path), headers, "");
            assert_eq!(
                (refused.status, refused.header("www-authenticate")),
                (401, Some("Bearer")),
                "{path} {wrong}"
            );
        }
    }
    assert_eq!(admin(&running, "GET", "/v1/config", "").status, 200);
    assert_eq!(admin(&running, "GET", "/v1/none", "").status, 404);
    assert_eq!(admin(&running, "GET", "/v1/config/reload", "").header("allow"), Some("POST"));
}

#[test]
fn without_a_token_file_nothing_can_be_asked_or_changed() {
    let running = Running::start(CONFIG.replace("tokenFile: token, ", ""));
    let refused = admin(&running, "POST", "/v1/config/reload", "").problem(403);
    assert!(refused.contains("`gateway.admin.tokenFile`"), "{refused}");
}

#[test]
fn s80_operators_are_not_heard_on_an_open_address_without_a_token() {
    let without = CONFIG.replace("tokenFile: token, ", "");
    let Err(StartError::OpenAdmin { address, .. }) =
        Running::try_start_at(&without, &[], "0.0.0.0:0")
    else {
        panic!("it started")
    };
    assert!(address.ip().is_unspecified());
    let running = Running::try_start_at(CONFIG, &[("token", TOKEN)], "0.0.0.0:0").unwrap();
    assert_eq!(running.send(Door::Admin, ("GET", "/metrics"), &[], "").status, 401);
    assert_eq!(admin(&running, "GET", "/metrics", "").status, 200);
    assert_eq!(running.send(Door::Admin, ("GET", "/healthz"), &[], "").status, 200);
    for path in ["/metrics", "/v1/config", "/v1/clients/a"] {
        assert_eq!(running.get(path).status, 404, "{path} is none of the other door's");
    }
}

#[test]
fn a_token_that_is_missing_or_can_be_guessed_is_refused_at_the_start() {
    for (files, told) in [
        (vec![], "cannot be read, as `gateway.admin.tokenFile`"),
        (vec![("token", "  \n")], "the token is 0 bytes long; expected at least 16"),
        (vec![("token", "secret")], "the token is 6 bytes long"),
    ] {
        let refused = Running::try_start_at(CONFIG, &files, "127.0.0.1:0").err().unwrap();
        assert!(refused.to_string().contains(told), "{refused}");
    }
}

#[test]
fn s82_a_name_that_was_made_to_lead_here_is_not_answered() {
    let running = start();
    let port = running.address(Door::Admin).port();
    let status = |head: &str| {
        let answer = running.raw(Door::Admin, &format!("{head}connection: close\r\n\r\n"));
        answer.split(' ').nth(1).unwrap().to_owned()
    };
    let with = |host: &str| status(&format!("GET /metrics HTTP/1.1\r\nhost: {host}\r\n"));
    for host in [
        "localhost",
        "LOCALHOST.",
        "127.0.0.1",
        "[::1]",
        "192.0.2.1",
        "tollgate.internal",
        "tollgate.internal.",
    ] {
        assert_eq!(with(host), "200", "{host}");
        assert_eq!(with(&format!("{host}:{port}")), "200", "{host}");
    }
    for host in [
        "attacker.example",
        "localhost.attacker.example",
        "attacker.example:8081",
        "127.0.0.1.attacker.example",
        "",
    ] {
        assert_eq!(with(host), "403", "{host}");
    }
    assert_eq!(status("GET /metrics HTTP/1.1\r\n"), "403", "no name at all");
    assert_eq!(
        status("GET http://attacker.example/metrics HTTP/1.1\r\nhost: localhost\r\n"),
        "403"
    );
    assert_eq!(
        status("GET /metrics HTTP/1.1\r\nhost: localhost\r\nhost: attacker.example\r\n"),
        "403"
    );
}

#[test]
fn svc_40_a_client_is_shown_as_its_next_call_is_answered_and_reset_on_demand() {
    let running = start();
    allow(&running, "alice");
    allow(&running, "alice");
    let state = admin(&running, "GET", "/v1/clients/alice?endpoint=/x", "").json();
    let denied = allow(&running, "alice");
    assert_eq!((&state["result"], &state["entry"]), (&denied, &Value::Null));
    assert_eq!(denied["allowed"], false);
    let reset = admin(&running, "DELETE", "/v1/clients/alice?endpoint=/x", "").json();
    assert_eq!(reset, json!({ "hadState": true, "inheritsDebt": false }));
    assert_eq!(allow(&running, "alice")["remaining"], 1);
    let nobody = admin(&running, "DELETE", "/v1/clients/nobody?endpoint=/x", "").json();
    assert_eq!(nobody["hadState"], false);
    let of_pattern = admin(&running, "GET", "/v1/clients/alice?endpoint=GET%20/users/7", "").json();
    assert_eq!(
        (&of_pattern["entry"], &of_pattern["result"]["limit"]),
        (&json!("GET /users/{id}"), &json!(5))
    );
}

#[test]
fn svc_40_any_name_round_trips_by_escapes() {
    let running = start();
    let long = "k".repeat(4_096);
    for name in ["a/b", "100%", "line\nbreak", "ä漢", "", &long, "a b+c", "x/override"] {
        allow(&running, name);
        let escaped = utf8_percent_encode(name, NON_ALPHANUMERIC);
        let state =
            admin(&running, "GET", &format!("/v1/clients/{escaped}?endpoint=/x"), "").json();
        assert_eq!((&state["client"], &state["result"]["remaining"]), (&json!(name), &json!(1)));
    }
    let invalid = admin(&running, "GET", "/v1/clients/%FF?endpoint=/x", "");
    assert!(invalid.problem(400).contains("not UTF-8"));
    assert_eq!(admin(&running, "GET", "/v1/clients/a/b?endpoint=/x", "").status, 404);
}

#[test]
fn svc_40_an_override_lapses_on_time_and_outlives_reloads() {
    let running = start();
    let put = |body: &str| admin(&running, "PUT", "/v1/clients/alice/override", body);
    let set = put(r#"{"mode": "block", "for": "2s"}"#);
    assert_eq!((set.status, set.json()), (200, json!({ "mode": "block", "lapsesAfterMs": 2_000 })));
    running.reload(CONFIG.replace("maxRequests: 2", "maxRequests: 9"));
    running.clock.advance(Duration::from_millis(500));
    let blocked = allow(&running, "alice");
    assert_eq!((&blocked["allowed"], &blocked["retryAfterMs"]), (&json!(false), &json!(1_500)));
    assert_eq!(allow(&running, "bob")["allowed"], true);
    let list =
        json!([{ "clientId": "alice", "endpoint": "/x" }, { "clientId": "bob", "endpoint": "/x" }]);
    let list = running.post("/v1/allow", &list).json();
    assert_eq!(json!([list[0]["allowed"], list[1]["allowed"]]), json!([false, true]));
    let shown = admin(&running, "GET", "/v1/clients/alice?endpoint=/x", "").json();
    assert_eq!(shown["override"], json!({ "mode": "block", "lapsesAfterMs": 1_500 }));
    let all = admin(&running, "GET", "/v1/overrides", "").json();
    assert_eq!(all, json!([{ "client": "alice", "mode": "block", "lapsesAfterMs": 1_500 }]));
    running.clock.advance(Duration::from_millis(1_500));
    assert_eq!(allow(&running, "alice")["remaining"], 8, "nothing was charged meanwhile");
    assert_eq!(admin(&running, "GET", "/v1/overrides", "").json(), json!([]));

    put(r#"{"mode": "unlimited", "for": "1h"}"#);
    for _ in 0..20 {
        assert_eq!(allow(&running, "alice")["allowed"], true);
    }
    assert_eq!(admin(&running, "DELETE", "/v1/clients/alice/override", "").status, 204);
    assert_eq!(allow(&running, "alice")["remaining"], 7);
    assert_eq!(admin(&running, "DELETE", "/v1/clients/alice/override", "").status, 404);
    assert_eq!(running.metric(r#"tollgate_overridden_decisions_total{mode="block"}"#), 2);
    assert_eq!(running.metric(r#"tollgate_overridden_decisions_total{mode="unlimited"}"#), 20);
}

#[test]
fn an_override_that_cannot_be_read_is_refused_with_what_was_expected() {
    let running = start();
    for (body, told) in [
        ("", "EOF while parsing"),
        (
            r#"{"mode": "ban", "for": "2s"}"#,
            "unknown variant `ban`, expected `block` or `unlimited`",
        ),
        (r#"{"mode": "block"}"#, "missing field `for`"),
        (r#"{"mode": "block", "for": "2s", "why": ""}"#, "unknown field `why`"),
        (r#"{"mode": "block", "for": "2"}"#, "`for` is \"2\"; expected a time with its unit"),
        (r#"{"mode": "block", "for": "0s"}"#, "up to 366 days"),
        (r#"{"mode": "block", "for": "367 days"}"#, "up to 366 days"),
    ] {
        let refused = admin(&running, "PUT", "/v1/clients/alice/override", body).problem(400);
        assert!(refused.contains(told), "{body}: {refused}");
    }
    assert_eq!(admin(&running, "GET", "/v1/overrides", "").json(), json!([]));
}

#[test]
fn whoever_is_denied_most_is_told_to_operators_alone() {
    let running = start();
    for (client, calls) in [("mallory", 9), ("alice", 2), ("bob", 3)] {
        for _ in 0..calls {
            allow(&running, client);
        }
    }
    let denied = admin(&running, "GET", "/v1/denied", "").json();
    let expected = json!([
        { "client": "mallory", "denials": 7, "overestimate": 0 },
        { "client": "bob", "denials": 1, "overestimate": 0 },
    ]);
    assert_eq!(denied, expected);
    assert!(!admin(&running, "GET", "/metrics", "").body.contains("mallory"));
}

#[test]
fn a_reload_is_asked_for_told_of_and_refused_over_http() {
    let running = start();
    allow(&running, "alice");
    running.write_config(CONFIG.replace("maxRequests: 2", "maxRequests: 5"));
    let changes = |applied: bool, version: u64| {
        let mut changed = json!({ "endpoint": "default", "limit": null, "change": "changed" });
        if applied {
            changed["forgiven"] = json!(0);
        }
        let kept = json!({ "endpoint": "GET /users/{id}", "limit": null, "change": "kept" });
        json!({ "applied": applied, "version": version, "changes": [changed, kept] })
    };
    let dry = admin(&running, "POST", "/v1/config/reload?dryRun=1", "").json();
    assert_eq!(dry["applied"], false);
    let done = admin(&running, "POST", "/v1/config/reload", "");
    assert_eq!(done.status, 200);
    // The file is watched as well, and whoever comes first finds the change.
    let config = admin(&running, "GET", "/v1/config", "").json();
    assert_eq!(allow(&running, "alice")["remaining"], 3);
    assert_eq!(config["policies"][0]["limits"][0]["quota"], 5);
    if done.json()["version"] == 2 {
        assert_eq!((dry, done.json()), (changes(false, 1), changes(true, 2)));
    }

    running.write_config(CONFIG.replace("maxRequests: 2", "maxRequests: 0"));
    let refused = admin(&running, "POST", "/v1/config/reload?dryRun=1", "").problem(422);
    assert!(
        refused.contains("limits.yaml:2:") && refused.contains("`maxRequests` is 0"),
        "{refused}"
    );
    admin(&running, "POST", "/v1/config/reload", "").problem(422);
    let config = admin(&running, "GET", "/v1/config", "").json();
    assert!(config["lastError"].as_str().unwrap().contains("`maxRequests` is 0"), "{config}");
    assert_eq!(allow(&running, "alice")["remaining"], 2);
    let wrong = admin(&running, "POST", "/v1/config/reload?dryrun=1", "").problem(400);
    assert_eq!(wrong, "unknown field `dryrun`; did you mean `dryRun`?");
}

#[test]
fn s86_the_config_shows_no_token() {
    let running = start();
    let shown = admin(&running, "GET", "/v1/config", "");
    assert!(!shown.body.contains(TOKEN), "{}", shown.body);
    let config = shown.json();
    assert_eq!((&config["version"], &config["lastError"]), (&json!(1), &Value::Null));
    assert_eq!(config["doors"][0], json!(["gateway", "127.0.0.1:8080"]));
    assert_eq!(config["policies"][1]["endpoint"], "GET /users/{id}");
}

#[test]
fn a_call_is_explained_without_being_decided() {
    let running = start();
    let explained =
        admin(&running, "GET", "/v1/explain?client=alice&endpoint=GET+/users/7", "").json();
    assert_eq!(
        (&explained["matched"], &explained["entry"]),
        (&json!("byPattern"), &json!("GET /users/{id}"))
    );
    assert_eq!((&explained["cost"], &explained["limits"][0]["quota"]), (&json!(2), &json!(5)));
    assert_eq!(explained["mostIn"]["minute"], 32);
    let default = admin(&running, "GET", "/v1/explain?client=alice&endpoint=/x", "").json();
    assert_eq!((&default["matched"], &default["entry"]), (&json!("byDefault"), &Value::Null));
    let missing = admin(&running, "GET", "/v1/explain?client=alice", "").problem(400);
    assert_eq!(missing, "`endpoint` is missing in the query");
    assert_eq!(allow(&running, "alice")["remaining"], 1);
}
