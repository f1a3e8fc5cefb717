//! Where recorded traffic comes from: a file or any reader, plain or compressed by gzip, read line by line.

use std::borrow::Cow;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;
use std::sync::Arc;

use flate2::bufread::MultiGzDecoder;
use thiserror::Error;

const GZIP_MAGIC: [u8; 2] = [0x1f, 0x8b];

/// What some editors begin a file of UTF-8 with.
const UTF8_MARK: &[u8] = b"\xef\xbb\xbf";

/// The most bytes a line may have; a longer one is passed over without being held.
pub(crate) const LINE_BYTES_MAX: usize = 1 << 20;

/// Buffers are large, for files are read from start to end.
const BUFFER_BYTES: usize = 1 << 16;

/// Recorded traffic to read. Gzip is known by its first bytes, whatever the name; of several members joined, all are
/// read.
pub struct Input {
    name: Arc<str>,
    gzip: bool,
    reader: Box<dyn BufRead>,
}

/// Why an input cannot be read. The cause is its source.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum InputError {
    /// The file cannot be opened.
    #[error("cannot open `{name}`")]
    Open {
        /// The file.
        name: Arc<str>,
        /// Why not.
        source: io::Error,
    },
    /// Reading breaks off.
    #[error("cannot read `{name}`")]
    Read {
        /// The file, or the name that was given to a reader.
        name: Arc<str>,
        /// Why not.
        source: io::Error,
    },
    /// What began as gzip does not go on so.
    #[error("`{name}` is cut off or corrupt: it begins as gzip and cannot be unpacked to its end")]
    Gzip {
        /// The file, or the name that was given to a reader.
        name: Arc<str>,
        /// What is wrong with it.
        source: io::Error,
    },
}

impl Input {
    /// Opens a file.
    ///
    /// # Errors
    /// When it cannot be opened or read.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, InputError> {
        Self::open_watched(path, |_bytes| ())
    }

    /// Opens a file and tells how many bytes of it each read took, as they lie on disk: for a progress bar.
    ///
    /// # Errors
    /// When it cannot be opened or read.
    pub fn open_watched(
        path: impl AsRef<Path>,
        on_read: impl FnMut(usize) + 'static,
    ) -> Result<Self, InputError> {
        let name: Arc<str> = path.as_ref().to_string_lossy().into();
        match File::open(path) {
            Ok(file) => Self::from_reader(name, Watched { reader: file, on_read }),
            Err(source) => Err(InputError::Open { name, source }),
        }
    }

    /// Takes a reader, such as standard input; the name is for messages. It waits for the first two bytes.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn from_reader(
        name: impl Into<Arc<str>>,
        mut reader: impl Read + 'static,
    ) -> Result<Self, InputError> {
        let name = name.into();
        let mut head = Vec::new();
        if let Err(source) = reader.by_ref().take(2).read_to_end(&mut head) {
            return Err(InputError::Read { name, source });
        }
        let gzip = head == GZIP_MAGIC;
        let whole = BufReader::with_capacity(BUFFER_BYTES, io::Cursor::new(head).chain(reader));
        let reader: Box<dyn BufRead> = if gzip {
            Box::new(BufReader::with_capacity(BUFFER_BYTES, MultiGzDecoder::new(whole)))
        } else {
            Box::new(whole)
        };
        Ok(Self { name, gzip, reader })
    }

    /// The file, or the name that was given to a reader.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn error(&self, source: io::Error) -> InputError {
        let name = Arc::clone(&self.name);
        let unpacking = matches!(
            source.kind(),
            io::ErrorKind::UnexpectedEof | io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData
        );
        if self.gzip && unpacking {
            InputError::Gzip { name, source }
        } else {
            InputError::Read { name, source }
        }
    }
}

impl fmt::Debug for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Input")
            .field("name", &self.name)
            .field("gzip", &self.gzip)
            .finish_non_exhaustive()
    }
}

/// A reader that tells how much each read took.
struct Watched<R, F> {
    reader: R,
    on_read: F,
}

impl<R: Read, F: FnMut(usize)> Read for Watched<R, F> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.reader.read(buffer)?;
        (self.on_read)(bytes);
        Ok(bytes)
    }
}

/// The lines of an input, each in the same buffer.
#[derive(Debug)]
pub(crate) struct Lines {
    input: Input,
    buffer: Vec<u8>,
    number: u64,
}

/// A line of an input, without its end.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Line<'a> {
    /// Its text; bytes that are no UTF-8 have become replacement characters.
    Text(Cow<'a, str>),
    /// It had more bytes than a line may have.
    TooLong,
}

impl Lines {
    pub(crate) const fn new(input: Input) -> Self {
        Self { input, buffer: Vec::new(), number: 0 }
    }

    pub(crate) fn name(&self) -> &Arc<str> {
        &self.input.name
    }

    /// The number of the line read last, from 1.
    pub(crate) const fn number(&self) -> u64 {
        self.number
    }

