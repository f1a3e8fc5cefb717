//! Both stores, and moves between them.

#![expect(clippy::arithmetic_side_effects, reason = "small numbers in tests")]

use proptest::prelude::*;

use crate::algorithm::{TokenBucket, TokenBucketBuilder};
use crate::config::OnFull;
use crate::store::*;
use std::sync::atomic::{AtomicU64, Ordering};

fn bounds(max_keys: u64, on_full: OnFull) -> Bounds {
    Bounds { max_keys, on_full, ..Bounds::default() }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    #[test]
    fn the_table_is_whole_after_any_calls_floods_resets_and_moves(
        sizes in proptest::collection::vec(prop_oneof![1..40_u64, 40..9_000_u64], 1..4),
        keys in proptest::collection::vec(any::<u64>(), 1..3_000),
        on_full in prop_oneof![Just(OnFull::Overflow), Just(OnFull::Deny), Just(OnFull::Admit)],
        step_ns in prop_oneof![Just(0), 1..50_000_000_u64],
    ) {
        let bucket = TokenBucket::per_second(1).burst(2).build().unwrap();
        let mut store = Arc::new(Store::new(bucket, bounds(500, on_full)));
        let mut now = 0;
        for max_keys in sizes {
            for (index, hash) in keys.iter().enumerate() {
                now += step_ns;
                let _decision = store.decide((*hash, 1), || Time::from_nanos(now), |result| result);
                if index % 17 == 0 {
                    store.reset(keys[index / 2], Time::from_nanos(now));
                }
            }
            store.validate();
            let before = store.counts(Time::from_nanos(now));
            store = store.moved_to(bucket, bounds(max_keys, on_full), Time::from_nanos(now)).0;
            store.validate();
            let after = store.counts(Time::from_nanos(now));
            prop_assert_eq!((after.allowed, after.denied), (before.allowed, before.denied));
            prop_assert!(after.keys <= before.keys.min(max_keys));
        }
    }
}

/// Keys that were whole went along, made others leave where they did not fit, and were counted as evicted.
#[test]
fn keys_that_are_whole_are_left_behind_by_a_move() {
    let bucket = TokenBucket::per_second(1).burst(2).build().unwrap();
    for (from, to) in [(4_096, 100), (100, 4_096), (100, 1)] {
        let before = Arc::new(Store::new(bucket, bounds(from, OnFull::Overflow)));
        (0..50).for_each(|key| before.decide((hash(key), 1), || Time::ZERO, |_| ()));
        let whole_at = Time::from_millis(1_000);
        before.decide((hash(50), 1), || whole_at, |_| ());

        let counts =
            before.moved_to(bucket, bounds(to, OnFull::Overflow), whole_at).0.counts(whole_at);

        assert_eq!((counts.keys, counts.evictions), (1, 0), "{from} to {to}");
    }
}

/// A charge made in one store and refunded in the other, of the key whose hash stands for an empty slot there: what was
/// looked for was an empty slot.
#[test]
fn a_charge_is_refunded_after_a_move_whatever_its_hash() {
    let bucket = TokenBucket::per_second(1).burst(2).build().unwrap();
    for (from, to) in [(100, 4_096), (4_096, 100), (4_096, 5_000)] {
        for hash in [0, 1, u64::MAX] {
            let before = Arc::new(Store::new(bucket, bounds(from, OnFull::Overflow)));
            let mut charge = None;
            before.hold((hash, Time::ZERO, 1), &mut |held| {
                held.decide();
                charge = held.receipt();
            });
            let (after, _) = before.moved_to(bucket, bounds(to, OnFull::Overflow), Time::ZERO);

            assert!(
                charge.is_some_and(|charge| charge.refund(Time::ZERO)),
                "{hash}, {from} to {to}"
            );

            assert_eq!(after.look(hash, Time::ZERO, 0).remaining(), 2, "{hash}, {from} to {to}");
        }
    }
}

