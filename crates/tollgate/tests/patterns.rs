//! Endpoints found by patterns: the most specific answers, and what is not settled is refused.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;
use tollgate::{Change, Config, Faults, ManualClock, RateLimiter, TokenBucket, endpoint_faults};

/// A config that tells its entries apart by their limits: the default's is 1, the first entry's 2, and so on.
fn config(names: &[&str]) -> Result<Config, Faults> {
    let builder = Config::builder().default(TokenBucket::per_hour(1));
    let numbered = (2..).zip(names);
    numbered
        .fold(builder, |builder, (limit, name)| {
            builder.endpoint(*name, TokenBucket::per_hour(limit))
        })
        .build()
}

fn limiter(names: &[&str]) -> RateLimiter {
    RateLimiter::builder(config(names).unwrap()).clock(ManualClock::new()).build()
}

/// The name of the entry that answers, `default` where none does.
fn answers<'a>(limiter: &RateLimiter, names: &[&'a str], endpoint: &str) -> &'a str {
    let limit = usize::try_from(limiter.limiter(endpoint).limit()).unwrap();
    limit.checked_sub(2).map_or("default", |index| names[index])
}

#[test]
fn each_endpoint_is_answered_by_the_most_specific_entry() {
    let names = [
        "/users/{id}",
        "GET /users/{id}",
        "/users/me",
        "/users/{id}/posts/{post}",
        "/users/*",
        "/files/*",
        "DELETE /*",
        "/files/tmp/*",
        "reports",
        "*",
        "/t/{tenant}/{kind}/{id}/{part}",
        "/shops/{id}/",
        "GET /shops/{id}/*",
    ];
    let table = [
        ("/users/7", "/users/{id}"),
        ("GET /users/7", "GET /users/{id}"),
        ("POST /users/7", "/users/{id}"),
        ("GET /users/me", "/users/me"),
        ("DELETE /users/me", "/users/me"),
        ("/users/7/posts/9", "/users/{id}/posts/{post}"),
        ("GET /users/7/posts/9", "/users/{id}/posts/{post}"),
        ("/users/7/posts", "/users/*"),
        // A rest may be empty, and a slash at the end is another path.
        ("/users/", "/users/*"),
        ("/users/7/", "/users/*"),
        ("/users", "default"),
        ("DELETE /users", "DELETE /*"),
        ("DELETE /", "DELETE /*"),
        ("GET /", "default"),
        // The path decides before the method does.
        ("DELETE /users/7", "/users/{id}"),
        ("/files/a/", "/files/*"),
        ("/files/tmp/", "/files/tmp/*"),
        ("/files/tmp/a/b", "/files/tmp/*"),
        ("/files/tmp", "/files/*"),
        ("/files/a/b", "/files/*"),
        // The empty rest of one with a method took this from the one that ends here.
        ("GET /shops/7/", "/shops/{id}/"),
        ("GET /shops/7/a", "GET /shops/{id}/*"),
        ("POST /shops/7/", "/shops/{id}/"),
        // Nothing between two slashes is no parameter.
        ("/users//posts/9", "/users/*"),
        ("//users/7", "default"),
        // Nothing is decoded, folded or cut off.
        ("/users/%6De", "/users/{id}"),
        ("/users/7?x=1", "/users/{id}"),
        ("/users/7%2Fposts", "/users/{id}"),
        ("/Users/7", "default"),
        ("/%75sers/7", "default"),
        ("/users/../files/a", "/users/*"),
        ("/users/é", "/users/{id}"),
        // A pattern's own text is no exact name.
        ("/users/*", "/users/{id}"),
        ("/users/{id}", "/users/{id}"),
        ("/files/*", "/files/*"),
        ("POST /users/{id}/posts/{post}", "/users/{id}/posts/{post}"),
        // More parameters than the router holds in place.
        ("/t/a/b/c/d", "/t/{tenant}/{kind}/{id}/{part}"),
        // Names that are no paths.
        ("reports", "reports"),
        ("*", "*"),
        ("OPTIONS *", "default"),
        ("users/7", "default"),
        ("get /users/7", "default"),
        ("GET  /users/7", "default"),
        ("GET users/7", "default"),
        (" /users/7", "default"),
        ("", "default"),
        ("/", "default"),
    ];
    let limiter = limiter(&names);
    for (endpoint, expected) in table {
        assert_eq!(answers(&limiter, &names, endpoint), expected, "{endpoint:?}");
        let entry = limiter.entry(endpoint);
        assert_eq!(entry.as_deref().unwrap_or("default"), expected, "{endpoint:?}");
    }
}

