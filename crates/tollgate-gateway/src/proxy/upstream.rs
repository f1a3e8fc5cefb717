//! The server behind the proxy.

use std::error::Error as _;
use std::time::Duration;

use hyper::body::Incoming;
use hyper::http::uri::{Authority, PathAndQuery, Scheme};
use hyper::{Request, Response, StatusCode, Uri};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tokio::time::timeout;
use tollgate_config::ProxyConfig;
use tracing::warn;

use super::body::Watched;
use crate::http::problem::Problem;

/// How long a connection to the upstream may take to stand.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// How long an idle connection to the upstream is kept: less than servers usually keep theirs (Node.js: 5 s), so that
/// it is not closed just when a request is sent on it.
const IDLE_TIMEOUT: Duration = Duration::from_secs(4);

/// Where requests go that are allowed. Connections are kept and used again.
#[derive(Debug)]
pub(super) struct Upstream {
    client: Client<HttpConnector, Watched>,
    authority: Authority,
    /// How long the head of an answer may take.
    timeout: Duration,
}

impl Upstream {
    /// `None` where the config does not name one, which its reader refuses.
    pub(super) fn new(config: &ProxyConfig) -> Option<Self> {
        let authority = config.upstream.parse::<Uri>().ok()?.authority()?.clone();
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(CONNECT_TIMEOUT));
        let client = Client::builder(TokioExecutor::new())
            .pool_idle_timeout(IDLE_TIMEOUT)
            .pool_timer(TokioTimer::new())
            .timer(TokioTimer::new())
            .http2_only(config.http2)
            .build(connector);
        Some(Self { client, authority, timeout: config.timeout })
    }

    /// The address of a path there.
    pub(super) fn at(&self, path: PathAndQuery) -> Option<Uri> {
        let parts = Uri::builder().scheme(Scheme::HTTP).authority(self.authority.clone());
        parts.path_and_query(path).build().ok()
    }

    /// Sends a request on, and waits for the head of its answer.
    ///
    /// # Errors
    /// When there is none: the upstream cannot be reached, breaks off, or takes too long.
    pub(super) async fn send(
        &self,
        request: Request<Watched>,
    ) -> Result<Response<Incoming>, Problem> {
        let Ok(answered) = timeout(self.timeout, self.client.request(request)).await else {
            let detail = format!("the upstream did not answer for {} s", self.timeout.as_secs());
            return Err(Problem::new(StatusCode::GATEWAY_TIMEOUT, detail));
        };
        answered.map_err(|error| {
            let cause = error.source().map(ToString::to_string).unwrap_or_default();
            warn!(upstream = %self.authority, "no answer: {error}: {cause}");
            let detail = if error.is_connect() {
                "the upstream cannot be reached"
            } else {
                "the upstream broke off before it answered"
            };
            Problem::new(StatusCode::BAD_GATEWAY, detail)
        })
    }
}
