//! How a scenario came out otherwise than it expects.

use std::error::Error;
use std::fmt;

use super::Scenario;
use crate::decimal::millis_of_time;
use crate::event::Event;
use crate::text::Shown;

/// A scenario that failed: every step that was answered otherwise than it expects. Shown with all of them, several
/// lines.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ScenarioFailure {
    /// The file of the scenario.
    pub file: String,
    /// The name of the scenario.
    pub name: String,
    /// Why the scenario is there; empty where it does not say so.
    pub why: String,
    /// The steps that failed, in order: at least one.
    pub steps: Vec<StepFailure>,
}

/// A step that was answered otherwise than it expects.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct StepFailure {
    /// Which of the scenario's steps it is, from 1.
    pub number: usize,
    /// The line of the file that it begins in.
    pub line: usize,
    /// The call.
    pub event: Event,
    /// The fields of the result that came out otherwise: at least one.
    pub differences: Vec<Difference>,
}

/// A field of a result that came out otherwise. Values are as in JSON, but for the quotes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Difference {
    /// The field.
    pub field: &'static str,
    /// What the step expects.
    pub expected: String,
    /// What came.
    pub came: String,
}

impl ScenarioFailure {
    pub(super) fn new(scenario: &Scenario, steps: Vec<StepFailure>) -> Self {
        let Scenario { file, name, why, .. } = scenario;
        Self { file: file.clone(), name: name.clone(), why: why.clone(), steps }
    }
}

impl fmt::Display for ScenarioFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: scenario `{}` failed", self.file, Shown(&self.name))?;
        if !self.why.is_empty() {
            write!(f, " ({})", Shown(&self.why))?;
        }
        self.steps.iter().try_for_each(|step| write!(f, "\n{step}"))
    }
}

impl Error for ScenarioFailure {}

impl fmt::Display for StepFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Event { at, client, tenant, plan, endpoint, cost, .. } = &self.event;
        let (client, endpoint) = (Shown(client), Shown(endpoint));
        let (number, line, at) = (self.number, self.line, millis_of_time(*at));
        let cost = cost.unwrap_or(1);
        write!(
            f,
            "  step {number} (line {line}): `{client}` at `{endpoint}`, cost {cost}, {at} ms"
        )?;
        if let Some(tenant) = tenant {
            write!(f, ", tenant `{}`", Shown(tenant))?;
        }
        if let Some(plan) = plan {
            write!(f, ", plan `{}`", Shown(plan))?;
        }
        let values = |value: fn(&Difference) -> &str| {
            let named =
                |difference: &Difference| format!("{} {}", difference.field, value(difference));
            self.differences.iter().map(named).collect::<Vec<_>>().join(", ")
        };
        write!(f, "\n    expected {}", values(|difference| &difference.expected))?;
        write!(f, "\n    came     {}", values(|difference| &difference.came))
    }
}
