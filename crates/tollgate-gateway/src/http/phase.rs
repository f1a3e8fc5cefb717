//! What a connection is doing, which decides how long it may be silent.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Where a connection is between two requests. Its transport and its service share it.
///
/// One number: what it does in the lowest two bits, how often that has changed above them, so that a timer knows
/// whether it was set for what goes on now.
#[derive(Debug)]
pub(crate) struct Phase {
    moment: AtomicU64,
    /// Whether what comes between requests need not be the start of one, as in HTTP/2.
    has_frames: AtomicBool,
}

/// A phase as it was when it was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment(u64);

const WAITING: u64 = 0;
const READING_HEAD: u64 = 1;
const ANSWERING: u64 = 2;
const KINDS: u64 = 4;

impl Phase {
    /// A connection on which nothing has come yet.
    pub(crate) const fn new() -> Self {
        Self { moment: AtomicU64::new(WAITING), has_frames: AtomicBool::new(false) }
    }

    pub(crate) fn moment(&self) -> Moment {
        Moment(self.moment.load(Ordering::Relaxed))
    }

    /// The header fields have come, and the answer is being made.
    pub(crate) fn start_answering(&self) {
        self.enter(ANSWERING);
    }

    /// The answer is there; what comes next is another request.
    pub(crate) fn start_waiting(&self) {
        self.enter(WAITING);
    }

    /// Bytes have come: of the next request, where none was under way.
    pub(crate) fn hear(&self) {
        if self.moment().is_waiting() && !self.has_frames.load(Ordering::Relaxed) {
            self.enter(READING_HEAD);
        }
    }

    /// The connection is of HTTP/2: what comes may be of no request at all, and is bounded by the protocol.
    pub(crate) fn speak_frames(&self) {
        self.has_frames.store(true, Ordering::Relaxed);
    }

    fn enter(&self, kind: u64) {
        let Moment(before) = self.moment();
        let kinds_before = before / KINDS;
        let moment = kinds_before.wrapping_add(1).wrapping_mul(KINDS) | kind;
        self.moment.store(moment, Ordering::Relaxed);
    }
}

impl Moment {
    pub(crate) const fn is_waiting(self) -> bool {
        self.0 % KINDS == WAITING
    }

    pub(crate) const fn is_reading_head(self) -> bool {
        self.0 % KINDS == READING_HEAD
    }
}
