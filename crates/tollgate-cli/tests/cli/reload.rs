//! SIGHUP: the config is read again while requests go on.

use std::sync::atomic::{AtomicBool, Ordering};

use rustix::process::Signal;
use serde_json::Value;

use crate::files::{ScratchFile, bucket};
use crate::server::{Client, Server};

const WINDOW: &str =
    "\n    algorithm: FixedWindow\n    algoConfig: { maxRequests: 5, window: 1h }\n";
const OTHER_WINDOW: &str =
    "\n    algorithm: SlidingWindowLog\n    algoConfig: { maxRequests: 5, window: 1h }\n";

fn readiness(server: &Server) -> Value {
    server.get(&server.admin, "/readyz").json()["config"].clone()
}

fn reloads(server: &Server, outcome: &str) -> String {
    let text = server.get(&server.admin, "/metrics").body;
    let series = format!("tollgate_config_reloads_total{{outcome=\"{outcome}\"}} ");
    let line = text.lines().find_map(|line| line.strip_prefix(&series));
    line.expect("reloads are counted").to_owned()
}

#[test]
fn new_limits_keep_what_clients_have_used_and_the_log_says_what_became_of_each_endpoint() {
    let file = ScratchFile::new(
        "limits.yaml",
        format!(
            "{}endpoints:\n  - endpoint: /kept{WINDOW}  - endpoint: /replaced{WINDOW}  - endpoint: /gone{WINDOW}",
            bucket(3)
        ),
    );
    let server = Server::start(&file);
    server.allow("alice", 3);
    file.write(format!(
        "{}endpoints:\n  - endpoint: /kept{WINDOW}  - endpoint: /replaced{OTHER_WINDOW}  - endpoint: /new{WINDOW}",
        bucket(5)
    ));
    server.signal(Signal::HUP);
    for (endpoint, change) in [
        ("default", "changed"),
        ("/kept", "kept"),
        ("/replaced", "replaced"),
        ("/new", "new"),
        ("/gone", "removed"),
    ] {
        let line = server.wait_for_line("reloaded endpoint=");
        assert!(line.contains(&format!("endpoint={endpoint:?} change={change:?}")), "{line}");
    }
    server.wait_for_line("the config was reloaded version=2");
    assert_eq!(server.allow("alice", 1)["remaining"], 1, "3 of 5 were used before");
    // The file is watched, too: on a busy machine it may be read for either reason, and nothing changes the second time.
    assert!([2, 3].map(Value::from).contains(&readiness(&server)["version"]));
    assert!(["1", "2"].contains(&&*reloads(&server, "success")));
    assert_eq!(reloads(&server, "failure"), "0");
}

#[test]
fn a_config_with_faults_leaves_the_old_one_serving_and_every_fault_in_the_log() {
    let file = ScratchFile::new("limits.yaml", bucket(3));
    let server = Server::start(&file);
    let before = readiness(&server);
    server.allow("alice", 1);
    file.write(bucket(0) + "maxKeys: 0\n");
    server.signal(Signal::HUP);
    for field in ["capacity", "maxKeys"] {
        let line = server.wait_for_line("limits.yaml:");
        assert!(line.contains("ERROR") && line.contains(field), "{line}");
    }
    server.wait_for_line("the config was not reloaded");
    assert_eq!(server.allow("alice", 0)["remaining"], 2);

    let after = readiness(&server);
    let error = after["lastReloadError"].as_str().unwrap();
    assert_eq!(error.lines().count(), 2, "{error}");
    assert_eq!((&after["version"], &after["loadedAt"]), (&before["version"], &before["loadedAt"]));
    assert_eq!(
        (reloads(&server, "success"), reloads(&server, "failure")),
        ("0".into(), "1".into())
    );

    file.write(bucket(4));
    server.signal(Signal::HUP);
    server.wait_for_line("the config was reloaded version=2");
    assert_eq!(readiness(&server)["lastReloadError"], Value::Null);
    assert_eq!(server.allow("alice", 0)["remaining"], 3);
}

#[test]
fn requests_go_on_while_configs_are_read() {
    let file = ScratchFile::new("limits.yaml", bucket(500_000));
    let server = Server::start(&file);
    let done = AtomicBool::new(false);
    let allowed: u64 = std::thread::scope(|scope| {
        let (client, done): (&Client, _) = (&server, &done);
        let asking = scope.spawn(move || {
            let ask = || client.allow("alice", 1)["allowed"] == true;
            let asked = std::iter::repeat_with(ask).take_while(|_| !done.load(Ordering::Relaxed));
            asked.map(u64::from).sum()
        });
        for round in 0..20_u32 {
            let good = round % 2 == 0;
            file.write(if good { bucket(600_000 + round) } else { "default: [".to_owned() });
            server.signal(Signal::HUP);
            server.wait_for_line(if good { "was reloaded" } else { "was not reloaded" });
        }
        done.store(true, Ordering::Relaxed);
        asking.join().unwrap()
    });
    assert!(allowed > 0);
    let used = 600_018 - server.allow("alice", 0)["remaining"].as_u64().unwrap();
    assert!(used == allowed || used == allowed + 1, "{used} used by {allowed} or one more");
}

#[test]
fn what_holds_from_the_start_alone_is_told_of_when_it_changes() {
    let with = |gateway: &str| bucket(1) + &format!("gateway: {{ {gateway} }}\n");
    let proxy = |upstream: &str| {
        with(&format!("proxy: {{ listen: '127.0.0.1:0', upstream: 'http://{upstream}' }}"))
    };
    for (after, told) in [
        (proxy("127.0.0.1:2"), "`gateway.proxy` has changed"),
        (with("listen: '127.0.0.1:3'"), "the addresses of `gateway` have changed"),
    ] {
        let file = ScratchFile::new("limits.yaml", proxy("127.0.0.1:1"));
        let server = Server::start(&file);
        file.write(after);
        server.signal(Signal::HUP);
        assert!(server.wait_for_line(told).contains("restart"));
    }
}
