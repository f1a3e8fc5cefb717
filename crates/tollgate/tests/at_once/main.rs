//! Calls under way, counted beside other limits: places are taken together with all charges or not at all, and each is
//! returned once.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::arithmetic_side_effects, reason = "small numbers in tests")]

mod model;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use tollgate::{
    Algorithm, Call, CallError, CarriedOver, Change, Concurrency, Config, ConfigBuilder, Decision,
    Limit, LimiterConfig, ManualClock, Mode, Permit, Policy, RateLimitResult, RateLimiter, Reason,
    Scope, Time, TokenBucket,
};

fn at_once(most: u32) -> LimiterConfig {
    Concurrency::new(most).into()
}

fn leased(most: u32, lease_ms: u64) -> LimiterConfig {
    Concurrency::new(most).unwrap().lease(Duration::from_millis(lease_ms)).into()
}

/// So many calls, and one more in a second.
fn bucket(tokens: u32) -> LimiterConfig {
    TokenBucket::per_second(1).burst(tokens).into()
}

fn of<const N: usize>(limits: [Limit; N]) -> ConfigBuilder {
    Config::builder().default(Policy::limits(limits))
}

fn start(config: ConfigBuilder) -> (RateLimiter, ManualClock) {
    let clock = ManualClock::new();
    (RateLimiter::builder(config.build().unwrap()).clock(clock.clone()).build(), clock)
}

fn both() -> [Limit; 2] {
    [Limit::new("rate", bucket(5)), Limit::new("at once", at_once(2))]
}

/// What each limit has left, in the order of the config.
fn left(limiter: &RateLimiter, client: &str) -> Vec<u64> {
    let call = Call::new(client, "/").tenant("acme").cost(0);
    let each = limiter.decide_each(&call).limits;
    each.iter().map(|limit| limit.result.remaining()).collect()
}

fn told(result: RateLimitResult) -> (bool, u64, Option<u64>, Option<&'static str>) {
    (result.allowed(), result.remaining(), result.retry_after_ms(), result.limit_name())
}

#[test]
fn svc37_a_denial_by_any_limit_charges_none_and_takes_no_place() {
    let (limiter, clock) = start(of(both()));
    let first = limiter.acquire("alice", "/");
    assert_eq!(told(first.result()), (true, 1, None, Some("at once")));
    let second = limiter.acquire("alice", "/");
    assert_eq!(left(&limiter, "alice"), [3, 0]);
    for _ in 0..100 {
        let denied = limiter.acquire("alice", "/");
        assert_eq!(told(denied.result()), (false, 0, None, Some("at once")));
        assert_eq!(denied.result().reason(), Some(Reason::TooManyInFlight));
    }
    assert_eq!(left(&limiter, "alice"), [3, 0], "no denial was charged to the rate");
    drop((first, second));
    for left_after in [2, 1, 0] {
        assert!(limiter.acquire("alice", "/").allowed());
        assert_eq!(left(&limiter, "alice"), [left_after, 2], "its end returns no charge");
    }
    for _ in 0..100 {
        let denied = limiter.acquire("alice", "/");
        assert_eq!(told(denied.result()), (false, 0, Some(1_000), Some("rate")));
    }
    assert_eq!(left(&limiter, "alice"), [0, 2], "no denial took a place");
    clock.advance(Duration::from_secs(1));
    assert!(limiter.acquire("alice", "/").allowed());
    assert!(limiter.acquire("bob", "/").allowed());
    let at_once = limiter.limit_counts()[1].counts;
    assert_eq!((at_once.denied, at_once.keys), (100, 0));
}

