//! What a step expects of its result: any of the fields, each with its value.

use std::fmt;

use tollgate_config::tree::Value;
use tollgate_json::{ResultError, ResultJson};

use super::failure::Difference;
use crate::decimal;
use crate::text::Shown;

/// The fields that a step expects something of.
#[derive(Clone, Debug, Default)]
pub(super) struct Expectation(Vec<(ResultField, FieldValue)>);

/// A field of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResultField {
    Allowed,
    Remaining,
    RetryAfterMs,
    Limit,
    ResetAfterMs,
    LimitName,
    Error,
}

/// The value of a field of a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FieldValue {
    Flag(bool),
    Number(u64),
    Text(String),
    Error(ResultError),
    /// `null`: no wait, no name, or no error.
    Nothing,
}

impl Expectation {
    pub(super) fn expect(&mut self, field: ResultField, value: FieldValue) {
        self.0.push((field, value));
    }

    /// The fields that came out otherwise.
    pub(super) fn differences(&self, came: &ResultJson) -> Vec<Difference> {
        let difference = |(field, expected): &(ResultField, FieldValue)| {
            let came = field.value_of(came);
            (came != *expected).then(|| Difference {
                field: field.name(),
                expected: expected.to_string(),
                came: came.to_string(),
            })
        };
        self.0.iter().filter_map(difference).collect()
    }
}

impl ResultField {
    pub(super) const ALL: [Self; 7] = [
        Self::Allowed,
        Self::Remaining,
        Self::RetryAfterMs,
        Self::Limit,
        Self::ResetAfterMs,
        Self::LimitName,
        Self::Error,
    ];

    /// The name in JSON.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Remaining => "remaining",
            Self::RetryAfterMs => "retryAfterMs",
            Self::Limit => "limit",
            Self::ResetAfterMs => "resetAfterMs",
            Self::LimitName => "limitName",
            Self::Error => "error",
        }
    }

    /// What its value may be, for messages.
    pub(super) const fn expected(self) -> &'static str {
        match self {
            Self::Allowed => "true or false",
            Self::Remaining | Self::Limit | Self::ResetAfterMs => "a whole number",
            Self::RetryAfterMs => "a whole number, or null",
            Self::LimitName => "a text, or null",
            Self::Error => "costExceedsLimit, tenantMissing, or null",
        }
    }

    /// Its value as a scenario file has it, `None` where it cannot be one.
    pub(super) fn read(self, value: &Value) -> Option<FieldValue> {
        match (self, value) {
            (Self::Allowed, Value::Bool(flag)) => Some(FieldValue::Flag(*flag)),
            (Self::RetryAfterMs | Self::LimitName | Self::Error, Value::Null) => {
                Some(FieldValue::Nothing)
            }
            (Self::LimitName, Value::Text(name)) => Some(FieldValue::Text(name.clone())),
            (
                Self::Remaining | Self::RetryAfterMs | Self::Limit | Self::ResetAfterMs,
                Value::Number(text),
            ) => decimal::scaled(text, 0).ok().map(FieldValue::Number),
            (Self::Error, Value::Text(name)) => ResultError::of_name(name).map(FieldValue::Error),
            _ => None,
        }
    }

    fn value_of(self, result: &ResultJson) -> FieldValue {
        match self {
            Self::Allowed => FieldValue::Flag(result.allowed),
            Self::Remaining => FieldValue::Number(result.remaining),
            Self::RetryAfterMs => {
                result.retry_after_ms.map_or(FieldValue::Nothing, FieldValue::Number)
            }
            Self::Limit => FieldValue::Number(result.limit),
            Self::ResetAfterMs => FieldValue::Number(result.reset_after_ms),
            Self::LimitName => {
                let text = |name: &str| FieldValue::Text(name.to_owned());
                result.limit_name.map_or(FieldValue::Nothing, text)
            }
            Self::Error => result.error.map_or(FieldValue::Nothing, FieldValue::Error),
        }
    }
}

impl fmt::Display for FieldValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(flag) => flag.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => Shown(text).fmt(f),
            Self::Error(error) => f.write_str(error.name()),
            Self::Nothing => f.write_str("null"),
        }
    }
}
