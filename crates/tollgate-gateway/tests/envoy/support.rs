//! A gateway in the test's own process, and a client of gRPC.

use std::fs;
use std::future::pending;
use std::net::SocketAddr;

use tempfile::TempDir;
use tollgate::ManualClock;
use tollgate_gateway::{Door, Gateway};
use tonic::client::Grpc;
use tonic::transport::{Channel, Endpoint};
use tonic::{Request, Status};
use tonic_prost::ProstCodec;

use crate::wire::rate_limit_descriptor::{Entry, RateLimitOverride};
use crate::wire::rate_limit_response::{Code, DescriptorStatus};
use crate::wire::{RateLimitDescriptor, RateLimitRequest, RateLimitResponse, Unit};

/// What operators show.
const TOKEN: &str = "a-token-of-the-tests";

/// Where the service is, by its name.
pub(crate) const METHOD: &str = "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";

/// A gateway whose door for Envoy is open, on a clock that the test moves.
pub(crate) struct Served {
    pub(crate) gateway: Gateway,
    pub(crate) clock: ManualClock,
    folder: TempDir,
}

impl Served {
    /// With these limits, and these lines below `gateway.envoy`, or below `gateway` where they are indented less.
    pub(crate) async fn with(limits: &str, lines: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        write(&folder, limits, lines);
        fs::write(folder.path().join("token"), TOKEN).unwrap();
        let clock = ManualClock::new();
        let gateway = Gateway::builder(folder.path().join("limits.yaml"))
            .listen("127.0.0.1:0")
            .admin("127.0.0.1:0")
            .clock(clock.clone())
            .start()
            .await
            .unwrap();
        Self { gateway, clock, folder }
    }

    /// With these limits and the default rules.
    pub(crate) async fn new(limits: &str) -> Self {
        Self::with(limits, "").await
    }

    /// The same with another config from now on.
    pub(crate) async fn reload(&self, limits: &str, lines: &str) {
        write(&self.folder, limits, lines);
        self.gateway.reload().await.unwrap();
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.gateway.address(Door::Envoy).unwrap()
    }

    pub(crate) async fn client(&self) -> Client {
        let endpoint = Endpoint::from_shared(format!("http://{}", self.address())).unwrap();
        Client(Grpc::new(endpoint.connect().await.unwrap()))
    }

    /// Says something of a client as an operator does, where the config has `admin: { tokenFile: token }`.
    pub(crate) async fn override_client(&self, client: &str, body: &'static str) {
        let address = self.gateway.address(Door::Admin).unwrap();
        let url = format!("http://{address}/v1/clients/{client}/override");
        let put = ureq::put(&url).header("authorization", &format!("Bearer {TOKEN}"));
        let status = tokio::task::spawn_blocking(move || put.send(body).unwrap().status()).await;
        assert_eq!(status.unwrap(), 200);
    }

    /// The value of a line of the metrics, which starts with this.
    pub(crate) async fn metric(&self, line: &str) -> u64 {
        let address = self.gateway.address(Door::Admin).unwrap();
        let url = format!("http://{address}/metrics");
        let read = move || ureq::get(&url).call().unwrap().body_mut().read_to_string().unwrap();
        let text = tokio::task::spawn_blocking(read).await.unwrap();
        let value = text.lines().find_map(|known| known.strip_prefix(line));
        value.unwrap_or_else(|| panic!("no {line} in:\n{text}")).trim().parse().unwrap()
    }

    pub(crate) async fn stop(self) {
        self.gateway.stop(pending()).await.unwrap();
    }
}

fn write(folder: &TempDir, limits: &str, lines: &str) {
    let text = format!("{limits}\ngateway:\n  envoy:\n    listen: 127.0.0.1:0\n{lines}\n");
    fs::write(folder.path().join("limits.yaml"), text).unwrap();
}

/// A client on a connection of its own.
#[derive(Clone)]
pub(crate) struct Client(Grpc<Channel>);

impl Client {
    pub(crate) async fn ask(
        &mut self,
        request: RateLimitRequest,
    ) -> Result<RateLimitResponse, Status> {
        self.0.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
        let codec = ProstCodec::<RateLimitRequest, RateLimitResponse>::default();
        let answer = self.0.unary(Request::new(request), METHOD.parse().unwrap(), codec).await;
        answer.map(tonic::Response::into_inner)
    }

    /// The answer to one request of these descriptors.
    pub(crate) async fn answer(
        &mut self,
        descriptors: &[RateLimitDescriptor],
    ) -> RateLimitResponse {
        self.ask(request(descriptors)).await.unwrap()
    }

    /// The one status of the answer to one descriptor.
    pub(crate) async fn status(&mut self, descriptor: RateLimitDescriptor) -> DescriptorStatus {
        let answer = self.answer(&[descriptor]).await;
        let [status] = answer.statuses.try_into().unwrap();
        assert_eq!(answer.overall_code, status.code);
        status
    }

    /// Whether a request of one descriptor may go on.
    pub(crate) async fn allows(&mut self, descriptor: RateLimitDescriptor) -> bool {
        self.status(descriptor).await.code() == Code::Ok
    }
}

/// A request in the domain `api`.
pub(crate) fn request(descriptors: &[RateLimitDescriptor]) -> RateLimitRequest {
    let descriptors = descriptors.to_vec();
    RateLimitRequest { domain: "api".to_owned(), descriptors, hits_addend: 0 }
}

/// A descriptor of these entries.
pub(crate) fn descriptor(entries: &[(&str, &str)]) -> RateLimitDescriptor {
    let entry =
        |(key, value): &(&str, &str)| Entry { key: (*key).to_owned(), value: (*value).to_owned() };
    let entries = entries.iter().map(entry).collect();
    RateLimitDescriptor { entries, ..RateLimitDescriptor::default() }
}

/// A request's method, path and address.
pub(crate) fn call(method: &str, path: &str, address: &str) -> RateLimitDescriptor {
    descriptor(&[("method", method), ("path", path), ("remote_address", address)])
}

/// The same with hits of its own.
pub(crate) fn hits(hits: u64, descriptor: RateLimitDescriptor) -> RateLimitDescriptor {
    RateLimitDescriptor { hits_addend: Some(hits), ..descriptor }
}

/// The same with a limit of its own.
pub(crate) fn limited(
    requests_per_unit: u32,
    unit: Unit,
    descriptor: RateLimitDescriptor,
) -> RateLimitDescriptor {
    let limit = Some(RateLimitOverride { requests_per_unit, unit: unit.into() });
    RateLimitDescriptor { limit, ..descriptor }
}

/// A header field of an answer.
pub(crate) fn header<'a>(answer: &'a RateLimitResponse, name: &str) -> Option<&'a str> {
    let fields = &answer.response_headers_to_add;
    fields.iter().find(|field| field.key == name).map(|field| &*field.value)
}
