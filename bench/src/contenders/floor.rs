//! The limits of the possible: what any limiter must do, and nothing else.

use std::hash::{Hash, Hasher};
use std::hint::black_box;
use std::sync::atomic::{AtomicU64, Ordering};

use tollgate::{Clock, Key, KeyHasher, MonotonicClock, Time};

use super::{Contender, Setting};
use crate::quota::Quota;

/// Reads and hashes a name, and that is all.
pub(super) struct Null(KeyHasher);

impl Null {
    pub(super) fn new() -> Self {
        Self(KeyHasher::secure())
    }
}

impl Contender for Null {
    fn allow(&self, name: &str, _buffer: &mut String) -> bool {
        black_box(self.0.key(name));
        true
    }
}

/// Hashes a name, reads the clock, and changes one word of one cache line of a table as large as Tollgate's. It does
/// not even check whose word it is: nobody who decides exactly, for many threads, can do with less.
pub(super) struct Floor<C> {
    lines: Box<[Line]>,
    hasher: KeyHasher,
    clock: C,
}

#[repr(align(64))]
struct Line(AtomicU64);

/// The word of a key that may not call. It takes no writing to say so.
const SPENT: u64 = u64::MAX;

/// A clock that always shows the same time, as when a caller passes one.
pub(super) struct Standing;

impl Clock for Standing {
    fn now(&self) -> Time {
        Time::from_millis(1)
    }
}

impl Floor<MonotonicClock> {
    pub(super) fn own_clock(setting: &Setting) -> Self {
        Self::new(setting, KeyHasher::secure(), MonotonicClock::new())
    }
}

impl Floor<Standing> {
    pub(super) fn now_passed(setting: &Setting) -> Self {
        Self::new(setting, KeyHasher::fast(), Standing)
    }
}

impl<C: Clock> Floor<C> {
    fn new(setting: &Setting, hasher: KeyHasher, clock: C) -> Self {
        let lines = (setting.floor_bytes / size_of::<Line>()).max(1);
        let word = if setting.quota == Quota::SPENT { SPENT } else { 1 };
        let lines = (0..lines).map(|_| Line(AtomicU64::new(word))).collect();
        Self { lines, hasher, clock }
    }

    fn line(&self, hash: u64) -> &AtomicU64 {
        let scaled = (u128::from(hash) * self.lines.len() as u128) >> 64;
        &self.lines[scaled as usize].0
    }
}

impl<C: Clock> Contender for Floor<C> {
    fn allow(&self, name: &str, _buffer: &mut String) -> bool {
        let word = self.line(bits(self.hasher.key(name)));
        // The line is asked for first: the clock is read while it comes.
        let mut seen = word.load(Ordering::Relaxed);
        let now = self.clock.now().as_nanos();
        while seen != SPENT {
            match word.compare_exchange_weak(seen, now, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(newer) => seen = newer,
            }
        }
        false
    }
}

/// The 64 bits of a key.
fn bits(key: Key) -> u64 {
    let mut bits = Bits(0);
    key.hash(&mut bits);
    bits.finish()
}

/// A "hash" that is the number itself: a key is a hash already.
struct Bits(u64);

impl Hasher for Bits {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, _bytes: &[u8]) {
        unreachable!("a key is one 64-bit number");
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}
