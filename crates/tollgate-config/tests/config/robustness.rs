//! Whatever a file holds, reading it ends with a config or with faults that have their places.

use proptest::prelude::*;
use tollgate::LimiterFactory;
use tollgate_config::Format;

const FORMATS: [Format; 3] = [Format::Yaml, Format::Json, Format::Toml];

/// The same config in each of them.
const CONFIGS: [&str; 3] = [
    include_str!("../../../../examples/limits.yaml"),
    include_str!("../files/limits.json"),
    include_str!("../files/limits.toml"),
];

/// Pieces of the three languages, which chance may join into something that is nearly well formed.
const PIECES: [&str; 72] = [
    "default",
    "endpoints",
    "endpoint",
    "algorithm",
    "algoConfig",
    "TokenBucket",
    "capacity",
    "refill",
    "maxKeys",
    "onFull",
    "[",
    "]",
    "{",
    "}",
    "[[",
    "]]",
    ":",
    ": ",
    ",",
    "=",
    " = ",
    ".",
    "\"",
    "'",
    "\"\"\"",
    "'''",
    "\n",
    "\r\n",
    "\r",
    "\n  ",
    "\n    ",
    " ",
    "\t",
    "- ",
    "-",
    "? ",
    "| ",
    "|\n",
    ">-\n",
    "&a ",
    "*a",
    "!!str ",
    "!t ",
    "<<: ",
    "---",
    "\n---\n",
    "\n...\n",
    "%YAML 1.2\n",
    "# c\n",
    "// c\n",
    "1",
    "0",
    "-1",
    "1.5",
    "1e9",
    "1e",
    "0x1f",
    "0b1",
    "nan",
    ".nan",
    "inf",
    "1979-05-27",
    "100/min",
    "null",
    "~",
    "true",
    "\\",
    "\\ud800",
    "\\x41",
    "\0",
    "\u{feff}",
    "é😀\u{2028}\u{85}",
];

/// Reads a text; every fault has to stand inside it or right behind it, and to take one line.
fn read(text: &str, format: Format) {
    let lines = text.split(['\n', '\r']).count();
    let read = tollgate_config::parse(text, format, "f", &LimiterFactory::new());
    for error in read.as_ref().err().into_iter().flatten() {
        assert!(error.line().is_some_and(|line| (1..=lines).contains(&line)), "{error}");
        assert!(error.column().is_some_and(|column| column >= 1), "{error}");
        assert!(!error.to_string().contains('\n'), "{error}");
    }
}

/// Of a YAML text that ends too soon, faults were told of the line after the last.
#[test]
fn a_config_that_breaks_off_has_its_faults_where_it_ends() {
    for (text, place) in [("[", "1:2"), ("default: {\n", "2:1"), ("default: {\n ", "2:2")] {
        let read = tollgate_config::parse(text, Format::Yaml, "f", &LimiterFactory::new());
        let errors = read.expect_err("it breaks off").to_string();
        assert!(errors.starts_with(&format!("f:{place}: not valid YAML")), "{text:?}: {errors}");
    }
    for (format, config) in FORMATS.into_iter().zip(CONFIGS) {
        for (end, _) in config.char_indices() {
            read(config.get(..end).unwrap_or_default(), format);
        }
    }
}

proptest! {
    #[test]
    fn any_text_is_read_to_an_end(text in any::<String>()) {
        for format in FORMATS {
            read(&text, format);
        }
    }

    #[test]
    fn text_that_is_nearly_a_config_is_read_to_an_end(
        pieces in prop::collection::vec(prop::sample::select(&PIECES[..]), 0..60),
    ) {
        for format in FORMATS {
            read(&pieces.concat(), format);
        }
    }

    #[test]
    fn a_config_with_a_hole_or_a_slip_is_read_to_an_end(
        start in any::<prop::sample::Index>(),
        length in 0..40_usize,
        piece in prop::sample::select(&PIECES[..]),
    ) {
        for (format, config) in FORMATS.into_iter().zip(CONFIGS) {
            let characters: Vec<_> = config.chars().collect();
            let start = start.index(characters.len());
            let end = characters.len().min(start.saturating_add(length));
            let before: String = characters[..start].iter().collect();
            let after: String = characters[end..].iter().collect();
            for text in [format!("{before}{after}"), format!("{before}{piece}{after}"), before] {
                read(&text, format);
            }
        }
    }
}
