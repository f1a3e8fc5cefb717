//! Aligned columns for people.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, Table};
use tollgate::AppliesTo;

/// How a column is aligned: texts to the left, figures to the right.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Column {
    Text,
    Figure,
}

/// A table without rows yet.
pub(crate) fn table(columns: &[(&str, Column)]) -> Table {
    let mut table = Table::new();
    table.load_style(NOTHING).set_header(columns.iter().map(|(title, _)| title));
    for (column, (_, kind)) in table.column_iter_mut().zip(columns) {
        column.set_padding((0, 2)).set_cell_alignment(match kind {
            Column::Text => CellAlignment::Left,
            Column::Figure => CellAlignment::Right,
        });
    }
    table
}

/// A whole number in groups of three digits.
pub(crate) fn thousands(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len().saturating_mul(2));
    for (index, digit) in digits.chars().enumerate() {
        let left = digits.len().saturating_sub(index);
        if index > 0 && left.is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// An endpoint's name on one line; the default limiter has none.
pub(crate) fn endpoint_name(endpoint: Option<&str>) -> String {
    let name = endpoint.unwrap_or("default");
    let mut printable = String::with_capacity(name.len());
    for character in name.chars() {
        if character.is_control() {
            printable.extend(character.escape_default());
        } else {
            printable.push(character);
        }
    }
    printable
}

/// Whom something is for, behind a name, where that is not everybody.
pub(crate) fn but_not_everybody(applies_to: AppliesTo<'_>) -> String {
    match applies_to {
        AppliesTo::Everybody => String::new(),
        AppliesTo::Plan(_) | AppliesTo::Client(_) | _ => format!(", {applies_to}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_grouped_by_three_from_the_right() {
        for (number, text) in
            [(0, "0"), (999, "999"), (1_000, "1,000"), (u64::MAX, "18,446,744,073,709,551,615")]
        {
            assert_eq!(thousands(number), text);
        }
    }

    #[test]
    fn a_name_stays_on_one_line_and_cannot_command_a_terminal() {
        assert_eq!(endpoint_name(None), "default");
        assert_eq!(endpoint_name(Some("GET /ä \"b\"")), "GET /ä \"b\"");
        assert_eq!(endpoint_name(Some("a\n\u{1b}[31m")), "a\\n\\u{1b}[31m");
    }
}
