//! Calls under way: each place is taken and returned once, whatever ends the call.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::arithmetic_side_effects, reason = "small numbers in tests")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use tollgate::{
    AnyAlgorithm, Call, Change, Concurrency, Config, LimiterConfig, LimiterFactory, ManualClock,
    OnFull, Parameters, Permit, RateLimiter, Reason, Time, TokenBucket, Value,
};

fn at_once(most: u32) -> Concurrency {
    Concurrency::new(most).unwrap()
}

fn leased(most: u32, lease_ms: u64) -> Concurrency {
    at_once(most).lease(Duration::from_millis(lease_ms)).unwrap()
}

fn of(limiter: impl Into<LimiterConfig>) -> Config {
    Config::builder().default(limiter).build().unwrap()
}

fn limiter(limiter: impl Into<LimiterConfig>) -> (RateLimiter, ManualClock) {
    let clock = ManualClock::new();
    (RateLimiter::builder(of(limiter)).clock(clock.clone()).build(), clock)
}

fn remaining(limiter: &RateLimiter) -> u64 {
    limiter.peek("alice", "/").remaining()
}

#[test]
fn a_place_is_taken_and_returned_when_its_permit_is_dropped() {
    let (limiter, _clock) = limiter(at_once(2));
    let first = limiter.acquire("alice", "/");
    assert_eq!((first.allowed(), first.result().remaining(), first.result().limit()), (true, 1, 2));
    let second = limiter.acquire("alice", "/");
    assert_eq!(second.result().remaining(), 0);
    let denied = limiter.acquire("alice", "/");
    assert!(!denied.allowed());
    let result = denied.result();
    assert_eq!(result.reason(), Some(Reason::TooManyInFlight));
    assert_eq!((result.retry_after_ms(), result.reset_after_ms()), (None, 0));
    assert!(limiter.acquire("bob", "/").allowed());
    drop(denied);
    assert_eq!(remaining(&limiter), 0, "a denial holds nothing");
    drop(first);
    assert_eq!(remaining(&limiter), 1);
    drop(second);
    assert_eq!(remaining(&limiter), 2);
    assert_eq!(limiter.counts()[0].1.keys, 0);
}

#[test]
fn a_panic_and_a_cancelled_future_return_it_too() {
    let (limiter, _clock) = limiter(at_once(1));
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _permit = limiter.acquire("alice", "/");
        panic!("in the handler");
    }));
    assert!(panicked.is_err());
    assert_eq!(remaining(&limiter), 1);
    let mut future = Box::pin(async {
        let permit = limiter.acquire("alice", "/");
        std::future::pending::<()>().await;
        drop(permit);
    });
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(future.as_mut().poll(&mut context).is_pending());
    assert_eq!(remaining(&limiter), 0);
    drop(future);
    assert_eq!(remaining(&limiter), 1);
}

#[test]
fn a_cost_is_so_many_places_and_one_above_the_limit_an_error() {
    let (limiter, _clock) = limiter(at_once(3));
    let two = limiter.acquire_n("alice", "/", 2).unwrap();
    assert_eq!(two.result().remaining(), 1);
    assert!(!limiter.acquire_n("alice", "/", 2).unwrap().allowed());
    assert!(limiter.acquire_n("alice", "/", 0).unwrap().allowed());
    let error = limiter.acquire_n("alice", "/", 4).unwrap_err();
    assert_eq!((error.cost(), error.result().remaining()), (4, 1));
    assert_eq!(remaining(&limiter), 1);
    drop(two);
    assert_eq!(remaining(&limiter), 3);
}

/// A call that does not say when it ends would hold its place for good; without a lease it holds it for no time.
#[test]
fn who_does_not_say_when_a_call_ends_takes_a_place_until_its_lease_ends() {
    let (endless, _clock) = limiter(at_once(1));
    assert!(endless.allow("alice", "/").allowed());
    assert!(endless.allow("alice", "/").allowed());
    let permit = endless.acquire("alice", "/");
    assert!(permit.allowed() && !endless.allow("alice", "/").allowed());
    let counts = endless.counts()[0].1;
    assert_eq!((counts.allowed, counts.denied), (3, 1));

    let (leased, clock) = limiter(leased(2, 1_000));
    assert_eq!(leased.allow("alice", "/").remaining(), 1);
    clock.advance(Duration::from_millis(400));
    assert_eq!(leased.allow("alice", "/").reset_after_ms(), 1_000);
    let denied = leased.allow("alice", "/");
    assert_eq!(
        (denied.reason(), denied.retry_after_ms()),
        (Some(Reason::TooManyInFlight), Some(600))
    );
    assert_eq!(leased.allow_n("alice", "/", 2).unwrap().retry_after_ms(), Some(1_000));
    clock.advance(Duration::from_millis(599));
    assert!(!leased.allow("alice", "/").allowed());
    clock.advance(Duration::from_millis(1));
    assert!(leased.allow("alice", "/").allowed());
}