#[test]
fn svc37_a_permit_holds_a_place_of_each_limit_that_counts_calls_under_way() {
    let (limiter, _clock) = start(of([
        Limit::new("all", at_once(4)).scope(Scope::Global),
        Limit::new("rate", bucket(100)),
        Limit::new("own", at_once(2)),
        Limit::new("company", at_once(3)).scope(Scope::Tenant),
    ]));
    let acquire = |client| limiter.acquire_for(&Call::new(client, "/").tenant("acme")).unwrap();
    let held = ["alice", "alice", "bob"].map(acquire);
    assert!(held.iter().all(Permit::allowed));
    assert_eq!(left(&limiter, "alice"), [1, 98, 0, 0]);
    let denied = acquire("bob");
    assert_eq!(told(denied.result()), (false, 0, None, Some("company")));
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let _held = held;
        panic!("in the handler");
    }));
    assert!(panicked.is_err());
    drop(denied);
    assert_eq!(left(&limiter, "alice"), [4, 98, 2, 3]);
    let mut future = Box::pin(async {
        let permit = acquire("alice");
        std::future::pending::<()>().await;
        drop(permit);
    });
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(future.as_mut().poll(&mut context).is_pending());
    assert_eq!(left(&limiter, "alice"), [3, 97, 1, 2]);
    drop(future);
    assert_eq!(left(&limiter, "alice"), [4, 97, 2, 3]);
    let missing = limiter.acquire_for(&Call::new("alice", "/")).unwrap_err();
    assert!(matches!(missing, CallError::TenantMissing(_)));
}

#[test]
fn of_several_denials_the_one_that_promises_no_wait_speaks_and_else_the_longest_wait() {
    let (limiter, _clock) = start(of([Limit::new("rate", bucket(1)), both()[1].clone()]));
    let _one = limiter.acquire("alice", "/");
    let rate_alone = limiter.acquire("alice", "/").result();
    assert_eq!(told(rate_alone), (false, 0, Some(1_000), Some("rate")));
    let (limiter, clock) = start(of([Limit::new("rate", bucket(2)), both()[1].clone()]));
    let held = [(); 2].map(|()| limiter.acquire("alice", "/"));
    let neither = limiter.acquire("alice", "/").result();
    // In a second there is a token; whether there is a place then, nobody knows.
    assert_eq!(told(neither), (false, 0, None, Some("at once")));
    drop(held);
    assert_eq!(told(limiter.allow("alice", "/")), (false, 0, Some(1_000), Some("rate")));
    clock.advance(Duration::from_secs(1));
    assert!(limiter.allow("alice", "/").allowed());

    for (lease_ms, wait, name) in [(700, 1_000, "rate"), (1_700, 1_700, "at once")] {
        let limits = [Limit::new("rate", bucket(1)), Limit::new("at once", leased(1, lease_ms))];
        let (limiter, clock) = start(of(limits));
        assert!(limiter.allow("alice", "/").allowed());
        assert_eq!(told(limiter.allow("alice", "/")), (false, 0, Some(wait), Some(name)));
        clock.advance(Duration::from_millis(wait - 1));
        assert!(!limiter.allow("alice", "/").allowed());
        clock.advance(Duration::from_millis(1));
        assert!(limiter.allow("alice", "/").allowed());
    }
}

#[test]
fn who_does_not_say_when_a_call_ends_is_held_to_the_places_and_takes_one_by_a_lease_only() {
    let (endless, _clock) = start(of(both()));
    assert!(endless.allow("alice", "/").allowed());
    assert_eq!(left(&endless, "alice"), [4, 2]);
    let held = [(); 2].map(|()| endless.acquire("alice", "/"));
    assert_eq!(told(endless.allow("alice", "/")), (false, 0, None, Some("at once")));
    assert_eq!(endless.peek("alice", "/").reason(), Some(Reason::TooManyInFlight));
    drop(held);
    assert!(endless.allow("alice", "/").allowed());
    assert_eq!(left(&endless, "alice"), [1, 2]);

    let (leased, clock) = start(of([both()[0].clone(), Limit::new("at once", leased(2, 10_000))]));
    assert!(leased.allow("alice", "/").allowed());
    let permit = leased.acquire("alice", "/");
    assert_eq!(told(leased.allow("alice", "/")), (false, 0, Some(10_000), Some("at once")));
    drop(permit);
    assert_eq!(left(&leased, "alice"), [3, 1]);
    clock.advance(Duration::from_secs(10));
    assert_eq!(left(&leased, "alice"), [5, 2]);
    let late = leased.acquire("alice", "/");
    clock.advance(Duration::from_secs(10));
    let _others = [(); 2].map(|()| leased.acquire("alice", "/"));
    drop(late);
    assert_eq!(left(&leased, "alice")[1], 0, "its lease had returned the place already");
}