    /// The next line, `None` after the last.
    pub(crate) fn next(&mut self) -> Result<Option<Line<'_>>, InputError> {
        let long = self.fill_buffer().map_err(|source| self.input.error(source))?;
        if self.buffer.is_empty() {
            return Ok(None);
        }
        self.number = self.number.saturating_add(1);
        if long {
            return Ok(Some(Line::TooLong));
        }
        let line = self.buffer.strip_suffix(b"\n").unwrap_or(&self.buffer);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let mark = if self.number == 1 { UTF8_MARK } else { &[] };
        let line = line.strip_prefix(mark).unwrap_or(line);
        // Looking for faults one by one is slow, and nearly all lines have none.
        let text = std::str::from_utf8(line);
        Ok(Some(Line::Text(text.map_or_else(|_| String::from_utf8_lossy(line), Cow::Borrowed))))
    }

    /// Reads a line with its end, or the start of one that is too long, whose rest is passed over.
    fn fill_buffer(&mut self) -> io::Result<bool> {
        self.buffer.clear();
        let reader = &mut self.input.reader;
        let bytes_max = LINE_BYTES_MAX.saturating_add(1);
        let mut start = reader.take(u64::try_from(bytes_max).unwrap_or(u64::MAX));
        start.read_until(b'\n', &mut self.buffer)?;
        let long = self.buffer.len() == bytes_max && !self.buffer.ends_with(b"\n");
        if long {
            reader.skip_until(b'\n')?;
        }
        Ok(long)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::error::Error;
    use std::io::Write;
    use std::rc::Rc;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    /// All lines, `None` for those that are too long.
    fn lines(bytes: Vec<u8>) -> Result<Vec<Option<String>>, InputError> {
        let mut lines = Lines::new(Input::from_reader("-", io::Cursor::new(bytes))?);
        let mut read = Vec::new();
        while let Some(line) = lines.next()? {
            read.push(match line {
                Line::Text(text) => Some(text.into_owned()),
                Line::TooLong => None,
            });
        }
        assert_eq!(lines.number(), u64::try_from(read.len()).unwrap());
        Ok(read)
    }

    fn texts<const N: usize>(texts: [&str; N]) -> Vec<Option<String>> {
        texts.map(|text| Some(text.to_owned())).into()
    }

    #[test]
    fn lines_end_in_line_feeds_with_or_without_carriage_returns() {
        for (bytes, expected) in [
            (&b""[..], texts([])),
            (b"a", texts(["a"])),
            (b"a\nb\r\n", texts(["a", "b"])),
            (b"\n\na\xffb\n", texts(["", "", "a\u{fffd}b"])),
            (b"\xef\xbb\xbfa\n\xef\xbb\xbfb", texts(["a", "\u{feff}b"])),
        ] {
            assert_eq!(lines(bytes.to_vec()).unwrap(), expected);
        }
    }

    #[test]
    fn gzip_is_known_by_its_first_bytes_and_read_through_all_its_members() {
        let joined = [gzip(b"a\nb"), gzip(b"c\n"), gzip(b"d")].concat();
        assert_eq!(lines(joined).unwrap(), texts(["a", "bc", "d"]));
        assert_eq!(lines(gzip(b"")).unwrap(), texts([]));
    }

    #[test]
    fn gzip_that_is_cut_off_or_corrupt_is_an_error_that_names_the_file() {
        let whole = gzip("0123456789\n".repeat(1_000).as_bytes());
        for cut in [2, 5, whole.len() / 2, whole.len() - 1] {
            let error = lines(whole[..cut].to_vec()).unwrap_err();
            assert!(matches!(error, InputError::Gzip { .. }), "{error:?}");
            assert!(error.to_string().starts_with("`-` is cut off or corrupt"));
        }
        let mut corrupt = whole.clone();
        let checksum = whole.len() - 8;
        corrupt[checksum] ^= 1;
        for corrupt in [corrupt, [&whole[..], b"garbage"].concat()] {
            assert!(matches!(lines(corrupt), Err(InputError::Gzip { .. })));
        }
    }

    #[test]
    fn a_line_may_be_long_and_no_longer() {
        let longest = "x".repeat(LINE_BYTES_MAX);
        let text = format!("{longest}\n{longest}x\n{longest}xxx");
        assert_eq!(lines(text.into_bytes()).unwrap(), [Some(longest), None, None]);
    }

    #[test]
    fn a_file_that_cannot_be_opened_or_read_is_named_with_the_cause() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("no.log");
        let error = Input::open(&missing).unwrap_err();
        assert_eq!(error.to_string(), format!("cannot open `{}`", missing.display()));
        assert!(error.source().unwrap().to_string().starts_with("No such file"));
        let error = Input::open(folder.path()).unwrap_err();
        assert_eq!(error.to_string(), format!("cannot read `{}`", folder.path().display()));
    }

    #[test]
    fn the_bytes_on_disk_are_watched() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.gz");
        let bytes = gzip("0123456789\n".repeat(100_000).as_bytes());
        std::fs::write(&path, &bytes).unwrap();
        let seen = Rc::new(Cell::new(0));
        let counter = Rc::clone(&seen);
        let input = Input::open_watched(&path, move |bytes| counter.set(counter.get() + bytes));
        let mut lines = Lines::new(input.unwrap());
        while lines.next().unwrap().is_some() {}
        assert_eq!((seen.get(), lines.number()), (bytes.len(), 100_000));
    }
}
