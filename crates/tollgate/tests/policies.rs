//! Several limits on one endpoint, scopes, shared limits, extremes and trial runs. Tests whose names begin with an id are
//! cases of `docs/cases.md`.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use tollgate::{
    Call, CallError, Change, Config, ConfigBuilder, FixedWindow, Limit, LimiterConfig, ManualClock,
    Mode, OnFull, Owner, Policy, RateLimitResult, RateLimiter, Reason, Scope, SlidingWindowLog,
    Time, TokenBucket,
};

fn start(config: ConfigBuilder) -> (RateLimiter, ManualClock) {
    let clock = ManualClock::new();
    (RateLimiter::builder(config.build().unwrap()).clock(clock.clone()).build(), clock)
}

fn of(policy: impl Into<Policy>) -> ConfigBuilder {
    Config::builder().default(policy)
}

fn log(max_requests: u32, window_ms: u64) -> SlidingWindowLog {
    SlidingWindowLog::new(max_requests, Duration::from_millis(window_ms)).unwrap()
}

fn fixed(max_requests: u32, window_ms: u64) -> FixedWindow {
    FixedWindow::new(max_requests, Duration::from_millis(window_ms)).unwrap()
}

/// A bucket that gives back one token in a thousand seconds.
fn slow(capacity: u32) -> TokenBucket {
    TokenBucket::per_hour(18).burst(capacity).build().unwrap()
}

/// What one call at a time is answered: whether it is allowed, what remains, the wait and who says so.
fn told(result: RateLimitResult) -> (bool, u64, Option<u64>, Option<&'static str>) {
    (result.allowed(), result.remaining(), result.retry_after_ms(), result.limit_name())
}

/// Calls at given times, and whether they are allowed or the wait of the denial.
fn check(config: ConfigBuilder, rows: &[(u64, Result<(), u64>)]) {
    let (limiter, clock) = start(config);
    for (index, (at_ms, expected)) in rows.iter().enumerate() {
        clock.set(Time::from_millis(*at_ms));
        let result = limiter.allow("alice", "/");
        let answered = result.retry_after_ms().map_or(Ok(()), Err);
        assert_eq!(answered, *expected, "row {index} at {at_ms} ms");
    }
}

#[test]
fn l62_a_refusal_by_one_limit_takes_nothing_from_another() {
    let limits = [Limit::new("second", log(1, 1_000)), Limit::new("minute", log(3, 60_000))];
    let denied = Err(1_000);
    check(
        of(Policy::limits(limits)),
        &[
            (0, Ok(())),
            (0, denied),
            (0, denied),
            (0, denied),
            (1_000, Ok(())),
            (2_000, Ok(())),
            (3_000, Err(57_000)),
        ],
    );
}

#[test]
fn l64_several_limits_are_charged_together_or_not_at_all() {
    let large = Limit::new("large", TokenBucket::per_second(10));
    let small = Limit::new("small", TokenBucket::per_second(5));
    let (limiter, _clock) = start(of(Policy::limits([large, small])));
    let answers = (0..7).map(|_| told(limiter.allow("alice", "/")));
    let left = [4, 3, 2, 1, 0].map(|left| (true, left, None, Some("small")));
    let denied = [(false, 0, Some(200), Some("small")); 2];
    assert!(answers.eq(left.into_iter().chain(denied)));
    let each = limiter.decide_each(&Call::new("alice", "/").cost(0)).limits;
    let large = each.iter().find(|limit| limit.result.limit_name() == Some("large")).unwrap();
    assert_eq!(large.result.remaining(), 5, "the denials took nothing from it");
}

#[test]
fn l65_the_wait_of_several_limits_is_the_longest_of_theirs() {
    let limits = [Limit::new("short", log(1, 7_000)), Limit::new("long", log(5, 60_000))];
    let passes = [0, 7_000, 14_000, 21_000, 28_000].map(|at| (at, Ok(())));
    let rest = [(28_000, Err(32_000)), (35_000, Err(25_000)), (60_000, Ok(()))];
    check(of(Policy::limits(limits)), &[&passes[..], &rest].concat());
}