#[test]
fn what_cannot_be_read_or_is_not_settled_is_refused_with_all_its_names() {
    let segment = "the segment SEGMENT cannot be read; expected plain text, a parameter that is all of its segment, \
                   such as {id}, or a * that is the last";
    let pattern = "a name with `{` or `*` is a pattern, and a pattern is a path, such as /users/{id}, /files/* or \
                   GET /users/{id}";
    let many = "/{p}".repeat(21);
    let many_told = format!("endpoint {many:?}: 21 parameters; expected at most 20");
    let told = |name: &str, at: &str| {
        format!("endpoint {name:?}: {}", segment.replace("SEGMENT", &format!("{at:?}")))
    };
    let table: &[(&[&str], &[&str])] = &[
        (&["/a/{}"], &[&told("/a/{}", "{}")]),
        (&["/a/{b"], &[&told("/a/{b", "{b")]),
        (&["/a/{b}c"], &[&told("/a/{b}c", "{b}c")]),
        (&["/a/v{b}"], &[&told("/a/v{b}", "v{b}")]),
        (&["/a/{b}{c}"], &[&told("/a/{b}{c}", "{b}{c}")]),
        (&["/{b/c}"], &[&told("/{b/c}", "{b")]),
        (&["/a/{*rest}"], &[&told("/a/{*rest}", "{*rest}")]),
        (&["/a*"], &[&told("/a*", "a*")]),
        (&["/*/a"], &[&told("/*/a", "*")]),
        (&["/a/**"], &[&told("/a/**", "**")]),
        (&["/*.png"], &[&told("/*.png", "*.png")]),
        (&["a/*"], &[&format!("endpoint \"a/*\": {pattern}")]),
        (&["get /{a}"], &[&format!("endpoint \"get /{{a}}\": {pattern}")]),
        (&["{a}"], &[&format!("endpoint \"{{a}}\": {pattern}")]),
        (&[&many], &[&many_told]),
        (
            &["/a/{b}", "/a", "/a/{c}"],
            &["endpoint \"/a/{c}\": matches the same as \"/a/{b}\"; keep one"],
        ),
        (
            &["/{a}/x", "/y/{b}"],
            &["endpoint \"/y/{b}\": matches \"/y/x\", as \"/{a}/x\" does, and neither is more \
               specific; list that too, or change one"],
        ),
        (
            &["/{a}/", "POST /b/*", "/c/{d}/e/*", "/c/d/{e}/f"],
            &[
                "endpoint \"POST /b/*\": matches \"POST /b/\", as \"/{a}/\" does, and neither is more \
                 specific; list that too, or change one",
                "endpoint \"/c/d/{e}/f\": matches \"/c/d/e/f\", as \"/c/{d}/e/*\" does, and neither is \
                 more specific; list that too, or change one",
            ],
        ),
        (
            &["/{a}/x", "/y/{b}", "GET /y/x", "/y/x/"],
            &["endpoint \"/y/{b}\": matches \"/y/x\", as \"/{a}/x\" does, and neither is more \
               specific; list that too, or change one"],
        ),
        (
            &["GET /{a}/x/{c}/*", "/y/{b}/*"],
            &[
                "endpoint \"/y/{b}/*\": matches \"GET /y/x/{any}/*\", as \"GET /{a}/x/{c}/*\" does, and \
               neither is more specific; list that too, or change one",
            ],
        ),
        // Given twice is one fault and no more.
        (&["/a/{b}", "/a/{b}"], &["endpoint \"/a/{b}\" is given twice; keep one"]),
    ];
    for (names, expected) in table {
        let faults = config(names).unwrap_err();
        let told: Vec<_> = faults.iter().map(ToString::to_string).collect();
        assert_eq!(told, *expected, "{names:?}");
    }
}

#[test]
fn what_is_settled_stands_together() {
    let settled: &[&[&str]] = &[
        &["/{a}", "/b", "/*", "GET /*", "GET /{a}", "/b/*", "/{a}/*", "/b/{c}", "/b/{c}/*"],
        // No endpoint has two methods.
        &["GET /{a}/x", "POST /y/{b}"],
        // What both match has an entry.
        &["/{a}/x", "/y/{b}", "/y/x"],
        &["/{a}/x", "GET /y/{b}", "GET /y/x"],
        &["/{a}/x", "GET /y/{b}", "/y/x"],
        &["/{a}/x/{c}", "/y/{b}/{d}", "/y/x/{e}"],
        &["GET /{a}/*", "GET /y/x/*", "/y/{b}/{c}", "/y/x/{c}"],
        &["/{a}/x/*", "/y/*", "/y/x/*"],
        // What one has and the other has not, no path has both.
        &["/{a}/x", "/{a}/y", "/{a}/x/", "/x/{a}/{b}"],
        &["/{a}/{b}", "//{b}"],
        &["/a}", "b}c", "*", "OPTIONS *", "DELETE *"],
        &[&"/{p}".repeat(20)],
    ];
    for names in settled {
        assert!(config(names).is_ok(), "{:?}", config(names).map(drop));
    }
}

