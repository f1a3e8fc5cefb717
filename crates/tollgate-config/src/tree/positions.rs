//! From byte offsets, which parsers tell, to lines and columns, which people count in.

use super::Position;

/// The distance of the marks, in bytes: a look-up walks no further, even where a file is one long
/// line.
const MARK_EVERY: usize = 128;

/// The places in a text.
#[derive(Debug)]
pub(super) struct Positions<'a> {
    text: &'a str,
    marks: Vec<Mark>,
}

/// The place of the first character at or after a multiple of [`MARK_EVERY`].
#[derive(Clone, Copy, Debug)]
struct Mark {
    offset: usize,
    position: Position,
}

impl<'a> Positions<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let mut marks = Vec::new();
        let mut mark_next = 0;
        let mut position = Position::START;
        for (offset, character) in text.char_indices() {
            if offset >= mark_next {
                marks.push(Mark { offset, position });
                mark_next = offset.saturating_add(MARK_EVERY);
            }
            position = after(position, character);
        }
        Self { text, marks }
    }

    /// The place of the character at this byte offset, or that of the end where the text is
    /// shorter.
    pub(super) fn at(&self, offset: usize) -> Position {
        let after_mark = self.marks.partition_point(|mark| mark.offset <= offset);
        let Some(mark) = after_mark.checked_sub(1).and_then(|index| self.marks.get(index)) else {
            return Position::START;
        };
        let rest = self.text.get(mark.offset..).unwrap_or_default();
        let length = offset.saturating_sub(mark.offset);
        rest.char_indices()
            .take_while(|(distance, _)| *distance < length)
            .fold(mark.position, |position, (_, character)| after(position, character))
    }

    /// The place that a line and a column in bytes tell, both counted from 1.
    pub(super) fn at_bytes(&self, line: usize, column: usize) -> Position {
        let lines_before = self.text.split_inclusive('\n').take(line.saturating_sub(1));
        let line_start: usize = lines_before.map(str::len).sum();
        self.at(line_start.saturating_add(column.saturating_sub(1)))
    }
}

const fn after(position: Position, character: char) -> Position {
    match character {
        '\n' => Position { line: position.line.saturating_add(1), column: 1 },
        _ => Position { line: position.line, column: position.column.saturating_add(1) },
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn columns_count_characters_and_lines_end_at_a_newline() {
        let text = "é\r\n😀x";
        let positions = Positions::new(text);
        let cases = [(0, (1, 1)), (2, (1, 2)), (4, (2, 1)), (8, (2, 2)), (9, (2, 3)), (99, (2, 3))];
        for (offset, (line, column)) in cases {
            assert_eq!(positions.at(offset), Position { line, column }, "offset {offset}");
        }
        assert_eq!(positions.at_bytes(2, 5), Position { line: 2, column: 2 });
        assert_eq!(Positions::new("").at(7), Position::START);
    }

    proptest! {
        #[test]
        fn a_look_up_equals_a_count_from_the_start(text in "[a\né😀]{0,600}") {
            let positions = Positions::new(&text);
            let mut counted = Position::START;
            for (offset, character) in text.char_indices() {
                prop_assert_eq!(positions.at(offset), counted);
                counted = after(counted, character);
            }
            prop_assert_eq!(positions.at(text.len()), counted);
        }
    }
}