/// One decision costs each of its limits the same. Two decisions and a refund come to what was asked for, all or nothing,
/// but that another call may be denied in between for what is given back.
#[test]
fn l67_a_call_that_costs_each_limit_something_else_is_two_decisions_and_a_refund() {
    let meter = |name: &str, bucket| Policy::limits([Limit::new(name, bucket)]);
    let config = of(slow(1))
        .endpoint("requests", meter("requests", TokenBucket::per_second(10)))
        .endpoint("kilobytes", meter("kilobytes", TokenBucket::per_second(1_000)));
    let (limiter, clock) = start(config);
    let call = |kilobytes| {
        let (request, receipt) = limiter.decide_with_receipt(&Call::new("alice", "requests"));
        let request = request.unwrap();
        if !request.allowed() {
            return request;
        }
        let size = limiter.allow_n("alice", "kilobytes", kilobytes).unwrap();
        if size.allowed() {
            return request;
        }
        assert!(receipt.refund());
        size
    };
    let requests_left = || limiter.peek("alice", "requests").remaining();
    assert!(call(800).allowed());
    assert_eq!(told(call(300)), (false, 200, Some(100), Some("kilobytes")));
    assert_eq!(requests_left(), 9);
    clock.advance(Duration::from_millis(100));
    assert!(call(300).allowed());
    assert_eq!(requests_left(), 9);
}

#[test]
fn l68_a_limit_named_twice_is_charged_once_for_both_and_orders_cannot_lock_each_other_out() {
    let shared = |name: &str, capacity| Limit::new(name, slow(capacity));
    let config = of(TokenBucket::per_second(1))
        .shared_limit(shared("a", 10))
        .shared_limit(shared("b", 100_000))
        .shared_limit(shared("c", 100_000))
        .endpoint("/twice", Policy::limits([]).uses("a").uses("a"))
        .endpoint("/there", Policy::limits([]).uses("b").uses("c"))
        .endpoint("/back", Policy::limits([]).uses("c").uses("b"));
    let (limiter, _clock) = start(config);
    assert_eq!(told(limiter.allow_n("alice", "/twice", 2).unwrap()), (true, 3, None, Some("a")));
    assert!(limiter.allow_n("alice", "/twice", 6).is_err(), "twice 6 is above 10");
    assert_eq!(told(limiter.allow_n("alice", "/twice", 3).unwrap()), (true, 0, None, Some("a")));

    thread::scope(|scope| {
        for endpoint in ["/there", "/back", "/there", "/back"] {
            scope.spawn(|| {
                (0..5_000).for_each(|_| assert!(limiter.allow("bob", endpoint).allowed()));
            });
        }
    });
    assert_eq!(limiter.peek("bob", "/there").remaining(), 80_000);
}

#[test]
fn l47_together_a_second_a_minute_and_half_a_day_do_not_overflow() {
    let bucket = |name: &str, capacity: u32, seconds: u64| {
        let rate = format!("{capacity}/{seconds}s");
        let rate = tollgate::Rate::parse_friendly(&rate).unwrap();
        Limit::new(name, TokenBucket::new(capacity, rate).unwrap())
    };
    let limits =
        [bucket("second", 10, 1), bucket("minute", 100, 60), bucket("day", 10_000, 86_400)];
    let (limiter, clock) = start(of(Policy::limits(limits)));
    assert!(limiter.allow_n("alice", "/", 10).unwrap().allowed());
    clock.advance(Duration::from_secs(43_200));
    assert_eq!(told(limiter.allow("alice", "/")), (true, 9, None, Some("second")));
}

