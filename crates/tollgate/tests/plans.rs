//! Plans and overrides: whose limits hold for whom, and that nothing is won by going to and fro. Tests whose names begin
//! with an id are cases of `docs/cases.md`.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::arithmetic_side_effects, reason = "small numbers in tests")]

use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use proptest::prelude::*;
use tollgate::{
    AppliesTo, CalendarWindow, Call, Change, Concurrency, Config, ConfigBuilder, FixedWindow,
    Limit, LimiterConfig, ManualClock, Mode, OnFull, OnPlan, Owner, Period, Policy, RateLimiter,
    Rule, Scope, SlidingWindowCounter, SlidingWindowLog, Time, TokenBucket,
};

const HOUR: Duration = Duration::from_secs(3_600);

fn start(config: ConfigBuilder) -> (RateLimiter, ManualClock) {
    let clock = ManualClock::new();
    (RateLimiter::builder(config.build().unwrap()).clock(clock.clone()).build(), clock)
}

/// Everybody gets the first, and clients on the plan `pro` the second.
fn two(free: impl Into<Rule>, pro: impl Into<Rule>) -> ConfigBuilder {
    let policy = Policy::from(free.into()).plan("pro", pro);
    Config::builder().plans(["free", "pro"]).default(policy)
}

fn bucket(capacity: u32, per_second: u32) -> TokenBucket {
    TokenBucket::per_second(per_second).burst(capacity).build().unwrap()
}

fn fixed(max_requests: u32, window_ms: u64) -> FixedWindow {
    FixedWindow::new(max_requests, Duration::from_millis(window_ms)).unwrap()
}

fn log(max_requests: u32, window_ms: u64) -> SlidingWindowLog {
    SlidingWindowLog::new(max_requests, Duration::from_millis(window_ms)).unwrap()
}

fn counter(max_requests: u32, window_ms: u64) -> SlidingWindowCounter {
    SlidingWindowCounter::new(max_requests, Duration::from_millis(window_ms)).unwrap()
}

fn on(plan: &str, cost: u64) -> Call<'_> {
    Call::new("alice", "/").plan(plan).cost(cost)
}

/// Whether a call is allowed, what remains, and the wait.
fn told(limiter: &RateLimiter, call: &Call<'_>) -> (bool, u64, Option<u64>) {
    let result = limiter.decide(call).unwrap_or_else(|error| error.result());
    (result.allowed(), result.remaining(), result.retry_after_ms())
}

#[test]
fn a_drained_client_that_comes_back_from_a_smaller_plan_has_nothing_left() {
    let (limiter, clock) = start(two(bucket(10, 1), bucket(100, 1)));
    assert_eq!(told(&limiter, &on("pro", 100)), (true, 0, None));
    assert_eq!(told(&limiter, &on("free", 1)), (false, 0, Some(1_000)));
    clock.advance(Duration::from_secs(1));
    assert_eq!(told(&limiter, &on("free", 1)), (true, 0, None));
    // The token that came back is spent.
    assert_eq!(told(&limiter, &on("pro", 1)), (false, 0, Some(1_000)));
}

#[test]
fn a_client_that_rises_keeps_what_it_has_used_and_one_that_falls_waits_as_the_smaller_plan_says() {
    let (limiter, clock) = start(two(fixed(10, 60_000), fixed(100, 60_000)));
    assert_eq!(told(&limiter, &on("free", 7)), (true, 3, None));
    assert_eq!(told(&limiter, &on("pro", 1)), (true, 92, None));
    assert_eq!(told(&limiter, &on("free", 1)), (true, 1, None));
    assert_eq!(told(&limiter, &on("pro", 50)), (true, 41, None));
    clock.advance(Duration::from_secs(59));
    assert_eq!(told(&limiter, &on("free", 1)), (false, 0, Some(1_000)));
    clock.advance(Duration::from_secs(1));
    assert_eq!(told(&limiter, &on("free", 1)), (true, 9, None));
    assert_eq!(told(&limiter, &on("pro", 0)), (true, 99, None));
}

#[test]
fn a_look_and_a_reset_are_of_every_account() {
    let (limiter, _clock) = start(two(bucket(10, 1), bucket(100, 1)));
    assert_eq!(told(&limiter, &on("pro", 95)), (true, 5, None));
    assert_eq!(limiter.peek("alice", "/").remaining(), 0);
    assert!(limiter.reset("alice", "/").had_state);
    assert_eq!(limiter.peek("alice", "/").remaining(), 10);
    assert_eq!(told(&limiter, &on("pro", 0)), (true, 100, None));
    assert!(!limiter.reset("alice", "/").had_state);
}

