//! Calls that wait, on a clock that stands still until everybody sleeps.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::arithmetic_side_effects, reason = "small numbers in tests")]

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Builder;
use tokio::task::{LocalSet, spawn_local, yield_now};
use tokio::time::{Instant, sleep, timeout};
use tollgate::{
    Call, CallError, Concurrency, Config, FixedWindow, Limit, LimiterConfig, Policy, RateLimiter,
    Reason, Scope, SlidingWindowLog, Time, TokenBucket,
};
use tollgate_tokio::{TokioClock, Waited, Waiting};

const LONG: Duration = Duration::from_secs(3_600);

fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    LocalSet::new().block_on(&runtime, test)
}

/// Waiting calls of one limiter for every endpoint. To be made while the clock runs.
fn waiting(limiter: impl Into<LimiterConfig>) -> Waiting {
    waiting_under(Policy::from(limiter))
}

fn waiting_under(policy: Policy) -> Waiting {
    let config = Config::builder().default(policy).build().unwrap();
    Waiting::new(Arc::new(RateLimiter::builder(config).clock(TokioClock::new()).build()))
}

fn millis(count: u64) -> Duration {
    Duration::from_millis(count)
}

/// What became of calls that were made one after another: when each came back, and how.
#[derive(Clone, Default)]
struct Diary(Rc<RefCell<Vec<Entry>>>);

/// Whose call, how many milliseconds after it was made, and what it came to.
type Entry = (&'static str, u128, &'static str);

impl Diary {
    /// Calls in a task of its own, and notes what came of it.
    fn call(&self, name: &'static str, waiting: &Rc<Waiting>, cost: u64, max_wait: Duration) {
        self.call_for(name, waiting, Call::new("alice", "/").cost(cost), max_wait);
    }

    fn call_for(
        &self,
        name: &'static str,
        waiting: &Rc<Waiting>,
        call: Call<'static>,
        max_wait: Duration,
    ) {
        let (diary, waiting, start) = (self.clone(), Rc::clone(waiting), Instant::now());
        spawn_local(async move {
            let waited = waiting.until_allowed_for(&call, max_wait).await;
            let word = match waited {
                Ok(Waited::Allowed(_)) => "allowed",
                Ok(Waited::TooLong(_)) => "too long",
                Ok(Waited::TooMany(_)) => "too many",
                Ok(_) => "never",
                Err(_) => "impossible",
            };
            diary.0.borrow_mut().push((name, start.elapsed().as_millis(), word));
        });
    }

    #[track_caller]
    fn reads(&self, expected: &[Entry]) {
        assert_eq!(*self.0.borrow(), expected);
    }
}

#[test]
fn a_call_waits_exactly_as_long_as_the_limiter_says() {
    run(async {
        let waiting = waiting(TokenBucket::per_second(3).burst(1));
        let start = Instant::now();
        for expected in [0, 334, 668, 1_002] {
            let waited = waiting.until_allowed("alice", "/", LONG).await;
            assert!(waited.allowed() && waited.result().allowed());
            assert_eq!(start.elapsed(), millis(expected));
        }
        assert_eq!(waiting.limiter().counts()[0].1.denied, 3, "each was asked for once too often");
    });
}

#[test]
fn a_wait_that_would_be_too_long_is_answered_at_once() {
    run(async {
        let waiting = waiting(TokenBucket::per_second(1).burst(1));
        let start = Instant::now();
        assert!(waiting.until_allowed("alice", "/", Duration::ZERO).await.allowed());
        let refused = waiting.until_allowed("alice", "/", millis(999)).await;
        assert!(matches!(refused, Waited::TooLong(_)));
        assert_eq!(refused.result().retry_after_ms(), Some(1_000));
        assert_eq!(start.elapsed(), Duration::ZERO);
        assert!(waiting.until_allowed("alice", "/", millis(1_000)).await.allowed());
        assert_eq!(start.elapsed(), millis(1_000));
        assert!(!waiting.until_allowed("alice", "/", Duration::ZERO).await.allowed());
        assert!(waiting.until_allowed("alice", "/", Duration::MAX).await.allowed());
    });
}

