//! A file as a small tree: what YAML, JSON and TOML have in common, with the place of every key and
//! value.
//!
//! Numbers are the text that was written, so a decimal is never bent by floating point, and maps
//! keep their order and the keys given twice. It is made for configs, and serves any small file
//! with the same manners:
//!
//! ```
//! use tollgate_config::{Format, tree};
//!
//! let scenario = tree::parse(r#"{"name": "burst", "steps": []}"#, Format::Json, "burst.json")?;
//! let name = scenario.get("name").unwrap();
//! assert_eq!((name.line, name.column, name.as_text()), (1, 10, Some("burst")));
//! # Ok::<(), tollgate_config::ConfigErrors>(())
//! ```

mod json;
mod node;
mod positions;
mod radix;
mod toml;
mod yaml;
mod yaml_scalar;

use std::path::Path;

pub use node::{Entry, Node, Value};
pub(crate) use node::{Position, parameters};

use crate::error::ConfigErrors;
use crate::file;
use crate::findings::Findings;
use crate::format::Format;

/// The size of the largest file that is read, in bytes: 16 MiB.
pub const FILE_BYTES_MAX: usize = 16 << 20;

/// How many lists and maps a value may stand inside.
pub const DEPTH_MAX: usize = 64;

/// How much memory what YAML anchors and aliases repeat may take, in bytes: 64 MiB.
pub const REPEATED_BYTES_MAX: usize = 64 << 20;

/// Reads a YAML, JSON or TOML file, by its extension.
///
/// # Errors
/// When the file cannot be read, is too large, has another extension, or is not well formed.
pub fn load(path: impl AsRef<Path>) -> Result<Node, ConfigErrors> {
    let file = file::read(path.as_ref())?;
    parse(&file.text, file.format, &file.name)
}

/// Reads text. `file_name` is what errors call it.
///
/// # Errors
/// Every fault that keeps the text from being a tree: of YAML and JSON the first one in their
/// syntax, of TOML each. A key given twice is an error in TOML alone.
pub fn parse(text: &str, format: Format, file_name: &str) -> Result<Node, ConfigErrors> {
    let mut findings = Findings::new(file_name);
    let root = read(text, format, &mut findings);
    findings.finish(root)
}

/// Reads text, and finds what is wrong with it. A tree comes of it too where the fault leaves no
/// doubt about the rest, so that what reads the tree can find more.
pub(crate) fn read(text: &str, format: Format, findings: &mut Findings) -> Option<Node> {
    if text.len() > FILE_BYTES_MAX {
        findings.somewhere(too_large());
        return None;
    }
    let text = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    match format {
        Format::Yaml => yaml::read(text, findings),
        Format::Json => json::read(text, findings),
        Format::Toml => toml::read(text, findings),
    }
}

const BYTE_ORDER_MARK: char = '\u{feff}';

/// What is said of a file that is too large.
pub(crate) fn too_large() -> String {
    format!("is larger than {} MiB; expected a smaller file", FILE_BYTES_MAX >> 20)
}

/// Finds fault with a value that stands too deep, so that nothing that walks a tree runs out of
/// stack.
fn refuse_too_deep(place: Position, findings: &mut Findings) {
    let message = format!("stands inside more than {DEPTH_MAX} lists and maps; expected fewer");
    findings.at(place, message);
}
