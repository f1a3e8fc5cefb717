//! Which endpoint a request is for: vectors of paths, cases from public reports, and properties.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::time::Duration;

use http::{Method, Request};
use proptest::collection::vec;
use proptest::prelude::*;
use tollgate::{Config, FixedWindow, RateLimiter};
use tollgate_http::{Endpoint, EndpointRules, Host, TargetFault, TargetFaultKind};

fn read(target: &str) -> Result<Endpoint<'_>, TargetFault> {
    EndpointRules::new().endpoint(&Method::GET, target.as_bytes(), None)
}

/// What a target is judged as and forwarded as, or what is wrong with it.
fn judged(rules: EndpointRules, target: &str) -> Result<(String, String), TargetFaultKind> {
    let endpoint = rules.endpoint(&Method::GET, target.as_bytes(), None);
    let endpoint = endpoint.map_err(|fault| fault.kind())?;
    Ok((endpoint.path().to_owned(), endpoint.path_and_query().to_owned()))
}

/// Id, request target, what is forwarded.
const MATCHES: [(&str, &str, &str); 21] = [
    ("P-01", "/login", "/login"),
    ("P-02", "/login/", "/login/"),
    ("P-03", "//login", "/login"),
    ("P-03", "///login//", "/login/"),
    ("P-04", "/./login", "/login"),
    ("P-04", "/login/.", "/login/"),
    ("P-05", "/a/../login", "/login"),
    ("P-05", "/login/a/..", "/login/"),
    ("P-06", "/%6Cogin", "/login"),
    ("P-07", "/%6cogin", "/login"),
    ("P-09", "/%2E/login", "/login"),
    ("P-11", "/%2e%2e/login", "/login"),
    ("P-12", "/../../login", "/login"),
    ("P-12", "/..//login", "/login"),
    ("P-12", "/a/..//../login", "/login"),
    ("P-18", "/login;v=1", "/login;v=1"),
    ("P-18", "/login;a;b=/", "/login;a;b=/"),
    ("P-18", "/login%3Bv=1", "/login%3Bv=1"),
    ("P-21", "/login?x=1", "/login?x=1"),
    ("P-21", "//login?a=/../b//%2F", "/login?a=/../b//%2F"),
    ("P-21", "/login?", "/login?"),
];

#[test]
fn p01_to_p21_spellings_of_one_path_are_one_endpoint_and_what_is_judged_is_forwarded() {
    for (id, target, forwarded) in MATCHES {
        let endpoint = read(target).unwrap();
        assert_eq!(endpoint.name(), "GET /login", "{id} {target}");
        assert_eq!(endpoint.path_and_query(), forwarded, "{id} {target}");
        let is_rewritten = target != forwarded;
        assert_eq!(endpoint.rewritten(), is_rewritten.then_some(forwarded), "{id} {target}");
        assert_eq!(endpoint.clone().into_owned(), endpoint, "{id} {target}");
    }
}

