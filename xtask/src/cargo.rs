//! Cargo, called in the project's root.

use std::env;
use std::ffi::OsString;
use std::process::Command;

/// The project's root.
pub(crate) const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// The line that installs what a bare toolchain lacks.
const INSTALL: &str = "rustup component add clippy rustfmt";

/// A cargo command from its words, which hold no spaces of their own.
pub(crate) fn cargo(words: &str) -> Command {
    // Cargo tells the programs it runs where it is, so that they call the same one.
    let program = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    command.current_dir(ROOT).args(words.split_whitespace());
    command
}

/// Runs cargo with these words; what it prints is shown.
///
/// # Errors
/// When it does not succeed; says the command to repeat.
pub(crate) fn run_cargo(words: &str) -> Result<(), String> {
    run_command(&mut cargo(words), words)
}

/// Builds the documentation of the workspace; a link that leads nowhere is an error.
///
/// # Errors
/// When it does not succeed; says the command to repeat.
pub(crate) fn run_rustdoc() -> Result<(), String> {
    let words = "doc --workspace --no-deps --locked";
    run_command(cargo(words).env("RUSTDOCFLAGS", "-D warnings"), words)
        .map_err(|failure| format!("{failure}, with RUSTDOCFLAGS=\"-D warnings\""))
}

/// Looks for the parts of the toolchain that are installed apart.
///
/// # Errors
/// When one is missing; says the line that installs it.
pub(crate) fn find_components() -> Result<(), String> {
    for component in ["clippy", "fmt"] {
        run_cargo(&format!("{component} --version"))
            .map_err(|failure| format!("{failure}; to install it, run: {INSTALL}"))?;
    }
    Ok(())
}

/// Runs a cargo command; what it prints is shown.
///
/// # Errors
/// When it does not succeed; says the command to repeat.
pub(crate) fn run_command(command: &mut Command, words: &str) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`cargo {words}` ended with {status}")),
        Err(error) => Err(format!("`cargo {words}` could not be started: {error}")),
    }
}
