//! The bare side by side with governor.

use crate::contenders::{Setting, Who};
use crate::quota::Quota;
use crate::report::grouped;
use crate::stage::{Drive, Stage};

const WHOS: [Who; 3] = [Who::Governor, Who::Limiter, Who::RateLimiter];
const CALLS: usize = 2_000_000;
const ROUNDS: usize = 7;

/// Measures and prints it, at 1, 1,000 and 1,000,000 keys.
pub fn print() {
    println!("| keys | contender | CPU ns a call | times as fast as governor | bytes a key |");
    println!("| ---: | --- | ---: | ---: | ---: |");
    for keys in [1, 1_000, 1_000_000] {
        let quota = if keys == 1 { Quota::FAST } else { Quota::SLOW };
        let stage = Stage::fill(Setting::new(keys, quota), &WHOS);
        let drive = Drive::uniform("", keys, CALLS, &WHOS);
        for outcome in stage.measure(ROUNDS, &[drive]) {
            for row in &outcome.rows {
                let ratio = outcome.times_as_fast(row.who, Who::Governor);
                let (who, nanos, bytes) = (row.who, row.nanos(), row.bytes_per_key);
                println!("| {} | {who} | {nanos:.1} | {ratio:.2} | {bytes:.0} |", grouped(keys));
            }
        }
    }
}
