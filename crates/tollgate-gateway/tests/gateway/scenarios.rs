//! Every conformance scenario, through the decision API.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use tollgate::Time;

use crate::running::Running;

/// The scenarios in a folder of the repository.
fn scenarios(folder: &str) -> Vec<(PathBuf, Value)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
    let paths = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let paths = paths.filter(|path| path.extension().is_some_and(|it| it == "json"));
    paths
        .map(|path| {
            let scenario = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
            (path, scenario)
        })
        .collect()
}

/// A time in milliseconds with up to six decimals, as it is written.
fn time(at_ms: &Value) -> Time {
    let text = at_ms.to_string();
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let nanos = format!("{whole}{fraction:0<6}");
    Time::from_nanos(nanos.parse().unwrap())
}

/// The fields of an answer, with the two that are left out where they do not hold.
fn fields(answer: Value) -> Map<String, Value> {
    let Value::Object(mut fields) = answer else { panic!("{answer}") };
    for name in ["limitName", "error"] {
        fields.entry(name).or_insert(Value::Null);
    }
    fields
}

fn run(path: &Path, scenario: &Value) {
    let running = Running::start(scenario["config"].to_string());
    for (number, step) in (1..).zip(scenario["steps"].as_array().unwrap()) {
        running.clock.set(time(&step["atMs"]));
        if let Some(config) = step.get("reload") {
            running.reload(config.to_string());
            continue;
        }
        let question = json!({
            "clientId": step["client"],
            "tenant": step["tenant"],
            "plan": step["plan"],
            "endpoint": step["endpoint"],
            "cost": step["cost"],
        });
        let answer = running.post("/v1/allow", &question);
        assert_eq!(answer.status, 200, "{answer:?}");
        let came = fields(answer.json());
        for (name, expected) in step["expect"].as_object().unwrap() {
            let place = format!("step {number} of {}: {name} in {came:?}", path.display());
            assert_eq!(&came[name], expected, "{place}");
        }
    }
    running.stop().unwrap();
}

/// Runs all scenarios of a folder, each on a gateway of its own, but for those of these names.
fn run_all_but(left_out: &[&str], folder: &str) {
    let scenarios = scenarios(folder);
    assert!(!scenarios.is_empty(), "{folder}");
    let is_left_out = |path: &Path| left_out.iter().any(|name| path.ends_with(name));
    for (path, scenario) in scenarios.iter().filter(|(path, _)| !is_left_out(path)) {
        run(path, scenario);
    }
}

#[test]
fn the_scenarios_of_single_limits_pass_through_the_decision_api() {
    run_all_but(&[], "conformance");
}

/// A charge is given back by whoever holds its receipt, which the decision API does not hand out.
#[test]
fn the_scenarios_of_policies_pass_through_the_decision_api() {
    run_all_but(&["refund.json"], "conformance/policies");
}
