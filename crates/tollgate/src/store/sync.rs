//! The atomics of the line store: the machine's, or the model checker's under `cfg(loom)`.

#[cfg(not(loom))]
pub(crate) use std::sync::atomic::{AtomicU64, Ordering, fence};

#[cfg(loom)]
pub(crate) use loom::sync::MutexGuard;
#[cfg(loom)]
pub(crate) use loom::sync::atomic::{AtomicU64, Ordering, fence};

#[cfg(not(loom))]
pub(crate) use parking_lot::{Mutex, MutexGuard};

/// Rounds of spinning before the processor is given away: a lock is held for some nanoseconds, unless its holder was
/// suspended.
#[cfg(not(loom))]
const SPINS_MAX: u32 = 64;

/// Waits a moment for whoever holds a line's lock.
#[cfg(not(loom))]
#[cold]
pub(crate) fn spin(waited: &mut u32) {
    *waited = waited.saturating_add(1);
    if *waited < SPINS_MAX {
        std::hint::spin_loop();
    } else {
        std::thread::yield_now();
    }
}

/// The model checker must run somebody else.
#[cfg(loom)]
pub(crate) fn spin(_waited: &mut u32) {
    loom::thread::yield_now();
}

/// A mutex of the model checker with the interface of `parking_lot`'s.
#[cfg(loom)]
#[derive(Debug)]
pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

#[cfg(loom)]
impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Self(loom::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().expect("no holder panics in a model")
    }
}