#[test]
fn the_most_particular_word_wins() {
    let policy = Policy::from(bucket(1, 1))
        .plan("free", bucket(2, 1))
        .plan("pro", bucket(3, 1))
        .plan("max", bucket(4, 1))
        .override_for("bob", bucket(5, 1));
    let config = Config::builder()
        .plans(["free", "pro", "max", "unlisted"])
        .client("alice", "pro")
        .client("acme-alice", "pro")
        .client("bob", "pro")
        .clients_with_prefix("acme-", "free")
        .clients_with_prefix("acme-eu-", "max")
        .clients_with_prefix("", "unlisted")
        .default(policy);
    let config = config.build().unwrap();
    let limiter = RateLimiter::builder(config.clone()).clock(ManualClock::new()).build();
    let by_prefix = |prefix, plan| OnPlan::ByPrefix { prefix, plan };
    for (client, plan, limit, why) in [
        ("carol", None, 1, by_prefix("", "unlisted")),
        ("carol", Some("pro"), 3, OnPlan::ByCall("pro")),
        ("carol", Some("unlisted"), 1, OnPlan::ByCall("unlisted")),
        ("acme-1", None, 2, by_prefix("acme-", "free")),
        ("acme-eu-1", None, 4, by_prefix("acme-eu-", "max")),
        ("acme-eu", None, 2, by_prefix("acme-", "free")),
        ("acme-1", Some("pro"), 3, OnPlan::ByCall("pro")),
        ("acme-1", Some("prö"), 2, by_prefix("acme-", "free")),
        ("alice", None, 3, OnPlan::ByClient("pro")),
        ("alice", Some("max"), 3, OnPlan::ByClient("pro")),
        ("acme-alice", None, 3, OnPlan::ByClient("pro")),
        ("bob", Some("max"), 5, OnPlan::Override),
    ] {
        let call = Call::new(client, "/x");
        let call = plan.into_iter().fold(call, Call::plan);
        assert_eq!(limiter.decide(&call.cost(0)).unwrap().limit(), limit, "{client} {plan:?}");
        assert_eq!(limiter.allow_many(&[call.cost(0)])[0].unwrap().limit(), limit);
        assert_eq!(limiter.decide_each(&call.cost(0)).limits[0].result.limit(), limit);
        let explained = config.explain(&call);
        assert_eq!(
            (explained.plan, explained.limits[0].limit.algorithm.limit()),
            (why, u32::try_from(limit).unwrap())
        );
        assert_eq!(explained.unknown_plan, plan.filter(|name| *name == "prö"));
        assert_eq!(explained.most_in(Duration::ZERO), Some(limit));
        if plan.is_none() {
            assert_eq!(limiter.allow(client, "/x").limit(), limit);
            assert_eq!(limiter.allow_n(client, "/x", 0).unwrap().limit(), limit);
            assert_eq!(limiter.peek(client, "/x").limit(), limit);
            assert_eq!(limiter.limiter("/x").allow(client).limit(), limit);
            let many = limiter.limiter("/x").allow_many(&[(client, 0)]);
            assert_eq!(many[0].unwrap().limit(), limit);
        }
    }
    assert_eq!(limiter.unknown_plans(), 3);
}

#[test]
fn a_plan_that_nobody_knows_is_as_good_as_none_and_is_counted_across_reloads() {
    let plain = || Config::builder().default(bucket(5, 1));
    let (limiter, _clock) = start(plain());
    assert_eq!(told(&limiter, &on("pro", 1)), (true, 4, None));
    let _report = limiter.reload(two(bucket(5, 1), bucket(50, 1)).build().unwrap());
    assert_eq!(told(&limiter, &on("pro", 1)), (true, 48, None));
    assert_eq!(told(&limiter, &on("Pro", 1)), (true, 2, None));
    assert_eq!(limiter.unknown_plans(), 2);
}

#[test]
fn an_endpoint_that_does_not_name_a_plan_gives_what_it_gives_everybody() {
    let config = two(bucket(1, 1), bucket(10, 1)).endpoint("/other", bucket(3, 1));
    let (limiter, _clock) = start(config);
    let call = Call::new("alice", "/other").plan("pro");
    assert_eq!(told(&limiter, &call), (true, 2, None));
    assert_eq!(limiter.unknown_plans(), 0);
}

