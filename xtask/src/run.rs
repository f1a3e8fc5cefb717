//! Runs steps and says how they went.

#![expect(clippy::print_stdout, reason = "this is what the command is for")]

use std::process::ExitCode;
use std::time::{Duration, Instant};

use crate::steps::Step;

/// Runs steps one after another, up to the first that fails, and prints a summary.
pub(crate) fn run(steps: &[Step]) -> ExitCode {
    let mut passed = Vec::new();
    for step in steps {
        println!("==> {}: {}", step.name, step.about);
        let started = now();
        let outcome = (step.check)();
        let taken = started.elapsed();
        if let Err(failure) = outcome {
            println!("\n{failure}\n");
            summarise(&passed);
            println!("FAILED  {:<12} {taken:>8.1?}", step.name);
            println!("step `{0}` failed; to repeat it alone: cargo xtask {0}", step.name);
            return ExitCode::FAILURE;
        }
        println!("    {} passed in {taken:.1?}", step.name);
        passed.push((step.name, taken));
    }
    println!();
    summarise(&passed);
    ExitCode::SUCCESS
}

fn summarise(passed: &[(&str, Duration)]) {
    for (name, taken) in passed {
        println!("passed  {name:<12} {taken:>8.1?}");
    }
}

#[expect(clippy::disallowed_methods, reason = "the time a step took is the machine's")]
fn now() -> Instant {
    Instant::now()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSES: Step = Step { name: "passes", about: "", check: || Ok(()) };
    const FAILS: Step = Step { name: "fails", about: "", check: || Err("broken".to_owned()) };
    const UNREACHED: Step = Step { name: "unreached", about: "", check: || panic!("it was run") };

    #[test]
    fn the_first_failure_ends_the_run() {
        assert_eq!(run(&[PASSES, FAILS, UNREACHED]), ExitCode::FAILURE);
    }

    #[test]
    fn the_run_succeeds_when_every_step_passes() {
        assert_eq!(run(&[PASSES, PASSES]), ExitCode::SUCCESS);
    }
}
