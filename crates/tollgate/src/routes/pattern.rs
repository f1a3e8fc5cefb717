//! One pattern: how it is read, what it matches, and how it stands to another.

use std::cmp::Ordering;
use std::fmt;

/// The most parameters in one pattern; the router takes a few more.
const PARAMETERS_MAX: usize = 20;

/// The whole path part of a name that is no pattern though it looks like one: `OPTIONS *` of HTTP, and a lone `*`.
const ASTERISK: &str = "*";

/// A path in which segments stand for any, such as `GET /users/{id}/posts` or `/files/*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pattern<'a> {
    /// The method it is for, `None` where it is for all, and for names without one.
    pub(super) method: Option<&'a str>,
    segments: Vec<Segment<'a>>,
    /// Whether more follows: one segment or more, of which the first may be empty.
    has_rest: bool,
}

/// What stands between two slashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Segment<'a> {
    /// This text, empty behind a slash at the end.
    Literal(&'a str),
    /// Any text but none. What it was called does not matter.
    Parameter,
}

impl<'a> Pattern<'a> {
    /// Reads an endpoint's name; `None` where it is no pattern but a plain name.
    ///
    /// # Errors
    /// What is wrong with a name that holds `{` or `*` and is no pattern that can be understood.
    pub(super) fn read(name: &'a str) -> Result<Option<Self>, String> {
        if !name.contains(['{', '*']) || path_part(name) == ASTERISK {
            return Ok(None);
        }
        let (method, path) = match method_and_path(name) {
            Some((method, path)) => (Some(method), path),
            None => (None, name),
        };
        let Some(path) = path.strip_prefix('/') else {
            return Err("a name with `{` or `*` is a pattern, and a pattern is a path, such as \
                        /users/{id}, /files/* or GET /users/{id}"
                .to_owned());
        };
        let (path, has_rest) = match path.strip_suffix('*') {
            Some("") => (None, true),
            Some(before) if before.ends_with('/') => (before.strip_suffix('/'), true),
            Some(_) | None => (Some(path), false),
        };
        let segments = path.into_iter().flat_map(|path| path.split('/')).map(Segment::read);
        let segments = segments.collect::<Result<Vec<_>, _>>()?;
        let pattern = Self { method, segments, has_rest };
        let parameters = pattern.parameters();
        if parameters > PARAMETERS_MAX {
            return Err(format!("{parameters} parameters; expected at most {PARAMETERS_MAX}"));
        }
        Ok(Some(pattern))
    }

    fn parameters(&self) -> usize {
        self.segments.iter().filter(|segment| **segment == Segment::Parameter).count()
    }

    /// Its segments, up to the rest.
    pub(super) fn segments(&self) -> &[Segment<'a>] {
        &self.segments
    }

    /// How many segments come before the rest; `None` without one.
    pub(super) fn rest_after(&self) -> Option<usize> {
        self.has_rest.then_some(self.segments.len())
    }

