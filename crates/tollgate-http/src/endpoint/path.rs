//! The normal form of a path, and the form it is judged in.
//!
//! A path that is in its normal form already, as nearly all are, is found to be so in one pass and copied nowhere. Any
//! other is taken apart, segment by segment.

use std::borrow::Cow;

use super::{TargetFault, TargetFaultKind};

/// Which spellings count as different.
#[derive(Clone, Copy, Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "five switches that are independent of each other"
)]
pub(super) struct Spelling {
    pub(super) folds_case: bool,
    pub(super) keeps_slashes: bool,
    pub(super) keeps_trailing_slash: bool,
    pub(super) keeps_parameters: bool,
    pub(super) allows_escaped_slash: bool,
}

/// A target in its normal form.
pub(super) struct Normal<'a> {
    /// Path and query, to be forwarded.
    pub(super) forwarded: Cow<'a, str>,
    /// The path as it is judged.
    pub(super) judged: Cow<'a, str>,
}

/// What a byte of a path means for it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    /// It stands for itself.
    Plain,
    Slash,
    /// It may be a dot segment.
    Dot,
    /// It needs a closer look: an escape, parameters, what belongs escaped, or what does not belong at all.
    Special,
    /// The path ends here.
    Query,
}

const fn class(byte: u8) -> Class {
    match byte {
        b'/' => Class::Slash,
        b'.' => Class::Dot,
        b'?' => Class::Query,
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'~' => Class::Plain,
        b'!' | b'$' | b'&' | b'\'' | b'(' | b')' | b'*' | b'+' | b',' | b'=' | b':' | b'@' => {
            Class::Plain
        }
        _ => Class::Special,
    }
}

/// Whether RFC 3986 has a byte stand for the same with and without an escape.
const fn is_unreserved(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')
}

/// Whether a byte may stand in a path as it is.
const fn may_stand(byte: u8) -> bool {
    byte == b';' || matches!(class(byte), Class::Plain | Class::Dot)
}

/// What ends the part of a segment that is judged, in its normal form: parameters, and what a server that decodes too
/// early takes for a query or a fragment.
const CUTS: [&str; 4] = [";", "%3B", "%3F", "%23"];

/// The part of a segment before its parameters. What would end it does not where it begins it: `/tags/%23rust`.
fn without_parameters(segment: &str) -> &str {
    if !segment.contains([';', '%']) {
        return segment;
    }
    let start = if segment.starts_with('%') { "%23".len() } else { 1 };
    let rest = segment.get(start..).unwrap_or_default();
    let cut = CUTS.iter().filter_map(|cut| rest.find(cut)).min();
    cut.and_then(|at| segment.get(..start.saturating_add(at))).unwrap_or(segment)
}

fn is_dots(segment: &str) -> bool {
    matches!(segment, "." | "..")
}

