//! Eight threads at one client's quota: they get exactly the quota between them, however they race.
//!
//! `cargo run -p tollgate --example many_threads`

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use tollgate::{Config, Faults, FixedWindow, RateLimiter};

const QUOTA: u32 = 1_000_000;
const THREADS: usize = 8;

fn main() -> Result<(), Faults> {
    // A window so long that it does not end while this runs.
    let quota = FixedWindow::new(QUOTA, Duration::from_secs(3_600));
    let config = Config::builder().default(quota).build()?;
    let limiter = RateLimiter::new(config);

    // Each thread asks as often as the whole quota: 8,000,000 calls, of which 1,000,000 may pass.
    let start = Barrier::new(THREADS);
    let ask = || {
        start.wait();
        (0..QUOTA).filter(|_| limiter.allow("alice", "/").allowed()).count()
    };
    let admitted = thread::scope(|scope| {
        let threads = [(); THREADS].map(|()| scope.spawn(ask));
        threads.map(|thread| thread.join().expect("a decision does not panic"))
    });

    println!("allowed in each thread: {admitted:?}");
    println!("allowed in all: {} of a quota of {QUOTA}", admitted.iter().sum::<usize>());
    Ok(())
}
