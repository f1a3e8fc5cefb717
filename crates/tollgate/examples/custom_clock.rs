//! Two clocks other than the machine's: one that a test moves by hand, and one of your own.
//!
//! `cargo run -p tollgate --example custom_clock`

#![expect(clippy::print_stdout, reason = "an example shows what it does")]

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tollgate::{Clock, Config, Faults, ManualClock, RateLimiter, Time, TokenBucket};

/// The time in a game: it goes on by a 60th of a second with each frame, and stands still while the game is paused.
#[derive(Clone, Debug, Default)]
struct FrameClock(Arc<AtomicU64>);

impl FrameClock {
    fn draw(&self, frames: u64) {
        self.0.fetch_add(frames, Ordering::Relaxed);
    }
}

impl Clock for FrameClock {
    fn now(&self) -> Time {
        Time::from_nanos(self.0.load(Ordering::Relaxed).saturating_mul(1_000_000_000) / 60)
    }
}

fn two_a_second() -> Result<Config, Faults> {
    Config::builder().default(TokenBucket::per_second(2).burst(1)).build()
}

fn show(when: &str, limiter: &RateLimiter) {
    let result = limiter.allow("alice", "fireball");
    match result.retry_after_ms() {
        None => println!("{when}: allowed"),
        Some(wait_ms) => println!("{when}: denied, come back in {wait_ms} ms"),
    }
}

fn main() -> Result<(), Faults> {
    let clock = ManualClock::new();
    let limiter = RateLimiter::builder(two_a_second()?).clock(clock.clone()).build();
    show("by hand, at   0 ms", &limiter);
    clock.advance(Duration::from_millis(499));
    show("by hand, at 499 ms", &limiter);
    clock.advance(Duration::from_millis(1));
    show("by hand, at 500 ms", &limiter);

    let clock = FrameClock::default();
    let limiter = RateLimiter::builder(two_a_second()?).clock(clock.clone()).build();
    show("in frames, at  0", &limiter);
    clock.draw(29);
    show("in frames, at 29", &limiter);
    clock.draw(1);
    show("in frames, at 30", &limiter);
    Ok(())
}