impl Spelling {
    /// The normal form of a target that is a path and a query.
    ///
    /// # Errors
    /// What is not well-formed, or could mean more than one thing.
    pub(super) fn normal(self, target: &[u8]) -> Result<Normal<'_>, TargetFault> {
        if target.first() != Some(&b'/') {
            return Err(TargetFaultKind::NoPath.at(0));
        }
        let plain_to = plain_path(target);
        let ends = plain_to.or_else(|| target.iter().position(|byte| *byte == b'?'));
        let (path, query) = target.split_at(ends.unwrap_or(target.len()));
        check_query(query, path.len())?;
        match plain_to {
            Some(_) => Ok(self.of_plain(text(path)?, text(target)?)),
            None => self.of_segments(path, target),
        }
    }

    /// Of a path that is in its normal form.
    fn of_plain<'a>(self, path: &'a str, target: &'a str) -> Normal<'a> {
        let judged = match path.strip_suffix('/') {
            Some(shorter) if !shorter.is_empty() && !self.keeps_trailing_slash => shorter,
            Some(_) | None => path,
        };
        let folds = self.folds_case && judged.bytes().any(|byte| byte.is_ascii_uppercase());
        let judged = if folds { judged.to_ascii_lowercase().into() } else { judged.into() };
        Normal { forwarded: target.into(), judged }
    }

    fn of_segments<'a>(self, path: &[u8], target: &'a [u8]) -> Result<Normal<'a>, TargetFault> {
        let mut walk = Walk::new(self, path.len());
        let mut at = 0_usize;
        for segment in path.split(|byte| *byte == b'/').skip(1) {
            at = at.saturating_add(1);
            let ends = at.saturating_add(segment.len());
            walk.step(segment, at, ends == path.len())?;
            at = ends;
        }
        let mut forwarded = walk.path;
        if !self.keeps_slashes && forwarded.contains("//") {
            forwarded = merged(&forwarded);
        }
        let judged = self.judged(&forwarded).into();
        if forwarded.as_bytes() == path {
            return Ok(Normal { forwarded: text(target)?.into(), judged });
        }
        forwarded.push_str(text(target.get(path.len()..).unwrap_or_default())?);
        Ok(Normal { forwarded: forwarded.into(), judged })
    }

    /// What is judged of a path in its normal form.
    fn judged(self, path: &str) -> String {
        let mut judged = String::with_capacity(path.len());
        for segment in path.split('/').skip(1) {
            let name = if self.keeps_parameters { segment } else { without_parameters(segment) };
            if self.keeps_slashes || !name.is_empty() {
                judged.push('/');
                self.push_judged(name, &mut judged);
            }
        }
        if !self.keeps_trailing_slash {
            judged.truncate(judged.trim_end_matches('/').len());
        } else if path.ends_with('/') && !judged.ends_with('/') {
            judged.push('/');
        }
        if judged.is_empty() {
            judged.push('/');
        }
        judged
    }

    /// Whether an escaped byte is judged like one that is not. An escaped `;` is where neither begins parameters.
    const fn is_judged_decoded(self, byte: u8) -> bool {
        may_stand(byte) && (byte != b';' || self.keeps_parameters)
    }

    /// Decodes the escapes of what may stand as it is.
    fn push_judged(self, segment: &str, judged: &mut String) {
        let mut rest = segment.as_bytes().iter();
        while let Some(byte) = rest.next() {
            let escaped = if *byte == b'%' { unescaped(rest.as_slice()) } else { None };
            let byte = match escaped {
                Some(escaped) if !self.is_judged_decoded(escaped) => {
                    push_escaped(escaped, judged);
                    rest.nth(1);
                    continue;
                }
                Some(escaped) => {
                    rest.nth(1);
                    escaped
                }
                None => *byte,
            };
            let byte = if self.folds_case { byte.to_ascii_lowercase() } else { byte };
            judged.push(char::from(byte));
        }
    }
}

/// A path while its segments are gone through.
struct Walk {
    spelling: Spelling,
    path: String,
    /// How many of the segments are not empty.
    named: usize,
    segment: String,
}

impl Walk {
    fn new(spelling: Spelling, length: usize) -> Self {
        Self { spelling, path: String::with_capacity(length), named: 0, segment: String::new() }
    }

    fn step(&mut self, segment: &[u8], at: usize, is_last: bool) -> Result<(), TargetFault> {
        self.read(segment, at)?;
        if is_dots(&self.segment) {
            if self.segment == ".." {
                self.leave(at)?;
            }
            if is_last {
                self.path.push('/');
            }
            return Ok(());
        }
        if self.segment.split("%2F").map(without_parameters).any(is_dots) {
            return Err(TargetFaultKind::DotSegment.at(at));
        }
        if self.segment.starts_with(';') && !self.spelling.keeps_parameters {
            return Err(TargetFaultKind::ParametersAlone.at(at));
        }
        self.named = self.named.saturating_add(usize::from(!self.segment.is_empty()));
        self.path.push('/');
        self.path.push_str(&self.segment);
        Ok(())
    }

