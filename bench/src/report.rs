//! What is printed: Markdown tables of figures, and of gates.

use crate::contenders::Full;
use crate::latency::{Latency, Phase};
use crate::sliding_log::Figures;
use crate::stage::Outcome;

/// A promise about a measured figure.
#[derive(Clone, Debug)]
pub struct Gate {
    what: String,
    bound: Bound,
    measured: f64,
    unit: &'static str,
}

/// What a figure must keep to.
#[derive(Clone, Copy, Debug)]
pub enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

impl Gate {
    /// A gate on a ratio.
    pub fn ratio(what: &str, bound: Bound, measured: f64) -> Self {
        Self::figure(what, bound, measured, "x")
    }

    pub fn figure(what: &str, bound: Bound, measured: f64, unit: &'static str) -> Self {
        Self { what: what.to_owned(), bound, measured, unit }
    }

    pub fn is_met(&self) -> bool {
        match self.bound {
            Bound::AtLeast(least) => self.measured >= least,
            Bound::AtMost(most) => self.measured <= most,
        }
    }
}

/// Ratios are to the governor and the floor with the same hash and clock.
pub fn print_outcome(outcome: &Outcome) {
    println!("\n### {}\n", outcome.title);
    println!(
        "| contender | CPU ns a call | times as fast as governor | times the floor's time | bytes a key |"
    );
    println!("| --- | ---: | ---: | ---: | ---: |");
    for row in &outcome.rows {
        let two_digits = |ratio: f64| format!("{ratio:.2}");
        let faster = two_digits(outcome.times_as_fast(row.who, row.who.like_governor()));
        let of_floor = row.who.like_floor().map(|floor| outcome.times_the_time(row.who, floor));
        let of_floor = of_floor.map(two_digits).unwrap_or_default();
        let (who, nanos, bytes) = (row.who, row.nanos(), row.bytes_per_key);
        println!("| {who} | {nanos:.1} | {faster} | {of_floor} | {bytes:.0} |");
    }
}

pub fn print_full(keys: usize, full: &Full) {
    println!("\n### memory at the bound, `maxKeys` = {}\n", grouped(keys));
    println!("| keys held | evictions | bytes a key held, overflow cells included |");
    println!("| ---: | ---: | ---: |");
    let (held, evictions) = (grouped(full.keys_held), grouped(full.evictions));
    println!("| {held} | {evictions} | {:.1} |", full.bytes_per_key());
}

pub fn print_latencies(phase: Phase, keys: usize, latencies: &[Latency]) {
    println!("\n### latency, {} keys, {}\n", grouped(keys), phase.title());
    println!("| contender | p50, wall ns | p99 | p99.9 |");
    println!("| --- | ---: | ---: | ---: |");
    for Latency { who, p50, p99, p999 } in latencies {
        println!("| {who} | {p50:.0} | {p99:.0} | {p999:.0} |");
    }
}

pub fn print_logs(ours: &Figures, naive: &Figures) {
    println!("\n### sliding log, 100 in 60 s, 100,000 keys, full logs\n");
    println!("| contender | CPU ns a call | bytes a key |");
    println!("| --- | ---: | ---: |");
    println!("| tollgate `SlidingWindowLog` | {:.1} | {:.0} |", ours.nanos, ours.bytes_per_key);
    let (nanos, bytes) = (naive.nanos, naive.bytes_per_key);
    println!("| naive: `DashMap<String, Mutex<VecDeque<u64>>>` | {nanos:.1} | {bytes:.0} |");
}

pub fn print_gates(gates: &[Gate]) {
    println!("\n## gates\n");
    println!(
        "Speed and time are against the governor and the floor with the same hash and clock.\n"
    );
    println!("| gate | wanted | measured | |");
    println!("| --- | ---: | ---: | --- |");
    for gate in gates {
        let wanted = match gate.bound {
            Bound::AtLeast(least) => format!("at least {least}"),
            Bound::AtMost(most) => format!("at most {most}"),
        };
        let verdict = if gate.is_met() { "met" } else { "**NOT MET**" };
        let Gate { what, measured, unit, .. } = gate;
        println!("| {what} | {wanted} {unit} | {measured:.2} {unit} | {verdict} |");
    }
}

/// A number with its thousands set apart.
pub fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let groups = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy);
    groups.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_are_set_apart() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (12_345_678, "12,345,678")]
        {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn a_gate_is_met_at_its_bound_and_not_beyond() {
        let cases = [
            (Bound::AtLeast(2.0), 2.0, true),
            (Bound::AtLeast(2.0), 1.99, false),
            (Bound::AtMost(2.0), 2.0, true),
            (Bound::AtMost(2.0), 2.01, false),
            (Bound::AtMost(2.0), f64::NAN, false),
        ];
        for (bound, measured, met) in cases {
            assert_eq!(Gate::ratio("", bound, measured).is_met(), met, "{bound:?} {measured}");
        }
    }
}