/// An algorithm with a fault: it panics where it is told to.
#[derive(Clone, Debug, PartialEq)]
struct Faulty {
    in_charge: bool,
}

impl Algorithm for Faulty {
    type State = ();

    fn limit(&self) -> u32 {
        1
    }

    fn decide(&self, (): &(), _now: Time, _cost: u32) -> Decision {
        assert!(self.in_charge, "in the judgement");
        Decision::allow(1, Duration::ZERO)
    }

    fn charge(&self, (): &mut (), _now: Time, _cost: u32) {
        panic!("in the charge");
    }

    fn debt(&self, (): &(), _now: Time) -> u64 {
        1
    }

    fn join(&self, (): &mut (), (): &(), _now: Time) {}

    fn carry_over(&self, (): &mut (), _now: Time, _from: &Self) -> CarriedOver {
        CarriedOver::Whole
    }
}

/// Judged before the places or after them, charged after them or before.
#[test]
fn svc37_a_panic_in_the_middle_of_a_decision_leaves_no_place_taken() {
    for (in_charge, scope) in [
        (false, Scope::Client),
        (false, Scope::Global),
        (true, Scope::Client),
        (true, Scope::Global),
    ] {
        let faulty = Limit::new("faulty", LimiterConfig::new(Faulty { in_charge })).scope(scope);
        let at_once = Limit::new("at once", at_once(1).max_keys(1)).scope(Scope::Tenant);
        let (limiter, _clock) = start(of([faulty, at_once.clone()]));
        let call = Call::new("alice", "/").tenant("acme");
        for _ in 0..3 {
            let acquire = AssertUnwindSafe(|| limiter.acquire_for(&call));
            assert!(catch_unwind(acquire).is_err(), "it has a fault");
            assert_eq!(limiter.limit_counts()[1].counts.keys, 0, "{in_charge} {scope:?}");
        }
        let _report = limiter.reload(of([at_once]).build().unwrap());
        assert!(limiter.acquire_for(&call.tenant("other")).unwrap().allowed());
    }
}

#[test]
fn a_permit_of_a_known_key_takes_no_allocation() {
    let rate = Limit::new("rate", TokenBucket::per_second(1_000));
    let (limiter, _clock) = start(of([rate, both()[1].clone()]));
    assert!(limiter.acquire("alice", "/").allowed());
    let mut allowed = 0;
    let counted = allocation_counter::measure(|| {
        (0..2_000).for_each(|_| allowed += u32::from(limiter.acquire("alice", "/").allowed()));
    });
    assert_eq!((allowed, counted.count_total), (999, 0));
}

#[test]
fn a_full_table_of_calls_under_way_turns_newcomers_away_who_are_charged_nothing() {
    let own = at_once(1).max_keys(1);
    let all = Limit::new("all", bucket(5)).scope(Scope::Global);
    let (limiter, clock) = start(of([Limit::new("own", own), all]));
    let held = limiter.acquire("alice", "/");
    for newcomer in 0..100 {
        let denied = limiter.acquire(&newcomer.to_string(), "/").result();
        assert_eq!(told(denied), (false, 0, None, Some("own")));
        assert_eq!(denied.reason(), Some(Reason::TableFull));
    }
    assert_eq!(left(&limiter, "alice"), [0, 4]);
    drop(held);
    (0..4).for_each(|_| assert!(limiter.acquire("alice", "/").allowed()));
    for newcomer in 0..100 {
        let denied = limiter.acquire(&newcomer.to_string(), "/").result();
        assert_eq!(
            (denied.limit_name(), denied.reason()),
            (Some("all"), Some(Reason::QuotaUsedUp))
        );
    }
    assert_eq!(limiter.limit_counts()[0].counts.keys, 0, "whom another limit denies takes no room");
    clock.advance(Duration::from_secs(1));
    assert!(limiter.acquire("bob", "/").allowed());
}

