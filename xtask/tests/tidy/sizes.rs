//! How large things may be.

use crate::offence::{Offence, assert_none, listed};
use crate::project::{File, files};

const SOURCE_LINES_MAX: usize = 400;
const LINE_CHARACTERS_MAX: usize = 120;
const FILE_BYTES_MAX: usize = 256 * 1024;
const DECISION_LINES_MAX: usize = 40;

/// A day of real traffic, which may grow beyond the bound.
const LARGE: &str = "examples/access.log.gz";

#[test]
fn no_source_file_is_long() {
    assert_none(
        &long_sources(&files()),
        "split the file: one room each, named for its noun; what lies after the first `#[cfg(test)]` is not counted",
    );
}

#[test]
fn no_line_is_long() {
    assert_none(&long_lines(&files()), "break the line");
}

#[test]
fn no_file_is_large() {
    assert_none(&large_files(&files()), "keep large data out of the repository, or compress it");
}

#[test]
fn decision_records_fit_a_screen() {
    assert_none(
        &long_decisions(&files()),
        "keep to the question, the choice, what was rejected, and what would change our mind",
    );
}

fn long_sources(files: &[File]) -> Vec<Offence> {
    let of_sources = files.iter().filter(|file| file.has_extension("rs") && !file.is_test());
    of_sources
        .filter_map(|file| too_long(file, file.lines_before_tests().count(), SOURCE_LINES_MAX))
        .collect()
}

fn long_decisions(files: &[File]) -> Vec<Offence> {
    let decisions = files.iter().filter(|file| file.path.starts_with("docs/decisions/"));
    decisions.filter_map(|file| too_long(file, file.lines().count(), DECISION_LINES_MAX)).collect()
}

/// An offence at the first line that is too many.
fn too_long(file: &File, lines: usize, lines_max: usize) -> Option<Offence> {
    let what = || format!("{lines} lines; at most {lines_max} are allowed");
    (lines > lines_max).then(|| Offence::new(&file.path, lines_max.saturating_add(1), what()))
}

/// Tests may hold lines of logs and answers as they are.
fn long_lines(files: &[File]) -> Vec<Offence> {
    let mut offences = Vec::new();
    for file in files.iter().filter(|file| file.has_extension("rs") && !file.is_test()) {
        for (number, line) in file.lines_before_tests() {
            // A table's row cannot be broken.
            let is_row = line.trim_start_matches(['/', '!', ' ']).starts_with('|');
            let characters = line.chars().count();
            if !is_row && characters > LINE_CHARACTERS_MAX {
                let what =
                    format!("{characters} characters; at most {LINE_CHARACTERS_MAX} are allowed");
                offences.push(Offence::new(&file.path, number, what));
            }
        }
    }
    offences
}

fn large_files(files: &[File]) -> Vec<Offence> {
    let too_large = |file: &&File| file.bytes.len() > FILE_BYTES_MAX && file.path != LARGE;
    let offence = |file: &File| {
        let what = format!("{} bytes; at most {FILE_BYTES_MAX} are allowed", file.bytes.len());
        Offence::new(&file.path, 1, what)
    };
    files.iter().filter(too_large).map(offence).collect()
}

#[test]
fn a_source_file_may_have_400_lines_before_its_tests_and_no_more() {
    let source = |lines: usize| "x\n".repeat(lines) + "    #[cfg(test)]\n" + &"y\n".repeat(500);
    let offences = long_sources(&[
        File::new("src/full.rs", source(400)),
        File::new("src/over.rs", source(401)),
        File::new("tests/over.rs", "x\n".repeat(401)),
        File::new("over.md", "x\n".repeat(401)),
    ]);
    assert_eq!(listed(&offences), "src/over.rs:401: 401 lines; at most 400 are allowed");
}

#[test]
fn a_decision_may_have_40_lines_and_no_more() {
    let offences = long_decisions(&[
        File::new("docs/decisions/0001-full.md", "x\n".repeat(40)),
        File::new("docs/decisions/0002-over.md", "x\n".repeat(41)),
        File::new("docs/cases.md", "x\n".repeat(41)),
    ]);
    assert_eq!(
        listed(&offences),
        "docs/decisions/0002-over.md:41: 41 lines; at most 40 are allowed"
    );
}

#[test]
fn a_line_may_have_120_characters_and_no_more() {
    let text = format!("{}\n{}\n", "é".repeat(120), "x".repeat(121));
    let in_tests = format!("#[cfg(test)]\n{text}");
    let files = [("a.rs", &text), ("a.md", &text), ("tests/a.rs", &text), ("b.rs", &in_tests)];
    let offences = long_lines(&files.map(|(path, text)| File::new(path, text.as_str())));
    assert_eq!(listed(&offences), "a.rs:2: 121 characters; at most 120 are allowed");
}

#[test]
fn a_file_may_have_256_kibibytes_and_no_more() {
    let offences = large_files(&[
        File::new("full.json", vec![0; FILE_BYTES_MAX]),
        File::new("over.json", vec![0; FILE_BYTES_MAX + 1]),
        File::new("examples/access.log.gz", vec![0; FILE_BYTES_MAX + 1]),
    ]);
    assert_eq!(listed(&offences), "over.json:1: 262145 bytes; at most 262144 are allowed");
}
