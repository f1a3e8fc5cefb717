//! `POST /v1/allow`.

use serde_json::{Value, json};

use crate::files::{ScratchFile, bucket};
use crate::server::Server;

/// A client that has used nothing has this many calls.
const CAPACITY: u32 = 3;

fn server() -> Server {
    Server::start(&ScratchFile::new("limits.yaml", bucket(CAPACITY)))
}

#[test]
fn a_client_is_allowed_up_to_the_limit_and_then_told_when_to_come_back() {
    let server = server();
    for remaining in [2, 1, 0] {
        let result = server.allow("alice", 1);
        assert_eq!((&result["allowed"], &result["remaining"]), (&json!(true), &json!(remaining)));
        assert_eq!((&result["limit"], &result["retryAfterMs"]), (&json!(3), &Value::Null));
    }
    let denied = server.allow("alice", 1);
    assert_eq!((&denied["allowed"], &denied["remaining"]), (&json!(false), &json!(0)));
    // A token takes an hour, and a minute of it has not passed since the first call.
    let wait_ms = denied["retryAfterMs"].as_u64().unwrap();
    assert!((3_540_000..=3_600_000).contains(&wait_ms), "{denied}");
    assert_eq!(denied["resetAfterMs"].as_u64().unwrap(), wait_ms + 2 * 3_600_000);
    assert_eq!(server.allow("bob", 1)["remaining"], 2);
}

#[test]
fn a_client_that_waits_is_allowed_again() {
    let config =
        "{ default: { algorithm: TokenBucket, algoConfig: { capacity: 1, refill: 20/s } } }";
    let server = Server::start(&ScratchFile::new("limits.yaml", config));
    assert_eq!(server.allow("alice", 1)["allowed"], true);
    let denied = std::iter::repeat_with(|| server.allow("alice", 1))
        .take_while(|result| result["allowed"] == false)
        .map(|result| result["retryAfterMs"].as_u64().unwrap());
    let waits: Vec<_> = denied.collect();
    assert!(waits.is_sorted_by(|sooner, later| sooner >= later), "{waits:?}");
    assert!(waits.iter().all(|wait_ms| (1..=50).contains(wait_ms)), "{waits:?}");
}

#[test]
fn a_denial_shows_in_the_status_where_that_is_asked_for() {
    let server = server();
    let question = r#"{"clientId": "alice", "endpoint": "/x", "cost": 3}"#;
    let allowed = server.post("/v1/allow?status=1", question);
    assert_eq!((allowed.status, allowed.retry_after), (200, None));

    let denied = server.post("/v1/allow?status=1", question);
    assert_eq!((denied.status, denied.content_type.as_str()), (429, "application/json"));
    let wait_ms = denied.json()["retryAfterMs"].as_u64().unwrap();
    assert_eq!(denied.retry_after, Some(wait_ms.div_ceil(1_000)));
    for path in ["/v1/allow", "/v1/allow?status=0"] {
        let denied = server.post(path, question);
        assert_eq!((denied.status, denied.retry_after), (200, None), "{path}");
    }

    let list = r#"[{"clientId": "bob", "endpoint": "/x"}, {"clientId": "bob", "endpoint": "/x", "cost": 4}]"#;
    let denied = server.post("/v1/allow?status=1", list);
    assert_eq!((denied.status, denied.retry_after), (429, None), "no wait makes a cost of 4 fit 3");
    assert_eq!(denied.json()[0]["allowed"], true);
}

#[test]
fn a_list_is_decided_in_order_and_a_cost_above_the_limit_is_an_error_of_its_own() {
    let server = server();
    let question =
        |client: &str, cost: Value| json!({ "clientId": client, "endpoint": "/x", "cost": cost });
    let list = json!([
        question("alice", json!(2)),
        question("alice", json!(2)),
        question("alice", json!(4)),
        question("bob", json!(0)),
        question("alice", Value::Null),
        question("bob", json!(u64::MAX)),
    ]);
    let answer = server.post("/v1/allow", list.to_string());
    let results = answer.json();
    let of = |field: &str| -> Vec<Value> {
        results.as_array().unwrap().iter().map(|result| result[field].clone()).collect()
    };
    assert_eq!(answer.status, 200);
    assert_eq!(json!(of("allowed")), json!([true, false, false, true, true, false]));
    assert_eq!(json!(of("remaining")), json!([1, 1, 1, 3, 0, 3]));
    let never = json!("costExceedsLimit");
    assert_eq!(json!(of("error")), json!([null, null, never, null, null, never]));
    assert_eq!(
        (&results[2]["retryAfterMs"], &results[5]["retryAfterMs"]),
        (&Value::Null, &Value::Null)
    );

    let empty = server.post("/v1/allow", " [ ] ");
    assert_eq!((empty.status, empty.body.as_str()), (200, "[]"));
}

