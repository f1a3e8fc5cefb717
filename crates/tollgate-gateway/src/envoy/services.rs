//! The services of gRPC at this door: Envoy's, and those that say whether it may be asked, and what.

use std::convert::Infallible;
use std::fmt;
use std::sync::Arc;

use hyper::body::Incoming;
use hyper::{Request, Response};
use tokio::time::timeout;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service};
use tonic::server::NamedService;
use tonic::{Code, Status};
use tonic_health::ServingStatus;
use tonic_health::pb::health_server::HealthServer;
use tonic_health::server::{HealthReporter, HealthService};
use tonic_reflection::server::{Builder, Error};

use super::service::RateLimits;
use super::wire::rate_limit_service_server::{RateLimitServiceServer, SERVICE_NAME};
use crate::door::Door;
use crate::gate::Gate;
use crate::metrics::LimitHit;

/// The messages and services of `proto/rls.proto`, as reflection tells them.
const DESCRIPTORS: &[u8] = include_bytes!("../../proto/rls.bin");

/// The names that health is asked of: the server's as a whole, and the service's.
const HEALTH_OF: [&str; 2] = ["", SERVICE_NAME];

/// All services of the door.
#[derive(Clone)]
pub(super) struct Services {
    named: Arc<[(&'static str, Answering)]>,
    health: HealthReporter,
    gate: Arc<Gate>,
}

/// A service, its type forgotten.
type Answering =
    Box<dyn Fn(Request<Incoming>) -> BoxFuture<Response<Body>, Infallible> + Send + Sync>;

impl Services {
    /// # Errors
    /// When what reflection is to tell cannot be read.
    pub(super) fn new(gate: &Arc<Gate>) -> Result<Self, Error> {
        let limits = RateLimitServiceServer::new(RateLimits::new(Arc::clone(gate)));
        let bytes_max = usize::try_from(gate.settings().limits.body_bytes).unwrap_or(usize::MAX);
        let health = HealthReporter::new();
        let told = || {
            Builder::configure()
                .register_encoded_file_descriptor_set(DESCRIPTORS)
                .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
        };
        let named = [
            answering(limits.max_decoding_message_size(bytes_max)),
            answering(HealthServer::new(HealthService::from_health_reporter(health.clone()))),
            answering(told().build_v1()?),
            answering(told().build_v1alpha()?),
        ];
        Ok(Self { named: Arc::new(named), health, gate: Arc::clone(gate) })
    }

    /// Says that the service may be asked.
    pub(super) async fn start(&self) {
        self.say(ServingStatus::Serving).await;
    }

    /// Says that it will soon be gone.
    pub(super) async fn stop(&self) {
        self.say(ServingStatus::NotServing).await;
    }

    async fn say(&self, status: ServingStatus) {
        for name in HEALTH_OF {
            self.health.set_service_status(name, status).await;
        }
    }

    /// Answers a call. One of Envoy's that does not come whole in time is given up.
    pub(super) async fn answer(
        &self,
        request: Request<Incoming>,
    ) -> Result<Response<Body>, Infallible> {
        let name = request.uri().path().strip_prefix('/').and_then(|path| path.split_once('/'));
        let name = name.map_or("", |(name, _)| name);
        let Some((name, answering)) = self.named.iter().find(|(known, _)| *known == name) else {
            let known = self.named.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
            return Ok(Status::unimplemented(format!("expected one of {known}")).into_http());
        };
        let answer = answering(request);
        // The others' answers last as long as somebody listens.
        if *name == SERVICE_NAME { self.in_time(answer).await } else { answer.await }
    }

    async fn in_time(
        &self,
        answer: BoxFuture<Response<Body>, Infallible>,
    ) -> Result<Response<Body>, Infallible> {
        let time = self.gate.settings().limits.body_timeout;
        let Ok(answered) = timeout(time, answer).await else {
            self.gate.metrics.record_limit(Door::Envoy, LimitHit::BodyTime);
            let status = "the request did not come whole in time; send it at once";
            return Ok(Status::deadline_exceeded(status).into_http());
        };
        let status = answered.as_ref().ok().and_then(|answer| answer.headers().get("grpc-status"));
        if status.is_some_and(|status| Code::from_bytes(status.as_bytes()) == Code::OutOfRange) {
            self.gate.metrics.record_limit(Door::Envoy, LimitHit::BodyBytes);
        }
        answered
    }
}

impl fmt::Debug for Services {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.named.iter().map(|(name, _)| name);
        f.debug_tuple("Services").field(&names.collect::<Vec<_>>()).finish()
    }
}

fn answering<S>(service: S) -> (&'static str, Answering)
where
    S: Service<
            Request<Incoming>,
            Response = Response<Body>,
            Error = Infallible,
            Future = BoxFuture<Response<Body>, Infallible>,
        > + NamedService
        + Clone
        + Send
        + Sync
        + 'static,
{
    (S::NAME, Box::new(move |request| service.clone().call(request)))
}
