//! Patterns, the calendar and calls under way, with several limits, prices and refunds beside them.

use std::time::Duration;

use tollgate::{
    CalendarWindow, Call, CallError, Concurrency, Config, Limit, LimiterConfig, ManualClock,
    Matched, Period, Policy, RateLimiter, Reason, Scope, Time, TokenBucket,
};

const HOUR: u64 = 3_600_000;

fn limiter(config: Config) -> (RateLimiter, ManualClock) {
    let clock = ManualClock::new();
    (RateLimiter::builder(config).clock(clock.clone()).build(), clock)
}

fn bucket(tokens: u32) -> LimiterConfig {
    TokenBucket::per_hour(tokens).into()
}

fn daily(requests: u32) -> LimiterConfig {
    LimiterConfig::new(CalendarWindow::new(requests, Period::Day))
}

#[test]
fn a_pattern_may_have_any_policy_and_its_text_is_no_endpoint() {
    let both = [Limit::new("burst", bucket(2)), Limit::new("day", daily(9))];
    let config = Config::builder()
        .default(bucket(100))
        .endpoint("/users/{id}", Policy::limits(both).exempt(["root"]))
        .endpoint("/users/*", Policy::deny())
        .endpoint("/users/me", Policy::unlimited())
        .build()
        .unwrap();
    let explained = config.explain(&Call::new("alice", "GET /users/7")).matched;
    assert_eq!(explained, Matched::ByPattern("/users/{id}"));
    assert_eq!(
        config.explain(&Call::new("alice", "GET /users/me")).matched,
        Matched::ByPath("/users/me")
    );
    let as_written = config.explain(&Call::new("alice", "/users/*")).matched;
    assert_eq!(as_written, Matched::ByPattern("/users/{id}"));

    let (limiter, _clock) = limiter(config);
    assert_eq!(limiter.allow("alice", "/users/7").limit_name(), Some("burst"));
    // The text of a pattern that denies is one of the segments that another stands for.
    assert!(limiter.allow("alice", "/users/*").allowed());
    assert!(!limiter.allow("alice", "GET /users/8").allowed());
    assert!(limiter.allow("root", "GET /users/8").allowed());
    assert!(limiter.allow("alice", "/users/me").allowed());
    assert_eq!(limiter.allow("alice", "/users/7/posts").reason(), Some(Reason::Blocked));
    assert_eq!(limiter.entry("GET /users/8").as_deref(), Some("/users/{id}"));
}

#[test]
fn a_reload_keeps_the_state_of_a_pattern_by_its_name() {
    let config =
        |tokens| Config::builder().default(bucket(1)).endpoint("/x/{id}", bucket(tokens)).build();
    let (limiter, _clock) = limiter(config(5).unwrap());
    assert_eq!(limiter.allow("alice", "/x/1").remaining(), 4);
    let _report = limiter.reload(config(10).unwrap());
    assert_eq!(limiter.allow("alice", "/x/2").remaining(), 8);
}

/// The bucket goes by the clock, and the day by the wall clock, which is elsewhere.
#[test]
fn each_limit_of_a_joint_decision_is_judged_at_the_time_of_its_own_timeline() {
    let limits = [Limit::new("burst", bucket(100)), Limit::new("day", daily(2))];
    let config = Config::builder().default(Policy::limits(limits)).build().unwrap();
    let (clock, wall) = (ManualClock::new(), ManualClock::new());
    wall.set(Time::from_millis(23 * HOUR));
    let limiter = RateLimiter::builder(config).clock(clock).wall_clock(WallTime(wall)).build();

    assert_eq!(limiter.allow("alice", "/").limit_name(), Some("day"));
    assert!(limiter.allow("alice", "/").allowed());
    let denied = limiter.allow("alice", "/");
    assert_eq!((denied.limit_name(), denied.retry_after_ms()), (Some("day"), Some(HOUR)));
    let at = limiter.decide(&Call::new("alice", "/").at(Time::from_millis(HOUR))).unwrap();
    assert!(at.allowed(), "an hour after now it is midnight");
}

/// A wall clock that is set by hand.
#[derive(Clone, Debug)]
struct WallTime(ManualClock);

impl tollgate::WallClock for WallTime {
    fn time_of_day(&self) -> Time {
        tollgate::Clock::now(&self.0)
    }
}

