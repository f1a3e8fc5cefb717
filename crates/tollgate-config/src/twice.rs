//! What is given twice.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use crate::findings::Findings;
use crate::tree::Position;

/// Where names were seen, so that each is found when it is seen again.
#[derive(Debug, Default)]
pub(crate) struct Seen<'a>(HashMap<&'a str, Position>);

impl<'a> Seen<'a> {
    /// Remembers where a name was seen, and finds fault with it the second time; `what` says what it is.
    pub(crate) fn refuse_again(
        &mut self,
        name: &'a str,
        place: Position,
        what: &str,
        findings: &mut Findings,
    ) {
        match self.0.entry(name) {
            Entry::Vacant(vacant) => {
                vacant.insert(place);
            }
            Entry::Occupied(first) => {
                let Position { line, column } = first.get();
                let message = format!(
                    "{what} is given twice, first at line {line}, column {column}; keep one"
                );
                findings.at(place, message);
            }
        }
    }
}
