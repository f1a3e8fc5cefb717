//! JSON, strictly: no comments, no trailing commas, one value.
//!
//! A raw value of `serde_json` is a slice of the text it was read from, so it tells where it stands
//! and how a number was written. The whole text is checked at once; then each list and map is taken
//! apart into its raw values, level by level.

use std::fmt;

use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::positions::Positions;
use super::{DEPTH_MAX, Entry, Node, Position, Value, refuse_too_deep};
use crate::findings::Findings;

pub(super) fn read(text: &str, findings: &mut Findings) -> Option<Node> {
    let reader = Reader { text, positions: Positions::new(text) };
    match serde_json::from_str(text) {
        Ok(root) => reader.node(root, 0, findings),
        Err(error) => {
            let place = reader.positions.at_bytes(error.line(), error.column());
            findings.at(place, format_args!("not valid JSON: {}", without_place(&error)));
            None
        }
    }
}

struct Reader<'a> {
    text: &'a str,
    positions: Positions<'a>,
}

impl<'a> Reader<'a> {
    fn node(&self, raw: &'a RawValue, depth: usize, findings: &mut Findings) -> Option<Node> {
        let written = raw.get();
        let position = self.position(raw);
        if depth > DEPTH_MAX {
            refuse_too_deep(position, findings);
            return None;
        }
        let value = match written.bytes().next()? {
            b'{' => Value::Map(self.entries(raw, depth, findings)?),
            b'[' => Value::List(self.nodes(raw, depth, findings)?),
            b'"' => Value::Text(self.decode(raw, findings)?),
            b't' => Value::Bool(true),
            b'f' => Value::Bool(false),
            b'n' => Value::Null,
            _ => Value::Number(written.to_owned()),
        };
        Some(position.node(value))
    }

    fn nodes(&self, raw: &'a RawValue, depth: usize, findings: &mut Findings) -> Option<Vec<Node>> {
        let raw_nodes: Vec<&RawValue> = self.decode(raw, findings)?;
        let inner = depth.saturating_add(1);
        raw_nodes.into_iter().map(|raw| self.node(raw, inner, findings)).collect()
    }

    fn entries(
        &self,
        raw: &'a RawValue,
        depth: usize,
        findings: &mut Findings,
    ) -> Option<Vec<Entry>> {
        let RawEntries(raw_entries) = self.decode(raw, findings)?;
        let inner = depth.saturating_add(1);
        let entry = |(key, value)| {
            let name = self.decode(key, findings)?;
            Some(self.position(key).entry(name, self.node(value, inner, findings)?))
        };
        raw_entries.into_iter().map(entry).collect()
    }

    /// What was checked as a part of the whole text can fail alone only for an escape that is half
    /// a character.
    fn decode<T: Deserialize<'a>>(&self, raw: &'a RawValue, findings: &mut Findings) -> Option<T> {
        match serde_json::from_str(raw.get()) {
            Ok(decoded) => Some(decoded),
            Err(error) => {
                let message = format!("not valid JSON: {}", without_place(&error));
                findings.at(self.position(raw), message);
                None
            }
        }
    }

    fn position(&self, raw: &RawValue) -> Position {
        // A raw value borrows from the text, so the distance of their addresses is its offset.
        let offset = raw.get().as_ptr().addr().saturating_sub(self.text.as_ptr().addr());
        self.positions.at(offset)
    }
}

/// The entries of a map as they were written: none lost, though a key is given twice.
struct RawEntries<'a>(Vec<(&'a RawValue, &'a RawValue)>);

impl<'de> Deserialize<'de> for RawEntries<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RawEntriesVisitor)
    }
}

struct RawEntriesVisitor;

impl<'de> Visitor<'de> for RawEntriesVisitor {
    type Value = RawEntries<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(RawEntries(entries))
    }
}

/// An error's message without the line and column that it ends with.
fn without_place(error: &serde_json::Error) -> String {
    let message = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    message.strip_suffix(&place).unwrap_or(&message).to_owned()
}
