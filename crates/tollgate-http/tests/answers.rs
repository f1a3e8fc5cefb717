//! A decision said in HTTP: cases from public reports, and properties of the fields.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
#![expect(clippy::arithmetic_side_effects, reason = "small numbers in tests")]

use std::time::Duration;

use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use proptest::prelude::*;
use serde_json::{Value, json};
use sfv::{BareItem, FieldType as _, ListEntry};
use tollgate::{
    Call, Concurrency, Config, FixedWindow, Limit, LimiterConfig, ManualClock, Mode, OnFull,
    Policy, RateLimitResult, RateLimiter, Scope, SlidingWindowLog, TokenBucket,
};
use tollgate_http::{Answers, Caller, ClientFault, Cors, EndpointRules, FieldStyle, Policies};

/// A limiter on a clock that is moved by hand, and what it has to tell.
struct Door {
    limiter: RateLimiter,
    clock: ManualClock,
    policies: Policies,
    answers: Answers,
}

impl Door {
    fn new(default: impl Into<Policy>) -> Self {
        Self::of(Config::builder().default(default).build().unwrap())
    }

    fn of(config: Config) -> Self {
        let (clock, policies) = (ManualClock::new(), Policies::of(&config));
        let limiter = RateLimiter::builder(config).clock(clock.clone()).build();
        Self { limiter, clock, policies, answers: Answers::new() }
    }

    fn answering(self, answers: Answers) -> Self {
        Self { answers, ..self }
    }

    fn at(&self, millis: u64) {
        self.clock.set(tollgate::Time::from_nanos(millis * 1_000_000));
    }

    fn call(&self, endpoint: &str, cost: u64) -> RateLimitResult {
        let decided = self.limiter.decide(&Call::new("alice", endpoint).cost(cost));
        decided.unwrap_or_else(|error| error.result())
    }

    fn denial(
        &self,
        result: &RateLimitResult,
        endpoint: &str,
        caller: &Caller,
    ) -> Response<String> {
        assert!(!result.allowed());
        let entry = self.limiter.entry(endpoint);
        self.answers.denial(result, self.policies.of_entry(entry.as_deref()), caller)
    }

    /// Of a call that is denied: the response.
    fn denied(&self, endpoint: &str, cost: u64) -> Response<String> {
        self.denial(&self.call(endpoint, cost), endpoint, &Caller::default())
    }

    /// Of a call that is allowed: the fields that are added to these.
    fn fields(&self, endpoint: &str, caller: &Caller, mut fields: HeaderMap) -> HeaderMap {
        let result = self.call(endpoint, 1);
        assert!(result.allowed());
        let entry = self.limiter.entry(endpoint);
        let policy = self.policies.of_entry(entry.as_deref());
        self.answers.add_fields(&result, policy, caller, &mut fields);
        fields
    }
}

/// The lines of a field.
fn lines<'a>(fields: &'a HeaderMap, name: &str) -> Vec<&'a str> {
    fields.get_all(name).iter().map(|value| value.to_str().unwrap()).collect()
}

/// A field that there is once at most.
fn field<'a>(fields: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let lines = lines(fields, name);
    assert!(lines.len() <= 1, "{name} is given {} times", lines.len());
    lines.first().copied()
}

