//! Words that must not be in the project's files.

use crate::offence::{Offence, assert_none, listed};
use crate::project::{File, files};

/// What says that something is not finished. All words here are put together, so that this file does not hold them.
const UNFINISHED: [&str; 5] = [
    concat!("to", "do!"),
    concat!("unimple", "mented!"),
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("db", "g!"),
];

/// Paths of one machine, and of what lies beside the project.
const PRIVATE: [&str; 3] = [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("../sha", "red")];

#[test]
fn nothing_is_left_unfinished() {
    assert_none(&unfinished(&files()), "finish it, or take it out");
}

#[test]
fn nothing_points_at_one_machine() {
    assert_none(&private(&files()), "use a path inside the project; it stands alone");
}

/// Prose may speak of such words; everything else has none.
fn unfinished(files: &[File]) -> Vec<Offence> {
    let no_prose = files.iter().filter(|file| !file.has_extension("md"));
    no_prose.flat_map(|file| holding(&UNFINISHED, file)).collect()
}

fn private(files: &[File]) -> Vec<Offence> {
    files.iter().flat_map(|file| holding(&PRIVATE, file)).collect()
}

/// Every line of a file that holds one of the words.
fn holding(words: &[&str], file: &File) -> Vec<Offence> {
    let mut offences = Vec::new();
    for (number, line) in file.lines() {
        for word in words.iter().filter(|word| line.contains(**word)) {
            offences.push(Offence::new(&file.path, number, format!("holds `{word}`")));
        }
    }
    offences
}

#[test]
fn each_word_is_found_wherever_it_stands() {
    for word in UNFINISHED {
        let text = format!("fine\nlet x = 1; // {word}(1)\n");
        let offences =
            unfinished(&[File::new("a.rs", text.as_str()), File::new("a.md", text.as_str())]);
        assert_eq!(listed(&offences), format!("a.rs:2: holds `{word}`"));
    }
    for word in PRIVATE {
        let offences = private(&[File::new("README.md", format!("see {word}x"))]);
        assert_eq!(listed(&offences), format!("README.md:1: holds `{word}`"));
    }
}

#[test]
fn a_file_that_is_no_text_holds_no_words() {
    let file = File::new("a.gz", [b"\xff\xfe ".as_slice(), UNFINISHED[0].as_bytes()].concat());
    assert_eq!(unfinished(&[file]), []);
}
