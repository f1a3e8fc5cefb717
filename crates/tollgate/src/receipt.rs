//! What it takes to give a charge back that turned out not to be due.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::clock::Time;
use crate::limiter::Environment;
use crate::store::Charge;

/// The receipt of a call that was allowed, by which its charge can be given back: to count only failures, charge each
/// attempt and refund the ones that succeed. So a hundred guesses at once cannot all slip in, as they would if each
/// were charged when its outcome is known.
///
/// A refund counts once, however often it is asked for. It gives back exactly what was charged, and never more than
/// makes the key whole, until the time at which the key would have been whole right after the charge; then it is of no
/// effect. So it is where the key was reset or had to leave a full table, or where a reload changed the limit.
///
/// Until it is refunded, a charge is one: what a bucket gained while its tokens were away stays.
///
/// ```
/// use tollgate::{Call, Config, RateLimiter, TokenBucket};
///
/// let config = Config::builder().default(TokenBucket::per_minute(5)).build()?;
/// let limiter = RateLimiter::new(config);
///
/// let (decided, receipt) = limiter.decide_with_receipt(&Call::new("alice", "/login"));
/// assert_eq!(decided?.remaining(), 4);
/// assert!(receipt.refund()); // the password was right
/// assert!(!receipt.refund());
/// assert_eq!(limiter.peek("alice", "/login").remaining(), 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use]
pub struct Receipt {
    charges: Vec<Charge>,
    environment: Option<Environment>,
    refunded: AtomicBool,
}

impl Receipt {
    /// Of nothing.
    pub(crate) const fn none() -> Self {
        Self { charges: Vec::new(), environment: None, refunded: AtomicBool::new(false) }
    }

    /// Of charges by limits of this environment.
    pub(crate) fn of(charges: Vec<Charge>, environment: &Environment) -> Self {
        Self { charges, environment: Some(environment.clone()), ..Self::none() }
    }

    /// Gives the charge back to every limit that took it, now; says whether any did give something back.
    pub fn refund(&self) -> bool {
        let now = self.environment.as_ref().map_or(Time::ZERO, Environment::now);
        self.refund_at(now)
    }

    /// The same at a time of the caller's.
    pub fn refund_at(&self, now: Time) -> bool {
        if self.refunded.swap(true, Ordering::Relaxed) {
            return false;
        }
        let Some(environment) = &self.environment else { return false };
        let time_of = |charge: &Charge| environment.time_on(charge.timeline(), Some(now));
        // Each is asked, whatever the others say.
        self.charges.iter().filter(|charge| charge.refund(time_of(charge))).count() > 0
    }
}