#[test]
fn s25_a_denied_call_is_charged_to_no_limit_whatever_their_algorithms_and_order() {
    let limits = [
        Limit::new("per minute", log(10, 60_000)),
        Limit::new("per half hour", fixed(30, 1_800_000)),
    ];
    for order in [[0, 1], [1, 0]] {
        let policy = Policy::limits(order.map(|index: usize| limits[index].clone()));
        let (limiter, clock) = start(of(policy));
        let mut admitted = 0;
        for call in 0..31 {
            clock.set(Time::from_millis(call * 4_000));
            admitted += u64::from(limiter.allow("alice", "/").allowed());
        }
        let each = limiter.decide_each(&Call::new("alice", "/").cost(0)).limits;
        let half_hour = each.iter().find(|limit| limit.result.limit() == 30).unwrap();
        assert_eq!(half_hour.result.remaining(), 30 - admitted);
        assert!(admitted < 31);
    }
}

/// Limits of three algorithms, of these scopes, in this order.
fn three(scopes: [Scope; 3], order: [usize; 3]) -> Policy {
    let limits = [
        Limit::new("log", log(2, 60_000)).scope(scopes[0]),
        Limit::new("bucket", slow(100)).scope(scopes[1]),
        Limit::new("day", fixed(50, 86_400_000)).scope(scopes[2]),
    ];
    Policy::limits(order.map(|index| limits[index].clone()))
}

#[test]
fn sixty_four_threads_charge_three_limits_for_what_was_allowed_and_nothing_else() {
    let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
    let mixed = [Scope::Global, Scope::Client, Scope::Tenant];
    let scopes = [[Scope::Client; 3], [Scope::Global; 3], mixed];
    for (scopes, order) in scopes.into_iter().flat_map(|scopes| orders.map(|order| (scopes, order)))
    {
        let (limiter, _clock) = start(of(three(scopes, order)));
        let (admitted, together) = (AtomicU64::new(0), Barrier::new(64));
        let call = Call::new("alice", "/").tenant("acme");
        let ten_calls = || {
            together.wait();
            let allowed = (0..10).map(|_| u64::from(limiter.decide(&call).unwrap().allowed()));
            admitted.fetch_add(allowed.sum(), Ordering::Relaxed);
        };
        thread::scope(|scope| (0..64).for_each(|_| drop(scope.spawn(ten_calls))));
        assert_eq!(admitted.into_inner(), 2, "{scopes:?} {order:?}");
        for limit in limiter.decide_each(&call.cost(0)).limits {
            let left = limit.result.limit() - 2;
            assert_eq!(limit.result.remaining(), left, "{:?}", limit.result.limit_name());
        }
    }
}

#[test]
fn reloads_while_threads_decide_together_lose_no_charge_and_hand_out_none() {
    let policy = |max_keys| {
        let bucket = LimiterConfig::new(slow(400)).max_keys(max_keys);
        Policy::limits([
            Limit::new("own", bucket),
            Limit::new("company", LimiterConfig::new(slow(300)).max_keys(max_keys))
                .scope(Scope::Tenant),
            Limit::new("all", slow(1_000)).scope(Scope::Global),
        ])
    };
    let (limiter, _clock) = start(of(policy(1_000_000)));
    let admitted = AtomicU64::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            for max_keys in (1..200).map(|number| number * 5_000) {
                let _report = limiter.reload(of(policy(max_keys)).build().unwrap());
            }
        });
        for thread in 0..8_usize {
            let (limiter, admitted) = (&limiter, &admitted);
            scope.spawn(move || {
                for number in 0..500 {
                    let call = Call::new(["a", "b", "c"][(number + thread) % 3], "/");
                    let call = call.tenant(["t", "u", "v", "w"][thread % 4]);
                    let allowed = limiter.decide(&call).unwrap().allowed();
                    admitted.fetch_add(u64::from(allowed), Ordering::Relaxed);
                }
            });
        }
    });
    assert_eq!(admitted.into_inner(), 1_000, "the ceiling, which is below all others together");
}