#[test]
fn p08_to_p24_what_servers_read_in_two_ways_is_refused() {
    use TargetFaultKind::{
        Asterisk, Backslash, BrokenEscape, Control, DotSegment, EscapedSlash, Fragment, NoPath,
        NotEscaped, ParametersAlone,
    };
    let table = [
        ("P-08", "/login%2F", EscapedSlash, 6),
        ("P-08", "/login%2f", EscapedSlash, 6),
        ("P-10", "/a%2f..%2flogin", EscapedSlash, 2),
        ("P-13", "/login%00", Control, 6),
        ("P-13", "/login%0a", Control, 6),
        ("P-13", "/login\u{1}", Control, 6),
        ("P-13", "/login%7f", Control, 6),
        ("P-13", "/login?\u{1f}", Control, 7),
        ("P-13", "/login?\u{7f}", Control, 7),
        ("P-14", "/\\login", Backslash, 1),
        ("P-14", "/%5clogin", Backslash, 1),
        ("P-14", "/a/%5Clogin", Backslash, 3),
        ("P-20", "/login#x", Fragment, 6),
        ("P-20", "/login?a#x", Fragment, 8),
        ("P-22", "*", Asterisk, 0),
        ("P-23", "/l\u{f6}gin", NotEscaped, 2),
        ("P-23", "/login?\u{f6}", NotEscaped, 7),
        ("P-23", "/lo gin", NotEscaped, 3),
        ("P-24", "/login%", BrokenEscape, 6),
        ("P-24", "/login%6", BrokenEscape, 6),
        ("P-24", "/%zzlogin", BrokenEscape, 1),
        ("P-24", "/%u006cogin", BrokenEscape, 1),
        ("no path", "login", NoPath, 0),
        ("no path", "", NoPath, 0),
        ("no path", "?x=1", NoPath, 0),
        ("no path", "ftp://example.com/login", NoPath, 0),
        // Servers that take parameters off first resolve `..;` as `..`.
        ("parameters", "/a/..;/login", DotSegment, 3),
        ("parameters", "/a/..;x=1/login", DotSegment, 3),
        ("parameters", "/.;/login", DotSegment, 1),
        ("parameters", "/a/..%3B/login", DotSegment, 3),
        ("parameters", "/a/..%23/login", DotSegment, 3),
        // Servers that merge slashes first take `a` away, others the empty segment.
        ("slashes", "/a//../login", DotSegment, 4),
        ("parameters", "/;x/login", ParametersAlone, 1),
        ("parameters", "/login/;x", ParametersAlone, 7),
        ("parameters", "/a/;x/../login", ParametersAlone, 3),
        ("slashes", "/a//b/../../login", DotSegment, 9),
    ];
    for (id, target, kind, at) in table {
        let fault = read(target).unwrap_err();
        assert_eq!((fault.kind(), fault.at()), (kind, at), "{id} {target}");
    }
}

#[test]
fn p15_p16_case_is_kept_or_folded_after_decoding() {
    let (kept, folded) = (EndpointRules::new(), EndpointRules::new().fold_case());
    let table = [
        ("P-15", "/LOGIN", "/LOGIN", "/login"),
        ("P-16", "/%4cOGIN", "/LOGIN", "/login"),
        // The digits of escapes have a case of their own.
        ("P-16", "/A%7bB", "/A%7BB", "/a%7Bb"),
    ];
    for (id, target, as_it_is, in_lower_case) in table {
        assert_eq!(judged(kept, target).unwrap().0, as_it_is, "{id}");
        assert_eq!(judged(folded, target).unwrap().0, in_lower_case, "{id}");
        assert_eq!(judged(folded, target).unwrap().1, as_it_is, "{id}: the case is forwarded");
    }
}

#[test]
fn p17_nothing_is_decoded_twice() {
    let endpoint = read("/login%252e").unwrap();
    assert_eq!(endpoint.name(), "GET /login%252e");
    assert_eq!(endpoint.rewritten(), None);
    assert_eq!(read("/%2525").unwrap().path(), "/%2525");
    assert_eq!(read("/%252e%252e/login").unwrap().path(), "/%252e%252e/login");
}

#[test]
fn p19_the_host_of_an_absolute_target_is_the_one_that_counts() {
    let request = Request::get("http://other.example/login").header("host", "api.example.com");
    let request = request.body(()).unwrap();
    let endpoint = EndpointRules::new().of_request(&request).unwrap();
    assert_eq!((endpoint.name(), endpoint.path_and_query()), ("GET /login", "/login"));
    assert_eq!(endpoint.host().unwrap().to_string(), "other.example");

    let table = [
        ("http://other.example/login?a", "/login?a", false),
        ("HTTPS://other.example:443/login", "/login", false),
        ("http://other.example", "/", true),
        ("http://other.example?a=/b", "/?a=/b", true),
    ];
    for (target, forwarded, is_rewritten) in table {
        let endpoint = EndpointRules::new().endpoint(
            &Method::GET,
            target.as_bytes(),
            Some(b"api.example.com"),
        );
        let endpoint = endpoint.unwrap();
        assert_eq!(endpoint.path_and_query(), forwarded, "{target}");
        assert_eq!(endpoint.rewritten().is_some(), is_rewritten, "{target}");
        assert_eq!(endpoint.host().unwrap().to_string(), "other.example", "{target}");
        let uri: http::Uri = target.parse().unwrap();
        let request = Request::get(uri).body(()).unwrap();
        let of_request = EndpointRules::new().of_request(&request).unwrap();
        assert_eq!(of_request.name(), endpoint.name(), "{target}");
        assert_eq!(of_request.path_and_query(), forwarded, "{target}");
    }
}

