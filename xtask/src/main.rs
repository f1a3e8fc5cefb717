//! The project's own commands. `cargo xtask ci` is its one test command; each of its steps is a command too.

#![forbid(unsafe_code)]

mod cargo;
mod conformance;
mod examples;
mod fuzz;
mod models;
mod peers;
mod run;
mod steps;

use std::env;
use std::process::ExitCode;
use std::slice;

use run::run;
use steps::STEPS;

/// The exit code of a command line that makes no sense, as clap has it.
const USAGE_ERROR: u8 = 2;

fn main() -> ExitCode {
    let words: Vec<_> = env::args_os().skip(1).collect();
    let [command] = words.as_slice() else {
        return usage();
    };
    if command == "ci" {
        return run(&STEPS);
    }
    match STEPS.iter().find(|step| command == step.name) {
        Some(step) => run(slice::from_ref(step)),
        None => usage(),
    }
}

#[expect(clippy::print_stderr, reason = "a command says how it is used")]
fn usage() -> ExitCode {
    eprintln!("Usage: cargo xtask COMMAND\n\nCommands:");
    eprintln!("  {:<12} every step below, in this order, up to the first that fails", "ci");
    for step in &STEPS {
        eprintln!("  {:<12} {}", step.name, step.about);
    }
    ExitCode::from(USAGE_ERROR)
}
