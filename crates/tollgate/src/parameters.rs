//! What a config entry says of an algorithm, as a small tree, and the one way to read it: every fault is
//! collected, and each names its field, its value and what was expected.

use std::fmt;
use std::ops::RangeInclusive;
use std::time::Duration;

use crate::rate::{Decimal, Rate, RateError};

/// A value as a config file has it. Numbers stay text, so that a decimal is taken as written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "these are all the shapes YAML, JSON and TOML share")]
pub enum Value {
    /// Nothing: `null`, or a key without a value.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number, as it was written.
    Number(String),
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Self>),
    /// A map.
    Map(Parameters),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("nothing"),
            Self::Bool(value) => value.fmt(f),
            Self::Number(text) => f.write_str(text),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::List(_) => f.write_str("a list"),
            Self::Map(_) => f.write_str("a map"),
        }
    }
}

/// Named values in the order they were written, such as an entry's `algoConfig`.
///
/// ```
/// use tollgate::{Parameters, Value};
///
/// let parameters = Parameters::new().with("capacity", Value::Number("10".to_owned()));
/// let mut reader = parameters.reader();
/// assert_eq!(reader.whole("capacity", 1..=100), Some(10));
/// assert!(reader.finish().is_ok());
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parameters(Vec<(String, Value)>);

impl Parameters {
    /// No parameters yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// These and one more.
    #[must_use]
    pub fn with(mut self, name: impl Into<String>, value: Value) -> Self {
        self.0.push((name.into(), value));
        self
    }

    /// The names and values, in the order they were written.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_str(), value))
    }

    /// A reader that collects what is wrong with them.
    pub fn reader(&self) -> ParameterReader<'_> {
        ParameterReader { parameters: self, known: Vec::new(), faults: Vec::new() }
    }

    fn value(&self, name: &str) -> Option<&Value> {
        self.iter().find(|(key, _)| *key == name).map(|(_, value)| value)
    }
}

/// One thing that is wrong with a config entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    field: Option<String>,
    message: String,
    is_unknown_field: bool,
}

impl Fault {
    /// A fault of the field named, which may be missing; the message names what it holds and what was expected.
    pub fn of_field(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: Some(field.into()), message: message.into(), is_unknown_field: false }
    }

    /// A fault of the entry as a whole.
    pub fn of_entry(message: impl Into<String>) -> Self {
        Self { field: None, message: message.into(), is_unknown_field: false }
    }

    /// The same fault of an entry among others: its message begins with the entry's name.
    pub(crate) fn within(self, entry: &dyn fmt::Display) -> Self {
        Self { message: format!("{entry}: {}", self.message), ..self }
    }

    /// Whether what is wrong is the field's name, and not its value.
    pub const fn is_unknown_field(&self) -> bool {
        self.is_unknown_field
    }

    /// The field it concerns, `None` where it is the entry as a whole.
    pub fn field(&self) -> Option<&str> {
        self.field.as_deref()
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Everything that is wrong with a config entry or a config: at least one fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// `Ok` when nothing was found wrong.
    pub(crate) fn check(faults: Vec<Fault>) -> Result<(), Self> {
        if faults.is_empty() { Ok(()) } else { Err(Self(faults)) }
    }

    /// Faults that were found, of which there is at least one.
    pub(crate) const fn of(faults: Vec<Fault>) -> Self {
        Self(faults)
    }

    /// The faults, in the order they were found.
    pub fn iter(&self) -> impl Iterator<Item = &Fault> {
        self.0.iter()
    }
}

impl From<Fault> for Faults {
    fn from(fault: Fault) -> Self {
        Self(vec![fault])
    }
}

impl fmt::Display for Faults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, fault) in self.0.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            write!(f, "{separator}{fault}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Faults {}

/// Reads parameters one by one, and knows at the end which were never asked for.
///
/// Each read gives `None` where the field is missing or wrong, and remembers the fault.
#[derive(Debug)]
pub struct ParameterReader<'a> {
    parameters: &'a Parameters,
    known: Vec<&'static str>,
    faults: Vec<Fault>,
}

