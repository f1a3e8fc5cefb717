//! The fields of one map, read one by one.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::time::Duration;

use tollgate::{Parameters, nearest_name, unknown_field};

use crate::findings::Findings;
use crate::tree::{self, Entry, Node, Position, Value};

/// The fields of one map. Each read gives `None` where the field is missing or wrong, and the fault
/// is found.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fields<'a> {
    node: &'a Node,
    entries: &'a [Entry],
}

impl<'a> Fields<'a> {
    /// The fields of a map; any other value is a fault. `what` names the value.
    pub(crate) fn of(
        node: &'a Node,
        what: &str,
        expected: &str,
        findings: &mut Findings,
    ) -> Option<Self> {
        match &node.value {
            Value::Map(entries) => Some(Self { node, entries }),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::List(_) => {
                findings.wrong(node, what, expected);
                None
            }
        }
    }

    /// A field, where it was given; the first, where it was given twice.
    pub(crate) fn get(&self, name: &str) -> Option<&'a Entry> {
        self.entries.iter().find(|entry| entry.key == name)
    }

    /// A field that has to be there.
    pub(crate) fn required(
        &self,
        name: &str,
        expected: &str,
        findings: &mut Findings,
    ) -> Option<&'a Node> {
        let entry = self.get(name);
        if entry.is_none() {
            findings.at(self.node, format_args!("missing `{name}`; expected {expected}"));
        }
        entry.map(|entry| &entry.value)
    }

    /// A text that has to be there.
    pub(crate) fn text(
        &self,
        name: &str,
        expected: &str,
        findings: &mut Findings,
    ) -> Option<&'a str> {
        let node = self.required(name, expected, findings)?;
        let text = node.as_text();
        if text.is_none() {
            findings.wrong(node, format_args!("`{name}`"), expected);
        }
        text
    }

    /// A text that may be left out.
    pub(crate) fn optional_text(
        &self,
        name: &str,
        expected: &str,
        findings: &mut Findings,
    ) -> Option<&'a str> {
        self.get(name).and_then(|_| self.text(name, expected, findings))
    }

    /// A list of texts, each with its place, that may be left out.
    pub(crate) fn texts(
        &self,
        name: &str,
        expected: &str,
        findings: &mut Findings,
    ) -> Vec<(&'a str, Position)> {
        let Some(entry) = self.get(name) else { return Vec::new() };
        let expected = format!("a list of {expected}");
        let Some(nodes) = entry.value.as_list() else {
            findings.wrong(&entry.value, format_args!("`{name}`"), &expected);
            return Vec::new();
        };
        let mut texts = Vec::new();
        for node in nodes {
            match node.as_text() {
                Some(text) => texts.push((text, node.into())),
                None => findings.wrong(node, format_args!("an element of `{name}`"), "a text"),
            }
        }
        texts
    }

    /// Yes or no, that may be left out.
    pub(crate) fn flag(&self, name: &str, findings: &mut Findings) -> Option<bool> {
        let node = &self.get(name)?.value;
        if let Value::Bool(flag) = node.value {
            return Some(flag);
        }
        findings.wrong(node, format_args!("`{name}`"), "true or false");
        None
    }

    /// A map that has to be there.
    pub(crate) fn map(&self, name: &str, expected: &str, findings: &mut Findings) -> Option<Self> {
        let node = self.required(name, expected, findings)?;
        Self::of(node, &format!("`{name}`"), expected, findings)
    }

    /// A whole number within `range` that may be left out. The library's own reader judges it, as
    /// it does the parameters of algorithms.
    pub(crate) fn whole(
        &self,
        name: &'static str,
        range: RangeInclusive<u64>,
        findings: &mut Findings,
    ) -> Option<u64> {
        let node = &self.get(name)?.value;
        let parameters = Parameters::new().with(name, (&node.value).into());
        let mut reader = parameters.reader();
        let whole = reader.whole(name, range);
        if let Err(faults) = reader.finish() {
            findings.add_faults(&faults, |_| node.into());
        }
        whole
    }

    /// A time with its unit, such as `10m`, that has to be there; `range` is in milliseconds.
    pub(crate) fn duration(
        &self,
        name: &'static str,
        range: RangeInclusive<u64>,
        findings: &mut Findings,
    ) -> Option<Duration> {
        let node = self.required(name, "a time, such as 10m", findings)?;
        let parameters = Parameters::new().with(name, (&node.value).into());
        let mut reader = parameters.reader();
        let duration = reader.duration(name, range);
        if let Err(faults) = reader.finish() {
            findings.add_faults(&faults, |_| node.into());
        }
        duration
    }

    /// One of a few words, each with its meaning, that may be left out.
    pub(crate) fn choice<T: Copy>(
        &self,
        name: &str,
        words: &[(&str, T)],
        findings: &mut Findings,
    ) -> Option<T> {
        let node = &self.get(name)?.value;
        let known = || words.iter().map(|(word, _)| *word);
        let word = node.as_text().unwrap_or_default();
        if let Some((_, meaning)) = words.iter().find(|(known, _)| *known == word) {
            return Some(*meaning);
        }
        let listed = known().collect::<Vec<_>>().join(", ");
        let expected = match nearest_name(word, known()) {
            Some(nearest) => format!("one of {listed}; did you mean `{nearest}`?"),
            None => format!("one of {listed}"),
        };
        findings.wrong(node, format_args!("`{name}`"), &expected);
        None
    }

    /// Finds fault with every field whose name is not known here.
    pub(crate) fn refuse_unknown(&self, known: &[&str], findings: &mut Findings) {
        for entry in self.entries.iter().filter(|entry| !known.contains(&entry.key.as_str())) {
            findings.at(entry, unknown_field(&entry.key, known));
        }
    }

    /// All fields by their names; the first, where one was given twice.
    pub(crate) fn by_name(&self) -> HashMap<&'a str, &'a Entry> {
        self.entries.iter().rev().map(|entry| (entry.key.as_str(), entry)).collect()
    }

    /// The map as the library's parameters.
    pub(crate) fn to_parameters(self) -> Parameters {
        tree::parameters(self.entries)
    }

    /// The map itself.
    pub(crate) fn node(&self) -> &'a Node {
        self.node
    }
}