    /// Whether some endpoint is matched by both.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        let same_method = match (self.method, other.method) {
            (Some(method), Some(other)) => method == other,
            (None, _) | (_, None) => true,
        };
        let lengths_meet = match self.segments.len().cmp(&other.segments.len()) {
            Ordering::Less => self.has_rest,
            Ordering::Equal => self.has_rest == other.has_rest,
            Ordering::Greater => other.has_rest,
        };
        let mut shared = self.segments.iter().zip(&other.segments);
        same_method && lengths_meet && shared.all(|(segment, other)| segment.meets(*other))
    }

    /// Whether every path that `other` matches is matched by this one, whatever the methods.
    pub(super) fn covers(&self, other: &Self) -> bool {
        let (length, other_length) = (self.segments.len(), other.segments.len());
        let lengths_covered = match (self.has_rest, other.has_rest) {
            (true, true) => length <= other_length,
            (true, false) => length < other_length,
            (false, true) => false,
            (false, false) => length == other_length,
        };
        let mut shared = self.segments.iter().zip(&other.segments);
        lengths_covered && shared.all(|(segment, other)| segment.covers(*other))
    }

    /// The pattern of all that both match, where they overlap.
    pub(super) fn meet(&self, other: &Self) -> Self {
        let (longer, shorter) =
            if self.segments.len() < other.segments.len() { (other, self) } else { (self, other) };
        let beyond = longer.segments.iter().skip(shorter.segments.len()).copied();
        let shared = self.segments.iter().zip(&other.segments);
        let narrower = shared.map(|(segment, other)| segment.narrower(*other));
        Self {
            method: self.method.or(other.method),
            segments: narrower.chain(beyond).collect(),
            has_rest: self.has_rest && other.has_rest,
        }
    }

    /// Its path, whatever its parameters were called.
    pub(super) fn path(&self) -> String {
        let mut path = self.written("{any}");
        path.push_str(if self.has_rest { "/*" } else { "" });
        path
    }

    /// The routes in the router's words. A rest may be empty, which takes a route of its own there.
    pub(super) fn routes(&self) -> Vec<String> {
        let path = self.written("{p}");
        if self.has_rest {
            vec![format!("{path}/"), format!("{path}/{{*rest}}")]
        } else {
            vec![path]
        }
    }

    /// All but the rest, with a word for each parameter.
    fn written(&self, parameter: &'static str) -> String {
        self.segments
            .iter()
            .flat_map(|segment| ["/", segment.text().unwrap_or(parameter)])
            .collect()
    }
}

impl fmt::Display for Pattern<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(method) = self.method {
            write!(f, "{method} ")?;
        }
        f.write_str(&self.path())
    }
}

impl<'a> Segment<'a> {
    fn read(text: &'a str) -> Result<Self, String> {
        let named = text.strip_prefix('{').and_then(|text| text.strip_suffix('}'));
        if named.is_some_and(|name| !name.is_empty() && !name.contains(['{', '}', '*'])) {
            return Ok(Self::Parameter);
        }
        if text.contains(['{', '}', '*']) {
            return Err(format!(
                "the segment {text:?} cannot be read; expected plain text, a parameter that is all \
                 of its segment, such as {{id}}, or a * that is the last"
            ));
        }
        Ok(Self::Literal(text))
    }

    const fn text(self) -> Option<&'a str> {
        match self {
            Self::Literal(text) => Some(text),
            Self::Parameter => None,
        }
    }

    fn narrower(self, other: Self) -> Self {
        if self == Self::Parameter { other } else { self }
    }

    /// Whether some text is matched by both.
    fn meets(self, other: Self) -> bool {
        match (self, other) {
            (Self::Literal(text), Self::Literal(other)) => text == other,
            (Self::Literal(text), Self::Parameter) | (Self::Parameter, Self::Literal(text)) => {
                !text.is_empty()
            }
            (Self::Parameter, Self::Parameter) => true,
        }
    }

    fn covers(self, other: Self) -> bool {
        match (self, other) {
            (Self::Literal(text), Self::Literal(other)) => text == other,
            (Self::Literal(_), Self::Parameter) => false,
            (Self::Parameter, Self::Literal(text)) => !text.is_empty(),
            (Self::Parameter, Self::Parameter) => true,
        }
    }
}

/// The method and the path of `METHOD /path`, where the endpoint is of that form.
pub(super) fn method_and_path(endpoint: &str) -> Option<(&str, &str)> {
    method_and_rest(endpoint).filter(|(_, path)| path.starts_with('/'))
}

/// The method of `METHOD rest`, and the rest. A method's few letters are looked at, and nothing behind them.
fn method_and_rest(endpoint: &str) -> Option<(&str, &str)> {
    let is_of_method = |byte: u8| byte.is_ascii_uppercase() || byte == b'-';
    let end = endpoint.bytes().position(|byte| !is_of_method(byte)).filter(|end| *end > 0)?;
    let (method, rest) = endpoint.split_at_checked(end)?;
    Some((method, rest.strip_prefix(' ')?))
}

/// What follows the method, where there is one.
fn path_part(name: &str) -> &str {
    method_and_rest(name).map_or(name, |(_, path)| path)
}
