//! What is wrong with a file, and where.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use crate::tree::Position;

/// One fault of a config file. Shown as `file:line:column: what is wrong, what was expected`,
/// always one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    file: Arc<str>,
    position: Option<Position>,
    message: String,
}

impl ConfigError {
    pub(crate) fn new(file: Arc<str>, position: Option<Position>, message: &str) -> Self {
        Self { file, position, message: on_one_line(message) }
    }

    /// The file, as it was named when it was to be read.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The line, counted from 1; `None` where the fault is of the file as a whole, such as one that
    /// is missing.
    pub fn line(&self) -> Option<usize> {
        self.position.map(|position| position.line)
    }

    /// The column in characters, counted from 1; `None` as for [`line`](Self::line).
    pub fn column(&self) -> Option<usize> {
        self.position.map(|position| position.column)
    }

    /// What is wrong and what was expected, without the place.
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.position {
            Some(Position { line, column }) => {
                write!(f, "{}:{line}:{column}: {}", self.file, self.message)
            }
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}

impl Error for ConfigError {}

/// Everything that is wrong with a config file: at least one fault, in the order they stand in the
/// file. Shown one a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigErrors(Vec<ConfigError>);

impl ConfigErrors {
    /// Puts what was found in the order of the file. The same fault is told once, though an alias
    /// may repeat it.
    pub(crate) fn of(first: ConfigError, others: impl IntoIterator<Item = ConfigError>) -> Self {
        let mut errors: Vec<_> = std::iter::once(first).chain(others).collect();
        errors.sort_by_key(|error| error.position);
        errors.dedup();
        Self(errors)
    }

    /// The faults, in the order they stand in the file.
    pub fn iter(&self) -> std::slice::Iter<'_, ConfigError> {
        self.0.iter()
    }
}

impl<'a> IntoIterator for &'a ConfigErrors {
    type Item = &'a ConfigError;
    type IntoIter = std::slice::Iter<'a, ConfigError>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for ConfigErrors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            error.fmt(f)?;
        }
        Ok(())
    }
}

impl Error for ConfigErrors {}

/// Scripts read one fault a line, and terminals obey control characters, so those that a file
/// brings are escaped.
fn on_one_line(message: &str) -> String {
    let mut line = String::with_capacity(message.len());
    for character in message.chars() {
        if character.is_control() {
            line.extend(character.escape_default());
        } else {
            line.push(character);
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(position: Option<(usize, usize)>, message: &str) -> ConfigError {
        let position = position.map(|(line, column)| Position { line, column });
        ConfigError::new("limits.yaml".into(), position, message)
    }

    #[test]
    fn errors_are_sorted_by_place_and_told_once() {
        let later = error(Some((10, 2)), "later");
        let others = [error(Some((9, 80)), "sooner"), later.clone(), error(None, "the file")];
        let errors = ConfigErrors::of(later, others);
        assert_eq!(
            errors.to_string(),
            "limits.yaml: the file\nlimits.yaml:9:80: sooner\nlimits.yaml:10:2: later"
        );
    }

    #[test]
    fn a_message_stays_on_one_line_and_cannot_command_a_terminal() {
        let error = error(Some((1, 1)), "unknown field `a\nb\u{1b}[31m`");
        assert_eq!(error.to_string(), "limits.yaml:1:1: unknown field `a\\nb\\u{1b}[31m`");
    }
}
