//! Calls that wait for their turn.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;
use tollgate::{Call, CallError, RateLimitResult, RateLimiter, Request};

use crate::clock::{Deadline, after};
use crate::line::{Bounds, Lines};

/// A [`RateLimiter`] whose calls may wait until they are allowed.
///
/// Share it by `Arc`, or keep one for the program; all methods take `&self`.
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use tollgate::{Config, RateLimiter, TokenBucket};
/// use tollgate_tokio::{TokioClock, Waiting};
///
/// # tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build()?.block_on(async {
/// let config = Config::builder().default(TokenBucket::per_second(2).burst(1)).build()?;
/// let limiter = RateLimiter::builder(config).clock(TokioClock::new()).build();
/// let waiting = Waiting::new(Arc::new(limiter));
///
/// let second = Duration::from_secs(1);
/// assert!(waiting.until_allowed("alice", "/export", second).await.allowed()); // at once
/// assert!(waiting.until_allowed("alice", "/export", second).await.allowed()); // 500 ms later
/// let soon = Duration::from_millis(100);
/// assert!(!waiting.until_allowed("alice", "/export", soon).await.allowed()); // at once: 100 ms are not enough
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Order
/// Those who wait on behalf of one client, and of the same tenant or none, for one entry of the config stand in a line,
/// first come first served. Lines do not wait for each other, even where they wait for one limit, such as a tenant's:
/// what the front of one waits for, another's may take, or a call that does not wait ([`RateLimiter::allow`]); then it
/// waits anew. A reset, or a reload to a higher limit, shortens no wait that was told already.
///
/// # Cancellation
/// Dropping the future gives the place back and charges nothing: a call is charged in the very step that ends its
/// wait. A future that is held and not polled holds nobody up for long: where a line should have moved, the next in
/// line goes on after a tenth of a second, and it has its place back when it is polled again.
///
/// # Timers
/// tokio's timers are a millisecond coarse. Where waiting calls are to have all of a rate of more than some hundred a
/// second, give its bucket a burst of a few: what a late timer misses is then not lost.
#[derive(Debug)]
pub struct Waiting {
    limiter: Arc<RateLimiter>,
    lines: Lines,
}

/// What a call that was ready to wait came to.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
#[must_use]
pub enum Waited {
    /// It may proceed, and was charged.
    Allowed(RateLimitResult),
    /// It would have to wait for longer than it is ready to: answered as soon as that is known.
    TooLong(RateLimitResult),
    /// As many wait as may: answered at once.
    TooMany(RateLimitResult),
    /// No wait can be promised, as the result's [`reason`](RateLimitResult::reason) says.
    Never(RateLimitResult),
}

impl Waited {
    /// Whether the call may proceed.
    pub const fn allowed(&self) -> bool {
        matches!(self, Self::Allowed(_))
    }

    /// The figures. Where the call was turned away from a line, they are those of a call that had nobody before it.
    pub const fn result(&self) -> RateLimitResult {
        match self {
            Self::Allowed(result)
            | Self::TooLong(result)
            | Self::TooMany(result)
            | Self::Never(result) => *result,
        }
    }
}

impl Waiting {
    /// How many may wait in all, unless [`waiters_max`](Self::waiters_max) says otherwise.
    pub const WAITERS: usize = 10_000;

    /// How many may wait for one client and entry, unless [`waiters_per_line_max`](Self::waiters_per_line_max) says
    /// otherwise.
    pub const WAITERS_PER_LINE: usize = 100;

    /// Calls that wait for this limiter.
    pub fn new(limiter: Arc<RateLimiter>) -> Self {
        let bounds = Bounds { in_all: Self::WAITERS, per_line: Self::WAITERS_PER_LINE };
        Self { limiter, lines: Lines::new(bounds) }
    }

    /// Bounds how many wait at once. The next one is denied.
    #[must_use]
    pub fn waiters_max(self, waiters: usize) -> Self {
        Self { lines: self.lines.bounded(|bounds| bounds.in_all = waiters), ..self }
    }

    /// Bounds how many wait at once for one client and entry. The next one is denied.
    #[must_use]
    pub fn waiters_per_line_max(self, waiters: usize) -> Self {
        Self { lines: self.lines.bounded(|bounds| bounds.per_line = waiters), ..self }
    }

    /// The limiter, for calls that do not wait.
    pub fn limiter(&self) -> &RateLimiter {
        &self.limiter
    }