#[test]
fn a_permit_that_is_dropped_after_its_lease_returns_nobody_elses_place() {
    let (limiter, clock) = limiter(leased(1, 1_000));
    let late = limiter.acquire("alice", "/");
    clock.advance(Duration::from_millis(1_000));
    let next = limiter.acquire("alice", "/");
    assert!(late.allowed() && next.allowed());
    drop(late);
    assert_eq!(remaining(&limiter), 0, "the place is the other's");
    drop(next);
    assert_eq!(remaining(&limiter), 1);
    // Nor when nobody looked in between, or the clock stands still.
    let late = limiter.acquire("alice", "/");
    clock.advance(Duration::from_millis(5_000));
    drop(late);
    let (first, second) = (limiter.acquire("alice", "/"), limiter.acquire("alice", "/"));
    assert!(first.allowed() && !second.allowed());
    assert!(!limiter.reset("alice", "/").had_state, "calls under way are not forgotten");
    assert!(!limiter.acquire("alice", "/").allowed());
    drop(first);
    assert!(limiter.acquire("alice", "/").allowed());
}

#[test]
fn a_count_that_is_not_zero_is_never_evicted_and_newcomers_are_denied() {
    for on_full in [OnFull::Overflow, OnFull::Deny, OnFull::Admit] {
        let (limiter, clock) =
            limiter(LimiterConfig::from(leased(1, 1_000)).max_keys(3).on_full(on_full));
        let held = ["a", "b"].map(|client| limiter.acquire(client, "/"));
        clock.advance(Duration::from_millis(1));
        assert!(limiter.allow("c", "/").allowed());
        for number in 0..100 {
            let newcomer = limiter.allow(&format!("newcomer {number}"), "/");
            assert_eq!(newcomer.reason(), Some(Reason::TableFull));
            assert_eq!(limiter.peek("somebody", "/").reason(), Some(Reason::TableFull));
        }
        assert!(["a", "b", "c"].iter().all(|client| !limiter.allow(client, "/").allowed()));
        drop(held);
        assert_eq!(limiter.counts()[0].1.keys, 1);
        let _held = ["d", "e"].map(|client| limiter.acquire(client, "/"));
        // Another's lease that has ended makes room.
        assert!(!limiter.allow("f", "/").allowed());
        clock.advance(Duration::from_millis(1_000));
        assert!(limiter.allow("f", "/").allowed());
        assert_eq!(limiter.counts()[0].1.evictions, 0);
    }
}

#[test]
fn a_reload_keeps_what_is_under_way_and_goes_by_the_new_limit_everywhere() {
    let (limiter, clock) = limiter(at_once(2));
    let held = [(); 2].map(|()| limiter.acquire("alice", "/"));
    let handle = limiter.limiter("/");
    let report = limiter.reload(of(leased(3, 1_000)));
    assert_eq!(report.changes().next(), Some((None, Change::Changed { forgiven: 0 })));
    let third = limiter.acquire("alice", "/");
    assert!(third.allowed());
    assert_eq!((handle.limit(), handle.peek("alice").remaining()), (3, 0));
    let _report = limiter.reload(of(at_once(1)));
    assert_eq!(remaining(&limiter), 0);
    // What was given a lease keeps it, and what was given none has none.
    clock.advance(Duration::from_millis(1_000));
    let [first, second] = held;
    drop(first);
    assert_eq!(remaining(&limiter), 0, "one is still under way");
    drop(second);
    assert_eq!(remaining(&limiter), 1);
    drop(third);
    assert_eq!(remaining(&limiter), 1);
    // Another limiter knows nothing of them, and what they held is returned to nobody.
    let last = limiter.acquire("alice", "/");
    let report = limiter.reload(of(TokenBucket::per_hour(1)));
    assert_eq!(report.changes().next(), Some((None, Change::Replaced)));
    drop(last);
    assert_eq!(remaining(&limiter), 1);
}

#[test]
fn under_any_other_limiter_a_permit_holds_nothing() {
    let (limiter, _clock) = limiter(TokenBucket::per_hour(1));
    drop(limiter.acquire("alice", "/"));
    assert_eq!(remaining(&limiter), 0);
    assert!(!limiter.acquire("alice", "/").allowed());
}

