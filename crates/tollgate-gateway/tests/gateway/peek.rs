//! `POST /v1/peek`, and what each limit says.

use serde_json::{Value, json};

use crate::running::Running;

const CONFIG: &str = "
default:
  limits:
    - { name: burst, algorithm: TokenBucket, algoConfig: { capacity: 2, refill: 1/h } }
    - { name: company, algorithm: TokenBucket, algoConfig: { capacity: 9, refill: 1/h }, scope: tenant }
    - { name: trial, algorithm: FixedWindow, algoConfig: { maxRequests: 1, window: 1h }, mode: shadow }
";

fn call(cost: u64) -> Value {
    json!({ "clientId": "alice", "tenant": "acme", "endpoint": "/x", "cost": cost })
}

#[test]
fn a_look_says_what_a_call_would_be_answered_and_charges_nothing() {
    let running = Running::start(CONFIG);
    for _ in 0..3 {
        let looks = running.post("/v1/peek", &json!([call(1), call(2), call(3)])).json();
        assert_eq!(json!([&looks[0]["allowed"], &looks[1]["allowed"]]), json!([true, true]));
        assert_eq!(looks[2]["error"], "costExceedsLimit");
        assert_eq!(looks[0]["remaining"], 2);
    }
    running.post("/v1/allow", &call(2));
    let look = running.post("/v1/peek", &call(1));
    assert_eq!((look.status, &look.json()["allowed"]), (200, &json!(false)));
    assert_eq!(look.json()["retryAfterMs"], 3_600_000);
    let look = running.post("/v1/peek?status=1", &call(1));
    assert_eq!((look.status, look.header("retry-after")), (429, Some("3600")));
}

#[test]
fn what_each_limit_says_is_told_where_it_is_asked_for() {
    let running = Running::start(CONFIG);
    let answer = running.post("/v1/allow?limits=1", &call(2)).json();
    assert_eq!((&answer["allowed"], &answer["limitName"]), (&json!(true), &json!("burst")));
    let told: Vec<_> = answer["limits"]
        .as_array()
        .unwrap()
        .iter()
        .map(|limit| {
            json!([
                limit["limitName"],
                limit["scope"],
                limit["mode"],
                limit["allowed"],
                limit["remaining"]
            ])
        })
        .collect();
    let expected = json!([
        ["burst", "client", "enforce", true, 0],
        ["company", "tenant", "enforce", true, 7],
        ["trial", "client", "shadow", false, 1],
    ]);
    assert_eq!(json!(told), expected);
    let list = running.post("/v1/allow?limits=1&status=1", &json!([call(1), call(0)]));
    assert_eq!((list.status, list.header("retry-after")), (429, Some("3600")));
    assert_eq!(list.json()[0]["limits"][0]["retryAfterMs"], 3_600_000);
}

#[test]
fn an_option_that_a_look_does_not_have_is_refused() {
    let running = Running::start(CONFIG);
    let refused = running.post("/v1/peek?limits=1", &call(1)).problem(400);
    assert_eq!(refused, "unknown option `limits`; expected `status`");
    assert!(running.get("/v1/peek").problem(405).contains("does not answer GET"));
}

#[test]
fn svc_38_a_list_is_decided_in_order_and_a_cost_that_does_not_fit_takes_nothing() {
    let running = Running::start(
        "{ default: { algorithm: TokenBucket, algoConfig: { capacity: 10, refill: 10/min } } }",
    );
    let remaining = |body: Value| running.post("/v1/allow", &body).json();
    assert_eq!(remaining(call(6))["remaining"], 4);
    let denied = remaining(call(6));
    assert_eq!((&denied["allowed"], &denied["remaining"]), (&json!(false), &json!(4)));
    let list = remaining(json!([call(1), call(2), call(2)]));
    let left: Vec<_> = list.as_array().unwrap().iter().map(|it| it["remaining"].clone()).collect();
    assert_eq!(json!(left), json!([3, 1, 1]));
    assert_eq!(list[2]["allowed"], false);
}
