//! Scenario files: what is refused in them, and how a failing one is told.

use proptest::prelude::*;
use tollgate_config::Format;
use tollgate_replay::{Difference, Scenario};

fn parse(steps: &str) -> Result<Scenario, String> {
    let text = format!(
        "name: a bucket of one\nwhy: for tests\nconfig: &config {{ default: {{ algorithm: TokenBucket, algoConfig: \
         {{ capacity: 1, refillRatePerSecond: 1 }} }} }}\nsteps:\n{steps}"
    );
    Scenario::parse(&text, Format::Yaml, "a.yaml").map_err(|faults| faults.to_string())
}

#[test]
fn a_scenario_may_step_back_in_time_and_reload() {
    let scenario = parse(
        "- { atMs: 1000, client: a, endpoint: /x, expect: { allowed: true, error: null } }
- { atMs: 0, client: a, endpoint: /x, expect: { allowed: false, retryAfterMs: 1000, limit: 1 } }
- { atMs: 500, client: b, endpoint: /x, cost: 2, expect: { allowed: false, error: costExceedsLimit } }
- atMs: 1000
  reload: { default: { algorithm: TokenBucket, algoConfig: { capacity: 1, refillRatePerSecond: 1000 } } }
- { atMs: 1001.0, client: a, endpoint: /x, expect: {} }
- { atMs: 1001, client: a, endpoint: /x, expect: { retryAfterMs: 1, remaining: 0, resetAfterMs: 1 } }
",
    )
    .unwrap();
    assert_eq!((scenario.name(), scenario.why()), ("a bucket of one", "for tests"));
    assert_eq!(scenario.run(), Ok(()));
}

/// The times of a scenario count from 1970, so its days begin at multiples of 86,400,000 ms.
#[test]
fn a_scenario_has_the_calendar_of_its_clock() {
    let text = "
name: midnight an hour east of Greenwich
config:
  default:
    algorithm: FixedWindow
    algoConfig: { anchor: calendar, maxRequests: 2, per: day, offset: +01:00 }
steps:
  - { atMs: 82799000, client: a, endpoint: /x, cost: 2, expect: { allowed: true, remaining: 0, resetAfterMs: 1000 } }
  - { atMs: 82799999, client: a, endpoint: /x, expect: { allowed: false, retryAfterMs: 1 } }
  - { atMs: 82800000, client: a, endpoint: /x, expect: { allowed: true, remaining: 1, resetAfterMs: 86400000 } }
  - { atMs: 82700000, client: a, endpoint: /x, cost: 2, expect: { allowed: false, retryAfterMs: 86400000 } }
";
    let scenario = Scenario::parse(text, Format::Yaml, "a.yaml").unwrap();
    assert_eq!(scenario.run(), Ok(()));
}

#[test]
fn every_step_that_fails_is_told_with_what_was_expected_and_what_came() {
    let scenario = parse(
        "- { atMs: 0, client: alice, endpoint: GET /x, expect: { allowed: false, remaining: 1, retryAfterMs: 5 } }
- { atMs: 0.5, client: alice, endpoint: GET /x, expect: { allowed: false, remaining: 0 } }
- { atMs: 0.5, client: alice, endpoint: GET /x, cost: 7, expect: { error: null } }
",
    )
    .unwrap();
    let failure = scenario.run().unwrap_err();
    let expected = "\
a.yaml: scenario `a bucket of one` failed (for tests)
  step 1 (line 5): `alice` at `GET /x`, cost 1, 0 ms
    expected allowed false, remaining 1, retryAfterMs 5
    came     allowed true, remaining 0, retryAfterMs null
  step 3 (line 7): `alice` at `GET /x`, cost 7, 0.5 ms
    expected error null
    came     error costExceedsLimit";
    assert_eq!(failure.to_string(), expected);
    assert_eq!(failure.steps.len(), 2);
    let Difference { field, expected, came, .. } = &failure.steps[1].differences[0];
    assert_eq!((*field, &**expected, &**came), ("error", "null", "costExceedsLimit"));
}

