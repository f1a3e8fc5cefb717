//! Text that is not well formed, nested too deeply, too large, or no text at all.

use std::fs;

use Format::{Json, Toml, Yaml};
use tollgate_config::{Format, tree};

use crate::support::told;

fn faults(format: Format, text: &str) -> String {
    told(tree::parse(text, format, "f"))
}

fn check(cases: &[(Format, &str, &str)]) {
    for (format, text, expected) in cases {
        assert_eq!(faults(*format, text), *expected, "of {format:?} {text:?}");
    }
}

#[test]
fn yaml_that_is_not_well_formed_is_told_where() {
    check(&[
        (
            Yaml,
            "default: [1\n",
            "2:1: not valid YAML: while parsing a flow sequence, expected ',' or ']'",
        ),
        (
            Yaml,
            "default:\n  algorithm: \"Tok",
            "2:14: not valid YAML: while scanning a quoted scalar, found unexpected end of stream",
        ),
        (
            Yaml,
            "default:\n\talgorithm: x\n",
            "2:2: not valid YAML: tabs disallowed within this context (block indentation)",
        ),
        (Yaml, "a: b: c", "1:5: not valid YAML: mapping values are not allowed in this context"),
        (Yaml, "a: *nobody", "1:4: not valid YAML: while parsing node, found unknown anchor"),
        (Yaml, "\0", "1:1: not valid YAML: found unprintable character"),
    ]);
}

#[test]
fn yaml_that_would_mean_something_else_elsewhere_is_refused() {
    check(&[
        (Yaml, "a: 1\n---\nb: 2\n", "2:1: a second document begins here; expected one in a file"),
        (
            Yaml,
            "a: !!str 1\nb: !own { c: 1 }\n",
            "1:4: tags such as `!!str` are not read; remove it, and put a text in quotes\n\
             2:4: tags such as `!own` are not read; remove it, and put a text in quotes",
        ),
        (
            Yaml,
            "a: &a { b: 1 }\nc: { <<: *a }\n",
            "2:6: merge keys (`<<`) are not part of YAML 1.2; write the fields out, or repeat a whole map by an alias",
        ),
        (Yaml, "? [a, b]\n: 1\n", "1:3: this key is not a plain text; expected a name"),
        (
            Yaml,
            "a: &a [1, *a]\n",
            "1:11: this alias stands inside what it repeats; expected one of a value before",
        ),
    ]);
}

#[test]
fn json_is_read_strictly() {
    check(&[
        (Json, "{\"a\": [1, 2}", "1:12: not valid JSON: expected `,` or `]`"),
        (Json, "{\"a\": 1,}", "1:9: not valid JSON: key must be a string"),
        (Json, "[1] // one", "1:5: not valid JSON: trailing characters"),
        (Json, "{\"a\": 1}\n{\"b\": 2}", "2:1: not valid JSON: trailing characters"),
        (Json, "{a: 1}", "1:2: not valid JSON: key must be a string"),
        (Json, "[01]", "1:3: not valid JSON: invalid number"),
        (Json, "[NaN]", "1:2: not valid JSON: expected value"),
        (Json, "{\n  \"é\": +1\n}", "2:8: not valid JSON: expected value"),
        (
            Json,
            "[\"\t\"]",
            "1:2: not valid JSON: control character (\\u0000-\\u001F) found while parsing a string",
        ),
        (Json, "[1, \"\\ud800\"]", "1:5: not valid JSON: unexpected end of hex escape"),
        (Json, "[1,\n", "2:1: not valid JSON: EOF while parsing a value"),
    ]);
}

#[test]
fn every_fault_in_the_syntax_of_toml_is_told() {
    check(&[
        (
            Toml,
            "a = 'open\nb = 01\nc = 2\nc = 3",
            "1:10: not valid TOML: invalid literal string, expected `'`\n\
             2:5: not valid TOML: unexpected leading zero, expected nothing\n\
             4:1: not valid TOML: duplicate key",
        ),
        (
            Toml,
            "a = 1979-05-27\nb = 07:32:00",
            "1:5: 1979-05-27 is a date or time; put it in quotes\n\
             2:5: 07:32:00 is a date or time; put it in quotes",
        ),
        (Toml, "a", "1:2: not valid TOML: key with no value, expected `=`"),
    ]);
}