    /// Takes the last segment away. Where that is an empty one, servers that merge slashes first take another.
    fn leave(&mut self, at: usize) -> Result<(), TargetFault> {
        let Some(start) = self.path.rfind('/') else { return Ok(()) };
        if !self.path.ends_with('/') {
            self.named = self.named.saturating_sub(1);
        } else if self.named > 0 && !self.spelling.keeps_slashes {
            return Err(TargetFaultKind::DotSegment.at(at));
        }
        self.path.truncate(start);
        Ok(())
    }

    /// Brings a segment into its normal form.
    fn read(&mut self, segment: &[u8], at: usize) -> Result<(), TargetFault> {
        self.segment.clear();
        let mut rest = segment.iter();
        while let Some(byte) = rest.next() {
            let place = segment.len().saturating_sub(rest.len()).saturating_sub(1);
            let fault = |kind: TargetFaultKind| Err(kind.at(at.saturating_add(place)));
            let (byte, is_escaped) = match byte {
                b'%' => match unescaped(rest.as_slice()) {
                    None => return fault(TargetFaultKind::BrokenEscape),
                    Some(byte) => (byte, true),
                },
                byte => (*byte, false),
            };
            if is_escaped {
                rest.nth(1);
            }
            match byte {
                b'\\' => return fault(TargetFaultKind::Backslash),
                0..=0x1f | 0x7f => return fault(TargetFaultKind::Control),
                b'/' if !self.spelling.allows_escaped_slash => {
                    return fault(TargetFaultKind::EscapedSlash);
                }
                b'#' if !is_escaped => return fault(TargetFaultKind::Fragment),
                b' ' | 0x80.. if !is_escaped => return fault(TargetFaultKind::NotEscaped),
                byte if is_unreserved(byte) || (!is_escaped && may_stand(byte)) => {
                    self.segment.push(char::from(byte));
                }
                byte => push_escaped(byte, &mut self.segment),
            }
        }
        Ok(())
    }
}

/// Where the path ends, if it is in its normal form as it is.
fn plain_path(target: &[u8]) -> Option<usize> {
    let mut after_slash = false;
    for (at, byte) in target.iter().enumerate() {
        match class(*byte) {
            Class::Plain => after_slash = false,
            Class::Slash | Class::Dot if after_slash => return None,
            Class::Slash => after_slash = true,
            Class::Dot => {}
            Class::Special => return None,
            Class::Query => return Some(at),
        }
    }
    Some(target.len())
}

fn check_query(query: &[u8], at: usize) -> Result<(), TargetFault> {
    let fault = |byte: &u8| match byte {
        b'#' => Some(TargetFaultKind::Fragment),
        0..=0x1f | 0x7f => Some(TargetFaultKind::Control),
        b' ' | 0x80.. => Some(TargetFaultKind::NotEscaped),
        _ => None,
    };
    let found = query.iter().enumerate().find_map(|(place, byte)| Some((place, fault(byte)?)));
    found.map_or(Ok(()), |(place, kind)| Err(kind.at(at.saturating_add(place))))
}

/// One slash where there are several.
fn merged(path: &str) -> String {
    let mut merged = String::with_capacity(path.len());
    for letter in path.chars() {
        if letter != '/' || !merged.ends_with('/') {
            merged.push(letter);
        }
    }
    merged
}

/// The byte that the two digits behind a `%` stand for.
fn unescaped(digits: &[u8]) -> Option<u8> {
    let digit = |at: usize| digits.get(at).and_then(|byte| char::from(*byte).to_digit(16));
    let value = digit(0)?.checked_mul(16)?.checked_add(digit(1)?)?;
    u8::try_from(value).ok()
}

fn push_escaped(byte: u8, text: &mut String) {
    text.push_str(percent_encoding::percent_encode_byte(byte));
}

/// What was seen to be ASCII, as text.
fn text(bytes: &[u8]) -> Result<&str, TargetFault> {
    std::str::from_utf8(bytes).map_err(|error| TargetFaultKind::NotEscaped.at(error.valid_up_to()))
}