#[test]
fn svc40_an_override_lapses_on_time_and_survives_a_reload() {
    let policy = || {
        let pro = Rule::limits([Limit::new("calls", fixed(10, 3_600_000))]);
        let more = Rule::limits([Limit::new("calls", fixed(100, 3_600_000))]);
        let own = Policy::limits([Limit::new("calls", fixed(3, 3_600_000))]);
        own.plan("pro", pro).override_until("bob", Time::from_millis(2_000), more)
    };
    let config = || Config::builder().plans(["pro"]).default(policy());
    let wall = ManualClock::new();
    let limiter = RateLimiter::builder(config().build().unwrap())
        .clock(ManualClock::new())
        .wall_clock(wall.clone())
        .build();
    let bob = |cost| Call::new("bob", "/x").plan("pro").cost(cost);
    assert_eq!(told(&limiter, &bob(5)), (true, 95, None));
    let report = limiter.reload(config().endpoint("/y", bucket(1, 1)).build().unwrap());
    assert!(
        report.limits().all(|limit| limit.change == Change::Kept || limit.owner != Owner::Default)
    );
    wall.set(Time::from_millis(1_999));
    assert_eq!(told(&limiter, &bob(1)), (true, 94, None));
    wall.set(Time::from_millis(2_000));
    assert_eq!(told(&limiter, &bob(1)), (true, 3, None));
    // A clock that steps back brings the override back, with all that was used meanwhile.
    wall.set(Time::from_millis(500));
    assert_eq!(told(&limiter, &bob(1)), (true, 92, None));
    assert_eq!(told(&limiter, &bob(90)), (true, 2, None));
    wall.set(Time::from_millis(9_000));
    assert_eq!(told(&limiter, &bob(1)), (false, 0, Some(3_600_000)));
    // Others are not concerned, and nor is the clock that is not of the day.
    assert_eq!(told(&limiter, &on("pro", 1)), (true, 9, None));
}

#[test]
fn an_override_added_by_a_reload_goes_on_from_what_the_client_has_used() {
    let with = |policy: Policy| Config::builder().plans(["pro"]).default(policy).build().unwrap();
    let plain = || Policy::from(bucket(10, 1)).plan("pro", bucket(100, 1));
    let (limiter, _clock) = start(Config::builder().plans(["pro"]).default(plain()));
    let bob = |cost| Call::new("bob", "/x").plan("pro").cost(cost);
    assert_eq!(told(&limiter, &bob(60)), (true, 40, None));
    let _report = limiter.reload(with(plain().override_for("bob", bucket(1_000, 1))));
    assert_eq!(told(&limiter, &bob(1)), (true, 939, None));
    let _report = limiter.reload(with(plain()));
    assert_eq!(told(&limiter, &bob(1)), (true, 38, None));
}

/// Limits of both kinds of store: of few keys in stripes, of many in lines.
fn small_and_large() -> [u64; 2] {
    [100, 100_000]
}

#[test]
fn plans_that_come_and_go_by_reloads_lose_nothing_that_was_used() {
    for max_keys in small_and_large() {
        let of = |algorithm: TokenBucket| LimiterConfig::new(algorithm).max_keys(max_keys);
        let plain = || Config::builder().default(of(bucket(10, 1)));
        let (limiter, _clock) = start(plain());
        let handle = limiter.limiter("/");
        assert_eq!(limiter.allow_n("alice", "/", 6).unwrap().remaining(), 4);
        let report = limiter.reload(two(of(bucket(10, 1)), of(bucket(100, 1))).build().unwrap());
        let changes: Vec<_> =
            report.limits().map(|limit| (limit.applies_to, limit.change)).collect();
        let kept = (AppliesTo::Everybody, Change::Kept);
        let anew = |plan| (AppliesTo::Plan(plan), Change::Changed { forgiven: 0 });
        assert_eq!(changes, [kept, anew("pro")]);
        assert_eq!(told(&limiter, &on("pro", 1)), (true, 93, None));
        // Whoever holds the limiter of before is sent on.
        assert_eq!(handle.allow("alice").remaining(), 2);
        assert_eq!(handle.peek("alice").remaining(), 2);
        assert_eq!(handle.limit(), 10);
        assert!(!handle.reset("nobody").had_state);
        assert_eq!(told(&limiter, &on("pro", 1)), (true, 91, None));
        // A plan that is new begins where the client stands.
        let three = Policy::from(of(bucket(10, 1)))
            .plan("max", of(bucket(1_000, 1)))
            .plan("pro", of(bucket(100, 1)));
        let three = Config::builder().plans(["max", "free", "pro"]).default(three);
        let report = limiter.reload(three.build().unwrap());
        let changes: Vec<_> =
            report.limits().map(|limit| (limit.applies_to, limit.change)).collect();
        assert_eq!(changes, [kept, anew("max"), (AppliesTo::Plan("pro"), Change::Kept)]);
        assert_eq!(told(&limiter, &on("max", 1)), (true, 990, None));
        let report = limiter.reload(plain().build().unwrap());
        let gone: Vec<_> = report.limits().filter(|limit| limit.change.loses_state()).collect();
        assert_eq!(gone.len(), 2);
        assert_eq!(told(&limiter, &on("pro", 0)), (true, 0, None));
        let _report = limiter.reload(two(of(bucket(20, 1)), of(bucket(100, 1))).build().unwrap());
        assert_eq!(told(&limiter, &on("free", 0)), (true, 10, None));
        assert_eq!(told(&limiter, &on("pro", 0)), (true, 90, None));
        assert_eq!(handle.peek("alice").remaining(), 10);
        assert_eq!(limiter.counts()[0].1.keys, 1);
    }
}

