//! What a key owes is joined into a cell when the key has to leave. For the bucket and the log, the joined state is at
//! least as strict as each part, at every later time and after any admissions; joining is commutative, associative
//! and idempotent. Checked exhaustively for small parameters. (The two window kinds keep the promise over intervals
//! instead; the flood tests check that.)

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::time::Duration;

use tollgate::algorithm::SlidingWindowLogState;
use tollgate::{Algorithm, SlidingWindowLog, Time, TokenBucket};

/// The states a key can be in after up to three calls at these times and costs.
fn reachable<A: Algorithm>(algorithm: &A, times: &[u64], costs: &[u32]) -> Vec<A::State> {
    let calls = || times.iter().flat_map(|at| costs.iter().map(|cost| (*at, *cost)));
    let mut reached = vec![(A::State::default(), 0)];
    let mut last = reached.clone();
    for _ in 0..3 {
        let after = |(state, since): &(A::State, u64)| {
            let (state, since) = (state.clone(), *since);
            let later = calls().filter(move |(at, _)| *at >= since);
            later.filter_map(move |call| Some((charged(algorithm, &state, call)?, call.0)))
        };
        last = last.iter().flat_map(after).collect();
        reached.extend(last.iter().cloned());
    }
    reached.into_iter().map(|(state, _)| state).collect()
}

/// The state after a call, where it is allowed.
fn charged<A: Algorithm>(
    algorithm: &A,
    state: &A::State,
    (at, cost): (u64, u32),
) -> Option<A::State> {
    let time = Time::from_millis(at);
    let mut after = state.clone();
    algorithm
        .decide(state, time, cost)
        .allowed()
        .then(|| algorithm.charge(&mut after, time, cost))?;
    Some(after)
}

/// The largest cost admitted, at each of these later times.
fn admitted<A: Algorithm>(algorithm: &A, state: &A::State, times: &[u64]) -> Vec<u32> {
    let largest = |at: &u64| {
        let admits = |cost: &u32| algorithm.decide(state, Time::from_millis(*at), *cost).allowed();
        (0..=algorithm.limit()).rev().find(admits).unwrap()
    };
    times.iter().map(largest).collect()
}

fn joined<A: Algorithm>(algorithm: &A, a: &A::State, b: &A::State, at: u64) -> A::State {
    let mut state = a.clone();
    algorithm.join(&mut state, b, Time::from_millis(at));
    state
}

fn check<A: Algorithm>(algorithm: &A, times: &[u64], costs: &[u32], later: &[u64]) {
    let states = reachable(algorithm, times, costs);
    let now = *times.last().unwrap();
    let admits = |state: &A::State| admitted(algorithm, state, later);
    for a in &states {
        assert_eq!(admits(&joined(algorithm, a, a, now)), admits(a), "idempotent");
        for b in &states {
            let both = joined(algorithm, a, b, now);
            assert_eq!(admits(&both), admits(&joined(algorithm, b, a, now)), "commutative");
            let strictest: Vec<u32> =
                admits(a).into_iter().zip(admits(b)).map(|(a, b)| a.min(b)).collect();
            let is_strict = admits(&both).iter().zip(&strictest).all(|(both, one)| both <= one);
            assert!(is_strict, "{a:?} with {b:?}: {:?} beyond {strictest:?}", admits(&both));
            stays_strict(algorithm, (a, b, &both), now, later);
        }
    }
    for (a, b, c) in states.iter().step_by(7).flat_map(|a| {
        let triples = states.iter().step_by(11).zip(states.iter().skip(3).step_by(5));
        triples.map(move |(b, c)| (a, b, c))
    }) {
        let left = joined(algorithm, &joined(algorithm, a, b, now), c, now);
        let right = joined(algorithm, a, &joined(algorithm, b, c, now), now);
        assert_eq!(admits(&left), admits(&right), "associative");
    }
}

/// After a further admission to all three, the joined state is still at least as strict as either.
fn stays_strict<A: Algorithm>(
    algorithm: &A,
    (a, b, both): (&A::State, &A::State, &A::State),
    now: u64,
    later: &[u64],
) {
    for at in later.iter().filter(|at| **at >= now) {
        if charged(algorithm, both, (*at, 1)).is_none() {
            continue;
        }
        let after =
            |state| admitted(algorithm, &charged(algorithm, state, (*at, 1)).unwrap(), later);
        let (a, b, both) = (after(a), after(b), after(both));
        let is_strict = both.iter().zip(a.iter().zip(&b)).all(|(both, (a, b))| both <= a.min(b));
        assert!(is_strict, "after a charge at {at} ms: {both:?} beyond {a:?} or {b:?}");
    }
}

#[test]
fn a_joined_bucket_is_at_least_as_strict_as_both() {
    let bucket = TokenBucket::per_second(3).burst(3).build().unwrap();
    check(&bucket, &[0, 100, 333, 1_000], &[1, 2], &[1_000, 1_001, 1_333, 1_334, 1_999, 2_500]);
}

#[test]
fn a_joined_log_is_at_least_as_strict_as_both() {
    let log = SlidingWindowLog::new(4, Duration::from_secs(1)).unwrap();
    check(&log, &[0, 1, 500, 1_000], &[1, 2, 3], &[1_000, 1_001, 1_499, 1_500, 1_999, 2_000]);
}

#[test]
fn a_joined_log_is_as_long_as_the_longer_one() {
    let log = SlidingWindowLog::new(1_000, Duration::from_secs(1)).unwrap();
    let early = charged(&log, &SlidingWindowLogState::default(), (0, 600)).unwrap();
    let late = charged(&log, &SlidingWindowLogState::default(), (10, 3)).unwrap();
    let both = joined(&log, &early, &late, 10);
    assert_eq!(log.debt(&both, Time::from_millis(10)), 600);
    assert_eq!(log.debt(&both, Time::from_millis(1_000)), 3, "the three latest are the late one's");
}
