//! Tollgate side by side with its peers, and the gates its speed and memory must pass.
//!
//! One process measures all contenders, in interleaved rounds, by thread CPU time; only ratios of one run mean
//! anything.
//!
//! - `cargo run --release --manifest-path bench/Cargo.toml -- gates`: everything; fails where a gate is not met.
//! - `… -- quick`: the main rows, in less than a minute.
//! - `… -- engine`: the bare side by side with governor.
//! - `… -- joint`: several limits on one endpoint; fails where two cost more than 2.5 times one.
//! - `… -- lookup`: how long it takes to find an endpoint's limiter.

mod contenders;
mod engine;
mod gates;
mod joint;
mod keys;
mod latency;
mod lookup;
mod memory;
mod quota;
mod report;
mod sliding_log;
mod stage;

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: memory::Counting = memory::Counting;

const USAGE_ERROR: u8 = 2;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["gates"] if gates::all() => ExitCode::SUCCESS,
        ["gates"] => ExitCode::FAILURE,
        ["quick"] => {
            gates::quick();
            ExitCode::SUCCESS
        }
        ["joint"] if joint::print() => ExitCode::SUCCESS,
        ["joint"] => ExitCode::FAILURE,
        ["engine"] => {
            engine::print();
            ExitCode::SUCCESS
        }
        ["lookup"] => {
            lookup::print();
            ExitCode::SUCCESS
        }
        _ => {
            eprintln!("usage: bench gates | quick | engine | joint | lookup");
            ExitCode::from(USAGE_ERROR)
        }
    }
}
