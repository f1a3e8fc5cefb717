//! A gateway with its proxy, and connections to it on which tests write bytes.

use std::net::SocketAddr;
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tollgate::ManualClock;
use tollgate_gateway::{Door, Gateway};

use crate::upstream::Upstream;

/// How long anything may take before a test fails: far longer than it does.
const DEADLINE: Duration = Duration::from_secs(30);

/// A proxy in front of an upstream, on a clock that stands still.
pub(crate) struct Proxy {
    pub(crate) gateway: Gateway,
    pub(crate) upstream: Upstream,
    pub(crate) clock: ManualClock,
    pub(crate) address: SocketAddr,
    _folder: TempDir,
}

impl Proxy {
    /// With these limits, and these settings of the section `gateway` beside the proxy, each as YAML.
    pub(crate) async fn start(limits: &str, settings: &str) -> Self {
        Self::start_with(limits, settings, "").await
    }

    /// With settings of the proxy itself, too: `, name: value`.
    pub(crate) async fn start_with(limits: &str, settings: &str, proxy: &str) -> Self {
        let upstream = Upstream::start().await;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("limits.yaml");
        let config = format!(
            "{limits}\ngateway:\n  proxy: {{ listen: '127.0.0.1:0', upstream: 'http://{}'{proxy} }}\n{settings}",
            upstream.address
        );
        std::fs::write(&path, config).unwrap();
        let clock = ManualClock::new();
        let builder = Gateway::builder(path).listen("127.0.0.1:0").admin("127.0.0.1:0");
        let gateway = builder.clock(clock.clone()).start().await.unwrap();
        let address = gateway.address(Door::Proxy).unwrap();
        Self { gateway, upstream, clock, address, _folder: folder }
    }

    pub(crate) async fn connect(&self) -> Connection {
        Connection::to(self.address).await
    }

    /// Asks once, on a connection of its own. `head` is the request's first line and fields, a line each.
    pub(crate) async fn ask(&self, head: &str) -> Answer {
        let mut connection = self.connect().await;
        connection.ask(head).await
    }

    /// The statuses of one request after another.
    pub(crate) async fn statuses(&self, heads: &[impl AsRef<str> + Sync]) -> Vec<u16> {
        let mut statuses = Vec::new();
        for head in heads {
            statuses.push(self.ask(head.as_ref()).await.status);
        }
        statuses
    }
}

/// The least that a request to the proxy has, with more fields.
pub(crate) fn get(target: &str, fields: &str) -> String {
    format!("GET {target} HTTP/1.1\nHost: api.example.com\n{fields}")
}

pub(crate) struct Connection {
    stream: TcpStream,
    read: Vec<u8>,
}

/// An answer over HTTP/1.1.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// Names in lower case.
    fields: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.lines_of(name).next()
    }

    /// A list field, whose lines are one list.
    pub(crate) fn list(&self, name: &str) -> String {
        self.lines_of(name).collect::<Vec<_>>().join(", ")
    }

    fn lines_of(&self, name: &str) -> impl Iterator<Item = &str> {
        self.fields.iter().filter(move |(known, _)| known == name).map(|(_, value)| &**value)
    }

    /// A field that the upstream was sent, where it answers what it was asked.
    pub(crate) fn sent(&self, name: &str) -> Option<&str> {
        let start = format!("{name}: ");
        self.body.lines().find_map(|line| line.strip_prefix(&*start))
    }

    /// The first line that the upstream was sent.
    pub(crate) fn sent_line(&self) -> &str {
        self.body.lines().next().unwrap_or_default()
    }
}

impl Connection {
    pub(crate) async fn to(address: SocketAddr) -> Self {
        Self { stream: TcpStream::connect(address).await.unwrap(), read: Vec::new() }
    }

    /// Sends as much as the other side takes before it closes.
    pub(crate) async fn send_in_part(&mut self, bytes: &[u8]) {
        drop(self.stream.write_all(bytes).await);
    }

    pub(crate) async fn send(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.unwrap();
    }

    /// Sends the head of a request, given with simple line ends.
    pub(crate) async fn send_head(&mut self, head: &str) {
        let lines: Vec<&str> = head.trim_end().lines().collect();
        self.send(format!("{}\r\n\r\n", lines.join("\r\n")).as_bytes()).await;
    }

    pub(crate) async fn ask(&mut self, head: &str) -> Answer {
        self.send_head(head).await;
        self.answer().await
    }

    /// The next answer, whose length is told.
    pub(crate) async fn answer(&mut self) -> Answer {
        let head = self.read_until(b"\r\n\r\n").await;
        let head = String::from_utf8(head).unwrap();
        let mut lines = head.trim_end().split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
        let field = |line: &str| {
            let (name, value) = line.split_once(':').unwrap();
            (name.to_ascii_lowercase(), value.trim().to_owned())
        };
        let mut answer = Answer { status, fields: lines.map(field).collect(), body: String::new() };
        let length = answer.field("content-length").map_or(0, |length| length.parse().unwrap());
        let body = self.read_exactly(length).await;
        answer.body = String::from_utf8(body).unwrap();
        answer
    }

    /// Reads up to and with this.
    pub(crate) async fn read_until(&mut self, end: &[u8]) -> Vec<u8> {
        loop {
            let found = self.read.windows(end.len()).position(|window| window == end);
            if let Some(start) = found {
                return self.read.drain(..start.saturating_add(end.len())).collect();
            }
            assert!(self.read_more().await, "closed before {end:?}, after {:?}", self.read);
        }
    }

    pub(crate) async fn read_exactly(&mut self, length: usize) -> Vec<u8> {
        while self.read.len() < length {
            assert!(self.read_more().await, "closed after {:?}", self.read);
        }
        self.read.drain(..length).collect()
    }

    /// All that comes until the other side closes.
    pub(crate) async fn read_to_end(&mut self) -> Vec<u8> {
        while self.read_more().await {}
        std::mem::take(&mut self.read)
    }

    /// Whether more came before the other side closed. A reset closes too.
    async fn read_more(&mut self) -> bool {
        let read = timeout(DEADLINE, self.stream.read_buf(&mut self.read)).await;
        read.expect("something comes in time").is_ok_and(|length| length > 0)
    }
}
