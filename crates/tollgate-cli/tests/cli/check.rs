//! `tollgate check`.

use crate::files::{ScratchFile, bucket, in_repository};
use crate::process::run;

/// The table's cells, in columns that are two spaces apart or more.
fn rows(stdout: &str) -> Vec<Vec<&str>> {
    let cells = stdout.lines().map(|line| line.split("  ").map(str::trim));
    cells.map(|cells| cells.filter(|text| !text.is_empty()).collect()).collect()
}

#[test]
fn each_endpoint_is_told_with_its_burst_rate_worst_case_and_memory() {
    let file = ScratchFile::new(
        "limits.yaml",
        "default: { algorithm: TokenBucket, algoConfig: { capacity: 10, refillRatePerSecond: 0.5 } }
endpoints:
  - { endpoint: /log, algorithm: SlidingWindowLog, algoConfig: { maxRequests: 100, windowMs: 60000 }, maxKeys: 1000 }
  - { endpoint: GET /fixed, algorithm: FixedWindow, algoConfig: { maxRequests: 5000, window: 90s } }
  - { endpoint: /counter, algorithm: SlidingWindowCounter, algoConfig: { maxRequests: 1, window: 1d } }
",
    );
    let finished = run(["check", file.name()]);
    assert_eq!((finished.status, finished.stderr.as_str()), (Some(0), ""));
    let expected = [
        vec![
            "default",
            "TokenBucket",
            "10",
            "30/min",
            "10 + 30/min × T in any time T",
            "20",
            "1,000,000",
            "33 MB",
        ],
        vec![
            "/log",
            "SlidingWindowLog",
            "100",
            "100 per 1m",
            "100 in any 1m",
            "48 + up to 800",
            "1,000",
            "2 MB",
        ],
        vec![
            "GET /fixed",
            "FixedWindow",
            "5,000",
            "5000 per 1m 30s",
            "9999 in any 1m 30s",
            "20",
            "1,000,000",
            "33 MB",
        ],
        vec![
            "/counter",
            "SlidingWindowCounter",
            "1",
            "1 per 1day",
            "1 in any 1day",
            "24",
            "1,000,000",
            "35 MB",
        ],
    ];
    assert_eq!(rows(&finished.stdout)[2..], expected, "{}", finished.stdout);
}

#[test]
fn one_bad_file_of_several_fails_and_the_good_ones_are_told_all_the_same() {
    let (good, bad) =
        (ScratchFile::new("good.yaml", bucket(1)), ScratchFile::new("bad.yaml", bucket(0)));
    let finished = run(["check", bad.name(), good.name()]);
    assert_eq!(finished.status, Some(1));
    assert!(finished.stderr.starts_with(bad.name()), "{}", finished.stderr);
    assert!(
        finished.stdout.starts_with(&format!("{}: no faults\n", good.name())),
        "{}",
        finished.stdout
    );
}

#[test]
fn the_examples_have_no_faults() {
    let finished = run(["check".into(), in_repository("examples/limits.yaml")]);
    assert_eq!((finished.status, finished.stderr.as_str()), (Some(0), ""));
}

#[test]
fn what_a_gateway_would_serve_is_told_where_the_file_says_it() {
    let plain = ScratchFile::new("limits.yaml", bucket(3));
    assert!(!run(["check", plain.name()]).stdout.contains("127.0.0.1"));
    let gateway = "gateway:\n  listen: 127.0.0.1:80\n  nginxAuth: true\n  \
        admin: { listen: '0.0.0.0:81', tokenFile: token }\n  \
        proxy: { listen: '0.0.0.0:82', upstream: 'http://web' }\n";
    let file = ScratchFile::new("limits.yaml", bucket(3) + gateway);
    let finished = run(["check", file.name()]);
    let expected = "\n127.0.0.1:80: decision API, nginx auth\n0.0.0.0:81: operators, by token\n\
        0.0.0.0:82: proxy to http://web\n";
    assert!(finished.stdout.ends_with(expected), "{}", finished.stdout);
}
