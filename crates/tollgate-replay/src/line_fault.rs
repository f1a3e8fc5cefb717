//! What can be wrong with one line of recorded traffic.

use thiserror::Error;

use crate::text::Shown;

/// Why a line of recorded traffic cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum LineFault {
    /// Nothing is on the line, and lines follow it.
    #[error("the line is empty")]
    Empty,
    /// The line goes on and on, so it was passed over without being held in memory.
    #[error("the line is longer than {max} bytes")]
    TooLong {
        /// The most bytes a line may have.
        max: usize,
    },
    /// The line begins as JSON and does not go on so.
    #[error("no JSON: {reason} at column {column}")]
    NoJson {
        /// What the JSON reader says.
        reason: String,
        /// Where, counted in bytes from 1.
        column: usize,
    },
    /// The line is of no format known here.
    #[error(
        "neither an event line nor an access log line: {reason}; known are JSON lines, and the common and combined log \
         formats"
    )]
    UnknownFormat {
        /// What was missed.
        reason: &'static str,
    },
    /// A field that nobody knows; the message names the nearest.
    #[error("{0}")]
    UnknownField(String),
    /// A field is there twice, so it is not clear which is meant.
    #[error("`{0}` is given twice; keep one")]
    Twice(String),
    /// A field is not there.
    #[error("missing {field}; expected {expected}")]
    Missing {
        /// The field, or what it may be called.
        field: String,
        /// What it should hold.
        expected: &'static str,
    },
    /// A field holds something else than it should.
    #[error("{field} is {value}; expected {expected}")]
    Wrong {
        /// The field.
        field: String,
        /// What it holds.
        value: String,
        /// What it should hold.
        expected: &'static str,
    },
}

impl LineFault {
    pub(crate) fn missing(field: impl Into<String>, expected: &'static str) -> Self {
        Self::Missing { field: field.into(), expected }
    }

    pub(crate) fn wrong(field: impl Into<String>, value: &str, expected: &'static str) -> Self {
        Self::Wrong { field: field.into(), value: Shown(value).to_string(), expected }
    }

    pub(crate) fn unknown_field(name: &str, known: &[&str]) -> Self {
        Self::UnknownField(tollgate::unknown_field(&Shown(name).to_string(), known).to_string())
    }

    pub(crate) fn no_json(error: &serde_json::Error) -> Self {
        let message = error.to_string();
        // The reader only ever sees one line, and calls it line 1.
        let reason = message.split_once(" at line ").map_or(&*message, |(reason, _)| reason);
        Self::NoJson { reason: Shown(reason).to_string(), column: error.column() }
    }
}
