//! What a config has to tell clients of each endpoint's limits.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::time::Duration;

use http::HeaderValue;
use tollgate::{AnyAlgorithm, Config, Mode, PolicySummary, RateLimitResult};

use super::ESCAPED;

/// What a config has to tell clients of each entry's limits. Make it once for each config, and anew for each reload.
///
/// ```
/// use std::time::Duration;
/// use tollgate::{Config, FixedWindow, Limit, Policy, TokenBucket};
/// use tollgate_http::Policies;
///
/// let config = Config::builder()
///     .default(Policy::limits([
///         Limit::new("burst", TokenBucket::per_minute(60).burst(10)),
///         Limit::new("day", FixedWindow::new(1_000, Duration::from_secs(86_400))),
///     ]))
///     .build()?;
/// let policies = Policies::of(&config);
/// let told = policies.of_entry(None).field().unwrap();
/// assert_eq!(told, r#""burst";q=10;w=10, "day";q=1000;w=86400"#);
/// # Ok::<(), tollgate::Faults>(())
/// ```
#[derive(Clone, Debug)]
pub struct Policies {
    default: EntryPolicy,
    by_entry: HashMap<Box<str>, EntryPolicy>,
}

impl Policies {
    /// Those of a config.
    pub fn of(config: &Config) -> Self {
        let mut policies = Self { default: EntryPolicy::none(), by_entry: HashMap::new() };
        for policy in config.policies() {
            let told = EntryPolicy::of(&policy);
            match policy.endpoint() {
                None => policies.default = told,
                Some(endpoint) => drop(policies.by_entry.insert(endpoint.into(), told)),
            }
        }
        policies
    }

    /// That of the entry that answers for an endpoint, as [`RateLimiter::entry`](tollgate::RateLimiter::entry) tells
    /// it; `None` for the default's.
    pub fn of_entry(&self, entry: Option<&str>) -> &EntryPolicy {
        entry.and_then(|entry| self.by_entry.get(entry)).unwrap_or(&self.default)
    }
}

/// What is told of one entry's limits: those that deny, and none on trial.
#[derive(Clone, Debug)]
pub struct EntryPolicy {
    limits: Vec<Told>,
    field: Option<HeaderValue>,
}

/// A limit as clients are told of it.
#[derive(Clone, Debug)]
pub(super) struct Told {
    /// As results name it.
    name: Box<str>,
    /// Its limit, by which those of plans are told apart.
    limit: u32,
    /// How many calls it gives: fewer than its limit where it is charged more than once for each.
    pub(super) quota: u32,
    /// As clients are told it, without quotes.
    pub(super) shown: Box<str>,
    /// The same as a string of structured fields.
    pub(super) quoted: Box<str>,
}

impl EntryPolicy {
    /// Of an entry without limits.
    const fn none() -> Self {
        Self { limits: Vec::new(), field: None }
    }

    fn of(policy: &PolicySummary<'_>) -> Self {
        let mut field = String::new();
        let mut limits = Vec::new();
        for (limit, times) in policy.rules().flat_map(|rule| rule.charges()) {
            if limit.mode != Mode::Enforce {
                continue;
            }
            let name = limit.limit_name.unwrap_or_else(|| limit.owner.name());
            let told = Told::of(name, limit.algorithm.limit(), times);
            if !field.is_empty() {
                field.push_str(", ");
            }
            field.push_str(&told.quoted);
            push_terms(limit.algorithm, told.quota, &mut field);
            limits.push(told);
        }
        let is_the_same_for_all = policy.rules().count() == 1;
        // All of it is printable ASCII.
        let field = HeaderValue::try_from(field).ok().filter(|field| !field.is_empty());
        Self { limits, field: field.filter(|_| is_the_same_for_all) }
    }

