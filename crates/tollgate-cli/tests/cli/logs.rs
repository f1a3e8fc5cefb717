//! What the log of `tollgate serve` holds, and what it does not.

use rustix::process::Signal;
use serde_json::Value;

use crate::files::{ScratchFile, bucket};
use crate::server::Server;

const CANARY: &str = "canary-0123456789abcdef";

/// Starts a server whose operators show the canary.
fn start(options: &[&str]) -> (Server, ScratchFile) {
    let config = bucket(1) + "gateway: { admin: { tokenFile: token } }\n";
    let file = ScratchFile::new("limits.yaml", config);
    std::fs::write(file.path().with_file_name("token"), CANARY)
        .expect("the folder is this test's own");
    (Server::start_telling_all(file.path(), options), file)
}

/// `"a\r\nERROR forged\u{1b}[31m\u{202e}","level":"ERROR` and a thousand letters, as a segment of a path.
fn hostile() -> String {
    let forged = "a%0D%0AERROR%20forged%1B%5B31m%E2%80%AE%22%2C%22level%22%3A%22ERROR";
    format!("{forged}{}", "x".repeat(1_000))
}

#[test]
fn s85_what_clients_are_called_forges_no_line_of_the_log() {
    for options in [&[][..], &["--log-format", "json"]] {
        let (server, _file) = start(options);
        let path = format!("/v1/clients/{}/override", hostile());
        let set = server.operate("PUT", &path, CANARY, r#"{"mode": "block", "for": "1h"}"#);
        assert_eq!(set.status, 200, "{set:?}");
        server.signal(Signal::TERM);
        let (log, status) = server.wait();
        assert_eq!(status, Some(0));
        let told: Vec<_> = log.iter().filter(|line| line.contains("forged")).collect();
        let [line] = *told else { panic!("{told:#?}") };
        assert!(line.contains("tollgate::audit") && line.contains("INFO"), "{line}");
        assert!(line.chars().count() < 700, "{line}");
        assert!(!line.contains(['\u{1b}', '\u{202e}']), "{line}");
        if !options.is_empty() {
            let lines = log.iter().map(|line| serde_json::from_str::<Value>(line));
            assert!(lines.map(Result::unwrap).all(|event| event["level"] != "ERROR"));
        }
    }
}

#[test]
fn s86_no_secret_is_in_the_log_however_much_it_tells() {
    let (server, file) = start(&[]);
    for token in [CANARY, "canary-wrong"] {
        server.operate("GET", "/v1/config", token, "");
        server.operate("POST", "/v1/config/reload", token, "");
        let body = r#"{"mode": "block", "for": "1h"}"#;
        server.operate("PUT", "/v1/clients/header%20x-api-key%2F6%3Acanary/override", token, body);
    }
    server.post("/v1/allow", r#"{"clientId": "header x-api-key/6:canary", "endpoint": "/x"}"#);
    server.post("/v1/allow", r#"{"clientId": "canary", "endpoint": "#);
    file.write("default: [");
    server.signal(Signal::HUP);
    server.wait_for_line("was not reloaded");
    let denied = server.operate("GET", "/v1/denied", CANARY, "").body;
    assert!(denied.contains('#') && !denied.contains("canary"), "{denied}");
    server.signal(Signal::TERM);
    let (log, _) = server.wait();
    assert!(log.iter().all(|line| !line.contains("canary")), "{log:#?}");
}

#[test]
fn svc_29_a_key_that_callers_pick_is_warned_of() {
    let with = |more: &str| {
        let header = format!("header: {{ name: X-Api-Key, onMissing: deny{more} }}");
        let config = bucket(1) + &format!("gateway: {{ client: {{ {header} }} }}\n");
        let server = Server::start(&ScratchFile::new("limits.yaml", config));
        server.signal(Signal::TERM);
        server
            .log_before_addresses()
            .iter()
            .any(|line| line.contains("callers pick their own keys in `x-api-key`"))
    };
    assert!(with(""));
    assert!(!with(", onlyFromProxies: true"));
}
