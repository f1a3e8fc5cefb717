//! A caller's words: compared, and shown to it again.

use std::fmt::{self, Display};

/// The most bytes that are shown: enough to know them again.
const BYTES_SHOWN_MAX: usize = 64;

/// Whether a word is this one, in capitals or not.
pub(super) const fn is(word: &[u8], known: &str) -> bool {
    word.eq_ignore_ascii_case(known.as_bytes())
}

/// Bytes that may be anything, in one short line of ASCII.
pub(super) struct Shown<'a>(pub(super) &'a [u8]);

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((beginning, _)) = self.0.split_at_checked(BYTES_SHOWN_MAX) else {
            return write!(f, "{}", self.0.escape_ascii());
        };
        write!(f, "{}...", beginning.escape_ascii())
    }
}
