//! What a config that is right is read as, in each format.

use std::fs;
use std::path::Path;
use std::time::Duration;

use Format::{Json, Toml, Yaml};
use tollgate::{
    Config, FixedWindow, LimiterConfig, LimiterFactory, OnFull, Rate, RateError,
    SlidingWindowCounter, SlidingWindowLog, TokenBucket,
};
use tollgate_config::tree::{self, Node, Value};
use tollgate_config::{ConfigErrors, Format};

fn parse(format: Format, text: &str) -> Config {
    tollgate_config::parse(text, format, "f", &LimiterFactory::new())
        .unwrap_or_else(|errors| panic!("{text}: {errors}"))
}

/// What a config says of each endpoint, to compare.
fn summary(config: &Config) -> String {
    let limiters: Vec<_> = config.limiters().map(|limiter| format!("{limiter:?}")).collect();
    limiters.join("\n")
}

const MINUTE: Duration = Duration::from_secs(60);

fn bucket(capacity: u32, rate: Result<Rate, RateError>) -> TokenBucket {
    let rate = rate.expect("the test's own rate");
    TokenBucket::new(capacity, rate).expect("the test's own capacity")
}

#[test]
fn the_same_config_in_three_formats_is_the_same() {
    let login = LimiterConfig::new(FixedWindow::new(5, 15 * MINUTE));
    let all = |limiter: LimiterConfig| limiter.max_keys(200_000);
    let export = bucket(2, Rate::parse_friendly("1/10min"));
    let expected = Config::builder()
        .default(all(bucket(10, Rate::per_second("1")).into()))
        .endpoint("/search", all(SlidingWindowLog::new(30, MINUTE).into()))
        .endpoint("POST /login", login.max_keys(50_000).on_full(OnFull::Deny))
        .endpoint("/export", all(export.into()))
        .endpoint("/api/items", all(SlidingWindowCounter::new(1000, MINUTE).into()))
        .endpoint("PUT /api/items", all(bucket(50, Rate::per_second("2.5")).into()))
        .build()
        .unwrap();
    for path in ["../../examples/limits.yaml", "tests/files/limits.json", "tests/files/limits.toml"]
    {
        let config = tollgate_config::load(path).unwrap_or_else(|errors| panic!("{errors}"));
        assert_eq!(summary(&config), summary(&expected), "{path}");
        for (read, built) in config.limiters().zip(expected.limiters()) {
            assert_eq!(read.algorithm, built.algorithm, "{path} {:?}", read.endpoint);
        }
    }
}

const YAML_BUCKET: &str = "
default:
  algorithm: TokenBucket
  algoConfig: { capacity: 3, refillRatePerSecond: RATE }
";

const JSON_BUCKET: &str = r#"{"default": {
    "algorithm": "TokenBucket", "algoConfig": {"capacity": 3, "refillRatePerSecond": RATE}
}}"#;

const TOML_BUCKET: &str = "
[default]
algorithm = 'TokenBucket'
algoConfig = { capacity = 3, refillRatePerSecond = RATE }
";

#[test]
fn a_rate_is_the_decimal_as_written_in_each_format() {
    let rates = ["0.1", "1e-3", "1E2", "16.5", "33.333333", "1.0", "0.000011574074074074073"];
    for rate in rates {
        let expected =
            Config::builder().default(bucket(3, Rate::per_second(rate))).build().unwrap();
        for rate in [rate, &format!("\"{rate}\"")] {
            for (format, text) in [
                (Yaml, YAML_BUCKET.replace("RATE", rate)),
                (Json, JSON_BUCKET.replace("RATE", rate)),
                (Toml, TOML_BUCKET.replace("RATE", rate)),
            ] {
                assert_eq!(summary(&parse(format, &text)), summary(&expected), "{text}");
            }
        }
    }
}

#[test]
fn long_numbers_survive_to_the_last_digit() {
    let whole = "123456789012345678901234567890";
    let decimal = "0.1000000000000000055511151231257827";
    let cases = [
        (Yaml, format!("whole: {whole}\ndecimal: {decimal}\n")),
        (Json, format!("{{\"whole\": {whole}, \"decimal\": {decimal}}}")),
        (Toml, format!("whole = {whole}\ndecimal = {decimal}\n")),
    ];
    for (format, text) in cases {
        let root = tree::parse(&text, format, "f").unwrap();
        for (key, number) in [("whole", whole), ("decimal", decimal)] {
            let expected = Value::Number(number.to_owned());
            assert_eq!(root.get(key).unwrap().value, expected, "{format:?}");
        }
    }
}

#[test]
fn numbers_of_another_radix_and_with_underscores_are_numbers() {
    let cases = [
        (Toml, "n = 0xff"),
        (Toml, "n = 0b1111_1111"),
        (Toml, "n = 2_55"),
        (Yaml, "n: 0xFF"),
        (Yaml, "n: 0o377"),
    ];
    for (format, text) in cases {
        let root = tree::parse(text, format, "f").unwrap();
        assert_eq!(root.get("n").unwrap().value, Value::Number("255".to_owned()), "{text}");
    }
}

#[test]
fn bounds_at_the_top_hold_for_entries_without_their_own() {
    let text = "
maxKeys: 5000
onFull: admit
default: &bucket { algorithm: TokenBucket, algoConfig: { capacity: 1, refill: 1/s } }
endpoints:
  - { endpoint: /a, algorithm: TokenBucket, algoConfig: { capacity: 1, refill: 1/s }, maxKeys: 7 }
  - { endpoint: /b, algorithm: TokenBucket, algoConfig: { capacity: 1, refill: 1/s }, onFull: deny }
";
    let config = parse(Yaml, text);
    let bounds: Vec<_> = config.limiters().map(|it| (it.max_keys, it.on_full)).collect();
    assert_eq!(bounds, [(5000, OnFull::Admit), (7, OnFull::Admit), (5000, OnFull::Deny)]);
}

