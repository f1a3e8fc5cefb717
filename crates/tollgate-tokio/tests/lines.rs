//! Any calls, waits and cancellations, held to a slow model of a line.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::arithmetic_side_effects, reason = "small numbers in tests")]

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use proptest::collection::vec;
use proptest::prelude::*;
use tokio::runtime::Builder;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{Instant, sleep, timeout};
use tollgate::{
    Call, Config, FixedWindow, LimiterConfig, ManualClock, RateLimiter, SlidingWindowLog, Time,
    TokenBucket,
};
use tollgate_tokio::{TokioClock, Waited, Waiting};

const CLIENTS: [&str; 2] = ["alice", "bob"];

/// Bound on a line in these tests, often met.
const PER_LINE: usize = 4;

/// One call: how long after the one before it comes, whose it is, and what it is ready for.
#[derive(Clone, Debug)]
struct Plan {
    after_ms: u64,
    client: usize,
    cost: u64,
    max_wait_ms: u64,
    cancelled_after_ms: u64,
}

/// How a call ended, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Allowed(u64),
    TooLong(u64),
    TooMany(u64),
    Cancelled(u64),
}

impl End {
    fn at(self) -> u64 {
        match self {
            Self::Allowed(at) | Self::TooLong(at) | Self::TooMany(at) | Self::Cancelled(at) => at,
        }
    }
}

fn config(limiter: &LimiterConfig) -> Config {
    Config::builder().default(limiter.clone()).build().unwrap()
}

/// What the line did.
fn run(limiter: &LimiterConfig, plans: &[Plan]) -> Vec<End> {
    let runtime = Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    LocalSet::new().block_on(&runtime, async {
        let limiter = RateLimiter::builder(config(limiter)).clock(TokioClock::new()).build();
        let waiting = Rc::new(Waiting::new(Arc::new(limiter)).waiters_per_line_max(PER_LINE));
        let start = Instant::now();
        let mut calls = Vec::new();
        for plan in plans.iter().cloned() {
            sleep(Duration::from_millis(plan.after_ms)).await;
            let waiting = Rc::clone(&waiting);
            calls.push(spawn_local(async move {
                let max_wait = Duration::from_millis(plan.max_wait_ms);
                let call = waiting.until_allowed_n(CLIENTS[plan.client], "/", plan.cost, max_wait);
                let ended = timeout(Duration::from_millis(plan.cancelled_after_ms), call).await;
                let at = u64::try_from(start.elapsed().as_millis()).unwrap();
                match ended.map(|waited| waited.unwrap()) {
                    Err(_) => End::Cancelled(at),
                    Ok(Waited::Allowed(_)) => End::Allowed(at),
                    Ok(Waited::TooLong(_)) => End::TooLong(at),
                    Ok(Waited::TooMany(_)) => End::TooMany(at),
                    Ok(other) => panic!("{other:?}"),
                }
            }));
        }
        let mut ends = Vec::new();
        for call in calls {
            ends.push(call.await.unwrap());
        }
        assert_eq!(waiting.waiters(), 0, "every place was given back");
        ends
    })
}

/// What one client's line should do, call by call in the order they came; `None` where two things happen in the same
/// millisecond whose order is nobody's promise.
fn model(limiter: &LimiterConfig, calls: &[(u64, Plan)]) -> Option<Vec<End>> {
    let mut ends: Vec<End> = Vec::new();
    // When somebody in line gets its turn or is served.
    let mut moves = Vec::new();
    // When somebody comes, or gives up.
    let mut moments = Vec::new();
    for (came, plan) in calls {
        let came = *came;
        let in_line: Vec<_> = calls.iter().zip(&ends).filter(|(_, end)| end.at() > came).collect();
        let turn = in_line.iter().map(|(_, end)| end.at()).max().unwrap_or(came);
        let (deadline, cancelled) = (came + plan.max_wait_ms, came + plan.cancelled_after_ms);
        let told = reckoned(&reference(limiter, calls, &ends, came), &in_line, (came, plan.cost));
        let served = turn + wait(&reference(limiter, calls, &ends, turn), plan.cost, turn);
        let end = if told > deadline {
            End::TooLong(came)
        } else if served == came {
            End::Allowed(came)
        } else if in_line.len() >= PER_LINE {
            End::TooMany(came)
        } else {
            moves.extend([turn, served].into_iter().filter(|moment| *moment > came));
            moments.extend([deadline, cancelled]);
            match served <= deadline {
                _ if cancelled < turn.min(deadline) => End::Cancelled(cancelled),
                true if cancelled < served => End::Cancelled(cancelled),
                true => End::Allowed(served),
                // Whoever has its turn knows how long it takes.
                false => End::TooLong(turn.min(deadline)),
            }
        };
        moments.push(came);
        ends.push(end);
    }
    let tie = moments.iter().any(|moment| moves.contains(moment));
    (!tie).then_some(ends)
}

