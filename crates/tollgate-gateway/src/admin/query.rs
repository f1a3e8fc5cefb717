//! What stands behind the `?`, by name.

use std::borrow::Cow;

use tollgate::unknown_field;

use crate::http::problem::Problem;

/// The fields of a query, each at most once.
#[derive(Debug)]
pub(super) struct Query<'a>(Vec<(Cow<'a, str>, Cow<'a, str>)>);

impl<'a> Query<'a> {
    /// Reads a query that may have these fields.
    ///
    /// # Errors
    /// 400 for any other field, and for one that is given twice.
    pub(super) fn read(query: Option<&'a str>, known: &[&str]) -> Result<Self, Problem> {
        let mut fields: Vec<(Cow<'a, str>, Cow<'a, str>)> = Vec::new();
        for (name, value) in form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
            if !known.contains(&&*name) {
                return Err(Problem::bad_request(unknown_field(&name, known).to_string()));
            }
            if fields.iter().any(|(other, _)| *other == name) {
                let detail = format!("`{name}` is given twice; expected it once");
                return Err(Problem::bad_request(detail));
            }
            fields.push((name, value));
        }
        Ok(Self(fields))
    }

    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find_map(|(known, value)| (known == name).then_some(&**value))
    }

    /// # Errors
    /// 400 where it is missing.
    pub(super) fn required(&self, name: &str) -> Result<&str, Problem> {
        self.get(name)
            .ok_or_else(|| Problem::bad_request(format!("`{name}` is missing in the query")))
    }

    /// # Errors
    /// 400 where it is no whole number.
    pub(super) fn whole(&self, name: &str) -> Result<Option<u64>, Problem> {
        let Some(text) = self.get(name) else { return Ok(None) };
        text.parse().map(Some).map_err(|_wrong: std::num::ParseIntError| {
            let expected = format!("expected a whole number from 0 to {}", u64::MAX);
            Problem::bad_request(format!("`{name}` is {text:?}; {expected}"))
        })
    }

    /// # Errors
    /// 400 where it is neither 0 nor 1.
    pub(super) fn flag(&self, name: &str) -> Result<bool, Problem> {
        match self.get(name) {
            None | Some("0") => Ok(false),
            Some("1") => Ok(true),
            Some(other) => {
                Err(Problem::bad_request(format!("`{name}` is {other:?}; expected 0 or 1")))
            }
        }
    }
}
