//! Real threads on one limiter: a guest never slips past twice because two doormen read the clicker at once.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use tollgate::{
    AnyAlgorithm, Config, FixedWindow, LimiterConfig, ManualClock, RateLimiter,
    SlidingWindowCounter, SlidingWindowLog, TokenBucket,
};

const THREADS: usize = 8;
const CAPACITY: u32 = 500;

fn algorithms() -> [AnyAlgorithm; 4] {
    let window = Duration::from_secs(60);
    [
        AnyAlgorithm::new(TokenBucket::per_second(CAPACITY).build().unwrap()),
        AnyAlgorithm::new(SlidingWindowLog::new(CAPACITY, window).unwrap()),
        AnyAlgorithm::new(FixedWindow::new(CAPACITY, window).unwrap()),
        AnyAlgorithm::new(SlidingWindowCounter::new(CAPACITY, window).unwrap()),
    ]
}

fn config(algorithm: &AnyAlgorithm, max_keys: u64) -> Config {
    let limiter = LimiterConfig::of_named(algorithm.clone()).max_keys(max_keys);
    Config::builder().default(limiter).build().unwrap()
}

fn frozen(algorithm: &AnyAlgorithm) -> RateLimiter {
    RateLimiter::builder(config(algorithm, 1_000_000)).clock(ManualClock::new()).build()
}

/// Runs `work` on all threads, which start together.
fn on_all_threads(work: impl Fn(usize) + Sync) {
    let start = Barrier::new(THREADS);
    thread::scope(|scope| {
        for number in 0..THREADS {
            let (start, work) = (&start, &work);
            scope.spawn(move || {
                start.wait();
                work(number);
            });
        }
    });
}

#[test]
fn one_key_hammered_by_eight_threads_admits_exactly_its_capacity() {
    for algorithm in algorithms() {
        let (limiter, admitted) = (frozen(&algorithm), AtomicU64::new(0));
        on_all_threads(|_| {
            for _ in 0..CAPACITY {
                let allowed = limiter.allow("alice", "/").allowed();
                admitted.fetch_add(u64::from(allowed), Ordering::Relaxed);
            }
        });
        assert_eq!(admitted.into_inner(), u64::from(CAPACITY), "{algorithm:?}");
    }
}

#[test]
fn costs_are_charged_whole_or_not_at_all_from_any_thread() {
    for algorithm in algorithms() {
        let (limiter, admitted) = (frozen(&algorithm), AtomicU64::new(0));
        on_all_threads(|number| {
            let cost = if number % 2 == 0 { 7 } else { 3 };
            for _ in 0..CAPACITY {
                if limiter.allow_n("alice", "/", cost).unwrap().allowed() {
                    admitted.fetch_add(cost, Ordering::Relaxed);
                }
            }
        });
        let left = limiter.peek("alice", "/").remaining();
        assert_eq!(admitted.into_inner() + left, u64::from(CAPACITY), "{algorithm:?}");
        assert!(left < 3, "{left} left that a cost of 3 would have fitted");
    }
}

#[test]
fn keys_created_by_all_threads_at_once_are_created_once() {
    let bucket = AnyAlgorithm::new(TokenBucket::per_second(1).burst(3).build().unwrap());
    let (limiter, admitted) = (frozen(&bucket), AtomicU64::new(0));
    let clients: Vec<_> = (0..5_000).map(|number| format!("client {number}")).collect();
    on_all_threads(|_| {
        for client in &clients {
            let allowed = limiter.allow(client, "/").allowed();
            admitted.fetch_add(u64::from(allowed), Ordering::Relaxed);
        }
    });
    assert_eq!(admitted.into_inner(), 3 * 5_000);
    assert_eq!(limiter.counts()[0].1.keys, 5_000);
}

#[test]
fn reloads_while_threads_decide_lose_no_charge_and_hand_out_none() {
    for algorithm in algorithms() {
        let (limiter, admitted) = (frozen(&algorithm), AtomicU64::new(0));
        let deciding = AtomicBool::new(true);
        thread::scope(|scope| {
            // Each reload moves every key: to another number of stripes, and back.
            scope.spawn(|| {
                let mut bounds = [3_000, 1_000_000, 100_000].into_iter().cycle();
                while deciding.load(Ordering::Relaxed) {
                    let _report = limiter.reload(config(&algorithm, bounds.next().unwrap()));
                }
            });
            let clients = ["alice", "bob", "carol", "dave", "erin"];
            on_all_threads(|number| {
                for call in 0..usize::try_from(CAPACITY).unwrap() {
                    let client = clients[(call + number) % clients.len()];
                    let allowed = limiter.allow(client, "/").allowed();
                    admitted.fetch_add(u64::from(allowed), Ordering::Relaxed);
                }
            });
            deciding.store(false, Ordering::Relaxed);
        });
        // 8 threads of 500 calls, 800 for each of 5 clients: more than any may, and all of it was spent.
        assert_eq!(admitted.load(Ordering::Relaxed), 5 * u64::from(CAPACITY), "{algorithm:?}");
        for client in ["alice", "bob", "carol", "dave", "erin"] {
            assert!(!limiter.allow(client, "/").allowed(), "{client} under {algorithm:?}");
        }
    }
}

#[test]
fn a_handle_from_before_the_reloads_charges_the_same_keys() {
    let bucket = AnyAlgorithm::new(TokenBucket::per_second(CAPACITY).build().unwrap());
    let (limiter, admitted) = (frozen(&bucket), AtomicU64::new(0));
    let old_handle = limiter.limiter("/");
    thread::scope(|scope| {
        scope.spawn(|| {
            for max_keys in 1_000..1_050 {
                let _report = limiter.reload(config(&bucket, max_keys));
            }
        });
        on_all_threads(|number| {
            for _ in 0..CAPACITY {
                let allowed = if number % 2 == 0 {
                    old_handle.allow("alice").allowed()
                } else {
                    limiter.allow("alice", "/").allowed()
                };
                admitted.fetch_add(u64::from(allowed), Ordering::Relaxed);
            }
        });
    });
    assert_eq!(admitted.into_inner(), u64::from(CAPACITY));
}