#[test]
fn a_client_has_one_quota_over_all_that_a_pattern_matches() {
    let names = ["/users/{id}"];
    let limiter = limiter(&names);
    assert_eq!(limiter.allow("alice", "GET /users/1").remaining(), 1);
    assert_eq!(limiter.allow("alice", "/users/2").remaining(), 0);
    assert!(!limiter.allow("alice", "POST /users/3").allowed());
    assert!(limiter.allow("bob", "POST /users/3").allowed());
}

#[test]
fn a_reload_keeps_a_patterns_state_by_its_name_wherever_it_stands() {
    let limiter = limiter(&["/users/{id}", "/files/*"]);
    assert_eq!(limiter.allow("alice", "/users/1").remaining(), 1);
    assert_eq!(limiter.allow("alice", "/files/1").remaining(), 2);
    let bucket = TokenBucket::per_hour;
    let next = Config::builder()
        .default(bucket(1))
        .endpoint("/users/me", bucket(9))
        .endpoint("/files/{name}", bucket(8))
        .endpoint("/users/{id}", bucket(2));

    let report = limiter.reload(next.build().unwrap());

    let expected = [
        (None, Change::Kept),
        (Some("/users/me"), Change::New),
        (Some("/files/{name}"), Change::New),
        (Some("/users/{id}"), Change::Kept),
        (Some("/files/*"), Change::Removed),
    ];
    assert_eq!(report.changes().collect::<Vec<_>>(), expected);
    assert_eq!(limiter.peek("alice", "/users/1").remaining(), 1);
    assert_eq!(limiter.peek("alice", "/users/me").remaining(), 9);
    assert_eq!(limiter.peek("alice", "/files/1").remaining(), 8);
    assert_eq!(limiter.peek("alice", "/files/1/2").remaining(), 1);
    let counted = limiter.counts();
    let names: Vec<_> = counted.iter().map(|(name, _)| name.as_deref()).collect();
    assert_eq!(names, [None, Some("/users/me"), Some("/files/{name}"), Some("/users/{id}")]);
}

/// Unknown paths share the default's quota, whatever is made up.
#[test]
fn s16_what_no_pattern_matches_falls_to_the_default() {
    let config = Config::builder()
        .default(TokenBucket::per_hour(5))
        .endpoint("/a/{id}", TokenBucket::per_hour(100))
        .endpoint("/b/*", TokenBucket::per_hour(100))
        .build()
        .unwrap();
    let limiter = RateLimiter::builder(config).clock(ManualClock::new()).build();
    let made_up = |index| match index % 4 {
        0 => format!("/c/{index}"),
        1 => format!("BREW /{index}/x"),
        2 => format!("/a//{index}"),
        _ => format!("host{index}/b/"),
    };
    let admitted = (0..100).filter(|index| limiter.allow("alice", &made_up(*index)).allowed());
    assert_eq!(admitted.count(), 5);
    assert_eq!(limiter.counts()[0].1.keys, 1);
}

/// How specific a pattern is: segment by segment a text before a parameter before a rest, then a method before none.
type Specificity = (Vec<u8>, bool);

/// Whether a name matches an endpoint, by definition, and how specific it is.
fn specificity(name: &str, endpoint: &str) -> Option<Specificity> {
    let (method, path) = split(name);
    let (asked_method, asked_path) = split(endpoint);
    if method.is_some() && method != asked_method {
        return None;
    }
    let mut asked = asked_path.strip_prefix('/')?.split('/');
    let mut kinds = Vec::new();
    for segment in path.strip_prefix('/')?.split('/') {
        let text = asked.next()?;
        match segment {
            "*" => {
                kinds.push(2);
                return Some((kinds, method.is_none()));
            }
            _ if segment.starts_with('{') && !text.is_empty() => kinds.push(1),
            _ if segment == text && !segment.starts_with('{') => kinds.push(0),
            _ => return None,
        }
    }
    asked.next().is_none().then_some((kinds, method.is_none()))
}

fn split(name: &str) -> (Option<&str>, &str) {
    match name.split_once(' ') {
        Some((method @ ("GET" | "POST"), path)) => (Some(method), path),
        _ => (None, name),
    }
}

/// The names of which no fault is found, after those with a fault were taken out.
fn without_faults(names: &[String]) -> Vec<&str> {
    let mut kept: Vec<_> = names.iter().map(String::as_str).collect();
    kept.sort_unstable();
    kept.dedup();
    while let Some(fault) = endpoint_faults(&kept).last() {
        kept.remove(fault.index());
    }
    kept
}

