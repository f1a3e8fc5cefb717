//! Plans, the clients on them, and overrides.

use Format::{Json, Toml, Yaml};
use tollgate::{AppliesTo, Call, LimiterFactory, ManualClock, PolicyKind, RateLimiter, Time};
use tollgate_config::Format;

use crate::support::told;

const IN_YAML: &str = "
plans: [free, pro, staff]
clients:
  - { client: alice, plan: pro }
  - { prefix: 'acme-', plan: pro }
maxKeys: 100
default:
  limits:
    - { name: calls, algorithm: TokenBucket, algoConfig: { capacity: 10, refill: 10/min } }
  plans:
    pro:
      limits:
        - { name: calls, algorithm: TokenBucket, algoConfig: { capacity: 100, refill: 100/min } }
        - { name: day, algorithm: FixedWindow, algoConfig: { maxRequests: 5000, window: 1d } }
    staff: { unlimited: true }
endpoints:
  - endpoint: /search
    algorithm: TokenBucket
    algoConfig: { capacity: 1, refill: 1/s }
    plans:
      pro: { algorithm: TokenBucket, algoConfig: { capacity: 2, refill: 2/s } }
      free: { deny: true }
    overrides:
      - { client: bob, until: 1970-01-01T01:00:01+01:00, algorithm: TokenBucket, algoConfig: { capacity: 3, refill: 3/s } }
      - { client: carol, unlimited: true }
";

const IN_TOML: &str = "
plans = ['free', 'pro', 'staff']
maxKeys = 100
[[clients]]
client = 'alice'
plan = 'pro'
[[clients]]
prefix = 'acme-'
plan = 'pro'
[[default.limits]]
name = 'calls'
algorithm = 'TokenBucket'
algoConfig = { capacity = 10, refill = '10/min' }
[[default.plans.pro.limits]]
name = 'calls'
algorithm = 'TokenBucket'
algoConfig = { capacity = 100, refill = '100/min' }
[[default.plans.pro.limits]]
name = 'day'
algorithm = 'FixedWindow'
algoConfig = { maxRequests = 5000, window = '1d' }
[default.plans.staff]
unlimited = true
[[endpoints]]
endpoint = '/search'
algorithm = 'TokenBucket'
algoConfig = { capacity = 1, refill = '1/s' }
[endpoints.plans]
pro = { algorithm = 'TokenBucket', algoConfig = { capacity = 2, refill = '2/s' } }
free = { deny = true }
[[endpoints.overrides]]
client = 'bob'
until = '1970-01-01T01:00:01+01:00'
algorithm = 'TokenBucket'
algoConfig = { capacity = 3, refill = '3/s' }
[[endpoints.overrides]]
client = 'carol'
unlimited = true
";

const IN_JSON: &str = r#"{
    "plans": ["free", "pro", "staff"],
    "clients": [{ "client": "alice", "plan": "pro" }, { "prefix": "acme-", "plan": "pro" }],
    "maxKeys": 100,
    "default": {
        "limits": [{ "name": "calls", "algorithm": "TokenBucket", "algoConfig": { "capacity": 10, "refill": "10/min" } }],
        "plans": {
            "pro": { "limits": [
                { "name": "calls", "algorithm": "TokenBucket", "algoConfig": { "capacity": 100, "refill": "100/min" } },
                { "name": "day", "algorithm": "FixedWindow", "algoConfig": { "maxRequests": 5000, "window": "1d" } }
            ] },
            "staff": { "unlimited": true }
        }
    },
    "endpoints": [{
        "endpoint": "/search",
        "algorithm": "TokenBucket",
        "algoConfig": { "capacity": 1, "refill": "1/s" },
        "plans": {
            "pro": { "algorithm": "TokenBucket", "algoConfig": { "capacity": 2, "refill": "2/s" } },
            "free": { "deny": true }
        },
        "overrides": [
            {
                "client": "bob", "until": "1970-01-01T01:00:01+01:00",
                "algorithm": "TokenBucket", "algoConfig": { "capacity": 3, "refill": "3/s" }
            },
            { "client": "carol", "unlimited": true }
        ]
    }]
}"#;

#[test]
fn plans_are_read_alike_in_all_formats() {
    for (format, text) in [(Yaml, IN_YAML), (Toml, IN_TOML), (Json, IN_JSON)] {
        let config = tollgate_config::parse(text, format, "f", &LimiterFactory::new())
            .unwrap_or_else(|errors| panic!("{text}: {errors}"));
        assert_eq!(config.plans().collect::<Vec<_>>(), ["free", "pro", "staff"]);
        let limits: Vec<_> = config
            .limiters()
            .map(|it| {
                (it.endpoint, it.applies_to, it.limit_name, it.algorithm.limit(), it.max_keys)
            })
            .collect();
        let (search, pro) = (Some("/search"), AppliesTo::Plan("pro"));
        let expected = [
            (None, AppliesTo::Everybody, Some("calls"), 10, 100),
            (None, pro, Some("calls"), 100, 100),
            (None, pro, Some("day"), 5_000, 100),
            (search, AppliesTo::Everybody, None, 1, 100),
            (search, pro, None, 2, 100),
            (search, AppliesTo::Client("bob"), None, 3, 100),
        ];
        assert_eq!(limits, expected);
        let rules = config.policies().flat_map(|policy| policy.rules());
        let rules: Vec<_> = rules.map(|it| (it.applies_to(), it.kind(), it.until())).collect();
        let counted = |to| (to, PolicyKind::Limits, None);
        let expected = [
            counted(AppliesTo::Everybody),
            counted(pro),
            (AppliesTo::Plan("staff"), PolicyKind::Unlimited, None),
            counted(AppliesTo::Everybody),
            counted(pro),
            (AppliesTo::Plan("free"), PolicyKind::Deny, None),
            (AppliesTo::Client("bob"), PolicyKind::Limits, Some(Time::from_millis(1_000))),
            (AppliesTo::Client("carol"), PolicyKind::Unlimited, None),
        ];
        assert_eq!(rules, expected);
        let limiter = RateLimiter::builder(config).clock(ManualClock::new()).build();
        let limit = |client, endpoint| limiter.peek(client, endpoint).limit();
        assert_eq!((limit("alice", "/search"), limit("acme-1", "/search")), (2, 2));
        assert_eq!((limit("bob", "/search"), limit("dave", "/search")), (3, 1));
        let free = limiter.decide(&Call::new("dave", "/search").plan("free")).unwrap();
        assert!(!free.allowed());
    }
}

