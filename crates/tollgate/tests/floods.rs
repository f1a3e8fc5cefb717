//! Floods of made-up clients: the memory stays within its bound, drained keys stay drained, and light clients pass.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use tollgate::{
    AnyAlgorithm, Config, Environment, FixedWindow, Keyed, Limiter, LimiterConfig, ManualClock,
    OnFull, RateLimiter, Reason, SlidingWindowCounter, SlidingWindowLog, Time, TokenBucket,
};

fn bucket() -> TokenBucket {
    TokenBucket::per_second(1).burst(10).build().unwrap()
}

fn keyed(max_keys: u64, on_full: OnFull) -> Keyed<TokenBucket> {
    let environment = Environment::with_clock(ManualClock::new());
    Keyed::with(bucket(), max_keys, on_full, &environment)
}

/// Calls until it is denied; how often it was allowed.
fn drain(limiter: &dyn Limiter, client: &str) -> u64 {
    (0..1_000).find(|_| !limiter.allow(client).allowed()).unwrap()
}

#[test]
fn a_flood_does_not_give_a_drained_client_its_quota_back() {
    let limiter = keyed(1_000, OnFull::Overflow);
    assert_eq!(drain(&limiter, "victim"), 10);
    for number in 0..100_000 {
        let _flood = limiter.allow(&number.to_string());
    }
    assert_eq!(drain(&limiter, "victim"), 0);
    assert!(limiter.counts().evictions > 1_000, "the table was never full");
    assert!(limiter.counts().keys <= 1_000);
}

#[test]
fn a_flood_evicts_its_own_keys_and_not_the_drained_ones() {
    let clock = ManualClock::new();
    let environment = Environment::with_clock(clock.clone());
    let limiter = Keyed::with(bucket(), 5_000, OnFull::Overflow, &environment);
    let clients: Vec<_> = (0..1_000).map(|number| format!("client {number}")).collect();
    for client in &clients {
        assert_eq!(drain(&limiter, client), 10);
    }
    for number in 0..40_000_u64 {
        clock.set(Time::from_millis(number / 20));
        let _flood = limiter.allow(&number.to_string());
    }
    assert!(limiter.counts().evictions > 20_000);
    assert!(clients.iter().all(|client| limiter.reset(client).had_state));
}

#[test]
fn what_happens_when_full_is_as_configured() {
    let full = |on_full| {
        let limiter = keyed(100, on_full);
        let names = (0..400).map(|number| format!("client {number}"));
        names.for_each(|name| assert!(limiter.allow_n(&name, 10).is_ok()));
        limiter
    };

    let overflow = full(OnFull::Overflow);
    assert_eq!(overflow.allow("client 399").reason(), Some(Reason::QuotaUsedUp));

    let deny = full(OnFull::Deny);
    let turned_away = deny.allow("a newcomer");
    assert_eq!(turned_away.reason(), Some(Reason::TableFull));
    assert_eq!((turned_away.retry_after_ms(), turned_away.remaining()), (None, 0));
    assert_eq!(deny.peek("a newcomer").reason(), Some(Reason::TableFull));
    assert_eq!((deny.counts().keys, deny.counts().evictions), (100, 0));

    let admit = full(OnFull::Admit);
    let again = (0..400).filter(|number| admit.allow(&format!("client {number}")).allowed());
    assert!(again.count() >= 300, "what left is forgotten, and may take its quota again");
}

#[test]
fn a_table_that_denies_newcomers_takes_them_again_when_keys_are_whole() {
    let clock = ManualClock::new();
    let environment = Environment::with_clock(clock.clone());
    let limiter = Keyed::with(bucket(), 50, OnFull::Deny, &environment);
    for number in 0..50 {
        assert!(limiter.allow(&format!("client {number}")).allowed());
    }
    assert!(!limiter.allow("a newcomer").allowed());
    clock.advance(Duration::from_secs(1));
    assert!(limiter.peek("a newcomer").allowed());
    assert!(limiter.allow("a newcomer").allowed());
}