#[test]
fn a_ceiling_on_the_calendar_denies_until_the_period_ends() {
    let ceiling = Limit::new("all", daily(1)).scope(Scope::Global);
    let limits = [Limit::new("burst", bucket(100)), ceiling];
    let config = Config::builder().default(Policy::limits(limits)).build().unwrap();
    let (clock, wall) = (ManualClock::new(), ManualClock::new());
    wall.set(Time::from_millis(23 * HOUR));
    let limiter = RateLimiter::builder(config)
        .clock(clock.clone())
        .wall_clock(WallTime(wall.clone()))
        .build();
    assert!(limiter.allow("alice", "/").allowed());
    for _ in 0..3 {
        assert_eq!(limiter.allow("bob", "/").retry_after_ms(), Some(HOUR));
    }
    clock.set(Time::from_millis(HOUR));
    wall.set(Time::from_millis(24 * HOUR));
    assert!(limiter.allow("bob", "/").allowed());
}

#[test]
fn a_charge_on_the_calendar_is_given_back_until_its_period_ends() {
    let config = Config::builder().default(daily(2)).build().unwrap();
    let wall = ManualClock::new();
    wall.set(Time::from_millis(23 * HOUR));
    let limiter = RateLimiter::builder(config)
        .wall_clock(WallTime(wall.clone()))
        .clock(ManualClock::new())
        .build();
    let call = Call::new("alice", "/");
    let (_, receipt) = limiter.decide_with_receipt(&call);
    assert!(receipt.refund());
    assert_eq!(limiter.peek("alice", "/").remaining(), 2);
    let (_, receipt) = limiter.decide_with_receipt(&call);
    wall.set(Time::from_millis(24 * HOUR));
    assert!(!receipt.refund());
}

#[test]
fn a_wait_behind_others_is_the_longest_of_all_limits() {
    let limits = [
        Limit::new("fast", TokenBucket::per_second(10).burst(1)),
        Limit::new("slow", TokenBucket::per_second(1).burst(1)),
    ];
    let config = Config::builder().default(Policy::limits(limits)).build().unwrap();
    let (limiter, _clock) = limiter(config);
    let request = tollgate::Request::new(limiter.key("alice"));
    let wait = limiter.limiter("/").wait_behind(&[1, 1], request).unwrap();
    assert_eq!(wait, Some(Duration::from_secs(2)));
}

fn at_once(limit: u32) -> LimiterConfig {
    Concurrency::new(limit).into()
}

#[test]
fn calls_under_way_are_counted_by_client_by_tenant_or_all_together() {
    let scoped = |scope| Policy::limits([Limit::new("at once", at_once(1)).scope(scope)]);
    let config = Config::builder()
        .default(scoped(Scope::Client))
        .endpoint("/tenant", scoped(Scope::Tenant))
        .endpoint("/all", scoped(Scope::Global))
        .build()
        .unwrap();
    let (limiter, _clock) = limiter(config);
    let acquire = |client, endpoint| {
        limiter.acquire_for(&Call::new(client, endpoint).tenant("acme")).unwrap()
    };
    for (endpoint, others_are_denied) in [("/", false), ("/tenant", true), ("/all", true)] {
        let first = acquire("alice", endpoint);
        assert_eq!(first.result().limit_name(), Some("at once"));
        assert_eq!(acquire("bob", endpoint).allowed(), !others_are_denied, "{endpoint}");
        assert!(!acquire("alice", endpoint).allowed());
        drop(first);
        assert!(acquire("bob", endpoint).allowed());
    }
    let error = limiter.acquire_for(&Call::new("alice", "/tenant")).unwrap_err();
    assert!(matches!(error, CallError::TenantMissing(_)));
    assert_eq!(limiter.acquire("alice", "/tenant").result().reason(), Some(Reason::TenantMissing));
}

#[test]
fn a_price_is_so_many_places_and_exempt_clients_take_none() {
    let policy = Policy::from(at_once(3)).cost(2).exempt(["root"]);
    let (limiter, _clock) = limiter(Config::builder().default(policy).build().unwrap());
    let first = limiter.acquire("alice", "/");
    assert_eq!(first.result().remaining(), 1);
    assert!(!limiter.acquire("alice", "/").allowed());
    assert!(limiter.acquire("root", "/").allowed());
}
