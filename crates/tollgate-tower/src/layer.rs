//! The layer: the limits, and how a request is read.

use std::borrow::Cow;
use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use http::Request;
use tollgate::{Config, RateLimiter, ReloadReport};
use tollgate_http::{Answers, ClientAddress, Clients, EndpointRules, Policies};
use tower_layer::Layer;

use crate::service::Tollgate;

/// Limits the services it wraps. All of them, and all clones of it, share one set of limits.
///
/// ```
/// use std::net::SocketAddr;
/// use axum::{Router, extract::ConnectInfo, routing::get};
/// use tollgate::{Config, TokenBucket};
/// use tollgate_tower::TollgateLayer;
///
/// let limits = TollgateLayer::new(Config::builder().default(TokenBucket::per_second(10)).build()?)
///     .peer(|request| request.extensions().get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip()));
/// let service = Router::new()
///     .route("/", get(|| async { "hello" }))
///     .layer(limits)
///     .into_make_service_with_connect_info::<SocketAddr>();
/// # drop(service);
/// # Ok::<(), tollgate::Faults>(())
/// ```
#[derive(Clone)]
#[must_use]
pub struct TollgateLayer {
    limits: Arc<Limits>,
    pub(crate) reading: Arc<Reading>,
}

/// The limits, and what clients are told of them.
#[derive(Debug)]
pub(crate) struct Limits {
    pub(crate) limiter: RateLimiter,
    pub(crate) policies: ArcSwap<Policies>,
}

/// A function of a request's head: its method, its target, its fields and its extensions.
type Extract<T> = Arc<dyn Fn(&Request<()>) -> Option<T> + Send + Sync>;

/// How a request is read, and its answer written.
#[derive(Clone)]
pub(crate) struct Reading {
    pub(crate) peer: Extract<IpAddr>,
    pub(crate) client: Option<Extract<String>>,
    pub(crate) tenant: Option<Extract<String>>,
    pub(crate) endpoint: Option<Extract<Cow<'static, str>>>,
    pub(crate) clients: Clients,
    pub(crate) endpoints: EndpointRules,
    pub(crate) answers: Arc<Answers>,
}

impl TollgateLayer {
    /// With these limits. Clients are told apart by the address of their connection, which is looked for in the
    /// request's extension `SocketAddr`; servers put it elsewhere, so say where by [`peer`](Self::peer).
    pub fn new(config: Config) -> Self {
        let policies = ArcSwap::from_pointee(Policies::of(&config));
        Self::of(Limits { limiter: RateLimiter::new(config), policies })
    }

    /// With a limiter of yours, such as one on a clock for tests; `config` is the one it was made of.
    pub fn with_limiter(limiter: RateLimiter, config: &Config) -> Self {
        Self::of(Limits { limiter, policies: ArcSwap::from_pointee(Policies::of(config)) })
    }

    fn of(limits: Limits) -> Self {
        let peer =
            |request: &Request<()>| request.extensions().get::<SocketAddr>().map(SocketAddr::ip);
        let reading = Reading {
            peer: Arc::new(peer),
            client: None,
            tenant: None,
            endpoint: None,
            clients: Clients::by_address(ClientAddress::of_peer()),
            endpoints: EndpointRules::new(),
            answers: Arc::default(),
        };
        Self { limits: Arc::new(limits), reading: Arc::new(reading) }
    }

    /// How the address of a request's connection is found. Where none is and the rules need one, the answer is 500:
    /// limiting all requests as one client's, or none of them, would be a surprise either way.
    pub fn peer(
        self,
        find: impl Fn(&Request<()>) -> Option<IpAddr> + Send + Sync + 'static,
    ) -> Self {
        self.reading(|reading| Reading { peer: Arc::new(find), ..reading })
    }

    /// How clients are told apart, behind proxies or by a field such as an API key.
    pub fn clients(self, clients: Clients) -> Self {
        self.reading(|reading| Reading { clients, ..reading })
    }

    /// Who a request is from, by a function of yours; for a request of which it does not tell, the other rules hold.
    pub fn client(
        self,
        find: impl Fn(&Request<()>) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.reading(|reading| Reading { client: Some(Arc::new(find)), ..reading })
    }

    /// Whose client a request is from, for limits of the scope `tenant`.
    pub fn tenant(
        self,
        find: impl Fn(&Request<()>) -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.reading(|reading| Reading { tenant: Some(Arc::new(find)), ..reading })
    }

    /// Which spellings of a path are one endpoint.
    pub fn endpoints(self, endpoints: EndpointRules) -> Self {
        self.reading(|reading| Reading { endpoints, ..reading })
    }

    /// Which endpoint a request is for, by a function of yours, such as the route it matched; for a request of which it
    /// does not tell, `METHOD /path` in its normal form.
    pub fn endpoint(
        self,
        find: impl Fn(&Request<()>) -> Option<Cow<'static, str>> + Send + Sync + 'static,
    ) -> Self {
        self.reading(|reading| Reading { endpoint: Some(Arc::new(find)), ..reading })
    }

    /// How decisions are said in HTTP.
    pub fn answers(self, answers: Answers) -> Self {
        self.reading(|reading| Reading { answers: Arc::new(answers), ..reading })
    }

    fn reading(self, change: impl FnOnce(Reading) -> Reading) -> Self {
        let reading = Arc::new(change(Arc::unwrap_or_clone(self.reading)));
        Self { reading, ..self }
    }

    /// The limiter, to be asked without a request and to be looked at.
    pub fn limiter(&self) -> &RateLimiter {
        &self.limits.limiter
    }

    /// Changes the limits of all services it wraps, live; what clients used up stays used.
    pub fn reload(&self, config: Config) -> ReloadReport {
        let policies = Arc::new(Policies::of(&config));
        let report = self.limits.limiter.reload(config);
        self.limits.policies.store(policies);
        report
    }

    pub(crate) fn policies(&self) -> Guard<Arc<Policies>> {
        self.limits.policies.load()
    }
}

impl<S> Layer<S> for TollgateLayer {
    type Service = Tollgate<S>;

    fn layer(&self, service: S) -> Tollgate<S> {
        Tollgate::new(service, self.clone())
    }
}

impl fmt::Debug for TollgateLayer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TollgateLayer").field("limits", &self.limits).finish_non_exhaustive()
    }
}