#[test]
fn a_reload_that_reorders_plans_keeps_everything_bit_for_bit() {
    let limits = |burst, day| {
        Rule::limits([
            Limit::new("burst", bucket(burst, 3)),
            Limit::new("day", fixed(day, 86_400_000)),
        ])
    };
    let first =
        Policy::from(limits(7, 50)).plan("pro", limits(70, 500)).plan("max", limits(700, 5_000));
    let second =
        Policy::from(limits(7, 50)).plan("max", limits(700, 5_000)).plan("pro", limits(70, 500));
    let (limiter, clock) = start(Config::builder().plans(["pro", "max"]).default(first));
    assert_eq!(told(&limiter, &on("pro", 33)), (true, 37, None));
    clock.advance(Duration::from_nanos(123_456_789));
    let before: Vec<_> =
        ["free", "pro", "max"].map(|plan| limiter.decide(&on(plan, 0)).unwrap()).into();
    let config = Config::builder().plans(["max", "pro"]).client("carol", "max").default(second);
    let report = limiter.reload(config.build().unwrap());
    assert_eq!(report.limits().count(), 6);
    assert!(report.limits().all(|limit| limit.change == Change::Kept));
    let after: Vec<_> =
        ["free", "pro", "max"].map(|plan| limiter.decide(&on(plan, 0)).unwrap()).into();
    assert_eq!(format!("{before:?}"), format!("{after:?}"));
}

#[test]
fn a_limit_of_a_plan_is_renamed_and_changed_like_any_other() {
    let of = |name: &str, pro| {
        let limit = |max| Limit::new(name, fixed(max, 60_000)).was("calls");
        Policy::limits([limit(10)]).plan("pro", Rule::limits([limit(pro)]))
    };
    let (limiter, _clock) = start(Config::builder().plans(["pro"]).default(of("calls", 100)));
    assert_eq!(told(&limiter, &on("pro", 8)), (true, 92, None));
    let config = Config::builder().plans(["pro"]).default(of("requests", 50));
    let report = limiter.reload(config.build().unwrap());
    assert!(report.limits().all(|limit| limit.limit == Some("requests")));
    assert!(report.limits().all(|limit| matches!(limit.change, Change::Changed { .. })));
    assert_eq!(told(&limiter, &on("pro", 1)), (true, 41, None));
    assert_eq!(told(&limiter, &on("free", 1)), (true, 0, None));
}

#[test]
fn limits_of_one_name_and_two_algorithms_are_two_limits() {
    let policy = || {
        let own = Policy::limits([Limit::new("calls", bucket(5, 1))]);
        own.plan("pro", Rule::limits([Limit::new("calls", fixed(50, 60_000))]))
    };
    let config = || Config::builder().plans(["pro"]).default(policy()).build().unwrap();
    let limiter = RateLimiter::builder(config()).clock(ManualClock::new()).build();
    assert_eq!(told(&limiter, &on("pro", 20)), (true, 30, None));
    assert_eq!(told(&limiter, &on("free", 4)), (true, 1, None));
    let report = limiter.reload(config());
    assert!(report.limits().all(|limit| limit.change == Change::Kept), "{report:?}");
    assert_eq!(told(&limiter, &on("pro", 1)), (true, 29, None));
    assert_eq!(told(&limiter, &on("free", 1)), (true, 0, None));
}

