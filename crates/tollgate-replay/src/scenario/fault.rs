//! What is wrong with a scenario file, and where.

use std::error::Error;
use std::fmt;

use tollgate_config::{ConfigError, ConfigErrors};

/// One fault of a scenario file. Shown as `file:line:column: what is wrong, what was expected`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScenarioFault {
    /// The file, as it was named when it was to be read.
    pub file: String,
    /// Line and column, from 1; `None` where the fault is of the file as a whole, such as one that is missing.
    pub position: Option<(usize, usize)>,
    /// What is wrong and what was expected.
    pub message: String,
}

impl fmt::Display for ScenarioFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.position {
            Some((line, column)) => write!(f, "{}:{line}:{column}: {}", self.file, self.message),
            None => write!(f, "{}: {}", self.file, self.message),
        }
    }
}

impl Error for ScenarioFault {}

impl From<&ConfigError> for ScenarioFault {
    fn from(error: &ConfigError) -> Self {
        Self {
            file: error.file().to_owned(),
            position: error.line().zip(error.column()),
            message: error.message().to_owned(),
        }
    }
}

/// Everything that is wrong with a scenario file: at least one fault, in the order they stand in the file. Shown one a
/// line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScenarioFaults(Vec<ScenarioFault>);

impl ScenarioFaults {
    /// Faults in the order they stand in the file.
    pub(super) fn of(mut faults: Vec<ScenarioFault>) -> Self {
        faults.sort_by_key(|fault| fault.position);
        Self(faults)
    }

    /// The faults, in the order they stand in the file.
    pub fn iter(&self) -> impl Iterator<Item = &ScenarioFault> {
        self.0.iter()
    }
}

impl From<ConfigErrors> for ScenarioFaults {
    fn from(errors: ConfigErrors) -> Self {
        Self(errors.iter().map(ScenarioFault::from).collect())
    }
}

impl fmt::Display for ScenarioFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines: Vec<_> = self.iter().map(ToString::to_string).collect();
        f.write_str(&lines.join("\n"))
    }
}

impl Error for ScenarioFaults {}
