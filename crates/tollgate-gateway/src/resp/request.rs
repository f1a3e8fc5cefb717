//! Commands as they come in: arrays of bulk strings, or words on a line.
//!
//! What a command is depends on its own bytes alone, never on how they were split on their way. Nothing is copied: the
//! arguments are slices of the bytes read.

/// The most bytes of a command: names are short, and what is read has to be kept until a command is whole.
pub(super) const COMMAND_BYTES_MAX: usize = 64 * 1024;

/// The most arguments of a command, its name among them.
pub(super) const ARGUMENTS_MAX: usize = 64;

/// More digits than any number that is allowed here, so that a line of them ends.
const DIGITS_MAX: usize = 10;

/// Bytes that are no command, nor the beginning of one. What comes after them cannot be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ProtocolError {
    #[error("invalid multibulk length; expected 0 to {ARGUMENTS_MAX}, the command's name counted")]
    Count,
    #[error("invalid bulk length; expected 0 to {COMMAND_BYTES_MAX} bytes")]
    Length,
    #[error("expected '$', got '{}'", .0.escape_ascii())]
    NoBulkString(u8),
    #[error("expected CR LF after a bulk string")]
    NoEnd,
    #[error("too big a command; expected at most {COMMAND_BYTES_MAX} bytes")]
    TooBig,
    #[error("too many words on a line; expected at most {ARGUMENTS_MAX}")]
    TooManyWords,
    #[error("quotes on a line are not understood; send an array of bulk strings")]
    Quotes,
    #[error("this is HTTP; expected the protocol of Redis")]
    Http,
}

/// What stands at the beginning of bytes, once enough of them are there.
type Parsed<T> = Result<Option<T>, ProtocolError>;

/// Reads the command at the beginning of `bytes` into `arguments`: how many bytes it takes, or `None` while it is not
/// whole. A command without arguments asks for nothing.
///
/// Of [`COMMAND_BYTES_MAX`] bytes something can always be said: a command, or an error.
pub(super) fn parse<'a>(bytes: &'a [u8], arguments: &mut Vec<&'a [u8]>) -> Parsed<usize> {
    arguments.clear();
    // The rest is not looked at, so that it makes no difference whether it is there yet.
    let looked_at = bytes.get(..COMMAND_BYTES_MAX).unwrap_or(bytes);
    let rest = match looked_at.split_first() {
        None => return Ok(None),
        Some((b'*', after)) => array(after, arguments),
        Some(_) => line(looked_at, arguments),
    };
    match rest? {
        Some(rest) => Ok(Some(looked_at.len().saturating_sub(rest.len()))),
        None if looked_at.len() == COMMAND_BYTES_MAX => Err(ProtocolError::TooBig),
        None => Ok(None),
    }
}

/// An array of bulk strings, from behind its `*`; the rest is what follows it.
fn array<'a>(bytes: &'a [u8], arguments: &mut Vec<&'a [u8]>) -> Parsed<&'a [u8]> {
    let Some((count, mut rest)) = number(bytes, ARGUMENTS_MAX, ProtocolError::Count)? else {
        return Ok(None);
    };
    for _ in 0..count {
        let Some((argument, after)) = bulk_string(rest)? else {
            return Ok(None);
        };
        arguments.push(argument);
        rest = after;
    }
    Ok(Some(rest))
}

/// A bulk string and the rest.
fn bulk_string(bytes: &[u8]) -> Parsed<(&[u8], &[u8])> {
    let after_mark = match bytes.split_first() {
        None => return Ok(None),
        Some((b'$', after)) => after,
        Some((other, _)) => return Err(ProtocolError::NoBulkString(*other)),
    };
    let Some((length, rest)) = number(after_mark, COMMAND_BYTES_MAX, ProtocolError::Length)? else {
        return Ok(None);
    };
    let Some((string, rest)) = rest.split_at_checked(length) else {
        return Ok(None);
    };
    match rest {
        [b'\r', b'\n', rest @ ..] => Ok(Some((string, rest))),
        [] | [b'\r'] => Ok(None),
        _ => Err(ProtocolError::NoEnd),
    }
}

