//! From a file's tree to a scenario: every fault is found, each where it stands.

use tollgate::{Config, LimiterFactory, Time, unknown_field};
use tollgate_config::from_tree;
use tollgate_config::tree::{Node, Value};

use super::expectation::{Expectation, ResultField};
use super::{Action, Scenario, ScenarioFault, ScenarioFaults, Step};
use crate::decimal::{self, TIME_EXPECTED};
use crate::event::{COST_EXPECTED, Event};
use crate::text::Shown;

const SCENARIO_FIELDS: [&str; 4] = ["name", "why", "config", "steps"];
const CALL_FIELDS: [&str; 9] =
    ["atMs", "client", "tenant", "plan", "endpoint", "cost", "expect", "reload", "refund"];
const RELOAD_FIELDS: [&str; 2] = ["atMs", "reload"];
const REFUND_FIELDS: [&str; 2] = ["atMs", "refund"];

const STEPS_EXPECTED: &str = "a list of at least one step";

/// What a field should hold: how that is said, and how it is read.
struct Kind<T> {
    expected: &'static str,
    parse: fn(&Value) -> Option<T>,
}

const TEXT: Kind<String> = Kind { expected: "a text", parse: text };
const TIME: Kind<Time> = Kind { expected: TIME_EXPECTED, parse: time };
const COST: Kind<u64> = Kind { expected: COST_EXPECTED, parse: whole };

/// Reads a scenario; `file` is what faults call it.
pub(super) fn scenario(root: &Node, file: &str) -> Result<Scenario, ScenarioFaults> {
    let mut reader = Reader { file, factory: LimiterFactory::new(), faults: Vec::new() };
    let scenario = reader.scenario(root);
    match scenario {
        Some(scenario) if reader.faults.is_empty() => Ok(scenario),
        Some(_) | None => Err(ScenarioFaults::of(reader.faults)),
    }
}

/// Reads part by part. A part that cannot be read is `None`, and its faults are kept, so that reading goes on.
struct Reader<'a> {
    file: &'a str,
    factory: LimiterFactory,
    faults: Vec<ScenarioFault>,
}