#[test]
fn what_is_nested_too_deeply_is_refused_and_nothing_overflows() {
    let many = 100_000;
    let path = |length: usize| vec!["a"; length].join(".");
    // Each of the 64 tables is named by a path of 64 keys: 4,096 levels, by few brackets and few
    // dots in a row.
    let product = format!("{}1{}", format!("{}={{", path(64)).repeat(64), "}".repeat(64));
    // Each alias stands inside a list of its own, around all the lists before.
    let next = |level: usize| format!("- &a{} [*a{level}]\n", level.saturating_add(1));
    let aliases: String = (0..1_000).map(next).fold("- &a0 []\n".to_owned(), |a, b| a + &b);
    let cases = [
        (Yaml, aliases, (65, 9)),
        (Json, "[".repeat(many) + &"]".repeat(many), (1, 66)),
        (Json, "{\"a\":".repeat(1_000) + "1" + &"}".repeat(1_000), (1, 326)),
        (Yaml, "- ".repeat(many), (1, 131)),
        (Yaml, "[".repeat(70) + &"]".repeat(70), (1, 66)),
        (Toml, format!("a = {}", "[".repeat(many)), (1, 77)),
        (Toml, format!("a = {}", "{a=".repeat(many)), (1, 221)),
        (Toml, format!("{} = 1", path(many)), (1, 146)),
        (Toml, format!("[{}]", path(many)), (1, 145)),
        (Toml, format!("{} = 1", path(70)), (1, 129)),
        (Toml, product, (1, 147)),
    ];
    for (format, text, (line, column)) in cases {
        let expected =
            format!("{line}:{column}: stands inside more than 64 lists and maps; expected fewer");
        assert_eq!(faults(format, &text), expected, "of {format:?}");
    }
    let unclosed = "[".repeat(many);
    check(&[
        (Json, &unclosed, "1:100000: not valid JSON: EOF while parsing a list"),
        (Yaml, &unclosed, "1:256: not valid YAML: recursion limit exceeded"),
    ]);
}

#[test]
fn sixty_four_levels_are_not_too_deep() {
    let brackets = |levels| format!("{}1{}", "[".repeat(levels), "]".repeat(levels));
    let blocks = "- ".repeat(64) + "1";
    let keys = vec!["a"; 64].join(".");
    for (format, text) in [
        (Json, brackets(64)),
        (Yaml, brackets(64)),
        (Yaml, blocks),
        (Toml, format!("a = {}", brackets(63))),
        (Toml, format!("{keys} = 1.5")),
    ] {
        assert!(tree::parse(&text, format, "f").is_ok(), "{format:?} {text}");
    }
}

#[test]
fn aliases_cannot_grow_to_fill_the_memory() {
    let tenfold = |level: usize| {
        let inner = format!("*a{level}, ").repeat(10);
        let next = level.saturating_add(1);
        format!("a{next}: &a{next} [{inner}]\n")
    };
    let values: Vec<_> = (0..20).map(tenfold).collect();
    let values = format!("a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n{}", values.concat());
    let text = format!("a: &a {}\nb: [{}]\n", "x".repeat(1 << 20), "*a, ".repeat(100));
    for (bomb, line) in [(values, "6:"), (text, "2:")] {
        let faults = faults(Yaml, &bomb);
        assert!(faults.starts_with(line), "{faults}");
        let message = "anchors and aliases repeat more than 64 MiB; expected less of them";
        assert!(faults.ends_with(message), "{faults}");
    }
}

#[test]
fn a_file_that_cannot_be_read_is_told_why() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    fs::create_dir(path("folder.yaml")).unwrap();
    fs::write(path("latin.yaml"), b"default: caf\xe9").unwrap();
    fs::write(path("limits.ini"), "").unwrap();
    fs::write(path("large.json"), vec![b' '; tree::FILE_BYTES_MAX + 1]).unwrap();
    let cases = [
        ("missing.yaml", "cannot be read: "),
        ("folder.yaml", "cannot be read: "),
        ("latin.yaml", "is not UTF-8 text from byte 12 on; expected a file saved as UTF-8"),
        ("limits.ini", "unknown extension `.ini`; expected .yaml (or .yml), .json or .toml"),
        ("large.json", "is larger than 16 MiB; expected a smaller file"),
    ];
    for (name, message) in cases {
        let errors = tollgate_config::load(path(name)).unwrap_err();
        let expected = format!("{}: {message}", path(name).display());
        assert!(errors.to_string().starts_with(&expected), "{errors}");
        assert!(errors.iter().all(|error| error.line().is_none() && error.column().is_none()));
    }
}

#[test]
fn text_as_large_as_a_file_may_be_is_read_and_larger_is_not() {
    let text = " ".repeat(tree::FILE_BYTES_MAX - 1) + "1";
    assert!(tree::parse(&text, Json, "f").is_ok());
    let errors = tree::parse(&(text + " "), Json, "f").unwrap_err();
    assert_eq!(errors.to_string(), "f: is larger than 16 MiB; expected a smaller file");
}
