//! Scenarios: a config, calls at given times, and what each should be answered.

mod expectation;
mod failure;
mod fault;
mod read;

use std::collections::HashMap;
use std::path::Path;

use tollgate::{Config, ManualClock, RateLimiter, Receipt, Time};
use tollgate_config::{Format, tree};
use tollgate_json::ResultJson;

use self::expectation::Expectation;
pub use self::failure::{Difference, ScenarioFailure, StepFailure};
pub use self::fault::{ScenarioFault, ScenarioFaults};
use crate::event::Event;

/// A test of limits without code: what a config should answer to calls at given times.
///
/// A file, YAML, JSON or TOML by its extension, has a `name`, a `why` that may be left out, a `config` as a config file
/// has it, and `steps`. A step is an event with what it should be answered (`expect`: any of the result's fields), or a
/// `reload` with the config that goes on from there, or a `refund` of what the step of that number (from 1) was
/// charged. Time may step back.
///
/// ```
/// use tollgate_config::Format;
/// use tollgate_replay::Scenario;
///
/// let text = "
/// name: a token a second
/// config: { default: { algorithm: TokenBucket, algoConfig: { capacity: 1, refillRatePerSecond: 1 } } }
/// steps:
///   - { atMs: 0, client: alice, endpoint: /x, expect: { allowed: true, remaining: 0 } }
///   - { atMs: 999.999999, client: alice, endpoint: /x, expect: { allowed: false, retryAfterMs: 1 } }
///   - { atMs: 1000, client: alice, endpoint: /x, expect: { allowed: true, retryAfterMs: null } }
/// ";
/// let scenario = Scenario::parse(text, Format::Yaml, "token.yaml")?;
/// assert_eq!(scenario.run(), Ok(()));
/// # Ok::<(), tollgate_replay::ScenarioFaults>(())
/// ```
#[derive(Clone, Debug)]
pub struct Scenario {
    file: String,
    name: String,
    why: String,
    config: Config,
    steps: Vec<Step>,
}

#[derive(Clone, Debug)]
struct Step {
    /// Where it stands in its file.
    line: usize,
    at: Time,
    action: Action,
}

#[derive(Clone, Debug)]
enum Action {
    Call {
        event: Event,
        expected: Expectation,
    },
    Reload(Box<Config>),
    /// Gives back what the call of a step was charged.
    Refund {
        step: usize,
    },
}

impl Scenario {
    /// Reads a scenario file.
    ///
    /// # Errors
    /// Every fault of the file, its config's among them, each with line and column.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ScenarioFaults> {
        let path = path.as_ref();
        read::scenario(&tree::load(path)?, &path.display().to_string())
    }

    /// Reads a scenario from text; `file_name` is what faults call it.
    ///
    /// # Errors
    /// Every fault of the text.
    pub fn parse(text: &str, format: Format, file_name: &str) -> Result<Self, ScenarioFaults> {
        read::scenario(&tree::parse(text, format, file_name)?, file_name)
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Why it is there; empty where it does not say so.
    pub fn why(&self) -> &str {
        &self.why
    }

    /// Takes its steps one by one, on a new limiter and a clock that stands at each step's time.
    ///
    /// # Errors
    /// Every step that was answered otherwise than it expects. The steps after one are taken all the same.
    pub fn run(&self) -> Result<(), ScenarioFailure> {
        let clock = ManualClock::new();
        let limiter = RateLimiter::builder(self.config.clone()).clock(clock.clone()).build();
        let (mut failed, mut receipts) = (Vec::new(), HashMap::new());
        for (number, step) in (1..).zip(&self.steps) {
            clock.set(step.at);
            match &step.action {
                Action::Reload(config) => drop(limiter.reload(Config::clone(config))),
                Action::Refund { step } => {
                    let _given_back = receipts.get(step).is_some_and(Receipt::refund);
                }
                Action::Call { event, expected } => {
                    let decided = if self.refunds(number) {
                        let (decided, receipt) = limiter.decide_with_receipt(&event.call());
                        receipts.insert(number, receipt);
                        decided
                    } else {
                        limiter.decide(&event.call())
                    };
                    let differences = expected.differences(&ResultJson::from(&decided));
                    if !differences.is_empty() {
                        let mut event = event.clone();
                        event.price_by(&limiter);
                        failed.push(StepFailure { number, line: step.line, event, differences });
                    }
                }
            }
        }
        if failed.is_empty() { Ok(()) } else { Err(ScenarioFailure::new(self, failed)) }
    }
    /// Whether a step gives back what the call of this step was charged.
    fn refunds(&self, number: usize) -> bool {
        let is_it = |step: &Step| matches!(step.action, Action::Refund { step } if step == number);
        self.steps.iter().any(is_it)
    }
}