impl Reader<'_> {
    fn scenario(&mut self, root: &Node) -> Option<Scenario> {
        self.check_fields(root, "the scenario", &SCENARIO_FIELDS)?;
        let name = self.field(root, "name", &TEXT);
        let why = self.field_or(root, "why", &TEXT, String::new());
        let config = self.config(root, "config");
        let steps = self.steps(root);
        Some(Scenario {
            file: self.file.to_owned(),
            name: name?,
            why: why?,
            config: config?,
            steps: steps?,
        })
    }

    fn config(&mut self, map: &Node, name: &str) -> Option<Config> {
        let node = self.required(map, name, "a map, as in a config file")?;
        let faults = match from_tree(node, self.file, &self.factory) {
            Ok(config) => return Some(config),
            Err(faults) => faults,
        };
        self.faults.extend(faults.iter().map(ScenarioFault::from));
        None
    }

    fn steps(&mut self, root: &Node) -> Option<Vec<Step>> {
        let node = self.required(root, "steps", STEPS_EXPECTED)?;
        match node.as_list() {
            Some(nodes) if !nodes.is_empty() => {
                // All are read before any is given up, so that the faults of all are found.
                let numbered = (1..).zip(nodes);
                let steps: Vec<_> =
                    numbered.map(|(number, node)| self.step(number, node)).collect();
                steps.into_iter().collect()
            }
            Some(_) | None => {
                self.refuse(node, "steps", STEPS_EXPECTED);
                None
            }
        }
    }

    fn step(&mut self, number: usize, node: &Node) -> Option<Step> {
        let (reload, refund) = (node.get("reload").is_some(), node.get("refund").is_some());
        let known: &[&str] = match (reload, refund) {
            (true, _) => &RELOAD_FIELDS,
            (false, true) => &REFUND_FIELDS,
            (false, false) => &CALL_FIELDS,
        };
        self.check_fields(node, "a step", known)?;
        let at = self.field(node, "atMs", &TIME);
        let action = match (reload, refund) {
            (true, _) => self.config(node, "reload").map(|config| Action::Reload(Box::new(config))),
            (false, true) => self.refund(number, node),
            (false, false) => self.call(node, at.unwrap_or_default()),
        };
        Some(Step { line: node.line, at: at?, action: action? })
    }

    /// A refund names the step of the call by its number, from 1.
    fn refund(&mut self, number: usize, node: &Node) -> Option<Action> {
        let of = self.field(node, "refund", &COST)?;
        let of = usize::try_from(of).unwrap_or(usize::MAX);
        if of == 0 || of >= number {
            let expected = "the number of an earlier step, from 1";
            self.refuse(node.get("refund").unwrap_or(node), "refund", expected);
            return None;
        }
        Some(Action::Refund { step: of })
    }

    fn call(&mut self, node: &Node, at: Time) -> Option<Action> {
        let client = self.field(node, "client", &TEXT);
        let tenant = node.get("tenant").map(|_| self.field(node, "tenant", &TEXT));
        let plan = node.get("plan").map(|_| self.field(node, "plan", &TEXT));
        let endpoint = self.field(node, "endpoint", &TEXT);
        let cost = node.get("cost").map(|_| self.field(node, "cost", &COST));
        let expected = self.expectation(node);
        let event = Event::new(at, client?, endpoint?);
        let event = match cost {
            Some(cost) => event.cost(cost?),
            None => event,
        };
        let event = match tenant {
            Some(tenant) => event.tenant(tenant?),
            None => event,
        };
        let event = match plan {
            Some(plan) => event.plan(plan?),
            None => event,
        };
        Some(Action::Call { event, expected: expected? })
    }

    fn expectation(&mut self, step: &Node) -> Option<Expectation> {
        let node = self.required(step, "expect", "a map with any of the result's fields")?;
        self.check_fields(node, "`expect`", &ResultField::ALL.map(ResultField::name))?;
        let mut expectation = Expectation::default();
        for field in ResultField::ALL {
            let Some(node) = node.get(field.name()) else { continue };
            match field.read(&node.value) {
                Some(value) => expectation.expect(field, value),
                None => self.refuse(node, field.name(), field.expected()),
            }
        }
        Some(expectation)
    }

    /// A field that has to be there.
    fn field<T>(&mut self, map: &Node, name: &str, kind: &Kind<T>) -> Option<T> {
        let node = self.required(map, name, kind.expected)?;
        let value = (kind.parse)(&node.value);
        if value.is_none() {
            self.refuse(node, name, kind.expected);
        }
        value
    }

    /// A field that may be left out.
    fn field_or<T>(&mut self, map: &Node, name: &str, kind: &Kind<T>, left_out: T) -> Option<T> {
        match map.get(name) {
            Some(_) => self.field(map, name, kind),
            None => Some(left_out),
        }
    }

    fn required<'n>(&mut self, map: &'n Node, name: &str, expected: &str) -> Option<&'n Node> {
        let node = map.get(name);
        if node.is_none() {
            self.fault((map.line, map.column), format!("missing `{name}`; expected {expected}"));
        }
        node
    }

    /// Finds fault with a value that is no map, with fields not known, and with fields given twice.
    fn check_fields(&mut self, node: &Node, what: &str, known: &[&str]) -> Option<()> {
        let Some(entries) = node.as_map() else {
            let message =
                format!("{what} is {}; expected a map with {}", node.value, known.join(", "));
            self.fault((node.line, node.column), message);
            return None;
        };
        for (index, entry) in entries.iter().enumerate() {
            let place = (entry.line, entry.column);
            let key = Shown(&entry.key).to_string();
            if !known.contains(&&*entry.key) {
                self.fault(place, unknown_field(&key, known).to_string());
            } else if entries.iter().take(index).any(|before| before.key == entry.key) {
                self.fault(place, format!("`{key}` is given twice; keep one"));
            }
        }
        Some(())
    }

    fn refuse(&mut self, node: &Node, name: &str, expected: &str) {
        let message = format!("`{name}` is {}; expected {expected}", node.value);
        self.fault((node.line, node.column), message);
    }

    fn fault(&mut self, position: (usize, usize), message: String) {
        let file = self.file.to_owned();
        self.faults.push(ScenarioFault { file, position: Some(position), message });
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::Text(text) => Some(text.clone()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::List(_) | Value::Map(_) => None,
    }
}

fn time(value: &Value) -> Option<Time> {
    decimal::time_from_millis(number(value)?).ok()
}

fn whole(value: &Value) -> Option<u64> {
    decimal::scaled(number(value)?, 0).ok()
}

fn number(value: &Value) -> Option<&str> {
    match value {
        Value::Number(text) => Some(text),
        Value::Null | Value::Bool(_) | Value::Text(_) | Value::List(_) | Value::Map(_) => None,
    }
}
