//! What is wrong with a config, and where it is said to be.

use Format::{Json, Toml, Yaml};
use tollgate::LimiterFactory;
use tollgate_config::Format;

use crate::support::told;

/// Everything that is said of a text, one fault a line, without the file's name.
fn faults(format: Format, text: &str) -> String {
    told(tollgate_config::parse(text, format, "f", &LimiterFactory::new()))
}

fn check(cases: &[(Format, &str, &str)]) {
    for (format, text, expected) in cases {
        assert_eq!(faults(*format, text), expected.trim_start(), "of {format:?} {text:?}");
    }
}

/// A config of one bucket with these parameters, written in YAML on one line; they begin at column
/// 50.
fn bucket(parameters: &str) -> String {
    format!("default: {{ algorithm: TokenBucket, algoConfig: {{ {parameters} }} }}")
}

#[test]
fn a_file_without_content_is_told_what_it_lacks() {
    let nothing =
        "1:1: the config is nothing; expected a map with `default` and, where need be, `endpoints`";
    check(&[
        (Yaml, "", nothing),
        (Yaml, "# only a comment\n", nothing),
        (Yaml, "\u{feff}", nothing),
        (Json, "null", nothing),
        (Json, "", "1:1: not valid JSON: EOF while parsing a value"),
        (
            Toml,
            "",
            "1:1: missing `default`; expected the limiter of every endpoint that is not listed",
        ),
    ]);
}

#[test]
fn a_value_of_the_wrong_shape_is_told_the_right_one() {
    check(&[
        (
            Json,
            "[1]",
            "1:1: the config is a list; expected a map with `default` and, where need be, `endpoints`",
        ),
        (
            Yaml,
            "default: 5\nendpoints: { /a: 1 }\n",
            "1:10: `default` is 5; expected a map with `algorithm` and `algoConfig`\n\
             2:12: `endpoints` is a map; expected a list of entries, each a map with `endpoint`",
        ),
        (
            Toml,
            "endpoints = [\"/a\", 7]\ndefault = []",
            "1:14: entry 1 of `endpoints` is \"/a\"; expected a map with `endpoint`, `algorithm` and `algoConfig`\n\
             1:20: entry 2 of `endpoints` is 7; expected a map with `endpoint`, `algorithm` and `algoConfig`\n\
             2:11: `default` is a list; expected a map with `algorithm` and `algoConfig`",
        ),
        (
            Yaml,
            "default: { algorithm: TokenBucket, algoConfig: [1] }",
            "1:48: default: `algoConfig` is a list; expected a map of the algorithm's parameters",
        ),
        (
            Json,
            r#"{"default": {"algorithm": 5, "algoConfig": null}}"#,
            "1:27: default: `algorithm` is 5; expected one of Concurrency, FixedWindow, SlidingWindowCounter, SlidingWindowLog, TokenBucket\n\
             1:44: default: `algoConfig` is nothing; expected a map of the algorithm's parameters",
        ),
    ]);
}

#[test]
fn an_entry_without_a_name_is_known_by_its_number() {
    let text = "
default: { algorithm: TokenBucket, algoConfig: { capacity: 1, refill: 1/s } }
endpoints:
  - endpoint: /a
    algorithm: TokenBucket
    algoConfig: { capacity: 1, refill: 1/s }
  - algorithm: TokenBucket
    algoConfig: { capacity: 0, refill: 1/s }
  - endpoint: 7
";
    let expected = "
7:5: entry 2 of `endpoints`: missing `endpoint`; expected a text, such as \"/search\"
8:29: entry 2 of `endpoints`: `capacity` is 0; expected a whole number from 1 to 4294967295; to let nobody call, say `deny: true`
9:5: entry 3 of `endpoints`: missing `algorithm`; expected one of Concurrency, FixedWindow, SlidingWindowCounter, SlidingWindowLog, TokenBucket
9:5: entry 3 of `endpoints`: missing `algoConfig`; expected a map of the algorithm's parameters
9:15: entry 3 of `endpoints`: `endpoint` is 7; expected a text, such as \"/search\"";
    check(&[(Yaml, text, expected)]);
}