#[test]
fn p22_the_asterisk_goes_with_options_alone() {
    let rules = EndpointRules::new();
    let endpoint = rules.endpoint(&Method::OPTIONS, b"*", None).unwrap();
    assert_eq!((endpoint.name(), endpoint.path_and_query()), ("OPTIONS *", "*"));
    for method in [Method::GET, Method::HEAD, Method::POST] {
        let fault = rules.endpoint(&method, b"*", None).unwrap_err();
        assert_eq!(fault.kind(), TargetFaultKind::Asterisk);
    }
    let request = Request::options("*").body(()).unwrap();
    assert_eq!(rules.of_request(&request).unwrap().name(), "OPTIONS *");
}

#[test]
fn a_fragment_that_a_server_dropped_is_forwarded_nowhere() {
    let request = Request::get("/login#x").body(()).unwrap();
    let endpoint = EndpointRules::new().of_request(&request).unwrap();
    assert_eq!((endpoint.name(), endpoint.path_and_query()), ("GET /login", "/login"));
}

#[test]
fn other_targets_name_no_endpoint() {
    let rules = EndpointRules::new();
    let connect = Request::connect("example.com:443").body(()).unwrap();
    assert_eq!(rules.of_request(&connect).unwrap_err().kind(), TargetFaultKind::NoPath);
    let two_hosts = Request::get("/login").header("host", "a.example").header("host", "b.example");
    let fault = rules.of_request(&two_hosts.body(()).unwrap()).unwrap_err();
    assert_eq!(fault.kind(), TargetFaultKind::HostRepeated);
    let bad_host = Request::get("/login").header("host", "a/b").body(()).unwrap();
    assert_eq!(rules.of_request(&bad_host).unwrap_err().kind(), TargetFaultKind::HostMalformed);
}

#[test]
fn head_is_judged_as_get_and_other_methods_are_themselves_in_upper_case() {
    let rules = EndpointRules::new();
    let name = |method: &str| {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        rules.endpoint(&method, b"/login", None).unwrap().name().to_owned()
    };
    let names = ["HEAD", "GET", "POST", "get", "head", "BREW", "M-SEARCH"].map(name);
    let get = "GET /login";
    let others = ["BREW /login", "M-SEARCH /login"];
    assert_eq!(names, [get, get, "POST /login", get, get, others[0], others[1]]);
}

#[test]
fn a_method_nobody_has_heard_of_escapes_no_limit_of_a_path() {
    let limiter = limiter();
    for method in ["post", "X1", "G_T", "!", "1"] {
        let method = Method::from_bytes(method.as_bytes()).unwrap();
        let endpoint = EndpointRules::new().endpoint(&method, b"/api/login", None).unwrap();
        assert_eq!(limiter.entry(endpoint.name()).as_deref(), Some("/api/login"), "{method}");
        assert_eq!(endpoint.path(), "/api/login");
    }
}

