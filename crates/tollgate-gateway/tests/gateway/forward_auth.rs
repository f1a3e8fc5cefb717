//! What proxies ask: `/v1/forward-auth`, `/v1/nginx-auth`.

use tollgate_gateway::Door;

use crate::running::{Answer, Running};

/// `/login` may be asked for three times an hour, all else a thousand times; this machine is a proxy that is trusted.
const CONFIG: &str = "
default: { algorithm: FixedWindow, algoConfig: { maxRequests: 1000, window: 1h } }
endpoints:
  - { endpoint: /login, algorithm: FixedWindow, algoConfig: { maxRequests: 3, window: 1h } }
gateway:
  forwardAuth: true
  nginxAuth: true
  client: { trustedProxies: [127.0.0.1, 10.0.0.0/8] }
";

const CADDY: &str = "/v1/forward-auth";
const NGINX: &str = "/v1/nginx-auth";

/// Asks for a request of this client.
fn ask(running: &Running, path: &str, client: &str, method: &str, target: &str) -> Answer {
    let headers = [
        ("x-forwarded-for", client),
        ("x-forwarded-method", method),
        ("x-forwarded-uri", target),
        ("x-forwarded-host", "shop.example.com"),
        ("x-forwarded-proto", "https"),
    ];
    running.send(Door::Http, ("GET", path), &headers, "")
}

#[test]
fn a_request_passes_until_its_limit_and_then_gets_the_429_the_client_is_to_see() {
    let running = Running::start(CONFIG);
    for remaining in [2, 1, 0] {
        let passed = ask(&running, CADDY, "198.51.100.7", "POST", "/login");
        assert_eq!((passed.status, passed.body.as_str()), (200, ""));
        let told = format!("\"/login\";r={remaining};t=3600");
        assert_eq!(passed.header("ratelimit"), Some(&*told));
    }
    let denied = ask(&running, CADDY, "198.51.100.7", "GET", "/login");
    assert_eq!((denied.status, denied.header("retry-after")), (429, Some("3600")));
    assert_eq!(denied.header("ratelimit"), Some("\"/login\";r=0;t=3600"));
    assert_eq!(denied.header("cache-control"), Some("no-store"));
    assert_eq!(denied.json()["retryAfterMs"], 3_600_000);
    assert_eq!(ask(&running, CADDY, "198.51.100.8", "GET", "/login").status, 200);
    assert_eq!(ask(&running, CADDY, "198.51.100.7", "GET", "/other").status, 200);
}

#[test]
fn nginx_is_told_by_a_403_that_carries_the_status_it_cannot_take() {
    let running = Running::start(CONFIG);
    for _ in 0..3 {
        let passed = ask(&running, NGINX, "198.51.100.7", "GET", "/login");
        assert_eq!((passed.status, passed.header("x-ratelimit-status")), (200, None));
    }
    let denied = ask(&running, NGINX, "198.51.100.7", "GET", "/login");
    assert_eq!((denied.status, denied.header("x-ratelimit-status")), (403, Some("429")));
    assert_eq!(denied.header("retry-after"), Some("3600"));
    let unclear = ask(&running, NGINX, "198.51.100.7", "GET", "/a%2fb");
    assert_eq!((unclear.status, unclear.header("x-ratelimit-status")), (403, Some("400")));
}

#[test]
fn any_method_may_be_used_to_ask() {
    let running = Running::start(CONFIG);
    for method in ["GET", "POST", "PUT", "DELETE", "OPTIONS", "PROPFIND"] {
        let headers = [("x-forwarded-method", method), ("x-forwarded-uri", "/")];
        assert_eq!(running.send(Door::Http, (method, CADDY), &headers, "").status, 200, "{method}");
    }
}