#[test]
fn a_newcomer_whom_one_limit_denies_is_taken_in_by_none_and_evicts_nobody() {
    let own = LimiterConfig::new(slow(5)).max_keys(1);
    let policy =
        Policy::limits([Limit::new("own", own), Limit::new("all", slow(1)).scope(Scope::Global)]);
    let (limiter, _clock) = start(of(policy));
    assert!(limiter.allow("alice", "/").allowed());
    assert_eq!(told(limiter.allow("bob", "/")).3, Some("all"));
    let own = limiter.limit_counts().remove(0).counts;
    assert_eq!((own.keys, own.evictions, own.allowed, own.denied), (1, 0, 1, 0));
    assert_eq!(limiter.counts()[0].1.denied, 1);
}

#[test]
fn a_full_table_that_denies_newcomers_speaks_before_any_wait() {
    let own = LimiterConfig::new(slow(5)).max_keys(1).on_full(OnFull::Deny);
    let policy =
        Policy::limits([Limit::new("own", own), Limit::new("all", slow(2)).scope(Scope::Global)]);
    let (limiter, clock) = start(of(policy));
    assert!(limiter.allow("alice", "/").allowed());
    let denied = limiter.allow_n("bob", "/", 2).unwrap();
    assert_eq!((denied.reason(), denied.retry_after_ms()), (Some(Reason::TableFull), None));
    assert_eq!((denied.limit_name(), denied.remaining()), (Some("own"), 0));
    clock.advance(Duration::from_secs(1_000));
    assert!(limiter.allow("bob", "/").allowed(), "alice is whole again and makes room");
}

#[test]
fn a_known_key_takes_no_allocation_under_several_limits() {
    let policy = Policy::limits([
        Limit::new("own", TokenBucket::per_second(1_000)),
        Limit::new("company", fixed(1_000, 1_000)).scope(Scope::Tenant),
        Limit::new("all", TokenBucket::per_second(1_000)).scope(Scope::Global),
    ]);
    let (limiter, _clock) = start(of(policy));
    let call = Call::new("alice", "/").tenant("acme");
    assert!(limiter.decide(&call).unwrap().allowed());
    let counted = allocation_counter::measure(|| {
        for _ in 0..2_000 {
            let _result = limiter.decide(&call).unwrap().remaining();
        }
    });
    assert_eq!(counted.count_total, 0);
}

#[test]
fn a_tenant_that_is_missing_is_an_error_where_it_can_be_one_and_else_a_denial_with_a_reason() {
    let limits =
        || [Limit::new("own", slow(5)), Limit::new("company", slow(9)).scope(Scope::Tenant)];
    let (limiter, _clock) = start(of(Policy::limits(limits())));
    let error = limiter.decide(&Call::new("alice", "/")).unwrap_err();
    assert!(matches!(error, CallError::TenantMissing(_)));
    assert_eq!(
        error.to_string(),
        "the limit \"company\" of 9 counts by tenant, and the call names none; give it with the call"
    );
    let denials = [
        limiter.allow("alice", "/"),
        limiter.allow_n("alice", "/", 2).unwrap(),
        limiter.peek("alice", "/"),
        error.result(),
    ];
    for denial in denials {
        assert_eq!((denial.allowed(), denial.reason()), (false, Some(Reason::TenantMissing)));
        assert_eq!((denial.retry_after_ms(), denial.limit_name()), (None, Some("company")));
    }
    let whole = limiter.decide(&Call::new("alice", "/").tenant("acme").cost(0)).unwrap();
    assert_eq!(whole.remaining(), 5, "nothing was charged");

    let [own, company] = limits();
    let trial = Policy::limits([own, company.mode(Mode::Shadow)]);
    let (limiter, _clock) = start(of(trial));
    assert!(limiter.allow("alice", "/").allowed(), "a trial run denies nobody");
}