#[test]
fn a_body_that_cannot_be_read_is_refused_with_the_field_and_what_was_expected() {
    let server = server();
    let nested = "[".repeat(200_000);
    let nested_objects = r#"{"clientId":"#.repeat(50_000);
    let cases: [(&[u8], &str); 21] = [
        (b"", "EOF while parsing a value"),
        (br#"{"clientId": "alice", "endp"#, "EOF while parsing a string"),
        (br#"{"clientId": "alice", "endpoint": "/x"} {}"#, "trailing characters"),
        (br#"{"clientId": "alice"}"#, "missing field `endpoint`"),
        (br#"{"endpoint": "/x"}"#, "missing field `clientId`"),
        (
            br#"{"clientId": "alice", "endpoint": "/x", "costs": 1}"#,
            "unknown field `costs`, expected one of `clientId`, `tenant`, `plan`, `endpoint`, `cost`",
        ),
        (
            br#"{"clientId": "alice", "endpoint": "/x", "endpoint": "/y"}"#,
            "duplicate field `endpoint`",
        ),
        (
            br#"{"clientId": 5, "endpoint": "/x"}"#,
            "clientId: invalid type: integer `5`, expected a string",
        ),
        (
            br#"{"clientId": null, "endpoint": "/x"}"#,
            "clientId: invalid type: null, expected a string",
        ),
        (br#"{"clientId": "\ud800", "endpoint": "/x"}"#, "clientId: "),
        (b"{\"clientId\": \"\xff\", \"endpoint\": \"/x\"}", "clientId: invalid unicode code point"),
        (
            br#"{"clientId": "alice", "endpoint": "/x", "cost": -1}"#,
            "cost: invalid type: integer `-1`, expected a whole number from 0 to 18446744073709551615",
        ),
        (
            br#"{"clientId": "alice", "endpoint": "/x", "cost": 1.5}"#,
            "cost: invalid type: floating point `1.5`, expected a whole number from 0",
        ),
        (br#"{"clientId": "alice", "endpoint": "/x", "cost": "2"}"#, "cost: invalid type: string"),
        (br#"{"clientId": "alice", "endpoint": "/x", "cost": 1e400}"#, "cost: number out of range"),
        (
            br#"{"clientId": "alice", "endpoint": "/x", "cost": 18446744073709551616}"#,
            "expected a whole number from 0 to 18446744073709551615",
        ),
        (
            b"7",
            "expected an object with `clientId`, `endpoint` and optionally `tenant`, `plan` and `cost`",
        ),
        (br#"["alice", "/x"]"#, "[0]: invalid type: string \"alice\", expected an object with"),
        (br#"[["alice", "/x"]]"#, "[0]: invalid type: sequence, expected an object with"),
        (nested.as_bytes(), "[0]: invalid type: sequence"),
        (nested_objects.as_bytes(), "clientId: invalid type: map, expected a string"),
    ];
    for (body, detail) in cases {
        let refused = server.post("/v1/allow", body).problem(400);
        assert!(refused.contains(detail), "{refused:?} should say {detail:?}");
    }
    assert_eq!(server.allow("alice", 0)["remaining"], CAPACITY);
}

#[test]
fn a_list_with_one_bad_element_charges_nothing() {
    let server = server();
    let list = br#"[{"clientId": "alice", "endpoint": "/x"}, {"clientId": "alice", "endpoint": "/x", "cost": "2"}]"#;
    let refused = server.post("/v1/allow", list).problem(400);
    assert!(refused.starts_with("[1].cost: invalid type: string"), "{refused}");
    assert_eq!(server.allow("alice", 0)["remaining"], CAPACITY);
}

#[test]
fn a_list_may_be_long_and_no_longer() {
    let server = server();
    let list = |length: usize| json!(vec![json!({ "clientId": "", "endpoint": "" }); length]);
    let longest = server.post("/v1/allow", list(10_000).to_string());
    assert_eq!((longest.status, longest.json().as_array().unwrap().len()), (200, 10_000));
    let refused = server.post("/v1/allow", list(10_001).to_string()).problem(400);
    assert_eq!(refused, "the list has 10001 elements; expected at most 10000");
}

#[test]
fn a_body_that_is_too_large_is_answered_although_the_client_still_sends() {
    let server = server();
    for length in [1 << 20, (1 << 20) + 1, 10_000_000] {
        let mut body = br#"{"clientId": "alice", "endpoint": "/x"}"#.to_vec();
        body.resize(length, b' ');
        let answer = server.post("/v1/allow", &body);
        if length == 1 << 20 {
            assert_eq!(answer.status, 200, "{answer:?}");
        } else {
            assert!(answer.problem(413).contains("1048576 bytes"), "{length}");
        }
    }
    assert_eq!(server.allow("alice", 0)["remaining"], CAPACITY - 1);
}

#[test]
fn random_bytes_are_never_more_than_a_bad_request() {
    let server = server();
    // A generator with a fixed seed: the same bytes each time.
    let mut state = 1_u64;
    let mut random_byte = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        state.to_be_bytes()[0]
    };
    for length in 1..200 {
        let bytes: Vec<u8> = (0..length).map(|_| random_byte()).collect();
        server.post("/v1/allow", &bytes).problem(400);
    }
    assert_eq!(server.allow("alice", 0)["remaining"], CAPACITY);
}

#[test]
fn what_stands_behind_the_question_mark_is_checked_too() {
    let server = server();
    for (query, detail) in [
        ("stauts=1", "unknown option `stauts`; expected `status`"),
        ("status=2", "`status` is \"2\"; expected 0 or 1"),
        ("status=1&status=1", "`status` is given twice"),
    ] {
        let question = r#"{"clientId": "alice", "endpoint": "/x"}"#;
        let refused = server.post(&format!("/v1/allow?{query}"), question).problem(400);
        assert!(refused.contains(detail), "{refused:?} should say {detail:?}");
    }
    assert_eq!(server.allow("alice", 0)["remaining"], CAPACITY);
}

#[test]
fn an_unknown_path_and_a_wrong_method_are_told_apart() {
    let server = server();
    assert_eq!(server.post("/v1/alow", "{}").problem(404), "nothing is served under /v1/alow");
    let wrong_method = server.get(&server.api, "/v1/allow");
    assert!(wrong_method.problem(405).contains("does not answer GET"), "{wrong_method:?}");
    assert_eq!(wrong_method.allow.as_deref(), Some("POST"));
}
