//! Every scenario of the conformance folder.

use std::path::{Path, PathBuf};

use tollgate_config::Format;
use tollgate_replay::Scenario;

/// The folders and how many scenarios are in each, so that none is left out unseen.
const FOLDERS: [(&str, usize); 2] = [("conformance", 94), ("conformance/policies", 63)];

#[test]
fn every_scenario_passes() {
    for (folder, scenarios) in FOLDERS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(folder);
        let mut paths: Vec<PathBuf> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        paths.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
        paths.sort();
        assert_eq!(paths.len(), scenarios);
        let failures: Vec<String> = paths.iter().filter_map(|path| failure(path)).collect();
        assert!(failures.is_empty(), "{}", failures.join("\n"));
    }
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