#[test]
fn an_unknown_field_is_told_the_nearest_known_one() {
    let limits = "unknown field `limits`; known here: default, endpoints, sharedLimits, every, plans, clients, maxKeys, onFull, gateway";
    let text = bucket("capacity: 1, refil: 1/s, refill: 1/s");
    let endpoint = "default: unknown field `endpoint`; known here: algorithm, algoConfig, limits, use, unlimited, deny, exempt, cost, penalty, plans, overrides, maxKeys, onFull";
    let with_endpoint = "default: { endpoint: /a, algorithm: TokenBucket, algoConfig: { capacity: 1, refill: 1/s } }";
    check(&[
        (
            Yaml,
            &format!("{text}\nlimits: []\n"),
            &format!("1:63: default: unknown field `refil`; did you mean `refill`?\n2:1: {limits}"),
        ),
        (Yaml, with_endpoint, &format!("1:12: {endpoint}")),
    ]);
}

#[test]
fn a_number_out_of_range_or_not_whole_is_refused() {
    let whole = "expected a whole number from 1 to 4294967295";
    for number in ["0", "1.5", "-1", "4294967296", "1e400", ".nan", ".inf", "\"10\"", "~", "true"] {
        let found = if number == "~" { "nothing" } else { number };
        let text = bucket(&format!("capacity: {number}, refill: 1/s"));
        let word = if number == "0" { "; to let nobody call, say `deny: true`" } else { "" };
        let expected = format!("1:60: default: `capacity` is {found}; {whole}{word}");
        assert_eq!(faults(Yaml, &text), expected);
    }
    let digits = "9".repeat(100_000);
    let expected = format!("1:60: default: `capacity` is {digits}; {whole}");
    assert_eq!(faults(Yaml, &bucket(&format!("capacity: {digits}, refill: 1/s"))), expected);
}

#[test]
fn a_rate_that_is_none_is_refused() {
    let number = "a number above 0 and at most 1000000000 a second, such as 10, 0.5 or \"0.001\"";
    let cases = [
        (
            "refillRatePerSecond: 0",
            "1:84: default: `refillRatePerSecond` is 0; expected a rate above 0",
        ),
        (
            "refillRatePerSecond: -1",
            "1:84: default: `refillRatePerSecond` is -1; expected a rate above 0",
        ),
        (
            "refillRatePerSecond: ten",
            &format!("1:84: default: `refillRatePerSecond` is \"ten\"; expected {number}"),
        ),
        (
            "refillRatePerSecond: [1]",
            &format!("1:84: default: `refillRatePerSecond` is a list; expected {number}"),
        ),
        (
            "refillRatePerSecond: 1e10",
            "1:84: default: `refillRatePerSecond` is 1e10; expected a rate of at most 1000000000 a second",
        ),
        (
            "refill: 100",
            "1:71: default: `refill` is 100; expected a count per unit of time, such as 10/s, 100/min, 1000/h or 1/day",
        ),
        (
            "refill: 1/s, refillRatePerSecond: 1",
            "1:71: default: `refillRatePerSecond` and `refill` say the same; keep one of them",
        ),
        ("", "1:48: default: missing `refillRatePerSecond` (or `refill`)"),
    ];
    for (rate, expected) in cases {
        let text = bucket(&format!("capacity: 1, {rate}"));
        assert_eq!(faults(Yaml, &text), expected);
    }
}

#[test]
fn bounds_are_checked_at_the_top_and_on_an_entry() {
    let text = "
maxKeys: 0
onFull: denny
default:
  algorithm: TokenBucket
  algoConfig: { capacity: 1, refill: 1/s }
  maxKeys: 1000000001
  onFull: [deny]
";
    let expected = "
2:10: `maxKeys` is 0; expected a whole number from 1 to 1000000000
3:9: `onFull` is \"denny\"; expected one of overflow, deny, admit; did you mean `deny`?
7:12: default: `maxKeys` is 1000000001; expected a whole number from 1 to 1000000000
8:11: default: `onFull` is a list; expected one of overflow, deny, admit";
    check(&[(Yaml, text, expected)]);
}

#[test]
fn an_endpoint_given_twice_names_both_places_each_time() {
    let entry = |endpoint: &str| {
        format!(
            "  - {{ endpoint: {endpoint}, algorithm: TokenBucket, algoConfig: {{ capacity: 1, refill: 1/s }} }}\n"
        )
    };
    let text = bucket("capacity: 1, refill: 1/s")
        + "\nendpoints:\n"
        + &entry("/a")
        + &entry("/A")
        + &entry("'/a'")
        + &entry("/a");
    let expected = "
5:17: endpoint \"/a\" is given twice, first at line 3, column 17; keep one
6:17: endpoint \"/a\" is given twice, first at line 3, column 17; keep one";
    check(&[(Yaml, &text, expected)]);
}

