//! One JSON object of one line: its fields by name, their values still as they were written.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{self, MapAccess, Visitor};
use serde_json::value::RawValue;

use crate::line_fault::LineFault;

/// The fields of an object, in the order they were written.
pub(crate) struct Fields<'a>(Vec<(Cow<'a, str>, Value<'a>)>);

/// The value of a field. Numbers stay text, so that a decimal is taken as written.
#[derive(Clone, Copy)]
pub(crate) struct Value<'a>(&'a RawValue);

impl<'a> Fields<'a> {
    /// Reads a line that should be one object.
    pub(crate) fn parse(line: &'a str) -> Result<Self, LineFault> {
        serde_json::from_str(line).map_err(|error| LineFault::no_json(&error))
    }

    /// The value of a field, `None` also where it is `null`. Of a name given twice the first counts.
    pub(crate) fn value(&self, name: &str) -> Option<Value<'a>> {
        let (_, value) = self.0.iter().find(|(key, _)| key == name)?;
        (value.0.get() != "null").then_some(*value)
    }

    /// The string or number under a path of names joined by dots. A name that has dots itself is found too.
    pub(crate) fn scalar_at(&self, path: &str) -> Option<Cow<'a, str>> {
        if let Some(value) = self.value(path) {
            return value.scalar();
        }
        let inner = |(at, _)| {
            let (outer, inner) = path.split_at_checked(at)?;
            self.value(outer)?.fields()?.scalar_at(inner.strip_prefix('.')?)
        };
        path.match_indices('.').find_map(inner)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(key, _)| key == name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, Value<'a>)> {
        self.0.iter().map(|(name, value)| (&**name, *value))
    }
}

impl<'a> Value<'a> {
    /// The value as it was written.
    pub(crate) fn raw(self) -> &'a str {
        self.0.get()
    }

    /// The text of a string.
    pub(crate) fn string(self) -> Option<Cow<'a, str>> {
        self.read('"').map(|Text(text)| text)
    }

    /// The digits of a number, as they were written.
    pub(crate) fn number(self) -> Option<&'a str> {
        self.raw()
            .starts_with(|first: char| first == '-' || first.is_ascii_digit())
            .then(|| self.raw())
    }

    /// The text of a string, the digits of a number, or the first of a list of such, as headers are logged.
    pub(crate) fn scalar(self) -> Option<Cow<'a, str>> {
        let plain = |value: Self| value.string().or_else(|| value.number().map(Cow::Borrowed));
        plain(self).or_else(|| plain(self.first_of_list()?))
    }

    /// The fields of an object.
    pub(crate) fn fields(self) -> Option<Fields<'a>> {
        self.read('{')
    }

    fn first_of_list(self) -> Option<Self> {
        let list: Vec<&'a RawValue> = self.read('[')?;
        list.first().copied().map(Self)
    }

    /// Reads a value of the kind that begins so. To try and fail would cost more than the reading.
    fn read<T: Deserialize<'a>>(self, first: char) -> Option<T> {
        self.raw().starts_with(first).then(|| serde_json::from_str(self.raw()).ok())?
    }
}

/// A text that is borrowed from the line wherever it has no escapes.
#[derive(Deserialize)]
struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: de::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
        let mut fields = Vec::new();
        while let Some((Text(name), value)) = map.next_entry()? {
            fields.push((name, Value(value)));
        }
        Ok(Fields(fields))
    }
}