#[test]
fn what_can_never_be_met_is_an_error_and_what_promises_no_wait_is_denied_at_once() {
    run(async {
        let bucket = LimiterConfig::new(TokenBucket::per_second(1).burst(3)).max_keys(1);
        let waiting = waiting(bucket.on_full(tollgate::OnFull::Deny));
        let error = waiting.until_allowed_n("alice", "/", 4, LONG).await.unwrap_err();
        assert!(error.to_string().starts_with("a cost of 4 can never be met"));
        assert_eq!(error.result().limit(), 3);
        assert!(waiting.until_allowed_n("alice", "/", 0, LONG).await.unwrap().allowed());
        assert!(waiting.until_allowed("alice", "/", LONG).await.allowed());
        let denied = waiting.until_allowed("bob", "/", LONG).await;
        assert!(matches!(denied, Waited::Never(_)));
        assert_eq!(denied.result().reason(), Some(Reason::TableFull));
        assert_eq!(waiting.waiters(), 0);
    });
}

#[test]
fn who_comes_first_is_served_first_whatever_it_costs() {
    run(async {
        let waiting = Rc::new(waiting(TokenBucket::per_second(1).burst(3)));
        let diary = Diary::default();
        for (name, cost) in [("a", 3), ("b", 1), ("c", 3), ("look", 0), ("d", 1)] {
            diary.call(name, &waiting, cost, LONG);
        }
        sleep(millis(10_000)).await;
        diary.reads(&[
            ("a", 0, "allowed"),
            ("look", 0, "allowed"),
            ("b", 1_000, "allowed"),
            ("c", 4_000, "allowed"),
            ("d", 5_000, "allowed"),
        ]);
        assert_eq!(waiting.waiters(), 0);
    });
}

#[test]
fn behind_others_a_wait_is_reckoned_with_theirs() {
    run(async {
        let waiting = Rc::new(waiting(TokenBucket::per_second(1).burst(3)));
        let diary = Diary::default();
        for (name, cost, max_wait) in
            [("a", 3, 0), ("b", 1, 1_000), ("c", 1, 1_999), ("d", 1, 2_000), ("e", 2, 3_999)]
        {
            diary.call(name, &waiting, cost, millis(max_wait));
        }
        sleep(millis(10_000)).await;
        diary.reads(&[
            ("a", 0, "allowed"),
            ("c", 0, "too long"),
            // Together they want more than a bucket holds, and yet it is known.
            ("e", 0, "too long"),
            ("b", 1_000, "allowed"),
            ("d", 2_000, "allowed"),
        ]);
    });
}

/// A limit that is no obstacle, and one call a second for each tenant.
fn by_tenant() -> Policy {
    let company = Limit::new("company", TokenBucket::per_second(1).burst(1));
    Policy::limits([Limit::new("own", TokenBucket::per_second(100)), company.scope(Scope::Tenant)])
}

#[test]
fn calls_on_behalf_of_a_tenant_wait_for_what_the_tenant_may_use() {
    run(async {
        let (waiting, diary) = (Rc::new(waiting_under(by_tenant())), Diary::default());
        let call = |name, client, tenant, max_wait| {
            let call = Call::new(client, "/").tenant(tenant);
            diary.call_for(name, &waiting, call, max_wait);
        };
        call("a", "alice", "acme", LONG);
        call("b", "alice", "acme", LONG);
        call("c", "alice", "acme", LONG);
        // Behind two others, of whom the tenant's limit serves one a second.
        call("d", "alice", "acme", millis(2_999));
        // Another's quota: neither the client's line nor the tenant's.
        call("e", "alice", "other", LONG);
        sleep(millis(2_500)).await;
        call("f", "bob", "acme", LONG);
        sleep(millis(10_000)).await;
        diary.reads(&[
            ("a", 0, "allowed"),
            ("d", 0, "too long"),
            ("e", 0, "allowed"),
            ("b", 1_000, "allowed"),
            ("c", 2_000, "allowed"),
            ("f", 500, "allowed"),
        ]);
        assert_eq!(waiting.waiters(), 0);
    });
}