#[test]
fn a_cost_is_so_many_places_and_a_limit_used_twice_takes_them_twice() {
    let shared = Limit::new("pool", at_once(5)).scope(Scope::Global);
    let config = Config::builder()
        .default(bucket(100))
        .shared_limit(shared)
        .endpoint("/one", Policy::from(bucket(100)).uses("pool"))
        .endpoint("/two", Policy::limits([]).uses("pool").uses("pool"));
    let (limiter, _clock) = start(config);
    let two = limiter.acquire("alice", "/two");
    assert_eq!(told(two.result()), (true, 1, None, Some("pool")));
    let one = limiter.acquire_n("bob", "/one", 2).unwrap();
    assert_eq!(told(one.result()), (true, 1, None, Some("pool")));
    assert!(!limiter.acquire("carol", "/two").allowed());
    assert!(limiter.acquire("carol", "/one").allowed());
    assert!(limiter.acquire_n("carol", "/two", 3).is_err());
    drop(two);
    assert!(limiter.acquire("carol", "/two").allowed());
    drop(one);
    assert_eq!(limiter.peek("carol", "/one").remaining(), 5);
    assert!(limiter.acquire("carol", "/other").allowed(), "the default does not use it");
}

#[test]
fn a_reload_keeps_calls_under_way_by_the_name_of_their_limit() {
    let alone = Config::builder().default(at_once(3));
    let named = |name: &str, most| {
        of([Limit::new(name, at_once(most)).was("default"), Limit::new("rate", bucket(9))])
    };
    let (limiter, _clock) = start(alone);
    let first = limiter.acquire("alice", "/");
    let report = limiter.reload(named("default", 2).build().unwrap());
    assert_eq!(report.changes().next(), Some((None, Change::Changed { forgiven: 0 })));
    let second = limiter.acquire("alice", "/");
    assert_eq!(told(second.result()), (true, 0, None, Some("default")));
    let report = limiter.reload(named("at once", 3).build().unwrap());
    assert!(report.limits().all(|limit| !limit.change.loses_state()));
    let third = limiter.acquire("alice", "/");
    assert_eq!(told(third.result()), (true, 0, None, Some("at once")));
    let reordered = of([Limit::new("rate", bucket(9)), Limit::new("at once", at_once(1))]);
    let _report = limiter.reload(reordered.build().unwrap());
    for permit in [first, second] {
        assert_eq!(told(limiter.acquire("alice", "/").result()), (false, 0, None, Some("at once")));
        drop(permit);
    }
    assert_eq!(limiter.peek("alice", "/").remaining(), 0, "one is under way still");
    drop(third);
    assert_eq!(left(&limiter, "alice"), [7, 1]);
    // Under another name it is another limit; those before it are returned to nobody.
    let gone = limiter.acquire("alice", "/");
    let other = of([Limit::new("other", at_once(1)), Limit::new("rate", bucket(9))]);
    let report = limiter.reload(other.build().unwrap());
    assert!(report.limits().any(|limit| limit.change == Change::Removed));
    let _held = limiter.acquire("alice", "/");
    drop(gone);
    assert!(!limiter.acquire("alice", "/").allowed());
}