#[test]
fn without_bounds_the_librarys_own_hold() {
    let config = parse(
        Toml,
        "[default]\nalgorithm = 'FixedWindow'\nalgoConfig = { maxRequests = 1, window = '1s' }",
    );
    let built = Config::builder().default(FixedWindow::new(1, Duration::from_secs(1))).build();
    assert_eq!(summary(&config), summary(&built.unwrap()));
}

#[test]
fn an_alias_stands_for_the_value_it_names() {
    let text = "
default:
  algorithm: &algorithm TokenBucket
  algoConfig: &strict { capacity: 2, refill: 1/s }
endpoints:
  - endpoint: /a
    algorithm: *algorithm
    algoConfig: *strict
";
    let config = parse(Yaml, text);
    let mut limiters = config.limiters().map(|limiter| limiter.algorithm);
    assert_eq!(limiters.next(), limiters.next());
}

#[test]
fn a_fault_inside_what_an_alias_repeats_is_told_of_each_that_repeats_it() {
    let text = "
default: { algorithm: TokenBucket, algoConfig: &shared { capacity: 0 } }
endpoints:
  - { endpoint: /a, algorithm: TokenBucket, algoConfig: *shared }
";
    let errors = tollgate_config::parse(text, Yaml, "f", &LimiterFactory::new()).unwrap_err();
    assert_eq!(
        errors.to_string(),
        "f:2:48: default: missing `refillRatePerSecond` (or `refill`)\n\
         f:2:68: default: `capacity` is 0; expected a whole number from 1 to 4294967295; to let nobody call, say `deny: true`\n\
         f:2:68: endpoint \"/a\": `capacity` is 0; expected a whole number from 1 to 4294967295; to let nobody call, say `deny: true`\n\
         f:4:57: endpoint \"/a\": missing `refillRatePerSecond` (or `refill`)"
    );
}

#[test]
fn a_tree_knows_the_place_of_every_key_and_value() {
    let cases = [
        (Yaml, "a:\n  - x\n  - é: 1\n", [(1, 1), (2, 3), (2, 5), (3, 5), (3, 8)]),
        (Json, "{\"a\":\n [\"x\",\n {\"é\":1}]}", [(1, 2), (2, 2), (2, 3), (3, 3), (3, 7)]),
        (Toml, "a = [\n 'x',\n {'é'=1}]", [(1, 1), (1, 5), (2, 2), (3, 3), (3, 7)]),
    ];
    for (format, text, places) in cases {
        let root = tree::parse(text, format, "f").unwrap();
        let entry = &root.as_map().unwrap()[0];
        let nodes = entry.value.as_list().unwrap();
        let inner = &nodes[1].as_map().unwrap()[0];
        let found = [
            (entry.line, entry.column),
            (entry.value.line, entry.value.column),
            (nodes[0].line, nodes[0].column),
            (inner.line, inner.column),
            (inner.value.line, inner.value.column),
        ];
        assert_eq!(found, places, "{format:?}");
        assert_eq!((entry.key.as_str(), nodes[0].as_text()), ("a", Some("x")));
    }
}

#[test]
fn tables_of_toml_keep_the_order_of_the_file() {
    let text = "[z]\nb = 1\na = 2\n[[m]]\n[y.x]\n[[m]]\n[z.c]\n";
    let root = tree::parse(text, Toml, "f").unwrap();
    let keys = |node: &Node| {
        let entries = node.as_map().unwrap_or_default();
        entries.iter().map(|entry| entry.key.clone()).collect::<Vec<_>>()
    };
    assert_eq!(keys(&root), ["z", "m", "y"]);
    assert_eq!(keys(root.get("z").unwrap()), ["b", "a", "c"]);
    assert_eq!(root.get("m").unwrap().as_list().unwrap().len(), 2);
}

#[test]
fn every_config_of_the_conformance_scenarios_loads() -> Result<(), ConfigErrors> {
    let mut configs = 0;
    let folders = ["../../conformance", "../../conformance/policies"].map(Path::new);
    for file in folders.into_iter().flat_map(|folder| fs::read_dir(folder).unwrap()) {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "json") {
            continue;
        }
        let scenario = tree::load(&path)?;
        let name = path.display().to_string();
        let steps = scenario.get("steps").and_then(Node::as_list).unwrap_or_default();
        let reloads = steps.iter().filter_map(|step| step.get("reload"));
        for config in scenario.get("config").into_iter().chain(reloads) {
            tollgate_config::from_tree(config, &name, &LimiterFactory::new())?;
            configs += 1;
        }
    }
    assert!(configs >= 150, "only {configs} configs found");
    Ok(())
}

#[test]
fn an_embedded_config_is_judged_where_it_stands() {
    let text = "{\"name\": \"x\",\n \"config\": {\"default\": {\"algorithm\": \"FixedWindow\"}}}";
    let scenario = tree::parse(text, Json, "x.json").unwrap();
    let config = scenario.get("config").unwrap();
    let errors = tollgate_config::from_tree(config, "x.json", &LimiterFactory::new()).unwrap_err();
    assert_eq!(
        errors.to_string(),
        "x.json:2:24: default: missing `algoConfig`; expected a map of the algorithm's parameters"
    );
}