/// A whole number up to the end of its line, and the rest; `error` is what it is if it is none or above `most`.
fn number(bytes: &[u8], most: usize, error: ProtocolError) -> Parsed<(usize, &[u8])> {
    let mut number = 0_usize;
    let mut rest = bytes;
    for digits in 0..=DIGITS_MAX {
        match rest {
            [digit @ b'0'..=b'9', after @ ..] => {
                let digit = usize::from(digit & 0x0f);
                number = number.saturating_mul(10).saturating_add(digit);
                rest = after;
            }
            [b'\r', b'\n', after @ ..] if digits > 0 && number <= most => {
                return Ok(Some((number, after)));
            }
            [] | [b'\r'] => return Ok(None),
            _ => break,
        }
    }
    Err(error)
}

/// Words on a line, as people type them, and the rest.
fn line<'a>(bytes: &'a [u8], arguments: &mut Vec<&'a [u8]>) -> Parsed<&'a [u8]> {
    let Some(end) = bytes.iter().position(|byte| *byte == b'\n') else {
        return Ok(None);
    };
    let (line, rest) = bytes.split_at(end);
    if line.contains(&b'"') || line.contains(&b'\'') {
        return Err(ProtocolError::Quotes);
    }
    let words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
    arguments.extend(words.take(ARGUMENTS_MAX + 1));
    if arguments.len() > ARGUMENTS_MAX {
        return Err(ProtocolError::TooManyWords);
    }
    if arguments.first().is_some_and(|word| is_http(word)) {
        return Err(ProtocolError::Http);
    }
    Ok(Some(rest.get(1..).unwrap_or_default()))
}