#[test]
fn lines_of_one_tenant_together_get_the_whole_rate_each_first_come_first_served() {
    run(async {
        let (waiting, diary) = (Rc::new(waiting_under(by_tenant())), Diary::default());
        for (name, client) in [("a", "alice"), ("1", "bob"), ("b", "alice"), ("2", "bob")] {
            diary.call_for(name, &waiting, Call::new(client, "/").tenant("acme"), LONG);
        }
        sleep(millis(10_000)).await;
        let entries = diary.0.borrow().clone();
        let times: Vec<_> = entries.iter().map(|(_, after, _)| *after).collect();
        assert_eq!(times, [0, 1_000, 2_000, 3_000]);
        for line in [["a", "b"], ["1", "2"]] {
            let served = entries.iter().map(|(name, ..)| *name).filter(|name| line.contains(name));
            assert_eq!(served.collect::<Vec<_>>(), line);
        }
    });
}

#[test]
fn a_call_that_lacks_its_tenant_is_an_error_and_waits_for_nothing() {
    run(async {
        let waiting = waiting_under(by_tenant());
        let error = waiting.until_allowed_for(&Call::new("alice", "/"), LONG).await.unwrap_err();
        assert!(matches!(error, CallError::TenantMissing(_)));
        let waited = waiting.until_allowed("alice", "/", LONG).await;
        assert!(matches!(waited, Waited::Never(_)));
        assert_eq!(waited.result().reason(), Some(Reason::TenantMissing));
    });
}

/// By that time alone a call would be told to come back again and again, and its time would be the limiter's.
#[test]
fn a_time_of_the_calls_own_is_passed_over() {
    run(async {
        let waiting = waiting(TokenBucket::per_second(1).burst(1));
        let recorded = Call::new("alice", "/").at(Time::from_millis(1_000_000));
        let start = Instant::now();
        for expected in [0, 1_000, 2_000] {
            assert!(waiting.until_allowed_for(&recorded, LONG).await.unwrap().allowed());
            assert_eq!(start.elapsed(), millis(expected));
        }
        assert_eq!(waiting.limiter().counts()[0].1.mark_ahead_ms, 0);
    });
}

#[test]
fn a_call_waits_for_a_lease_and_not_for_a_call_that_may_never_end() {
    run(async {
        let rate = || Limit::new("rate", TokenBucket::per_second(100));
        let at_once = Concurrency::new(1).unwrap();
        let endless = waiting_under(Policy::limits([rate(), Limit::new("at once", at_once)]));
        let _held = endless.limiter().acquire("alice", "/");
        let waited = endless.until_allowed("alice", "/", LONG).await;
        assert!(matches!(waited, Waited::Never(_)));
        assert_eq!(waited.result().reason(), Some(Reason::TooManyInFlight));

        let leased = at_once.lease(millis(700)).unwrap();
        let leased = waiting_under(Policy::limits([rate(), Limit::new("at once", leased)]));
        let start = Instant::now();
        for expected in [0, 700, 1_400] {
            assert!(leased.until_allowed("alice", "/", LONG).await.allowed());
            assert_eq!(start.elapsed(), millis(expected));
        }
    });
}

