//! `tollgate test`.

use std::path::PathBuf;

use crate::files::{ScratchFile, in_repository};
use crate::process::run;

const WRONG: &str = "
name: a token too many
why: to see a failure
config: { default: { algorithm: TokenBucket, algoConfig: { capacity: 1, refillRatePerSecond: 1 } } }
steps:
  - { atMs: 0, client: alice, endpoint: /x, expect: { allowed: true } }
  - { atMs: 1, client: alice, endpoint: /x, expect: { allowed: true, remaining: 0, retryAfterMs: 5 } }
";

fn last_line(stdout: &str) -> &str {
    stdout.lines().last().unwrap_or_default()
}

#[test]
fn every_conformance_file_passes() {
    for (folder, scenarios) in [("conformance", 94), ("conformance/policies", 63)] {
        let folder = std::fs::read_dir(in_repository(folder)).unwrap();
        let files = folder.map(|entry| entry.unwrap().path());
        let files: Vec<_> =
            files.filter(|path| path.extension().is_some_and(|it| it == "json")).collect();
        assert_eq!(files.len(), scenarios);
        let finished = run([PathBuf::from("test")].into_iter().chain(files));
        let passed = format!("{scenarios} passed, 0 failed\n");
        assert_eq!(finished.stdout, passed, "{}", finished.stderr);
        assert_eq!((finished.status, finished.stderr.as_str()), (Some(0), ""));
    }
}

#[test]
fn a_failure_names_the_scenario_the_step_what_was_expected_and_what_came() {
    let wrong = ScratchFile::new("wrong.yaml", WRONG);
    let right = in_repository("conformance/fractional-rate.json");
    let finished = run(["test", wrong.name(), right.to_str().unwrap()]);
    assert_eq!((finished.status, last_line(&finished.stdout)), (Some(1), "1 passed, 1 failed"));
    for part in
        ["a token too many", "step 2", "allowed", "true", "false", "retryAfterMs", "5", "999"]
    {
        assert!(finished.stdout.contains(part), "no {part:?} in {}", finished.stdout);
    }
    assert!(!finished.stdout.contains("step 1"), "{}", finished.stdout);
}

#[test]
fn a_scenario_that_cannot_be_read_has_failed() {
    let cut_off = ScratchFile::new("cut-off.json", r#"{"name": "x", "config": {"#);
    let bad_config = ScratchFile::new("bad.yaml", WRONG.replace("capacity: 1", "capacity: 0"));
    let finished = run(["test", cut_off.name(), bad_config.name(), "no-such.yaml"]);
    assert_eq!((finished.status, finished.stdout.as_str()), (Some(1), "0 passed, 3 failed\n"));
    for (file, part) in [
        (cut_off.name(), "1:"),
        (bad_config.name(), "`capacity` is 0"),
        ("no-such.yaml", "No such file"),
    ] {
        let told =
            finished.stderr.lines().any(|line| line.starts_with(file) && line.contains(part));
        assert!(told, "no {file} with {part:?} in {}", finished.stderr);
    }
}