#[test]
fn plans_go_with_several_limits_scopes_shared_limits_trial_runs_prices_and_exempt_clients() {
    let own = |user, tenant, mode| {
        [
            Limit::new("user", bucket(user, 1)),
            Limit::new("tenant", fixed(tenant, 60_000)).scope(Scope::Tenant),
            Limit::new("trial", log(2, 60_000)).mode(mode),
        ]
    };
    let policy = Policy::limits(own(10, 20, Mode::Shadow))
        .plan("pro", Rule::limits(own(100, 60, Mode::Shadow)))
        .plan("free", Rule::limits(own(10, 20, Mode::Enforce)))
        .plan("staff", Rule::unlimited())
        .plan("closed", Rule::deny())
        .cost(2)
        .exempt(["probe"])
        .uses("all");
    let config = Config::builder()
        .plans(["free", "pro", "staff", "closed"])
        .shared_limit(Limit::new("all", fixed(40, 60_000)).scope(Scope::Global))
        .default(policy);
    let (limiter, _clock) = start(config);
    let call = |client, plan| Call::new(client, "/x").tenant("acme").plan(plan);
    let says = |call: &Call<'_>| {
        let result = limiter.decide(call).unwrap_or_else(|error| error.result());
        (result.allowed(), result.remaining(), result.limit_name())
    };
    assert_eq!(says(&call("alice", "pro").cost(14)), (true, 26, Some("all")));
    // The tenant has used 14 under whatever plan.
    assert_eq!(says(&call("bob", "none")), (true, 4, Some("tenant")));
    assert_eq!(limiter.unknown_plans(), 1);
    // On trial nobody is denied; a plan that enforces it does, by the same account.
    assert_eq!(says(&call("bob", "free").cost(1)), (false, 0, Some("trial")));
    assert_eq!(says(&call("bob", "staff")), (true, u64::from(u32::MAX), None));
    assert_eq!(says(&call("bob", "closed")), (false, 0, None));
    assert_eq!(says(&call("probe", "closed")), (true, u64::from(u32::MAX), None));
    assert!(
        limiter.decide(&Call::new("alice", "/x").plan("pro")).is_err(),
        "the tenant is missing"
    );
    assert_eq!(says(&call("alice", "pro").cost(24)), (true, 0, Some("all")));
    let counts = limiter.counts()[0].1;
    assert_eq!((counts.allowed, counts.denied), (5, 2));
    let trial = limiter.limit_counts().into_iter().find(|it| &*it.limit == "trial").unwrap();
    assert_eq!(trial.mode, Mode::Shadow);
}

#[test]
fn a_shared_bound_on_calls_under_way_is_held_under_every_plan() {
    let both = Limit::new("under way", Concurrency::new(2).unwrap());
    let policy =
        Policy::from(bucket(3, 1)).plan("pro", bucket(30, 1)).plan("staff", Rule::unlimited());
    let policy = policy.cost(1).exempt(["probe"]).uses("under way");
    let config = Config::builder().plans(["pro", "staff"]).shared_limit(both).default(policy);
    let (limiter, _clock) = start(config);
    let enter = |plan| limiter.acquire_for(&Call::new("alice", "/").plan(plan)).unwrap();
    let (first, second) = (enter("none"), enter("pro"));
    let third = enter("pro");
    assert!(first.result().allowed() && second.result().allowed() && !third.result().allowed());
    assert_eq!(third.result().limit_name(), Some("under way"));
    assert!(enter("staff").result().allowed(), "who is unlimited takes no place");
    drop(first);
    assert!(enter("pro").result().allowed(), "the place of one plan's call is free for another's");
    let left = told(&limiter, &on("pro", 0));
    assert!(left.0, "a look takes no place");
    drop(second);
    assert_eq!(limiter.limit_counts().iter().find(|it| it.is_shared).unwrap().counts.keys, 0);
}

#[test]
fn a_refund_gives_each_account_what_it_was_charged_and_no_more() {
    for (own, pro) in [
        (Rule::from(bucket(10, 1)), Rule::from(bucket(100, 1))),
        (Rule::from(fixed(10, 60_000)), Rule::from(fixed(100, 60_000))),
        (Rule::from(log(10, 60_000)), Rule::from(log(100, 60_000))),
        (Rule::from(counter(10, 60_000)), Rule::from(counter(100, 60_000))),
    ] {
        let (limiter, _clock) = start(two(own, pro));
        let (decided, receipt) = limiter.decide_with_receipt(&on("pro", 4));
        assert_eq!(decided.unwrap().remaining(), 96);
        assert!(receipt.refund() && !receipt.refund());
        assert_eq!(told(&limiter, &on("free", 0)).1, 10);
        assert_eq!(told(&limiter, &on("pro", 0)).1, 100);
        assert_eq!(told(&limiter, &on("free", 10)).1, 0);
        let (_, receipt) = limiter.decide_with_receipt(&on("pro", 4));
        // The account of the smaller plan had nothing left to take, so it gets nothing back.
        assert!(receipt.refund());
        assert_eq!(told(&limiter, &on("free", 0)).1, 0);
        assert_eq!(told(&limiter, &on("pro", 0)).1, 90);
    }
}