#[test]
fn calls_under_way_in_shadow_are_counted_as_if_enforced_and_nobody_is_denied() {
    let trial = |mode| of([both()[0].clone(), Limit::new("trial", at_once(1)).mode(mode)]);
    let (limiter, _clock) = start(trial(Mode::Shadow));
    let first = limiter.acquire("alice", "/");
    assert_eq!(told(first.result()), (true, 4, None, Some("rate")));
    let second = limiter.acquire("alice", "/");
    assert!(second.allowed());
    assert_eq!(left(&limiter, "alice"), [3, 0]);
    let counts = limiter.limit_counts()[1].counts;
    assert_eq!((counts.denied, counts.keys), (1, 1));
    drop(second);
    assert_eq!(left(&limiter, "alice"), [3, 0], "it would have been denied, so it had no place");
    let _report = limiter.reload(trial(Mode::Enforce).build().unwrap());
    assert_eq!(told(limiter.acquire("alice", "/").result()), (false, 0, None, Some("trial")));
    drop(first);
    assert!(limiter.acquire("alice", "/").allowed());
    let _report = limiter.reload(trial(Mode::Shadow).build().unwrap());
    assert!(limiter.allow_n("alice", "/", 2).unwrap().allowed());
    assert!(!limiter.acquire("alice", "/").allowed());
    assert_eq!(left(&limiter, "alice"), [0, 1], "an enforced limit denied, so it took no place");
}

#[test]
fn too_many_at_once_too_often_in_a_row_is_penalized() {
    let policy = Policy::from(at_once(1)).penalty(2, Duration::from_secs(60));
    let (limiter, clock) = start(Config::builder().default(policy));
    let held = limiter.acquire("alice", "/");
    assert_eq!(told(held.result()), (true, 0, None, Some("default")));
    let denied = limiter.acquire("alice", "/").result();
    assert_eq!(denied.reason(), Some(Reason::TooManyInFlight));
    drop(held);
    drop(limiter.acquire("alice", "/"));
    let held = limiter.acquire("alice", "/");
    assert!(held.allowed(), "a call that passed ended the row");
    for _ in 0..2 {
        assert!(!limiter.acquire("alice", "/").allowed());
    }
    drop(held);
    let blocked = limiter.acquire("alice", "/").result();
    assert_eq!(told(blocked), (false, 0, Some(60_000), Some("penalty")));
    assert_eq!(limiter.counts()[0].1.keys, 0, "a blocked call takes no place");
    clock.advance(Duration::from_secs(60));
    assert!(limiter.acquire("alice", "/").allowed());
}

#[test]
fn a_refund_gives_charges_back_and_no_place() {
    let limits = || [both()[0].clone(), Limit::new("at once", leased(2, 10_000))];
    let (limiter, clock) = start(of(limits()));
    let (decided, receipt) = limiter.decide_with_receipt(&Call::new("alice", "/"));
    assert!(decided.unwrap().allowed() && receipt.refund());
    assert_eq!(left(&limiter, "alice"), [5, 1], "the call may be under way still");
    clock.advance(Duration::from_secs(10));
    assert_eq!(left(&limiter, "alice"), [5, 2]);
    let (alone, _clock) = start(of([limits()[1].clone()]));
    let (decided, receipt) = alone.decide_with_receipt(&Call::new("alice", "/"));
    assert!(decided.unwrap().allowed() && !receipt.refund());
    assert_eq!(left(&alone, "alice"), [1]);
}

#[test]
fn a_reset_forgets_charges_and_no_call_under_way() {
    let (limiter, _clock) = start(of(both()));
    let held = limiter.acquire("alice", "/");
    assert!(limiter.reset("alice", "/").had_state);
    assert_eq!(left(&limiter, "alice"), [5, 1]);
    drop(held);
    assert!(!limiter.reset("alice", "/").had_state);
    assert_eq!(left(&limiter, "alice"), [5, 2]);
}

#[test]
fn a_wait_behind_others_is_none_where_only_a_call_that_ends_makes_room() {
    let (limiter, _clock) = start(of([Limit::new("rate", bucket(1)), both()[1].clone()]));
    let request = tollgate::Request::new(limiter.key("alice"));
    let wait = || limiter.limiter("/").wait_behind(&[1], request).unwrap();
    assert_eq!(wait(), Some(Duration::from_secs(1)));
    let _held = limiter.acquire("alice", "/");
    assert_eq!(wait(), None, "one of two places is taken, and the call before may hold the other");
}

