//! Files for the binary to read.

use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A folder with one file in it, which may be written again.
#[derive(Debug)]
pub(crate) struct ScratchFile {
    path: PathBuf,
    _folder: TempDir,
}

impl ScratchFile {
    pub(crate) fn new(name: &str, content: impl AsRef<[u8]>) -> Self {
        let folder = tempfile::tempdir().expect("the machine has room for temporary files");
        let file = Self { path: folder.path().join(name), _folder: folder };
        file.write(content);
        file
    }

    pub(crate) fn write(&self, content: impl AsRef<[u8]>) {
        std::fs::write(&self.path, content).expect("the folder is this test's own");
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The path as messages show it.
    pub(crate) fn name(&self) -> &str {
        self.path.to_str().expect("it is made of ASCII")
    }
}

/// A config whose default is a bucket of this capacity, which refills by one token an hour: no test waits for it.
pub(crate) fn bucket(capacity: u32) -> String {
    format!(
        "default:\n  algorithm: TokenBucket\n  algoConfig: {{ capacity: {capacity}, refill: 1/h }}\n"
    )
}

/// A file of the repository.
pub(crate) fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}
