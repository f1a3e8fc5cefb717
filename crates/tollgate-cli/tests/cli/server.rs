//! A running `tollgate serve`, which ends with the test that started it.

use std::io::{BufRead, BufReader};
use std::ops::Deref;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use ureq::Agent;

use crate::files::ScratchFile;
use crate::process::tollgate;

/// How long anything may take before a test fails: far longer than it does.
const DEADLINE: Duration = Duration::from_secs(60);

/// A server on free ports of its own.
#[derive(Debug)]
pub(crate) struct Server {
    child: Child,
    log: Receiver<String>,
    /// What the log told before the server listened.
    before: Vec<String>,
    client: Client,
}

/// Asks a server.
#[derive(Debug)]
pub(crate) struct Client {
    /// `HOST:PORT` of the decision API.
    pub(crate) api: String,
    /// `HOST:PORT` of the admin listener.
    pub(crate) admin: String,
    agent: Agent,
}

/// An answer over HTTP.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) content_type: String,
    pub(crate) retry_after: Option<u64>,
    pub(crate) allow: Option<String>,
    pub(crate) body: String,
}

impl Server {
    /// Starts a server on this config and waits until it listens.
    pub(crate) fn start(config: &ScratchFile) -> Self {
        Self::start_with(config.path(), &[])
    }

    pub(crate) fn start_with(config: &Path, options: &[&str]) -> Self {
        Self::run(tollgate(), config, options)
    }

    /// The same, with everything in the log.
    pub(crate) fn start_telling_all(config: &Path, options: &[&str]) -> Self {
        let mut command = tollgate();
        command.env("RUST_LOG", "trace");
        Self::run(command, config, options)
    }

    /// The same, with so many files that may be open at once.
    pub(crate) fn start_with_files(config: &ScratchFile, files: u32) -> Self {
        let mut command = Command::new("sh");
        let binary = tollgate();
        command
            .arg("-c")
            .arg(format!("ulimit -n {files}; exec \"$0\" \"$@\""))
            .arg(binary.get_program());
        Self::run(command, config.path(), &[])
    }

    fn run(mut command: Command, config: &Path, options: &[&str]) -> Self {
        let mut child = command
            .args(["serve", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--config"])
            .arg(config)
            .args(options)
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary was built for this test");
        let stderr = child.stderr.take().expect("it is piped");
        let (sender, log) = channel();
        std::thread::spawn(move || {
            let lines = BufReader::new(stderr).lines().map_while(Result::ok);
            lines.for_each(|line| drop(sender.send(line)));
        });
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(DEADLINE))
            .build()
            .new_agent();
        let client = Client { api: String::new(), admin: String::new(), agent };
        let mut server = Self { child, log, before: Vec::new(), client };
        server.client.api = server.wait_for_address("http");
        server.client.admin = server.wait_for_address("admin");
        server
    }

    /// Where the log, in either format, says that a door listens.
    fn wait_for_address(&mut self, door: &str) -> String {
        let (line, before) = self.wait_for("listening");
        self.before.extend(before);
        if let Ok(event) = serde_json::from_str::<Value>(&line) {
            assert_eq!(event["door"], door);
            return event["address"].as_str().expect("an address is a text").to_owned();
        }
        let (before, address) = line.rsplit_once(" address=").expect("an address is logged");
        assert!(before.ends_with(&format!(" door={door}")), "{line}");
        address.to_owned()
    }

    pub(crate) fn log_before_addresses(&self) -> &[String] {
        &self.before
    }

    /// Reads the log up to a line that contains this.
    pub(crate) fn wait_for_line(&self, part: &str) -> String {
        self.wait_for(part).0
    }

    /// The same, with the lines before it.
    fn wait_for(&self, part: &str) -> (String, Vec<String>) {
        let mut seen = Vec::new();
        loop {
            match self.log.recv_timeout(DEADLINE) {
                Ok(line) if line.contains(part) => return (line, seen),
                Ok(line) => seen.push(line),
                Err(error) => panic!("no line with {part:?} ({error}) among {seen:#?}"),
            }
        }
    }

    /// The process.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        kill_process(pid.expect("a child has an id"), signal).expect("it was not waited for yet");
    }

    /// Waits until the process is gone: the rest of its log, and its exit status.
    pub(crate) fn wait(mut self) -> (Vec<String>, Option<i32>) {
        let mut rest = Vec::new();
        loop {
            match self.log.recv_timeout(DEADLINE) {
                Ok(line) => rest.push(line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => panic!("it does not end: {rest:#?}"),
            }
        }
        let status = self.child.wait().expect("it was started");
        (rest, status.code())
    }
}

impl Deref for Server {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

impl Client {
    pub(crate) fn get(&self, address: &str, path: &str) -> Answer {
        Answer::read(self.agent.get(format!("http://{address}{path}")).call())
    }

    pub(crate) fn post(&self, path: &str, body: impl AsRef<[u8]>) -> Answer {
        Answer::read(self.agent.post(format!("http://{}{path}", self.api)).send(body.as_ref()))
    }

    /// Has operators' listener answer a request with this token.
    pub(crate) fn operate(&self, method: &str, path: &str, token: &str, body: &str) -> Answer {
        let request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("http://{}{path}", self.admin))
            .header("authorization", format!("Bearer {token}"));
        Answer::read(self.agent.run(request.body(body.to_owned()).expect("it is a request")))
    }

    /// Asks whether a client may call the default endpoint, at this cost.
    pub(crate) fn allow(&self, client: &str, cost: u64) -> Value {
        self.allow_at("/x", client, cost)
    }

    pub(crate) fn allow_at(&self, endpoint: &str, client: &str, cost: u64) -> Value {
        let question =
            serde_json::json!({ "clientId": client, "endpoint": endpoint, "cost": cost });
        let answer = self.post("/v1/allow", question.to_string());
        assert_eq!(answer.status, 200, "{answer:?}");
        answer.json()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only where it is gone already.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

impl Answer {
    fn read(response: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Self {
        let mut response = response.expect("the server answers");
        let header = |name: &str| {
            let value = response.headers().get(name)?;
            Some(value.to_str().expect("it is ASCII").to_owned())
        };
        Self {
            status: response.status().as_u16(),
            content_type: header("content-type").unwrap_or_default(),
            retry_after: header("retry-after").map(|text| text.parse().expect("whole seconds")),
            allow: header("allow"),
            body: response.body_mut().read_to_string().expect("the body is text"),
        }
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).expect("the body is JSON")
    }

    /// The `detail` of a problem with this status.
    pub(crate) fn problem(&self, status: u16) -> String {
        assert_eq!(
            (self.status, self.content_type.as_str()),
            (status, "application/problem+json"),
            "{self:?}"
        );
        let problem = self.json();
        assert_eq!(problem["status"], status);
        assert!(problem["title"].is_string() && problem["type"].is_string(), "{problem}");
        problem["detail"].as_str().expect("a problem has a detail").to_owned()
    }
}
