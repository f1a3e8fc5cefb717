//! A gateway that runs in this process, and ends with the test that started it.

use std::fs;
use std::future::pending;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::task::yield_now;
use tokio::time::timeout;
use tollgate::ManualClock;
use tollgate_gateway::{CutOff, Door, Gateway, StartError};
use ureq::Agent;
use ureq::http::{HeaderMap, Request};

/// How long anything may take before a test fails: far longer than it does.
const DEADLINE: Duration = Duration::from_secs(60);

/// A gateway on free ports of its own.
pub(crate) struct Running {
    pub(crate) clock: ManualClock,
    pub(crate) path: PathBuf,
    pub(crate) gateway: Gateway,
    pub(crate) runtime: Runtime,
    agent: Agent,
    _folder: TempDir,
}

/// An answer over HTTP.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Running {
    /// Starts a gateway on this config, in JSON or YAML, which is JSON too.
    pub(crate) fn start(config: impl AsRef<[u8]>) -> Self {
        Self::start_with(config, &[])
    }

    /// The same, with other files beside the config.
    pub(crate) fn start_with(config: impl AsRef<[u8]>, files: &[(&str, &str)]) -> Self {
        Self::try_start_at(config, files, "127.0.0.1:0").unwrap()
    }

    /// The same, with operators heard on this address.
    pub(crate) fn try_start_at(
        config: impl AsRef<[u8]>,
        files: &[(&str, &str)],
        admin: &str,
    ) -> Result<Self, StartError> {
        let folder = tempfile::tempdir().unwrap();
        for (name, content) in files {
            fs::write(folder.path().join(name), content).unwrap();
        }
        let path = folder.path().join("limits.yaml");
        fs::write(&path, config).unwrap();
        Self::run(path, folder, admin)
    }

    /// Starts a gateway on a file that is there.
    pub(crate) fn start_on(path: &Path) -> Self {
        Self::run(path.to_owned(), tempfile::tempdir().unwrap(), "127.0.0.1:0").unwrap()
    }

    fn run(path: PathBuf, folder: TempDir, admin: &str) -> Result<Self, StartError> {
        let clock = ManualClock::new();
        let runtime = Runtime::new().unwrap();
        let builder = Gateway::builder(&path).listen("127.0.0.1:0").admin(admin);
        let gateway = runtime.block_on(builder.clock(clock.clone()).start())?;
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(DEADLINE))
            .allow_non_standard_methods(true)
            .build()
            .new_agent();
        Ok(Self { clock, path, gateway, runtime, agent, _folder: folder })
    }

    pub(crate) fn address(&self, door: Door) -> SocketAddr {
        self.gateway.address(door).unwrap()
    }

    pub(crate) fn write_config(&self, config: impl AsRef<[u8]>) {
        fs::write(&self.path, config).unwrap();
    }

    /// Has the config file read again.
    pub(crate) fn reload(&self, config: impl AsRef<[u8]>) {
        self.write_config(config);
        self.runtime.block_on(self.gateway.reload()).unwrap();
    }

    /// Stops it, and waits for whatever is under way.
    pub(crate) fn stop(self) -> Result<(), CutOff> {
        self.runtime.block_on(self.gateway.stop(pending()))
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.send(Door::Http, ("GET", path), &[], "")
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(Door::Http, ("POST", path), &[], &body.to_string())
    }

    /// Sends a request with these header fields, each as it is given.
    pub(crate) fn send(
        &self,
        door: Door,
        (method, path): (&str, &str),
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let url = format!("http://127.0.0.1:{}{path}", self.address(door).port());
        let mut request = Request::builder().method(method).uri(url);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answered = if body.is_empty() {
            self.agent.run(request.body(()).unwrap())
        } else {
            self.agent.run(request.body(body.to_owned()).unwrap())
        };
        let mut response = answered.unwrap();
        Answer {
            status: response.status().as_u16(),
            headers: response.headers().clone(),
            body: response.body_mut().read_to_string().unwrap(),
        }
    }

    /// Sends bytes on a connection of their own: all that is answered until it is closed.
    pub(crate) fn raw(&self, door: Door, request: &str) -> String {
        let mut connection = TcpStream::connect(self.address(door)).unwrap();
        connection.set_read_timeout(Some(DEADLINE)).unwrap();
        connection.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        // Where bytes are left unread, the connection is reset after the answer.
        if let Err(error) = connection.read_to_end(&mut answer) {
            assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}");
        }
        String::from_utf8(answer).unwrap()
    }

    /// Asks again and again until the answer is yes.
    pub(crate) fn wait_until(&self, is_so: impl Fn() -> bool) {
        // The gateway runs on threads of its own meanwhile.
        self.runtime.block_on(async {
            let asking = async {
                while !is_so() {
                    yield_now().await;
                }
            };
            timeout(DEADLINE, asking).await.unwrap();
        });
    }

    /// The figure of this series.
    pub(crate) fn metric(&self, series: &str) -> u64 {
        let text = self.send(Door::Admin, ("GET", "/metrics"), &[], "").body;
        let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
        let Some(line) = line else { panic!("no {series} in\n{text}") };
        line.parse().unwrap()
    }
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }

    /// The `detail` of a problem with this status.
    pub(crate) fn problem(&self, status: u16) -> String {
        let content_type = self.header("content-type");
        assert_eq!(
            (self.status, content_type),
            (status, Some("application/problem+json")),
            "{self:?}"
        );
        let problem = self.json();
        assert_eq!(problem["status"], status);
        problem["detail"].as_str().unwrap().to_owned()
    }
}
