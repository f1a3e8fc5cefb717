//! Recorded histories of threads that call at once: each is one that some order of the calls explains, one after another,
//! in which no call comes before one that had ended when it began.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::arithmetic_side_effects, reason = "small numbers in tests")]

use std::collections::{HashSet, VecDeque};
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use tollgate::{
    Call, Concurrency, Config, FixedWindow, Limit, ManualClock, Policy, RateLimiter, Scope,
    SlidingWindowLog, TokenBucket,
};

const CLIENTS: [&str; 2] = ["a", "b"];
const TENANTS: [&str; 2] = ["t", "u"];

/// Which limits count calls under way, where any do.
const ENDING: [usize; 2] = [0, 1];

/// A limit of the sequential model: nothing comes back but by the end of a call, since the clock stands still.
#[derive(Clone, Copy, Debug)]
struct Quota {
    index: usize,
    scope: Scope,
    most: u64,
    counts_calls_under_way: bool,
}

/// One call and its answer, or its end, and when that began and ended by a counter that all threads raise.
#[derive(Clone, Copy, Debug)]
struct Recorded {
    /// By thread and number; the end of a call has the same.
    id: (usize, usize),
    /// Whether it is the end of a call, and by which limit: places are returned one after another.
    ends_in: Option<usize>,
    client: usize,
    tenant: usize,
    cost: u64,
    began: u64,
    ended: u64,
    allowed: bool,
    remaining: u64,
}

impl Quota {
    /// What calls have taken of the limit that this one is held to, and not returned.
    fn used(self, done: &[Recorded], call: &Recorded) -> u64 {
        let ends = |other: &Recorded| other.ends_in == Some(self.index);
        let is_over = |other: &Recorded| done.iter().any(|end| ends(end) && end.id == other.id);
        let same = |other: &&Recorded| match self.scope {
            Scope::Client => other.client == call.client,
            Scope::Tenant => other.tenant == call.tenant,
            Scope::Global | _ => true,
        };
        let counts = |other: &&Recorded| other.ends_in.is_none() && other.allowed;
        let holds = |other: &&Recorded| !self.counts_calls_under_way || !is_over(other);
        let counted = done.iter().filter(counts).filter(same).filter(holds);
        counted.map(|other| other.cost).sum()
    }
}

/// Whether the sequential model answers a call as it was answered, after others.
fn explains(quotas: &[Quota], done: &[Recorded], call: &Recorded) -> bool {
    if call.ends_in.is_some() {
        return true;
    }
    let left = |quota: &Quota| quota.most - quota.used(done, call);
    let allowed = quotas.iter().all(|quota| left(quota) >= call.cost);
    let charged = if allowed { call.cost } else { 0 };
    let remaining = quotas.iter().map(|quota| left(quota) - charged).min().unwrap();
    // Where a ceiling denies, the figures of the others are of a moment during the call.
    let exact = allowed || quotas.iter().all(|quota| quota.scope != Scope::Global);
    call.allowed == allowed && (!exact || call.remaining == remaining)
}

/// Searches for an order that explains a history.
fn is_linearizable(quotas: &[Quota], history: &[Recorded]) -> bool {
    let (mut seen, mut open) = (HashSet::new(), vec![0_u64]);
    let all = (1_u64 << history.len()) - 1;
    while let Some(done) = open.pop() {
        if done == all {
            return true;
        }
        if !seen.insert(done) {
            continue;
        }
        let is_done = |index: usize| done >> index & 1 == 1;
        let calls = |wanted: bool| {
            let indexed = history.iter().enumerate();
            indexed.filter(move |(index, _)| is_done(*index) == wanted)
        };
        let before: Vec<_> = calls(true).map(|(_, call)| *call).collect();
        let first_end = calls(false).map(|(_, call)| call.ended).min().unwrap();
        let next = calls(false)
            .filter(|(_, call)| call.began <= first_end && explains(quotas, &before, call))
            .map(|(index, _)| done | 1 << index);
        open.extend(next);
    }
    false
}

/// Has threads call at once, and records what they are told. Each ends the call before its last one.
fn record(limiter: &RateLimiter, threads: usize, calls: usize, round: usize) -> Vec<Recorded> {
    let (counter, together) = (AtomicU64::new(0), Barrier::new(threads));
    let tick = || counter.fetch_add(1, Ordering::SeqCst);
    let call = |thread: usize, number: usize| {
        let drawn = (thread * 7 + number * 13 + round * 31) % 60;
        let (client, tenant, cost) = (drawn % 2, drawn / 2 % 2, [1, 1, 2][drawn % 3]);
        let asked = Call::new(CLIENTS[client], "/").tenant(TENANTS[tenant]).cost(cost);
        let began = tick();
        let permit = limiter.acquire_for(&asked).unwrap();
        let ended = tick();
        let (allowed, remaining) = (permit.allowed(), permit.result().remaining());
        let (id, ends_in) = ((thread, number), None);
        let call = Recorded { id, ends_in, client, tenant, cost, began, ended, allowed, remaining };
        (call, permit)
    };
    let run = |thread: usize| {
        together.wait();
        let (mut recorded, mut under_way) = (Vec::new(), VecDeque::new());
        for number in 0..calls {
            let (call, permit) = call(thread, number);
            recorded.push(call);
            under_way.push_back((call, permit));
            if number % 2 == 1 {
                let (call, permit) = under_way.pop_front().unwrap();
                let began = tick();
                drop(permit);
                let ended = tick();
                let end = |limit| Recorded { ends_in: Some(limit), began, ended, ..call };
                recorded.extend(ENDING.map(end));
            }
        }
        // What is under way still when a thread is done stays so until all are.
        (recorded, under_way)
    };
    thread::scope(|scope| {
        let run = &run;
        let threads: Vec<_> = (0..threads).map(|thread| scope.spawn(move || run(thread))).collect();
        let done: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        done.into_iter().flat_map(|(recorded, _under_way)| recorded).collect()
    })
}