#[test]
fn at_least_85_percent_of_the_bound_is_held_before_anyone_leaves() {
    for max_keys in [10, 1_000, 5_000, 50_000, 300_000, 500_000] {
        let limiter = keyed(max_keys, OnFull::Overflow);
        for number in 0..max_keys * 85 / 100 {
            let _held = limiter.allow(&number.to_string());
        }
        let counts = limiter.counts();
        assert_eq!((counts.keys, counts.evictions), (max_keys * 85 / 100, 0), "of {max_keys}");
    }
}

#[test]
fn whole_keys_are_forgotten_without_a_sweeper_and_without_loss() {
    let clock = ManualClock::new();
    let environment = Environment::with_clock(clock.clone());
    let limiter = Keyed::with(bucket(), 1_000_000, OnFull::Overflow, &environment);
    // 100 newcomers each second, each whole again a second later: a few hundred keys live, whatever has passed.
    for second in 0..3_000_u64 {
        for number in 0..100 {
            assert!(limiter.allow(&format!("{second} {number}")).allowed());
        }
        clock.advance(Duration::from_secs(1));
    }
    let counts = limiter.counts();
    assert!(counts.keys < 15_000, "{} keys held of 300,000 seen", counts.keys);
    assert_eq!(counts.evictions, 0);
}

#[test]
fn a_flood_takes_no_memory_beyond_the_bound() {
    let window = Duration::from_secs(60);
    let of = |algorithm: AnyAlgorithm| {
        let config = LimiterConfig::of_named(algorithm).max_keys(10_000);
        let config = Config::builder().default(config).build().unwrap();
        RateLimiter::builder(config).clock(ManualClock::new()).build()
    };
    let log = AnyAlgorithm::new(SlidingWindowLog::new(10, window).unwrap());
    let limiters = [
        // Bytes a key in the table at its lowest load, a cell for four keys or a little fewer, and for a log a ring of
        // up to ten stamps each.
        (of(AnyAlgorithm::new(bucket())), 10_000 * 21 * 16 / 7 + 4_096 * 12),
        (
            of(AnyAlgorithm::new(FixedWindow::new(10, window).unwrap())),
            10_000 * 21 * 16 / 7 + 4_096 * 12,
        ),
        (
            of(AnyAlgorithm::new(SlidingWindowCounter::new(10, window).unwrap())),
            10_000 * 25 * 16 / 7 + 4_096 * 16,
        ),
        (of(log), 10_000 * (49 * 16 / 7 + 40) + 4_096 * (40 + 40)),
    ];
    for (limiter, bound) in limiters {
        let flood = |numbers: std::ops::Range<u64>| {
            allocation_counter::measure(|| {
                for number in numbers {
                    let _allowed_or_denied = limiter.allow(&number.to_string(), "/");
                }
            })
        };
        let first = flood(0..100_000).bytes_current;
        let more = flood(100_000..300_000).bytes_current;
        assert!(first <= bound, "{first} bytes of {bound} for {:?}", limiter.limiter("/").limit());
        assert!(first + more <= bound, "{more} bytes more after the first {first}, of {bound}");
    }
}

#[test]
fn a_known_key_takes_no_allocation() {
    let limiter = keyed(1_000, OnFull::Overflow);
    let _made = limiter.allow("alice");
    let allocated = allocation_counter::measure(|| {
        for _ in 0..100 {
            let _allowed_or_denied = limiter.allow("alice");
        }
    });
    assert_eq!(allocated.count_total, 0);
}

#[test]
fn a_log_takes_memory_in_step_with_use() {
    let bytes_of = |max_requests, calls: u64, cost| {
        let log = SlidingWindowLog::new(max_requests, Duration::from_secs(60)).unwrap();
        let limiter = Keyed::with(log, 1_000, OnFull::Overflow, &Environment::new());
        let used = allocation_counter::measure(|| {
            for _ in 0..calls {
                assert!(limiter.allow_n("alice", cost).unwrap().allowed());
            }
        });
        used.bytes_current
    };
    let table = bytes_of(1, 1, 1) - 4;
    assert_eq!(bytes_of(1_000_000, 1, 1), table + 4 * 4, "no ring of a million for one call");
    assert_eq!(bytes_of(100, 100, 1), table + 100 * 4, "four bytes a stamp when full");
    assert_eq!(bytes_of(1_000_000, 1, 1_000_000), table + 4 * 8, "a call of any cost is one entry");
}

