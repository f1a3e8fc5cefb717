//! A decision of [`tollgate`] as JSON, the same wherever one is written: by the decision API, in the lines of a replay,
//! and in what a scenario expects.

#![forbid(unsafe_code)]

use serde::{Serialize, Serializer};
use tollgate::{CallError, CostExceedsLimit, Decided, RateLimitResult};

/// The result of a call as JSON, the same wherever one is written.
///
/// ```
/// use tollgate::{Config, ManualClock, RateLimiter, TokenBucket};
/// use tollgate_json::ResultJson;
///
/// let config = Config::builder().default(TokenBucket::per_second(1).burst(10)).build()?;
/// let limiter = RateLimiter::builder(config).clock(ManualClock::new()).build();
/// let result = ResultJson::from(&limiter.allow_n("alice", "/x", 1));
/// assert_eq!(
///     serde_json::to_string(&result)?,
///     r#"{"allowed":true,"remaining":9,"retryAfterMs":null,"limit":10,"resetAfterMs":1000}"#,
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct ResultJson {
    /// Whether the call may proceed.
    pub allowed: bool,
    /// How many calls of cost 1 would be allowed right now, after this one.
    pub remaining: u64,
    /// Milliseconds after which the same call would be allowed; `null` where it was, or where no wait will do.
    pub retry_after_ms: Option<u64>,
    /// The quota.
    pub limit: u64,
    /// Milliseconds until the whole quota is back if nobody calls.
    pub reset_after_ms: u64,
    /// The limit these figures are of; left out where the endpoint's limits have no names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_name: Option<&'static str>,
    /// Why no wait will do; left out where there is no error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ResultError>,
}

/// What else can be the matter with a call than that it comes too soon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResultError {
    /// The cost is above the limit.
    CostExceedsLimit,
    /// A limit counts by tenant, and the call names none.
    TenantMissing,
}

impl ResultError {
    /// The name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CostExceedsLimit => "costExceedsLimit",
            Self::TenantMissing => "tenantMissing",
        }
    }

    fn of(error: &CallError) -> Option<Self> {
        match error {
            CallError::CostExceedsLimit(_) => Some(Self::CostExceedsLimit),
            CallError::TenantMissing(_) => Some(Self::TenantMissing),
            _ => None,
        }
    }

    /// The error of this name.
    pub fn of_name(name: &str) -> Option<Self> {
        [Self::CostExceedsLimit, Self::TenantMissing].into_iter().find(|error| error.name() == name)
    }
}

impl Serialize for ResultError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl From<&Decided> for ResultJson {
    fn from(decided: &Decided) -> Self {
        match decided {
            Ok(result) => Self::new(result, None),
            Err(error) => Self::new(&error.result(), ResultError::of(error)),
        }
    }
}

/// A result that is no error.
impl From<&RateLimitResult> for ResultJson {
    fn from(result: &RateLimitResult) -> Self {
        Self::new(result, None)
    }
}

/// What [`RateLimiter::allow_n`](tollgate::RateLimiter::allow_n) answers.
impl From<&Result<RateLimitResult, CostExceedsLimit>> for ResultJson {
    fn from(decided: &Result<RateLimitResult, CostExceedsLimit>) -> Self {
        Self::from(&decided.map_err(CallError::from))
    }
}

impl ResultJson {
    fn new(result: &RateLimitResult, error: Option<ResultError>) -> Self {
        Self {
            allowed: result.allowed(),
            remaining: result.remaining(),
            retry_after_ms: result.retry_after_ms(),
            limit: result.limit(),
            reset_after_ms: result.reset_after_ms(),
            limit_name: result.limit_name(),
            error,
        }
    }
}
