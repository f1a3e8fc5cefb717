//! The fields that tell clients how they stand.

use std::borrow::Cow;

use http::{HeaderMap, HeaderName, HeaderValue};
use tollgate::RateLimitResult;

use super::policies::{quoted, shown};
use super::{Answers, Caller, Cors, EntryPolicy};

/// Which fields tell clients how they stand. One family, never two at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FieldStyle {
    /// `RateLimit-Policy: "burst";q=100;w=60` and `RateLimit: "burst";r=0;t=31`, as drafts 10 and 11 of
    /// the IETF's work on them has it
    /// (<https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/>). The default.
    #[default]
    RateLimit,
    /// `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset`, the last in seconds from now.
    XRateLimit,
    /// None but `Retry-After`, on denials.
    None,
}

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");
const X_LIMIT: HeaderName = HeaderName::from_static("x-ratelimit-limit");
const X_REMAINING: HeaderName = HeaderName::from_static("x-ratelimit-remaining");
const X_RESET: HeaderName = HeaderName::from_static("x-ratelimit-reset");

/// The largest integer of structured fields.
const INTEGER_MAX: u64 = 999_999_999_999_999;

impl FieldStyle {
    /// The fields that scripts of other origins may be shown.
    const fn exposed(self) -> &'static str {
        match self {
            Self::RateLimit => "RateLimit, RateLimit-Policy, Retry-After",
            Self::XRateLimit => {
                "X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset, Retry-After"
            }
            Self::None => "Retry-After",
        }
    }
}

/// Whole seconds, rounded up.
pub(super) const fn seconds(millis: u64) -> u64 {
    millis.div_ceil(1_000)
}

impl Answers {
    /// Adds to a response what a result tells: the figures of the limit that denied, or of the one of which least
    /// remains. Nothing where no limit holds.
    ///
    /// An upstream's own fields stay. `RateLimit` and `RateLimit-Policy` are lists, and ours come after its; of the
    /// `X-RateLimit` family there can be but one, and it is the one of which less remains.
    pub fn add_fields(
        &self,
        result: &RateLimitResult,
        policy: &EntryPolicy,
        caller: &Caller,
        fields: &mut HeaderMap,
    ) {
        if self.cors.is_some() && caller.origin().is_some() {
            Cors::expose(self.style.exposed(), fields);
        }
        // Where no limit holds, the limit is a number that says so.
        let holds = result.limit() != u64::from(u32::MAX) || result.remaining() != result.limit();
        if !(holds && policy.has_limits()) {
            return;
        }
        match self.style {
            FieldStyle::RateLimit => {
                fields.extend(policy.field().map(|value| (RATE_LIMIT_POLICY, value.clone())));
                fields.extend(rate_limit(result, policy).map(|value| (RATE_LIMIT, value)));
            }
            FieldStyle::XRateLimit => add_x_rate_limit(result, policy, fields),
            FieldStyle::None => {}
        }
    }
}

/// Seconds until what is told to remain is told anew: on a denial until the same call passes, which is what
/// `Retry-After` says too, else until the whole quota is back. `None` where nobody knows.
fn effective_seconds(result: &RateLimitResult) -> Option<u64> {
    let millis =
        if result.allowed() { Some(result.reset_after_ms()) } else { result.retry_after_ms() };
    millis.map(|millis| seconds(millis).min(INTEGER_MAX))
}

/// The value of `RateLimit`.
fn rate_limit(result: &RateLimitResult, policy: &EntryPolicy) -> Option<HeaderValue> {
    let name: Cow<'_, str> = match (policy.speaker(result), result.limit_name()) {
        (Some(limit), _) => Cow::Borrowed(&limit.quoted),
        (None, name) => Cow::Owned(quoted(&shown(name.unwrap_or_default()))),
    };
    let mut value = format!("{name};r={}", result.remaining());
    if let Some(seconds) = effective_seconds(result).filter(|seconds| *seconds > 0) {
        value.push_str(";t=");
        value.push_str(&seconds.to_string());
    }
    HeaderValue::try_from(value).ok()
}

fn add_x_rate_limit(result: &RateLimitResult, policy: &EntryPolicy, fields: &mut HeaderMap) {
    let theirs = fields.get(X_REMAINING).and_then(|value| value.to_str().ok()?.parse::<u64>().ok());
    if theirs.is_some_and(|theirs| theirs <= result.remaining()) {
        return;
    }
    for name in [X_LIMIT, X_REMAINING, X_RESET] {
        fields.remove(name);
    }
    // What blocks after too many denials is no limit of so many calls.
    fields.extend(policy.speaker(result).map(|limit| (X_LIMIT, limit.quota.into())));
    fields.insert(X_REMAINING, result.remaining().into());
    fields.extend(effective_seconds(result).map(|seconds| (X_RESET, seconds.into())));
}
