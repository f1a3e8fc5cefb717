//! Limits changed while they are in use: what clients have used up stays used up, and a report says where not.
//!
//! `cargo run -p tollgate --example hot_reload`

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::time::Duration;

use tollgate::{Change, Config, Faults, FixedWindow, ManualClock, RateLimiter, TokenBucket};

fn main() -> Result<(), Faults> {
    let bucket = |capacity| TokenBucket::per_second(1).burst(capacity);
    let before = Config::builder()
        .default(bucket(10))
        .endpoint("/unchanged", bucket(10))
        .endpoint("/raised", bucket(10))
        .endpoint("/lowered", bucket(10))
        .endpoint("/replaced", bucket(10))
        .endpoint("/removed", bucket(10));
    let after = Config::builder()
        .default(bucket(10))
        .endpoint("/unchanged", bucket(10))
        .endpoint("/raised", bucket(20))
        .endpoint("/lowered", bucket(5))
        .endpoint("/replaced", FixedWindow::new(10, Duration::from_secs(60)))
        .endpoint("/new", bucket(10));

    // A clock that stands still, so that nothing comes back meanwhile.
    let limiter = RateLimiter::builder(before.build()?).clock(ManualClock::new()).build();
    let endpoints = ["/unchanged", "/raised", "/lowered", "/replaced", "/removed"];
    let remaining = || endpoints.map(|endpoint| limiter.peek("alice", endpoint).remaining());
    for _ in 0..7 {
        for endpoint in endpoints {
            assert!(limiter.allow("alice", endpoint).allowed());
        }
    }

    let remaining_before = remaining();
    let report = limiter.reload(after.build()?);

    println!("The report:");
    for (endpoint, change) in report.changes() {
        println!("  {:10} {}", endpoint.unwrap_or("(default)"), told(change));
    }
    println!("What remains for a client after 7 calls each, before and after the reload:");
    for ((endpoint, before), after) in endpoints.iter().zip(remaining_before).zip(remaining()) {
        println!("  {endpoint:10} {before:2} -> {after:2}");
    }
    Ok(())
}

fn told(change: Change) -> String {
    if let Change::Changed { forgiven } = change {
        format!("Changed; clients whose debt was above the new limit: {forgiven}")
    } else if change.loses_state() {
        format!("{change:?}; what was used up is forgotten")
    } else {
        format!("{change:?}")
    }
}
