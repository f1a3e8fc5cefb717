//! Real proxies in front of the gateway: what a client behind them gets.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use tokio::runtime::Runtime;
use tollgate::ManualClock;
use tollgate_gateway::{Door, Gateway};

const CONFIG: &str = "
default: { algorithm: TokenBucket, algoConfig: { capacity: 2, refill: 1/h } }
gateway:
  forwardAuth: true
  nginxAuth: true
  client: { trustedProxies: [127.0.0.1] }
";

/// A gateway in this process, a server behind, and a proxy before both, all of which end with the test.
struct Setup {
    folder: TempDir,
    clock: ManualClock,
    _runtime: Runtime,
    gateway: Gateway,
    gateway_port: u16,
    upstream_port: u16,
    proxy_port: u16,
    proxy: Option<Child>,
}

impl Drop for Setup {
    fn drop(&mut self) {
        if let Some(mut proxy) = self.proxy.take() {
            // Both fail only where it is gone already.
            drop(proxy.kill());
            drop(proxy.wait());
        }
    }
}

/// A file or a folder of the repository.
fn in_repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// A proxy that was unpacked for tests.
fn peer(name: &str) -> PathBuf {
    let path = in_repository("target/peers/bin").join(name);
    assert!(path.exists(), "{} is missing; run cargo xtask peers", path.display());
    path
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// A server that says `up`, or on `/own` a 403 of its own.
fn upstream() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && connection.read(&mut byte).unwrap_or(0) == 1 {
                head.push(byte[0]);
            }
            let is_own = head.starts_with(b"GET /own ");
            let (status, body) = if is_own { ("403 Forbidden", "own") } else { ("200 OK", "up") };
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {status}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
            );
            drop(connection.write_all(answer.as_bytes()));
        }
    });
    port
}

impl Setup {
    fn start() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("limits.yaml");
        fs::write(&path, CONFIG).unwrap();
        let runtime = Runtime::new().unwrap();
        let builder = Gateway::builder(path).listen("127.0.0.1:0").admin("127.0.0.1:0");
        let clock = ManualClock::new();
        let gateway = runtime.block_on(builder.clock(clock.clone()).start()).unwrap();
        let gateway_port = gateway.address(Door::Http).unwrap().port();
        let (upstream_port, proxy_port) = (upstream(), free_port());
        Self {
            folder,
            clock,
            _runtime: runtime,
            gateway,
            gateway_port,
            upstream_port,
            proxy_port,
            proxy: None,
        }
    }

    /// Writes a file of the proxy's, with the ports in the places of their names.
    fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.folder.path().join(name);
        let content = content
            .replace("GATEWAY", &self.gateway_port.to_string())
            .replace("UPSTREAM", &self.upstream_port.to_string())
            .replace("PROXY", &self.proxy_port.to_string())
            .replace("FOLDER", self.folder.path().to_str().unwrap());
        fs::write(&path, content).unwrap();
        path
    }

    /// Writes a file of `deploy`, with this test's ports in the places of those that it names.
    fn write_shipped(&self, name: &str) -> PathBuf {
        let shipped = in_repository("deploy").join(name);
        let content = fs::read_to_string(&shipped).unwrap();
        let content = content
            .replace("127.0.0.1:8080", "127.0.0.1:GATEWAY")
            .replace("127.0.0.1:8000", "127.0.0.1:PROXY")
            .replace("127.0.0.1:3000", "127.0.0.1:UPSTREAM")
            .replace("/etc/haproxy/", "FOLDER/");
        self.write(shipped.file_name().unwrap().to_str().unwrap(), &content)
    }

    /// Starts the proxy, and waits until it listens.
    fn run(&mut self, command: &mut Command) {
        command.current_dir(self.folder.path()).env("HOME", self.folder.path());
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
        let child = self.proxy.insert(child);
        while TcpStream::connect(("127.0.0.1", self.proxy_port)).is_err() {
            assert!(child.try_wait().unwrap().is_none(), "the proxy ended");
        }
    }

    /// What a client gets: the answer's head in small letters, and all of it.
    fn get(&self, target: &str, more: &str) -> (u16, String) {
        let mut connection = TcpStream::connect(("127.0.0.1", self.proxy_port)).unwrap();
        let request = format!(
            "GET {target} HTTP/1.1\r\nhost: shop.example.com\r\n{more}connection: close\r\n\r\n"
        );
        connection.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        connection.read_to_string(&mut answer).unwrap();
        let status = answer.split(' ').nth(1).unwrap().parse().unwrap();
        (status, answer.to_lowercase())
    }

    /// Waits until the proxy knows its routes, and gives back what that has cost.
    fn wait_until_ready(&self) {
        while self.get("/", "").0 == 404 {}
        self.clock.advance(Duration::from_secs(7_200));
    }

    /// Two requests pass, and the third gets what the gateway says; whatever a client says of itself.
    fn check(&self) {
        for spoofed in ["192.0.2.1", "192.0.2.2"] {
            let forged = format!(
                "x-forwarded-for: {spoofed}\r\nx-forwarded-uri: /own\r\nx_forwarded_for: {spoofed}\r\n"
            );
            let (status, answer) = self.get("/a", &forged);
            assert!(status == 200 && answer.ends_with("up"), "{answer}");
        }
        let (status, answer) = self.get("/a?x=1", "x-forwarded-for: 192.0.2.3\r\n");
        assert_eq!(status, 429, "{answer}");
        for field in
            ["retry-after: 3600", "ratelimit: \"default\";r=0;t=3600", "application/problem+json"]
        {
            assert!(answer.contains(field), "{field}: {answer}");
        }
    }
}

