//! TOML, whose own parser tells every fault in the syntax, and where each value stands.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeInteger, DeString, DeTable, DeValue};
use toml_parser::Source;
use toml_parser::lexer::TokenKind;

use super::positions::Positions;
use super::{DEPTH_MAX, Entry, Node, Position, Value, radix, refuse_too_deep};
use crate::findings::Findings;

/// What the parser says of a key that was given before. All else of the tree is then as it was
/// written.
const GIVEN_TWICE: &str = "duplicate key";

/// How deep tokens may stand. The parser bounds brackets and dots, but not their product, and to
/// free a tree so deep would take more stack than there is. A header's own brackets and the point
/// of a decimal count here too, so this is a little more than a tree may have.
const TOKEN_DEPTH_MAX: usize = DEPTH_MAX + 8;

pub(super) fn read(text: &str, findings: &mut Findings) -> Option<Node> {
    let reader = Reader { positions: Positions::new(text) };
    if let Some(offset) = first_too_deep(text) {
        refuse_too_deep(reader.positions.at(offset), findings);
        return None;
    }
    let (table, errors) = DeTable::parse_recoverable(text);
    let root = reader.table(table.into_inner(), 0, findings);
    let root = root.filter(|_| findings.is_empty());
    for error in &errors {
        reader.refuse(error, findings);
    }
    let understood = errors.iter().all(|error| error.message() == GIVEN_TWICE);
    root.filter(|_| understood).map(|entries| Position::START.node(Value::Map(entries)))
}

struct Reader<'a> {
    positions: Positions<'a>,
}

impl Reader<'_> {
    fn refuse(&self, error: &toml::de::Error, findings: &mut Findings) {
        let message = format!("not valid TOML: {}", error.message());
        match error.span() {
            Some(span) => findings.at(self.position(&span), message),
            None => findings.somewhere(message),
        }
    }

    /// The entries of a table in the order of the file; the parser has them in that of the
    /// alphabet.
    fn table(
        &self,
        table: DeTable<'_>,
        depth: usize,
        findings: &mut Findings,
    ) -> Option<Vec<Entry>> {
        let inner = depth.saturating_add(1);
        let entry = |(key, value): (Spanned<DeString<'_>>, _)| {
            let position = self.position(&key.span());
            let name = key.into_inner().into_owned();
            Some(position.entry(name, self.node(value, inner, findings)?))
        };
        let mut entries: Vec<_> = table.into_iter().map(entry).collect::<Option<_>>()?;
        entries.sort_by_key(|entry| Position::from(entry));
        Some(entries)
    }

    fn node(
        &self,
        value: Spanned<DeValue<'_>>,
        depth: usize,
        findings: &mut Findings,
    ) -> Option<Node> {
        let position = self.position(&value.span());
        if depth > DEPTH_MAX {
            refuse_too_deep(position, findings);
            return None;
        }
        let value = match value.into_inner() {
            DeValue::String(text) => Value::Text(text.into_owned()),
            DeValue::Integer(number) => Value::Number(whole(&number)),
            DeValue::Float(number) => Value::Number(number.as_str().to_owned()),
            DeValue::Boolean(value) => Value::Bool(value),
            DeValue::Datetime(time) => {
                findings.at(position, format_args!("{time} is a date or time; put it in quotes"));
                Value::Text(time.to_string())
            }
            DeValue::Array(array) => {
                let inner = depth.saturating_add(1);
                let nodes = array.into_iter().map(|value| self.node(value, inner, findings));
                Value::List(nodes.collect::<Option<_>>()?)
            }
            DeValue::Table(table) => Value::Map(self.table(table, depth, findings)?),
        };
        Some(position.node(value))
    }

    fn position(&self, span: &Range<usize>) -> Position {
        self.positions.at(span.start)
    }
}

fn whole(number: &DeInteger<'_>) -> String {
    match number.radix() {
        10 => number.as_str().to_owned(),
        other => radix::to_decimal(number.as_str(), other).unwrap_or_else(|| number.to_string()),
    }
}

/// Where the first token stands that is too deep for any tree: each bracket, and each dot of a key,
/// is one level.
fn first_too_deep(text: &str) -> Option<usize> {
    let mut open_brackets: Vec<(TokenKind, usize)> = Vec::new();
    let mut depth: usize = 0;
    for token in Source::new(text).lex() {
        match token.kind() {
            TokenKind::Dot => depth = depth.saturating_add(1),
            TokenKind::LeftSquareBracket => {
                depth = depth.saturating_add(1);
                open_brackets.push((TokenKind::RightSquareBracket, depth));
            }
            TokenKind::LeftCurlyBracket => {
                depth = depth.saturating_add(1);
                open_brackets.push((TokenKind::RightCurlyBracket, depth));
            }
            closing @ (TokenKind::RightSquareBracket | TokenKind::RightCurlyBracket) => {
                open_brackets.pop_if(|(closed_by, _)| *closed_by == closing);
                depth = open_brackets.last().map_or(0, |(_, depth)| *depth);
            }
            TokenKind::Comma | TokenKind::Newline => {
                depth = open_brackets.last().map_or(0, |(_, depth)| *depth);
            }
            TokenKind::Equals
            | TokenKind::Whitespace
            | TokenKind::Comment
            | TokenKind::LiteralString
            | TokenKind::BasicString
            | TokenKind::MlLiteralString
            | TokenKind::MlBasicString
            | TokenKind::Atom
            | TokenKind::Eof => {}
        }
        if depth > TOKEN_DEPTH_MAX {
            return Some(token.span().start());
        }
    }
    None
}