#[test]
fn shared_limits_that_endpoints_name_in_other_orders_cannot_lock_each_other_out() {
    let shared = |name: &str| Limit::new(name, at_once(1_000));
    let config = Config::builder()
        .default(bucket(1))
        .shared_limit(shared("a"))
        .shared_limit(Limit::new("b", TokenBucket::per_hour(100_000)))
        .shared_limit(shared("c"))
        .endpoint("/there", Policy::limits([]).uses("a").uses("b").uses("c"))
        .endpoint("/back", Policy::limits([]).uses("c").uses("b").uses("a"));
    let (limiter, _clock) = start(config);
    thread::scope(|scope| {
        for endpoint in ["/there", "/back", "/there", "/back"] {
            let limiter = &limiter;
            scope.spawn(move || {
                (0..5_000).for_each(|_| assert!(limiter.acquire("bob", endpoint).allowed()));
            });
        }
    });
    let each = limiter.decide_each(&Call::new("bob", "/there").cost(0)).limits;
    let left: Vec<_> = each.iter().map(|limit| limit.result.remaining()).collect();
    assert_eq!(left, [1_000, 80_000, 1_000]);
}

/// The limits of the threads below, in this order.
fn crowded(order: [usize; 4], most: u32) -> ConfigBuilder {
    let limits = [
        Limit::new("all", at_once(most + 3)).scope(Scope::Global),
        Limit::new("own", leased(most, 3_600_000)),
        Limit::new("company", at_once(most + 1)).scope(Scope::Tenant),
        Limit::new("rate", TokenBucket::per_hour(100_000)),
    ];
    of(order.map(|index| limits[index].clone()))
}

#[test]
fn svc37_sixty_four_threads_are_never_more_at_once_than_any_limit_allows() {
    for (order, reloads) in [([0, 1, 2, 3], 0), ([3, 2, 1, 0], 0), ([2, 0, 3, 1], 60)] {
        let (limiter, _clock) = start(crowded(order, 2));
        let in_flight: [AtomicU64; 6] = std::array::from_fn(|_| AtomicU64::new(0));
        let (admitted, together) = (AtomicU64::new(0), Barrier::new(64));
        let call = |client: usize| {
            let name = client.to_string();
            let asked = Call::new(&name, "/").tenant(["t", "u"][client % 2]);
            let permit = limiter.acquire_for(&asked).unwrap();
            if !permit.allowed() {
                return assert_eq!(permit.result().reason(), Some(Reason::TooManyInFlight));
            }
            admitted.fetch_add(1, Ordering::SeqCst);
            let counted = [(client, 2), (3 + client % 2, 3), (5, 5)];
            for (gauge, most) in counted {
                let others = in_flight[gauge].fetch_add(1, Ordering::SeqCst);
                assert!(others < most, "{others} others beside a call of {client}");
            }
            thread::yield_now();
            for (gauge, _) in counted {
                in_flight[gauge].fetch_sub(1, Ordering::SeqCst);
            }
        };
        let calls = |first: usize| {
            together.wait();
            (first..first + 50).for_each(|turn| call(turn % 3));
        };
        thread::scope(|scope| {
            let calls = &calls;
            (0..64).for_each(|first| drop(scope.spawn(move || calls(first))));
            for turn in 0..reloads {
                let _report = limiter.reload(crowded(order, 1 + turn % 2).build().unwrap());
                thread::yield_now();
            }
        });
        let _report = limiter.reload(crowded([0, 1, 2, 3], 2).build().unwrap());
        let mut charged = 0;
        for client in ["0", "1", "2"] {
            let each = limiter.decide_each(&Call::new(client, "/").tenant("t").cost(0)).limits;
            let left: Vec<_> = each.iter().map(|limit| limit.result.remaining()).collect();
            assert_eq!(left[..3], [5, 2, 3], "{client} under {order:?}");
            charged += 100_000 - left[3];
        }
        assert_eq!(charged, admitted.into_inner(), "each call is charged to the rate once");
        let counts = limiter.limit_counts();
        assert!(counts[..3].iter().all(|limit| limit.counts.keys == 0), "{counts:?}");
    }
}
