//! The configs of the guide: each is loaded and does what the guide says of it.

use std::time::Duration;

use tollgate::{Call, ManualClock, RateLimiter};

use crate::files::in_repository;
use crate::process::run;

const GUIDE: &str = include_str!("../../../../docs/guide/policies.md");

fn start(name: &str) -> (RateLimiter, ManualClock) {
    let path = in_repository(&format!("examples/policies/{name}.yaml"));
    let config = tollgate_config::load(path).unwrap_or_else(|faults| panic!("{faults}"));
    let clock = ManualClock::new();
    (RateLimiter::builder(config).clock(clock.clone()).build(), clock)
}

/// How many of so many calls of cost 1 are allowed, and which limit speaks last.
fn allowed(limiter: &RateLimiter, call: &Call<'_>, calls: usize) -> (usize, Option<&'static str>) {
    let results: Vec<_> = (0..calls).map(|_| limiter.decide(call)).collect();
    let is_allowed = |decided: &&tollgate::Decided| decided.is_ok_and(|result| result.allowed());
    let last = results.last().and_then(|decided| decided.ok()?.limit_name());
    (results.iter().filter(is_allowed).count(), last)
}

#[test]
fn every_config_of_the_folder_is_in_the_guide_as_it_is() {
    let folder = std::fs::read_dir(in_repository("examples/policies")).unwrap();
    let mut configs = 0;
    for path in folder.map(|entry| entry.unwrap().path()) {
        let text = std::fs::read_to_string(&path).unwrap();
        let shown = format!("```yaml\n{text}```");
        assert!(GUIDE.contains(&shown), "{} is not in the guide", path.display());
        let checked = run(["check", path.to_str().unwrap()]);
        assert_eq!((checked.status, checked.stderr.as_str()), (Some(0), ""));
        configs += 1;
    }
    assert_eq!(GUIDE.matches("```yaml\n").count(), configs);
}

#[test]
fn a_burst_and_a_day_hold_together() {
    let (limiter, clock) = start("burst-and-day");
    let call = Call::new("alice", "/x");
    assert_eq!(allowed(&limiter, &call, 30), (20, Some("burst")));
    let mut in_all = 20;
    for _ in 0..4_998 {
        clock.advance(Duration::from_secs(1));
        in_all += allowed(&limiter, &call, 10).0;
    }
    clock.advance(Duration::from_secs(1));
    assert_eq!((in_all, allowed(&limiter, &call, 11)), (50_000, (0, Some("day"))));
}

#[test]
fn users_tenants_and_all_together_have_their_own_limits() {
    let (limiter, _clock) = start("user-and-global");
    let names: Vec<_> = (0..600).map(|number| format!("user {number}")).collect();
    let tenants: Vec<_> = (0..60).map(|number| format!("tenant {number}")).collect();
    let user = |number: usize| Call::new(&names[number], "/x").tenant(&tenants[number / 10]);
    assert_eq!(allowed(&limiter, &user(0), 15), (10, Some("user")));
    let others: usize = (1..10).map(|number| allowed(&limiter, &user(number), 10).0).sum();
    assert_eq!(others, 90);
    let eleventh = Call::new("user 600", "/y").tenant("tenant 0");
    assert_eq!(allowed(&limiter, &eleventh, 1), (0, Some("tenant")));
    let rest: usize = (10..600).map(|number| allowed(&limiter, &user(number), 10).0).sum();
    assert_eq!(rest, 4_900);
    let late = Call::new("late", "/z").tenant("another");
    assert_eq!(allowed(&limiter, &late, 1), (0, Some("all")));
    assert_eq!(allowed(&limiter, &Call::new("probe", "/healthz"), 1_000).0, 1_000);
}