    /// Of one limit that no config lists, told by this name.
    pub fn of_limit(name: &str, algorithm: &AnyAlgorithm) -> Self {
        let told = Told::of(name, algorithm.limit(), 1);
        let mut field = told.quoted.to_string();
        push_terms(algorithm, algorithm.limit(), &mut field);
        Self { limits: vec![told], field: HeaderValue::try_from(field).ok() }
    }

    /// The value of `RateLimit-Policy`: each limit's name, its quota `q`, and the seconds `w` over which it is given,
    /// rounded up. `None` where nothing is counted, and where plans or overrides give some clients something else: a
    /// quota that is another's is not told.
    ///
    /// `w` is a window's length; of a bucket it is the time that an empty one takes to be whole. Months of the calendar
    /// have no one length, so there is none; nor is there for calls under way, whose unit (`qu`) is
    /// `concurrent-requests`.
    pub const fn field(&self) -> Option<&HeaderValue> {
        self.field.as_ref()
    }

    /// Whether anything is counted.
    pub(super) const fn has_limits(&self) -> bool {
        !self.limits.is_empty()
    }

    /// The limit whose figures a result tells; `None` where it is none of the entry's.
    pub(super) fn speaker(&self, result: &RateLimitResult) -> Option<&Told> {
        let Some(name) = result.limit_name() else { return self.limits.first() };
        let named = || self.limits.iter().filter(|limit| *limit.name == *name);
        named().find(|limit| u64::from(limit.limit) == result.limit()).or_else(|| named().next())
    }
}

impl Told {
    fn of(name: &str, limit: u32, times: u32) -> Self {
        let (shown, quota) = (shown(name), limit.checked_div(times).unwrap_or(0));
        let (name, quoted) = (name.into(), quoted(&shown).into());
        Self { name, limit, quota, quoted, shown: shown.into() }
    }
}

fn push_terms(algorithm: &AnyAlgorithm, quota: u32, field: &mut String) {
    // Writing to a string cannot fail.
    let _written = write!(field, ";q={quota}");
    if algorithm.as_concurrency().is_some() {
        field.push_str(";qu=\"concurrent-requests\"");
    } else if let Some(window) = algorithm.quota_window() {
        let _written = write!(field, ";w={}", seconds(window));
    }
}

/// Whole seconds, rounded up, at least 1.
fn seconds(time: Duration) -> u64 {
    let part = u64::from(time.subsec_nanos() > 0);
    time.as_secs().saturating_add(part).max(1)
}

/// A limit's name as clients are told it. Structured fields have no strings but of printable ASCII, so in a name that
/// has anything else, that and `%` are told as `%` and the digits of their UTF-8 bytes.
pub(super) fn shown(name: &str) -> String {
    let is_printable = |letter: char| letter == ' ' || letter.is_ascii_graphic();
    if name.chars().all(is_printable) {
        return name.to_owned();
    }
    percent_encoding::utf8_percent_encode(name, ESCAPED).to_string()
}

/// Printable text as a string of structured fields, RFC 9651.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len().saturating_add(2));
    quoted.push('"');
    for letter in text.chars() {
        if matches!(letter, '"' | '\\') {
            quoted.push('\\');
        }
        quoted.push(letter);
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use tollgate::{Call, ManualClock, Policy, RateLimiter, TokenBucket};

    use super::*;

    #[test]
    fn a_quota_that_is_another_plans_is_not_told_and_what_remains_is() {
        let policy = Policy::from(TokenBucket::per_minute(10));
        let policy = policy.plan("pro", TokenBucket::per_minute(1_000));
        let config = Config::builder().plans(["pro"]).default(policy).build().unwrap();
        let policies = Policies::of(&config);
        assert!(policies.of_entry(None).field().is_none() && policies.of_entry(None).has_limits());
        let limiter = RateLimiter::builder(config).clock(ManualClock::new()).build();
        let result = limiter.decide(&Call::new("alice", "/x").plan("pro")).unwrap();
        let speaker = policies.of_entry(None).speaker(&result).unwrap();
        assert_eq!((speaker.quota, result.remaining()), (1_000, 999));
    }
}
