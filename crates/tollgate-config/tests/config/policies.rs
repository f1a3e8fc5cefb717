//! Several limits on an endpoint, those that endpoints share, and the extremes.

use Format::{Json, Toml, Yaml};
use tollgate::{Call, LimiterFactory, Mode, Owner, PolicyKind, RateLimiter, Scope};
use tollgate_config::Format;

use crate::support::told;

const IN_YAML: &str = "
sharedLimits:
  - { name: api, algorithm: FixedWindow, algoConfig: { maxRequests: 1000, window: 1h }, maxKeys: 7 }
  - name: all
    algorithm: TokenBucket
    algoConfig: { capacity: 5000, refillRatePerSecond: 5000 }
    scope: global
every: [api]
maxKeys: 100
default:
  limits:
    - { name: burst, algorithm: TokenBucket, algoConfig: { capacity: 10, refill: 1/s } }
    - name: company
      algorithm: SlidingWindowLog
      algoConfig: { maxRequests: 100, windowMs: 1000 }
      scope: tenant
      mode: shadow
      was: tenant
      maxKeys: 50
      onFull: deny
endpoints:
  - { endpoint: /search, algorithm: TokenBucket, algoConfig: { capacity: 3, refill: 1/s }, use: [all] }
  - { endpoint: /items, use: [all, all] }
  - { endpoint: /healthz, unlimited: true, deny: false }
  - { endpoint: /internal, deny: true, exempt: [operator, \"7\"] }
";

const IN_TOML: &str = "
every = ['api']
maxKeys = 100
[sharedLimits.api]
algorithm = 'FixedWindow'
algoConfig = { maxRequests = 1000, window = '1h' }
maxKeys = 7
[sharedLimits.all]
algorithm = 'TokenBucket'
algoConfig = { capacity = 5000, refillRatePerSecond = 5000 }
scope = 'global'
[[default.limits]]
name = 'burst'
algorithm = 'TokenBucket'
algoConfig = { capacity = 10, refill = '1/s' }
[[default.limits]]
name = 'company'
algorithm = 'SlidingWindowLog'
algoConfig = { maxRequests = 100, windowMs = 1000 }
scope = 'tenant'
mode = 'shadow'
was = 'tenant'
maxKeys = 50
onFull = 'deny'
[[endpoints]]
endpoint = '/search'
algorithm = 'TokenBucket'
algoConfig = { capacity = 3, refill = '1/s' }
use = ['all']
[[endpoints]]
endpoint = '/items'
use = ['all', 'all']
[[endpoints]]
endpoint = '/healthz'
unlimited = true
deny = false
[[endpoints]]
endpoint = '/internal'
deny = true
exempt = ['operator', '7']
";

fn parse(format: Format, text: &str) -> tollgate::Config {
    tollgate_config::parse(text, format, "f", &LimiterFactory::new())
        .unwrap_or_else(|errors| panic!("{text}: {errors}"))
}

#[test]
fn limits_are_read_with_their_names_scopes_and_modes_from_a_list_and_from_a_map() {
    for config in [parse(Yaml, IN_YAML), parse(Toml, IN_TOML)] {
        let limits: Vec<_> = config
            .limiters()
            .map(|it| (it.owner, it.limit_name, it.scope, it.mode, it.max_keys))
            .collect();
        let enforced = |owner, name, scope, keys| (owner, name, scope, Mode::Enforce, keys);
        let expected = [
            enforced(Owner::Default, Some("burst"), Scope::Client, 100),
            (Owner::Default, Some("company"), Scope::Tenant, Mode::Shadow, 50),
            enforced(Owner::Endpoint("/search"), None, Scope::Client, 100),
            enforced(Owner::Shared, Some("api"), Scope::Client, 7),
            enforced(Owner::Shared, Some("all"), Scope::Global, 1),
        ];
        assert_eq!(limits, expected);
        let policies: Vec<_> = config
            .policies()
            .map(|it| (it.kind(), it.limits().filter_map(|limit| limit.limit_name).collect()))
            .collect();
        let expected: [(_, Vec<_>); 5] = [
            (PolicyKind::Limits, vec!["burst", "company", "api"]),
            (PolicyKind::Limits, vec!["all", "api"]),
            (PolicyKind::Limits, vec!["all", "api"]),
            (PolicyKind::Unlimited, vec![]),
            (PolicyKind::Deny, vec![]),
        ];
        assert_eq!(policies, expected);
        let limiter = RateLimiter::new(config);
        assert!(limiter.allow("operator", "/internal").allowed());
        assert!(!limiter.allow("alice", "/internal").allowed());
        let twice = limiter.decide(&Call::new("alice", "/items").cost(0)).unwrap();
        assert_eq!((twice.remaining(), twice.limit_name()), (1_000, Some("api")));
    }
}

/// One bucket of this capacity, as the fields of an entry in YAML.
const BUCKET: &str = "algorithm: TokenBucket, algoConfig: { capacity: 1, refill: 1/s }";

/// A config in YAML, with these fields of the default.
fn of(default: &str) -> String {
    format!("default: {{ {default} }}")
}

fn check(cases: &[(String, &str)]) {
    for (text, expected) in cases {
        let found = told(tollgate_config::parse(text, Yaml, "f", &LimiterFactory::new()));
        assert_eq!(found, *expected, "of {text}");
    }
}

#[test]
fn every_fault_of_limits_is_told_where_it_stands() {
    let limit = |name: &str| format!("{{ name: {name}, {BUCKET} }}");
    let many: Vec<_> = (0..17).map(|number| limit(&format!("limit{number}"))).collect();
    let cases = [
        (
            of("limits: 5"),
            "1:20: default: `limits` is 5; expected a list of limits, each a map with `name` and `algorithm`",
        ),
        (
            of("limits: []"),
            "1:20: default: `limits` is empty; expected at least one, or `unlimited: true`",
        ),
        (
            of("limits: [7, { name: a, algorithm: TokenBuckt, algoConfig: {} }]"),
            "1:21: default: limit 1 of `limits` is 7; expected a map with `name`, `algorithm` and `algoConfig`\n\
             1:46: default: limit \"a\": unknown algorithm `TokenBuckt`; did you mean `TokenBucket`? known are Concurrency, FixedWindow, SlidingWindowCounter, SlidingWindowLog, TokenBucket",
        ),
        (
            of(&format!("limits: [{}, {}]", limit("a"), limit("a"))),
            "1:108: default: limit \"a\" is given twice, first at line 1, column 29; keep one",
        ),
        (
            of(&format!("limits: [{{ {BUCKET}, scope: globl, mode: off, was: 3, burst: 1 }}]")),
            "1:21: default: limit 1 of `limits`: missing `name`; expected a text, such as \"day\"\n\
             1:96: default: limit 1 of `limits`: `scope` is \"globl\"; expected one of client, tenant, global; did you mean `global`?\n\
             1:109: default: limit 1 of `limits`: `mode` is \"off\"; expected one of enforce, shadow\n\
             1:119: default: limit 1 of `limits`: `was` is 3; expected the name that the limit had\n\
             1:122: default: limit 1 of `limits`: unknown field `burst`; known here: name, algorithm, algoConfig, scope, mode, was, maxKeys, onFull",
        ),
        (
            of(
                "limits: [{ name: a, algorithm: FixedWindow, algoConfig: { maxRequests: 0, window: 1s } }]",
            ),
            "1:83: default: limit \"a\": `maxRequests` is 0; expected a whole number from 1 to 4294967295; to let nobody call, say `deny: true`",
        ),
        (
            of(&format!("limits: [{}]", many.join(", "))),
            "1:20: default: 17 limits; expected at most 16",
        ),
    ];
    check(&cases);
}

#[test]
fn what_does_not_go_together_and_what_is_not_there_is_told_where_it_stands() {
    let limit = |name: &str| format!("{{ name: {name}, {BUCKET} }}");
    let cases = [
        (
            of(&format!("{BUCKET}, limits: []")),
            "1:78: default: `algorithm` and `limits` do not go together; keep one of them",
        ),
        (
            of("unlimited: true, deny: true"),
            "1:29: default: `unlimited` and `deny` do not go together; keep one of them",
        ),
        (
            of(&format!("deny: yes, unlimited: 1, {BUCKET}")),
            "1:18: default: `deny` is \"yes\"; expected true or false\n\
             1:34: default: `unlimited` is 1; expected true or false",
        ),
        (
            format!(
                "sharedLimits: {{ api: {{ {BUCKET} }} }}\ndefault: {{ deny: true, use: [api] }}"
            ),
            "2:24: default: `deny` and `use` do not go together; keep one of them",
        ),
        (
            format!(
                "sharedLimits: {{ api: {{ {BUCKET}, name: api }} }}\nevery: [ap]\ndefault: {{ use: [apis, 3], {BUCKET} }}"
            ),
            "1:90: limit \"api\": unknown field `name`; known here: algorithm, algoConfig, scope, mode, was, maxKeys, onFull\n\
             2:9: every: unknown shared limit \"ap\"; did you mean \"api\"?\n\
             3:18: default: unknown shared limit \"apis\"; did you mean \"api\"?\n\
             3:24: default: an element of `use` is 3; expected a text",
        ),
        (
            of(&format!("use: [x], {BUCKET}")),
            "1:18: default: unknown shared limit \"x\"; there are none",
        ),
        (
            of(&format!("exempt: alice, {BUCKET}")),
            "1:20: default: `exempt` is \"alice\"; expected a list of the names of clients",
        ),
        (
            format!(
                "sharedLimits: [{}]\nevery: [a]\ndefault: {{ limits: [{}] }}",
                limit("a"),
                limit("a")
            ),
            "3:21: default: limit \"a\" has the name of a shared limit that is used here",
        ),
    ];
    check(&cases);
}

#[test]
fn every_fault_of_prices_and_penalties_is_told_where_it_stands() {
    check(&[
        (
            of(&format!("{BUCKET}, cost: 0, penalty: {{ denials: 0, blockFor: 10, for: 1 }}")),
            "1:84: default: `cost` is 0; expected a whole number from 1 to 4294967295\n\
             1:107: default: penalty: `denials` is 0; expected a whole number from 1 to 1000000\n\
             1:120: default: penalty: `blockFor` is 10; expected a duration such as 500ms, 30s, 1m, 12h or 7d, from 1 to 31622400000 ms\n\
             1:124: default: penalty: unknown field `for`; known here: denials, blockFor",
        ),
        (
            of(&format!("{BUCKET}, penalty: {{}}")),
            "1:87: default: penalty: missing `denials`; expected how many denials in a row\n\
             1:87: default: penalty: missing `blockFor`; expected a time, such as 10m",
        ),
        (
            of("deny: true, penalty: { denials: 1, blockFor: 1m }"),
            "1:24: default: `deny` and `penalty` do not go together; keep one of them",
        ),
    ]);
}

#[test]
fn a_map_of_shared_limits_that_gives_a_name_twice_is_told_of_it() {
    let text = r#"{"sharedLimits": {"a": 1, "a": 2}, "default": {"unlimited": true}}"#;
    let found = told(tollgate_config::parse(text, Json, "f", &LimiterFactory::new()));
    assert!(
        found.contains("1:27: `a` is given twice, first at line 1, column 19; keep one"),
        "{found}"
    );
}