#[test]
fn a_shared_limit_is_one_bucket_for_all_who_use_it() {
    let config = of(slow(100))
        .shared_limit(Limit::new("api", slow(5)))
        .shared_limit(Limit::new("writes", slow(2)).scope(Scope::Global))
        .every("api")
        .endpoint("/search", slow(3))
        .endpoint("POST /items", Policy::limits([]).uses("writes"))
        .endpoint("/healthz", Policy::unlimited());
    let (limiter, _clock) = start(config);
    assert_eq!(told(limiter.allow("alice", "/search")), (true, 2, None, Some("/search")));
    assert_eq!(told(limiter.allow("alice", "/other")), (true, 3, None, Some("api")));
    assert_eq!(told(limiter.allow("alice", "POST /items")), (true, 1, None, Some("writes")));
    assert_eq!(told(limiter.allow("bob", "POST /items")), (true, 0, None, Some("writes")));
    assert_eq!(told(limiter.allow("alice", "/search")), (true, 1, None, Some("/search")));
    assert_eq!(told(limiter.allow("alice", "/search")), (true, 0, None, Some("/search")));
    assert_eq!(told(limiter.allow("alice", "/other")), (false, 0, Some(200_000), Some("api")));
    assert!((0..100).all(|_| limiter.allow("alice", "/healthz").allowed()));
    let shared: Vec<_> =
        limiter.limit_counts().into_iter().filter(|limit| limit.is_shared).collect();
    let counts = |index: usize| (&*shared[index].limit, shared[index].counts.allowed);
    assert_eq!([counts(0), counts(1)], [("api", 6), ("writes", 2)]);
}

#[test]
fn s31_the_extremes_have_words_of_their_own_and_exempt_clients_are_asked_by_no_limit() {
    let config = of(Policy::from(slow(1)).exempt(["operator"]))
        .endpoint("/open", Policy::unlimited())
        .endpoint("/closed", Policy::deny().exempt(["operator"]));
    let (limiter, _clock) = start(config);
    let open = limiter.allow_n("alice", "/open", u64::MAX).unwrap();
    assert_eq!(
        (open.allowed(), open.remaining(), open.reset_after_ms()),
        (true, u64::from(u32::MAX), 0)
    );
    for _ in 0..10 {
        let closed = limiter.allow("alice", "/closed");
        assert_eq!((closed.reason(), closed.retry_after_ms()), (Some(Reason::Blocked), None));
        assert!(limiter.allow("operator", "/closed").allowed());
        assert!(limiter.allow("operator", "/other").allowed());
    }
    assert!(limiter.allow("alice", "/other").allowed());
    assert!(!limiter.allow("alice", "/other").allowed());
    let counts: Vec<_> =
        limiter.counts().into_iter().map(|(_, it)| (it.allowed, it.denied)).collect();
    assert_eq!(counts, [(11, 1), (1, 0), (10, 10)]);
}

#[test]
fn svc35_a_limit_in_shadow_counts_as_if_enforced_denies_nobody_and_goes_on_when_it_is_enforced() {
    let limits = |mode| {
        let trial = Limit::new("trial", log(1, 60_000)).mode(mode);
        of(Policy::limits([trial, Limit::new("real", log(100, 60_000))]))
    };
    let (limiter, _clock) = start(limits(Mode::Shadow));
    for left in [99, 98, 97, 96, 95] {
        assert_eq!(told(limiter.allow("alice", "/")), (true, left, None, Some("real")));
    }
    let trial = limiter.limit_counts().remove(0);
    assert_eq!((trial.counts.allowed, trial.counts.denied, trial.mode), (1, 4, Mode::Shadow));
    let each = limiter.decide_each(&Call::new("alice", "/"));
    assert!(each.decided.unwrap().allowed());
    let said: Vec<_> = each.limits.iter().map(|it| (it.mode, it.result.allowed())).collect();
    assert_eq!(said, [(Mode::Shadow, false), (Mode::Enforce, true)]);

    let report = limiter.reload(limits(Mode::Enforce).build().unwrap());
    assert!(report.limits().all(|limit| !limit.change.loses_state()));
    assert_eq!(told(limiter.allow("alice", "/")), (false, 0, Some(60_000), Some("trial")));
}

