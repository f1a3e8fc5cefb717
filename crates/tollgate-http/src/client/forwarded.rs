//! Lists of hops, read from the right: the last was written by who is nearest.

use std::net::IpAddr;

use super::address;

/// The last of a list, without the blanks around it, and what is left of it: `None` when it was the only one.
pub(super) type Last<'a> = (&'a [u8], Option<&'a [u8]>);

/// The last element of `a, b, c`.
pub(super) fn last_of_list(list: &[u8]) -> Last<'_> {
    split_last(list, list.iter().rposition(|byte| *byte == b','))
}

/// The last element of a list whose elements may hold quoted text, RFC 7239. Going from right to left, nothing that
/// stands further left can change how it is read.
pub(super) fn last_of_quoted_list(list: &[u8]) -> Last<'_> {
    let mut is_quoted = false;
    let mut comma = None;
    for (at, byte) in list.iter().enumerate().rev() {
        match byte {
            b'"' if !is_quoted => is_quoted = true,
            b'"' => is_quoted = is_escaped(list, at),
            b',' if !is_quoted => {
                comma = Some(at);
                break;
            }
            _ => {}
        }
    }
    split_last(list, comma)
}

/// Whether an odd number of backslashes stands before.
fn is_escaped(text: &[u8], at: usize) -> bool {
    let before = text.iter().take(at).rev().take_while(|byte| **byte == b'\\').count();
    before % 2 == 1
}

fn split_last(list: &[u8], comma: Option<usize>) -> Last<'_> {
    let Some(comma) = comma else { return (list.trim_ascii(), None) };
    let (before, rest) = list.split_at(comma);
    (rest.get(1..).unwrap_or_default().trim_ascii(), Some(before))
}

/// The address that `for=` gives in an element of `Forwarded`, such as `for="[2001:db8::1]:47011";proto=https`.
/// `None` where it gives none, or more than one.
pub(super) fn address_of_element(element: &[u8]) -> Option<IpAddr> {
    let mut found = None;
    for pair in Pairs(Some(element)) {
        let equals = pair.iter().position(|byte| *byte == b'=');
        let Some((name, value)) = equals.and_then(|at| pair.split_at_checked(at)) else { continue };
        if !name.trim_ascii().eq_ignore_ascii_case(b"for") {
            continue;
        }
        if found.is_some() {
            return None;
        }
        found = Some(unquoted(value.get(1..)?.trim_ascii())?);
    }
    address::read(found?)
}

/// What stands between the quotes. An address needs no escapes, so none are undone: a value that has some is none.
fn unquoted(value: &[u8]) -> Option<&[u8]> {
    match value.strip_prefix(b"\"") {
        Some(rest) => rest.strip_suffix(b"\""),
        None => Some(value),
    }
}

/// The parts of an element between semicolons that are not quoted.
struct Pairs<'a>(Option<&'a [u8]>);

impl<'a> Iterator for Pairs<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.0?;
        let (mut is_quoted, mut is_escaped) = (false, false);
        let ends = rest.iter().position(|byte| {
            match byte {
                b'\\' if is_quoted && !is_escaped => {
                    is_escaped = true;
                    return false;
                }
                b'"' if !is_escaped => is_quoted = !is_quoted,
                b';' if !is_quoted => return true,
                _ => {}
            }
            is_escaped = false;
            false
        });
        let pair = ends.and_then(|end| rest.split_at_checked(end));
        self.0 = pair.map(|(_, after)| after.get(1..).unwrap_or_default());
        Some(pair.map_or(rest, |(pair, _)| pair).trim_ascii())
    }
}