#[test]
fn a_clock_that_steps_back_ends_no_lease_early_and_one_at_its_end_ends_none_at_once() {
    let (limiter, clock) = limiter(leased(1, 1_000));
    clock.set(Time::from_millis(10_000));
    assert!(limiter.allow("alice", "/").allowed());
    clock.set(Time::ZERO);
    assert_eq!(limiter.allow("alice", "/").retry_after_ms(), Some(1_000));
    assert_eq!(limiter.counts()[0].1.mark_ahead_ms, 10_000);
    clock.set(Time::from_nanos(u64::MAX));
    assert!(limiter.allow("alice", "/").allowed());
    assert!(!limiter.allow("alice", "/").allowed());
}

#[test]
fn parameters_are_read_and_refused_with_what_was_expected() {
    let parameters = |fields: &[(&str, &str)]| {
        let with = |parameters: Parameters, (name, text): &(&str, &str)| {
            parameters.with(*name, Value::Number((*text).to_owned()))
        };
        fields.iter().fold(Parameters::new(), with)
    };
    let factory = LimiterFactory::new();
    let read = |fields| factory.algorithm("Concurrency", &parameters(fields));
    let both = read(&[("maxInFlight", "5"), ("leaseMs", "60000")]).unwrap();
    assert_eq!(both.as_concurrency(), Some(leased(5, 60_000)));
    assert_eq!(read(&[("maxInFlight", "5")]).unwrap(), AnyAlgorithm::from(at_once(5)));
    assert_eq!((both.limit(), both.name()), (5, "Concurrency"));
    assert!(both.downcast_ref::<tollgate::FixedWindow>().is_none());
    let faults = read(&[("maxInFlight", "0"), ("leaseMs", "0"), ("lease", "1")]).unwrap_err();
    assert_eq!(
        faults.to_string(),
        "`maxInFlight` is 0; expected a whole number from 1 to 1000000; `leaseMs` is 0; expected a whole number \
         from 1 to 31622400000; unknown field `lease`; did you mean `leaseMs`?"
    );
    assert!(Concurrency::new(0).is_err() && Concurrency::new(1_000_001).is_err());
    assert!(at_once(1).lease(Duration::ZERO).is_err());
    let endless = LimiterFactory::new().for_calls_without_end();
    assert!(
        endless
            .algorithm("Concurrency", &parameters(&[("maxInFlight", "5"), ("leaseMs", "1")]))
            .is_ok()
    );
    let fault = endless.algorithm("Concurrency", &parameters(&[("maxInFlight", "5")])).unwrap_err();
    assert_eq!(
        fault.to_string(),
        "missing `leaseMs`; it is not known here when a call ends, so expected how long it counts at most, a whole \
         number from 1 to 31622400000"
    );
}