#[test]
fn so_many_wait_and_the_next_is_denied_at_once() {
    run(async {
        let limited = waiting(TokenBucket::per_second(1).burst(1)).waiters_per_line_max(2);
        let waiting = Rc::new(limited.waiters_max(3));
        let diary = Diary::default();
        for name in ["a", "b", "c", "d"] {
            diary.call(name, &waiting, 1, LONG);
        }
        yield_now().await;
        assert_eq!(waiting.waiters(), 2);
        // Another's line is another line, until so many wait in all.
        for name in ["bob", "carol"] {
            assert!(waiting.until_allowed(name, "/", LONG).await.allowed());
        }
        let bob = waiting.until_allowed("bob", "/", LONG);
        let carol = waiting.until_allowed("carol", "/", LONG);
        let (bob, carol) = tokio::join!(bob, carol);
        assert!(bob.allowed() && matches!(carol, Waited::TooMany(_)));
        sleep(millis(1_500)).await;
        diary.reads(&[
            ("a", 0, "allowed"),
            ("d", 0, "too many"),
            ("b", 1_000, "allowed"),
            ("c", 2_000, "allowed"),
        ]);
    });
}

#[test]
fn a_dropped_wait_charges_nothing_and_gives_its_place_back() {
    for dropped in 0..4 {
        for at_ms in [0, 500, 1_500, 2_500] {
            run(drop_one_of_four(dropped, at_ms));
        }
    }
}

#[expect(clippy::future_not_send, reason = "it runs in the thread that made it")]
async fn drop_one_of_four(dropped: u32, at_ms: u64) {
    let waiting = Rc::new(waiting(TokenBucket::per_second(1).burst(1)));
    assert!(waiting.until_allowed("alice", "/", LONG).await.allowed());
    let served = Rc::new(RefCell::new(Vec::new()));
    let start = Instant::now();
    for number in 0..4 {
        let (waiting, served) = (Rc::clone(&waiting), Rc::clone(&served));
        let most = if number == dropped { millis(at_ms) } else { LONG };
        spawn_local(async move {
            if timeout(most, waiting.until_allowed("alice", "/", LONG)).await.is_ok() {
                served.borrow_mut().push((number, start.elapsed().as_millis()));
            }
        });
    }
    sleep(millis(9_000)).await;
    // The one dropped was served before, or those behind it move up.
    let was_served = u64::from(dropped + 1) * 1_000 < at_ms;
    let numbers = (0..4).filter(|number| *number != dropped || was_served);
    let expected: Vec<_> = numbers.zip([1_000, 2_000, 3_000, 4_000]).collect();
    assert_eq!(*served.borrow(), expected, "{dropped} dropped at {at_ms} ms");
    assert_eq!(waiting.waiters(), 0);
    let charged = usize::try_from(waiting.limiter().counts()[0].1.allowed).unwrap();
    assert_eq!(charged, 1 + expected.len(), "what was dropped was not charged");
}

#[test]
fn who_takes_what_the_front_waits_for_makes_it_wait_anew() {
    run(async {
        let waiting = Rc::new(waiting(TokenBucket::per_second(1).burst(1)));
        let diary = Diary::default();
        for name in ["a", "b", "c"] {
            diary.call(name, &waiting, 1, millis(2_400));
        }
        // Just before the token is there, and again.
        sleep(millis(999)).await;
        assert!(!waiting.limiter().allow("alice", "/").allowed());
        waiting.limiter().reset("alice", "/");
        assert!(waiting.limiter().allow("alice", "/").allowed());
        sleep(millis(9_000)).await;
        diary.reads(&[
            ("a", 0, "allowed"),
            // It would have to wait until 1,999 and could; behind it the wait is 2,999.
            ("b", 1_999, "allowed"),
            ("c", 1_999, "too long"),
        ]);
    });
}

#[test]
fn a_reload_is_seen_by_those_who_wait() {
    run(async {
        let waiting = Rc::new(waiting(TokenBucket::per_second(1).burst(2)));
        let diary = Diary::default();
        for (name, cost) in [("a", 2), ("b", 1), ("c", 2)] {
            diary.call(name, &waiting, cost, LONG);
        }
        sleep(millis(500)).await;
        let slower = TokenBucket::per_second(1).burst(1);
        let config = Config::builder().default(slower).build().unwrap();
        let _report = waiting.limiter().reload(config);
        sleep(millis(9_000)).await;
        diary.reads(&[("a", 0, "allowed"), ("b", 1_500, "allowed"), ("c", 1_500, "impossible")]);
        assert_eq!(waiting.waiters(), 0);
    });
}

