//! A real access log through known limits: the figures were computed by exact models of the algorithms.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::time::Duration;

use tollgate::{Config, LimiterConfig, SlidingWindowLog, TokenBucket};
use tollgate_replay::{Input, Replay, Report};

const LOG: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/access.log.gz");

fn replay(limiter: impl Into<LimiterConfig>) -> Report {
    let config = Config::builder().default(limiter).build().unwrap();
    Replay::new(config).run(vec![Input::open(LOG).unwrap()]).unwrap()
}

#[test]
fn a_bucket_of_ten_at_one_a_second_denies_65_requests_of_2_clients() {
    let report = replay(TokenBucket::per_second(1).burst(10));

    assert_eq!((report.denied, report.clients_denied), (65, 2));
}

#[test]
fn a_log_of_twenty_a_minute_denies_931_requests_of_50_clients() {
    let report = replay(SlidingWindowLog::new(20, Duration::from_secs(60)));

    assert_eq!((report.denied, report.clients_denied), (931, 50));
}
