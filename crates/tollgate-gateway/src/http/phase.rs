//! What a connection is doing, which decides how long it may be silent.

use std::sync::atomic::{AtomicU64, Ordering};

/// Where a connection is between two requests. Its transport and its service share it; both run in one task.
///
/// One number: what it does in the lowest two bits, how often that has changed above them, so that a timer knows
/// whether it was set for what goes on now.
#[derive(Debug)]
pub(super) struct Phase(AtomicU64);

/// A phase as it was when it was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Moment(u64);

const WAITING: u64 = 0;
const READING_HEAD: u64 = 1;
const ANSWERING: u64 = 2;
const KINDS: u64 = 4;

impl Phase {
    /// A connection on which nothing has come yet.
    pub(super) const fn new() -> Self {
        Self(AtomicU64::new(WAITING))
    }

    pub(super) fn moment(&self) -> Moment {
        Moment(self.0.load(Ordering::Relaxed))
    }

    /// The header fields have come, and the answer is being made.
    pub(super) fn start_answering(&self) {
        self.enter(ANSWERING);
    }

    /// The answer is there; what comes next is another request.
    pub(super) fn start_waiting(&self) {
        self.enter(WAITING);
    }

    /// Bytes have come: of the next request, where none was under way.
    pub(super) fn hear(&self) {
        if self.moment().is_waiting() {
            self.enter(READING_HEAD);
        }
    }

    fn enter(&self, kind: u64) {
        let Moment(before) = self.moment();
        let kinds_before = before / KINDS;
        self.0.store(kinds_before.wrapping_add(1).wrapping_mul(KINDS) | kind, Ordering::Relaxed);
    }
}

impl Moment {
    pub(super) const fn is_waiting(self) -> bool {
        self.0 % KINDS == WAITING
    }

    pub(super) const fn is_reading_head(self) -> bool {
        self.0 % KINDS == READING_HEAD
    }
}