#[test]
fn s02_nobody_but_a_trusted_proxy_may_ask() {
    let config =
        CONFIG.replace("trustedProxies: [127.0.0.1, 10.0.0.0/8]", "trustedProxies: [10.0.0.0/8]");
    let running = Running::start(config);
    let refused = ask(&running, CADDY, "198.51.100.7", "GET", "/login").problem(403);
    assert!(refused.contains("127.0.0.1 is none of `gateway.client.trustedProxies`"), "{refused}");
    let refused = ask(&running, NGINX, "198.51.100.7", "GET", "/login");
    assert_eq!((refused.status, refused.header("x-ratelimit-status")), (403, Some("403")));
    assert_eq!(running.metric(r#"tollgate_untrusted_forwarding_total{door="http"}"#), 2);
}

#[test]
fn a_question_that_is_not_understood_lets_nobody_pass() {
    let running = Running::start(CONFIG);
    let send = |headers: &[(&str, &str)]| running.send(Door::Http, ("GET", CADDY), headers, "");
    let method = ("x-forwarded-method", "GET");
    let target = ("x-forwarded-uri", "/");
    for (headers, told) in [
        (vec![target], "`x-forwarded-method` is missing"),
        (vec![method], "`x-forwarded-uri` is missing"),
        (vec![method, target, target], "`x-forwarded-uri` is given more than once"),
        (vec![method, method, target], "`x-forwarded-method` is given more than once"),
        (vec![("x-forwarded-method", "G T"), target], "`x-forwarded-method`: invalid HTTP method"),
        (vec![method, ("x-forwarded-uri", "")], "target"),
        (vec![method, target, ("x-forwarded-host", "a b")], "host"),
    ] {
        let refused = send(&headers).problem(400);
        assert!(refused.contains(told), "{headers:?}: {refused}");
    }
}

#[test]
fn svc_08_s14_no_spelling_of_a_path_has_a_quota_of_its_own() {
    let spellings = [
        "/login",
        "//login",
        "/./login",
        "/x/../login",
        "/login/",
        "/%6Cogin",
        "/login?x=1",
        "/%2e/login",
        "/login;v=1",
        "/a%2f..%2flogin",
        "/login%23f",
        "/\\login",
        "/login%00",
        "/%2e%2e/login",
        "/login%2F",
        "/login#x",
    ];
    let running = Running::start(CONFIG);
    let statuses: Vec<_> = spellings
        .iter()
        .cycle()
        .take(200)
        .map(|target| ask(&running, CADDY, "198.51.100.7", "GET", target).status)
        .collect();
    assert!(statuses.iter().all(|status| [200, 400, 429].contains(status)), "{statuses:?}");
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 3, "{statuses:?}");
    assert!(statuses.contains(&400));
    let charged =
        running.metric(r#"tollgate_decisions_total{endpoint="default",outcome="allowed"}"#);
    let refused = statuses.iter().filter(|status| **status == 400).count();
    assert_eq!(
        usize::try_from(charged).unwrap(),
        refused,
        "what is refused is charged to the default"
    );
}

#[test]
fn svc_01_s04_the_client_is_the_last_hop_that_is_not_trusted() {
    let running = Running::start(CONFIG);
    let remaining = |chain: &str| {
        let passed = ask(&running, CADDY, chain, "GET", "/login");
        passed.header("ratelimit").map(str::to_owned)
    };
    let told = |left: u32| Some(format!("\"/login\";r={left};t=3600"));
    assert_eq!(remaining("198.51.100.1, 203.0.113.7"), told(2));
    assert_eq!(remaining("127.0.0.1, 203.0.113.7, 10.0.0.2"), told(1));
    assert_eq!(remaining("203.0.113.7:51034"), told(0));
    assert_eq!(remaining("10.0.0.5, 10.0.0.6"), told(2));
}

#[test]
fn svc_05_s11_underscore_twins_are_not_read() {
    let running = Running::start(CONFIG);
    let ask = || {
        let headers = [
            ("x-forwarded-for", "203.0.113.7"),
            ("x_forwarded_for", "198.51.100.1"),
            ("x-forwarded-method", "GET"),
            ("x-forwarded-uri", "/login"),
            ("x_forwarded_uri", "/other"),
        ];
        running.send(Door::Http, ("GET", CADDY), &headers, "").status
    };
    assert_eq!([ask(), ask(), ask(), ask()], [200, 200, 200, 429]);
}

#[test]
fn svc_31_preflights_pass_uncharged_and_scripts_may_read_a_denial() {
    let config = CONFIG.to_owned() + "  cors: { origins: ['https://app.example.com'] }\n";
    let running = Running::start(config.replace("maxRequests: 3", "maxRequests: 1"));
    let ask = |method: &str, more: &[(&str, &str)]| {
        let headers = [("x-forwarded-method", method), ("x-forwarded-uri", "/login")];
        running.send(Door::Http, ("GET", CADDY), &[&headers, more].concat(), "")
    };
    let origin = ("origin", "https://app.example.com");
    for _ in 0..5 {
        let preflight = ask("OPTIONS", &[origin, ("access-control-request-method", "POST")]);
        assert_eq!(preflight.status, 200);
    }
    assert_eq!(ask("GET", &[origin]).status, 200);
    let denied = ask("GET", &[origin]);
    assert_eq!(
        (denied.status, denied.header("access-control-allow-origin")),
        (429, Some(origin.1))
    );
    assert!(denied.header("access-control-expose-headers").unwrap().contains("Retry-After"));
    assert_eq!(ask("OPTIONS", &[]).status, 429, "a bare OPTIONS is a request like all");
}

#[test]
fn svc_29_a_client_by_its_header_is_judged_as_the_config_says() {
    let with = |on_missing: &str| {
        let header = format!("header: {{ name: X-Api-Key, onMissing: {on_missing} }}");
        let running = Running::start(CONFIG.replace("client: {", &format!("client: {{ {header},")));
        let ask = |key: Option<&str>, address: &str| {
            let mut headers = vec![
                ("x-forwarded-method", "GET"),
                ("x-forwarded-uri", "/login"),
                ("x-forwarded-for", address),
            ];
            headers.extend(key.map(|key| ("x-api-key", key)));
            running.send(Door::Http, ("GET", CADDY), &headers, "").status
        };
        for _ in 0..3 {
            assert_eq!(ask(Some("a"), "198.51.100.1"), 200);
        }
        assert_eq!((ask(Some("a"), "198.51.100.2"), ask(Some("b"), "198.51.100.1")), (429, 200));
        let calls = [1, 1, 1, 1, 2, 2].map(|last| {
            let key = if last == 2 { Some("") } else { None };
            ask(key, &format!("198.51.100.{last}"))
        });
        calls.map(|status| status == 200)
    };
    assert_eq!(with("deny"), [false; 6]);
    assert_eq!(with("skip"), [true; 6]);
    assert_eq!(with("address"), [true, true, true, false, true, true]);
    assert_eq!(with("shared"), [true, true, true, false, false, false]);
}

/// A denial in gRPC's words is a 200, which a proxy takes for leave to pass.
#[test]
fn a_denied_request_of_grpc_gets_no_200() {
    let running = Running::start(CONFIG.replace("maxRequests: 3", "maxRequests: 1"));
    let headers = [
        ("x-forwarded-method", "POST"),
        ("x-forwarded-uri", "/login"),
        ("content-type", "application/grpc"),
    ];
    let ask = || running.send(Door::Http, ("POST", CADDY), &headers, "").status;
    assert_eq!((ask(), ask()), (200, 429));
}

#[test]
fn doors_that_the_file_does_not_open_are_closed() {
    let running = Running::start(
        "{ default: { algorithm: TokenBucket, algoConfig: { capacity: 1, refill: 1/s } } }",
    );
    for path in [CADDY, NGINX] {
        assert_eq!(ask(&running, path, "198.51.100.7", "GET", "/").status, 404);
    }
}

#[test]
fn a_reload_changes_who_is_trusted_and_what_clients_are_told() {
    let running = Running::start(CONFIG);
    let passed = ask(&running, CADDY, "198.51.100.7", "GET", "/login");
    assert!(passed.header("ratelimit").is_some());
    running.reload(CONFIG.to_owned() + "  fields: xRateLimit\n");
    let passed = ask(&running, CADDY, "198.51.100.7", "GET", "/login");
    assert_eq!(
        (passed.header("ratelimit"), passed.header("x-ratelimit-remaining")),
        (None, Some("1"))
    );
    running.reload(CONFIG.replace("127.0.0.1, ", ""));
    assert_eq!(ask(&running, CADDY, "198.51.100.7", "GET", "/login").status, 403);
    running.reload(CONFIG.replace("forwardAuth: true", "forwardAuth: false"));
    assert_eq!(ask(&running, CADDY, "198.51.100.7", "GET", "/login").status, 404);
}
