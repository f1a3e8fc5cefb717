//! Everything that is measured, workload by workload, and what must come out of it.

use crate::contenders::{Setting, Who, full};
use crate::keys::{Calls, Order};
use crate::latency::{self, Latency, Phase};
use crate::quota::Quota;
use crate::report::{self, Bound, Gate};
use crate::sliding_log;
use crate::stage::{Drive, Outcome, Stage};

use Bound::{AtLeast, AtMost};

/// How much is measured, and of whom.
#[derive(Clone, Copy)]
pub struct Pace {
    rounds: usize,
    calls: usize,
    whos: &'static [Who],
}

impl Pace {
    /// All contenders.
    const FULL: Self = Self { rounds: 7, calls: 1_000_000, whos: &Who::ALL };

    /// The main rows, quickly.
    const QUICK: Self = Self {
        rounds: 3,
        calls: 500_000,
        whos: &[
            Who::Null,
            Who::Floor,
            Who::FloorPassed,
            Who::Limiter,
            Who::LimiterPassed,
            Who::RateLimiter,
            Who::AllowMany,
            Who::Governor,
            Who::GovernorPassed,
        ],
    };
}

/// Who is asked from two threads as well.
const ON_TWO_THREADS: [Who; 6] = [
    Who::Floor,
    Who::FloorPassed,
    Who::Limiter,
    Who::LimiterPassed,
    Who::Governor,
    Who::GovernorPassed,
];

/// Who still takes part at ten million keys.
const AT_TEN_MILLION: [Who; 5] =
    [Who::Null, Who::Floor, Who::Limiter, Who::AllowMany, Who::Governor];

/// Measures everything and prints it; says whether every gate is met.
pub fn all() -> bool {
    let gates = [
        hot_key(Pace::FULL),
        denied_key(Pace::FULL),
        thousand_keys(Pace::FULL),
        million_keys(Pace::FULL),
        ten_million_keys(Pace::FULL),
        memory(1_000_000),
        memory(10_000_000),
        latencies(),
        logs(),
    ]
    .concat();
    report::print_gates(&gates);
    gates.iter().all(Gate::is_met)
}

/// Measures the main rows and prints them with their gates, which are only for information: few rounds are noisy.
pub fn quick() {
    let gates = [
        hot_key(Pace::QUICK),
        denied_key(Pace::QUICK),
        thousand_keys(Pace::QUICK),
        million_keys(Pace::QUICK),
        memory(1_000_000),
    ]
    .concat();
    report::print_gates(&gates);
}

fn hot_key(pace: Pace) -> Vec<Gate> {
    let stage = Stage::fill(Setting::new(1, Quota::FAST), pace.whos);
    let [one, _two] = one_and_two_threads(&stage, "one key", pace);
    vec![
        against_governor("hot key", Who::LimiterPassed, 2.5, &one),
        against_floor("hot key", Who::LimiterPassed, 1.6, &one),
        against_governor("hot key", Who::Limiter, 1.5, &one),
        against_floor("hot key", Who::Limiter, 1.5, &one),
        no_allocation(&stage, Who::Limiter),
        no_allocation(&stage, Who::RateLimiter),
    ]
}

fn denied_key(pace: Pace) -> Vec<Gate> {
    // Who does nothing denies nothing.
    let whos: Vec<_> = pace.whos.iter().copied().filter(|who| *who != Who::Null).collect();
    let stage = Stage::fill(Setting::new(1, Quota::SPENT), &whos);
    let [one, two] = one_and_two_threads(&stage, "one key, denied", pace);
    vec![
        against_governor("hot key, denied", Who::LimiterPassed, 3.0, &one),
        // Some noise is no loss.
        Gate::ratio(
            "hot key, denied, `now` passed: speed of each of two threads against one alone",
            AtLeast(0.95),
            one.nanos(Who::LimiterPassed) / two.nanos(Who::LimiterPassed),
        ),
    ]
}

fn thousand_keys(pace: Pace) -> Vec<Gate> {
    const KEYS: usize = 1_000;
    let stage = Stage::fill(Setting::new(KEYS, Quota::SLOW), pace.whos);
    let drive = Drive::uniform("1,000 keys, uniform", KEYS, pace.calls, pace.whos);
    let [uniform] = measured(&stage, pace, [drive]);
    vec![
        against_governor("1,000 keys", Who::Limiter, 1.5, &uniform),
        against_floor("1,000 keys", Who::Limiter, 1.6, &uniform),
        against_governor("1,000 keys", Who::RateLimiter, 1.3, &uniform),
    ]
}

fn million_keys(pace: Pace) -> Vec<Gate> {
    const KEYS: usize = 1_000_000;
    let stage = Stage::fill(Setting::new(KEYS, Quota::SLOW), pace.whos);
    let zipf = vec![Calls::drawn(Order::Zipf, KEYS, pace.calls, 0)];
    let drives = [
        Drive::new("1,000,000 keys, Zipf", zipf, pace.whos),
        Drive::uniform("1,000,000 keys, uniform", KEYS, pace.calls, pace.whos),
        Drive::two_threads(
            "1,000,000 keys, uniform, two threads",
            KEYS,
            pace.calls,
            &ON_TWO_THREADS,
        ),
    ];
    let [zipf, uniform, two] = measured(&stage, pace, drives);
    let gain = |who| uniform.nanos(who) / two.nanos(who);
    let mut gates = vec![
        against_governor("1,000,000 keys, Zipf", Who::Limiter, 3.0, &zipf),
        against_floor("1,000,000 keys, Zipf", Who::Limiter, 2.0, &zipf),
        against_governor("1,000,000 keys, uniform", Who::Limiter, 4.0, &uniform),
        against_floor("1,000,000 keys, uniform", Who::Limiter, 2.3, &uniform),
        against_governor("1,000,000 keys", Who::RateLimiter, 3.0, &uniform),
        Gate::ratio(
            "1,000,000 keys: gain of two threads against one, of the floor's gain",
            AtLeast(0.9),
            gain(Who::Limiter) / gain(Who::Floor),
        ),
    ];
    gates.extend(batches("1,000,000 keys", 10.0, &uniform));
    gates
}

