//! What `cargo xtask ci` does, in its order: the quick checks first.

use crate::cargo::{find_components, run_cargo, run_rustdoc};
use crate::conformance::run_conformance;
use crate::examples::run_examples;
use crate::fuzz::check_fuzz;
use crate::models::run_models;
use crate::peers::find_peers;

/// One thing that is checked.
#[derive(Debug)]
pub(crate) struct Step {
    /// The command that runs it alone.
    pub(crate) name: &'static str,
    /// What holds when it passes.
    pub(crate) about: &'static str,
    /// Runs it; a failure says what to look at.
    pub(crate) check: fn() -> Result<(), String>,
}

/// All steps.
pub(crate) const STEPS: [Step; 12] = [
    Step { name: "tools", about: "clippy and rustfmt are installed", check: find_components },
    Step {
        name: "peers",
        about: "the servers that tests run against are there (target/peers)",
        check: find_peers,
    },
    Step { name: "fmt", about: "all files are formatted", check: fmt },
    Step { name: "tidy", about: "the house rules hold (xtask/tests/tidy)", check: tidy },
    Step { name: "clippy", about: "no lint warns", check: clippy },
    Step { name: "test", about: "all tests and doc tests pass", check: test },
    Step {
        name: "models",
        about: "no order of threads' steps breaks the line store",
        check: run_models,
    },
    Step { name: "examples", about: "the library's examples run", check: run_examples },
    Step { name: "conformance", about: "all scenarios pass", check: run_conformance },
    Step { name: "docs", about: "the documentation builds without warnings", check: run_rustdoc },
    Step { name: "bench", about: "the benchmarks are formatted, and no lint warns", check: bench },
    Step {
        name: "fuzz",
        about: "the fuzzer's targets compile, and no lint warns",
        check: check_fuzz,
    },
];

fn fmt() -> Result<(), String> {
    run_cargo("fmt --all --check")
}

fn tidy() -> Result<(), String> {
    run_cargo("test --quiet --locked --package xtask --test tidy")
}

fn clippy() -> Result<(), String> {
    run_cargo("clippy --workspace --all-targets --locked -- -D warnings")
}

fn test() -> Result<(), String> {
    run_cargo("test --workspace --locked")
}

/// The benchmarks are a workspace of their own, which the steps before do not see. Clippy compiles them as
/// `cargo check` does.
fn bench() -> Result<(), String> {
    run_cargo("fmt --manifest-path bench/Cargo.toml --check")?;
    run_cargo("clippy --manifest-path bench/Cargo.toml --all-targets --locked -- -D warnings")
}
