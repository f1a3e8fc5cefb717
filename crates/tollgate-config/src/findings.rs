//! What was found wrong so far, while a file is being read.

use std::fmt;
use std::sync::Arc;

use tollgate::{Fault, Faults};

use crate::error::{ConfigError, ConfigErrors};
use crate::tree::{Node, Position};

/// Collects faults, so that reading goes on after each.
#[derive(Debug)]
pub(crate) struct Findings {
    file: Arc<str>,
    subject: Option<String>,
    errors: Vec<ConfigError>,
}

impl Findings {
    pub(crate) fn new(file_name: &str) -> Self {
        Self { file: file_name.into(), subject: None, errors: Vec::new() }
    }

    /// The one fault of a file that cannot even be read.
    pub(crate) fn of_file(file_name: &str, message: impl fmt::Display) -> ConfigErrors {
        ConfigErrors::of(ConfigError::new(file_name.into(), None, &message.to_string()), [])
    }

    /// A fault that has a place.
    pub(crate) fn at(&mut self, place: impl Into<Position>, message: impl fmt::Display) {
        self.add(Some(place.into()), message);
    }

    /// A fault of the file as a whole, or one whose place is not known.
    pub(crate) fn somewhere(&mut self, message: impl fmt::Display) {
        self.add(None, message);
    }

    /// A value of the wrong kind or out of range; `what` names it.
    pub(crate) fn wrong(&mut self, node: &Node, what: impl fmt::Display, expected: &str) {
        self.at(node, format_args!("{what} is {}; expected {expected}", node.value));
    }

    /// What the library finds, each fault at its place.
    pub(crate) fn add_faults(&mut self, faults: &Faults, place_of: impl Fn(&Fault) -> Position) {
        for fault in faults.iter() {
            self.at(place_of(fault), fault);
        }
    }

    /// What `read` finds is about this subject of the one around it, and its messages begin with both.
    pub(crate) fn about<T>(&mut self, subject: String, read: impl FnOnce(&mut Self) -> T) -> T {
        let subject = match &self.subject {
            Some(outer) => format!("{outer}: {subject}"),
            None => subject,
        };
        let outer = self.subject.replace(subject);
        let made = read(self);
        self.subject = outer;
        made
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.errors.is_empty()
    }

    /// Ends the reading with what was made of the file, which is `None` only where a fault was
    /// found.
    pub(crate) fn finish<T>(self, made: Option<T>) -> Result<T, ConfigErrors> {
        let mut errors = self.errors.into_iter();
        match (errors.next(), made) {
            (Some(first), _) => Err(ConfigErrors::of(first, errors)),
            (None, Some(made)) => Ok(made),
            (None, None) => Err(Self::of_file(&self.file, "this file cannot be used")),
        }
    }

    fn add(&mut self, position: Option<Position>, message: impl fmt::Display) {
        let message = match &self.subject {
            Some(subject) => format!("{subject}: {message}"),
            None => message.to_string(),
        };
        self.errors.push(ConfigError::new(Arc::clone(&self.file), position, &message));
    }
}