impl<'a> ParameterReader<'a> {
    /// A whole number within `range`.
    pub fn whole(&mut self, field: &'static str, range: RangeInclusive<u64>) -> Option<u64> {
        let expected = whole_range(&range);
        let value = self.required(field, &expected)?;
        let whole = match value {
            Value::Number(text) => Decimal::parse(text).ok().and_then(Decimal::to_whole),
            Value::Null | Value::Bool(_) | Value::Text(_) | Value::List(_) | Value::Map(_) => None,
        };
        whole.filter(|whole| range.contains(whole)).or_else(|| self.wrong(field, value, &expected))
    }

    /// A quota: a whole number within `range`, of which a 0 is told the word for it.
    pub fn quota(&mut self, field: &'static str, range: RangeInclusive<u64>) -> Option<u64> {
        let is_zero = self.parameters.value(field) == Some(&Value::Number("0".to_owned()));
        let quota = self.whole(field, range);
        if is_zero && let Some(fault) = self.faults.last_mut() {
            fault.message.push_str("; to let nobody call, say `deny: true`");
        }
        quota
    }

    /// A rate: `per_second`, a number or a string, or `friendly`, a count per unit of time (`100/min`);
    /// one of the two fields, never both.
    pub fn rate(&mut self, per_second: &'static str, friendly: &'static str) -> Option<Rate> {
        let (field, value) = self.either(per_second, friendly)?;
        let text = match value {
            Value::Number(text) | Value::Text(text) => text,
            Value::Null | Value::Bool(_) | Value::List(_) | Value::Map(_) => {
                return self.wrong(field, value, &RateError::NotANumber.to_string());
            }
        };
        let rate =
            if field == friendly { Rate::parse_friendly(text) } else { Rate::per_second(text) };
        rate.map_or_else(|error| self.wrong(field, value, &error.to_string()), Some)
    }

    /// A window: `millis`, a whole number of milliseconds, or `friendly`, a duration with its unit (`1m`);
    /// one of the two fields, never both. `range` is in milliseconds.
    pub fn window(
        &mut self,
        millis: &'static str,
        friendly: &'static str,
        range: RangeInclusive<u64>,
    ) -> Option<Duration> {
        let (field, value) = self.either(millis, friendly)?;
        if field == millis {
            return self.whole(millis, range).map(Duration::from_millis);
        }
        self.time_within(field, value, &range)
    }

    /// A time with its unit, such as `10m`. `range` is in milliseconds.
    pub fn duration(
        &mut self,
        field: &'static str,
        range: RangeInclusive<u64>,
    ) -> Option<Duration> {
        let value = self.required(field, "a time, such as 10m")?;
        self.time_within(field, value, &range)
    }

    fn time_within(
        &mut self,
        field: &'static str,
        value: &Value,
        range: &RangeInclusive<u64>,
    ) -> Option<Duration> {
        let time = match value {
            Value::Text(text) => crate::rate::parse_duration(text),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::List(_) | Value::Map(_) => {
                None
            }
        };
        let in_range = |time: &Duration| {
            u64::try_from(time.as_millis()).is_ok_and(|millis| range.contains(&millis))
        };
        let (least, most) = (range.start(), range.end());
        let expected =
            format!("a duration such as 500ms, 30s, 1m, 12h or 7d, from {least} to {most} ms");
        time.filter(in_range).or_else(|| self.wrong(field, value, &expected))
    }

    /// One of a few words, each with its meaning.
    pub fn choice<T: Copy>(&mut self, field: &'static str, words: &[(&str, T)]) -> Option<T> {
        let known = || words.iter().map(|(word, _)| *word);
        let listed = format!("one of {}", known().collect::<Vec<_>>().join(", "));
        let value = self.required(field, &listed)?;
        let word = if let Value::Text(text) = value { text.as_str() } else { "" };
        if let Some((_, meaning)) = words.iter().find(|(known, _)| *known == word) {
            return Some(*meaning);
        }
        match nearest_name(word, known()).filter(|_| !word.is_empty()) {
            Some(nearest) => {
                self.wrong(field, value, &format!("{listed}; did you mean `{nearest}`?"))
            }
            None => self.wrong(field, value, &listed),
        }
    }

