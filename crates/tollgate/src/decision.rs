//! What a limiter answers: the raw decision of an algorithm, and the result a caller reads.

use std::time::Duration;

use thiserror::Error;

use crate::algorithm::{BucketFigures, CounterFigures};
use crate::clock::{millis_rounded_up, nanos_of};
use crate::limit_name::LimitName;

/// An algorithm's answer: whether a call may proceed, and the raw figures behind it.
///
/// Where it is allowed, the figures are those after its charge.
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct Decision {
    outcome: Outcome,
    figures: Figures,
}

/// Whether a call may proceed, and why not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Allowed,
    Denied(Reason),
}

/// Raw figures. Those of the bucket and the counter need divisions, paid only when somebody asks.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Figures {
    Plain { remaining: u32, retry_after_ns: u64, reset_after_ns: u64 },
    Bucket(BucketFigures),
    Counter(CounterFigures),
}

impl Decision {
    /// The call may proceed. After it, `remaining` more calls of cost 1 would, and the key has its whole
    /// quota back after `reset_after` of idling.
    pub fn allow(remaining: u32, reset_after: Duration) -> Self {
        Self::new(true, Figures::plain(remaining, 0, nanos_of(reset_after)))
    }

    /// The call may not proceed; the same call will after `retry_after`, if nobody else uses the key.
    pub fn deny(remaining: u32, retry_after: Duration, reset_after: Duration) -> Self {
        let figures = Figures::plain(remaining, nanos_of(retry_after), nanos_of(reset_after));
        Self::new(false, figures)
    }

    #[inline]
    pub(crate) const fn new(allowed: bool, figures: Figures) -> Self {
        let outcome = if allowed { Outcome::Allowed } else { Outcome::Denied(Reason::QuotaUsedUp) };
        Self { outcome, figures }
    }

    /// The same figures as a denial for a reason that lies outside the quota.
    pub(crate) const fn denied(self, reason: Reason) -> Self {
        Self { outcome: Outcome::Denied(reason), figures: self.figures }
    }

    /// Whether the call may proceed.
    #[inline]
    pub const fn allowed(&self) -> bool {
        matches!(self.outcome, Outcome::Allowed)
    }
}

impl Figures {
    pub(crate) const fn plain(remaining: u32, retry_after_ns: u64, reset_after_ns: u64) -> Self {
        Self::Plain { remaining, retry_after_ns, reset_after_ns }
    }

    #[inline]
    fn remaining(&self, limit: u32) -> u64 {
        match self {
            Self::Plain { remaining, .. } => u64::from(*remaining),
            Self::Bucket(figures) => figures.remaining(limit),
            Self::Counter(figures) => figures.remaining(),
        }
    }

    fn retry_after_ms(&self, limit: u32) -> u64 {
        match self {
            Self::Plain { retry_after_ns, .. } => millis_rounded_up(u128::from(*retry_after_ns)),
            Self::Bucket(figures) => figures.retry_after_ms(limit),
            Self::Counter(figures) => millis_rounded_up(figures.retry_after_ns()),
        }
    }

    fn reset_after_ms(&self) -> u64 {
        match self {
            Self::Plain { reset_after_ns, .. } => millis_rounded_up(u128::from(*reset_after_ns)),
            Self::Bucket(figures) => figures.reset_after_ms(),
            Self::Counter(figures) => millis_rounded_up(figures.reset_after_ns()),
        }
    }
}

/// Why a call was denied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The quota is used up for now.
    QuotaUsedUp,
    /// The table of keys is full and its limiter turns newcomers away
    /// ([`OnFull::Deny`](crate::OnFull::Deny)).
    TableFull,
    /// As many calls are under way as may be ([`Concurrency`](crate::Concurrency)).
    TooManyInFlight,
    /// The call's cost is above the limit, so it can never be met.
    CostExceedsLimit,
    /// A limit counts by tenant, and the call names none.
    TenantMissing,
    /// The endpoint is blocked ([`Policy::deny`](crate::Policy::deny)), or the client for a while
    /// ([`RateLimitResult::blocked_for`]).
    Blocked,
}

