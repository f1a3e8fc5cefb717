//! Replies as they go out, in either version of the protocol.

use std::fmt::{self, Display, Write};

/// The versions of the protocol that are spoken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Protocol {
    /// What a connection speaks until it asks for the other.
    #[default]
    Resp2,
    Resp3,
}

impl Protocol {
    pub(super) const fn version(self) -> u64 {
        match self {
            Self::Resp2 => 2,
            Self::Resp3 => 3,
        }
    }
}

/// Replies on their way, one after another.
#[derive(Debug, Default)]
pub(super) struct Replies {
    bytes: Vec<u8>,
    pub(super) protocol: Protocol,
}

impl Replies {
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Forgets what was sent. Room beyond `bytes_kept` is given back.
    pub(super) fn clear(&mut self, bytes_kept: usize) {
        self.bytes.clear();
        self.bytes.shrink_to(bytes_kept);
    }

    /// One of the few words that need no length.
    pub(super) fn word(&mut self, word: &'static str) {
        self.line(b'+', word.as_bytes());
    }

    /// An error. Its text begins with a code in capitals; what it says of the caller's bytes stays on one line.
    pub(super) fn error(&mut self, text: impl Display) {
        self.bytes.push(b'-');
        let written = write!(OneLine(&mut self.bytes), "{text}");
        debug_assert!(written.is_ok(), "nothing fails here");
        self.bytes.extend_from_slice(b"\r\n");
    }

    pub(super) fn integer(&mut self, number: impl itoa::Integer) {
        self.number(b':', number);
    }

    pub(super) fn string(&mut self, string: impl AsRef<[u8]>) {
        self.number(b'$', string.as_ref().len());
        self.bytes.extend_from_slice(string.as_ref());
        self.bytes.extend_from_slice(b"\r\n");
    }

    /// Nothing, where there could be an array.
    pub(super) fn null_array(&mut self) {
        match self.protocol {
            Protocol::Resp2 => self.line(b'*', b"-1"),
            Protocol::Resp3 => self.null(),
        }
    }

    /// Nothing, in the version of the protocol that has a value for it.
    pub(super) fn null(&mut self) {
        self.line(b'_', b"");
    }

    /// Yes or no, in the version of the protocol that has values for them.
    pub(super) fn boolean(&mut self, is_true: bool) {
        self.line(b'#', if is_true { b"t" } else { b"f" });
    }

    /// So many values follow.
    pub(super) fn array(&mut self, length: usize) {
        self.number(b'*', length);
    }

    /// So many pairs of a key and a value follow.
    pub(super) fn map(&mut self, pairs: usize) {
        match self.protocol {
            Protocol::Resp2 => self.array(pairs.saturating_mul(2)),
            Protocol::Resp3 => self.number(b'%', pairs),
        }
    }

    fn number(&mut self, mark: u8, number: impl itoa::Integer) {
        self.line(mark, itoa::Buffer::new().format(number).as_bytes());
    }

    fn line(&mut self, mark: u8, text: &[u8]) {
        self.bytes.push(mark);
        self.bytes.extend_from_slice(text);
        self.bytes.extend_from_slice(b"\r\n");
    }
}

/// Takes text without ends of lines, which would end the reply.
struct OneLine<'a>(&'a mut Vec<u8>);

impl Write for OneLine<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let spaced =
            text.bytes().map(|byte| if matches!(byte, b'\r' | b'\n') { b' ' } else { byte });
        self.0.extend(spaced);
        Ok(())
    }
}
