//! Envoy itself, with the config of `deploy/envoy`, between a client and a service.

use std::convert::Infallible;
use std::fs;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::net::TcpListener;
use tokio::process::{Child, Command};
use tollgate::LimiterFactory;
use tollgate_config::Format;

use crate::support::Served;

const LIMITS: &str = "
default: { algorithm: FixedWindow, algoConfig: { maxRequests: 100, window: 1m } }
endpoints:
  - { endpoint: GET /login, algorithm: FixedWindow, algoConfig: { maxRequests: 3, window: 1m } }";

/// The config as it is shipped.
fn shipped() -> String {
    fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/envoy/envoy.yaml"))
        .unwrap()
}

fn program() -> PathBuf {
    let program = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/peers/bin/envoy"));
    assert!(program.exists(), "{} is missing; run cargo xtask peers", program.display());
    program.to_owned()
}

/// A service that answers all requests, and keeps their paths.
struct Upstream {
    address: SocketAddr,
    paths: Arc<Mutex<Vec<String>>>,
}

impl Upstream {
    async fn start() -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let paths = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&paths);
        tokio::spawn(async move {
            let answer = service_fn(move |request: hyper::Request<_>| {
                kept.lock().unwrap().push(request.uri().path().to_owned());
                let body = Full::new(Bytes::from_static(b"served"));
                async { Ok::<_, Infallible>(hyper::Response::new(body)) }
            });
            while let Ok((stream, _)) = listener.accept().await {
                let http = hyper::server::conn::http1::Builder::new();
                tokio::spawn(http.serve_connection(TokioIo::new(stream), answer.clone()));
            }
        });
        Self { address, paths }
    }

    fn paths(&self) -> Vec<String> {
        self.paths.lock().unwrap().clone()
    }
}

/// A running Envoy, which ends with this.
struct Envoy {
    address: String,
    _process: Child,
    _folder: TempDir,
}

impl Envoy {
    /// With a config whose ports are replaced by free ones.
    async fn start(config: &str, upstream: &Upstream, served: &Served) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (file, admin) = (folder.path().join("envoy.yaml"), folder.path().join("admin"));
        let mut config = config.to_owned();
        for (port, ours) in [
            (9901, 0),
            (10000, 0),
            (8000, upstream.address.port()),
            (8082, served.address().port()),
        ] {
            let port = format!("port_value: {port} ");
            assert!(config.contains(&port), "{port}");
            config = config.replace(&port, &format!("port_value: {ours} "));
        }
        fs::write(&file, config).unwrap();
        let mut process = Command::new(program())
            .arg("--config-path")
            .arg(&file)
            .arg("--admin-address-path")
            .arg(&admin)
            .args(["--concurrency", "1", "--disable-hot-restart"])
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let mut log = BufReader::new(process.stderr.take().unwrap()).lines();
        let mut told = String::new();
        while !told.contains("starting workers") {
            told = log.next_line().await.unwrap().unwrap_or_else(|| panic!("envoy ended: {told}"));
        }
        // The pipe is read on, so that it never fills.
        tokio::spawn(async move { while let Ok(Some(_)) = log.next_line().await {} });
        let admin = fs::read_to_string(admin).unwrap();
        let listeners = get(&format!("http://{admin}/listeners?format=json"), &[]).await;
        let listeners: Value = serde_json::from_str(&listeners.body).unwrap();
        let address = &listeners["listener_statuses"][0]["local_address"]["socket_address"];
        let address = format!("http://127.0.0.1:{}", address["port_value"]);
        Self { address, _process: process, _folder: folder }
    }

    async fn get(&self, path: &str) -> Answer {
        get(&format!("{}{path}", self.address), &[]).await
    }
}

struct Answer {
    status: u16,
    fields: http::HeaderMap,
    body: String,
}

impl Answer {
    fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(|value| value.to_str().unwrap())
    }
}

async fn get(url: &str, fields: &[(&'static str, &'static str)]) -> Answer {
    let agent = ureq::Agent::config_builder().http_status_as_error(false).build().new_agent();
    let request =
        fields.iter().fold(agent.get(url), |request, (name, value)| request.header(*name, *value));
    let ask = move || {
        let mut answer = request.call().unwrap();
        let body = answer.body_mut().read_to_string().unwrap();
        Answer { status: answer.status().as_u16(), fields: answer.headers().clone(), body }
    };
    tokio::task::spawn_blocking(ask).await.unwrap()
}

