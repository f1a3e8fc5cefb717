//! The conformance scenarios, run by the command line as its users run them.

use std::process::Stdio;

use crate::cargo::cargo;
use crate::examples::files_in;

const COMMAND: &str = "run --quiet --locked --package tollgate-cli -- test";

/// Runs `tollgate test conformance/*.json conformance/policies/*.json`.
///
/// # Errors
/// When a scenario fails, or not as many passed as there are files.
pub(crate) fn run_conformance() -> Result<(), String> {
    let mut scenarios = files_in("conformance", "json")?;
    scenarios.extend(files_in("conformance/policies", "json")?);
    let output = cargo(COMMAND)
        .args(&scenarios)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("`cargo {COMMAND}` could not be started: {error}"))?;
    let printed = String::from_utf8_lossy(&output.stdout);
    judge(&printed, scenarios.len())?;
    if output.status.success() {
        Ok(())
    } else {
        Err(format!("`cargo {COMMAND} conformance/*.json` ended with {}", output.status))
    }
}

/// Holds what was printed to its last line: all passed, and none was left out.
fn judge(printed: &str, scenarios: usize) -> Result<(), String> {
    let wanted = format!("{scenarios} passed, 0 failed");
    if printed.lines().next_back() == Some(wanted.as_str()) {
        Ok(())
    } else {
        Err(format!("{printed}\nthe last line should be `{wanted}`"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_many_scenarios_pass_as_there_are_files() {
        assert_eq!(judge("94 passed, 0 failed\n", 94), Ok(()));
        assert_eq!(judge("a note\n94 passed, 0 failed\n", 94), Ok(()));
    }

    #[test]
    fn a_failed_a_missing_and_an_extra_scenario_are_failures() {
        for printed in ["", "93 passed, 1 failed", "93 passed, 0 failed", "95 passed, 0 failed"] {
            let failure = judge(printed, 94).unwrap_err();
            assert!(
                failure.ends_with("the last line should be `94 passed, 0 failed`"),
                "{failure}"
            );
        }
    }

    #[test]
    fn only_the_last_line_counts() {
        assert!(judge("94 passed, 0 failed\nbroken\n", 94).is_err());
    }
}