#[test]
fn exports_are_counted_by_the_minute_and_while_they_run() {
    let (limiter, clock) = start("rate-and-at-once");
    let acquire = |client: &str| limiter.acquire(client, "POST /exports");
    let mut running = vec![acquire("alice"), acquire("alice")];
    let third = acquire("alice").result();
    assert_eq!((third.limit_name(), third.retry_after_ms()), (Some("at-once"), Some(300_000)));
    running.extend(["bob", "bob", "carol", "carol", "dave", "dave"].map(acquire));
    assert!(running.iter().all(tollgate::Permit::allowed));
    assert_eq!(acquire("erin").result().limit_name(), Some("everybody"));
    running.clear();
    assert_eq!((0..20).filter(|_| acquire("alice").allowed()).count(), 8, "ten in all");
    assert_eq!(acquire("alice").result().limit_name(), Some("rate"));
    let lost: Vec<_> = ["bob", "bob"].map(acquire).into_iter().map(std::mem::forget).collect();
    assert_eq!((lost.len(), acquire("bob").allowed()), (2, false));
    clock.advance(Duration::from_secs(300));
    assert!(acquire("bob").allowed());
}

#[test]
fn guesses_are_counted_successes_given_back_and_those_who_go_on_locked_out() {
    let (limiter, clock) = start("login");
    let login = Call::new("alice", "POST /login");
    for _ in 0..20 {
        let (decided, receipt) = limiter.decide_with_receipt(&login);
        assert!(decided.unwrap().allowed() && receipt.refund(), "a success costs nothing");
    }
    assert_eq!(allowed(&limiter, &login, 14), (5, Some("attempts")));
    assert_eq!(allowed(&limiter, &login, 1), (0, Some("penalty")));
    clock.advance(Duration::from_secs(3_599));
    assert_eq!(allowed(&limiter, &login, 1), (0, Some("penalty")));
    clock.advance(Duration::from_secs(1));
    assert_eq!(allowed(&limiter, &login, 1).0, 1);
}

#[test]
fn clients_get_what_their_plan_gives_and_win_nothing_by_changing_it() {
    let (limiter, clock) = start("plans");
    let (free, pro) = (Call::new("carol", "/x").plan("free"), Call::new("carol", "/x").plan("pro"));
    assert_eq!(allowed(&limiter, &free, 15), (10, Some("minute")));
    assert_eq!(allowed(&limiter, &pro, 1_000), (990, Some("minute")));
    assert_eq!(allowed(&limiter, &free, 1), (0, Some("day")));
    clock.advance(Duration::from_secs(60));
    assert_eq!(allowed(&limiter, &free, 1), (0, Some("day")));
    assert_eq!(allowed(&limiter, &pro, 1_001), (1_000, Some("minute")));
    assert_eq!(allowed(&limiter, &Call::new("alice", "/x").plan("free"), 1_001).0, 1_000);
    assert_eq!(allowed(&limiter, &Call::new("acme-7", "/x"), 1_001).0, 1_000);
    assert_eq!(allowed(&limiter, &Call::new("acme-8", "/x").plan("free"), 11).0, 10);
    assert_eq!(allowed(&limiter, &Call::new("dave", "/x").plan("gold"), 11).0, 10);
    assert_eq!(limiter.unknown_plans(), 11);
    assert_eq!(allowed(&limiter, &Call::new("bob", "/x"), 5_001).0, 5_000);
}

#[test]
fn a_planned_limit_is_tried_and_then_enforced_with_the_state_it_has() {
    let (limiter, _clock) = start("shadow");
    let call = Call::new("alice", "/x");
    assert_eq!(allowed(&limiter, &call, 50), (50, Some("today")));
    let planned = limiter.limit_counts().remove(1).counts;
    assert_eq!((planned.allowed, planned.denied), (30, 20));
    let path = in_repository("examples/policies/shadow.yaml");
    let enforced = std::fs::read_to_string(path).unwrap().replace("mode: shadow", "mode: enforce");
    let factory = tollgate::LimiterFactory::new();
    let format = tollgate_config::Format::Yaml;
    let config = tollgate_config::parse(&enforced, format, "enforced.yaml", &factory).unwrap();
    let _report = limiter.reload(config);
    assert_eq!(allowed(&limiter, &call, 1), (0, Some("planned")));
}
