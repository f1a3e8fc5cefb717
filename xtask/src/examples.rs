//! The library's examples, run as a reader would run them.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

use crate::cargo::{ROOT, run_cargo};

const EXAMPLES: &str = "crates/tollgate/examples";

/// Runs every example of the library.
///
/// # Errors
/// When one does not succeed, or there is none.
pub(crate) fn run_examples() -> Result<(), String> {
    for path in files_in(EXAMPLES, "rs")? {
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        run_cargo(&format!("run --quiet --locked --package tollgate --example {name}"))?;
    }
    Ok(())
}

/// The files of a folder that end in `extension`, in the order of their names; the paths begin at the project's root.
///
/// # Errors
/// When the folder cannot be read, or holds no such file: a check of nothing would always pass.
pub(crate) fn files_in(folder: &str, extension: &str) -> Result<Vec<PathBuf>, String> {
    let unreadable = |error| format!("{folder} cannot be read: {error}");
    let mut paths = Vec::new();
    for entry in fs::read_dir(Path::new(ROOT).join(folder)).map_err(unreadable)? {
        let path = Path::new(folder).join(entry.map_err(unreadable)?.file_name());
        if path.extension() == Some(OsStr::new(extension)) {
            paths.push(path);
        }
    }
    if paths.is_empty() {
        return Err(format!("{folder} holds no .{extension} file; at least one is expected"));
    }
    paths.sort();
    Ok(paths)
}
