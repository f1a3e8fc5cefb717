//! `tollgate explain`, and `tollgate check --against`.

use crate::files::ScratchFile;
use crate::process::run;

const LIMITS: &str = "
sharedLimits:
  - { name: all, algorithm: TokenBucket, algoConfig: { capacity: 50, refill: 50/s }, scope: global }
every: [all]
default: { algorithm: TokenBucket, algoConfig: { capacity: 10, refill: 1/s } }
endpoints:
  - endpoint: /search
    limits:
      - { name: minute, algorithm: SlidingWindowLog, algoConfig: { maxRequests: 30, window: 1m } }
      - { name: company, algorithm: FixedWindow, algoConfig: { maxRequests: 1000, window: 1d }, scope: tenant }
      - { name: trial, algorithm: TokenBucket, algoConfig: { capacity: 1, refill: 1/h }, mode: shadow }
    cost: 2
    exempt: [operator]
    penalty: { denials: 7, blockFor: 10m }
  - { endpoint: GET /open, unlimited: true }
  - { endpoint: /closed, deny: true }
";

fn explain(options: &[&str]) -> String {
    let file = ScratchFile::new("limits.yaml", LIMITS);
    let finished = run(["explain", "--config", file.name()].iter().chain(options));
    assert_eq!((finished.status, finished.stderr.as_str()), (Some(0), ""));
    finished.stdout
}

fn check(options: &[&str], parts: &[&str]) {
    let told = explain(options);
    for part in parts {
        assert!(told.contains(part), "{part:?} is not in\n{told}");
    }
}

#[test]
fn it_says_which_entry_answers_and_why() {
    check(
        &["--client", "alice", "--endpoint", "/search"],
        &["entry    /search: it has this very name"],
    );
    check(
        &["--client", "alice", "--endpoint", "GET /search"],
        &["entry    /search: the path, for no entry has the method too"],
    );
    check(
        &["--client", "alice", "--endpoint", "POST /open"],
        &["entry    default: no entry has this name"],
    );
}

#[test]
fn it_says_which_limits_decide_under_which_keys_and_the_worst_case() {
    check(
        &["--client", "alice", "--endpoint", "/search", "--tenant", "acme"],
        &[
            "cost     2",
            "penalty  blocked for 10m after 7 denials in a row",
            "minute",
            "client \"alice\"",
            "company",
            "tenant \"acme\"",
            "trial (shadow: denies nobody)",
            "all",
            "(shared)",
            "everybody",
            "at most  15 in any second, 15 in any minute, 900 in any hour, 999 in any day",
        ],
    );
    check(
        &["--client", "alice", "--endpoint", "/search", "--cost", "1"],
        &["tenant: none is given, so the call is an error", "30 in any second"],
    );
    check(
        &["--client", "alice", "--endpoint", "/x"],
        &["at most  11 in any second, 70 in any minute, 3,610 in any hour, 86,410 in any day"],
    );
}

#[test]
fn the_extremes_are_explained_too() {
    let everything = "at most  no limit in any second, no limit in any minute";
    check(
        &["--client", "operator", "--endpoint", "/search"],
        &["none: the client is exempt", everything],
    );
    check(
        &["--client", "a", "--endpoint", "GET /open"],
        &["none: the entry is unlimited", everything],
    );
    check(
        &["--client", "a", "--endpoint", "/closed"],
        &["all calls are denied", "at most  0 in any second"],
    );
}

#[test]
fn a_check_against_the_running_config_tells_what_would_keep_and_lose_state() {
    let running = ScratchFile::new("running.yaml", LIMITS);
    let next = LIMITS
        .replace("maxRequests: 30", "maxRequests: 60")
        .replace(
            "name: company, algorithm: FixedWindow",
            "name: company, algorithm: SlidingWindowCounter",
        )
        .replace("name: trial,", "name: strict, was: trial,")
        .replace("{ endpoint: /closed, deny: true }", "{ endpoint: /closed, unlimited: true }");
    let next = ScratchFile::new("next.yaml", next);
    let finished = run(["check", "--against", running.name(), next.name()]);
    assert_eq!((finished.status, finished.stderr.as_str()), (Some(0), ""));
    let row = |limit: &str| {
        let mut lines = finished.stdout.lines();
        lines.find(|line| line.contains(limit)).unwrap_or_else(|| panic!("{}", finished.stdout))
    };
    for (limit, outcome) in [
        ("minute", "kept, under the new limit"),
        ("company", "LOST: starts anew"),
        ("strict", "kept, under the new limit"),
        ("all ", "kept: nothing changed"),
        ("default", "kept: nothing changed"),
        ("/closed", "unlimited (was denied)"),
    ] {
        assert!(row(limit).contains(outcome), "{limit}: {}", row(limit));
    }
    assert!(row("minute").contains("30, 30 per 1m, client, enforce"), "{}", row("minute"));

    let broken = ScratchFile::new("broken.yaml", "default: 1");
    let finished = run(["check", "--against", broken.name(), next.name()]);
    assert_eq!(finished.status, Some(1));
    assert!(finished.stderr.contains("`default` is 1"), "{}", finished.stderr);
}