#[test]
fn a_trial_run_takes_nothing_when_an_enforced_limit_denies() {
    let limits = [
        Limit::new("trial", slow(5)).mode(Mode::Shadow),
        Limit::new("real", slow(1)),
        Limit::new("other trial", slow(1)).mode(Mode::Shadow),
    ];
    let (limiter, _clock) = start(of(Policy::limits(limits)));
    for _ in 0..4 {
        let _first_allowed = limiter.allow("alice", "/");
    }
    let each = limiter.decide_each(&Call::new("alice", "/").cost(0)).limits;
    let left: Vec<_> = each.iter().map(|limit| limit.result.remaining()).collect();
    assert_eq!(left, [4, 0, 0]);
}

#[test]
fn a_reload_goes_by_the_names_of_limits() {
    let before = Policy::limits([
        Limit::new("a", slow(10)),
        Limit::new("b", slow(10)),
        Limit::new("c", slow(10)),
        Limit::new("gone", slow(10)),
    ]);
    let after = Policy::limits([
        Limit::new("c", log(10, 1_000)),
        Limit::new("new", slow(10)),
        Limit::new("better", slow(10)).was("b"),
        Limit::new("a", slow(20)),
    ]);
    let (limiter, _clock) = start(of(before).shared_limit(Limit::new("s", slow(9))).every("s"));
    assert!(limiter.allow_n("alice", "/", 4).unwrap().allowed());
    let next = of(after).shared_limit(Limit::new("s", slow(9))).every("s").build().unwrap();
    let report = limiter.reload(next);
    let changes: Vec<_> = report.limits().map(|it| (it.owner, it.limit, it.change)).collect();
    let of_default = |name, change| (Owner::Default, Some(name), change);
    let expected = [
        (Owner::Shared, Some("s"), Change::Kept),
        of_default("c", Change::Replaced),
        of_default("new", Change::New),
        of_default("better", Change::Changed { forgiven: 0 }),
        of_default("a", Change::Changed { forgiven: 0 }),
        of_default("gone", Change::Removed),
    ];
    assert_eq!(changes, expected);
    let each = limiter.decide_each(&Call::new("alice", "/").cost(0)).limits;
    let left: Vec<_> = each.iter().map(|limit| limit.result.remaining()).collect();
    assert_eq!(left, [10, 10, 6, 16, 5], "in the order of the config, the shared one last");
}

#[test]
fn an_endpoints_only_limit_keeps_its_state_when_a_shared_one_joins_it_and_when_it_gets_a_name() {
    let simple = of(slow(10));
    let joined = of(slow(10)).shared_limit(Limit::new("api", slow(50))).every("api");
    let named = of(Policy::limits([Limit::new("own", slow(10)).was("default")]));
    let (limiter, _clock) = start(simple.clone());
    let steps = [(joined, Some("default")), (named, Some("own"))];
    assert!(limiter.allow("alice", "/").allowed());
    for (left, (config, name)) in [8, 7].into_iter().zip(steps) {
        let report = limiter.reload(config.build().unwrap());
        let own = report.changes().next().unwrap();
        assert!(!own.1.loses_state(), "{own:?}");
        assert_eq!(told(limiter.allow("alice", "/")), (true, left, None, name));
    }
    let report = limiter.reload(simple.build().unwrap());
    assert_eq!(
        report.changes().map(|(_, change)| change).collect::<Vec<_>>(),
        [Change::New, Change::Removed]
    );
}

