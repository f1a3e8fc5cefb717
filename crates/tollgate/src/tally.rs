//! Calls counted by many threads at once, for limiters whose calls no one lock sees.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::key::Key;
use crate::store::Counts;

const STRIPE_BITS: u32 = 4;

/// How many calls were allowed and denied, in stripes, so that threads with different keys seldom meet.
#[derive(Debug, Default)]
pub(crate) struct Tally([Stripe; 1 << STRIPE_BITS]);

/// On lines of its own.
#[derive(Debug, Default)]
#[repr(align(128))]
struct Stripe {
    allowed: AtomicU64,
    denied: AtomicU64,
}

impl Tally {
    #[inline]
    pub(crate) fn count(&self, key: Key, allowed: bool) {
        let stripe = usize::try_from(key.0 >> u64::BITS.saturating_sub(STRIPE_BITS)).unwrap_or(0);
        let Some(stripe) = self.0.get(stripe) else { return };
        let counter = if allowed { &stripe.allowed } else { &stripe.denied };
        counter.fetch_add(1, Ordering::Relaxed);
    }

    /// The calls, and of everything else nothing.
    pub(crate) fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for stripe in &self.0 {
            let (allowed, denied) = (&stripe.allowed, &stripe.denied);
            counts.allowed = counts.allowed.saturating_add(allowed.load(Ordering::Relaxed));
            counts.denied = counts.denied.saturating_add(denied.load(Ordering::Relaxed));
        }
        counts
    }
}