#[test]
fn every_recorded_history_is_explained_by_some_order_of_its_calls() {
    let window = Duration::from_secs(3_600);
    let quotas = |scopes: [Scope; 3]| {
        let most = [4, 5, 6];
        [0, 1, 2].map(|index: usize| Quota {
            index,
            scope: scopes[index],
            most: most[index],
            counts_calls_under_way: false,
        })
    };
    let mixed = [Scope::Client, Scope::Tenant, Scope::Global];
    for scopes in [[Scope::Client; 3], mixed, [Scope::Tenant, Scope::Client, Scope::Tenant]] {
        for round in 0..300 {
            let limits = Policy::limits([
                Limit::new("log", SlidingWindowLog::new(4, window)).scope(scopes[0]),
                Limit::new("bucket", TokenBucket::per_hour(1).burst(5)).scope(scopes[1]),
                Limit::new("window", FixedWindow::new(6, window)).scope(scopes[2]),
            ]);
            let config = Config::builder().default(limits).build().unwrap();
            let limiter = RateLimiter::builder(config).clock(ManualClock::new()).build();
            let history = record(&limiter, 4, 4, round);
            assert!(is_linearizable(&quotas(scopes), &history), "{scopes:?}\n{history:#?}");
        }
    }
}

#[test]
fn histories_of_calls_that_end_are_explained_too() {
    let mixed = [Scope::Client, Scope::Tenant, Scope::Global];
    for scopes in [mixed, [Scope::Global, Scope::Client, Scope::Client], [Scope::Client; 3]] {
        let quotas = [(0, 3, true), (1, 4, true), (2, 12, false)];
        let quotas = quotas.map(|(index, most, counts_calls_under_way): (usize, _, _)| Quota {
            index,
            scope: scopes[index],
            most,
            counts_calls_under_way,
        });
        let window = Duration::from_secs(3_600);
        let lease = Concurrency::new(4).unwrap().lease(window);
        for round in 0..300 {
            let limits = Policy::limits([
                Limit::new("at once", Concurrency::new(3)).scope(scopes[0]),
                Limit::new("leased", lease.clone()).scope(scopes[1]),
                Limit::new("rate", FixedWindow::new(12, window)).scope(scopes[2]),
            ]);
            let config = Config::builder().default(limits).build().unwrap();
            let limiter = RateLimiter::builder(config).clock(ManualClock::new()).build();
            let history = record(&limiter, 4, 4, round);
            assert!(is_linearizable(&quotas, &history), "{scopes:?}\n{history:#?}");
        }
    }
}

#[test]
fn a_history_that_no_order_explains_is_found() {
    let quota = Quota { index: 0, scope: Scope::Client, most: 1, counts_calls_under_way: false };
    let quotas = [quota];
    let call = |began, ended, allowed| Recorded {
        id: (0, 0),
        ends_in: None,
        client: 0,
        tenant: 0,
        cost: 1,
        began,
        ended,
        allowed,
        remaining: 0,
    };
    let twice = [call(0, 3, true), call(1, 2, true)];
    let denied_first = [call(0, 1, false), call(2, 3, true)];
    assert!(!is_linearizable(&quotas, &twice) && !is_linearizable(&quotas, &denied_first));
    assert!(is_linearizable(&quotas, &[call(0, 2, false), call(1, 3, true)]));
    let place = [Quota { counts_calls_under_way: true, ..quota }];
    let end = |began, ended| Recorded { ends_in: Some(0), ..call(began, ended, true) };
    let next = |began, ended| Recorded { id: (1, 0), ..call(began, ended, true) };
    assert!(is_linearizable(&place, &[call(0, 1, true), end(2, 3), next(4, 5)]));
    assert!(is_linearizable(&place, &[call(0, 1, true), end(2, 4), next(3, 5)]));
    assert!(!is_linearizable(&place, &[call(0, 1, true), end(4, 5), next(2, 3)]));
    assert!(!is_linearizable(&quotas, &[call(0, 1, true), end(2, 3), next(4, 5)]));
}
