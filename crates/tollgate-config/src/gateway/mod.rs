//! What the section `gateway` of a config file says: which doors are open, where, and within which bounds.

mod envoy;
pub(crate) mod names;
pub(crate) mod read;
pub(crate) mod schema;
mod value;

use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use ipnet::IpNet;

pub use envoy::{EndpointTemplate, EnvoyConfig, EnvoyRule, Piece};

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
    /// How clients of requests over HTTP are told apart.
    pub client: ClientConfig,
    /// How the targets of requests over HTTP become endpoints.
    pub endpoint: EndpointConfig,
    /// Which fields tell clients how they stand.
    pub fields: FieldStyle,
    /// How much longer at most a denied client is told to wait, drawn anew for each.
    pub jitter: Duration,
    /// Which origins' scripts may read answers; `None` for none.
    pub cors: Option<CorsConfig>,
    /// What requests may take.
    pub limits: GatewayLimits,
}

/// The listener of operators: metrics, and changes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct AdminConfig {
    /// Where it is, as `HOST:PORT`.
    pub listen: String,
    /// The file that holds the token operators show. Without one, operators are heard on a loopback address alone, and
    /// may read and change nothing but metrics and probes.
    pub token_file: Option<PathBuf>,
    /// Names by which the listener may be asked for (`Host`), beside `localhost` and addresses.
    pub hosts: Vec<String>,
}

/// The protocol of Redis.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RedisConfig {
    /// Where it is, as `HOST:PORT`.
    pub listen: String,
    /// How long a connection may be idle between commands; `None` for any time, which pools of connections count on.
    pub idle_timeout: Option<Duration>,
}

/// The reverse proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProxyConfig {
    /// Where it is, as `HOST:PORT`.
    pub listen: String,
    /// Where requests go that are allowed, such as `http://127.0.0.1:3000`.
    pub upstream: String,
    /// Whether the upstream is spoken to in HTTP/2, which servers of gRPC need; else in HTTP/1.1.
    pub http2: bool,
    /// How long the upstream may take until its answer begins.
    pub timeout: Duration,
}

/// How clients of requests over HTTP are told apart: by address, or by a header of theirs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientConfig {
    /// The proxies whose word counts for where a request came from.
    pub trusted_proxies: Vec<IpNet>,
    /// The header in which they say it: `X-Forwarded-For`, `Forwarded`, or another that holds one address.
    pub forwarded_header: HeaderName,
    /// How many proxies a request may come through.
    pub max_hops: u32,
    /// How many bits of an IPv6 address are one client's.
    pub ipv6_prefix: u8,
    /// Whether requests with both `X-Forwarded-For` and `Forwarded` are refused.
    pub strict: bool,
    /// The header that names the client, where it is not its address.
    pub header: Option<ClientHeader>,
}

/// A header that names the client, such as an API key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ClientHeader {
    /// Its name.
    pub name: HeaderName,
    /// What becomes of a request that has none, or an empty one, or several.
    pub on_missing: OnMissing,
    /// Whether it counts only from a trusted proxy, and is as good as missing from anybody else.
    pub only_from_proxies: bool,
}

/// What becomes of a request whose client its header does not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnMissing {
    /// It is refused.
    Deny,
    /// No limit holds for it.
    Skip,
    /// The client is told by its address.
    Address,
    /// All such requests are one client's.
    Shared,
}

/// Which spellings of a path are one endpoint. By default as many as servers may take for one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the file, by its name")]
pub struct EndpointConfig {
    /// `/Login` is judged as `/login`.
    pub fold_case: bool,
    /// `//` stays two slashes.
    pub keep_slashes: bool,
    /// `/login/` is another endpoint than `/login`.
    pub keep_trailing_slash: bool,
    /// What follows a `;` is part of the name.
    pub keep_parameters: bool,
    /// `%2F` is let through, part of a segment.
    pub allow_escaped_slash: bool,
}

/// Which fields tell clients how they stand.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldStyle {
    /// `RateLimit` and `RateLimit-Policy`.
    #[default]
    RateLimit,
    /// `X-RateLimit-Limit`, `X-RateLimit-Remaining` and `X-RateLimit-Reset`.
    XRateLimit,
    /// None but `Retry-After`.
    None,
}

/// Which origins' scripts may read answers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CorsConfig {
    /// The origins; `None` for all.
    pub origins: Option<Vec<HeaderValue>>,
    /// Also for requests with cookies.
    pub credentials: bool,
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

    /// How long the jitter may be, in milliseconds.
    pub(crate) const JITTER_MS: RangeInclusive<u64> = 0..=3_600_000;

    /// Whether every door that decides sees when a call ends, as the proxy does and no other.
    pub const fn sees_calls_end(&self) -> bool {
        let is_asked = self.decision_api || self.forward_auth || self.nginx_auth;
        !is_asked && self.envoy.is_none() && self.redis.is_none()
    }

    /// Every address that is listened on, with what the file calls its door.
    pub fn listeners(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let envoy = self.envoy.iter().map(|it| (names::ENVOY, &*it.listen));
        let redis = self.redis.iter().map(|it| (names::REDIS, &*it.listen));
        let proxy = self.proxy.iter().map(|it| (names::PROXY, &*it.listen));
        let always = [(names::GATEWAY, &*self.listen), (names::ADMIN, &*self.admin.listen)];
        always.into_iter().chain(envoy).chain(redis).chain(proxy)
    }
}

impl ProxyConfig {
    /// How long the upstream may take until its answer begins, unless said.
    pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
}

impl ClientConfig {
    /// The header in which proxies say where a request came from, unless said.
    pub const DEFAULT_FORWARDED_HEADER: HeaderName = HeaderName::from_static("x-forwarded-for");

    pub(crate) const MAX_HOPS: RangeInclusive<u64> = 1..=100;
    pub(crate) const IPV6_PREFIX: RangeInclusive<u64> = 1..=128;
}

impl GatewayLimits {
    pub(crate) const HEADER_BYTES: RangeInclusive<u64> = 1_024..=262_144;
    pub(crate) const BODY_BYTES: RangeInclusive<u64> = 1_024..=1_073_741_824;
    pub(crate) const CONNECTIONS: RangeInclusive<u64> = 1..=1_000_000;
    /// Of each time-out, in milliseconds.
    pub(crate) const TIMEOUT_MS: RangeInclusive<u64> = 1..=86_400_000;
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
            client: ClientConfig::default(),
            endpoint: EndpointConfig::default(),
            fields: FieldStyle::default(),
            jitter: Duration::ZERO,
            cors: None,
            limits: GatewayLimits::default(),
        }
    }
}

impl Default for AdminConfig {
    fn default() -> Self {
        Self { listen: Self::DEFAULT_LISTEN.to_owned(), token_file: None, hosts: Vec::new() }
    }
}

impl Default for ClientConfig {
    fn default() -> Self {
        Self {
            trusted_proxies: Vec::new(),
            forwarded_header: Self::DEFAULT_FORWARDED_HEADER,
            max_hops: 8,
            ipv6_prefix: 64,
            strict: false,
            header: None,
        }
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