#[test]
fn escapes_of_what_may_stand_in_a_path_are_judged_decoded_and_forwarded_as_they_came() {
    let table = [
        ("/users/%40me", "/users/@me", "/users/%40me"),
        ("/users/@me", "/users/@me", "/users/@me"),
        ("/a%2Bb%2c%3d%26", "/a+b,=&", "/a%2Bb%2C%3D%26"),
        ("/%7Buser%7D", "/%7Buser%7D", "/%7Buser%7D"),
        ("/{user}", "/%7Buser%7D", "/%7Buser%7D"),
        ("/a|b\"<>^`", "/a%7Cb%22%3C%3E%5E%60", "/a%7Cb%22%3C%3E%5E%60"),
        ("/a%20b", "/a%20b", "/a%20b"),
        // Before what servers that decode too early cut at stands a name; where there is none, that is the name.
        ("/tags/c%23", "/tags/c", "/tags/c%23"),
        ("/tags/%23rust", "/tags/%23rust", "/tags/%23rust"),
        ("/tags/%23rust;v=1", "/tags/%23rust", "/tags/%23rust;v=1"),
        ("/tags/%3Brust%23", "/tags/%3Brust", "/tags/%3Brust%23"),
        ("/tags/%3F", "/tags/%3F", "/tags/%3F"),
        ("/tags/%3B", "/tags/%3B", "/tags/%3B"),
        ("/l%c3%b6gin", "/l%C3%B6gin", "/l%C3%B6gin"),
        ("/%7euser/.well-known/%2e.x", "/~user/.well-known/..x", "/~user/.well-known/..x"),
    ];
    for (target, judged_as, forwarded) in table {
        let expected = Ok((judged_as.to_owned(), forwarded.to_owned()));
        assert_eq!(judged(EndpointRules::new(), target), expected, "{target}");
    }
}

#[test]
fn each_default_has_a_switch() {
    let rules = EndpointRules::new();
    let table = [
        (rules.keep_slashes(), "/a//b/", "/a//b", "/a//b/"),
        (rules.keep_slashes(), "/a//../b", "/a/b", "/a/b"),
        (rules.keep_slashes(), "//", "/", "//"),
        (rules.keep_trailing_slash(), "/a/", "/a/", "/a/"),
        (rules.keep_trailing_slash(), "/a//", "/a/", "/a/"),
        (rules.keep_trailing_slash(), "/", "/", "/"),
        (rules.keep_parameters(), "/a;v=1", "/a;v=1", "/a;v=1"),
        (rules.keep_parameters(), "/a%3bv=1", "/a;v=1", "/a%3Bv=1"),
        (rules.keep_parameters(), "/a/;x", "/a/;x", "/a/;x"),
        (rules.keep_parameters(), "/a%23b", "/a%23b", "/a%23b"),
        (rules.allow_escaped_slash(), "/@a%2fb", "/@a%2Fb", "/@a%2Fb"),
    ];
    for (rules, target, judged_as, forwarded) in table {
        let expected = Ok((judged_as.to_owned(), forwarded.to_owned()));
        assert_eq!(judged(rules, target), expected, "{target} by {rules:?}");
    }
    for target in ["/a%2f..%2flogin", "/..%2flogin", "/a/%2e%2e%2f", "/a%2F..;x"] {
        let refused = judged(rules.allow_escaped_slash(), target);
        assert_eq!(refused, Err(TargetFaultKind::DotSegment), "{target}");
    }
}

/// A limiter of three a minute on `/api/login`, and a thousand on all else.
fn limiter() -> RateLimiter {
    let minute = Duration::from_secs(60);
    let config = Config::builder()
        .default(FixedWindow::new(1_000, minute))
        .endpoint("/api/login", FixedWindow::new(3, minute));
    RateLimiter::new(config.build().unwrap())
}