fn name() -> impl Strategy<Value = String> {
    let method = prop_oneof![3 => Just(""), 1 => Just("GET "), 1 => Just("POST ")];
    let segment = prop_oneof![
        3 => Just("a"), 3 => Just("b"), 1 => Just("ab"), 1 => Just(""), 4 => Just("{x}")
    ];
    let end = prop_oneof![3 => Just(""), 1 => Just("/*")];
    (method, vec(segment, 0..4), end).prop_map(|(method, segments, end)| {
        let path: String = segments.iter().flat_map(|segment| ["/", segment]).collect();
        format!(
            "{method}{}",
            if path.is_empty() && end.is_empty() { "/".to_owned() } else { path + end }
        )
    })
}

fn endpoint() -> impl Strategy<Value = String> {
    let method =
        prop_oneof![3 => Just(""), 2 => Just("GET "), 1 => Just("POST "), 1 => Just("PUT ")];
    let segment = prop_oneof![
        4 => Just("a"), 4 => Just("b"), 2 => Just("ab"), 1 => Just(""), 1 => Just("c"), 1 => Just("{x}"),
        1 => Just("*"), 1 => Just("é")
    ];
    (method, vec(segment, 1..6)).prop_map(|(method, segments)| {
        let path: String = segments.iter().flat_map(|segment| ["/", segment]).collect();
        format!("{method}{path}")
    })
}

/// Every path of up to five segments of a small alphabet.
fn all_paths() -> Vec<String> {
    let mut paths = vec![String::new()];
    let mut all = Vec::new();
    for _ in 0..5 {
        let longer =
            |path: &String| ["", "a", "b", "ab", "c"].map(|segment| format!("{path}/{segment}"));
        paths = paths.iter().flat_map(longer).collect();
        all.extend_from_slice(&paths);
    }
    all
}

proptest! {
    #[test]
    fn the_answer_is_that_of_a_slow_search_through_all_entries(
        names in vec(name(), 1..24),
        endpoints in vec(endpoint(), 1..40),
    ) {
        let names = without_faults(&names);
        let limiter = limiter(&names);
        for endpoint in &endpoints {
            let exact = [endpoint.as_str(), split(endpoint).1];
            // `PUT` is no method of any entry, but one all the same.
            let exact = exact.into_iter().chain(endpoint.strip_prefix("PUT "));
            let plain = |name: &str| !name.contains(['{', '*']);
            let by_name = exact.into_iter().find_map(|exact| {
                names.iter().copied().find(|name| plain(name) && *name == exact)
            });
            let asked = endpoint.strip_prefix("PUT ").unwrap_or(endpoint);
            let patterns = names.iter().copied().filter(|name| !plain(name));
            let by_pattern = patterns
                .filter_map(|name| Some((specificity(name, asked)?, name)))
                .min()
                .map(|(_, name)| name);
            let expected = by_name.or(by_pattern).unwrap_or("default");
            prop_assert_eq!(answers(&limiter, &names, endpoint), expected, "{} of {:?}", endpoint, names);
        }
    }

    #[test]
    fn two_patterns_are_refused_where_each_matches_what_the_other_does_not(
        (one, other) in (name(), name()).prop_filter("two patterns", |(one, other)| {
            one != other && [one, other].iter().all(|name| name.contains(['{', '*']))
        }),
    ) {
        let matched = |name: &str| {
            let of_any = |path: &String| specificity(split(name).1, path).is_some();
            all_paths().into_iter().filter(of_any).collect::<BTreeSet<_>>()
        };
        let (first, second) = (matched(&one), matched(&other));
        let (first_method, second_method) = (split(&one).0, split(&other).0);
        let methods_meet = first_method.is_none() || second_method.is_none() || first_method == second_method;
        let same = first == second && first_method == second_method;
        let settled = first.is_subset(&second) || second.is_subset(&first);
        let clash = methods_meet && !first.is_disjoint(&second) && (same || !settled);
        let faults = endpoint_faults(&[&one, &other]);
        prop_assert_eq!(!faults.is_empty(), clash, "{:?}", faults);
    }

    #[test]
    fn any_text_can_be_asked_for_and_any_name_is_taken_or_refused(
        texts in vec("[ /{}*%aGÉ\u{0}]{0,12}", 0..12),
        any in any::<String>(),
    ) {
        let names = without_faults(&texts);
        let limiter = limiter(&names);
        for text in texts.iter().chain([&any]) {
            prop_assert!(limiter.allow("alice", text).limit() >= 1);
        }
    }
}
