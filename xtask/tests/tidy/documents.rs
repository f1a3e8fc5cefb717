//! The conformance scenarios as documents; what they say is the conformance step's.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::offence::{Offence, assert_none, listed};
use crate::project::{File, files};

#[test]
fn every_conformance_file_is_json_with_a_name_of_its_own() {
    let files = files();
    assert!(scenarios(&files).next().is_some(), "conformance/ holds no .json file");
    assert_none(
        &wrong_scenarios(&files),
        "give each scenario a `name` of its own; conformance/README.md says what a scenario is",
    );
}

fn scenarios(files: &[File]) -> impl Iterator<Item = &File> {
    files.iter().filter(|file| file.path.starts_with("conformance/") && file.has_extension("json"))
}

fn wrong_scenarios(files: &[File]) -> Vec<Offence> {
    let mut names = BTreeMap::new();
    let mut offences = Vec::new();
    for file in scenarios(files) {
        let scenario: Value = match serde_json::from_slice(&file.bytes) {
            Ok(scenario) => scenario,
            Err(error) => {
                offences.push(Offence::new(&file.path, error.line(), format!("no JSON: {error}")));
                continue;
            }
        };
        let Some(name) = scenario.get("name").and_then(Value::as_str) else {
            offences.push(Offence::new(&file.path, 1, "has no `name`"));
            continue;
        };
        if let Some(other) = names.insert(name.to_owned(), &file.path) {
            let what = format!("has the name `{name}`, as {other} has");
            offences.push(Offence::new(&file.path, line_of_name(file), what));
        }
    }
    offences
}

fn line_of_name(file: &File) -> usize {
    file.lines().find_map(|(number, line)| line.contains("\"name\"").then_some(number)).unwrap_or(1)
}

#[test]
fn a_broken_a_nameless_and_a_twin_scenario_are_found() {
    let offences = wrong_scenarios(&[
        File::new("conformance/broken.json", "{\n\"name\": }"),
        File::new("conformance/nameless.json", "{\"name\": 5}"),
        File::new("conformance/one.json", "{\"name\": \"a\"}"),
        File::new("conformance/policies/two.json", "{\n  \"name\": \"a\"\n}"),
        File::new("examples/broken.json", "{"),
    ]);
    assert_eq!(
        listed(&offences),
        "conformance/broken.json:2: no JSON: expected value at line 2 column 9\n\
         conformance/nameless.json:1: has no `name`\n\
         conformance/policies/two.json:2: has the name `a`, as conformance/one.json has"
    );
}
