//! What a rule finds.

use std::fmt::{self, Display, Formatter};

/// A place that breaks a rule.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Offence {
    path: String,
    line: usize,
    what: String,
}

impl Offence {
    pub(crate) fn new(path: &str, line: usize, what: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, what: what.into() }
    }
}

impl Display for Offence {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}", self.path, self.line, self.what)
    }
}

/// Fails with every offence, and with what to do about them.
#[track_caller]
pub(crate) fn assert_none(offences: &[Offence], remedy: &str) {
    assert!(offences.is_empty(), "\n{}\n{remedy}\n", listed(offences));
}

/// One line for each offence: `path:line: what is wrong`.
pub(crate) fn listed(offences: &[Offence]) -> String {
    offences.iter().map(Offence::to_string).collect::<Vec<_>>().join("\n")
}