/// A limiter after all that was allowed until a moment.
fn reference(
    limiter: &LimiterConfig,
    calls: &[(u64, Plan)],
    ends: &[End],
    until: u64,
) -> RateLimiter {
    let limiter = RateLimiter::builder(config(limiter)).clock(ManualClock::new()).build();
    let mut charges: Vec<_> = calls
        .iter()
        .zip(ends)
        .filter_map(|((_, plan), end)| match end {
            End::Allowed(at) if *at <= until => Some((*at, plan.cost)),
            End::Allowed(_) | End::TooLong(_) | End::TooMany(_) | End::Cancelled(_) => None,
        })
        .collect();
    charges.sort_by_key(|(at, _)| *at);
    for (at, cost) in charges {
        let call = Call::new("x", "/").cost(cost).at(Time::from_millis(at));
        assert!(limiter.decide(&call).unwrap().allowed(), "never over");
    }
    limiter
}

/// When a call would be served, were all in line before it served as soon as they may.
fn reckoned(
    limiter: &RateLimiter,
    in_line: &[(&(u64, Plan), &End)],
    (came, cost): (u64, u64),
) -> u64 {
    let mut now = came;
    let costs = in_line.iter().map(|((_, plan), _)| plan.cost).chain([cost]);
    for cost in costs {
        now += wait(limiter, cost, now);
        let call = Call::new("x", "/").cost(cost).at(Time::from_millis(now));
        assert!(limiter.decide(&call).unwrap().allowed(), "a wait is enough");
    }
    now
}

/// How long a call has to wait at a moment.
fn wait(limiter: &RateLimiter, cost: u64, at: u64) -> u64 {
    let request = tollgate::Request::new(limiter.key("x")).cost(cost).at(Time::from_millis(at));
    limiter.limiter("/").look(request).unwrap().retry_after_ms().unwrap_or(0)
}

fn limiters() -> impl Strategy<Value = LimiterConfig> {
    let window = |ms| Duration::from_millis(ms);
    prop_oneof![
        (1..8_u32, 1..5_u32)
            .prop_map(|(rate, burst)| TokenBucket::per_second(rate).burst(burst).into()),
        (1..5_u32, 100..3_000_u64).prop_map(move |(max, ms)| SlidingWindowLog::new(
            max,
            window(ms)
        )
        .into()),
        (1..5_u32, 100..3_000_u64)
            .prop_map(move |(max, ms)| FixedWindow::new(max, window(ms)).into()),
    ]
}

fn plans() -> impl Strategy<Value = Vec<Plan>> {
    let soon_or_late = || prop_oneof![1 => 0..50_u64, 3 => 0..3_000_u64, 2 => Just(1_000_000_u64)];
    let plan = (0..700_u64, 0..2_usize, 1..3_u64, soon_or_late(), soon_or_late());
    let plan = plan.prop_map(|(after_ms, client, cost, max_wait_ms, cancelled_after_ms)| Plan {
        after_ms,
        client,
        cost,
        max_wait_ms,
        cancelled_after_ms,
    });
    vec(plan, 1..14)
}

proptest! {
    #[test]
    fn a_line_does_what_the_model_says(limiter in limiters(), mut plans in plans()) {
        let limit = RateLimiter::new(config(&limiter)).limiter("/").limit();
        for plan in &mut plans {
            plan.cost = plan.cost.min(u64::from(limit));
        }
        let ends = run(&limiter, &plans);
        let mut now = 0;
        let came: Vec<_> = plans
            .iter()
            .map(|plan| {
                now += plan.after_ms;
                (now, plan.clone())
            })
            .collect();
        for client in 0..CLIENTS.len() {
            let of_client = |plan: &Plan| plan.client == client;
            let calls: Vec<_> = came.iter().filter(|(_, plan)| of_client(plan)).cloned().collect();
            let of_line = plans.iter().zip(&ends).filter(|(plan, _)| of_client(plan));
            let ends: Vec<_> = of_line.map(|(_, end)| *end).collect();
            if let Some(expected) = model(&limiter, &calls) {
                prop_assert_eq!(ends, expected, "{:?}", calls);
            }
        }
    }
}
