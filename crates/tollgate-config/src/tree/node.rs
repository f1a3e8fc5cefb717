//! A value and its place, and what can be asked of it.

use std::fmt;

use tollgate::Parameters;

/// A value and where it begins.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a value and its place are all there is to a node")]
pub struct Node {
    /// The value.
    pub value: Value,
    /// The line it begins in, counted from 1.
    pub line: usize,
    /// The column it begins at in characters, counted from 1.
    pub column: usize,
}

/// A value, as all three formats have it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "these are all the shapes YAML, JSON and TOML share")]
pub enum Value {
    /// Nothing: `null`, or a YAML key without a value.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as it was written; only the radix of `0x1f` and the underscores of TOML's `1_000`
    /// are resolved.
    Number(String),
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// A map, in the order it was written, with keys that are given twice.
    Map(Vec<Entry>),
}

/// One entry of a map: a key, where it begins, and its value.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_structs, reason = "a key, its place and a value are all there is")]
pub struct Entry {
    /// The key.
    pub key: String,
    /// The line the key begins in, counted from 1.
    pub line: usize,
    /// The column the key begins at in characters, counted from 1.
    pub column: usize,
    /// The value.
    pub value: Node,
}

impl Node {
    /// The value of a key, where this is a map that has it; the first, where it is given twice.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.as_map()?.iter().find(|entry| entry.key == key).map(|entry| &entry.value)
    }

    /// The entries, where this is a map.
    pub fn as_map(&self) -> Option<&[Entry]> {
        match &self.value {
            Value::Map(entries) => Some(entries),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::List(_) => {
                None
            }
        }
    }

    /// The nodes, where this is a list.
    pub fn as_list(&self) -> Option<&[Self]> {
        match &self.value {
            Value::List(nodes) => Some(nodes),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) | Value::Map(_) => {
                None
            }
        }
    }

    /// The text, where this is one.
    pub fn as_text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::List(_) | Value::Map(_) => {
                None
            }
        }
    }
}

impl fmt::Display for Value {
    /// What it is, for an error message: short, and a list or map by its kind alone.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::List(_) => tollgate::Value::List(Vec::new()).fmt(f),
            Self::Map(_) => tollgate::Value::Map(Parameters::new()).fmt(f),
            Self::Null | Self::Bool(_) | Self::Number(_) | Self::Text(_) => {
                tollgate::Value::from(self).fmt(f)
            }
        }
    }
}

impl From<&Value> for tollgate::Value {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Self::Null,
            Value::Bool(value) => Self::Bool(*value),
            Value::Number(text) => Self::Number(text.clone()),
            Value::Text(text) => Self::Text(text.clone()),
            Value::List(nodes) => {
                Self::List(nodes.iter().map(|node| Self::from(&node.value)).collect())
            }
            Value::Map(entries) => Self::Map(parameters(entries)),
        }
    }
}

/// The entries of a map as the library's parameters.
pub(crate) fn parameters(entries: &[Entry]) -> Parameters {
    entries.iter().fold(Parameters::new(), |parameters, entry| {
        parameters.with(&entry.key, (&entry.value.value).into())
    })
}

/// A place in a file. Places are ordered as they stand in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    /// Counted from 1.
    pub(crate) line: usize,
    /// In characters, counted from 1.
    pub(crate) column: usize,
}

impl Position {
    pub(crate) const START: Self = Self { line: 1, column: 1 };

    pub(crate) fn node(self, value: Value) -> Node {
        Node { value, line: self.line, column: self.column }
    }

    pub(crate) fn entry(self, key: String, value: Node) -> Entry {
        Entry { key, line: self.line, column: self.column, value }
    }
}

impl From<&Node> for Position {
    fn from(node: &Node) -> Self {
        Self { line: node.line, column: node.column }
    }
}

impl From<&Entry> for Position {
    fn from(entry: &Entry) -> Self {
        Self { line: entry.line, column: entry.column }
    }
}
