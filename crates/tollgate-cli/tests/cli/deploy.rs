//! What people start from: example configs, the gateway's guide, and the file that makes a service of the binary.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::path::{Path, PathBuf};
use std::process::Command;

use tollgate::LimiterFactory;
use tollgate_config::{ClientConfig, Format, GatewayConfig, GatewayLimits, OnMissing};

use crate::files::{ScratchFile, bucket, in_repository};
use crate::process::run;
use crate::server::Server;

const GUIDE: &str = include_str!("../../../../docs/guide/gateway.md");

/// The YAML files in a folder.
fn configs_in(folder: &str) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(in_repository(folder)).unwrap();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "yaml")).collect()
}

#[test]
fn every_example_is_a_config_without_faults() {
    let examples = configs_in("examples");
    assert!(examples.len() > 1, "{examples:?}");
    for example in examples {
        let checked = run(["check", example.to_str().unwrap()]);
        assert_eq!((checked.status, checked.stderr.as_str()), (Some(0), ""));
    }
}

#[test]
fn the_gateways_example_is_a_proxy_beside_the_decision_api() {
    let checked = run(["check", in_repository("examples/gateway.yaml").to_str().unwrap()]);
    for told in ["GET /users/{id}", "/healthz: unlimited", "127.0.0.1:8000", "127.0.0.1:8080"] {
        assert!(checked.stdout.contains(told), "{told}: {}", checked.stdout);
    }
}

/// What the guide's config that holds this text says of the gateway.
fn in_guide(text: &str) -> GatewayConfig {
    let mut blocks = GUIDE.split("```yaml\n").skip(1).map(|rest| rest.split_once("```").unwrap().0);
    let block = blocks.find(|block| block.contains(text)).unwrap();
    let default = if block.contains("default:") { "" } else { "default: { unlimited: true }\n" };
    let whole = format!("{default}{block}");
    tollgate_config::parse_gateway(&whole, Format::Yaml, "gateway.md", &LimiterFactory::new())
        .unwrap_or_else(|faults| panic!("{faults}"))
        .1
}

#[test]
fn each_config_in_the_guide_says_what_the_guide_says_of_it() {
    let whole = in_guide("default:");
    assert_eq!(whole.listen, GatewayConfig::DEFAULT_LISTEN);
    assert_eq!(whole.proxy.unwrap().upstream, "http://127.0.0.1:3000");
    assert_eq!(whole.admin.token_file.as_deref(), Some(Path::new("token")));

    let mut by_address = in_guide("trustedProxies").client;
    assert_eq!(by_address.trusted_proxies.drain(..).count(), 2);
    assert_eq!(by_address, ClientConfig::default(), "the rest is what holds unless said");

    let key = in_guide("onMissing").client.header.unwrap();
    assert!(key.on_missing == OnMissing::Address && key.only_from_proxies);

    let endpoint = in_guide("foldCase").endpoint;
    assert!(endpoint.fold_case && endpoint.keep_slashes && endpoint.keep_trailing_slash);
    assert!(endpoint.keep_parameters && endpoint.allow_escaped_slash);

    let told = in_guide("jitter");
    assert!(told.fields == GatewayConfig::default().fields && told.cors.unwrap().credentials);

    let limits = in_guide("headerBytes").limits;
    assert_eq!(limits, GatewayLimits::default(), "these are the values unless said");

    assert_eq!(GUIDE.matches("```yaml\n").count(), 6, "each is looked at above");
}

#[test]
fn every_file_that_the_guide_points_at_is_there() {
    let links = GUIDE.split("](").skip(1).map(|rest| rest.split_once(')').unwrap().0);
    let files = links.filter(|link| !link.starts_with(['#', 'h']));
    for file in files {
        assert!(in_repository("docs/guide").join(file).exists(), "{file}");
    }
}

/// What stands between two texts.
fn between<'a>(line: &'a str, before: &str, after: &str) -> Option<&'a str> {
    Some(line.split_once(before)?.1.split_once(after)?.0)
}

#[test]
fn each_question_of_an_operator_in_the_guide_is_answered() {
    const TOKEN: &str = "0123456789abcdef";
    let file =
        ScratchFile::new("limits.yaml", bucket(1) + "gateway: { admin: { tokenFile: token } }\n");
    std::fs::write(file.path().with_file_name("token"), TOKEN).unwrap();
    let server = Server::start(&file);
    let questions: Vec<_> = GUIDE.lines().filter(|line| line.starts_with("ask ")).collect();
    assert_eq!(questions.len(), 9);
    for question in questions {
        let method = between(question, "--request ", " ").unwrap_or("GET");
        let path = format!("/v1{}", between(question, "\"$admin", "\"").unwrap());
        let body = between(question, "--data '", "'").unwrap_or_default();
        let answer = server.operate(method, &path, TOKEN, body);
        assert!([200, 204].contains(&answer.status), "{question}: {answer:?}");
    }
}

/// `systemd-analyze` on the unit, which names the binary of this test.
#[cfg(target_os = "linux")]
fn systemd_analyze(args: &[&str]) {
    let unit = std::fs::read_to_string(in_repository("deploy/systemd/tollgate.service")).unwrap();
    let installed = "/usr/local/bin/tollgate";
    assert!(unit.contains(installed));
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tollgate.service");
    std::fs::write(&path, unit.replace(installed, env!("CARGO_BIN_EXE_tollgate"))).unwrap();
    let analyzed = Command::new("systemd-analyze").args(args).arg(path).output();
    let analyzed = analyzed.expect("systemd-analyze checks the unit; run apt-get install systemd");
    assert!(
        analyzed.status.success() && analyzed.stderr.is_empty(),
        "{}{}",
        String::from_utf8_lossy(&analyzed.stdout),
        String::from_utf8_lossy(&analyzed.stderr)
    );
}

#[cfg(target_os = "linux")]
#[test]
fn systemd_finds_no_fault_with_the_unit() {
    systemd_analyze(&["verify", "--man=no"]);
}

/// In tenths of a point, of 100; a unit that says nothing has 96.
#[cfg(target_os = "linux")]
#[test]
fn the_unit_leaves_little_open() {
    systemd_analyze(&["security", "--offline=true", "--no-pager", "--threshold=20"]);
}
