//! A file's text, read whole but never more than is allowed.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::error::ConfigErrors;
use crate::findings::Findings;
use crate::format::Format;
use crate::tree::{FILE_BYTES_MAX, too_large};

/// A file's text, and what else its path tells.
#[derive(Debug)]
pub(crate) struct TextFile {
    pub(crate) name: String,
    pub(crate) format: Format,
    pub(crate) text: String,
}

/// Reads the file at a path.
pub(crate) fn read(path: &Path) -> Result<TextFile, ConfigErrors> {
    let name = path.display().to_string();
    let format = Format::of_path(path)?;
    let fault = |message: String| Findings::of_file(&name, message);
    let bytes = read_bytes(path).map_err(|error| fault(format!("cannot be read: {error}")))?;
    if bytes.len() > FILE_BYTES_MAX {
        return Err(fault(too_large()));
    }
    match String::from_utf8(bytes) {
        Ok(text) => Ok(TextFile { name, format, text }),
        Err(error) => {
            let good = error.utf8_error().valid_up_to();
            Err(fault(format!(
                "is not UTF-8 text from byte {good} on; expected a file saved as UTF-8"
            )))
        }
    }
}

/// Reads one byte more than is allowed and no further, so that an endless file ends too.
fn read_bytes(path: &Path) -> io::Result<Vec<u8>> {
    let most = u64::try_from(FILE_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}