/// The answer to a call: whether it may proceed, what remains, and when to come back.
///
/// It holds raw figures; the methods divide when asked, so a caller pays for what it reads.
///
/// ```
/// use tollgate::{Config, ManualClock, RateLimiter, TokenBucket};
///
/// let config = Config::builder().default(TokenBucket::per_second(2).burst(1)).build()?;
/// let limiter = RateLimiter::builder(config).clock(ManualClock::new()).build();
///
/// assert!(limiter.allow("alice", "/search").allowed());
/// let denied = limiter.allow("alice", "/search");
/// assert!(!denied.allowed());
/// assert_eq!(denied.retry_after_ms(), Some(500));
/// # Ok::<(), tollgate::Faults>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use]
pub struct RateLimitResult {
    figures: Figures,
    // Beside the figures and not in a decision of its own: so both take the space of one.
    limit: u32,
    outcome: Outcome,
    name: LimitName,
}

impl RateLimitResult {
    #[inline]
    pub(crate) const fn new(decision: Decision, limit: u32) -> Self {
        let Decision { figures, outcome } = decision;
        Self { figures, limit, outcome, name: LimitName::NONE }
    }

    /// What is said where no limit holds: allowed, and as much remains as can be said.
    pub const fn unlimited() -> Self {
        Self::new(Decision::new(true, Figures::plain(u32::MAX, 0, 0)), u32::MAX)
    }

    /// What is said to a client that somebody has blocked, and for how long.
    pub fn blocked_for(time: Duration) -> Self {
        let nanos = nanos_of(time);
        let decision = Decision::new(false, Figures::plain(0, nanos, nanos));
        Self::new(decision.denied(Reason::Blocked), 0)
    }

    /// A denial that no figures of a key stand behind.
    pub(crate) const fn refused(reason: Reason, limit: u32) -> Self {
        Self::new(Decision::new(false, Figures::plain(0, 0, 0)).denied(reason), limit)
    }

    /// The same, said by the limit of this name.
    pub(crate) const fn said_by(self, name: LimitName) -> Self {
        Self { name, ..self }
    }

    /// The same where fewer calls remain than this limit knows, as another limit says.
    pub(crate) fn with_remaining(self, remaining: u64) -> Self {
        if self.remaining() == remaining {
            return self;
        }
        let remaining = u32::try_from(remaining).unwrap_or(u32::MAX);
        let nanos = |millis: u64| millis.saturating_mul(1_000_000);
        let wait = self.retry_after_ms().map_or(0, nanos);
        let figures = Figures::plain(remaining, wait, nanos(self.reset_after_ms()));
        Self { figures, ..self }
    }

    /// The same figures as a denial for a reason that lies outside the quota.
    pub(crate) const fn denied(self, reason: Reason) -> Self {
        Self { outcome: Outcome::Denied(reason), ..self }
    }

    /// This result, or the error that the cost asked for can never be met.
    #[inline]
    pub(crate) const fn possible_at(self, cost: u64) -> Result<Self, CallError> {
        match self.reason() {
            Some(Reason::CostExceedsLimit) => {
                Err(CallError::CostExceedsLimit(CostExceedsLimit { cost, result: self }))
            }
            Some(Reason::TenantMissing) => {
                Err(CallError::TenantMissing(TenantMissing { result: self }))
            }
            None
            | Some(
                Reason::QuotaUsedUp | Reason::TooManyInFlight | Reason::TableFull | Reason::Blocked,
            ) => Ok(self),
        }
    }

    /// Whether the call may proceed.
    #[inline]
    pub const fn allowed(&self) -> bool {
        matches!(self.outcome, Outcome::Allowed)
    }

    /// How many calls of cost 1 this key would be allowed right now, after this decision.
    #[inline]
    pub fn remaining(&self) -> u64 {
        match self.reason() {
            Some(Reason::TableFull) => 0,
            None
            | Some(
                Reason::QuotaUsedUp
                | Reason::TooManyInFlight
                | Reason::CostExceedsLimit
                | Reason::TenantMissing
                | Reason::Blocked,
            ) => self.figures.remaining(self.limit),
        }
    }