#[test]
fn nginx_makes_a_429_of_a_denial_and_leaves_the_own_403_of_a_server_alone() {
    let mut setup = Setup::start();
    setup.write_shipped("nginx/tollgate.conf");
    let config = setup.write(
        "nginx.conf",
        "daemon off; pid FOLDER/pid; error_log FOLDER/error.log; events {}
         http {
           access_log off; client_body_temp_path FOLDER/a; proxy_temp_path FOLDER/b;
           fastcgi_temp_path FOLDER/c; uwsgi_temp_path FOLDER/d; scgi_temp_path FOLDER/e;
           server {
             listen 127.0.0.1:PROXY;
             include FOLDER/tollgate.conf;
             location / {
               auth_request /_tollgate;
               error_page 403 = @tollgate;
               proxy_pass http://127.0.0.1:UPSTREAM;
             }
           }
         }",
    );
    let mut nginx = Command::new(peer("nginx"));
    nginx.arg("-p").arg(setup.folder.path()).arg("-c").arg(config);
    setup.run(&mut nginx);
    let (status, answer) = setup.get("/own", "");
    assert!(status == 403 && answer.ends_with("own"), "{answer}");
    assert!(
        answer.contains("ratelimit: \"default\";r=1;t=3600"),
        "a request that passes is told, too: {answer}"
    );
    assert_eq!(setup.get("/a", "").0, 200);
    let (status, answer) = setup.get("/own", "x-forwarded-for: 192.0.2.3\r\n");
    assert_eq!(status, 429, "{answer}");
    for field in
        ["retry-after: 3600", "ratelimit: \"default\";r=0;t=3600", "cache-control: no-store"]
    {
        assert!(answer.contains(field), "{field}: {answer}");
    }
    assert_eq!(setup.get("/a%2fb", "").0, 400);
}

#[test]
fn caddy_hands_a_denial_on() {
    let mut setup = Setup::start();
    setup.write_shipped("caddy/tollgate.caddy");
    let config = setup.write(
        "Caddyfile",
        "{
           admin off
           auto_https off
         }
         import FOLDER/tollgate.caddy
         http://:PROXY {
           bind 127.0.0.1
           import tollgate
           reverse_proxy 127.0.0.1:UPSTREAM
         }",
    );
    let mut caddy = Command::new(peer("caddy"));
    setup.run(caddy.arg("run").arg("--adapter").arg("caddyfile").arg("--config").arg(config));
    setup.check();
}

