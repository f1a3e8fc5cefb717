//! An exact, bounded, in-process rate limiter: decides whether a client may call an endpoint now, and if not, when to
//! come back.

pub mod algorithm;
mod clock;
mod config;
mod decision;
mod factory;
mod key;
mod limiter;
mod parameters;
mod rate;
mod rate_limiter;
mod reload;
mod store;
mod wide;

pub use algorithm::{
    Algorithm, CarriedOver, FixedWindow, IntoAlgorithm, SlidingWindowCounter, SlidingWindowLog,
    TokenBucket,
};
pub use clock::{Clock, ManualClock, MonotonicClock, Time};
pub use config::{Config, ConfigBuilder, LimiterConfig, LimiterSummary, OnFull};
pub use decision::{CostExceedsLimit, Decision, RateLimitResult, Reason};
pub use factory::{AnyAlgorithm, LimiterFactory};
pub use key::{Key, KeyHasher};
pub use limiter::{
    Decided, Environment, Keyed, Limiter, Request, SlidingWindowLogLimiter, TokenBucketLimiter,
};
pub use parameters::{
    Fault, Faults, ParameterReader, Parameters, Value, nearest_name, unknown_field,
};
pub use rate::{Rate, RateError};
pub use rate_limiter::{Call, RateLimiter, RateLimiterBuilder};
pub use reload::{Change, ReloadReport};
pub use store::{Counts, ResetReport};
