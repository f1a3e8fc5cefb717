//! A limit with a name: one of several on an endpoint, or one that endpoints share.

use std::sync::Arc;

use crate::config::{LimiterConfig, ValidLimiter};
use crate::parameters::{Fault, Faults};

/// Whose calls a limit counts together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Scope {
    /// Each client's on their own. The default.
    #[default]
    Client,
    /// All calls of a tenant, which is named with the call.
    Tenant,
    /// Everybody's: a ceiling.
    Global,
}

impl Scope {
    /// The word for it in config files.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Tenant => "tenant",
            Self::Global => "global",
        }
    }
}

/// Whether a limit denies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Mode {
    /// It does. The default.
    #[default]
    Enforce,
    /// It decides and counts as if it did, and nobody is denied: a trial run. Enforced by a reload, it goes on with the
    /// state it has.
    Shadow,
}

impl Mode {
    /// The word for it in config files.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Enforce => "enforce",
            Self::Shadow => "shadow",
        }
    }
}

/// A limit with a name: of several that decide together ([`Policy::limits`](crate::Policy::limits)), or one that
/// endpoints share ([`ConfigBuilder::shared_limit`](crate::ConfigBuilder::shared_limit)).
///
/// The name is what results tell and what a reload goes by: a limit keeps its state where its name and algorithm stay.
///
/// ```
/// use std::time::Duration;
/// use tollgate::{Config, FixedWindow, Limit, Policy, RateLimiter, Scope, TokenBucket};
///
/// let day = Duration::from_secs(86_400);
/// let config = Config::builder()
///     .default(Policy::limits([
///         Limit::new("burst", TokenBucket::per_second(10)),
///         Limit::new("day", FixedWindow::new(1_000, day)),
///         Limit::new("all", TokenBucket::per_second(5_000)).scope(Scope::Global),
///     ]))
///     .build()?;
/// let limiter = RateLimiter::new(config);
///
/// let result = limiter.allow("alice", "/search");
/// assert_eq!((result.remaining(), result.limit_name()), (9, Some("burst")));
/// # Ok::<(), tollgate::Faults>(())
/// ```
#[derive(Clone, Debug)]
pub struct Limit {
    name: String,
    limiter: LimiterConfig,
    scope: Scope,
    mode: Mode,
    was: Option<String>,
}

impl Limit {
    /// A limit for each client, enforced.
    pub fn new(name: impl Into<String>, limiter: impl Into<LimiterConfig>) -> Self {
        Self {
            name: name.into(),
            limiter: limiter.into(),
            scope: Scope::Client,
            mode: Mode::Enforce,
            was: None,
        }
    }

    /// Whose calls are counted together.
    #[must_use]
    pub fn scope(self, scope: Scope) -> Self {
        Self { scope, ..self }
    }

    /// Whether it denies.
    #[must_use]
    pub fn mode(self, mode: Mode) -> Self {
        Self { mode, ..self }
    }

    /// The name it had in the config before, so that a reload hands its state on.
    #[must_use]
    pub fn was(self, name: impl Into<String>) -> Self {
        Self { was: Some(name.into()), ..self }
    }

    /// Checks everything.
    ///
    /// # Errors
    /// Every fault of the name and of the limiter.
    pub(crate) fn check(self) -> Result<ValidLimit, Faults> {
        if self.name.is_empty() {
            return Err(Fault::of_field("name", "a limit's name is empty; give it one").into());
        }
        let within = |fault: &Fault| fault.clone().within(&format_args!("limit {:?}", self.name));
        let limiter = self.limiter.check();
        let mut limiter =
            limiter.map_err(|faults| Faults::of(faults.iter().map(within).collect()))?;
        limiter.bounds.in_company = true;
        if self.scope == Scope::Global {
            limiter.bounds.max_keys = 1;
        }
        Ok(ValidLimit {
            name: self.name.into(),
            limiter,
            scope: self.scope,
            mode: self.mode,
            was: self.was.map(Into::into),
        })
    }
}

/// A [`Limit`] that was checked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct ValidLimit {
    pub(crate) name: Arc<str>,
    pub(crate) limiter: ValidLimiter,
    pub(crate) scope: Scope,
    pub(crate) mode: Mode,
    pub(crate) was: Option<Arc<str>>,
}

impl ValidLimit {
    /// The only limit of an entry, which has no name but its entry's.
    pub(crate) fn alone(entry: Arc<str>, limiter: ValidLimiter) -> Self {
        Self { name: entry, limiter, scope: Scope::Client, mode: Mode::Enforce, was: None }
    }

    /// Whether a client that comes under this limit from the other one goes on with what it has used.
    pub(crate) fn goes_on_as(&self, other: &Self) -> bool {
        self.name == other.name
            && self.scope == other.scope
            && self.limiter.algorithm.is_like(&other.limiter.algorithm)
    }
}