#[test]
fn a_penalty_is_the_clients_under_every_plan() {
    let policy = Policy::from(bucket(1, 1)).plan("pro", bucket(5, 1)).penalty(2, HOUR);
    let (limiter, _clock) = start(Config::builder().plans(["pro"]).default(policy));
    assert!(told(&limiter, &on("free", 1)).0);
    assert!(!told(&limiter, &on("free", 1)).0);
    assert!(!told(&limiter, &on("free", 1)).0);
    assert_eq!(told(&limiter, &on("pro", 1)), (false, 0, Some(3_600_000)));
    assert!(limiter.reset("alice", "/").had_state);
    assert_eq!(told(&limiter, &on("pro", 1)), (true, 4, None));
}

#[test]
fn batches_are_decided_in_order_whatever_the_plans() {
    let (limiter, _clock) = start(two(bucket(2, 1), bucket(4, 1)));
    let calls = ["pro", "free", "free", "pro", "free", "pro", "pro"].map(|plan| on(plan, 1));
    let decided = limiter.allow_many(&calls);
    let allowed: Vec<_> = decided.iter().map(|it| it.unwrap().allowed()).collect();
    assert_eq!(allowed, [true, true, false, true, false, true, false]);
}

#[test]
fn windows_of_the_calendar_go_by_plan_too() {
    let day = |max| CalendarWindow::new(max, Period::Day).unwrap();
    let hour = |max| CalendarWindow::new(max, Period::Hour).unwrap();
    let (limiter, clock) = start(two(day(10), hour(20)));
    clock.set(Time::from_millis(23 * 3_600_000));
    assert_eq!(told(&limiter, &on("pro", 20)), (true, 0, None));
    assert_eq!(told(&limiter, &on("free", 1)), (false, 0, Some(3_600_000)));
    clock.set(Time::from_millis(24 * 3_600_000));
    assert_eq!(told(&limiter, &on("free", 1)), (true, 9, None));
    assert_eq!(told(&limiter, &on("pro", 1)), (true, 18, None));
}

#[test]
fn what_makes_no_sense_is_refused_with_whom_it_is_about() {
    let own = || Policy::from(bucket(1, 1));
    let plans = || Config::builder().plans(["free", "pro"]);
    for (config, expected) in [
        (
            plans().default(own().plan("por", bucket(1, 1))),
            "default: unknown plan \"por\"; did you mean \"pro\"?",
        ),
        (
            Config::builder().default(own().plan("pro", bucket(1, 1))),
            "default: unknown plan \"pro\"; there are none",
        ),
        (
            plans().client("a", "gold").default(own()),
            "client \"a\": unknown plan \"gold\"; known are free, pro",
        ),
        (
            plans().clients_with_prefix("a", "fre").default(own()),
            "prefix \"a\": unknown plan \"fre\"; did you mean \"free\"?",
        ),
        (
            plans().client("a", "free").client("a", "pro").default(own()),
            "client \"a\" is given a plan twice; keep one",
        ),
        (plans().plans(["pro"]).default(own()), "plan \"pro\" is given twice; keep one"),
        (plans().plans([""]).default(own()), "a plan's name is empty; give it one"),
        (
            plans().default(own().plan("pro", bucket(2, 1)).plan("pro", bucket(3, 1))),
            "default: plan \"pro\" is given twice; keep one",
        ),
        (
            plans().default(own().override_for("a", bucket(2, 1)).override_for("a", bucket(3, 1))),
            "default: override of client \"a\" is given twice; keep one",
        ),
    ] {
        let found = config.build().unwrap_err().to_string();
        assert!(found.contains(expected), "{expected} is not in {found}");
    }
    let many = (0..33).map(|number| format!("plan {number}"));
    let many = Config::builder().plans(many).default(own());
    assert_eq!(many.build().unwrap_err().to_string(), "33 plans; expected at most 32");
}

#[test]
fn limits_that_make_no_sense_in_a_plan_are_refused_with_whose_they_are() {
    let own = || Policy::from(bucket(1, 1));
    let concurrency = || Concurrency::new(1).unwrap();
    let few = LimiterConfig::new(bucket(2, 1)).max_keys(5);
    let plans = || Config::builder().plans(["free", "pro"]);
    for (config, expected) in [
        (
            plans().default(own().plan("pro", TokenBucket::per_second(0))),
            "default: plan \"pro\": the rate is 0 in 1 s; expected",
        ),
        (
            plans().default(own().plan("pro", Rule::limits([]))),
            "default: plan \"pro\": no limits; expected at least one, or `unlimited: true`",
        ),
        (
            plans().default(own().plan("pro", few)),
            "default: plan \"pro\": limit \"default\" has one table for all plans, and `maxKeys` or `onFull` \
             differ: 1000000 and 5; expected the same",
        ),
        (
            plans().default(own().plan("pro", concurrency())),
            "default: plan \"pro\": `Concurrency` counts calls under way, so it does not go with plans or \
             overrides; make it a shared limit, which is the same for all, and use that here",
        ),
        (
            plans()
                .endpoint("/x", Policy::from(concurrency()).override_for("a", bucket(1, 1)))
                .default(own()),
            "endpoint \"/x\": `Concurrency` counts calls under way, so it does not go with plans or overrides",
        ),
    ] {
        let found = config.build().unwrap_err().to_string();
        assert!(found.contains(expected), "{expected} is not in {found}");
    }
}

