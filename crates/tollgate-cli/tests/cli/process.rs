//! Runs the binary to its end.

use std::ffi::OsStr;
use std::io::Write;
use std::process::{Child, Command, Stdio};

/// What a run left behind.
#[derive(Debug)]
pub(crate) struct Finished {
    /// The exit status; `None` where a signal ended it.
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// The binary, away from the settings of whoever runs the tests.
pub(crate) fn tollgate() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tollgate"));
    command.env_remove("RUST_LOG").env_remove("NO_COLOR").env_remove("CLICOLOR_FORCE");
    command
}

pub(crate) fn run<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Finished {
    run_with_input(args, b"")
}

/// Runs with these bytes on standard input.
pub(crate) fn run_with_input<S: AsRef<OsStr>>(
    args: impl IntoIterator<Item = S>,
    input: &[u8],
) -> Finished {
    let mut child = tollgate()
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built for this test");
    let mut stdin = child.stdin.take().expect("it is piped");
    let input = input.to_vec();
    // Whoever reads nothing of it may close it early.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let finished = finish(child);
    writer.join().expect("writing does not panic");
    finished
}

/// Runs with a standard output that nobody reads any longer.
pub(crate) fn run_unread<S: AsRef<OsStr>>(args: impl IntoIterator<Item = S>) -> Finished {
    let mut child = tollgate()
        .args(args)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary was built for this test");
    drop(child.stdout.take());
    finish(child)
}

fn finish(child: Child) -> Finished {
    let output = child.wait_with_output().expect("it was started");
    Finished {
        status: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("it writes UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("it writes UTF-8"),
    }
}
