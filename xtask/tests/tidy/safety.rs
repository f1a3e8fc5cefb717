//! Which crates forbid unsafe code.

use crate::offence::{Offence, assert_none, listed};
use crate::project::{File, Target, files, packages};

/// The one crate that may have unsafe code, for its stores.
const MAY_BE_UNSAFE: &str = "tollgate";

#[test]
fn every_crate_but_the_library_forbids_unsafe_code() {
    let roots: Vec<_> = packages()
        .iter()
        .filter(|package| package.name != MAY_BE_UNSAFE)
        .flat_map(|package| &package.targets)
        .filter(|target| target.kind.iter().any(|kind| ["lib", "bin"].contains(&kind.as_str())))
        .map(Target::root)
        .collect();
    let roots: Vec<_> = files().into_iter().filter(|file| roots.contains(&file.path)).collect();
    assert_none(&without_forbid(&roots), "add the line below the crate's documentation");
}

fn without_forbid(roots: &[File]) -> Vec<Offence> {
    let line = "#![forbid(unsafe_code)]";
    roots
        .iter()
        .filter(|root| root.lines().all(|(_, text)| text != line))
        .map(|root| Offence::new(&root.path, 1, format!("has no `{line}`")))
        .collect()
}

#[test]
fn a_crate_that_does_not_forbid_it_is_found() {
    let offences = without_forbid(&[
        File::new("a/src/lib.rs", "//! A.\n\n#![forbid(unsafe_code)]\n"),
        File::new("b/src/lib.rs", "//! B.\n\n// #![forbid(unsafe_code)]\n"),
    ]);
    assert_eq!(listed(&offences), "b/src/lib.rs:1: has no `#![forbid(unsafe_code)]`");
}
