//! Contenders that hold the same keys, and the rounds in which they are measured in turn.
//!
//! What counts is the thread's CPU time, which other programs disturb little, and the median of several rounds. In each
//! round every contender has its turn at every drive, so that a disturbance that lasts hits all alike.

use std::sync::Barrier;

use cpu_time::ThreadTime;

use crate::contenders::{Contender, Setting, Who};
use crate::keys::{Calls, Order, for_each_name};
use crate::memory::{allocations_of, bytes_of};
use crate::quota::Quota;

/// Contenders that hold all keys of a setting.
pub struct Stage {
    setting: Setting,
    lanes: Vec<Lane>,
}

struct Lane {
    who: Who,
    contender: Box<dyn Contender>,
    bytes_per_key: f64,
}

/// Calls for the contenders named, from one thread or more at once.
pub struct Drive {
    title: String,
    threads: Vec<Calls>,
    /// Fewer of the same calls, for contenders that are slow.
    few: Vec<Calls>,
    whos: Vec<Who>,
}

impl Drive {
    pub fn new(title: &str, threads: Vec<Calls>, whos: &[Who]) -> Self {
        let few = threads.iter().map(|calls| calls.first(calls.len() / 20)).collect();
        Self { title: title.to_owned(), threads, few, whos: whos.to_vec() }
    }

    /// Calls of uniformly drawn clients from one thread.
    pub fn uniform(title: &str, keys: usize, calls: usize, whos: &[Who]) -> Self {
        Self::new(title, vec![Calls::drawn(Order::Uniform, keys, calls, 0)], whos)
    }

    /// Calls of uniformly drawn clients from two threads.
    pub fn two_threads(title: &str, keys: usize, calls: usize, whos: &[Who]) -> Self {
        let calls = |seed| Calls::drawn(Order::Uniform, keys, calls, seed);
        Self::new(title, vec![calls(1), calls(2)], whos)
    }

    fn calls_of(&self, who: Who) -> &[Calls] {
        if who.is_slow() { &self.few } else { &self.threads }
    }
}

/// What a drive took.
pub struct Outcome {
    pub title: String,
    pub rows: Vec<Row>,
}

pub struct Row {
    pub who: Who,
    pub bytes_per_key: f64,
    /// Thread CPU nanoseconds a call, in each round.
    rounds: Vec<f64>,
}

impl Row {
    /// Thread CPU nanoseconds a call, the median of all rounds.
    pub fn nanos(&self) -> f64 {
        median(self.rounds.clone())
    }
}

impl Stage {
    /// Makes contenders and lets each key call once.
    pub fn fill(setting: Setting, whos: &[Who]) -> Self {
        let lanes = whos.iter().map(|who| {
            let (contender, bytes) = bytes_of(|| {
                let contender = who.make(&setting);
                fill(&*contender, &setting);
                contender
            });
            Lane { who: *who, contender, bytes_per_key: bytes as f64 / setting.keys as f64 }
        });
        Self { setting, lanes: lanes.collect() }
    }

    /// Measures every drive, in interleaved rounds.
    pub fn measure(&self, rounds: usize, drives: &[Drive]) -> Vec<Outcome> {
        let mut outcomes: Vec<_> = drives.iter().map(|drive| self.nothing_yet(drive)).collect();
        for _ in 0..rounds {
            for (drive, outcome) in drives.iter().zip(&mut outcomes) {
                for row in &mut outcome.rows {
                    row.rounds.push(self.time(self.lane(row.who), drive.calls_of(row.who)));
                }
            }
        }
        outcomes
    }

    /// The outcome of a drive before its first round: a row for each of its contenders that is on stage.
    fn nothing_yet(&self, drive: &Drive) -> Outcome {
        let lanes = self.lanes.iter().filter(|lane| drive.whos.contains(&lane.who));
        let row = |lane: &Lane| Row {
            who: lane.who,
            bytes_per_key: lane.bytes_per_key,
            rounds: Vec::new(),
        };
        Outcome { title: drive.title.clone(), rows: lanes.map(row).collect() }
    }

    fn lane(&self, who: Who) -> &Lane {
        self.lanes.iter().find(|lane| lane.who == who).expect("it is on stage")
    }

    /// How many allocations a contender makes for calls of keys that it knows.
    pub fn allocations(&self, who: Who, calls: &Calls) -> usize {
        allocations_of(|| self.run(self.lane(who), calls))
    }

    /// CPU nanoseconds a call, on average over the threads.
    fn time(&self, lane: &Lane, threads: &[Calls]) -> f64 {
        let start_line = Barrier::new(threads.len());
        let turn = |calls: &Calls| {
            start_line.wait();
            let start = ThreadTime::now();
            self.run(lane, calls);
            start.elapsed().as_nanos() as f64 / calls.len() as f64
        };
        let nanos: f64 = std::thread::scope(|scope| {
            let running: Vec<_> = threads.iter().map(|calls| scope.spawn(|| turn(calls))).collect();
            running.into_iter().map(|thread| thread.join().expect("no contender panics")).sum()
        });
        nanos / threads.len() as f64
    }

    /// Makes the calls, and checks that all were answered as the quota has it. Who cannot say "one in an hour" may
    /// let a few pass.
    fn run(&self, lane: &Lane, calls: &Calls) {
        let allowed = lane.contender.run(calls);
        let right = match self.setting.quota {
            Quota::SPENT => allowed <= calls.len() / 1_000,
            _ => allowed == calls.len(),
        };
        assert!(right, "{} allowed {allowed} of {} calls", lane.who, calls.len());
    }
}

impl Outcome {
    pub fn nanos(&self, who: Who) -> f64 {
        let row = self.rows.iter().find(|row| row.who == who);
        row.unwrap_or_else(|| panic!("{who} was not measured: {}", self.title)).nanos()
    }

    /// How many times as fast as another one is.
    pub fn times_as_fast(&self, who: Who, other: Who) -> f64 {
        self.nanos(other) / self.nanos(who)
    }

    /// How many times the time of another one it takes.
    pub fn times_the_time(&self, who: Who, other: Who) -> f64 {
        self.nanos(who) / self.nanos(other)
    }
}

/// Lets each key call, and where quotas are small, use its quota up.
pub fn fill(contender: &dyn Contender, setting: &Setting) {
    let plenty = setting.quota != Quota::SPENT;
    let calls = if plenty { 1 } else { setting.quota.burst + 1 };
    let mut buffer = String::new();
    for_each_name(setting.keys, |name| {
        let all_allowed = (0..calls).all(|_| contender.allow(name, &mut buffer));
        assert_eq!(all_allowed, plenty, "{name} may call, and only as often as the quota has it");
    });
}

pub fn median(mut figures: Vec<f64>) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures[figures.len() / 2]
}
