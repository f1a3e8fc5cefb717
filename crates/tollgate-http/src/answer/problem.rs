//! Bodies of `application/problem+json`, RFC 9457.

use std::fmt::{self, Write as _};

use tollgate::{RateLimitResult, Reason};

use super::EntryPolicy;
use super::fields::seconds;
use super::policies::shown;

/// The type of a denial by a quota, and the title that is registered with it.
const QUOTA_EXCEEDED: (&str, &str) = (
    "https://iana.org/assignments/http-problem-types#quota-exceeded",
    "Request cannot be satisfied as assigned quota has been exceeded",
);

/// Room for most bodies.
const BODY_BYTES: usize = 384;

/// Whether a wait helps.
#[derive(Clone, Copy)]
pub(super) enum Wait {
    /// So many milliseconds do.
    Millis(u64),
    /// None is promised to.
    NotPromised,
    /// It is not about time.
    Beside,
}

impl Wait {
    pub(super) fn of(wait_ms: Option<u64>) -> Self {
        wait_ms.map_or(Self::NotPromised, Self::Millis)
    }

    pub(super) const fn millis(self) -> Option<u64> {
        match self {
            Self::Millis(wait_ms) => Some(wait_ms),
            Self::NotPromised | Self::Beside => None,
        }
    }
}

/// What is wrong with a request, as a body says it.
pub(super) struct Problem {
    pub(super) status: http::StatusCode,
    /// The name of the limit that denied, where one did.
    pub(super) violated: Option<Box<str>>,
    pub(super) detail: String,
    pub(super) wait: Wait,
}

impl Problem {
    /// Of a denial, with the wait that is told.
    pub(super) fn of(result: &RateLimitResult, policy: &EntryPolicy, wait_ms: Option<u64>) -> Self {
        let speaker = policy.speaker(result);
        let violated = match result.reason() {
            Some(Reason::QuotaUsedUp | Reason::TooManyInFlight | Reason::CostExceedsLimit) => {
                let other = || result.limit_name().map(|name| shown(name).into());
                speaker.map(|limit| limit.shown.clone()).or_else(other)
            }
            None | Some(Reason::TableFull | Reason::TenantMissing | Reason::Blocked | _) => None,
        };
        let limit = match speaker {
            Some(limit) => TheLimit { name: Some(&limit.shown), of: limit.quota.into() },
            None => TheLimit { name: None, of: result.limit() },
        };
        Self {
            status: http::StatusCode::TOO_MANY_REQUESTS,
            violated,
            detail: detail(result, &limit, wait_ms),
            wait: Wait::of(wait_ms),
        }
    }

    pub(super) fn into_body(self) -> String {
        let mut body = String::with_capacity(BODY_BYTES);
        body.push('{');
        let phrase = self.status.canonical_reason().unwrap_or_default();
        let (kind, title) =
            if self.violated.is_some() { QUOTA_EXCEEDED } else { ("about:blank", phrase) };
        // Writing to a string cannot fail.
        let _written = write!(
            body,
            r#""type":{},"title":{},"status":{},"detail":{}"#,
            Json(kind),
            Json(title),
            self.status.as_u16(),
            Json(&self.detail)
        );
        if let Some(name) = &self.violated {
            let _written = write!(body, r#","violated-policies":[{}]"#, Json(name));
        }
        match self.wait {
            Wait::Millis(wait_ms) => {
                let _written = write!(body, r#","retryAfterMs":{wait_ms}"#);
            }
            Wait::NotPromised => body.push_str(r#","retryAfterMs":null"#),
            Wait::Beside => {}
        }
        body.push('}');
        body
    }
}

/// A limit in words.
struct TheLimit<'a> {
    name: Option<&'a str>,
    of: u64,
}

impl fmt::Display for TheLimit<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name {
            Some(name) => write!(f, "the limit \"{name}\" of {}", self.of),
            None => write!(f, "a limit of {}", self.of),
        }
    }
}

fn detail(result: &RateLimitResult, limit: &TheLimit<'_>, wait_ms: Option<u64>) -> String {
    let mut detail = match result.reason() {
        Some(Reason::QuotaUsedUp) if limit.name.is_none() && result.limit_name().is_some() => {
            "too many requests were denied in a row".to_owned()
        }
        Some(Reason::QuotaUsedUp) => format!("{limit} has too little left for this request"),
        Some(Reason::TooManyInFlight) => {
            format!("as many requests are under way as {limit} allows; wait for one to end")
        }
        Some(Reason::CostExceedsLimit) => {
            format!("this request costs more than {limit} ever gives; no wait will help")
        }
        Some(Reason::TableFull) => {
            "as many clients are counted as there is room for; come back later".to_owned()
        }
        Some(Reason::TenantMissing) => {
            format!("{limit} counts by tenant, and the request names none")
        }
        Some(Reason::Blocked) => "this endpoint is blocked".to_owned(),
        None | Some(_) => "the request is denied".to_owned(),
    };
    if let Some(wait_ms) = wait_ms {
        let _written = write!(detail, "; come back in {} s", seconds(wait_ms));
    }
    detail
}

/// Whether a letter may not stand in a string of JSON as it is.
fn must_be_escaped(letter: char) -> bool {
    matches!(letter, '"' | '\\' | '\0'..='\u{1f}')
}

/// Text as a string of JSON.
struct Json<'a>(&'a str);

impl fmt::Display for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for part in self.0.split_inclusive(must_be_escaped) {
            let mut letters = part.chars();
            match letters.next_back().filter(|letter| must_be_escaped(*letter)) {
                None => f.write_str(part)?,
                Some(letter @ ('"' | '\\')) => write!(f, "{}\\{letter}", letters.as_str())?,
                Some(letter) => write!(f, "{}\\u{:04x}", letters.as_str(), u32::from(letter))?,
            }
        }
        f.write_char('"')
    }
}