#[test]
fn a_faulty_step_is_refused_where_it_stands() {
    for (step, fault) in [
        (
            "- { atMs: 0, client: a, endpiont: /x, expect: {} }",
            "a.yaml:5:3: missing `endpoint`; expected a text\na.yaml:5:25: unknown field `endpiont`; did you mean \
             `endpoint`?",
        ),
        (
            "- { atMs: 0, client: a, client: b, endpoint: /x, expect: {} }",
            "a.yaml:5:25: `client` is given twice; keep one",
        ),
        (
            "- { atMs: -1, client: 7, endpoint: /x, cost: 0.5, expect: {} }",
            "a.yaml:5:11: `atMs` is -1; expected milliseconds, a number from 0 to 18446744073709.551615 with at most 6 \
             decimals (nanoseconds)\na.yaml:5:23: `client` is 7; expected a text\na.yaml:5:46: `cost` is 0.5; \
             expected a whole number from 0 to 18446744073709551615",
        ),
        (
            "- { atMs: 0, client: a, endpoint: /x }",
            "a.yaml:5:3: missing `expect`; expected a map with any of the result's fields",
        ),
        (
            "- { atMs: 0, client: a, endpoint: /x, expect: { remainin: 1 } }",
            "a.yaml:5:49: unknown field `remainin`; did you mean `remaining`?",
        ),
        (
            "- { atMs: 0, client: a, endpoint: /x, expect: { allowed: yes, limit: null, error: denied } }",
            "a.yaml:5:58: `allowed` is \"yes\"; expected true or false\na.yaml:5:70: `limit` is nothing; expected a \
             whole number\na.yaml:5:83: `error` is \"denied\"; expected costExceedsLimit, tenantMissing, or null",
        ),
        (
            "- 7",
            "a.yaml:5:3: a step is 7; expected a map with atMs, client, tenant, plan, endpoint, cost, expect, reload, refund",
        ),
        (
            "- { atMs: 0, client: a, reload: *config }",
            "a.yaml:5:14: unknown field `client`; known here: atMs, reload",
        ),
        (
            "- { atMs: 0, reload: { default: { algorithm: Bucket, algoConfig: {} } } }",
            "a.yaml:5:46: default: unknown algorithm `Bucket`",
        ),
        (
            "- { atMs: 0, refund: 1 }",
            "a.yaml:5:22: `refund` is 1; expected the number of an earlier step, from 1",
        ),
        (
            "- { atMs: 0, refund: 1, client: a }",
            "a.yaml:5:25: unknown field `client`; known here: atMs, refund",
        ),
        ("- { atMs: 0, relaod: *config }", "unknown field `relaod`; did you mean `reload`?"),
    ] {
        let refused = parse(step).unwrap_err();
        assert!(refused.contains(fault), "{step}\n{refused}");
    }
}

#[test]
fn a_faulty_scenario_is_refused_with_all_its_faults() {
    for (text, faults) in [
        (
            "{ name: 7, whi: x, steps: [] }",
            "a.yaml:1:1: missing `config`; expected a map, as in a config file\na.yaml:1:9: `name` is 7; expected a \
             text\na.yaml:1:12: unknown field `whi`; did you mean `why`?\na.yaml:1:27: `steps` is a list; expected a \
             list of at least one step",
        ),
        ("[]", "a.yaml:1:1: the scenario is a list; expected a map with name, why, config, steps"),
        ("{", "a.yaml:1:2: not valid YAML"),
    ] {
        let refused = Scenario::parse(text, Format::Yaml, "a.yaml").unwrap_err().to_string();
        assert!(refused.starts_with(faults), "{refused}");
    }
}

#[test]
fn a_file_that_is_missing_or_of_another_kind_is_named() {
    let missing = Scenario::load("no/such.json").unwrap_err().to_string();
    assert!(missing.starts_with("no/such.json: cannot be read"), "{missing}");
    let other = Scenario::load("scenario.txt").unwrap_err().to_string();
    assert!(other.starts_with("scenario.txt: unknown extension `.txt`"), "{other}");
}

proptest! {
    #[test]
    fn any_text_is_a_scenario_that_runs_or_is_refused_with_its_faults(text in ".*", cut in 0_usize..250) {
        let sample = r#"{"name":"a","config":{"default":{"algorithm":"TokenBucket","algoConfig":{"capacity":1,"refillRatePerSecond":1}}},"steps":[{"atMs":0.5,"client":"a","endpoint":"/x","cost":1,"expect":{"allowed":true}}]}"#;
        let (head, tail) = (sample.chars().take(cut), sample.chars().skip(cut));
        let spliced: String = head.chain(text.chars()).chain(tail).collect();
        for text in [text, spliced] {
            match Scenario::parse(&text, Format::Json, "a.json") {
                Ok(scenario) => drop(scenario.run()),
                Err(faults) => prop_assert!(faults.iter().count() > 0),
            }
        }
    }
}