#[test]
fn traefik_hands_a_denial_on() {
    let mut setup = Setup::start();
    let routes = tempfile::tempdir_in(setup.folder.path()).unwrap();
    let name = routes.path().file_name().unwrap().to_str().unwrap();
    fs::copy(setup.write_shipped("traefik/tollgate.yml"), routes.path().join("tollgate.yml"))
        .unwrap();
    setup.write(
        &format!("{name}/routes.yml"),
        "http:
  routers: { shop: { rule: 'PathPrefix(`/`)', service: shop, middlewares: [tollgate@file], entryPoints: [web] } }
  services: { shop: { loadBalancer: { servers: [{ url: 'http://127.0.0.1:UPSTREAM' }] } } }
",
    );
    let mut traefik = Command::new(peer("traefik"));
    let address = format!("--entrypoints.web.address=127.0.0.1:{}", setup.proxy_port);
    let folder = format!("--providers.file.directory={}", routes.path().display());
    let quiet = ["--global.checknewversion=false", "--global.sendanonymoususage=false"];
    setup.run(traefik.args([address, folder]).args(quiet));
    setup.wait_until_ready();
    setup.check();
}

/// Starts the config that is shipped.
fn haproxy(setup: &mut Setup) {
    setup.write_shipped("haproxy/tollgate.lua");
    let config = setup.write_shipped("haproxy/haproxy.cfg");
    setup.run(Command::new(peer("haproxy")).arg("-db").arg("-f").arg(config));
}

#[test]
fn haproxy_hands_a_denial_on() {
    let mut setup = Setup::start();
    haproxy(&mut setup);
    setup.check();
    setup.clock.advance(Duration::from_secs(7_200));
    let (status, answer) = setup.get("/own", "");
    assert!(status == 403 && answer.ends_with("own"), "{answer}");
    assert!(
        answer.contains("ratelimit: \"default\";r=1;t=3600"),
        "a request that passes is told, too: {answer}"
    );
    let (status, answer) = setup.get("/a%2fb", "");
    assert!(status == 400 && answer.contains("application/problem+json"), "{answer}");
    assert_eq!(setup.get("/./a", "").0, 429, "what was refused is charged, too");
}

#[test]
fn haproxy_lets_nothing_pass_while_nobody_answers() {
    let mut setup = Setup::start();
    setup.gateway_port = free_port();
    haproxy(&mut setup);
    let (status, answer) = setup.get("/a", "");
    assert!(status == 503 && !answer.ends_with("up"), "{answer}");
}

#[test]
fn hadolint_finds_no_fault_with_the_containerfile() {
    let file = in_repository("deploy/Containerfile");
    let linted = Command::new(peer("hadolint")).arg(file).output().unwrap();
    assert!(linted.status.success(), "{}", String::from_utf8_lossy(&linted.stdout));
}

#[test]
fn prometheus_finds_no_fault_with_the_metrics() {
    let mut setup = Setup::start();
    let admin = setup.gateway.address(Door::Admin).unwrap();
    setup.proxy_port = admin.port();
    let (status, _) = setup.get("/healthz", "");
    assert_eq!(status, 403, "a name that is not known");
    let mut connection = TcpStream::connect(admin).unwrap();
    connection
        .write_all(b"GET /metrics HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        .unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    let (_, text) = answer.split_once("\r\n\r\n").unwrap();
    let mut promtool = Command::new(peer("promtool"));
    let promtool = promtool.args(["check", "metrics"]).stdin(Stdio::piped()).stderr(Stdio::piped());
    let mut linted = promtool.spawn().unwrap();
    linted.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = linted.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert!(output.status.success());
}
