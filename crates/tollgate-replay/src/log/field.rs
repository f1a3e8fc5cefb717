//! A field of a JSON log: the names it may go by, and what it should hold.

use std::borrow::Cow;

use tollgate::Time;

use super::time::{DURATION_EXPECTED, TIME_EXPECTED, parse_duration_ns, parse_time};
use crate::json::Fields;
use crate::line_fault::LineFault;

/// Where something is found: of the names present, the first counts.
pub(super) struct Field {
    names: &'static [&'static str],
    expected: &'static str,
}

impl Field {
    pub(super) const fn time(names: &'static [&'static str]) -> Self {
        Self { names, expected: TIME_EXPECTED }
    }

    pub(super) const fn duration(names: &'static [&'static str]) -> Self {
        Self { names, expected: DURATION_EXPECTED }
    }

    pub(super) const fn text(names: &'static [&'static str], expected: &'static str) -> Self {
        Self { names, expected }
    }

    /// The text, `None` where no name is there.
    pub(super) fn find<'a>(&self, fields: &Fields<'a>) -> Option<Cow<'a, str>> {
        self.names.iter().find_map(|name| fields.value(name)?.scalar())
    }

    /// The text, which must be there.
    pub(super) fn require<'a>(&self, fields: &Fields<'a>) -> Result<Cow<'a, str>, LineFault> {
        self.find(fields).ok_or_else(|| self.missing())
    }

    /// The time, `None` where no name is there.
    pub(super) fn read_time(&self, fields: &Fields<'_>) -> Result<Option<Time>, LineFault> {
        self.read(fields, parse_time)
    }

    /// The time, which must be there.
    pub(super) fn require_time(&self, fields: &Fields<'_>) -> Result<Time, LineFault> {
        self.read_time(fields)?.ok_or_else(|| self.missing())
    }

    /// The duration in nanoseconds, 0 where no name is there.
    pub(super) fn duration_ns(&self, fields: &Fields<'_>) -> Result<u64, LineFault> {
        Ok(self.read(fields, parse_duration_ns)?.unwrap_or(0))
    }

    /// What a value is, which must be readable where a name is there.
    pub(super) fn read<T>(
        &self,
        fields: &Fields<'_>,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, LineFault> {
        let present = |name: &&'static str| Some((*name, fields.value(name)?));
        let Some((name, value)) = self.names.iter().find_map(present) else { return Ok(None) };
        let wrong = || LineFault::wrong(format!("`{name}`"), value.raw(), self.expected);
        value.scalar().and_then(|text| parse(&text)).map(Some).ok_or_else(wrong)
    }

    pub(super) fn missing(&self) -> LineFault {
        LineFault::missing(format!("`{}`", self.names.join("` or `")), self.expected)
    }
}
