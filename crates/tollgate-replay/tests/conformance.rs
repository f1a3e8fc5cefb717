//! Every scenario of the conformance folder.

use std::path::{Path, PathBuf};

use tollgate_config::Format;
use tollgate_replay::Scenario;

/// How many there are, so that none is left out unseen.
const SCENARIOS: usize = 94;

#[test]
fn every_scenario_passes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance");
    let mut paths: Vec<PathBuf> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    paths.sort();
    assert_eq!(paths.len(), SCENARIOS);
    let failures: Vec<String> = paths.iter().filter_map(|path| failure(path)).collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn the_example_that_explains_scenarios_passes() {
    let readme = include_str!("../../../conformance/README.md");
    let (_, from_example) = readme.split_once("```json\n").unwrap();
    let (example, _) = from_example.split_once("```").unwrap();
    let scenario = Scenario::parse(example, Format::Json, "README.md").unwrap();
    assert_eq!(scenario.run(), Ok(()));
}

fn failure(path: &Path) -> Option<String> {
    match Scenario::load(path) {
        Err(faults) => Some(faults.to_string()),
        Ok(scenario) => scenario.run().err().map(|failure| failure.to_string()),
    }
}