#[test]
fn svc08_respelled_paths_share_the_counter() {
    let limiter = limiter();
    let allowed = |target: &str| {
        let endpoint = read(target).map_err(|fault| fault.kind())?;
        Ok(limiter.allow("alice", endpoint.name()).allowed())
    };
    let targets = [
        ("/api/login", Ok(true)),
        ("//api/login", Ok(true)),
        ("/api/./login", Ok(true)),
        ("/api/x/../login", Ok(false)),
        ("/api/login/", Ok(false)),
        ("/api/%6Cogin", Ok(false)),
        ("/api/login?x=1", Ok(false)),
        ("/api/%2e/login", Ok(false)),
        ("/api/login;v=1", Ok(false)),
        ("/api%2Flogin", Err(TargetFaultKind::EscapedSlash)),
        // Servers that decode too early take it for a fragment.
        ("/api/login%23f", Ok(false)),
        ("/api/login%3Fx", Ok(false)),
        ("/api\\login", Err(TargetFaultKind::Backslash)),
        // Letters keep their case unless told otherwise: another path, under the limit of all others.
        ("/API/login", Ok(true)),
    ];
    for (target, expected) in targets {
        assert_eq!(allowed(target), expected, "{target}");
    }
}

#[test]
fn what_a_config_lists_is_told_as_it_is_judged() {
    let table = [
        ("/login", "/login"),
        ("GET /login", "GET /login"),
        ("get /login", "GET /login"),
        ("HEAD /login", "GET /login"),
        ("/login/", "/login"),
        ("/Login", "/Login"),
        ("//login;v=1", "/login"),
        ("/login?x=1", "/login"),
        ("/%6cogin", "/login"),
        ("/a/../login", "/login"),
        ("/", "/"),
        ("GET /users/{id}/posts/", "GET /users/{id}/posts"),
        ("/files/*", "/files/*"),
        ("/{a}/../{b}/./*", "/{b}/*"),
        ("/~5~/{a}", "/~5~/{a}"),
        // No request has such a name, and other doors may.
        ("OPTIONS *", "OPTIONS *"),
        ("reports", "reports"),
        ("a b", "a b"),
    ];
    for (listed, expected) in table {
        assert_eq!(EndpointRules::new().name_as_judged(listed).unwrap(), expected, "{listed}");
    }
    assert_eq!(
        EndpointRules::new().fold_case().name_as_judged("/Users/{ID}").unwrap(),
        "/users/{ID}"
    );
    let fault = EndpointRules::new().name_as_judged("/l\u{f6}gin/{id}").unwrap_err();
    assert_eq!(fault.kind(), TargetFaultKind::NotEscaped);
}

#[test]
fn svc08_hosts_are_equal_however_they_are_spelt() {
    let hosts = [
        "api.example.com",
        "API.EXAMPLE.COM",
        "api.example.com.",
        "api.example.com:443",
        "Api.Example.com.:80",
    ];
    for host in hosts {
        assert_eq!(Host::read(host.as_bytes()).unwrap().to_string(), "api.example.com", "{host}");
        let request = Request::get("/api/login").header("host", host).body(()).unwrap();
        let endpoint = EndpointRules::new().of_request(&request).unwrap();
        assert_eq!(endpoint.host().unwrap().name(), "api.example.com");
    }
}

#[test]
fn hosts_are_names_or_addresses_with_or_without_a_port() {
    let table = [
        ("a.example:8080", "a.example:8080"),
        ("a.example:", "a.example"),
        ("a.example:0443", "a.example"),
        ("my_service", "my_service"),
        ("127.0.0.1:3000", "127.0.0.1:3000"),
        ("[2001:DB8::0:1]:443", "[2001:db8::1]"),
        ("[::1]:8080", "[::1]:8080"),
        ("xn--bcher-kva.example", "xn--bcher-kva.example"),
    ];
    for (host, expected) in table {
        assert_eq!(Host::read(host.as_bytes()).unwrap().to_string(), expected, "{host}");
    }
    let malformed = [
        "",
        ".",
        "..",
        "a..b",
        ".a",
        "a..",
        "a b",
        "a/b",
        "user@a",
        "a%2eb",
        "b\u{fc}cher",
        "a:b",
        "a:65536",
        "a:+80",
        "::1",
        "[::1",
        "[::1]x",
        "[::1%25eth0]",
        "[a]",
        "a,b",
        "a\\b",
        "a:80:80",
    ];
    for host in malformed {
        let fault = Host::read(host.as_bytes()).unwrap_err();
        assert_eq!(fault.kind(), TargetFaultKind::HostMalformed, "{host}");
    }
    assert!(Host::read(b"\xff").is_err());
}

