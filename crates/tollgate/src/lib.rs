//! An exact, bounded, in-process rate limiter: decides whether a client may call an endpoint now, and if not, when to
//! come back.
//!
//! Should you use this? If one process decides for itself, and the answer has to be right: never above the quota, with
//! a wait that is enough. It shares no state between machines, makes no call wait, and knows nothing of HTTP.
//!
//! ```
//! use std::time::Duration;
//! use tollgate::{Config, RateLimiter, SlidingWindowLog, TokenBucket};
//!
//! let config = Config::builder()
//!     .default(TokenBucket::per_second(1).burst(10))
//!     .endpoint("/search", SlidingWindowLog::new(100, Duration::from_secs(60)))
//!     .build()?;
//! let limiter = RateLimiter::new(config);
//!
//! let result = limiter.allow("alice", "/search");
//! assert!(result.allowed());
//! assert_eq!(result.remaining(), 99);
//! assert_eq!(result.retry_after_ms(), None);
//! # Ok::<(), tollgate::Faults>(())
//! ```
//!
//! One limit for many clients, without endpoints, is a [`Keyed`]; limits from a file are read by the crate
//! `tollgate-config`.
//!
//! An endpoint may have several limits, of any algorithms, by client, by tenant and for all together, which are charged
//! all or none: see [`Policy`] and [`Limit`]. Clients may be on plans with limits of their own: see [`Policy::plan`].
//!
//! # Which algorithm
//! | algorithm | worst case in any window W | bytes a key | when |
//! | --- | --- | --- | --- |
//! | [`TokenBucket`] | capacity + rate × W | 20 | the usual choice: bursts, and a steady rate in the long run |
//! | [`SlidingWindowLog`] | `maxRequests` | 48, and 4 a request | a ceiling that must hold in every window |
//! | [`SlidingWindowCounter`] | 2 × `maxRequests` - 2 | 24 | close to the log, for large quotas |
//! | [`FixedWindow`] | 2 × `maxRequests` - 1 | 20 | where a seam between windows does no harm |
//! | [`CalendarWindow`] | 2 × `maxRequests` | 20 | a quota of the hour, the day, the week or the month |
//!
//! How many calls a client has under way at once is bounded by a [`Concurrency`], which is no rate.
//!
//! The pages of [`algorithm`] say more. One of your own implements [`Algorithm`].
//!
//! # What holds
//! - **Never over.** No threads, clock, flood or reload make a limiter admit more than its algorithm's worst case.
//!   (Across plans, at most what the larger of them gives, and across one reload, at most the larger of the two limits
//!   at once; [`OnFull::Admit`] gives this up when the table is full.)
//! - **Truthful.** Who waits [`retry_after_ms`](RateLimitResult::retry_after_ms) is admitted, and a millisecond
//!   sooner is not, if nobody else uses the key.
//! - **A denial costs nothing.** It changes neither what is allowed next nor when.
//! - **All or nothing.** A cost is charged whole or not at all, and to all of an endpoint's limits or to none; one
//!   above a limit is an error, [`CostExceedsLimit`].
//! - **Keys are strangers**, until the table is full: then a newcomer may start with debt of keys that had to leave.
//! - **Time only goes forward**, whatever the [`Clock`] does: each limiter goes by the latest time it has seen.
//!
//! Once a table was full, a key that is not held starts from its overflow cell; there, what holds is never over.
//!
//! # Limits
//! | what | most | beyond it |
//! | --- | --- | --- |
//! | keys held by a limiter | [`max_keys`](LimiterConfig::max_keys), 1,000,000 unless said | as [`OnFull`] says |
//! | a bucket's capacity, a window's requests | 4,294,967,295; 1,000,000 for a log | refused |
//! | a bucket's rate | 10^9 a second; a refill within 100 years | refused |
//! | a window | 366 days | refused |
//! | plans | [32](Config::PLANS_MAX) | refused |
//! | limits that decide one call | [16](Policy::LIMITS_MAX) | refused |
//! | time | 481 years from the clock's origin | stands still |
//!
//! # Map
//! [`RateLimiter`] is the door: it looks an endpoint's [`Limiter`] up and asks it. [`Keyed`] is the limiter: an
//! [`Algorithm`], a store of keys and a [`Clock`], joined. [`Config`] says what each endpoint gets, its [`Policy`];
//! [`LimiterFactory`] makes algorithms from names and [`Parameters`], [`RateLimiter::reload`] changes limits and tells
//! by a [`ReloadReport`] what became of their state.

pub mod algorithm;
mod any_algorithm;
mod by_plan;
mod clock;
mod concurrency;
mod config;
mod decision;
mod endpoints;
mod explain;
mod factory;
mod joining;
mod joint;
mod key;
mod keyed;
mod limit;
mod limit_name;
mod limiter;
mod member;
mod misfits;
mod outright;
mod parameters;
mod penalty;
mod planned;
mod plans;
mod policy;
mod rate;
mod rate_limiter;
mod receipt;
mod reload;
mod routes;
mod rule;
mod store;
mod succession;
mod summary;
mod tables;
mod tally;
mod viewed;
mod wall_clock;
mod wide;

pub use algorithm::{
    Algorithm, CalendarWindow, CarriedOver, FixedWindow, IntoAlgorithm, Offset, Period,
    SlidingWindowCounter, SlidingWindowLog, Timeline, TokenBucket,
};
pub use any_algorithm::AnyAlgorithm;
pub use clock::{Clock, ManualClock, MonotonicClock, Time};
pub use concurrency::{Concurrency, Permit};
pub use config::{Config, ConfigBuilder, LimiterConfig, OnFull};
pub use decision::{CallError, CostExceedsLimit, Decision, RateLimitResult, Reason, TenantMissing};
pub use endpoints::LimitCounts;
pub use explain::{Explained, Explanation, Matched, OnPlan};
pub use factory::LimiterFactory;
pub use key::{Key, KeyHasher};
pub use keyed::{Keyed, SlidingWindowLogLimiter, TokenBucketLimiter};
pub use limit::{Limit, Mode, Scope};
pub use limiter::{Decided, DecidedEach, Environment, LimitResult, Limiter, Request};
pub use misfits::unknown_shared_limit;
pub use parameters::{
    Fault, Faults, ParameterReader, Parameters, Value, nearest_name, unknown_field,
};
pub use plans::unknown_plan;
pub use policy::Policy;
pub use rate::{Rate, RateError};
pub use rate_limiter::{Call, RateLimiter, RateLimiterBuilder};
pub use receipt::Receipt;
pub use reload::{Change, LimitChange, ReloadReport};
pub use routes::{EndpointFault, endpoint_faults};
pub use rule::Rule;
pub use store::{Counts, ResetReport};
pub use summary::{AppliesTo, LimiterSummary, Owner, PolicyKind, PolicySummary, RuleSummary};
pub use wall_clock::{SystemWallClock, WallClock};

/// What the fuzzer hands its bytes to.
#[cfg(fuzzing)]
#[doc(hidden)]
pub fn drive_stores(bytes: &[u8]) {
    store::tests::fuzz::drive(bytes);
}

/// The examples of the README are tests.
#[cfg(doctest)]
#[doc = include_str!("../../../README.md")]
struct Readme;
