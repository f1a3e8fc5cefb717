//! The config file is watched.

use std::fs;
use std::os::unix::fs::symlink;

use crate::running::Running;

fn config(capacity: u32) -> String {
    format!(
        "{{ default: {{ algorithm: TokenBucket, algoConfig: {{ capacity: {capacity}, refill: 1/h }} }} }}"
    )
}

fn version(running: &Running) -> u64 {
    running.get("/readyz").json()["config"]["version"].as_u64().unwrap()
}

/// Waits until a config with this capacity is in force.
fn wait_for(running: &Running, capacity: u64) {
    let question = serde_json::json!({ "clientId": "alice", "endpoint": "/x", "cost": 0 });
    running.wait_until(|| running.post("/v1/allow", &question).json()["limit"] == capacity);
}

#[test]
fn svc_14_r58_each_usual_way_to_change_a_file_is_noticed_once() {
    let running = Running::start(config(1));
    let beside = running.path.with_file_name("limits.yaml.new");
    // Written in place.
    running.write_config(config(2));
    wait_for(&running, 2);
    // Written beside, and renamed.
    fs::write(&beside, config(3)).unwrap();
    fs::rename(&beside, &running.path).unwrap();
    wait_for(&running, 3);
    // Gone, and back.
    fs::remove_file(&running.path).unwrap();
    running.write_config(config(4));
    wait_for(&running, 4);
    // It is counted a moment after it is in force.
    running.wait_until(|| version(&running) >= 4);
    assert_eq!(version(&running), 4);
    let reloads = |outcome: &str| {
        running.metric(&format!("tollgate_config_reloads_total{{outcome=\"{outcome}\"}}"))
    };
    assert_eq!((reloads("success"), reloads("failure")), (3, 0));
}

#[test]
fn svc_14_the_swap_of_a_config_map_is_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    for (name, capacity) in [("..2026_1", 1), ("..2026_2", 2), ("..2026_3", 3)] {
        fs::create_dir(at(name)).unwrap();
        fs::write(at(name).join("limits.yaml"), config(capacity)).unwrap();
    }
    symlink("..2026_1", at("..data")).unwrap();
    symlink("..data/limits.yaml", at("limits.yaml")).unwrap();
    let running = Running::start_on(&at("limits.yaml"));
    for (version, capacity) in [("..2026_2", 2), ("..2026_3", 3)] {
        symlink(version, at("..data_tmp")).unwrap();
        fs::rename(at("..data_tmp"), at("..data")).unwrap();
        wait_for(&running, capacity);
    }
    // Behind the link, in place.
    fs::write(at("..2026_3").join("limits.yaml"), config(4)).unwrap();
    wait_for(&running, 4);
}

#[test]
fn svc_14_svc_41_a_bad_file_changes_nothing_and_is_told_where_it_is_looked_for() {
    let running = Running::start(config(1));
    for wrong in [
        "{ default: { algorithm: TokenBuckt, algoConfig: { capacity: 2, refill: 1/h } } }",
        "{ default: { algorithm: TokenBucket, algoConfig: { capacity: 2, refil: 1/h } } }",
        "{ default: { algorithm: TokenBucket, algoConfig: { capa",
    ] {
        let failures = || running.metric("tollgate_config_reloads_total{outcome=\"failure\"}");
        let before = failures();
        running.write_config(wrong);
        running.wait_until(|| failures() > before);
        let ready = running.get("/readyz");
        assert_eq!((ready.status, version(&running)), (200, 1));
        let told = ready.json()["config"]["lastReloadError"].as_str().unwrap().to_owned();
        assert!(told.contains("limits.yaml:"), "{told}");
        wait_for(&running, 1);
    }
    running.write_config(config(5));
    wait_for(&running, 5);
    // It is counted a moment after it is in force.
    running.wait_until(|| version(&running) >= 2);
    assert!(running.get("/readyz").json()["config"]["lastReloadError"].is_null());
    assert_eq!(running.metric("tollgate_config_version"), 2);
}
