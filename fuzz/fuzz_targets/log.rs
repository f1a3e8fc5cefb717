//! Any bytes as a log of an access log's lines, event lines, or compressed: every line is decided, or counted as
//! unreadable.

#![no_main]

use libfuzzer_sys::fuzz_target;
use tollgate::{Config, LimiterConfig, TokenBucket};
use tollgate_replay::{Input, Replay};

fuzz_target!(|bytes: &[u8]| {
    // A table of the usual size is made for each run, and would take most of its time.
    let bucket = LimiterConfig::new(TokenBucket::per_second(1).burst(2)).max_keys(100);
    let config = Config::builder().default(bucket).build().expect("the config is valid");
    let Ok(input) = Input::from_reader("fuzzed", std::io::Cursor::new(bytes.to_vec())) else {
        return;
    };
    // Logs that cannot be read on are refused: broken compression, times that count from different origins.
    let Ok(report) = Replay::new(config).run(vec![input]) else { return };
    assert_eq!(report.requests + report.intake.unreadable.count, report.intake.lines);
    assert!(report.denied <= report.requests && report.clients <= report.requests);
    if !bytes.starts_with(&[0x1F, 0x8B]) {
        let newlines = bytes.iter().filter(|byte| **byte == b'\n').count();
        let newlines = u64::try_from(newlines).expect("it fits");
        assert!(report.intake.lines <= newlines + 1, "{} lines", report.intake.lines);
    }
});