    /// The shortest whole number of milliseconds, at least 1, after which this same call would be allowed if
    /// nobody else uses the key.
    ///
    /// `None` when it was allowed, and where no wait can be promised; [`reason`](Self::reason) says which.
    pub fn retry_after_ms(&self) -> Option<u64> {
        match self.reason() {
            Some(Reason::QuotaUsedUp) => Some(self.figures.retry_after_ms(self.limit).max(1)),
            // Only leases promise when a place is free, and only some blocks have an end.
            Some(Reason::TooManyInFlight | Reason::Blocked) => {
                Some(self.figures.retry_after_ms(self.limit)).filter(|wait_ms| *wait_ms > 0)
            }
            None | Some(Reason::TableFull | Reason::CostExceedsLimit | Reason::TenantMissing) => {
                None
            }
        }
    }

    /// The quota: a bucket's capacity, or the most requests in a window. Where no limit holds
    /// ([`Policy::unlimited`](crate::Policy::unlimited), an exempt client) it and [`remaining`](Self::remaining) are
    /// 4,294,967,295; where the endpoint is blocked, 0.
    pub fn limit(&self) -> u64 {
        u64::from(self.limit)
    }

    /// Milliseconds, rounded up, until the key has its whole quota back if it stays idle; 0 when it has.
    pub fn reset_after_ms(&self) -> u64 {
        self.figures.reset_after_ms()
    }

    /// The name of the limit whose figures these are, where the endpoint has named limits.
    ///
    /// Of a denial it is the one with the longest wait among those that deny, and before all waits one that promises
    /// none; of a call that was allowed, the one of which least remains. [`remaining`](Self::remaining) is the least of
    /// all limits either way.
    pub fn limit_name(&self) -> Option<&'static str> {
        self.name.text()
    }

    /// Why the call was denied, `None` when it was allowed.
    pub const fn reason(&self) -> Option<Reason> {
        match self.outcome {
            Outcome::Allowed => None,
            Outcome::Denied(reason) => Some(reason),
        }
    }
}

/// Why a call cannot be judged: nothing was charged, and no wait will help. (A denial is no error but a result.)
#[derive(Clone, Copy, Debug, Error)]
#[error(transparent)]
#[non_exhaustive]
pub enum CallError {
    /// The cost is above the limit.
    CostExceedsLimit(#[from] CostExceedsLimit),
    /// A limit counts by tenant, and the call names none.
    TenantMissing(#[from] TenantMissing),
}

impl CallError {
    /// The error as a denial: what is told to those who take only results.
    pub const fn result(&self) -> RateLimitResult {
        match self {
            Self::CostExceedsLimit(error) => error.result(),
            Self::TenantMissing(error) => error.result(),
        }
    }

    /// For calls that cannot name a tenant: the lack of one is a denial with a reason.
    pub(crate) fn of_cost(self) -> Result<RateLimitResult, CostExceedsLimit> {
        match self {
            Self::CostExceedsLimit(error) => Err(error),
            Self::TenantMissing(error) => Ok(error.result()),
        }
    }
}

/// A call costs more than its limit: no wait will ever be enough. Nothing was charged.
#[derive(Clone, Copy, Debug, Error)]
#[error(
    "a cost of {cost} can never be met by {}; split the call or raise the limit",
    .result.told()
)]
pub struct CostExceedsLimit {
    cost: u64,
    result: RateLimitResult,
}

impl CostExceedsLimit {
    /// The cost that was asked for.
    pub const fn cost(&self) -> u64 {
        self.cost
    }

    /// The key's figures, which the call did not change; `allowed` is false and `retry_after_ms` is `None`.
    pub const fn result(&self) -> RateLimitResult {
        self.result
    }
}

/// A limit counts by tenant, and the call names none. Nothing was charged.
#[derive(Clone, Copy, Debug, Error)]
#[error("{} counts by tenant, and the call names none; give it with the call", .result.told())]
pub struct TenantMissing {
    result: RateLimitResult,
}

impl TenantMissing {
    /// By the limit of this name.
    pub(crate) const fn said_by(name: LimitName, limit: u32) -> Self {
        Self { result: RateLimitResult::refused(Reason::TenantMissing, limit).said_by(name) }
    }

    /// A denial without figures, by the limit that counts by tenant; `retry_after_ms` is `None`.
    pub const fn result(&self) -> RateLimitResult {
        self.result
    }
}

impl RateLimitResult {
    /// The limit in words.
    fn told(&self) -> String {
        match self.limit_name() {
            Some(name) => format!("the limit {name:?} of {}", self.limit),
            None => format!("a limit of {}", self.limit),
        }
    }
}