#[test]
fn patterns_that_cannot_be_read_or_stand_together_name_both_places() {
    let entry = |endpoint: &str| {
        format!(
            "  - {{ endpoint: {endpoint}, algorithm: TokenBucket, algoConfig: {{ capacity: 1, refill: 1/s }} }}\n"
        )
    };
    let names =
        ["'/{a}/x'", "'/y/{b}'", "'GET /files/*.png'", "'/users/{id}/a'", "'/users/{user}/a'"];
    let text = bucket("capacity: 1, refill: 1/s") + "\nendpoints:\n" + &names.map(entry).concat();
    let expected = "
4:17: endpoint \"/y/{b}\": matches \"/y/x\", as \"/{a}/x\" does, and neither is more specific; list that too, or change one (the other is at line 3, column 17)
5:17: endpoint \"GET /files/*.png\": the segment \"*.png\" cannot be read; expected plain text, a parameter that is all of its segment, such as {id}, or a * that is the last
7:17: endpoint \"/users/{user}/a\": matches the same as \"/users/{id}/a\"; keep one (the other is at line 6, column 17)";
    check(&[(Yaml, &text, expected)]);
}

#[test]
fn a_key_given_twice_names_both_places_and_hides_no_other_fault() {
    check(&[
        (
            Yaml,
            &bucket("capacity: 0, refill: 1/s, capacity: 2"),
            "1:60: default: `capacity` is 0; expected a whole number from 1 to 4294967295; to let nobody call, say `deny: true`\n\
             1:76: `capacity` is given twice, first at line 1, column 50; keep one",
        ),
        (
            Json,
            "{\"default\": {\"algorithm\": \"TokenBucket\",\n \"algorithm\": 1,\n \"algoConfig\": {\"capacity\": 1, \"refill\": \"1\"}}}",
            "2:2: `algorithm` is given twice, first at line 1, column 14; keep one\n\
             3:42: default: `refill` is \"1\"; expected a count per unit of time, such as 10/s, 100/min, 1000/h or 1/day",
        ),
        (
            Toml,
            "default.algorithm = 'TokenBucket'\ndefault.algorithm = 'x'\ndefault.algoConfig = { capacity = 0, refill = '1/s' }",
            "2:9: not valid TOML: duplicate key\n\
             3:35: default: `capacity` is 0; expected a whole number from 1 to 4294967295; to let nobody call, say `deny: true`",
        ),
    ]);
}

#[test]
fn columns_count_characters_after_a_byte_order_mark_and_in_files_from_windows() {
    let zero = "default: `capacity` is 0; expected a whole number from 1 to 4294967295; to let nobody call, say `deny: true`";
    let known = "known here: default, endpoints, sharedLimits, every, plans, clients, maxKeys, onFull, gateway";
    check(&[
        (
            Yaml,
            "\u{feff}default: { algorithm: TokenBucket, # é\r\n\
             \x20algoConfig: { capacity:  0, refill: 1/s } }\r\n",
            &format!("2:27: {zero}"),
        ),
        (
            Json,
            "\u{feff}{\"default\": {\"algorithm\": \"TokenBucket\",\r\n\
             \"algoConfig\": {\"capacity\": 0, \"refill\": \"1/s\"}}}\r\n",
            &format!("2:28: {zero}"),
        ),
        (
            Toml,
            "\u{feff}default.algorithm = 'TokenBucket' # é\r\n\
             default.algoConfig = { capacity = 0, refill = '1/s' }\r\n",
            &format!("2:35: {zero}"),
        ),
        (
            Json,
            "{\"ébé😀\": 1, \"default\": 2}",
            &format!(
                "1:2: unknown field `ébé😀`; {known}\n\
                 1:24: `default` is 2; expected a map with `algorithm` and `algoConfig`"
            ),
        ),
        (
            Yaml,
            "{ ébé😀: 1, default: 2 }",
            &format!(
                "1:3: unknown field `ébé😀`; {known}\n\
                 1:21: `default` is 2; expected a map with `algorithm` and `algoConfig`"
            ),
        ),
    ]);
}