    /// How many wait now.
    pub fn waiters(&self) -> usize {
        self.lines.waiters()
    }

    /// Waits until the client may call the endpoint, at cost 1 (or what the endpoint costs), for at most `max_wait`.
    ///
    /// A wait that would be longer is answered at once, behind others too: it is reckoned with what they want. It turns
    /// out longer than reckoned only where calls that do not wait take what the line waits for.
    pub async fn until_allowed(&self, client: &str, endpoint: &str, max_wait: Duration) -> Waited {
        let waited = self.until_allowed_for(&Call::new(client, endpoint), max_wait).await;
        waited.unwrap_or_else(|error| Waited::Never(error.result()))
    }

    /// As [`until_allowed`](Self::until_allowed), at another cost.
    ///
    /// # Errors
    /// As [`until_allowed_for`](Self::until_allowed_for).
    pub async fn until_allowed_n(
        &self,
        client: &str,
        endpoint: &str,
        cost: u64,
        max_wait: Duration,
    ) -> Result<Waited, CallError> {
        self.until_allowed_for(&Call::new(client, endpoint).cost(cost), max_wait).await
    }

    /// As [`until_allowed`](Self::until_allowed), for any call, such as one on behalf of a tenant. A time of the call's
    /// own is passed over: who waits does so by the clock.
    ///
    /// # Errors
    /// When the cost is above the endpoint's limit, or a tenant is missing, at once; or later, where a reload has
    /// changed the limits meanwhile.
    pub async fn until_allowed_for(
        &self,
        call: &Call<'_>,
        max_wait: Duration,
    ) -> Result<Waited, CallError> {
        let deadline = Deadline::after(max_wait);
        let cost = self.limiter.cost_of(call);
        let call = call.now().cost(cost);
        let (request, entry) =
            (self.limiter.request(&call), self.limiter.entry(call.endpoint_name()));
        let purpose = (request.key(), request.tenant_key(), entry);
        let before = self.lines.wanted(&purpose);
        // A cost of 0 only looks, and waits for nobody.
        let entered = if before.is_empty() || cost == 0 {
            let result = self.limiter.decide(&call)?;
            (result, verdict(result, deadline))
        } else {
            self.behind(&before, (&call, request), deadline)?
        };
        let (result, moves_at) = match entered {
            (_, Verdict::Ends(waited)) => return Ok(waited),
            (result, Verdict::Sleeps(moment)) => (result, moment),
        };
        let Some(mut place) = self.lines.join(purpose, cost, moves_at) else {
            return Ok(Waited::TooMany(result));
        };
        loop {
            if !place.turn(deadline).await {
                return Ok(Waited::TooLong(self.limiter.look(&call)?));
            }
            match verdict(self.limiter.decide(&call)?, deadline) {
                Verdict::Ends(waited) => return Ok(waited),
                Verdict::Sleeps(moment) => place.sleeps_until(moment),
            }
        }
    }

    /// What follows for one who comes to a line in which calls of these costs are before it.
    fn behind(
        &self,
        before: &[u64],
        (call, request): (&Call<'_>, Request),
        deadline: Deadline,
    ) -> Result<(RateLimitResult, Verdict), CallError> {
        let limiter = self.limiter.limiter(call.endpoint_name());
        let (result, wait) = (limiter.look(request)?, limiter.wait_behind(before, request)?);
        let verdict = match wait {
            None => Verdict::Ends(Waited::Never(result)),
            Some(wait) if deadline.allows(wait).is_none() => Verdict::Ends(Waited::TooLong(result)),
            // Nothing was charged yet: should the line be gone by now, the limiter is asked at once.
            Some(_) => Verdict::Sleeps(after(Duration::ZERO)),
        };
        Ok((result, verdict))
    }
}

/// What follows from an answer for one who may wait until the deadline.
enum Verdict {
    Ends(Waited),
    Sleeps(Instant),
}

fn verdict(result: RateLimitResult, deadline: Deadline) -> Verdict {
    match result.retry_after_ms() {
        _ if result.allowed() => Verdict::Ends(Waited::Allowed(result)),
        None => Verdict::Ends(Waited::Never(result)),
        Some(wait_ms) => match deadline.allows(Duration::from_millis(wait_ms)) {
            Some(moment) => Verdict::Sleeps(moment),
            None => Verdict::Ends(Waited::TooLong(result)),
        },
    }
}