/// Whether a line is one of those that every `POST` begins with. A page in a browser can send one to a port of its own
/// machine, with commands in the body: what follows must not be read.
fn is_http(word: &[u8]) -> bool {
    word.eq_ignore_ascii_case(b"POST") || word.eq_ignore_ascii_case(b"Host:")
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;

    type Words = Vec<Vec<u8>>;

    /// Reads parts as they come, and keeps what is no whole command until the next part is there.
    fn read(parts: &[&[u8]]) -> (Vec<Words>, Option<ProtocolError>) {
        let (mut kept, mut commands) = (Vec::new(), Vec::new());
        for part in parts {
            kept.extend_from_slice(part);
            let mut words = Vec::new();
            let mut rest = &kept[..];
            loop {
                match parse(rest, &mut words) {
                    Ok(None) => break,
                    Ok(Some(length)) => {
                        commands.push(words.iter().map(|word| word.to_vec()).collect());
                        rest = &rest[length..];
                    }
                    Err(error) => return (commands, Some(error)),
                }
            }
            kept = rest.to_vec();
            assert!(kept.len() < COMMAND_BYTES_MAX, "{} bytes are kept", kept.len());
        }
        (commands, None)
    }

    fn words(words: &[&str]) -> Words {
        words.iter().map(|word| word.as_bytes().to_vec()).collect()
    }

    #[test]
    fn commands_are_arrays_of_bulk_strings_or_words_on_a_line() {
        for (bytes, commands) in [
            ("*1\r\n$4\r\nPING\r\n", vec![words(&["PING"])]),
            ("*2\r\n$4\r\necho\r\n$4\r\n\r\n$\0\r\n", vec![words(&["echo", "\r\n$\0"])]),
            ("*2\r\n$04\r\nECHO\r\n$0\r\n\r\n", vec![words(&["ECHO", ""])]),
            ("*0\r\n", vec![words(&[])]),
            ("PING\r\n", vec![words(&["PING"])]),
            ("  ECHO\t hello  \n", vec![words(&["ECHO", "hello"])]),
            ("\r\n\n", vec![words(&[]), words(&[])]),
            ("PING\n*1\r\n$4\r\nQUIT\r\nECHO", vec![words(&["PING"]), words(&["QUIT"])]),
        ] {
            assert_eq!(read(&[bytes.as_bytes()]), (commands, None), "{bytes:?}");
        }
    }

    #[test]
    fn what_is_no_command_is_an_error_that_says_what_was_expected() {
        let count = "invalid multibulk length; expected 0 to 64, the command's name counted";
        let length = "invalid bulk length; expected 0 to 65536 bytes";
        for (bytes, error) in [
            ("*x\r\n", count),
            ("*-1\r\n", count),
            ("*\r\n", count),
            ("*65\r\n", count),
            ("*99999999999", count),
            ("*1\n", count),
            ("*1\r\n+PING\r\n", "expected '$', got '+'"),
            ("*1\r\n\r\n", "expected '$', got '\\r'"),
            ("*1\r\n$-1\r\n", length),
            ("*1\r\n$65537\r\n", length),
            ("*1\r\n$4\r\nPINGS\r\n", "expected CR LF after a bulk string"),
            (
                "ECHO \"a b\"\n",
                "quotes on a line are not understood; send an array of bulk strings",
            ),
            ("ECHO it's\n", "quotes on a line are not understood; send an array of bulk strings"),
            ("POST / HTTP/1.1\r\n", "this is HTTP; expected the protocol of Redis"),
            ("host: localhost\r\n", "this is HTTP; expected the protocol of Redis"),
        ] {
            let (commands, got) = read(&[bytes.as_bytes()]);
            assert_eq!(
                (commands, got.map(|got| got.to_string())),
                (vec![], Some(error.into())),
                "{bytes:?}"
            );
        }
    }

    #[test]
    fn a_command_may_have_as_many_bytes_and_words_as_are_said_and_no_more() {
        let of_length = |length: usize| {
            let bytes = format!("*1\r\n${length}\r\n{}\r\n", "x".repeat(length));
            (bytes.len(), read(&[bytes.as_bytes()]).1)
        };
        assert_eq!(of_length(65_522), (COMMAND_BYTES_MAX, None));
        assert_eq!(of_length(65_523), (COMMAND_BYTES_MAX + 1, Some(ProtocolError::TooBig)));

        let line = "x".repeat(COMMAND_BYTES_MAX - 1);
        assert_eq!(read(&[format!("{line}\n").as_bytes()]).1, None);
        assert_eq!(read(&[format!("{line}x\n").as_bytes()]).1, Some(ProtocolError::TooBig));

        let of_words = |words: usize| read(&[("x ".repeat(words) + "\n").as_bytes()]).1;
        assert_eq!(of_words(ARGUMENTS_MAX), None);
        assert_eq!(of_words(ARGUMENTS_MAX + 1), Some(ProtocolError::TooManyWords));
    }

    /// Pieces of which commands are made, and a few that break them.
    fn piece() -> impl Strategy<Value = Vec<u8>> {
        let known = [
            "*1\r\n", "*2\r\n", "$4\r\n", "$0\r\n", "PING", "\r\n", "\n", "a b", "*", "$", "7", "'",
        ];
        prop_oneof![
            8 => proptest::sample::select(known.map(str::as_bytes).to_vec()).prop_map(<[u8]>::to_vec),
            4 => vec(any::<u8>(), 0..8).prop_map(|word| packed(&[word])),
            1 => vec(any::<u8>(), 0..4),
        ]
    }

    /// Words as a client sends them.
    fn packed(words: &[Vec<u8>]) -> Vec<u8> {
        let mut bytes = format!("*{}\r\n", words.len()).into_bytes();
        for word in words {
            bytes.extend_from_slice(format!("${}\r\n", word.len()).as_bytes());
            bytes.extend_from_slice(word);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes
    }

    proptest! {
        #[test]
        fn what_is_sent_is_read(commands in vec(vec(vec(any::<u8>(), 0..20), 0..6), 0..6)) {
            let sent: Vec<u8> = commands.iter().flat_map(|words| packed(words)).collect();
            prop_assert_eq!(read(&[&sent]), (commands, None));
        }

        #[test]
        fn how_bytes_are_split_makes_no_difference(
            pieces in vec(piece(), 0..24),
            part_length in 1_usize..40,
        ) {
            let bytes = pieces.concat();
            let whole = read(&[&bytes]);
            prop_assert_eq!(&read(&bytes.chunks(part_length).collect::<Vec<_>>()), &whole);
            prop_assert_eq!(&read(&bytes.chunks(1).collect::<Vec<_>>()), &whole);
        }

        #[test]
        fn of_many_bytes_something_can_be_said(pieces in vec(piece(), 1..8)) {
            let repeated = [pieces.concat(), vec![b'x']].concat();
            let bytes: Vec<u8> = repeated.iter().copied().cycle().take(COMMAND_BYTES_MAX).collect();
            prop_assert_ne!(parse(&bytes, &mut Vec::new()), Ok(None));
        }
    }
}