#[test]
fn r77_a_query_makes_no_new_endpoint() {
    let names = ["/search", "/search?", "/search?q=1", "/search?q=/../x%2F"];
    for target in names {
        assert_eq!(read(target).unwrap().name(), "GET /search", "{target}");
    }
}

#[test]
fn s14_no_spelling_escapes_the_limit_of_a_path() {
    let minute = Duration::from_secs(60);
    let config = Config::builder()
        .default(FixedWindow::new(1_000, minute))
        .endpoint("/login", FixedWindow::new(3, minute));
    let limiter = RateLimiter::new(config.build().unwrap());
    let reached = (0..10)
        .flat_map(|_| MATCHES)
        .filter(|(_, target, _)| limiter.allow("alice", read(target).unwrap().name()).allowed());
    assert_eq!(reached.count(), 3);
    // What is refused is charged like whatever no config lists.
    assert!(limiter.allow("alice", TargetFault::ENDPOINT).allowed());
    assert_eq!(limiter.entry(TargetFault::ENDPOINT), None);
}

#[test]
fn a_fault_says_what_where_and_what_to_do() {
    let table = [
        (
            "/login%2F",
            "the request target has an escaped slash (%2F), which servers read in two ways; send `/`, or a name without it, at byte 6",
        ),
        (
            "login",
            "the request target has no path; expected `/path`, `http://host/path`, or `*` with OPTIONS, at byte 0",
        ),
        (
            "/%zz",
            "the request target has a `%` without two hexadecimal digits behind it; send the character `%` as %25, at byte 1",
        ),
    ];
    for (target, expected) in table {
        assert_eq!(read(target).unwrap_err().to_string(), expected);
    }
}

#[test]
fn a_path_in_its_normal_form_takes_one_allocation_and_any_other_a_few() {
    let rules = EndpointRules::new();
    for (target, most) in [
        ("/users/7/posts?page=2", 1),
        ("/", 1),
        ("/users/", 1),
        ("/a../c", 1),
        ("/a/../b;c//d", 10),
    ] {
        let counted = allocation_counter::measure(|| {
            let endpoint =
                rules.endpoint(&Method::GET, target.as_bytes(), Some(b"api.example.com"));
            assert!(endpoint.is_ok());
        });
        assert!(counted.count_total <= most, "{target}: {}", counted.count_total);
    }
}

#[test]
fn a_path_that_goes_back_as_often_as_can_be_takes_no_longer_than_its_length() {
    // Were each step back to look at all that is left, this would take minutes.
    let target = "/".repeat(30_000) + &"/..".repeat(30_000);
    assert_eq!(read(&target).unwrap().path(), "/");
    let target = "/a".repeat(30_000) + &"/..".repeat(30_000) + "/login";
    assert_eq!(read(&target).unwrap().path(), "/login");
}

/// RFC 3986, section 5.2.4, as it is written there.
fn remove_dot_segments(path: &str) -> String {
    let (mut input, mut output) = (path.to_owned(), String::new());
    while !input.is_empty() {
        if let Some(rest) = input.strip_prefix("../").or_else(|| input.strip_prefix("./")) {
            input = rest.to_owned();
        } else if let Some(rest) = input.strip_prefix("/./") {
            input = format!("/{rest}");
        } else if input == "/." {
            input.truncate(1);
        } else if input.starts_with("/../") || input == "/.." {
            input = format!("/{}", input.get(4..).unwrap_or_default());
            output.truncate(output.rfind('/').unwrap_or(0));
        } else if input == "." || input == ".." {
            input.clear();
        } else {
            let end = input.char_indices().skip(1).find(|(_, letter)| *letter == '/');
            let rest = input.split_off(end.map_or(input.len(), |(at, _)| at));
            output.push_str(&input);
            input = rest;
        }
    }
    output
}