#[test]
fn r64_a_waiter_gets_the_whole_rate() {
    run(async {
        let waiting = waiting(TokenBucket::per_second(1_000).burst(1));
        let (start, mut served) = (Instant::now(), 0);
        while start.elapsed() < Duration::from_secs(3) {
            assert!(waiting.until_allowed("alice", "/", LONG).await.allowed());
            served += 1;
        }
        assert!((2_970..=3_030).contains(&served), "{served}");
    });
}

#[test]
fn r67_a_wait_that_is_not_polled_holds_nobody_up_and_a_dropped_one_returns_its_units() {
    run(async {
        let waiting = waiting(TokenBucket::per_second(1).burst(1));
        assert!(waiting.until_allowed("alice", "/", LONG).await.allowed());
        // Two that took their places and are held, then one that goes on.
        let mut held = [0, 1].map(|_| Box::pin(waiting.until_allowed("alice", "/", LONG)));
        for wait in &mut held {
            assert!(timeout(Duration::ZERO, wait).await.is_err());
        }
        let start = Instant::now();
        assert!(waiting.until_allowed("alice", "/", LONG).await.allowed());
        assert_eq!(
            start.elapsed(),
            millis(1_200),
            "a tenth of a second for each that does not move"
        );
        // The next is not held up at all, though the two are still there.
        assert!(waiting.until_allowed("alice", "/", LONG).await.allowed());
        assert_eq!(start.elapsed(), millis(2_200));
        let [first, second] = held;
        drop(first);
        assert_eq!(waiting.waiters(), 1);
        assert!(second.await.allowed());
        assert_eq!(waiting.waiters(), 0);
        assert_eq!(start.elapsed(), millis(3_200));
    });
}

#[test]
fn behind_one_that_is_not_polled_a_line_goes_on_at_the_rate() {
    run(async {
        let waiting = Rc::new(waiting(TokenBucket::per_second(100).burst(1)));
        assert!(waiting.until_allowed("alice", "/", LONG).await.allowed());
        let mut held = Box::pin(waiting.until_allowed("alice", "/", LONG));
        assert!(timeout(Duration::ZERO, &mut held).await.is_err());
        let diary = Diary::default();
        for name in ["a", "b", "c"] {
            diary.call(name, &waiting, 1, LONG);
        }
        sleep(millis(500)).await;
        // Once it is clear who is away, nobody waits for it again.
        diary.reads(&[("a", 110, "allowed"), ("b", 120, "allowed"), ("c", 130, "allowed")]);
        assert!(held.await.allowed());
    });
}

#[test]
fn l41_waits_keep_to_the_limit_of_each_window_they_fall_in() {
    run(async {
        let window = FixedWindow::new(3, Duration::from_secs(10)).unwrap();
        let waiting = Rc::new(waiting(window));
        let diary = Diary::default();
        for name in ["a", "b", "c", "d", "e", "f", "g", "h", "i"] {
            diary.call(name, &waiting, 1, millis(12_000));
        }
        sleep(millis(30_000)).await;
        diary.reads(&[
            ("a", 0, "allowed"),
            ("b", 0, "allowed"),
            ("c", 0, "allowed"),
            ("g", 0, "too long"),
            ("h", 0, "too long"),
            ("i", 0, "too long"),
            ("d", 10_000, "allowed"),
            ("e", 10_000, "allowed"),
            ("f", 10_000, "allowed"),
        ]);
    });
}