/// A leak would turn into a denial for good, and a place returned twice would lift the limit.
#[test]
fn svc37_threads_return_each_place_exactly_once() {
    let config = of(LimiterConfig::from(leased(2, 3_600_000)).max_keys(100));
    let limiter = Arc::new(RateLimiter::new(config));
    let in_flight: Arc<[AtomicU32; 3]> = Arc::default();
    let threads: Vec<_> = (0..8_usize)
        .map(|thread| {
            let (limiter, in_flight) = (Arc::clone(&limiter), Arc::clone(&in_flight));
            thread::spawn(move || {
                for turn in 0..2_000_usize {
                    let client = (turn + thread) % 3;
                    let permit = limiter.acquire(&client.to_string(), "/");
                    if permit.allowed() {
                        let now = in_flight[client].fetch_add(1, Ordering::SeqCst);
                        assert!(now < 2, "more at once than allowed");
                        in_flight[client].fetch_sub(1, Ordering::SeqCst);
                    }
                    if turn % 500 == 0 {
                        let most = if turn % 1_000 == 0 { 2 } else { 1 };
                        let next = LimiterConfig::from(leased(most, 3_600_000)).max_keys(100);
                        let _report = limiter.reload(of(next));
                    }
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().unwrap();
    }
    let _report = limiter.reload(of(LimiterConfig::from(leased(2, 3_600_000)).max_keys(100)));
    assert_eq!(limiter.counts()[0].1.keys, 0);
    for client in 0..3 {
        assert_eq!(limiter.peek(&client.to_string(), "/").remaining(), 2);
    }
}

/// What happens next in a run.
#[derive(Clone, Debug)]
enum Step {
    Acquire { client: usize, cost: u64 },
    Forget { client: usize, cost: u64 },
    Drop { which: usize },
    Wait { millis: u64 },
    Reload { most: u32, lease_ms: Option<u64> },
}

fn step() -> impl Strategy<Value = Step> {
    let lease = || prop_oneof![Just(None), (1..2_000_u64).prop_map(Some)];
    prop_oneof![
        6 => (0..4_usize, 0..4_u64).prop_map(|(client, cost)| Step::Acquire { client, cost }),
        2 => (0..4_usize, 0..4_u64).prop_map(|(client, cost)| Step::Forget { client, cost }),
        5 => (0..10_usize).prop_map(|which| Step::Drop { which }),
        4 => (0..1_500_u64).prop_map(|millis| Step::Wait { millis }),
        1 => (1..4_u32, lease()).prop_map(|(most, lease_ms)| Step::Reload { most, lease_ms }),
    ]
}

/// A call under way, as the model knows it.
#[derive(Clone, Debug)]
struct Flight {
    number: usize,
    client: usize,
    cost: u64,
    lapses: Option<u64>,
}

proptest! {
    #[test]
    fn places_are_those_of_a_list_of_calls_under_way(
        most in 1..4_u32,
        lease_ms in prop_oneof![Just(None), (1..2_000_u64).prop_map(Some)],
        steps in vec(step(), 1..120),
    ) {
        const MAX_KEYS: usize = 3;
        let concurrency = |most, lease_ms: Option<u64>| {
            let concurrency = lease_ms.map_or(at_once(most), |lease_ms| leased(most, lease_ms));
            LimiterConfig::from(concurrency).max_keys(3)
        };
        let (limiter, clock) = limiter(concurrency(most, lease_ms));
        let (mut most, mut lease_ms, mut now) = (u64::from(most), lease_ms, 0);
        let mut flights: Vec<Flight> = Vec::new();
        let mut permits: Vec<(usize, Permit)> = Vec::new();
        for (number, step) in steps.into_iter().enumerate() {
            match step {
                Step::Wait { millis } => {
                    now += millis;
                    clock.set(Time::from_millis(now));
                }
                Step::Drop { which } if !permits.is_empty() => {
                    let (number, permit) = permits.remove(which % permits.len());
                    drop(permit);
                    flights.retain(|flight| flight.number != number);
                }
                Step::Drop { .. } => {}
                Step::Reload { most: next, lease_ms: next_lease } => {
                    (most, lease_ms) = (u64::from(next), next_lease);
                    let _report = limiter.reload(of(concurrency(next, next_lease)));
                }
                Step::Acquire { client, cost } | Step::Forget { client, cost } => {
                    flights.retain(|flight| flight.lapses.is_none_or(|lapses| lapses > now));
                    let taken: u64 = flights.iter().filter(|flight| flight.client == client).map(|flight| flight.cost).sum();
                    let mut clients: Vec<_> = flights.iter().map(|flight| flight.client).collect();
                    clients.sort_unstable();
                    clients.dedup();
                    let room = most.saturating_sub(taken);
                    let turned_away = cost > 0 && clients.len() >= MAX_KEYS && !clients.contains(&client);
                    let name = client.to_string();
                    let call = Call::new(&name, "/").cost(cost);
                    let ends = matches!(step, Step::Acquire { .. });
                    let answer = if ends {
                        limiter.acquire_n(&name, "/", cost)
                            .map(|permit| { let result = permit.result(); permits.push((number, permit)); result })
                    } else {
                        limiter.decide(&call)
                    };
                    prop_assert_eq!(answer.is_err(), cost > most);
                    let Ok(result) = answer else { continue };
                    let allowed = cost <= room && !turned_away;
                    prop_assert_eq!(result.allowed(), allowed, "{:?} {:?}", result, flights);
                    if allowed && cost > 0 && (ends || lease_ms.is_some()) {
                        let lapses = lease_ms.map(|lease_ms| now + lease_ms);
                        flights.push(Flight { number, client, cost, lapses });
                        prop_assert_eq!(result.remaining(), room - cost);
                    } else if cost > room {
                        // When leases alone return enough, if they do.
                        let mut own: Vec<_> = flights.iter().filter(|flight| flight.client == client).collect();
                        own.sort_by_key(|flight| flight.lapses.unwrap_or(u64::MAX));
                        let mut back = 0;
                        let wait = own.iter().find_map(|flight| {
                            back += flight.cost;
                            let enough = taken - back + cost <= most;
                            enough.then_some(flight.lapses)
                        });
                        let expected = wait.flatten().map(|lapses| lapses - now);
                        prop_assert_eq!(result.retry_after_ms(), expected);
                        prop_assert_eq!(result.remaining(), room);
                    }
                }
            }
        }
        drop(permits);
        clock.set(Time::from_millis(now + 10_000));
        prop_assert_eq!(limiter.counts()[0].1.keys, 0, "nothing is left when all calls have ended");
    }
}