#[test]
fn a_limit_that_counts_by_someone_else_from_now_on_starts_anew() {
    let limit = |scope| of(Policy::limits([Limit::new("limit", slow(5)).scope(scope)]));
    let (limiter, _clock) = start(limit(Scope::Client));
    assert!(limiter.allow_n("alice", "/", 5).unwrap().allowed());
    let report = limiter.reload(limit(Scope::Global).build().unwrap());
    assert_eq!(report.changes().next(), Some((None, Change::Replaced)));
    assert_eq!(limiter.allow("alice", "/").remaining(), 4);
}

#[test]
fn a_reset_forgets_what_the_client_has_used_and_not_what_all_together_have() {
    let limits = [Limit::new("own", slow(5)), Limit::new("all", slow(9)).scope(Scope::Global)];
    let (limiter, _clock) = start(of(Policy::limits(limits)));
    assert!(limiter.allow_n("alice", "/", 5).unwrap().allowed());
    assert!(limiter.reset("alice", "/").had_state);
    assert_eq!(told(limiter.peek("alice", "/")), (true, 4, None, Some("all")));
    assert!(!limiter.reset("alice", "/").had_state);
}

#[test]
fn a_ceiling_that_denied_is_asked_again_and_lets_smaller_calls_pass() {
    let limits = [Limit::new("own", slow(9)), Limit::new("all", slow(5)).scope(Scope::Global)];
    let (limiter, clock) = start(of(Policy::limits(limits)));
    assert!(limiter.allow_n("alice", "/", 2).unwrap().allowed());
    let denied = limiter.allow_n("bob", "/", 4).unwrap();
    assert_eq!(told(denied), (false, 3, Some(200_000), Some("all")));
    assert!(limiter.allow_n("bob", "/", 3).unwrap().allowed());
    assert_eq!(told(limiter.allow("carol", "/")), (false, 0, Some(200_000), Some("all")));
    let both = limiter.allow_n("alice", "/", 8).unwrap_err();
    assert_eq!(both.result().limit_name(), Some("all"));
    clock.advance(Duration::from_secs(200));
    assert!(limiter.allow("carol", "/").allowed());
}

#[test]
fn faults_of_a_config_name_the_endpoint_and_the_limit() {
    let bucket = || TokenBucket::per_second(1).burst(1);
    let many = (0..17).map(|number| Limit::new(format!("limit {number}"), bucket()));
    let cases = [
        (
            of(Policy::limits([Limit::new("a", bucket()), Limit::new("a", bucket())])),
            "default: limit \"a\" is given twice; keep one",
        ),
        (
            of(Policy::limits([Limit::new("a", TokenBucket::per_second(1).burst(0))])),
            "default: limit \"a\": `capacity` is 0",
        ),
        (
            of(Policy::limits([Limit::new("", bucket())])),
            "default: a limit's name is empty; give it one",
        ),
        (of(Policy::limits([])), "default: no limits; expected at least one, or `unlimited: true`"),
        (of(Policy::limits(many)), "default: 17 limits; expected at most 16"),
        (
            of(bucket()).every("ap").shared_limit(Limit::new("api", bucket())),
            "every: unknown shared limit \"ap\"; did you mean \"api\"?",
        ),
        (
            of(bucket()).endpoint("/a", Policy::limits([]).uses("api")),
            "endpoint \"/a\": unknown shared limit \"api\"; there are none",
        ),
        (
            of(Policy::deny().uses("api")).shared_limit(Limit::new("api", bucket())),
            "default: `use` does not go with `unlimited` or `deny`; keep one",
        ),
        (
            of(Policy::limits([Limit::new("api", bucket())]))
                .every("api")
                .shared_limit(Limit::new("api", bucket())),
            "default: limit \"api\" has the name of a shared limit that is used here",
        ),
    ];
    for (config, expected) in cases {
        let faults = config.build().unwrap_err().to_string();
        assert!(faults.starts_with(expected), "{faults}\nshould begin {expected}");
    }
}
