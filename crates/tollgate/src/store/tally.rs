//! Counts of decisions that cost no shared cache line: each thread counts for itself.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;

/// Threads that have a place of their own; further ones share one.
const OWN_PLACES: usize = 31;

const PLACES: usize = OWN_PLACES.saturating_add(1);

/// How many calls were allowed and denied.
#[derive(Debug)]
pub(crate) struct Tally([Place; PLACES]);

/// One thread's counts, on a line of their own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Place {
    /// Calls denied, and calls allowed.
    counters: [AtomicU64; 2],
}

impl Place {
    #[inline]
    fn counter(&self, allowed: bool) -> &AtomicU64 {
        &self.counters[usize::from(allowed)]
    }
}

impl Default for Tally {
    fn default() -> Self {
        Self(std::array::from_fn(|_| Place::default()))
    }
}

impl Tally {
    /// Counts a decision of this thread's.
    #[inline]
    pub(crate) fn count(&self, allowed: bool) {
        let number = NUMBER.get();
        if number < OWN_PLACES {
            // Nobody else writes here, so no read-modify-write is needed, which would cost what a decision does.
            let counter = self.0[number].counter(allowed);
            counter.store(counter.load(Ordering::Relaxed).wrapping_add(1), Ordering::Relaxed);
        } else {
            self.count_elsewhere(number, allowed);
        }
    }

    /// Counts for a thread that has no number yet, or none of its own.
    #[cold]
    #[inline(never)]
    fn count_elsewhere(&self, number: usize, allowed: bool) {
        let number = if number == NONE { first_number() } else { number };
        self.0[number.min(OWN_PLACES)].counter(allowed).fetch_add(1, Ordering::Relaxed);
    }

    /// All threads' counts: allowed, denied.
    pub(crate) fn sum(&self) -> (u64, u64) {
        self.0.iter().fold((0, 0), |(allowed, denied), place| {
            let count = |allowed| place.counter(allowed).load(Ordering::Relaxed);
            (allowed.wrapping_add(count(true)), denied.wrapping_add(count(false)))
        })
    }
}

/// Numbers that threads have given back, and the next one never given out.
static FREE: Mutex<(Vec<usize>, usize)> = Mutex::new((Vec::new(), 0));

/// The number of a thread that has none yet.
const NONE: usize = usize::MAX;

thread_local! {
    /// A small number that no other living thread has. Apart from what gives it back, so that reading it is one load.
    static NUMBER: Cell<usize> = const { Cell::new(NONE) };
    static GIVEN: GivenBack = GivenBack::take();
}

fn first_number() -> usize {
    // A thread that is ending counts where many do.
    let number = GIVEN.try_with(|given| given.0).unwrap_or(OWN_PLACES);
    NUMBER.set(number);
    number
}

/// A thread's number, given back when the thread ends.
struct GivenBack(usize);

impl GivenBack {
    fn take() -> Self {
        let (free, next) = &mut *FREE.lock();
        Self(free.pop().unwrap_or_else(|| {
            *next = next.saturating_add(1);
            next.saturating_sub(1)
        }))
    }
}

impl Drop for GivenBack {
    fn drop(&mut self) {
        NUMBER.set(OWN_PLACES);
        FREE.lock().0.push(self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn no_count_is_lost_with_more_threads_than_places_at_once() {
        let tally = Tally::default();
        thread::scope(|scope| {
            for number in 0..OWN_PLACES * 2 {
                let tally = &tally;
                scope.spawn(move || (0..1_000).for_each(|_| tally.count(number % 2 == 0)));
            }
        });
        let each = u64::try_from(OWN_PLACES).unwrap_or_default().saturating_mul(1_000);
        assert_eq!(tally.sum(), (each, each));
    }
}