/// A wait is a promise of its own window: it is charged there, beside calls that do not wait.
#[test]
fn l82_a_wait_counts_in_the_window_it_was_promised_in() {
    run(async {
        let window = FixedWindow::new(2, Duration::from_secs(10)).unwrap();
        let waiting = Rc::new(waiting(window));
        let diary = Diary::default();
        for name in ["a", "b", "c"] {
            diary.call(name, &waiting, 1, LONG);
        }
        sleep(millis(10_000)).await;
        yield_now().await;
        diary.reads(&[("a", 0, "allowed"), ("b", 0, "allowed"), ("c", 10_000, "allowed")]);
        assert_eq!(waiting.limiter().allow("alice", "/").remaining(), 0);
        assert_eq!(waiting.limiter().allow("alice", "/").retry_after_ms(), Some(10_000));
    });
}

#[test]
fn l83_who_leaves_the_line_brings_nobody_nearer_than_the_rate() {
    for (dropped, expected) in [
        (&[1, 2][..], [Some(0), None, None, Some(100)]),
        (&[1], [Some(0), None, Some(100), Some(200)]),
    ] {
        run(async {
            let waiting = Rc::new(waiting(TokenBucket::per_second(10).burst(1)));
            let start = Instant::now();
            let calls: Vec<_> = (0..4)
                .map(|_| {
                    let waiting = Rc::clone(&waiting);
                    spawn_local(async move {
                        let waited = waiting.until_allowed("alice", "/", LONG).await;
                        waited.allowed().then(|| start.elapsed().as_millis())
                    })
                })
                .collect();
            yield_now().await;
            for index in dropped {
                calls[*index].abort();
            }
            let mut served = Vec::new();
            for call in calls {
                served.push(call.await.ok().flatten());
            }
            assert_eq!(served, expected, "{dropped:?}");
        });
    }
}

#[test]
fn l89_a_waiter_on_one_key_holds_up_no_other() {
    run(async {
        let log = SlidingWindowLog::new(1, Duration::from_secs(60)).unwrap();
        let waiting = Rc::new(waiting(log));
        let diary = Diary::default();
        diary.call("first", &waiting, 1, LONG);
        diary.call("second", &waiting, 1, LONG);
        yield_now().await;
        assert_eq!(waiting.waiters(), 1);
        let start = Instant::now();
        assert!(waiting.until_allowed("bob", "/", Duration::ZERO).await.allowed());
        assert_eq!(start.elapsed(), Duration::ZERO);
        sleep(millis(60_000)).await;
        yield_now().await;
        diary.reads(&[("first", 0, "allowed"), ("second", 60_000, "allowed")]);
    });
}

#[test]
fn a_wait_can_move_between_threads() {
    const fn assert_send<T: Send>(_: &T) {}
    let config = Config::builder().default(TokenBucket::per_second(1)).build().unwrap();
    let waiting = Waiting::new(Arc::new(RateLimiter::new(config)));
    assert_send(&waiting);
    assert_send(&waiting.until_allowed("alice", "/", LONG));
}

/// On threads and time as they are: everybody's turn comes, and nobody is left in a line.
#[test]
fn no_wake_up_is_lost_between_threads() {
    let bucket = TokenBucket::per_second(4_000).burst(8);
    let config = Config::builder().default(bucket).build().unwrap();
    let waiting = Waiting::new(Arc::new(RateLimiter::new(config)));
    let calls = |first: usize| {
        let runtime = Builder::new_current_thread().enable_time().build().unwrap();
        runtime.block_on(async {
            for turn in first..first + 60 {
                // Now and then one gives up on the way.
                let most = if turn % 7 == 0 { Duration::ZERO } else { LONG };
                let client = if turn % 2 == 0 { "alice" } else { "bob" };
                let ended = timeout(most, waiting.until_allowed(client, "/", LONG)).await;
                assert!(ended.map_or(turn % 7 == 0, |waited| waited.allowed()));
            }
        });
    };
    std::thread::scope(|scope| {
        for first in 0..6 {
            scope.spawn(move || calls(first));
        }
    });
    assert_eq!(waiting.waiters(), 0);
}