/// What a server makes of a path: the names from the root down, in bytes.
type Server = fn(&str) -> Vec<Vec<u8>>;

/// Every escape, once.
fn decoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let digits = after.split_at_checked(2).filter(|_| *byte == b'%');
        let escaped = digits.and_then(|(digits, after)| {
            let digits = std::str::from_utf8(digits).ok()?;
            Some((u8::from_str_radix(digits, 16).ok()?, after))
        });
        let (byte, after) = escaped.unwrap_or((*byte, after));
        bytes.push(byte);
        rest = after;
    }
    bytes
}

/// Goes down a path, and up where it says so. Empty names count for nothing.
fn walked(segments: impl Iterator<Item = Vec<u8>>) -> Vec<Vec<u8>> {
    let mut names: Vec<Vec<u8>> = Vec::new();
    for segment in segments {
        match &*segment {
            b"" | b"." => {}
            b".." => drop(names.pop()),
            _ => names.push(segment),
        }
    }
    names
}

/// Decodes first, merges slashes, then resolves: as nginx does.
fn decoding(path: &str) -> Vec<Vec<u8>> {
    walked(decoded(path).split(|byte| *byte == b'/').map(<[u8]>::to_vec))
}

/// Takes parameters off, decodes, merges slashes, then resolves: as servers of servlets do.
fn taking_parameters_off(path: &str) -> Vec<Vec<u8>> {
    walked(path.split('/').map(|segment| decoded(segment.split(';').next().unwrap())))
}

/// Resolves as RFC 3986 says, then decodes, then merges slashes: as Envoy does.
fn resolving_first(path: &str) -> Vec<Vec<u8>> {
    let unreserved = path.replace("%2e", ".").replace("%2E", ".");
    let resolved = remove_dot_segments(&unreserved);
    resolved.split('/').filter(|name| !name.is_empty()).map(decoded).collect()
}

/// The plain path of what a server found.
fn plain(names: &[Vec<u8>]) -> String {
    let byte = |byte: &u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'.' | b'~' | b'@' | b'*' => char::from(*byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    let name =
        |name: &Vec<u8>| "/".to_owned() + &name.iter().map(byte).collect::<Vec<_>>().concat();
    let path = names.iter().map(name).collect::<Vec<_>>().concat();
    if path.is_empty() { "/".to_owned() } else { path }
}

/// Targets made up of what could confuse a reader.
fn target() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("/"),
        Just("/"),
        Just("."),
        Just(".."),
        Just("a"),
        Just("B"),
        Just("%61"),
        Just("%2e"),
        Just("%2E"),
        Just("%2f"),
        Just("%3b"),
        Just("%40"),
        Just("@"),
        Just(";"),
        Just(";x=1"),
        Just("%7b"),
        Just("{"),
        Just("%25"),
        Just("%32"),
        Just("%23"),
        Just("%c3%b6"),
        Just("?"),
        Just("*"),
        Just("~"),
    ];
    vec(piece, 0..12).prop_map(|pieces| format!("/{}", pieces.concat()))
}