fn ten_million_keys(pace: Pace) -> Vec<Gate> {
    const KEYS: usize = 10_000_000;
    let stage = Stage::fill(Setting::new(KEYS, Quota::SLOW), &AT_TEN_MILLION);
    let drive = Drive::uniform("10,000,000 keys, uniform", KEYS, pace.calls, &AT_TEN_MILLION);
    let [uniform] = measured(&stage, pace, [drive]);
    let mut gates = vec![
        against_governor("10,000,000 keys", Who::Limiter, 6.0, &uniform),
        against_floor("10,000,000 keys", Who::Limiter, 2.5, &uniform),
    ];
    gates.extend(batches("10,000,000 keys", 20.0, &uniform));
    gates
}

fn memory(keys: usize) -> Vec<Gate> {
    let full = full(keys);
    report::print_full(keys, &full);
    let what = format!("memory at the bound, {} keys", report::grouped(keys));
    vec![Gate::figure(&what, AtMost(36.0), full.bytes_per_key(), "bytes a key")]
}

fn latencies() -> Vec<Gate> {
    const KEYS: usize = 1_000_000;
    const ROUNDS: usize = 5;
    let [steady, filling, presized] = Phase::ALL.map(|phase| {
        let latencies = latency::measure(phase, KEYS, ROUNDS);
        report::print_latencies(phase, KEYS, &latencies);
        latencies
    });
    let p999 = |latencies: &[Latency], who| {
        let found = latencies.iter().find(|latency| latency.who == who);
        found.expect("its latency is measured").p999
    };
    let governor_filling = p999(&filling, Who::Governor);
    vec![
        Gate::ratio(
            "1,000,000 keys: p99.9, steady: against governor",
            AtMost(1.0),
            p999(&steady, Who::Limiter) / p999(&steady, Who::Governor),
        ),
        Gate::ratio(
            "1,000,000 keys: p99.9, filling from empty: against governor",
            AtMost(3.0),
            p999(&filling, Who::Limiter) / governor_filling,
        ),
        Gate::ratio(
            "1,000,000 keys: p99.9, filling, presized: against governor filling from empty",
            AtMost(1.0),
            p999(&presized, Who::Limiter) / governor_filling,
        ),
    ]
}

fn logs() -> Vec<Gate> {
    let (ours, naive) = sliding_log::measure(Pace::FULL.rounds, 2 * Pace::FULL.calls);
    report::print_logs(&ours, &naive);
    vec![
        Gate::ratio(
            "sliding log, full: time against the naive log",
            AtMost(1.0),
            ours.nanos / naive.nanos,
        ),
        Gate::ratio(
            "sliding log, full: memory against the naive log",
            AtMost(0.5),
            ours.bytes_per_key / naive.bytes_per_key,
        ),
    ]
}

fn one_and_two_threads(stage: &Stage, title: &str, pace: Pace) -> [Outcome; 2] {
    let two_threads = format!("{title}, two threads");
    let drives = [
        Drive::uniform(title, 1, pace.calls, pace.whos),
        Drive::two_threads(&two_threads, 1, pace.calls, &ON_TWO_THREADS),
    ];
    measured(stage, pace, drives)
}

fn measured<const N: usize>(stage: &Stage, pace: Pace, drives: [Drive; N]) -> [Outcome; N] {
    let outcomes = stage.measure(pace.rounds, &drives);
    outcomes.iter().for_each(report::print_outcome);
    outcomes.try_into().ok().expect("each drive has an outcome")
}

fn against_governor(workload: &str, who: Who, least: f64, outcome: &Outcome) -> Gate {
    let what = format!("{workload}: {who}, speed against governor");
    Gate::ratio(&what, AtLeast(least), outcome.times_as_fast(who, who.like_governor()))
}

fn against_floor(workload: &str, who: Who, most: f64, outcome: &Outcome) -> Gate {
    let floor = who.like_floor().expect("there is a floor with its hash and clock");
    let what = format!("{workload}: {who}, time against the floor");
    Gate::ratio(&what, AtMost(most), outcome.times_the_time(who, floor))
}

/// Batches against single decisions.
fn batches(workload: &str, least: f64, outcome: &Outcome) -> [Gate; 2] {
    [
        against_governor(workload, Who::AllowMany, least, outcome),
        against_floor(workload, Who::AllowMany, 1.0, outcome),
    ]
}

fn no_allocation(stage: &Stage, who: Who) -> Gate {
    let calls = Calls::drawn(Order::Uniform, 1, 10_000, 0);
    let allocations = stage.allocations(who, &calls) as f64;
    let what = format!("a known key: {who}, 10,000 calls");
    Gate::figure(&what, AtMost(0.0), allocations, "allocations")
}
