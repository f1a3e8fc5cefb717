//! Calls under way: each place is taken and returned once, whatever ends the call.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::arithmetic_side_effects, reason = "small numbers in tests")]

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use tollgate::{
    AnyAlgorithm, Call, Change, Concurrency, Config, Decided, LimiterConfig, LimiterFactory,
    ManualClock, OnFull, Parameters, Permit, RateLimiter, Reason, Request, Time, TokenBucket,
    Value,
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
    assert!(error.to_string().starts_with("a cost of 4 can never be met"));
    assert_eq!(error.result().remaining(), 1);
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
    clock.advance(Duration::from_secs(1));
    let next = limiter.acquire("alice", "/");
    assert!(late.allowed() && next.allowed());
    drop(late);
    assert_eq!(remaining(&limiter), 0, "the place is the other's");
    drop(next);
    assert_eq!(remaining(&limiter), 1);
    // Nor when nobody looked in between, or the clock stands still.
    let late = limiter.acquire("alice", "/");
    clock.advance(Duration::from_secs(5));
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
        clock.advance(Duration::from_secs(1));
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
    clock.advance(Duration::from_secs(1));
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

#[test]
fn looking_ahead_frees_nothing() {
    let (limiter, _clock) = limiter(LimiterConfig::from(leased(1, 1_000)).max_keys(1));
    assert!(limiter.allow("alice", "/").allowed());
    let handle = limiter.limiter("/");
    let later = |name| Request::new(handle.key(name)).at(Time::from_millis(5_000));
    assert!(handle.look(later("alice")).unwrap().allowed());
    let _looked = handle.look(later("bob")).unwrap();
    assert!(!limiter.allow("alice", "/").allowed());
    assert!(!limiter.allow("bob", "/").allowed());
}

#[test]
fn a_wait_behind_others_is_until_leases_return_enough() {
    let (limiter, clock) = limiter(leased(2, 1_000));
    let first = limiter.acquire("alice", "/");
    clock.advance(Duration::from_millis(400));
    let second = limiter.acquire("alice", "/");
    assert!(first.allowed() && second.allowed());
    let request = Request::new(limiter.key("alice"));
    let wait = |before: &[u64], cost| limiter.limiter("/").wait_behind(before, request.cost(cost));
    assert_eq!(wait(&[], 1).unwrap(), Some(Duration::from_millis(600)));
    assert_eq!(wait(&[1], 1).unwrap(), Some(Duration::from_secs(1)));
    assert_eq!(wait(&[1, 2, u64::MAX], 0).unwrap(), Some(Duration::from_secs(1)));
    assert!(wait(&[1], 3).is_err());
    drop((first, second));
    assert_eq!(wait(&[1], 1).unwrap(), Some(Duration::ZERO));
    let _report = limiter.reload(of(at_once(1)));
    let held = limiter.acquire("alice", "/");
    assert_eq!(wait(&[1], 1).unwrap(), None, "without a lease no wait can be promised");
    drop(held);
}

/// A leak would turn into a denial for good, and a place returned twice would lift the limit.
#[test]
fn svc37_threads_return_each_place_exactly_once() {
    let config = |most| of(LimiterConfig::from(leased(most, 3_600_000)).max_keys(100));
    let limiter = RateLimiter::new(config(2));
    let in_flight: [AtomicU32; 3] = std::array::from_fn(|_| AtomicU32::new(0));
    let call = |client: usize| {
        let permit = limiter.acquire(&client.to_string(), "/");
        if permit.allowed() {
            let others = in_flight[client].fetch_add(1, Ordering::SeqCst);
            assert!(others < 2, "more at once than allowed");
            in_flight[client].fetch_sub(1, Ordering::SeqCst);
        }
    };
    thread::scope(|scope| {
        for first in 0..8 {
            scope.spawn(move || (first..first + 2_000).for_each(|turn| call(turn % 3)));
        }
        for turn in 0..100 {
            let _report = limiter.reload(config(1 + turn % 2));
            thread::yield_now();
        }
    });
    assert_eq!(limiter.counts()[0].1.keys, 0);
    assert!((0..3).all(|client: u32| limiter.peek(&client.to_string(), "/").remaining() == 2));
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

/// A limiter, and beside it a list of all calls under way.
struct Run {
    limiter: RateLimiter,
    clock: ManualClock,
    now: u64,
    most: u64,
    lease_ms: Option<u64>,
    flights: Vec<Flight>,
    permits: Vec<(usize, Permit)>,
}

impl Run {
    const MAX_KEYS: usize = 3;

    fn new(most: u32, lease_ms: Option<u64>) -> Self {
        let (limiter, clock) = limiter(Self::config(most, lease_ms));
        let (flights, permits) = (Vec::new(), Vec::new());
        Self { limiter, clock, now: 0, most: most.into(), lease_ms, flights, permits }
    }

    fn config(most: u32, lease_ms: Option<u64>) -> LimiterConfig {
        let endless = || at_once(most);
        let concurrency = lease_ms.map_or_else(endless, |lease_ms| leased(most, lease_ms));
        LimiterConfig::from(concurrency).max_keys(3)
    }

    fn take(&mut self, number: usize, step: &Step) {
        match *step {
            Step::Wait { millis } => self.wait(millis),
            Step::Drop { which } => self.end(which),
            Step::Reload { most, lease_ms } => {
                (self.most, self.lease_ms) = (most.into(), lease_ms);
                let _report = self.limiter.reload(of(Self::config(most, lease_ms)));
            }
            Step::Acquire { client, cost } => {
                let acquired = self.limiter.acquire_n(&client.to_string(), "/", cost);
                let result = acquired.as_ref().map(Permit::result).map_err(Clone::clone);
                self.check((client, cost), result, Some(number));
                self.permits.extend(acquired.ok().map(|permit| (number, permit)));
            }
            Step::Forget { client, cost } => {
                let name = client.to_string();
                let decided = self.limiter.decide(&Call::new(&name, "/").cost(cost));
                self.check((client, cost), decided, None);
            }
        }
    }

    fn wait(&mut self, millis: u64) {
        self.now += millis;
        self.clock.set(Time::from_millis(self.now));
    }

    fn end(&mut self, which: usize) {
        let Some(which) = which.checked_rem(self.permits.len()) else { return };
        let (number, permit) = self.permits.remove(which);
        drop(permit);
        self.flights.retain(|flight| flight.number != number);
    }

    /// Checks an answer, and notes the call where it is under way from now on; `number` where it will say when it ends.
    fn check(&mut self, (client, cost): (usize, u64), decided: Decided, number: Option<usize>) {
        let now = self.now;
        self.flights.retain(|flight| flight.lapses.is_none_or(|lapses| lapses > now));
        let clients: BTreeSet<_> = self.flights.iter().map(|flight| flight.client).collect();
        let turned_away = cost > 0 && clients.len() >= Self::MAX_KEYS && !clients.contains(&client);
        let of_client = self.flights.iter().filter(|flight| flight.client == client);
        let taken: u64 = of_client.clone().map(|flight| flight.cost).sum();
        let room = self.most.saturating_sub(taken);
        assert_eq!(decided.is_err(), cost > self.most);
        let Ok(result) = decided else { return };
        assert_eq!(result.allowed(), cost <= room && !turned_away, "{result:?} {:?}", self.flights);
        if result.allowed() && cost > 0 && (number.is_some() || self.lease_ms.is_some()) {
            assert_eq!(result.remaining(), room - cost);
            let lapses = self.lease_ms.map(|lease_ms| now + lease_ms);
            let number = number.unwrap_or(usize::MAX);
            self.flights.push(Flight { number, client, cost, lapses });
        } else if cost > room {
            let wait = wait(of_client.cloned().collect(), taken + cost - self.most);
            assert_eq!(result.retry_after_ms(), wait.map(|lapses| lapses - now));
            assert_eq!(result.remaining(), room);
        }
    }
}

/// When leases alone return so many places, if they do.
fn wait(mut flights: Vec<Flight>, places: u64) -> Option<u64> {
    flights.sort_by_key(|flight| flight.lapses.unwrap_or(u64::MAX));
    let mut returned = 0;
    let last = flights.iter().find(|flight| {
        returned += flight.cost;
        returned >= places
    });
    last?.lapses
}

proptest! {
    #[test]
    fn places_are_those_of_a_list_of_calls_under_way(
        most in 1..4_u32,
        lease_ms in prop_oneof![Just(None), (1..2_000_u64).prop_map(Some)],
        steps in vec(step(), 1..120),
    ) {
        let mut run = Run::new(most, lease_ms);
        for (number, step) in steps.iter().enumerate() {
            run.take(number, step);
        }
        run.permits.clear();
        run.wait(10_000);
        prop_assert_eq!(run.limiter.counts()[0].1.keys, 0, "nothing is left of calls that ended");
    }
}
