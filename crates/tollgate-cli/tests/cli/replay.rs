//! `tollgate replay`.

use crate::files::{ScratchFile, in_repository};
use crate::process::{run, run_unread, run_with_input};

const TEN_AT_ONE_A_SECOND: &str =
    "default: { algorithm: TokenBucket, algoConfig: { capacity: 10, refillRatePerSecond: 1 } }";

const EVENTS: &str = r#"{"atMs": 0, "client": "alice", "endpoint": "GET /x", "cost": 10}
{"atMs": 500, "client": "alice", "endpoint": "GET /x"}
{"atMs": 1000, "client": "alice", "endpoint": "GET /x"}
"#;

fn config() -> ScratchFile {
    ScratchFile::new("limits.yaml", TEN_AT_ONE_A_SECOND)
}

#[test]
fn a_real_access_log_is_summed_up() {
    let config = config();
    let log = in_repository("examples/access.log.gz");
    let finished = run(["replay", "--config", config.name(), log.to_str().unwrap()]);
    assert_eq!(
        (finished.status, finished.stderr.as_str()),
        (Some(0), ""),
        "no bar without a terminal"
    );
    let lines: Vec<_> = finished.stdout.lines().collect();
    assert!(lines[0].ends_with("10,000 of 1,753 clients"), "{}", finished.stdout);
    assert!(lines[1].ends_with("65 (0.65 %) of 2 clients (0.11 %)"), "{}", finished.stdout);
}

#[test]
fn clients_and_endpoints_are_named_by_what_is_asked_for() {
    let config = config();
    let log = in_repository("examples/access.log.gz");
    let log = log.to_str().unwrap();
    let one_endpoint = run(["replay", "--config", config.name(), "--endpoint", "*", log]);
    assert!(one_endpoint.stdout.contains("\n  *  "), "{}", one_endpoint.stdout);
    let agents = run(["replay", "--config", config.name(), "--client", "user-agent", log]);
    assert!(!agents.stdout.contains("of 1,753 clients"), "{}", agents.stdout);
    let unsorted = run(["replay", "--config", config.name(), "--reorder", "0s", log]);
    assert!(!unsorted.stdout.contains(" 0 late"), "{}", unsorted.stdout);
}

#[test]
fn decisions_go_to_standard_output_and_then_the_summary_to_standard_error() {
    let config = config();
    let args = ["replay", "--config", config.name(), "--decisions", "-", "-"];
    let finished = run_with_input(args, EVENTS.as_bytes());
    assert_eq!(finished.status, Some(0));
    let expected = r#"{"atMs":0,"client":"alice","endpoint":"GET /x","cost":10,"allowed":true,"remaining":0,"retryAfterMs":null,"limit":10,"resetAfterMs":10000}
{"atMs":500,"client":"alice","endpoint":"GET /x","cost":1,"allowed":false,"remaining":0,"retryAfterMs":500,"limit":10,"resetAfterMs":9500}
{"atMs":1000,"client":"alice","endpoint":"GET /x","cost":1,"allowed":true,"remaining":0,"retryAfterMs":null,"limit":10,"resetAfterMs":10000}
"#;
    assert_eq!(finished.stdout, expected);
    assert!(finished.stderr.starts_with("Requests"), "{}", finished.stderr);
}

#[test]
fn decisions_go_to_a_file() {
    let (config, events) = (config(), ScratchFile::new("events.jsonl", EVENTS));
    let decisions = ScratchFile::new("decisions.jsonl", "");
    let finished =
        run(["replay", "--config", config.name(), "--decisions", decisions.name(), events.name()]);
    assert!(finished.stdout.starts_with("Requests"), "{}", finished.stdout);
    assert_eq!(std::fs::read_to_string(decisions.path()).unwrap().lines().count(), 3);
}

#[test]
fn whoever_reads_only_the_first_decisions_gets_no_error() {
    let config = config();
    let log = in_repository("examples/access.log.gz");
    let log = log.to_str().unwrap();
    let finished = run_unread(["replay", "--config", config.name(), "--decisions", "-", log]);
    assert_eq!((finished.status, finished.stderr.as_str()), (Some(0), ""));
}

#[test]
fn what_cannot_be_read_is_named() {
    let config = config();
    let random: Vec<u8> =
        (0..1_000_u32).map(|index| index.wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect();
    let random = ScratchFile::new("random.log", random);
    let cut_off = std::fs::read(in_repository("examples/access.log.gz")).unwrap();
    let cut_off = ScratchFile::new("cut-off.gz", &cut_off[..cut_off.len() / 2]);
    for (log, message) in [
        ("no-such.log", "error: cannot open `no-such.log`: No such file or directory"),
        (random.name(), "lines can be read; the first, "),
        (cut_off.name(), "cut-off.gz` is cut off or corrupt"),
        ("/", "error: cannot read `/`: Is a directory"),
    ] {
        let finished = run(["replay", "--config", config.name(), log]);
        assert_eq!((finished.status, finished.stdout.as_str()), (Some(1), ""), "{log}");
        assert!(finished.stderr.contains(message), "no {message:?} in {}", finished.stderr);
    }
    let unwritable =
        run(["replay", "--config", config.name(), "--decisions", "/no/such/folder", "-"]);
    assert_eq!(unwritable.status, Some(1));
    assert!(
        unwritable.stderr.contains("cannot write `/no/such/folder`: No such"),
        "{}",
        unwritable.stderr
    );
}