/// A call of a random story: how long after the one before, as the larger plan or not, at what cost.
type Step = (u64, bool, u64);

fn story(most_apart_ms: u64, most: u64) -> impl Strategy<Value = Vec<Step>> {
    let apart = prop_oneof![Just(0), 0..most_apart_ms];
    proptest::collection::vec((apart, any::<bool>(), 1..=most), 1..60)
}

/// Plays a story, and says what was admitted: when, and at what cost.
fn play(config: ConfigBuilder, story: &[Step]) -> Vec<(u64, u64)> {
    let (limiter, clock) = start(config);
    let (mut now, mut admitted) = (0, Vec::new());
    for (apart, is_pro, cost) in story {
        now += apart;
        clock.set(Time::from_millis(now));
        if told(&limiter, &on(if *is_pro { "pro" } else { "free" }, *cost)).0 {
            admitted.push((now, *cost));
        }
    }
    admitted
}

/// All that was admitted under two plans would have been under the larger alone.
fn within_the_larger(
    free: impl Into<Rule>,
    pro: impl Into<Rule> + Into<Policy> + Clone,
    story: &[Step],
) {
    let admitted = play(two(free, pro.clone()), story);
    let (limiter, clock) = start(Config::builder().default(pro));
    for (at, cost) in admitted {
        clock.set(Time::from_millis(at));
        assert!(limiter.allow_n("alice", "/", cost).unwrap().allowed(), "{cost} at {at} ms");
    }
}

/// In no stretch of this length more is admitted than `most`.
fn within(admitted: &[(u64, u64)], length_ms: u64, most: u64) {
    for (from, _) in admitted {
        let inside = admitted.iter().filter(|(at, _)| (*from..from + length_ms).contains(at));
        let units: u64 = inside.map(|(_, cost)| cost).sum();
        assert!(units <= most, "{units} of {most} from {from} ms on");
    }
}

