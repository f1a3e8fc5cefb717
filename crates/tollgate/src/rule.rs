//! What a client gets of an endpoint: one limit, several that decide together, or a word for the extremes.

use std::collections::BTreeSet;

use crate::config::LimiterConfig;
use crate::limit::{Limit, ValidLimit};
use crate::parameters::{Fault, Faults};

/// What the clients of a plan get of an endpoint, or one client: one limit, which any algorithm or [`LimiterConfig`]
/// turns into, several, or a word for the extremes. (What everybody gets is a [`Policy`](crate::Policy).)
#[derive(Clone, Debug)]
pub struct Rule(Kind);

#[derive(Clone, Debug)]
enum Kind {
    One(LimiterConfig),
    Limits(Vec<Limit>),
    Unlimited,
    Deny,
}

impl Rule {
    /// Several limits that decide together.
    pub fn limits(limits: impl IntoIterator<Item = Limit>) -> Self {
        Self(Kind::Limits(limits.into_iter().collect()))
    }

    /// No limit at all: not even those that endpoints share.
    pub const fn unlimited() -> Self {
        Self(Kind::Unlimited)
    }

    /// Every call is denied.
    pub const fn deny() -> Self {
        Self(Kind::Deny)
    }

    /// Checks all limits. `entry` is the endpoint, or `default`.
    ///
    /// # Errors
    /// Every fault of them.
    pub(crate) fn check(self, entry: &str) -> Result<ValidRule, Faults> {
        Ok(match self.0 {
            Kind::Unlimited => ValidRule::Unlimited,
            Kind::Deny => ValidRule::Deny,
            Kind::One(limiter) => ValidRule::One(ValidLimit::alone(entry.into(), limiter.check()?)),
            Kind::Limits(limits) => ValidRule::Limits(check_limits(limits)?),
        })
    }
}

impl<T: Into<LimiterConfig>> From<T> for Rule {
    fn from(limiter: T) -> Self {
        Self(Kind::One(limiter.into()))
    }
}

/// Checks limits that stand in one list.
///
/// # Errors
/// Every fault of each, and names given twice.
pub(crate) fn check_limits(limits: Vec<Limit>) -> Result<Vec<ValidLimit>, Faults> {
    let mut faults = Vec::new();
    let mut valid: Vec<ValidLimit> = Vec::new();
    for limit in limits {
        match limit.check() {
            Ok(limit) => valid.push(limit),
            Err(found) => faults.extend(found.iter().cloned()),
        }
    }
    let mut seen = BTreeSet::new();
    for limit in &valid {
        if !seen.insert(&*limit.name) {
            let message = format!("limit {:?} is given twice; keep one", limit.name);
            faults.push(Fault::of_field("name", message));
        }
    }
    Faults::check(faults)?;
    Ok(valid)
}

/// A [`Rule`] that was checked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum ValidRule {
    /// One limit without a name of its own.
    One(ValidLimit),
    Limits(Vec<ValidLimit>),
    Unlimited,
    Deny,
}

impl ValidRule {
    /// Its limits, without those that endpoints share.
    pub(crate) fn own(&self) -> &[ValidLimit] {
        match self {
            Self::One(limit) => std::slice::from_ref(limit),
            Self::Limits(limits) => limits,
            Self::Unlimited | Self::Deny => &[],
        }
    }

    /// Whether limits decide at all.
    pub(crate) const fn counts(&self) -> bool {
        matches!(self, Self::One(_) | Self::Limits(_))
    }

    /// Whether its limits have names of their own.
    pub(crate) const fn is_named(&self) -> bool {
        !matches!(self, Self::One(_))
    }
}
