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

/// Runs all scenarios of a folder that HTTP can say, each on a gateway of its own: how many there were.
fn run_all(folder: &str) -> usize {
    let scenarios = scenarios(folder);
    // A charge is given back by whoever holds its receipt, which the decision API does not hand out.
    let has_refund = |scenario: &Value| {
        scenario["steps"].as_array().unwrap().iter().any(|step| step.get("refund").is_some())
    };
    let said = scenarios.iter().filter(|(_, scenario)| !has_refund(scenario));
    said.map(|(path, scenario)| run(path, scenario)).count()
}

#[test]
fn the_scenarios_of_single_limits_pass_through_the_decision_api() {
    assert_eq!(run_all("conformance"), 94);
}

#[test]
fn the_scenarios_of_policies_pass_through_the_decision_api() {
    assert_eq!(run_all("conformance/policies"), 56);
}