/// A bucket, as the fields of an entry in YAML.
const BUCKET: &str = "algorithm: TokenBucket, algoConfig: { capacity: 1, refill: 1/s }";

#[test]
fn every_fault_of_plans_is_told_where_it_stands() {
    let text = format!(
        "plans: [free, pro, pro, '']
clients:
  - {{ client: alice, plan: por }}
  - {{ client: alice, plan: pro }}
  - {{ client: bob, prefix: b, plan: pro }}
  - {{ plan: pro, name: x }}
  - {{ prefix: 7, plan: pro }}
default:
  {BUCKET_IN_LINES}
  plans:
    gold: {{ {BUCKET} }}
    pro: {{ {BUCKET}, unlimited: true, use: [all] }}
    free: {{ limits: [] }}
  overrides:
    - {{ client: bob, until: tomorrow, {BUCKET} }}
    - {{ client: bob, {BUCKET}, untli: 2026-01-01T00:00:00Z }}
    - {{ algorithm: TokenBuckt, algoConfig: {{}} }}
"
    );
    let expected = [
        "1:20: plans: plan \"pro\" is given twice, first at line 1, column 15; keep one",
        "1:25: plans: a plan's name is empty; expected a text, such as \"pro\"",
        "3:28: element 1 of `clients`: unknown plan \"por\"; did you mean \"pro\"?",
        "4:15: client \"alice\" is given twice, first at line 3, column 15; keep one",
        "5:20: element 3 of `clients`: `client` and `prefix` do not go together; keep one of them",
        "6:5: element 4 of `clients`: missing `client` or `prefix`; expected one of them",
        "6:18: element 4 of `clients`: unknown field `name`; known here: client, prefix, plan",
        "7:15: element 5 of `clients`: `prefix` is 7; expected what the names of clients begin with",
        "12:5: default: unknown plan \"gold\"; known are free, pro",
        "13:78: default: plan \"pro\": `algorithm` and `unlimited` do not go together; keep one of them",
        "13:95: default: plan \"pro\": unknown field `use`; known here: algorithm, algoConfig, limits, unlimited, deny",
        "14:21: default: plan \"free\": `limits` is empty; expected at least one, or `unlimited: true`",
        "16:29: default: override of client \"bob\": `until` is \"tomorrow\"; expected a time with its offset from UTC, \
         such as 2026-12-31T00:00:00Z",
        "17:17: default: override of client \"bob\" is given twice, first at line 16, column 17; keep one",
        "17:88: default: override of client \"bob\": unknown field `untli`; did you mean `until`?",
        "18:7: default: element 3 of `overrides`: missing `client`; expected the name of a client",
        "18:20: default: element 3 of `overrides`: unknown algorithm `TokenBuckt`; did you mean `TokenBucket`? known are \
         Concurrency, FixedWindow, SlidingWindowCounter, SlidingWindowLog, TokenBucket",
    ];
    let found = told(tollgate_config::parse(&text, Yaml, "f", &LimiterFactory::new()));
    assert_eq!(found.lines().collect::<Vec<_>>(), expected);
}

/// The same on lines of their own.
const BUCKET_IN_LINES: &str = "algorithm: TokenBucket
  algoConfig: { capacity: 1, refill: 1/s }";

#[test]
fn what_is_no_list_and_no_map_is_told_too() {
    for (field, expected) in [
        ("plans: pro", "`plans` is \"pro\"; expected a list of the names of plans"),
        (
            "clients: alice",
            "`clients` is \"alice\"; expected a list, each a map with `client` or `prefix`, and `plan`",
        ),
        (
            "clients: [alice]",
            "element 1 of `clients` is \"alice\"; expected a map with `client` or `prefix`, and `plan`",
        ),
    ] {
        let text = format!("{field}\ndefault: {{ {BUCKET} }}");
        let found = told(tollgate_config::parse(&text, Yaml, "f", &LimiterFactory::new()));
        assert!(found.contains(expected), "{expected} is not in {found}");
    }
    for (field, expected) in [
        ("plans: [pro]", "`plans` is a list; expected a map from the name of each plan to its"),
        (
            "plans: { pro: 7 }",
            "default: plan \"pro\": the plan is 7; expected a map with `algorithm`",
        ),
        (
            "overrides: bob",
            "`overrides` is \"bob\"; expected a list, each a map with `client`, and",
        ),
        (
            "overrides: [bob]",
            "element 1 of `overrides` is \"bob\"; expected a map with `client`, and",
        ),
    ] {
        let text = format!("plans: [pro]\ndefault: {{ {BUCKET}, {field} }}");
        let found = told(tollgate_config::parse(&text, Yaml, "f", &LimiterFactory::new()));
        assert!(found.contains(expected), "{expected} is not in {found}");
    }
}