fn body(response: &Response<String>) -> Value {
    serde_json::from_str(response.body()).unwrap()
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

#[test]
fn a_denial_says_which_limit_how_it_stands_and_when_to_come_back() {
    let door = Door::new(Policy::limits([
        Limit::new("burst", FixedWindow::new(2, seconds(60))),
        Limit::new("day", SlidingWindowLog::new(1_000, seconds(86_400))),
    ]));
    let allowed = door.fields("/", &Caller::default(), HeaderMap::new());
    assert_eq!(field(&allowed, "ratelimit"), Some(r#""burst";r=1;t=60"#));
    assert!(door.call("/", 1).allowed());
    door.at(29_001);
    let response = door.denied("/", 1);
    assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
    let fields = response.headers();
    let policy = r#""burst";q=2;w=60, "day";q=1000;w=86400"#;
    let expected = [
        ("retry-after", Some("31")),
        ("ratelimit", Some(r#""burst";r=0;t=31"#)),
        ("ratelimit-policy", Some(policy)),
        ("content-type", Some("application/problem+json")),
        ("cache-control", Some("no-store")),
        ("x-ratelimit-limit", None),
        ("access-control-expose-headers", None),
    ];
    for (name, value) in expected {
        assert_eq!(field(fields, name), value, "{name}");
    }
    assert_eq!(
        body(&response),
        json!({
            "type": "https://iana.org/assignments/http-problem-types#quota-exceeded",
            "title": "Request cannot be satisfied as assigned quota has been exceeded",
            "status": 429,
            "detail": "the limit \"burst\" of 2 has too little left for this request; come back in 31 s",
            "violated-policies": ["burst"],
            "retryAfterMs": 30_999,
        })
    );
}

#[test]
fn svc17_r68_retry_after_is_rounded_up_and_never_0() {
    // So many milliseconds after the first call, the second: its wait, and the field.
    let bucket = |rate| TokenBucket::per_second(rate).burst(1);
    let table: [(Policy, u64, u64, &str); 6] = [
        (bucket(10).into(), 1, 99, "1"),
        (bucket(10).into(), 99, 1, "1"),
        (bucket(2_000).into(), 0, 1, "1"),
        (SlidingWindowLog::new(1, seconds(60)).into(), 59_600, 400, "1"),
        (FixedWindow::new(1, seconds(60)).into(), 0, 60_000, "60"),
        (FixedWindow::new(1, seconds(60)).into(), 58_999, 1_001, "2"),
    ];
    for (policy, at, wait_ms, expected) in table {
        let door = Door::new(policy);
        assert!(door.call("/", 1).allowed());
        door.at(at);
        let response = door.denied("/", 1);
        assert_eq!(field(response.headers(), "retry-after"), Some(expected));
        assert_eq!(body(&response)["retryAfterMs"], wait_ms);
        door.at(at + wait_ms);
        assert!(door.call("/", 1).allowed());
    }
}

#[test]
fn svc17_a_log_waits_for_as_many_to_leave_as_the_cost_needs() {
    let door = Door::new(SlidingWindowLog::new(5, seconds(10)));
    for second in 0..5 {
        door.at(second * 1_000);
        assert!(door.call("/", 1).allowed());
    }
    for (at, expected) in [(5_000, Some("7")), (11_999, Some("1")), (12_000, None)] {
        door.at(at);
        let result = door.call("/", 3);
        let response = (!result.allowed()).then(|| door.denial(&result, "/", &Caller::default()));
        let told = response.as_ref().and_then(|response| field(response.headers(), "retry-after"));
        assert_eq!(told, expected, "at {at} ms");
    }
}

#[test]
fn svc19_a_cost_that_can_never_fit_is_told_to_nobody_to_wait_for() {
    let door = Door::new(TokenBucket::per_second(1).burst(10));
    for _ in 0..4 {
        assert!(door.call("/", 1).allowed());
    }
    let too_early = door.denied("/", 8);
    assert_eq!(body(&too_early)["retryAfterMs"], 2_000);
    assert_eq!(field(too_early.headers(), "ratelimit"), Some(r#""default";r=6;t=2"#));
    door.at(2_000);
    assert!(door.call("/", 8).allowed());
    let never = door.denied("/", 11);
    assert_eq!(never.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(field(never.headers(), "retry-after"), None);
    assert_eq!(field(never.headers(), "ratelimit"), Some(r#""default";r=0"#));
    let never = body(&never);
    assert_eq!(
        (&never["retryAfterMs"], &never["violated-policies"]),
        (&Value::Null, &json!(["default"]))
    );
    assert_eq!(
        never["detail"],
        "this request costs more than the limit \"default\" of 10 ever gives; no wait will help"
    );
    assert!(door.call("/", 0).allowed());
}

#[test]
fn s32_who_waits_as_told_is_admitted_and_reset_agrees_with_the_wait() {
    let all: [fn() -> Policy; 4] = [
        || TokenBucket::per_minute(7).burst(3).into(),
        || SlidingWindowLog::new(3, seconds(10)).into(),
        || tollgate::SlidingWindowCounter::new(3, seconds(10)).into(),
        || FixedWindow::new(3, seconds(10)).into(),
    ];
    for policy in all {
        for style in [FieldStyle::RateLimit, FieldStyle::XRateLimit] {
            let door = Door::new(policy()).answering(Answers::new().fields(style));
            let mut now = 0;
            let mut denials = 0;
            while denials < 20 {
                door.at(now);
                let result = door.call("/", 1);
                if result.allowed() {
                    now += 100;
                    continue;
                }
                denials += 1;
                let response = door.denial(&result, "/", &Caller::default());
                let told: u64 = field(response.headers(), "retry-after").unwrap().parse().unwrap();
                assert!(told >= 1);
                let reset = if style == FieldStyle::XRateLimit {
                    field(response.headers(), "x-ratelimit-reset")
                } else {
                    field(response.headers(), "ratelimit").unwrap().rsplit(";t=").next()
                };
                assert_eq!(reset, Some(&*told.to_string()));
                if told >= 2 {
                    door.at(now + (told - 1) * 1_000 - 200);
                    assert!(!door.call("/", 1).allowed());
                }
                now += told * 1_000;
                door.at(now);
                assert!(door.call("/", 1).allowed());
            }
        }
    }
}

#[test]
fn s31_nothing_is_told_where_no_limit_holds_and_no_wait_where_nobody_may_call() {
    let config = Config::builder()
        .default(Policy::from(TokenBucket::per_second(1)).exempt(["alice"]))
        .endpoint("/free", Policy::unlimited())
        .endpoint("/closed", Policy::deny());
    for style in [FieldStyle::RateLimit, FieldStyle::XRateLimit, FieldStyle::None] {
        let door =
            Door::of(config.clone().build().unwrap()).answering(Answers::new().fields(style));
        for endpoint in ["/free", "/whatever an exempt client calls"] {
            assert_eq!(
                door.fields(endpoint, &Caller::default(), HeaderMap::new()),
                HeaderMap::new()
            );
        }
        let response = door.denied("/closed", 1);
        assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(response.headers().keys().count(), 2, "{:?}", response.headers());
        assert_eq!(
            body(&response),
            json!({
                "type": "about:blank",
                "title": "Too Many Requests",
                "status": 429,
                "detail": "this endpoint is blocked",
                "retryAfterMs": null,
            })
        );
    }
}

#[test]
fn denials_for_other_reasons_say_so_and_promise_no_wait() {
    let deny =
        LimiterConfig::new(FixedWindow::new(1, seconds(60))).max_keys(1).on_full(OnFull::Deny);
    let full = Door::new(deny);
    assert!(full.limiter.allow("bob", "/").allowed());
    let tenant = Limit::new("plan", TokenBucket::per_second(1)).scope(Scope::Tenant);
    let tenant = Door::new(Policy::limits([tenant]));
    let flights = Door::new(Policy::limits([Limit::new("at once", Concurrency::new(1))]));
    let permit = flights.limiter.acquire("alice", "/");
    let in_flight = flights.limiter.acquire("alice", "/").result();
    let in_flight = flights.denial(&in_flight, "/", &Caller::default());
    drop(permit);
    assert_eq!(
        field(in_flight.headers(), "ratelimit-policy"),
        Some(r#""at once";q=1;qu="concurrent-requests""#)
    );
    let table = [
        (
            full.denied("/", 1),
            "as many clients are counted as there is room for; come back later",
            None,
        ),
        (
            tenant.denied("/", 1),
            "the limit \"plan\" of 1 counts by tenant, and the request names none",
            None,
        ),
        (
            in_flight,
            "as many requests are under way as the limit \"at once\" of 1 allows; wait for one to end",
            Some("at once"),
        ),
    ];
    for (response, detail, violated) in table {
        assert_eq!(field(response.headers(), "retry-after"), None, "{detail}");
        let body = body(&response);
        assert_eq!((&body["detail"], &body["retryAfterMs"]), (&json!(detail), &Value::Null));
        let violated = violated.map_or(Value::Null, |name| json!([name]));
        assert_eq!(body.get("violated-policies").unwrap_or(&Value::Null), &violated);
    }
}

#[test]
fn a_block_after_denials_is_told_as_one() {
    let policy = Policy::from(FixedWindow::new(1, seconds(10))).penalty(2, seconds(300));
    let door = Door::new(policy).answering(Answers::new().fields(FieldStyle::XRateLimit));
    assert!(door.call("/", 1).allowed());
    assert_eq!(field(door.denied("/", 1).headers(), "retry-after"), Some("10"));
    let blocked = door.denied("/", 1);
    assert_eq!(field(blocked.headers(), "retry-after"), Some("300"));
    // The limit of a block is a number of denials, which is nothing to tell.
    assert_eq!(field(blocked.headers(), "x-ratelimit-limit"), None);
    assert_eq!(field(blocked.headers(), "x-ratelimit-reset"), Some("300"));
    let body = body(&blocked);
    assert_eq!(body["violated-policies"], json!(["penalty"]));
    assert_eq!(body["detail"], "too many requests were denied in a row; come back in 300 s");
}

#[test]
fn a_result_of_another_config_is_told_without_the_name_of_a_limit() {
    let (limited, unlimited) =
        (Door::new(FixedWindow::new(1, seconds(60))), Door::new(Policy::unlimited()));
    assert!(limited.call("/", 1).allowed());
    let response = unlimited.denial(&limited.call("/", 1), "/", &Caller::default());
    assert_eq!(field(response.headers(), "retry-after"), Some("60"));
    assert_eq!(field(response.headers(), "ratelimit"), None);
    let detail = "a limit of 1 has too little left for this request; come back in 60 s";
    assert_eq!(body(&response)["detail"], detail);
}

#[test]
fn one_family_of_fields_is_told_and_never_two() {
    let families = [
        (
            FieldStyle::RateLimit,
            vec![
                ("ratelimit", "\"default\";r=0;t=60"),
                ("ratelimit-policy", "\"default\";q=1;w=60"),
            ],
        ),
        (
            FieldStyle::XRateLimit,
            vec![
                ("x-ratelimit-limit", "1"),
                ("x-ratelimit-remaining", "0"),
                ("x-ratelimit-reset", "60"),
            ],
        ),
        (FieldStyle::None, vec![]),
    ];
    for (style, expected) in families {
        let door =
            Door::new(FixedWindow::new(1, seconds(60))).answering(Answers::new().fields(style));
        let allowed = door.fields("/", &Caller::default(), HeaderMap::new());
        let denied = door.denied("/", 1);
        for fields in [&allowed, denied.headers()] {
            let mut told: Vec<_> =
                fields.iter().filter(|(name, _)| name.as_str().contains("ratelimit")).collect();
            told.sort_by_key(|(name, _)| name.as_str().to_owned());
            let told: Vec<_> =
                told.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap())).collect();
            assert_eq!(told, expected);
        }
        assert_eq!(field(denied.headers(), "retry-after"), Some("60"));
    }
}

#[test]
fn a_whole_quota_has_no_time_to_wait_for() {
    for (style, name, expected) in [
        (FieldStyle::RateLimit, "ratelimit", "\"default\";r=5"),
        (FieldStyle::XRateLimit, "x-ratelimit-reset", "0"),
    ] {
        let door = Door::new(FixedWindow::new(5, seconds(60)));
        let door = door.answering(Answers::new().fields(style));
        let mut fields = HeaderMap::new();
        let (look, policy) = (door.call("/", 0), door.policies.of_entry(None));
        door.answers.add_fields(&look, policy, &Caller::default(), &mut fields);
        assert_eq!(field(&fields, name), Some(expected));
    }
}

#[test]
fn an_upstreams_own_fields_stay_and_lists_are_joined() {
    let door = Door::new(FixedWindow::new(9, seconds(60)));
    let mut theirs = HeaderMap::new();
    theirs.insert("ratelimit", HeaderValue::from_static("\"theirs\";r=5"));
    theirs.insert("ratelimit-policy", HeaderValue::from_static("\"theirs\";q=6"));
    let both = door.fields("/", &Caller::default(), theirs);
    assert_eq!(lines(&both, "ratelimit"), ["\"theirs\";r=5", "\"default\";r=8;t=60"]);
    assert_eq!(lines(&both, "ratelimit-policy"), ["\"theirs\";q=6", "\"default\";q=9;w=60"]);
}

#[test]
fn of_two_x_rate_limits_the_one_that_leaves_less_is_told() {
    for (theirs, remaining, limit) in
        [("3", "3", "100"), ("8", "8", "100"), ("9", "8", "9"), ("plenty", "8", "9")]
    {
        let door = Door::new(FixedWindow::new(9, seconds(60)));
        let door = door.answering(Answers::new().fields(FieldStyle::XRateLimit));
        let mut fields = HeaderMap::new();
        fields.insert("x-ratelimit-limit", HeaderValue::from_static("100"));
        fields.insert("x-ratelimit-remaining", theirs.parse().unwrap());
        let fields = door.fields("/", &Caller::default(), fields);
        assert_eq!(field(&fields, "x-ratelimit-remaining"), Some(remaining), "{theirs}");
        assert_eq!(field(&fields, "x-ratelimit-limit"), Some(limit), "{theirs}");
    }
}

#[test]
fn svc35_a_limit_on_trial_is_told_to_nobody() {
    let door = Door::new(Policy::limits([
        Limit::new("trial", FixedWindow::new(1, seconds(60))).mode(Mode::Shadow),
        Limit::new("real", FixedWindow::new(2, seconds(60))),
    ]));
    for remaining in [1, 0] {
        let fields = door.fields("/", &Caller::default(), HeaderMap::new());
        assert_eq!(field(&fields, "ratelimit"), Some(&*format!("\"real\";r={remaining};t=60")));
        assert_eq!(field(&fields, "ratelimit-policy"), Some("\"real\";q=2;w=60"));
    }
    assert!(!door.denied("/", 1).body().contains("trial"));
}

#[test]
fn the_window_of_a_policy_is_the_time_over_which_its_quota_is_given() {
    use tollgate::{CalendarWindow, Period, SlidingWindowCounter};
    let calendar = |period| CalendarWindow::new(5, period);
    let table: [(Policy, &str); 10] = [
        (FixedWindow::new(5, seconds(60)).into(), "q=5;w=60"),
        (SlidingWindowLog::new(5, seconds(60)).into(), "q=5;w=60"),
        (SlidingWindowCounter::new(5, seconds(60)).into(), "q=5;w=60"),
        (FixedWindow::new(5, Duration::from_millis(1_001)).into(), "q=5;w=2"),
        (FixedWindow::new(5, Duration::from_millis(1)).into(), "q=5;w=1"),
        // A bucket's is the time that an empty one takes to be whole.
        (TokenBucket::per_minute(60).burst(100).into(), "q=100;w=100"),
        (TokenBucket::per_second(3).burst(10).into(), "q=10;w=4"),
        (calendar(Period::Day).into(), "q=5;w=86400"),
        (calendar(Period::Week).into(), "q=5;w=604800"),
        (calendar(Period::Month).into(), "q=5"),
    ];
    for (policy, expected) in table {
        let config = Config::builder().default(policy).build().unwrap();
        let policies = Policies::of(&config);
        assert_eq!(policies.of_entry(None).field().unwrap(), &*format!("\"default\";{expected}"));
    }
}

#[test]
fn each_entry_tells_of_its_own_limits_and_of_those_it_shares() {
    let config = Config::builder()
        .default(FixedWindow::new(5, seconds(60)))
        .shared_limit(Limit::new("api", FixedWindow::new(100, seconds(60))))
        .endpoint("GET /users/{id}", FixedWindow::new(3, seconds(60)))
        .endpoint(
            "/reports",
            Policy::from(FixedWindow::new(2, seconds(60))).uses("api").uses("api"),
        );
    let door = Door::of(config.build().unwrap());
    let table = [
        ("GET /users/7", "\"GET /users/{id}\";q=3;w=60", "\"GET /users/{id}\";r=2;t=60"),
        // Charged twice for each call, a hundred is fifty.
        ("GET /reports", "\"/reports\";q=2;w=60, \"api\";q=50;w=60", "\"/reports\";r=1;t=60"),
        ("GET /else", "\"default\";q=5;w=60", "\"default\";r=4;t=60"),
    ];
    for (endpoint, policy, state) in table {
        let fields = door.fields(endpoint, &Caller::default(), HeaderMap::new());
        assert_eq!(field(&fields, "ratelimit-policy"), Some(policy), "{endpoint}");
        assert_eq!(field(&fields, "ratelimit"), Some(state), "{endpoint}");
    }
}

#[test]
fn jitter_makes_waits_longer_and_never_shorter_and_all_that_is_told_agrees() {
    let door = Door::new(FixedWindow::new(1, seconds(60)));
    let door = door.answering(Answers::new().jitter(seconds(10)));
    assert!(door.call("/", 1).allowed());
    let mut waits: Vec<u64> = Vec::new();
    for _ in 0..200 {
        let response = door.denied("/", 1);
        let wait_ms = body(&response)["retryAfterMs"].as_u64().unwrap();
        assert_eq!(
            field(response.headers(), "retry-after"),
            Some(&*wait_ms.div_ceil(1_000).to_string())
        );
        assert_eq!(field(response.headers(), "ratelimit"), Some("\"default\";r=0;t=60"));
        waits.push(wait_ms);
    }
    waits.sort_unstable();
    let (first, last) = (waits[0], waits[199]);
    assert!(60_000 <= first && last <= 70_000, "{first} to {last}");
    // That 200 draws all lie in a third of what may be drawn happens less than once in 10^90 times.
    assert!(last - first > 3_333, "{first} to {last}");
}

/// Fields of a request.
fn request(lines: &[(&'static str, &str)]) -> HeaderMap {
    let mut fields = HeaderMap::new();
    for (name, value) in lines {
        fields.append(*name, value.parse().unwrap());
    }
    fields
}

#[test]
fn svc31_scripts_of_other_origins_see_denials_and_fields() {
    let from_app = Caller::of(&request(&[("origin", "https://app.example")]));
    let app = || [HeaderValue::from_static("https://app.example")];
    let exposed = "RateLimit, RateLimit-Policy, Retry-After";
    // The config; allowed origin, credentials and Vary of the answer to a denied request.
    let table = [
        (Cors::any(), Some("*"), None, None),
        (Cors::any().with_credentials(), Some("*"), None, None),
        (Cors::origins(app()), Some("https://app.example"), None, Some("Origin")),
        (
            Cors::origins(app()).with_credentials(),
            Some("https://app.example"),
            Some("true"),
            Some("Origin"),
        ),
        (
            Cors::origins([HeaderValue::from_static("https://other.example")]),
            None,
            None,
            Some("Origin"),
        ),
    ];
    for (cors, origin, credentials, vary) in table {
        let door = Door::new(FixedWindow::new(1, seconds(60))).answering(Answers::new().cors(cors));
        let allowed = door.fields("/api", &from_app, HeaderMap::new());
        assert_eq!(field(&allowed, "access-control-expose-headers"), Some(exposed));
        assert_eq!(field(&allowed, "access-control-allow-origin"), None, "that is the upstream's");
        let response = door.denial(&door.call("/api", 1), "/api", &from_app);
        let fields = response.headers();
        assert_eq!(field(fields, "access-control-expose-headers"), Some(exposed));
        assert_eq!(field(fields, "access-control-allow-origin"), origin);
        assert_eq!(field(fields, "access-control-allow-credentials"), credentials);
        assert_eq!(field(fields, "vary"), vary);
        let of_no_script = door.denied("/api", 1);
        assert_eq!(field(of_no_script.headers(), "access-control-expose-headers"), None);
    }
}

#[test]
fn svc31_a_preflight_is_told_by_method_and_both_fields() {
    let origin = ("origin", "https://app.example");
    let method = ("access-control-request-method", "PUT");
    let table = [
        (Method::OPTIONS, vec![origin, method], true),
        (Method::OPTIONS, vec![origin], false),
        (Method::OPTIONS, vec![method], false),
        (Method::OPTIONS, vec![], false),
        (Method::GET, vec![origin, method], false),
    ];
    for (verb, lines, expected) in table {
        assert_eq!(Caller::is_preflight(&verb, &request(&lines)), expected, "{verb} {lines:?}");
    }
}

#[test]
fn svc32_grpc_callers_get_a_status_of_their_own_and_never_unavailable() {
    let types = [
        ("application/grpc", Some("application/grpc")),
        ("application/grpc+proto", Some("application/grpc")),
        ("Application/gRPC; charset=utf-8", Some("application/grpc")),
        ("application/grpc-web", Some("application/grpc-web+proto")),
        ("application/grpc-web+proto", Some("application/grpc-web+proto")),
        ("application/grpc-web-text", Some("application/grpc-web-text+proto")),
        ("application/grpcish", None),
        ("application/json", None),
        ("", None),
    ];
    for (asked, answered) in types {
        let caller = Caller::of(&request(&[("content-type", asked)]));
        assert_eq!(caller.is_grpc(), answered.is_some(), "{asked}");
        let door = Door::new(FixedWindow::new(1, seconds(60)));
        assert!(door.call("/", 1).allowed());
        door.at(57_501);
        let response = door.denial(&door.call("/", 1), "/", &caller);
        let Some(answered) = answered else {
            assert_eq!(response.status(), StatusCode::TOO_MANY_REQUESTS);
            assert_eq!(field(response.headers(), "grpc-status"), None);
            continue;
        };
        assert_eq!((response.status(), response.body().as_str()), (StatusCode::OK, ""));
        let message =
            "the limit \"default\" of 1 has too little left for this request; come back in 3 s";
        let expected = [
            ("content-type", Some(answered)),
            ("grpc-status", Some("8")),
            ("grpc-message", Some(message)),
            ("grpc-retry-pushback-ms", Some("2499")),
            ("retry-after", None),
            ("ratelimit", Some("\"default\";r=0;t=3")),
        ];
        for (name, value) in expected {
            assert_eq!(field(response.headers(), name), value, "{asked}: {name}");
        }
    }
}

#[test]
fn svc32_grpc_callers_are_told_not_to_retry_where_no_wait_will_help() {
    let caller = Caller::of(&request(&[
        ("content-type", "application/grpc"),
        ("origin", "https://a.example"),
    ]));
    let door = Door::new(Policy::deny()).answering(Answers::new().cors(Cors::any()));
    let response = door.denial(&door.call("/", 1), "/", &caller);
    assert_eq!(field(response.headers(), "grpc-retry-pushback-ms"), Some("-1"));
    assert_eq!(field(response.headers(), "grpc-message"), Some("this endpoint is blocked"));
    assert_eq!(
        lines(response.headers(), "access-control-expose-headers"),
        [
            "grpc-status, grpc-message, grpc-retry-pushback-ms",
            "RateLimit, RateLimit-Policy, Retry-After"
        ]
    );
    let odd =
        Door::new(Policy::limits([Limit::new("100 % täglich", FixedWindow::new(1, seconds(60)))]));
    assert!(odd.call("/", 1).allowed());
    let response = odd.denial(&odd.call("/", 1), "/", &caller);
    let message = "the limit \"100 %2525 t%25C3%25A4glich\" of 1 has too little left for this request; come back in 60 s";
    assert_eq!(field(response.headers(), "grpc-message"), Some(message));
}

#[test]
fn a_request_that_is_refused_is_told_why() {
    let answers = Answers::new().cors(Cors::any());
    let caller = Caller::of(&request(&[("origin", "https://a.example")]));
    let fault = EndpointRules::new().endpoint(&Method::GET, b"/a%2Fb", None).unwrap_err();
    let response = answers.bad_request(&fault, &caller);
    assert_eq!(response.status(), StatusCode::BAD_REQUEST);
    assert_eq!(field(response.headers(), "cache-control"), Some("no-store"));
    assert_eq!(field(response.headers(), "access-control-allow-origin"), Some("*"));
    assert_eq!(
        body(&response),
        json!({ "type": "about:blank", "title": "Bad Request", "status": 400, "detail": fault.to_string() })
    );
    let both = answers.unidentified(&ClientFault::TwoFamilies, &caller);
    assert_eq!(both.status(), StatusCode::BAD_REQUEST);
    let name = http::HeaderName::from_static("x-api-key");
    let nobody = answers.unidentified(&ClientFault::Missing { name }, &caller);
    assert_eq!(nobody.status(), StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(field(nobody.headers(), "retry-after"), None);
    assert_eq!(body(&nobody)["retryAfterMs"], Value::Null);
}

/// Names of limits, with all that could break out of a field or a body.
fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[ -~]{1,20}", "\\PC{1,12}", "[\"\\\\%;=,\\x00-\\x1f\\x7fäß]{1,12}"]
}

/// The items of a list of structured fields: the name and the parameters of each.
fn items(value: &str) -> Vec<(String, Vec<(String, BareItem)>)> {
    let list = sfv::Parser::new(value).parse::<sfv::List>().unwrap();
    assert_eq!(list.serialize().as_deref(), Some(value), "written as the standard has it");
    let item = |entry: &ListEntry| {
        let ListEntry::Item(item) = entry else { panic!("{entry:?} is no item") };
        let name = item.bare_item.as_string().unwrap().as_str().to_owned();
        let parameters = item.params.iter();
        (name, parameters.map(|(key, value)| (key.to_string(), value.clone())).collect())
    };
    list.iter().map(item).collect()
}

/// A name as a client is told it: printable ASCII as it is, anything else with its bytes escaped.
fn told(name: &str) -> String {
    if name.chars().all(|letter| (' '..='~').contains(&letter)) {
        return name.to_owned();
    }
    let byte = |byte: u8| match byte {
        b'%' | 0..=0x1f | 0x7f.. => format!("%{byte:02X}"),
        byte => char::from(byte).to_string(),
    };
    name.bytes().map(byte).collect()
}

proptest! {
    #[test]
    fn fields_are_well_formed_and_bodies_are_json_whatever_limits_are_called(
        first in name(), second in name(), quota in 1_u32.., window_ms in 1_u64..=366 * 86_400_000, calls in 1_u64..4,
    ) {
        prop_assume!(first != second);
        let window = Duration::from_millis(window_ms);
        let door = Door::new(Policy::limits([
            Limit::new(first.as_str(), FixedWindow::new(quota, window)),
            Limit::new(second.as_str(), FixedWindow::new(1, window)),
        ]));
        let wait = window_ms.div_ceil(1_000);
        let integer = |name: &str, value: u64| (name.to_owned(), BareItem::Integer(i64::try_from(value).unwrap().try_into().unwrap()));
        for call in 0..calls {
            let result = door.call("/", 1);
            let (fields, body) = if result.allowed() {
                let mut fields = HeaderMap::new();
                door.answers.add_fields(&result, door.policies.of_entry(None), &Caller::default(), &mut fields);
                (fields, None)
            } else {
                let response = door.denial(&result, "/", &Caller::default());
                (response.headers().clone(), Some(body(&response)))
            };
            prop_assert_eq!(body.is_some(), call > 0);
            let policy = items(field(&fields, "ratelimit-policy").unwrap());
            prop_assert_eq!(policy, vec![
                (told(&first), vec![integer("q", quota.into()), integer("w", wait)]),
                (told(&second), vec![integer("q", 1), integer("w", wait)]),
            ]);
            let state = items(field(&fields, "ratelimit").unwrap());
            let speaker = if quota == 1 { &first } else { &second };
            prop_assert_eq!(state, vec![(told(speaker), vec![integer("r", 0), integer("t", wait)])]);
            if let Some(body) = body {
                prop_assert_eq!(&body["violated-policies"], &json!([told(speaker)]));
            }
        }
    }
}
