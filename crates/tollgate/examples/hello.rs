//! The smallest program: two limits, one client, and what it is told when it comes too often.
//!
//! `cargo run -p tollgate --example hello`

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::time::Duration;

use tollgate::{Config, Faults, RateLimiter, SlidingWindowLog, TokenBucket};

fn main() -> Result<(), Faults> {
    let config = Config::builder()
        .default(TokenBucket::per_second(1).burst(10))
        .endpoint("/search", SlidingWindowLog::new(2, Duration::from_secs(60)))
        .build()?;
    let limiter = RateLimiter::new(config);

    for endpoint in ["/search", "/search", "/search", "/anything/else"] {
        let result = limiter.allow("alice", endpoint);
        match result.retry_after_ms() {
            None => println!("{endpoint}: allowed, {} more", result.remaining()),
            Some(wait_ms) => println!("{endpoint}: denied, come back in {wait_ms} ms"),
        }
    }
    Ok(())
}
