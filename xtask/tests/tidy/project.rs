//! The project as the rules see it: its files, and its packages.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde::Deserialize;

const ROOT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

/// A file of the project.
#[derive(Debug)]
pub(crate) struct File {
    /// From the project's root, with `/`.
    pub(crate) path: String,
    pub(crate) bytes: Vec<u8>,
}

impl File {
    pub(crate) fn new(path: &str, bytes: impl Into<Vec<u8>>) -> Self {
        Self { path: path.to_owned(), bytes: bytes.into() }
    }

    pub(crate) fn has_extension(&self, extension: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|found| found == extension)
    }

    /// Whether all of it is tests: what lies in a folder of that name.
    pub(crate) fn is_test(&self) -> bool {
        self.path.split('/').any(|folder| folder == "tests")
    }

    /// The lines with their numbers from 1; a file that is no text has none.
    pub(crate) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        (1..).zip(str::from_utf8(&self.bytes).unwrap_or_default().lines())
    }

    /// The lines before the tests.
    pub(crate) fn lines_before_tests(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lines().take_while(|(_, line)| !line.trim_start().starts_with("#[cfg(test)]"))
    }

    /// The lines before the tests that are no comments.
    pub(crate) fn code(&self) -> impl Iterator<Item = (usize, &str)> {
        self.lines_before_tests().filter(|(_, line)| !line.trim_start().starts_with("//"))
    }
}

/// Every file that git tracks, or would once it is added.
pub(crate) fn files() -> Vec<File> {
    let mut git = Command::new("git");
    let names = output(git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]));
    let names = String::from_utf8(names.stdout).unwrap();
    let existing = |path: &&str| Path::new(ROOT).join(path).is_file();
    let read = |path| File::new(path, fs::read(Path::new(ROOT).join(path)).unwrap());
    names.split_terminator('\0').filter(existing).map(read).collect()
}

/// A package of the workspace, as `cargo metadata` describes it.
#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) manifest_path: PathBuf,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) targets: Vec<Target>,
}

impl Package {
    /// The path of its manifest from the project's root.
    pub(crate) fn manifest(&self) -> String {
        from_root(&self.manifest_path)
    }
}

/// What a package uses, for itself, its tests or its build.
#[derive(Debug, Deserialize)]
pub(crate) struct Dependency {
    pub(crate) name: String,
}

/// What is built of a package.
#[derive(Debug, Deserialize)]
pub(crate) struct Target {
    pub(crate) kind: Vec<String>,
    pub(crate) src_path: PathBuf,
}

impl Target {
    /// The path of its crate root from the project's root.
    pub(crate) fn root(&self) -> String {
        from_root(&self.src_path)
    }
}

/// The packages of the workspace.
pub(crate) fn packages() -> Vec<Package> {
    #[derive(Deserialize)]
    struct Metadata {
        packages: Vec<Package>,
    }
    let mut cargo = Command::new(env!("CARGO"));
    let words = ["metadata", "--format-version", "1", "--no-deps", "--locked"];
    let metadata: Metadata = serde_json::from_slice(&output(cargo.args(words)).stdout).unwrap();
    metadata.packages
}

fn from_root(path: &Path) -> String {
    let root = Path::new(ROOT).canonicalize().unwrap();
    path.strip_prefix(root).unwrap_or(path).to_str().unwrap().replace('\\', "/")
}

/// What a command prints, run in the project's root.
fn output(command: &mut Command) -> Output {
    let output = command.current_dir(ROOT).output().unwrap();
    assert!(
        output.status.success(),
        "{command:?} failed: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    output
}
