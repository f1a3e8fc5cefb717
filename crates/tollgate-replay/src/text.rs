//! Text for people: names that clients chose made safe to print, and numbers made easy to read.

use std::fmt::{self, Write};
use std::time::Duration;

/// The most characters of a name that are shown; names in recorded traffic have no bound of their own.
const SHOWN_MAX: usize = 80;

/// A name from recorded traffic, safe on a terminal: control characters are escaped, and the rest cut where it is long.
pub(crate) struct Shown<'a>(pub(crate) &'a str);

impl fmt::Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, character) in self.0.chars().enumerate() {
            match character {
                _ if index == SHOWN_MAX => return f.write_char('…'),
                '"' | '\'' | '\\' => f.write_char(character)?,
                _ => character.escape_debug().try_for_each(|escaped| f.write_char(escaped))?,
            }
        }
        Ok(())
    }
}

/// A number with its thousands parted: `1,234,567`.
pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len().saturating_mul(2));
    for (index, digit) in digits.chars().enumerate() {
        let digits_after = digits.len().saturating_sub(index);
        if index > 0 && digits_after.is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count and its noun: `1 line`, `2,000 lines`.
pub(crate) fn counted(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(number))
}

/// A part of a whole in percent, to two decimals, rounded down; what is there and smaller is said to be below 0.01 %.
pub(crate) fn share(part: u64, whole: u64) -> String {
    let hundredths = u128::from(part).saturating_mul(10_000).checked_div(u128::from(whole));
    match hundredths.unwrap_or(0) {
        0 if part > 0 => "below 0.01 %".to_owned(),
        hundredths => format!("{}.{:02} %", hundredths / 100, hundredths % 100),
    }
}

/// A number of milliseconds in units a person thinks in: `1m 30s`.
pub(crate) fn duration(millis: u64) -> String {
    humantime::format_duration(Duration::from_millis(millis)).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_can_neither_move_the_cursor_nor_fill_the_screen() {
        let hostile = "\u{1b}[2J\n\u{202e}evil\"'\\ é";
        assert_eq!(Shown(hostile).to_string(), r#"\u{1b}[2J\n\u{202e}evil"'\ é"#);
        assert_eq!(Shown(&"x".repeat(80)).to_string(), "x".repeat(80));
        assert_eq!(Shown(&"x".repeat(81)).to_string(), format!("{}…", "x".repeat(80)));
    }

    #[test]
    fn numbers_are_parted_by_thousands() {
        for (number, text) in [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
        assert_eq!(grouped(u64::MAX), "18,446,744,073,709,551,615");
        assert_eq!(counted(1, "line"), "1 line");
        assert_eq!(counted(2_000, "line"), "2,000 lines");
    }

    #[test]
    fn a_share_is_never_rounded_to_nothing_or_up_to_all() {
        for (part, whole, text) in [
            (0, 0, "0.00 %"),
            (0, 7, "0.00 %"),
            (1, 1_000_000, "below 0.01 %"),
            (65, 10_000, "0.65 %"),
            (999_999, 1_000_000, "99.99 %"),
            (u64::MAX, u64::MAX, "100.00 %"),
        ] {
            assert_eq!(share(part, whole), text);
        }
    }

    #[test]
    fn durations_are_said_in_units() {
        assert_eq!(duration(0), "0s");
        assert_eq!(duration(90_250), "1m 30s 250ms");
    }
}