proptest! {
    #[test]
    fn whoever_goes_to_and_fro_gets_no_more_than_the_larger_plan_gives(
        story in story(3_000, 8), small in 1_u32..10, more in 0_u32..20, rate in 1_u32..4, faster in 0_u32..4,
    ) {
        let large = small + more;
        within_the_larger(bucket(small, rate), bucket(large, rate + faster), &story);
        within_the_larger(fixed(small, 5_000), fixed(large, 5_000), &story);
        within_the_larger(log(small, 5_000), log(large, 5_000), &story);
        within_the_larger(counter(small, 5_000), counter(large, 5_000), &story);
        // A log holds in every window, so in the shorter one of the larger plan too.
        within_the_larger(log(small, 9_000), log(large, 2_000), &story);
    }

    #[test]
    fn with_windows_of_different_length_it_is_what_the_larger_promises(
        story in story(2_500, 8), small in 1_u32..10, more in 0_u32..20,
    ) {
        let large = small + more;
        let promised = u64::from(large) * 2 - 1;
        within(&play(two(fixed(small, 7_000), fixed(large, 2_000)), &story), 2_000, promised);
        within(&play(two(counter(small, 7_000), counter(large, 2_000)), &story), 2_000, promised);
    }

    #[test]
    fn plans_of_which_none_is_larger_give_together_no_more_than_the_larger_of_each_figure(
        story in story(2_500, 8), small in 1_u32..10, more in 0_u32..20, rate in 1_u32..4, faster in 0_u32..6,
    ) {
        let large = small + more;
        let both = bucket(large, rate + faster);
        let admitted = play(two(bucket(small, rate + faster), bucket(large, rate)), &story);
        let (limiter, clock) = start(Config::builder().default(both));
        for (at, cost) in admitted {
            clock.set(Time::from_millis(at));
            prop_assert!(limiter.allow_n("alice", "/", cost).unwrap().allowed());
        }
    }

    #[test]
    fn whoever_stays_on_a_plan_is_judged_as_by_its_limits_alone_and_waits_as_long(
        story in story(3_000, 8), small in 1_u32..10, more in 0_u32..20, is_pro: bool,
    ) {
        let large = small + more;
        let pairs: [(Rule, Rule); 4] = [
            (bucket(small, 2).into(), bucket(large, 3).into()),
            (fixed(small, 5_000).into(), fixed(large, 2_000).into()),
            (log(small, 5_000).into(), log(large, 2_000).into()),
            (counter(small, 5_000).into(), counter(large, 2_000).into()),
        ];
        for (free, pro) in pairs {
            let (alone, plan) = if is_pro { (pro.clone(), "pro") } else { (free.clone(), "free") };
            let (limiter, clock) = start(two(free, pro));
            let (alone, clock_alone) = start(Config::builder().default(Policy::from(alone)));
            for (apart, _, cost) in &story {
                clock.advance(Duration::from_millis(*apart));
                clock_alone.advance(Duration::from_millis(*apart));
                let told = told(&limiter, &on(plan, *cost));
                let expected = alone.allow_n("alice", "/", *cost).unwrap_or_else(|error| error.result());
                let expected = (expected.allowed(), expected.remaining(), expected.retry_after_ms());
                prop_assert_eq!(told, expected);
            }
        }
    }

    #[test]
    fn a_denial_changes_nothing_under_any_plan_and_its_wait_is_enough_and_not_too_long(
        story in story(3_000, 8), small in 1_u32..10, more in 0_u32..20,
    ) {
        let large = small + more;
        let pairs: [(Rule, Rule); 4] = [
            (bucket(small, 2).into(), bucket(large, 3).into()),
            (fixed(small, 5_000).into(), fixed(large, 2_000).into()),
            (log(small, 5_000).into(), log(large, 2_000).into()),
            (counter(small, 5_000).into(), counter(large, 2_000).into()),
        ];
        for (free, pro) in pairs {
            let (limiter, clock) = start(two(free, pro));
            for (apart, is_pro, cost) in &story {
                clock.advance(Duration::from_millis(*apart));
                let (plan, other) = if *is_pro { ("pro", "free") } else { ("free", "pro") };
                let before = told(&limiter, &on(other, 0));
                let (allowed, _, wait) = told(&limiter, &on(plan, *cost));
                let Some(wait) = wait else {
                    let most = if *is_pro { large } else { small };
                    prop_assert!(allowed || *cost > u64::from(most));
                    continue;
                };
                prop_assert_eq!(told(&limiter, &on(other, 0)), before);
                clock.advance(Duration::from_millis(wait - 1));
                prop_assert!(!told(&limiter, &on(plan, *cost)).0);
                clock.advance(Duration::from_millis(1));
                prop_assert!(told(&limiter, &on(plan, *cost)).0);
            }
        }
    }

    #[test]
    fn a_flood_of_other_clients_gives_nobody_a_quota_twice(
        calls in proptest::collection::vec((0_u8..12, any::<bool>()), 1..400),
    ) {
        let of = |algorithm: FixedWindow| LimiterConfig::new(algorithm).max_keys(4);
        let (limiter, _clock) = start(two(of(fixed(2, 60_000)), of(fixed(5, 60_000))));
        let mut admitted = [0; 12];
        for (client, is_pro) in calls {
            let name = client.to_string();
            let plan = if is_pro { "pro" } else { "free" };
            let allowed = limiter.decide(&Call::new(&name, "/").plan(plan)).unwrap().allowed();
            admitted[usize::from(client)] += u32::from(allowed);
        }
        prop_assert!(admitted.iter().all(|calls| *calls <= 5), "{admitted:?}");
    }
}

#[test]
fn threads_that_change_plans_and_reload_get_no_more_than_the_larger_plan_gives() {
    let config = |free, max_keys| {
        let of = |algorithm: FixedWindow| {
            LimiterConfig::new(algorithm).max_keys(max_keys).on_full(OnFull::Overflow)
        };
        two(of(fixed(free, 3_600_000)), of(fixed(1_000, 3_600_000))).build().unwrap()
    };
    let before = Config::builder().default(fixed(1_000, 3_600_000)).build().unwrap();
    let limiter = RateLimiter::builder(before).clock(ManualClock::new()).build();
    let (admitted, together) = (AtomicU64::new(0), Barrier::new(4));
    thread::scope(|scope| {
        for turn in 0..3 {
            let (limiter, admitted, together) = (&limiter, &admitted, &together);
            scope.spawn(move || {
                together.wait();
                for call in 0..2_000 {
                    let plan = ["free", "pro", "pro"][(call + turn) % 3];
                    let allowed = limiter.decide(&on(plan, 1)).unwrap().allowed();
                    admitted.fetch_add(u64::from(allowed), Ordering::Relaxed);
                }
            });
        }
        together.wait();
        for round in 0..20_u32 {
            let _report = limiter.reload(config(500 + round, 1_000_000));
        }
    });
    assert_eq!(admitted.into_inner(), 1_000);
}
