//! The names that the section `gateway` uses: one list for the reader and the schema.

use super::{FieldStyle, OnMissing};

pub(crate) const GATEWAY: &str = "gateway";
pub(crate) const LISTEN: &str = "listen";
pub(crate) const DECISION_API: &str = "decisionApi";
pub(crate) const FORWARD_AUTH: &str = "forwardAuth";
pub(crate) const NGINX_AUTH: &str = "nginxAuth";
pub(crate) const ADMIN: &str = "admin";
pub(crate) const TOKEN_FILE: &str = "tokenFile";
pub(crate) const HOSTS: &str = "hosts";
pub(crate) const ENVOY: &str = "envoy";
pub(crate) const RULES: &str = "rules";
pub(crate) const DOMAIN: &str = "domain";
pub(crate) const DESCRIPTOR: &str = "descriptor";
pub(crate) const TENANT: &str = "tenant";
pub(crate) const REDIS: &str = "redis";
pub(crate) const PROXY: &str = "proxy";
pub(crate) const UPSTREAM: &str = "upstream";
pub(crate) const HTTP2: &str = "http2";
pub(crate) const TIMEOUT: &str = "timeout";
pub(crate) const CLIENT: &str = "client";
pub(crate) const TRUSTED_PROXIES: &str = "trustedProxies";
pub(crate) const FORWARDED_HEADER: &str = "forwardedHeader";
pub(crate) const MAX_HOPS: &str = "maxHops";
pub(crate) const IPV6_PREFIX: &str = "ipv6Prefix";
pub(crate) const STRICT: &str = "strict";
pub(crate) const HEADER: &str = "header";
pub(crate) const HEADER_NAME: &str = "name";
pub(crate) const ON_MISSING: &str = "onMissing";
pub(crate) const ONLY_FROM_PROXIES: &str = "onlyFromProxies";
pub(crate) const ENDPOINT: &str = "endpoint";
pub(crate) const FOLD_CASE: &str = "foldCase";
pub(crate) const KEEP_SLASHES: &str = "keepSlashes";
pub(crate) const KEEP_TRAILING_SLASH: &str = "keepTrailingSlash";
pub(crate) const KEEP_PARAMETERS: &str = "keepParameters";
pub(crate) const ALLOW_ESCAPED_SLASH: &str = "allowEscapedSlash";
pub(crate) const FIELDS: &str = "fields";
pub(crate) const JITTER: &str = "jitter";
pub(crate) const CORS: &str = "cors";
pub(crate) const ORIGINS: &str = "origins";
pub(crate) const CREDENTIALS: &str = "credentials";
pub(crate) const LIMITS: &str = "limits";
pub(crate) const HEADER_BYTES: &str = "headerBytes";
pub(crate) const BODY_BYTES: &str = "bodyBytes";
pub(crate) const CONNECTIONS: &str = "connections";
pub(crate) const HEADER_TIMEOUT: &str = "headerTimeout";
pub(crate) const BODY_TIMEOUT: &str = "bodyTimeout";
pub(crate) const IDLE_TIMEOUT: &str = "idleTimeout";
pub(crate) const DRAIN_TIMEOUT: &str = "drainTimeout";

pub(crate) const GATEWAY_FIELDS: [&str; 14] = [
    LISTEN,
    DECISION_API,
    FORWARD_AUTH,
    NGINX_AUTH,
    ADMIN,
    ENVOY,
    REDIS,
    PROXY,
    CLIENT,
    ENDPOINT,
    FIELDS,
    JITTER,
    CORS,
    LIMITS,
];
pub(crate) const ADMIN_FIELDS: [&str; 3] = [LISTEN, TOKEN_FILE, HOSTS];
pub(crate) const ENVOY_FIELDS: [&str; 2] = [LISTEN, RULES];
pub(crate) const RULE_FIELDS: [&str; 5] = [DOMAIN, DESCRIPTOR, ENDPOINT, CLIENT, TENANT];
pub(crate) const REDIS_FIELDS: [&str; 2] = [LISTEN, IDLE_TIMEOUT];
pub(crate) const PROXY_FIELDS: [&str; 4] = [LISTEN, UPSTREAM, HTTP2, TIMEOUT];
pub(crate) const CLIENT_FIELDS: [&str; 6] =
    [TRUSTED_PROXIES, FORWARDED_HEADER, MAX_HOPS, IPV6_PREFIX, STRICT, HEADER];
pub(crate) const HEADER_FIELDS: [&str; 3] = [HEADER_NAME, ON_MISSING, ONLY_FROM_PROXIES];
pub(crate) const ENDPOINT_FIELDS: [&str; 5] =
    [FOLD_CASE, KEEP_SLASHES, KEEP_TRAILING_SLASH, KEEP_PARAMETERS, ALLOW_ESCAPED_SLASH];
pub(crate) const CORS_FIELDS: [&str; 2] = [ORIGINS, CREDENTIALS];
pub(crate) const LIMITS_FIELDS: [&str; 7] = [
    HEADER_BYTES,
    BODY_BYTES,
    CONNECTIONS,
    HEADER_TIMEOUT,
    BODY_TIMEOUT,
    IDLE_TIMEOUT,
    DRAIN_TIMEOUT,
];

/// The words for what becomes of a request whose client its header does not tell.
pub(crate) const ON_MISSING_WORDS: [(&str, OnMissing); 4] = [
    ("deny", OnMissing::Deny),
    ("skip", OnMissing::Skip),
    ("address", OnMissing::Address),
    ("shared", OnMissing::Shared),
];

/// The words for the fields that tell clients how they stand; the first is the default.
pub(crate) const FIELDS_WORDS: [(&str, FieldStyle); 3] = [
    ("rateLimit", FieldStyle::RateLimit),
    ("xRateLimit", FieldStyle::XRateLimit),
    ("none", FieldStyle::None),
];