#[test]
fn the_limits_that_are_shipped_are_valid_and_in_the_guide() {
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."));
    let file = root.join("deploy/envoy/tollgate.yaml");
    let (_, gateway) = tollgate_config::load_gateway(&file, &LimiterFactory::new()).unwrap();
    assert!(shipped().contains(gateway.envoy.unwrap().listen.split_once(':').unwrap().1));
    let guide = fs::read_to_string(root.join("docs/guide/envoy.md")).unwrap();
    let shown = format!("```yaml\n{}```", fs::read_to_string(file).unwrap());
    assert!(guide.contains(&shown), "the guide does not show deploy/envoy/tollgate.yaml");
}

#[test]
fn the_rules_in_the_guide_are_valid() {
    let guide = include_str!("../../../../docs/guide/envoy.md");
    let rules = guide.split("```").find_map(|block| block.strip_prefix("yaml\ngateway:")).unwrap();
    let text = format!("default: {{ unlimited: true }}\ngateway:{rules}");
    let factory = LimiterFactory::new();
    let (_, gateway) =
        tollgate_config::parse_gateway(&text, Format::Yaml, "envoy.md", &factory).unwrap();
    assert_eq!(gateway.envoy.unwrap().rules.len(), 2);
}

#[tokio::test]
async fn the_config_that_is_shipped_is_valid() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../deploy/envoy/envoy.yaml");
    let checked = Command::new(program()).args(["--mode", "validate", "-c", file]).output().await;
    let checked = checked.unwrap();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
}

#[tokio::test]
async fn envoy_serves_what_is_allowed_and_says_of_a_denial_what_the_gateway_says() {
    let (upstream, served) = (Upstream::start().await, Served::new(LIMITS).await);
    let envoy = Envoy::start(&shipped(), &upstream, &served).await;
    for remaining in [2, 1, 0] {
        let answer = envoy.get("/login").await;
        assert_eq!((answer.status, &*answer.body), (200, "served"));
        let told = format!("\"GET /login\";r={remaining};t=60");
        assert_eq!(answer.field("ratelimit"), Some(&*told));
        assert_eq!(answer.field("ratelimit-policy"), Some("\"GET /login\";q=3;w=60"));
    }
    served.clock.advance(Duration::from_millis(1_500));
    let denied = envoy.get("/login").await;
    assert_eq!(denied.status, 429);
    assert_eq!(denied.field("retry-after"), Some("59"));
    assert_eq!(denied.field("ratelimit"), Some("\"GET /login\";r=0;t=59"));
    assert_eq!(denied.field("content-type"), Some("application/problem+json"));
    assert_eq!(denied.fields.get_all("content-type").iter().count(), 1);
    let problem: Value = serde_json::from_str(&denied.body).unwrap();
    assert_eq!(problem["retryAfterMs"], 58_500);

    // Other spellings are the same endpoint, and another address is not to be had by saying so.
    for path in ["//login", "/./login", "/x/../login", "/%6Cogin", "/login?x"] {
        assert_eq!(envoy.get(path).await.status, 429, "{path}");
    }
    let login = format!("{}/login", envoy.address);
    assert_eq!(get(&login, &[("x-forwarded-for", "198.51.100.9")]).await.status, 429);
    assert_eq!(envoy.get("/x%2F..%2Flogin").await.status, 400);
    assert_eq!(envoy.get("/other").await.status, 200);
    served.clock.advance(Duration::from_millis(58_500));
    assert_eq!(envoy.get("/login").await.status, 200);
    assert_eq!(upstream.paths(), ["/login", "/login", "/login", "/other", "/login"]);
    served.stop().await;
}