/// 20,000 fresh keys a second on a table of 10,000: what is the chance that a client is denied that calls every ten
/// seconds?
#[test]
fn a_flood_denies_hardly_any_light_client() {
    let clock = ManualClock::new();
    let environment = Environment::with_clock(clock.clone());
    let limiter = Keyed::with(bucket(), 10_000, OnFull::Overflow, &environment);
    let (mut calls, mut denied, mut fresh) = (0_u64, 0_u64, 0_u64);
    for tick in 0..30_000_u64 {
        // A millisecond: twenty fresh keys, and one of 1,000 light clients, each in turn every ten seconds.
        clock.set(Time::from_millis(tick));
        for _ in 0..20 {
            let _flood = limiter.allow(&format!("flood {fresh}"));
            fresh += 1;
        }
        if tick % 10 == 0 {
            calls += 1;
            let client = format!("light {}", (tick / 10) % 1_000);
            denied += u64::from(!limiter.allow(&client).allowed());
        }
    }
    println!("{denied} of {calls} calls of light clients denied in a flood of {fresh} fresh keys");
    assert!(limiter.counts().evictions > 0, "the table was never full");
    assert!(denied * 1_000 <= calls, "{denied} of {calls} denied");
}

#[test]
fn a_flood_from_many_threads_never_hands_out_quota_twice() {
    let config = LimiterConfig::new(TokenBucket::per_hour(1).burst(5)).max_keys(4_096);
    let config = Config::builder().default(config).build().unwrap();
    let limiter = RateLimiter::builder(config).clock(ManualClock::new()).build();
    let clients: Vec<_> = (0..200).map(|number| format!("client {number}")).collect();
    let admitted: Vec<_> = clients.iter().map(|_| AtomicU64::new(0)).collect();
    let call_and_flood = |thread: u64, round: u64| {
        for (client, admitted) in clients.iter().zip(&admitted) {
            admitted.fetch_add(limiter.allow(client, "/").allowed().into(), Ordering::Relaxed);
            let _fresh = limiter.allow(&format!("{thread} {round} {client}"), "/");
        }
    };
    thread::scope(|scope| {
        for thread in 0..4 {
            let call_and_flood = &call_and_flood;
            scope.spawn(move || (0..50).for_each(|round| call_and_flood(thread, round)));
        }
    });
    assert!(limiter.counts()[0].1.evictions > 0, "the table was never full");
    assert!(admitted.into_iter().all(|admitted| admitted.into_inner() <= 5));
}

#[test]
fn a_newcomer_starts_from_its_cell_and_a_reset_says_when_the_cell_still_has_debt() {
    // One key, one cell: whoever comes second shares what the first left.
    let clock = ManualClock::new();
    let environment = Environment::with_clock(clock.clone());
    let limiter = Keyed::with(bucket(), 1, OnFull::Overflow, &environment);
    assert!(limiter.allow_n("first", 4).unwrap().allowed());
    assert!(limiter.allow_n("second", 9).unwrap().allowed());
    // The first had less debt: it left for the cell.
    assert_eq!(limiter.peek("first").remaining(), 6);
    assert_eq!(limiter.peek("third").remaining(), 6, "a newcomer inherits");
    let report = limiter.reset("second");
    assert!(report.had_state && report.inherits_debt);
    clock.set(Time::from_millis(4_000));
    assert_eq!(limiter.peek("third").remaining(), 10, "cells become whole with time");
    let report = limiter.reset("second");
    assert!(!report.had_state && !report.inherits_debt);
}
