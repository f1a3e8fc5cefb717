//! The name of an endpoint with places for what a request has: `{method} {path}`.

use tollgate::nearest_name;

/// The name of an endpoint, put together from texts and the values of entries.
///
/// Between two values stands a text, so that a name can be taken apart in one way only, as long as no value but the
/// last holds the text that follows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EndpointTemplate(Vec<Piece>);

/// A part of an endpoint's name.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a name has texts and values, and nothing else")]
pub enum Piece {
    /// As it stands.
    Text(String),
    /// The value of the entry of this key.
    Entry(String),
}

impl EndpointTemplate {
    /// Reads a template whose places are for entries of these keys.
    ///
    /// # Errors
    /// What is wrong with it, and what was expected.
    pub(super) fn parse(text: &str, keys: &[&str]) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let Some((key, after)) = after.split_once('}') else {
                return Err("has a `{` without a `}`; expected keys as in {method}".to_owned());
            };
            push_text(&mut pieces, before)?;
            if let Some(Piece::Entry(last)) = pieces.last() {
                return Err(format!(
                    "has {{{last}}} and {{{key}}} with nothing between them; expected a text \
                     there, so that no two requests read the same"
                ));
            }
            pieces.push(Piece::Entry(known(key, keys)?.to_owned()));
            rest = after;
        }
        push_text(&mut pieces, rest)?;
        if pieces.is_empty() {
            return Err("is empty; expected a name such as \"{method} {path}\"".to_owned());
        }
        Ok(Self(pieces))
    }

    /// The values of these keys, with a space between them.
    pub(super) fn of_keys(keys: &[&str]) -> Self {
        let entries = keys.iter().map(|key| vec![Piece::Entry((*key).to_owned())]);
        Self(entries.collect::<Vec<_>>().join(&Piece::Text(" ".to_owned())))
    }

    /// Its parts, from left to right.
    pub fn pieces(&self) -> &[Piece] {
        &self.0
    }
}

fn push_text(pieces: &mut Vec<Piece>, text: &str) -> Result<(), String> {
    if text.contains('}') {
        return Err("has a `}` without a `{`; expected keys as in {method}".to_owned());
    }
    if !text.is_empty() {
        pieces.push(Piece::Text(text.to_owned()));
    }
    Ok(())
}

/// The key, if the rule's descriptors have it.
pub(super) fn known<'a>(key: &'a str, keys: &[&str]) -> Result<&'a str, String> {
    if keys.contains(&key) {
        return Ok(key);
    }
    let nearest = nearest_name(key, keys.iter().copied());
    let nearest = nearest.map_or_else(String::new, |near| format!("did you mean `{near}`? "));
    let listed = keys.join(", ");
    Err(format!("names `{key}`, which is no key of `descriptor`; {nearest}it has {listed}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_texts_and_keys_in_turn() {
        let text = |text: &str| Piece::Text(text.to_owned());
        let entry = |key: &str| Piece::Entry(key.to_owned());
        for (template, pieces) in [
            ("login", vec![text("login")]),
            ("{path}", vec![entry("path")]),
            ("{method} {path}", vec![entry("method"), text(" "), entry("path")]),
            ("GET {path}!", vec![text("GET "), entry("path"), text("!")]),
        ] {
            let read = EndpointTemplate::parse(template, &["method", "path"]).unwrap();
            assert_eq!(read.pieces(), pieces, "{template}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_template_is_said() {
        for (template, wrong) in [
            ("", "is empty; expected a name such as \"{method} {path}\""),
            ("{path", "has a `{` without a `}`; expected keys as in {method}"),
            ("path}", "has a `}` without a `{`; expected keys as in {method}"),
            (
                "{method}{path}",
                "has {method} and {path} with nothing between them; expected a text there, so \
                 that no two requests read the same",
            ),
            (
                "{metod} {path}",
                "names `metod`, which is no key of `descriptor`; did you mean `method`? it has \
                 method, path",
            ),
            ("{}", "names ``, which is no key of `descriptor`; it has method, path"),
        ] {
            let read = EndpointTemplate::parse(template, &["method", "path"]);
            assert_eq!(read.unwrap_err(), wrong, "{template}");
        }
    }
}
