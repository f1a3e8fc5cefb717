//! The exact log of admitted requests, against the log one writes in an afternoon: full logs, at times that are passed.
//!
//! Each key attempts 200 calls in a minute and may make 100, so its log is full, stamps leave it all the time, and
//! about every second attempt is denied.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use cpu_time::ThreadTime;
use dashmap::DashMap;
use tollgate::{
    Environment, Limiter, OnFull, Request, SlidingWindowLog, SlidingWindowLogLimiter, Time,
};

use crate::keys::{Calls, Order};
use crate::memory::bytes_of;
use crate::stage::median;

const KEYS: usize = 100_000;
const QUOTA: u32 = 100;
const WINDOW_NS: u64 = 60_000_000_000;

/// From call to call: 200 a minute of each key. In whole 16 ns, the ticks of Tollgate's log in a window of a minute, so
/// that both logs agree to the last call.
const STEP_NS: u64 = 2_992;

/// From call to call before anything is measured: 100 a minute of each key, so that all are admitted, and logs are full
/// of stamps all over the window.
const WARM_UP_STEP_NS: u64 = 6_000;
const WARM_UP_CALLS_OF_EACH: usize = 110;

/// What a log took.
pub struct Figures {
    pub nanos: f64,
    pub bytes_per_key: f64,
}

/// Measures Tollgate's log and the naive one, in interleaved rounds.
pub fn measure(rounds: usize, calls: usize) -> (Figures, Figures) {
    let mut ours = Lane::warmed_up(TollgateLog::new);
    let mut naive = Lane::warmed_up(NaiveLog::default);
    let calls = Calls::drawn(Order::Uniform, KEYS, calls, 0);
    for _ in 0..rounds {
        assert_eq!(ours.time(&calls), naive.time(&calls), "both logs are exact");
    }
    (ours.figures(), naive.figures())
}

/// Whoever keeps a log of each name.
trait Log {
    fn admits(&self, name: &str, now_ns: u64) -> bool;
}

/// A log, the time by its calls, and what its rounds took.
struct Lane<L> {
    log: L,
    now_ns: u64,
    bytes: usize,
    nanos: Vec<f64>,
}

impl<L: Log> Lane<L> {
    fn warmed_up(make: impl FnOnce() -> L) -> Self {
        let each = Calls::once_each(KEYS);
        let (lane, bytes) = bytes_of(|| {
            let mut lane = Self { log: make(), now_ns: 0, bytes: 0, nanos: Vec::new() };
            for _ in 0..WARM_UP_CALLS_OF_EACH {
                let admitted = lane.run(&each, WARM_UP_STEP_NS);
                assert_eq!(admitted, KEYS, "nobody is above the quota");
            }
            lane
        });
        Self { bytes, ..lane }
    }

    /// Makes the calls, and says how many were admitted.
    fn run(&mut self, calls: &Calls, step_ns: u64) -> usize {
        let admitted = calls.iter().filter(|name| {
            self.now_ns += step_ns;
            self.log.admits(name, self.now_ns)
        });
        admitted.count()
    }

    /// Makes the calls and keeps their CPU time.
    fn time(&mut self, calls: &Calls) -> usize {
        let start = ThreadTime::now();
        let admitted = self.run(calls, STEP_NS);
        self.nanos.push(start.elapsed().as_nanos() as f64 / calls.len() as f64);
        admitted
    }

    fn figures(self) -> Figures {
        let bytes_per_key = self.bytes as f64 / KEYS as f64;
        Figures { nanos: median(self.nanos), bytes_per_key }
    }
}

struct TollgateLog(Arc<dyn Limiter>);

impl TollgateLog {
    fn new() -> Self {
        let window = Duration::from_nanos(WINDOW_NS);
        let log = SlidingWindowLog::new(QUOTA, window).expect("the quota is valid");
        let (max_keys, on_full) = (2 * KEYS as u64, OnFull::default());
        let environment = Environment::new();
        Self(Arc::new(SlidingWindowLogLimiter::with(log, max_keys, on_full, &environment)))
    }
}

impl Log for TollgateLog {
    fn admits(&self, name: &str, now_ns: u64) -> bool {
        let request = Request::new(self.0.key(name)).at(Time::from_nanos(now_ns));
        self.0.decide(request).is_ok_and(|result| result.allowed())
    }
}

/// A queue of times for each name.
#[derive(Default)]
struct NaiveLog(DashMap<String, Mutex<VecDeque<u64>>>);

impl Log for NaiveLog {
    fn admits(&self, name: &str, now_ns: u64) -> bool {
        if let Some(log) = self.0.get(name) {
            return admit(&log, now_ns);
        }
        admit(&self.0.entry(name.to_owned()).or_default(), now_ns)
    }
}

fn admit(log: &Mutex<VecDeque<u64>>, now_ns: u64) -> bool {
    let mut log = log.lock().expect("nobody panics under the lock");
    while log.front().is_some_and(|stamp| now_ns - stamp >= WINDOW_NS) {
        log.pop_front();
    }
    let admitted = log.len() < QUOTA as usize;
    if admitted {
        log.push_back(now_ns);
    }
    admitted
}
