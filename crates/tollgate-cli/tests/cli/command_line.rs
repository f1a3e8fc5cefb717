//! What all commands have in common.

use crate::files::{ScratchFile, bucket};
use crate::process::{run, run_unread, tollgate};

const COMMANDS: [&str; 5] = ["check", "test", "replay", "serve", "bench"];

const ESCAPE: char = '\u{1b}';

#[test]
fn every_command_has_help_with_an_example_and_a_version() {
    for command in COMMANDS {
        let help = run([command, "--help"]);
        assert_eq!((help.status, help.stderr.as_str()), (Some(0), ""), "{command}");
        assert!(help.stdout.contains("Example"), "{}", help.stdout);
        assert!(help.stdout.contains(&format!("  tollgate {command} ")), "{}", help.stdout);
        let version = run([command, "--version"]);
        assert_eq!(version.status, Some(0));
        assert!(
            version.stdout.ends_with(concat!(" ", env!("CARGO_PKG_VERSION"), "\n")),
            "{version:?}"
        );
    }
    assert!(run(["--help"]).stdout.contains("Example"));
    assert_eq!(run(["--version"]).stdout, concat!("tollgate ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn a_usage_error_exits_2_and_says_so_on_standard_error() {
    for (args, message) in [
        (&[][..], "Usage: tollgate"),
        (&["chekc"], "unrecognized subcommand 'chekc'"),
        (&["check"], "<FILE>..."),
        (&["test"], "<SCENARIO>..."),
        (&["serve"], "--config <FILE>"),
        (&["bench"], "--config <FILE>"),
        (&["replay", "access.log"], "--config <FILE>"),
        (&["replay", "--config", "x"], "<LOG>..."),
        (
            &["replay", "--config", "x", "--reorder", "soon", "y"],
            "invalid value 'soon' for '--reorder <TIME>'",
        ),
        (
            &["replay", "--config", "x", "--client", "me", "y"],
            "expected address, user, user-agent or field:NAME",
        ),
        (
            &["replay", "--config", "x", "--endpoint", "host", "y"],
            "expected method-path, path or *",
        ),
        (&["serve", "--config", "x", "--log-format", "xml"], "[possible values: text, json]"),
        (&["check", "--color", "blue", "x"], "[possible values: auto, always, never]"),
    ] {
        let finished = run(args);
        assert_eq!((finished.status, finished.stdout.as_str()), (Some(2), ""), "{args:?}");
        assert!(finished.stderr.contains(message), "no {message:?} in {}", finished.stderr);
    }
}

#[test]
fn colours_are_there_when_asked_for_and_not_in_a_pipe() {
    for (args, colored) in [
        (&["--help"][..], false),
        (&["--help", "--color", "always"], true),
        (&["--color=always", "check", "--help"], true),
        (&["--color=never", "--help"], false),
        (&["check", "--color=always"], true),
        (&["replay", "--color", "always", "--config", "no-such.yaml"], true),
    ] {
        let finished = run(args);
        let printed = finished.stdout + &finished.stderr;
        assert_eq!(printed.contains(ESCAPE), colored, "{args:?}: {printed}");
    }
}

#[test]
fn no_color_is_honoured_unless_the_command_line_says_otherwise() {
    // CLICOLOR_FORCE stands in for a terminal.
    for (variables, color, colored) in [
        (&["CLICOLOR_FORCE"][..], "auto", true),
        (&["CLICOLOR_FORCE", "NO_COLOR"], "auto", false),
        (&["CLICOLOR_FORCE", "NO_COLOR"], "always", true),
        (&["CLICOLOR_FORCE"], "never", false),
    ] {
        let variables = variables.iter().map(|variable| (variable, "1"));
        let output = tollgate().args(["check", "--color", color]).envs(variables).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains("<FILE>..."), "{stderr}");
        assert_eq!(stderr.contains(ESCAPE), colored, "{color}: {stderr}");
    }
}

#[test]
fn a_closed_standard_output_is_no_error() {
    let config = ScratchFile::new("limits.yaml", bucket(1));
    let finished = run_unread(["check", config.name()]);
    assert_eq!((finished.status, finished.stderr.as_str()), (Some(0), ""));
}

#[test]
fn bench_measures_each_limiter_with_few_and_with_many_clients() {
    let config = ScratchFile::new("limits.yaml", bucket(1) + "maxKeys: 4000\n");
    let finished = run(["bench", "--config", config.name()]);
    assert_eq!((finished.status, finished.stderr.as_str()), (Some(0), ""));
    let rows: Vec<Vec<_>> =
        finished.stdout.lines().skip(1).map(|line| line.split_whitespace().collect()).collect();
    let starts: Vec<_> = rows.iter().map(|row| row[..3].to_vec()).collect();
    assert_eq!(starts, [["default", "TokenBucket", "1,000"], ["default", "TokenBucket", "2,000"]]);
    for row in rows {
        let per_second: u64 = row[6].replace(',', "").parse().unwrap();
        assert!(per_second > 0, "{row:?}");
    }
}
