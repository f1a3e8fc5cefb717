//! What the section `gateway` of a config file says: which doors are open, where, and within which bounds.

use std::path::PathBuf;
use std::time::Duration;

/// What a gateway serves, and how. The default is the decision API on a port of this machine alone.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GatewayConfig {
    /// Where the doors over HTTP are, as `HOST:PORT`.
    pub listen: String,
    /// Whether `POST /v1/allow` and `POST /v1/peek` are answered.
    pub decision_api: bool,
    /// Whether `/v1/forward-auth` is answered, which Caddy and Traefik ask.
    pub forward_auth: bool,
    /// Whether `/v1/nginx-auth` is answered, which nginx asks.
    pub nginx_auth: bool,
    /// The listener of operators.
    pub admin: AdminConfig,
    /// Envoy's rate limit service, where it is open.
    pub envoy: Option<EnvoyConfig>,
    /// The protocol of Redis, where it is open.
    pub redis: Option<RedisConfig>,
    /// The reverse proxy, where it is open.
    pub proxy: Option<ProxyConfig>,
    /// What requests may take.
    pub limits: GatewayLimits,
}

/// The listener of operators: metrics, and changes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AdminConfig {
    /// Where it is, as `HOST:PORT`.
    pub listen: String,
    /// The file that holds the token operators show.
    pub token_file: Option<PathBuf>,
}

/// Envoy's rate limit service.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EnvoyConfig {
    /// Where it is, as `HOST:PORT`.
    pub listen: String,
}

/// The protocol of Redis.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RedisConfig {
    /// Where it is, as `HOST:PORT`.
    pub listen: String,
}

/// The reverse proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProxyConfig {
    /// Where it is, as `HOST:PORT`.
    pub listen: String,
    /// Where requests go that are allowed, such as `http://127.0.0.1:3000`.
    pub upstream: String,
}

/// What requests may take, of room and of time.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct GatewayLimits {
    /// The most bytes of a request's line and header fields.
    pub header_bytes: u32,
    /// The most bytes of a request's body.
    pub body_bytes: u64,
    /// The most connections open at once at one door.
    pub connections: u32,
    /// How long a request's header fields may take to come, from their first byte.
    pub header_timeout: Duration,
    /// How long the next part of a body may take to come, or an answer to be taken.
    pub body_timeout: Duration,
    /// How long a connection may be idle between requests.
    pub idle_timeout: Duration,
    /// How long requests under way may take to end once the gateway was told to stop.
    pub drain_timeout: Duration,
}

impl GatewayConfig {
    /// Where the doors over HTTP are unless said.
    pub const DEFAULT_LISTEN: &'static str = "127.0.0.1:8080";
}

impl AdminConfig {
    /// Where operators are heard unless said.
    pub const DEFAULT_LISTEN: &'static str = "127.0.0.1:8081";
}

impl Default for GatewayConfig {
    fn default() -> Self {
        Self {
            listen: Self::DEFAULT_LISTEN.to_owned(),
            decision_api: true,
            forward_auth: false,
            nginx_auth: false,
            admin: AdminConfig::default(),
            envoy: None,
            redis: None,
            proxy: None,
            limits: GatewayLimits::default(),
        }
    }
}

impl Default for AdminConfig {
    fn default() -> Self {
        Self { listen: Self::DEFAULT_LISTEN.to_owned(), token_file: None }
    }
}

impl Default for GatewayLimits {
    fn default() -> Self {
        Self {
            header_bytes: 16 << 10,
            body_bytes: 1 << 20,
            connections: 10_000,
            header_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            // Longer than proxies keep theirs (nginx: 60 s), so that it is they who close: a request on a connection
            // that is being closed would be lost.
            idle_timeout: Duration::from_secs(75),
            // Less than the 30 seconds that orchestrators usually grant.
            drain_timeout: Duration::from_secs(25),
        }
    }
}
