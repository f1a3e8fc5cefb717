//! Every command that reads a config refuses a bad one the same way.

use crate::files::ScratchFile;
use crate::process::{Finished, run};

/// A faulty config in YAML, and what is said of it: the place and a part of the message, for each fault.
const CASES: [(&str, &[(&str, &str)]); 10] = [
    (
        "default: { algorithm: TokenBuckt, algoConfig: { capacity: 1, refillRatePerSecond: 1 } }",
        &[("1:23", "unknown algorithm `TokenBuckt`; did you mean `TokenBucket`?")],
    ),
    (
        "default: { algorithm: TokenBucket, algoConfig: { capacity: 1 } }",
        &[("1:", "refillRatePerSecond")],
    ),
    (
        "default: { algorithm: TokenBucket, algoConfig: { capacity: 1, refillRatePerSecond: 0 } }",
        &[("1:", "a rate above 0")],
    ),
    (
        "default: { algorithm: TokenBucket, algoConfig: { capacity: 1, refillRatePerSecond: .nan } }",
        &[("1:", "a number above 0")],
    ),
    (
        "default: { algorithm: FixedWindow, algoConfig: { maxRequests: 1, windowMs: 0 } }",
        &[("1:", "`windowMs` is 0")],
    ),
    (
        "default: { algorithm: FixedWindow, algoConfig: { maxRequests: 1, windowMs: 1 } }
endpoints:
  - { endpoint: /a, algorithm: FixedWindow, algoConfig: { maxRequests: 1, windowMs: 1 } }
  - { endpoint: /a, algorithm: FixedWindow, algoConfig: { maxRequests: 1, windowMs: 1 } }",
        &[("4:", "\"/a\" is given twice")],
    ),
    ("endpoints: []", &[("1:1", "missing `default`")]),
    ("default: { algorithm: TokenBucket, algoConfig: {", &[("", "not valid YAML")]),
    ("", &[("", "default")]),
    (
        "default: { algorithm: TokenBucket, algoConfig: { capacity: 0, refillRatePerSecond: -1, burst: 2 } }
maxKey: 5
endpoints:
  - { endpoint: /a, algorithm: FixedWindow, algoConfig: { maxRequests: 1.5, windowMs: 1 } }",
        &[
            ("1:", "`capacity` is 0"),
            ("1:", "above 0"),
            ("1:", "unknown field `burst`"),
            ("2:1", "unknown field `maxKey`; did you mean `maxKeys`?"),
            ("4:", "maxRequests"),
        ],
    ),
];

/// Standard error is these faults, one a line, and nothing else.
fn assert_faults(finished: &Finished, file: &str, faults: &[(&str, &str)]) {
    assert_eq!(finished.status, Some(1), "{finished:?}");
    let lines: Vec<_> = finished.stderr.lines().collect();
    assert_eq!(lines.len(), faults.len(), "{finished:#?}");
    for (place, part) in faults {
        let start = format!("{file}:{place}");
        assert!(
            lines.iter().any(|line| line.starts_with(&start) && line.contains(part)),
            "no {start} with {part:?} in {lines:#?}"
        );
    }
}

#[test]
fn every_fault_is_told_on_a_line_of_its_own() {
    for (config, faults) in CASES {
        let file = ScratchFile::new("limits.yaml", config);
        for args in [
            vec!["check", file.name()],
            vec!["replay", "--config", file.name(), "access.log"],
            vec![
                "serve",
                "--config",
                file.name(),
                "--listen",
                "127.0.0.1:0",
                "--admin",
                "127.0.0.1:0",
            ],
            vec!["bench", "--config", file.name()],
        ] {
            let finished = run(&args);
            assert_faults(&finished, file.name(), faults);
            assert_eq!(finished.stdout, "", "{args:?}");
        }
    }
}

#[test]
fn a_file_that_cannot_be_read_or_is_of_no_known_kind_is_named() {
    let no_config = ScratchFile::new("limits.conf", "");
    let random = ScratchFile::new("limits.json", [0xff, 0x00, 0xfe, 0x80]);
    for (file, part) in [
        ("no-such-folder/limits.yaml", "No such file or directory"),
        (no_config.name(), "expected .yaml"),
        (random.name(), ""),
    ] {
        assert_faults(&run(["check", file]), file, &[("", part)]);
    }
}

/// The decision API and a log never say when a call ends, so its place would be held for ever or not at all.
#[test]
fn a_bound_on_calls_under_way_needs_a_lease_where_nobody_says_when_they_end() {
    let config = "default: { algorithm: Concurrency, algoConfig: { maxInFlight: 5 } }";
    let file = ScratchFile::new("limits.yaml", config);
    let fault = [("1:48", "missing `leaseMs`; it is not known here when a call ends")];
    let listeners = ["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"];
    let serve = ["serve", "--config", file.name()].into_iter().chain(listeners);
    assert_faults(&run(serve), file.name(), &fault);
    let replay = run(["replay", "--config", file.name(), "access.log"]);
    assert_faults(&replay, file.name(), &fault);
    let limit = "algorithm: Concurrency, algoConfig: { maxInFlight: 5 }";
    let among_others = format!(
        "sharedLimits: [{{ name: pool, {limit} }}]\n\
         default: {{ limits: [{{ name: at once, {limit} }}], use: [pool] }}\n"
    );
    let among_others = ScratchFile::new("among-others.yaml", among_others);
    let replay = run(["replay", "--config", among_others.name(), "access.log"]);
    let faults = [
        ("1:66", "limit \"pool\": missing `leaseMs`"),
        ("2:74", "limit \"at once\": missing `leaseMs`"),
    ];
    assert_faults(&replay, among_others.name(), &faults);
    assert_eq!(run(["check", among_others.name()]).status, Some(0));
    // A program that holds permits may use it.
    assert_eq!(run(["check", file.name()]).status, Some(0));
    file.write(
        "default: { algorithm: Concurrency, algoConfig: { maxInFlight: 5, leaseMs: 60000 } }",
    );
    let checked = run(["check", file.name()]);
    assert!(checked.stdout.contains("5 at once, each 1m at most"), "{checked:?}");
}
