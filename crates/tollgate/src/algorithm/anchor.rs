//! What the windows of a `FixedWindow` begin with, as config files say it.

use crate::parameters::{Fault, ParameterReader, Parameters, Value};

const ANCHOR_FIELD: &str = "anchor";
pub(super) const PERIOD_FIELD: &str = "per";
pub(super) const OFFSET_FIELD: &str = "offset";

/// What a window begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchor {
    /// A key's first admitted request. The default.
    First,
    /// The hour, the day, the week or the month.
    Calendar,
}

impl Anchor {
    const WORDS: [(&str, Self); 2] = [("first", Self::First), ("calendar", Self::Calendar)];

    /// The anchor that parameters mean. Where it is misspelt, whether they name a period tells.
    pub(crate) fn of(parameters: &Parameters) -> Self {
        let value =
            |field| parameters.iter().find(|(name, _)| *name == field).map(|(_, value)| value);
        let said = |text: &String| Self::WORDS.into_iter().find(|(word, _)| word == text);
        match value(ANCHOR_FIELD) {
            Some(Value::Text(text)) if said(text).is_some() => {
                said(text).map_or(Self::First, |(_, anchor)| anchor)
            }
            Some(_) if value(PERIOD_FIELD).is_some() => Self::Calendar,
            Some(_) | None => Self::First,
        }
    }

    /// Reads the anchor, which may be left out where it is the first request. Another one is a fault, and so is what
    /// goes with another.
    pub(super) fn read(self, reader: &mut ParameterReader<'_>) {
        if self == Self::Calendar || reader.has(ANCHOR_FIELD) {
            let said = reader.choice(ANCHOR_FIELD, &Self::WORDS);
            if said.is_some_and(|said| said != self) {
                let message = format!("`{ANCHOR_FIELD}` is for another kind of window");
                reader.add(Fault::of_field(ANCHOR_FIELD, message));
            }
        }
        for field in [PERIOD_FIELD, OFFSET_FIELD] {
            if self == Self::First && reader.has(field) {
                let message = format!(
                    "`{field}` is for windows on the calendar; say `{ANCHOR_FIELD}: calendar` too"
                );
                reader.add(Fault::of_field(field, message));
            }
        }
    }
}