const PLANS: &str = "
plans: [free, pro]
clients:
  - { client: alice, plan: pro }
  - { prefix: acme-, plan: pro }
default:
  limits: [{ name: calls, algorithm: TokenBucket, algoConfig: { capacity: 10, refill: 1/s } }]
  plans:
    pro: { limits: [{ name: calls, algorithm: TokenBucket, algoConfig: { capacity: 100, refill: 10/s } }] }
  overrides:
    - { client: bob, until: 2100-01-01T00:00:00Z, unlimited: true }
    - { client: carol, until: 2001-01-01T00:00:00Z, deny: true }
    - { client: dave, algorithm: FixedWindow, algoConfig: { maxRequests: 7, window: 1h } }
";

#[test]
fn it_says_which_plan_the_client_is_on_and_by_whose_word() {
    let file = ScratchFile::new("limits.yaml", PLANS);
    let in_all = ["explain", "--config", file.name(), "--endpoint", "/x", "--client"];
    for (options, parts) in [
        (
            &["alice", "--plan", "free"][..],
            &["plan     pro: the client is on it by name\n", "110 in any second"][..],
        ),
        (
            &["acme-1"],
            &["plan     pro: the client's name begins with \"acme-\"\n", "110 in any second"],
        ),
        (&["erin", "--plan", "pro"], &["plan     pro: the call names it\n", "110 in any second"]),
        (
            &["erin", "--plan", "free"],
            &[
                "plan     free: the call names it; the entry gives it what it gives everybody\n",
                "11 in any second",
            ],
        ),
        (
            &["acme-1", "--plan", "prö"],
            &[
                "name begins with \"acme-\" (no plan is called \"prö\", so the call is as one that names none)\n",
            ],
        ),
        (&["erin", "--plan", "gold"], &["plan     no plan is called \"gold\"", "11 in any second"]),
        (
            &["bob"],
            &[
                "plan     whatever it is, the client has an override here, until 2100-01-01T00:00:00Z\n",
                "none: ",
            ],
        ),
        (&["carol"], &["limits   a call must pass all of these", "11 in any second"]),
        (&["dave"], &["an override here, for good\n", "FixedWindow", "13 in any second"]),
    ] {
        let finished = run(in_all.iter().chain(options));
        assert_eq!((finished.status, finished.stderr.as_str()), (Some(0), ""));
        for part in parts {
            assert!(finished.stdout.contains(part), "{part:?} is not in\n{}", finished.stdout);
        }
    }
    let finished = run(in_all.iter().chain(&["erin"]));
    assert!(!finished.stdout.contains("plan "), "{}", finished.stdout);
}

#[test]
fn checks_tell_what_each_plan_gets_and_what_a_reload_makes_of_it() {
    let running = ScratchFile::new("running.yaml", PLANS);
    let finished = run(["check", running.name()]);
    assert_eq!((finished.status, finished.stderr.as_str()), (Some(0), ""));
    for part in [
        "plan \"pro\"",
        "override of client \"dave\"",
        "default, override of client \"bob\": unlimited",
    ] {
        assert!(finished.stdout.contains(part), "{part} is not in\n{}", finished.stdout);
    }
    let next = PLANS
        .replace("plans: [free, pro]", "plans: [pro, free]")
        .replace("capacity: 100", "capacity: 200")
        .replace(
            "{ client: bob, until: 2100-01-01T00:00:00Z, unlimited: true }",
            "{ client: bob, deny: true }",
        );
    let next = ScratchFile::new("next.yaml", next);
    let finished = run(["check", "--against", running.name(), next.name()]);
    let row = |part: &str| {
        let mut lines = finished.stdout.lines();
        lines
            .find(|line| line.contains(part))
            .unwrap_or_else(|| panic!("{}", finished.stdout))
            .to_owned()
    };
    assert!(row("everybody").contains("kept: nothing changed"));
    let pro = row("plan \"pro\"");
    assert!(pro.contains("kept, under the new limit") && pro.contains("TokenBucket 200"), "{pro}");
    assert!(row("\"dave\"").contains("kept: nothing changed"));
    assert!(row("\"bob\"").contains("denied (was unlimited)"));
}
