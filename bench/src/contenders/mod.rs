//! Who takes part, and the one small trait they are called by.

mod baselines;
mod floor;
mod governor;
mod peers;
mod tollgate;
mod who;

use hdrhistogram::Histogram;

use crate::keys::Calls;
use crate::quota::Quota;

pub use self::tollgate::{Full, full};
pub use self::who::Who;

/// Whoever answers whether a name may call now.
///
/// The loops are part of the trait: they are compiled anew for each contender, so inside them nobody pays for a virtual
/// call of the harness's.
pub trait Contender: Sync {
    /// `buffer` is the caller's own, kept from call to call, for those who want their key as a `String`.
    fn allow(&self, name: &str, buffer: &mut String) -> bool;

    /// Makes all calls in turn, and says how many were allowed.
    fn run(&self, calls: &Calls) -> usize {
        let mut buffer = String::new();
        calls.iter().filter(|name| self.allow(name, &mut buffer)).count()
    }

    /// Makes all calls in turn, and keeps how long each of them took.
    fn record(&self, calls: &Calls, clock: &quanta::Clock, nanos: &mut Histogram<u64>) {
        let mut buffer = String::new();
        for name in calls.iter() {
            let start = clock.raw();
            std::hint::black_box(self.allow(name, &mut buffer));
            nanos.saturating_record(clock.delta_as_nanos(start, clock.raw()));
        }
    }
}

/// What contenders are made for.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// How many keys will be held.
    pub keys: usize,
    /// What each of them may do.
    pub quota: Quota,
    /// The size of the floor's table.
    pub floor_bytes: usize,
}

impl Setting {
    pub fn new(keys: usize, quota: Quota) -> Self {
        Self { keys, quota, floor_bytes: full(keys).bytes }
    }

    /// A bound on keys for those who have one: a quarter more than are held, so that none has to leave, and at least
    /// Tollgate's default.
    fn max_keys(&self) -> usize {
        (self.keys + self.keys / 4).max(1_000_000)
    }
}