/// A number scattered like a hash (the last steps of `SplitMix64`).
const fn hash(number: u64) -> u64 {
    let mixed = (number.wrapping_add(1) ^ number >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ mixed >> 31
}

/// Threads that call at once, each in an order of its own.
const THREADS: u64 = 4;
const CAPACITY: u32 = 3;

fn bucket_of(rate: TokenBucketBuilder) -> TokenBucket {
    rate.burst(CAPACITY).build().expect("the numbers are in range")
}

/// Each of so many keys is asked for by all threads, twice; returns how many were allowed of how many calls.
fn race(store: &Store<TokenBucket>, keys: u64) -> (u64, u64) {
    let asks = |thread: u64| {
        for call in 0..2 * keys {
            // Each a little behind the other, so that they meet.
            let key = hash((call + thread * 3) % keys);
            store.decide((key, 1), || Time::from_nanos(call / 1_000), |_| ());
        }
    };
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || asks(thread));
        }
    });
    store.validate();
    (u64::from(CAPACITY) * keys, 2 * THREADS * keys)
}

#[test]
fn every_key_admits_exactly_its_capacity_whatever_the_threads_do() {
    for keys in [1, 5, 300, 3_277, 20_000, 1_000_000] {
        let bucket = bucket_of(TokenBucket::per_hour(1));
        let store = Store::new(bucket, bounds(keys * 5 / 4, OnFull::Overflow));
        let (allowed, calls) = race(&store, keys);
        let counts = store.counts(Time::ZERO);
        assert_eq!((counts.evictions, counts.keys), (0, keys));
        assert_eq!((counts.allowed, counts.denied), (allowed, calls - allowed), "{keys} keys");
        let is_drained = |key| store.look(hash(key), Time::ZERO, 1).remaining() == 0;
        assert!((0..keys).all(is_drained), "each of {keys} was allowed as often as it may");
    }
}

/// Keys that come, refill and go, while threads ask for them and limits change: nobody gets more than a full bucket and
/// what drips in.
#[test]
fn no_key_is_admitted_too_often_while_keys_come_and_go_and_limits_move() {
    const KEYS: usize = 6_000;
    const STEPS: u64 = 60_000;
    const STEP_NS: u64 = 10_000;
    let bucket = bucket_of(TokenBucket::per_second(1_000));
    // Two thirds of the keys fit, so that they evict each other.
    let first = Arc::new(Store::new(bucket, bounds(4_096, OnFull::Overflow)));
    let allowed: Vec<_> = (0..KEYS).map(|_| AtomicU64::new(0)).collect();
    let ask = |seed: u64, step: u64| {
        let key = usize::try_from(hash(seed << 32 | step)).unwrap_or(0) % KEYS;
        let call = (hash(u64::try_from(key).unwrap_or(0)), 1);
        let clock = || Time::from_nanos(step * STEP_NS);
        let admitted = first.decide(call, clock, |result| u64::from(result.allowed()));
        allowed[key].fetch_add(admitted, Ordering::Relaxed);
    };
    let reload = || {
        let mut store = Arc::clone(&first);
        for max_keys in [4_096, 5_000, 1_000, 9_000, 4_096] {
            let now = store.shared.mark.get();
            store = store.moved_to(bucket, bounds(max_keys, OnFull::Overflow), now).0;
        }
        store
    };
    let last = std::thread::scope(|scope| {
        for seed in 0..THREADS {
            scope.spawn(move || (0..STEPS).for_each(|step| ask(seed, step)));
        }
        scope.spawn(reload).join().expect("a reload does not panic")
    });
    last.validate();
    let most = u64::from(CAPACITY) + STEPS * STEP_NS / 1_000_000;
    let most_admitted = allowed.iter().map(|allowed| allowed.load(Ordering::Relaxed)).max();
    assert!(most_admitted.is_some_and(|admitted| admitted <= most), "{most_admitted:?} of {most}");
}