fn any_rules() -> impl Strategy<Value = EndpointRules> {
    vec(any::<bool>(), 5).prop_map(|switches| {
        let mut rules = EndpointRules::new();
        let turns = [
            EndpointRules::fold_case,
            EndpointRules::keep_slashes,
            EndpointRules::keep_trailing_slash,
            EndpointRules::keep_parameters,
            EndpointRules::allow_escaped_slash,
        ];
        for (turn, _) in turns.into_iter().zip(switches).filter(|(_, is_on)| *is_on) {
            rules = turn(rules);
        }
        rules
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn a_normal_form_is_its_own_normal_form(target in target(), rules in any_rules()) {
        if let Ok((judged_as, forwarded)) = judged(rules, &target) {
            let again = judged(rules, &forwarded);
            prop_assert_eq!(again, Ok((judged_as.clone(), forwarded)), "what is forwarded");
            let (of_judged, _) = judged(rules, &judged_as).unwrap();
            prop_assert_eq!(of_judged, judged_as, "what is judged");
        }
    }

    #[test]
    fn what_is_forwarded_has_nothing_left_to_resolve(target in target()) {
        if let Ok((_, forwarded)) = judged(EndpointRules::new(), &target) {
            let path = forwarded.split('?').next().unwrap();
            prop_assert_eq!(remove_dot_segments(path), path);
            prop_assert!(!path.contains("//") && !path.to_lowercase().contains("%2f"), "{}", path);
            prop_assert!(forwarded.parse::<http::uri::PathAndQuery>().is_ok());
        }
    }

    #[test]
    fn spellings_that_rfc_3986_resolves_to_one_path_have_one_name(target in target()) {
        let path = target.split('?').next().unwrap();
        let resolved = remove_dot_segments(path);
        let rules = EndpointRules::new();
        // One of them may be refused, where servers differ; none has a name of its own.
        if let (Ok(one), Ok(other)) = (judged(rules, path), judged(rules, &resolved)) {
            prop_assert_eq!(one, other);
        }
    }

    #[test]
    fn what_is_accepted_has_the_name_of_what_any_server_would_serve(target in target()) {
        let path = target.split('?').next().unwrap();
        let servers: [(&str, Server); 3] = [
            ("decoding", decoding),
            ("taking parameters off", taking_parameters_off),
            ("resolving first", resolving_first),
        ];
        if let Ok((name, _)) = judged(EndpointRules::new(), path) {
            for (server, serve) in servers {
                let served = plain(&serve(path));
                let of_served = judged(EndpointRules::new(), &served).map(|(name, _)| name);
                prop_assert_eq!(of_served, Ok(name.clone()), "{} serves {}", server, served);
            }
        }
    }

    #[test]
    fn escaping_letters_or_adding_what_does_not_count_changes_no_name(
        segments in vec("[a-z~_-]{1,4}", 1..4), spelt in vec(0_usize..6, 4),
    ) {
        let plain = format!("/{}", segments.join("/"));
        let respelt: String = segments.iter().zip(spelt.iter().cycle()).map(|(segment, how)| match how {
            0 => format!("/{segment}"),
            1 => format!("//{segment}"),
            2 => format!("/./{segment}"),
            3 => format!("/x/../{segment}"),
            4 => format!("/{segment};v=1"),
            _ => {
                let (first, rest) = segment.split_at(1);
                format!("/%{:02x}{rest}", first.as_bytes()[0])
            }
        }).collect();
        prop_assert_eq!(read(&plain).unwrap().name().to_owned(), read(&respelt).unwrap().name().to_owned());
    }

    #[test]
    fn any_bytes_are_an_endpoint_or_a_fault(bytes in vec(any::<u8>(), 0..40), rules in any_rules(), rooted: bool) {
        let target = if rooted { [b"/", &bytes[..]].concat() } else { bytes.clone() };
        for method in [Method::GET, Method::OPTIONS] {
            match rules.endpoint(&method, &target, Some(&bytes)) {
                Ok(endpoint) => prop_assert!(endpoint.name().is_ascii() && endpoint.path_and_query().is_ascii()),
                Err(fault) => prop_assert!(fault.at() <= target.len(), "{}", fault),
            }
        }
    }

    #[test]
    fn the_short_way_and_the_long_way_agree(path in "(/[a-z.@]{0,3}){1,4}", rules in any_rules()) {
        // An escape sends the whole path the long way.
        let escaped = path.replacen('a', "%61", 1);
        prop_assert_eq!(judged(rules, &path), judged(rules, &escaped));
    }
}