#[tokio::test]
async fn envoys_own_fields_are_made_of_the_statuses() {
    let (upstream, served) = (Upstream::start().await, Served::new(LIMITS).await);
    let config = shipped_with("domain: api", &["enable_x_ratelimit_headers: DRAFT_VERSION_03"]);
    let envoy = Envoy::start(&config, &upstream, &served).await;
    served.clock.advance(Duration::from_millis(1));
    for remaining in ["2", "1", "0", "0"] {
        let answer = envoy.get("/login").await;
        assert_eq!(answer.field("x-ratelimit-limit"), Some("3, 3;w=60"));
        assert_eq!(answer.field("x-ratelimit-remaining"), Some(remaining));
        assert_eq!(answer.field("x-ratelimit-reset"), Some("60"));
    }
    // Never 0 while something is to be waited for.
    served.clock.advance(Duration::from_millis(59_999));
    let denied = envoy.get("/login").await;
    assert_eq!((denied.status, denied.field("x-ratelimit-reset")), (429, Some("1")));
    served.stop().await;
}

/// The shipped config with lines of the same depth behind the one that reads like this.
fn shipped_with(line: &str, added: &[&str]) -> String {
    let mut lines: Vec<_> = shipped().lines().map(str::to_owned).collect();
    let at = lines.iter().position(|known| known.trim_start() == line).unwrap();
    let indent = " ".repeat(lines[at].len() - line.len());
    for added in added.iter().rev() {
        lines.insert(at + 1, format!("{indent}{added}"));
    }
    lines.join("\n")
}

#[tokio::test]
async fn a_limit_that_envoy_takes_from_metadata_holds_instead_of_the_configs() {
    let (upstream, served) = (Upstream::start().await, Served::new(LIMITS).await);
    let config = shipped_with(
        "http_filters:",
        &[
            "  - name: envoy.filters.http.set_metadata",
            "    typed_config:",
            "      '@type': type.googleapis.com/envoy.extensions.filters.http.set_metadata.v3.Config",
            "      metadata:",
            "        - metadata_namespace: limits",
            "          value: { own: { requests_per_unit: 2, unit: HOUR } }",
        ],
    );
    let limit =
        "limit: { dynamic_metadata: { metadata_key: { key: limits, path: [{ key: own }] } } }";
    let config =
        config.replace("- actions:", &format!("- {limit}\n                          actions:"));
    let envoy = Envoy::start(&config, &upstream, &served).await;
    for status in [200, 200, 429] {
        let answer = envoy.get("/other").await;
        assert_eq!(answer.status, status);
        assert_eq!(answer.field("ratelimit-policy"), Some("\"request\";q=2;w=3600"));
    }
    served.stop().await;
}

#[tokio::test]
async fn svc32_callers_of_grpc_are_told_in_grpc_that_a_limit_is_reached() {
    let (upstream, served) = (Upstream::start().await, Served::new(LIMITS).await);
    let config = shipped_with("domain: api", &["rate_limited_as_resource_exhausted: true"]);
    let envoy = Envoy::start(&config, &upstream, &served).await;
    let login = format!("{}/login", envoy.address);
    let grpc = [("content-type", "application/grpc")];
    for _ in 0..3 {
        assert_eq!(get(&login, &grpc).await.field("grpc-status"), None);
    }
    let denied = get(&login, &grpc).await;
    // RESOURCE_EXHAUSTED, and not UNAVAILABLE, which would be tried again at once.
    assert_eq!((denied.status, denied.field("grpc-status")), (200, Some("8")));
    assert_eq!(denied.field("content-type"), Some("application/grpc"));
    assert_eq!((denied.field("retry-after"), &*denied.body), (Some("60"), ""));
    served.stop().await;
}

#[tokio::test]
async fn without_the_gateway_envoy_lets_requests_through_or_refuses_them_as_it_is_told() {
    let open = shipped();
    let closed = open.replace("failure_mode_deny: false", "failure_mode_deny: true");
    assert_ne!(open, closed);
    for (config, status, reached) in [(open, 200, 2), (closed, 500, 1)] {
        let (upstream, served) = (Upstream::start().await, Served::new(LIMITS).await);
        let envoy = Envoy::start(&config, &upstream, &served).await;
        assert_eq!(envoy.get("/login").await.status, 200);
        served.stop().await;
        assert_eq!(envoy.get("/login").await.status, status);
        assert_eq!(upstream.paths().len(), reached);
    }
}
