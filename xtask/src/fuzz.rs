//! The fuzzer's targets, compiled as far as it takes neither the fuzzer nor C++.

use std::path::Path;

use crate::cargo::{ROOT, cargo, run_cargo, run_command};

/// Where they are compiled: with other flags than everything else.
const TARGET: &str = "target/fuzz";

/// Compiles the targets without linking them.
///
/// # Errors
/// When one is not formatted, does not compile, or is warned of.
pub(crate) fn check_fuzz() -> Result<(), String> {
    run_cargo("fmt --manifest-path fuzz/Cargo.toml --check")?;
    let words = "clippy --manifest-path fuzz/Cargo.toml --locked -- -D warnings";
    let mut command = cargo(words);
    command.env("RUSTFLAGS", "--cfg fuzzing");
    command.env("CARGO_TARGET_DIR", Path::new(ROOT).join(TARGET));
    // What is linked is never looked for; without this, libFuzzer's own sources would be compiled.
    command.env("CUSTOM_LIBFUZZER_PATH", Path::new(ROOT).join(TARGET).join("libfuzzer.a"));
    run_command(&mut command, &format!("{words}, with RUSTFLAGS=\"--cfg fuzzing\""))
}
