//! What `cargo xtask` answers.

#![forbid(unsafe_code)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::process::{Command, Output};

fn xtask(words: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_xtask")).args(words).output().unwrap()
}

#[test]
fn a_command_line_that_makes_no_sense_is_answered_with_the_usage() {
    for words in [[].as_slice(), &["nonsense"], &["fmt", "clippy"], &["CI"]] {
        let output = xtask(words);
        assert_eq!(output.status.code(), Some(2), "{words:?}");
        assert!(output.stderr.starts_with(b"Usage: cargo xtask COMMAND"), "{words:?}");
        assert_eq!(output.stdout, b"", "{words:?}");
    }
}

#[test]
fn a_step_runs_alone_and_says_how_it_went() {
    let output = xtask(&["tools"]);
    assert_eq!(output.status.code(), Some(0));
    let printed = String::from_utf8(output.stdout).unwrap();
    assert!(printed.starts_with("==> tools: clippy and rustfmt are installed\n"), "{printed}");
    assert!(printed.contains("\npassed  tools "), "{printed}");
}
