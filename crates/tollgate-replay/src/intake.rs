//! What is to be said of the reading of recorded traffic, apart from the traffic itself.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::line_fault::LineFault;
use crate::text::Shown;

/// How many faults are kept to be shown; the rest are only counted.
const KEPT_MAX: usize = 5;

/// A line of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// The file, or the name that was given to a reader.
    pub file: Arc<str>,
    /// The number of the line, from 1.
    pub line: u64,
}

impl Place {
    pub(crate) fn new(file: &Arc<str>, line: u64) -> Self {
        Self { file: Arc::clone(file), line }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", Shown(&self.file), self.line)
    }
}

/// Things that happened to lines: how often, and the first of them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Noted<T> {
    /// How many lines it happened to.
    pub count: u64,
    /// The first of them, up to five, in the order they were read.
    pub first: Vec<(Place, T)>,
}

impl<T> Noted<T> {
    pub(crate) fn note(&mut self, place: Place, what: T) {
        self.count = self.count.saturating_add(1);
        if self.first.len() < KEPT_MAX {
            self.first.push((place, what));
        }
    }
}

impl<T> Default for Noted<T> {
    fn default() -> Self {
        Self { count: 0, first: Vec::new() }
    }
}

/// How the reading of recorded traffic went.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Intake {
    /// Lines read, those that cannot be read among them. Empty lines at the end of a file are none.
    pub lines: u64,
    /// Lines that cannot be read, and why.
    pub unreadable: Noted<LineFault>,
    /// Lines whose time is before one that was already decided, and by how much. They were decided as they came, at
    /// the later time, since time only goes forward.
    pub late: Noted<Duration>,
}
