//! What the modules of the library may know of each other, and who may read a clock.

use crate::offence::{Offence, assert_none, listed};
use crate::project::{File, files};

const ALGORITHMS: &str = "crates/tollgate/src/algorithm/";
const STORE: &str = "crates/tollgate/src/store/";

/// What an algorithm may import from the library: a pure state machine needs neither store, limiter nor config.
const KNOWN_TO_ALGORITHMS: [&str; 6] =
    ["algorithm", "clock", "decision", "parameters", "rate", "wide"];

/// Words of rates, which no store knows; the names of the algorithms come on top.
const RATES: [&str; 3] = ["rate", "Rate", "RateError"];

/// Who reads the time: the clocks of all decisions and waits, and a benchmark of the machine.
const READS_TIME: [&str; 5] = [
    "crates/tollgate/src/clock.rs",
    "crates/tollgate/src/wall_clock.rs",
    "crates/tollgate-tokio/src/clock.rs",
    "crates/tollgate-cli/src/bench.rs",
    "crates/tollgate-gateway/src/config_file.rs",
];

#[test]
fn algorithms_import_nothing_but_time_decisions_and_numbers() {
    assert_none(
        &imports_of_algorithms(&files()),
        "an algorithm is a pure state machine: hand it what it needs as an argument",
    );
}

#[test]
fn the_store_knows_no_rate_and_no_algorithm_by_name() {
    assert_none(
        &rates_in_the_store(&files()),
        "ask the `Algorithm` trait instead, so that the store serves any algorithm",
    );
}

#[test]
fn only_the_clock_reads_the_time() {
    assert_none(&time_read(&files()), "ask the `Clock`, or take the time as an argument");
}

fn imports_of_algorithms(files: &[File]) -> Vec<Offence> {
    let mut offences = Vec::new();
    for file in files.iter().filter(|file| file.path.starts_with(ALGORITHMS)) {
        for (number, line) in file.code() {
            for module in line.split("crate::").skip(1).filter_map(|path| words(path).next()) {
                if !KNOWN_TO_ALGORITHMS.contains(&module) {
                    let what = match module {
                        "" => "`crate::` is followed by no name; import from one module a line",
                        _ => &format!("imports from `crate::{module}`"),
                    };
                    offences.push(Offence::new(&file.path, number, what));
                }
            }
            if line.contains("super::super") {
                let what = "reaches out by `super::super`; say `crate::` and the module";
                offences.push(Offence::new(&file.path, number, what));
            }
        }
    }
    offences
}

fn rates_in_the_store(files: &[File]) -> Vec<Offence> {
    let algorithms: Vec<_> = files.iter().filter_map(algorithm_module).collect();
    let is_algorithm = |word: &str| {
        algorithms.iter().any(|module| word == *module || word == upper_camel_case(module))
    };
    let mut offences = Vec::new();
    for file in files.iter().filter(|file| file.path.starts_with(STORE) && !file.is_test()) {
        for (number, line) in file.code() {
            for word in words(line).filter(|word| RATES.contains(word) || is_algorithm(word)) {
                offences.push(Offence::new(&file.path, number, format!("mentions `{word}`")));
            }
        }
    }
    offences
}

fn time_read(files: &[File]) -> Vec<Offence> {
    let in_a_crate = |file: &&File| file.path.starts_with("crates/") && file.path.contains("/src/");
    let mut offences = Vec::new();
    for file in files.iter().filter(in_a_crate) {
        if READS_TIME.contains(&file.path.as_str()) {
            continue;
        }
        for (number, line) in file.code() {
            for call in ["Instant::now", "SystemTime::now"] {
                if line.contains(call) {
                    offences.push(Offence::new(&file.path, number, format!("calls `{call}`")));
                }
            }
        }
    }
    offences
}

/// The name of the module, when the file is one algorithm's.
fn algorithm_module(file: &File) -> Option<&str> {
    file.path.strip_prefix(ALGORITHMS)?.strip_suffix(".rs").filter(|module| *module != "mod")
}

/// `token_bucket` becomes `TokenBucket`.
fn upper_camel_case(module: &str) -> String {
    let capitalised = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
    };
    module.split('_').map(capitalised).collect::<Vec<String>>().concat()
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
}

#[test]
fn an_algorithm_that_reaches_for_the_store_is_found() {
    let text = "use crate::clock::Time;\nuse crate::store::Table;\n// crate::key is only mentioned\n\
                use crate::{key::Key};\nuse super::super::limiter;\n#[cfg(test)]\nuse crate::config::X;";
    let offences = imports_of_algorithms(&[
        File::new("crates/tollgate/src/algorithm/token_bucket.rs", text),
        File::new("crates/tollgate/src/limiter.rs", text),
    ]);
    assert_eq!(
        listed(&offences),
        "crates/tollgate/src/algorithm/token_bucket.rs:2: imports from `crate::store`\n\
         crates/tollgate/src/algorithm/token_bucket.rs:4: `crate::` is followed by no name; import from one module a \
         line\n\
         crates/tollgate/src/algorithm/token_bucket.rs:5: reaches out by `super::super`; say `crate::` and the module"
    );
}

#[test]
fn a_store_that_names_an_algorithm_is_found() {
    let store = "use crate::algorithm::{Algorithm, TokenBucket};\n/// As a `TokenBucket` has it.\n\
                 use crate::algorithm::token_bucket::State;\nfn limit(_: Rate) -> RateLimitResult {\n\
                 #[cfg(test)]\nuse crate::algorithm::TokenBucket;";
    let offences = rates_in_the_store(&[
        File::new("crates/tollgate/src/algorithm/mod.rs", ""),
        File::new("crates/tollgate/src/algorithm/token_bucket.rs", ""),
        File::new("crates/tollgate/src/store/shard.rs", store),
    ]);
    assert_eq!(
        listed(&offences),
        "crates/tollgate/src/store/shard.rs:1: mentions `TokenBucket`\n\
         crates/tollgate/src/store/shard.rs:3: mentions `token_bucket`\n\
         crates/tollgate/src/store/shard.rs:4: mentions `Rate`"
    );
}

#[test]
fn whoever_reads_the_time_beside_the_clock_is_found() {
    let text = "let started = Instant::now();\n// not Instant::now\nSystemTime::now()";
    let offences = time_read(&[
        File::new("crates/tollgate/src/clock.rs", text),
        File::new("crates/tollgate/src/key.rs", text),
        File::new("crates/tollgate/tests/key.rs", text),
    ]);
    assert_eq!(
        listed(&offences),
        "crates/tollgate/src/key.rs:1: calls `Instant::now`\n\
         crates/tollgate/src/key.rs:3: calls `SystemTime::now`"
    );
}