    /// Whether a field that may be left out is there, so that it is to be read.
    pub fn has(&mut self, field: &'static str) -> bool {
        self.known.push(field);
        self.parameters.value(field).is_some()
    }

    /// A text, such as a name.
    pub fn text(&mut self, field: &'static str) -> Option<&'a str> {
        match self.required(field, "a text")? {
            Value::Text(text) => Some(text),
            other @ (Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::List(_)
            | Value::Map(_)) => self.wrong(field, other, "a text"),
        }
    }

    /// A fault that only the caller can see, such as two fields that do not go together.
    pub fn add(&mut self, fault: Fault) {
        self.faults.push(fault);
    }

    /// Ends the reading.
    ///
    /// # Errors
    /// All faults found, fields that nothing asked for among them, each with the nearest known name.
    pub fn finish(self) -> Result<(), Faults> {
        self.finish_with(Some(()))
    }

    /// Ends the reading with what was made of it, `None` where a fault was found.
    ///
    /// # Errors
    /// As [`finish`](Self::finish).
    pub fn finish_with<T>(mut self, made: Option<T>) -> Result<T, Faults> {
        for (name, _) in self.parameters.iter() {
            if !self.known.contains(&name) {
                self.faults.push(unknown_field(name, &self.known));
            }
        }
        Faults::check(self.faults)?;
        made.ok_or_else(|| Fault::of_entry("these parameters cannot be used together").into())
    }

    fn either(
        &mut self,
        plain: &'static str,
        friendly: &'static str,
    ) -> Option<(&'static str, &'a Value)> {
        self.known.extend([plain, friendly]);
        match (self.parameters.value(plain), self.parameters.value(friendly)) {
            (Some(value), None) => Some((plain, value)),
            (None, Some(value)) => Some((friendly, value)),
            (Some(_), Some(_)) => {
                let message = format!("`{plain}` and `{friendly}` say the same; keep one of them");
                self.faults.push(Fault::of_field(friendly, message));
                None
            }
            (None, None) => {
                let message = format!("missing `{plain}` (or `{friendly}`)");
                self.faults.push(Fault::of_field(plain, message));
                None
            }
        }
    }

    fn required(&mut self, field: &'static str, expected: &str) -> Option<&'a Value> {
        self.known.push(field);
        let value = self.parameters.value(field);
        if value.is_none() {
            let message = format!("missing `{field}`; expected {expected}");
            self.faults.push(Fault::of_field(field, message));
        }
        value
    }

    fn wrong<T>(&mut self, field: &str, value: &Value, expected: &str) -> Option<T> {
        let message = format!("`{field}` is {value}; expected {expected}");
        self.faults.push(Fault::of_field(field, message));
        None
    }
}

/// How an allowed range is said in an error.
pub(crate) fn whole_range(range: &RangeInclusive<u64>) -> String {
    format!("a whole number from {} to {}", range.start(), range.end())
}

/// The fault of a field nobody knows, with the nearest name that is known.
pub fn unknown_field(name: &str, known: &[&str]) -> Fault {
    let message = match nearest_name(name, known.iter().copied()) {
        Some(nearest) => format!("unknown field `{name}`; did you mean `{nearest}`?"),
        None => format!("unknown field `{name}`; known here: {}", known.join(", ")),
    };
    Fault { is_unknown_field: true, ..Fault::of_field(name, message) }
}

/// The known name that `name` is most likely a misspelling of, if any is near: for "did you mean".
pub fn nearest_name<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let wanted = name.to_lowercase();
    known
        .into_iter()
        .map(|known| (strsim::damerau_levenshtein(&wanted, &known.to_lowercase()), known))
        .filter(|(distance, known)| *distance <= 2.max(known.len() / 3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, known)| known)
}
