//! Config files: YAML, JSON or TOML, the same shape in all three, read into a [`tollgate::Config`].
//!
//! Should you use this? If the limits are to be changed without a new build. If they are known when
//! the program is written, [`Config::builder`](tollgate::Config::builder) says them in Rust.
//!
//! ```
//! use tollgate::{LimiterFactory, RateLimiter};
//! use tollgate_config::Format;
//!
//! let text = "
//! default:
//!   algorithm: TokenBucket
//!   algoConfig: { capacity: 10, refillRatePerSecond: 1 }
//! endpoints:
//!   - endpoint: /search
//!     algorithm: SlidingWindowLog
//!     algoConfig: { maxRequests: 100, window: 1m }
//! ";
//! let config = tollgate_config::parse(text, Format::Yaml, "limits.yaml", &LimiterFactory::new())?;
//! let limiter = RateLimiter::new(config);
//! assert_eq!(limiter.allow("alice", "/search").remaining(), 99);
//! # Ok::<(), tollgate_config::ConfigErrors>(())
//! ```
//!
//! A program usually has the file's path, and says [`load`]. A file is checked once and whole:
//! every fault is reported in one run, each where it stands, as `file:line:column: what is wrong,
//! what was expected`.
//!
//! ```
//! use tollgate::LimiterFactory;
//! use tollgate_config::Format;
//!
//! let text = "
//! default:
//!   algorithm: TokenBuckt
//!   algoConfig: { capacity: 10, refillRatePerSecond: 1 }
//!   maxKey: 0
//! ";
//! let factory = LimiterFactory::new();
//! let errors = tollgate_config::parse(text, Format::Yaml, "limits.yaml", &factory).unwrap_err();
//! assert_eq!(
//!     errors.to_string(),
//!     "limits.yaml:3:14: default: unknown algorithm `TokenBuckt`; did you mean `TokenBucket`? \
//!      known are Concurrency, FixedWindow, SlidingWindowCounter, SlidingWindowLog, TokenBucket\n\
//!      limits.yaml:5:3: default: unknown field `maxKey`; did you mean `maxKeys`?"
//! );
//! ```
//!
//! # What a file may say
//! | where | field | what it is |
//! | --- | --- | --- |
//! | top | `default` | required: what every endpoint gets that is not listed |
//! | top | `endpoints` | a list of entries, one for each endpoint with limits of its own |
//! | top | `sharedLimits` | limits that entries share: a list, or a map by name |
//! | top | `every` | the names of the shared limits of every entry |
//! | top | `plans` | the names of the plans there are |
//! | top | `clients` | who is on which: a list of a `client` or a `prefix` of clients' names, each with a `plan` |
//! | top | `gateway` | what `tollgate serve` serves, and within which bounds: see below |
//! | entry | `endpoint` | required, but refused in `default`: its name, matched exactly |
//! | entry | `algorithm`, `algoConfig` | one limit: an algorithm, built in or [registered], and its parameters |
//! | entry | `limits` | or several, which are charged all or none |
//! | entry | `unlimited`, `deny` | or `true` for no limit, or for no call |
//! | entry | `use` | the names of the shared limits that it uses, beside its own or alone |
//! | entry | `exempt` | clients that no limit of the entry holds for |
//! | entry | `cost` | what a call costs that does not say; unless said 1 |
//! | entry | `penalty` | a block for `blockFor` (`10m`) after so many `denials` in a row |
//! | entry | `plans` | what the clients of each plan get instead: a map by the plans' names |
//! | entry | `overrides` | what single clients get instead: each a `client` and, where it ends, `until` a time |
//! | limit | `name` | required: what results and reloads know it by |
//! | limit | `algorithm`, `algoConfig` | required, as on an entry |
//! | limit | `scope` | whose calls it counts together: `client` (unless said), `tenant` or `global` |
//! | limit | `mode` | `enforce` (unless said), or `shadow` for a trial run that denies nobody |
//! | limit | `was` | the name it had, so that a reload hands its state on |
//! | all | `maxKeys` | the most keys held at once, 1 to 1,000,000,000; unless said 1,000,000 |
//! | all | `onFull` | what happens beyond: `overflow`, `deny` or `admit`; unless said `overflow` |
//!
//! A limit's own `maxKeys` and `onFull` win over its entry's, and those over the ones at the top. A limit for all has
//! one key.
//!
//! From the most particular word to the most general: an override of the client; the plan of the `client`; the plan
//! that the call names; the plan of the longest `prefix`; what the entry gives everybody.
//!
//! YAML is read as YAML 1.2 (`yes` and `on` are texts), without tags and merge keys; JSON strictly;
//! TOML as 1.1. A rate is the decimal as it was written, in all three.
//!
//! A path with `{` or `*` is a pattern: in `GET /users/{id}` and `/files/*` a segment in braces
//! stands for any one, and `*` at the end for any rest. Exact names win over patterns, and of
//! patterns the most specific. Names are compared as they come, percent-encoding and slashes at the
//! end included; the front door brings them into one form. (In YAML, a pattern needs quotes where it
//! stands inside `{ }`.)
//!
//! # What the section `gateway` may say
//! All of it may be left out: then the decision API is served on 127.0.0.1:8080, and metrics on 127.0.0.1:8081.
//!
//! | where | field | what it is |
//! | --- | --- | --- |
//! | gateway | `listen` | where requests over HTTP are answered; unless said 127.0.0.1:8080 |
//! | gateway | `decisionApi` | `false` to close `/v1/allow` and `/v1/peek` |
//! | gateway | `forwardAuth`, `nginxAuth` | `true` to answer what Caddy and Traefik, or nginx, ask on `/v1/forward-auth`, `/v1/nginx-auth` |
//! | gateway | `admin` | the listener of operators: `listen` (127.0.0.1:8081), `tokenFile`, and `hosts`, its names beside `localhost` |
//! | gateway | `envoy` | opens this door: `listen`, and `rules` for what descriptors mean, each with `descriptor` (the keys of its entries), `domain`, `endpoint` (`"{method} {path}"`), `client` and `tenant` |
//! | gateway | `redis` | opens this door: `listen`, and `idleTimeout` (any time) |
//! | gateway | `proxy` | opens the reverse proxy: `listen`, and the `upstream` behind it |
//! | gateway | `client` | who a request is from: `trustedProxies`, their `forwardedHeader` (`X-Forwarded-For`), `maxHops` (8), `ipv6Prefix` (64), `strict`, and `header` |
//! | client | `header` | the client by a header: its `name`, `onMissing` (`deny`, `skip`, `address`, `shared`; required), `onlyFromProxies` |
//! | gateway | `endpoint` | spellings that are told apart: `foldCase`, `keepSlashes`, `keepTrailingSlash`, `keepParameters`, `allowEscapedSlash` |
//! | gateway | `fields` | what clients are told: `rateLimit` (unless said), `xRateLimit` or `none` |
//! | gateway | `jitter` | how much longer at most a denied client is told to wait; unless said 0 |
//! | gateway | `cors` | whose scripts may read answers: `origins`, `credentials` |
//! | gateway | `limits` | what requests may take: see below |
//!
//! | field of `limits` | what is bounded | unless said | range |
//! | --- | --- | --- | --- |
//! | `headerBytes` | a request's line and header fields, of which there may be 100 | 16,384 | 1,024 to 262,144 |
//! | `bodyBytes` | a request's body | 1,048,576 | 1,024 to 1 GiB |
//! | `connections` | connections open at once at one door | 10,000 | 1 to 1,000,000 |
//! | `headerTimeout` | from the first byte of a request to the end of its header fields | 10s | 1ms to 1 day |
//! | `bodyTimeout` | until the next part of a body comes, or of an answer is taken | 30s | 1ms to 1 day |
//! | `idleTimeout` | between two requests, at least | 75s | 1ms to 1 day |
//! | `drainTimeout` | for requests under way once the gateway is told to stop | 25s | 1ms to 1 day |
//!
//! [registered]: tollgate::LimiterFactory::register
//! [pattern]: tollgate::ConfigBuilder::endpoint
//!
//! # Limits
//! | what | most | beyond it |
//! | --- | --- | --- |
//! | size of a file | [16 MiB](tree::FILE_BYTES_MAX) | refused |
//! | lists and maps around a value | [64](tree::DEPTH_MAX) | refused |
//! | memory that YAML aliases repeat | [64 MiB](tree::REPEATED_BYTES_MAX) | refused |
//!
//! # Map
//! [`tree`] turns a file into a tree of values that know their places, and is of use for other
//! files as well; the rest judges such a tree. [`schema`] is a JSON Schema for editors.

#![forbid(unsafe_code)]

mod document;
mod entry;
mod error;
mod fields;
mod file;
mod findings;
mod format;
mod gateway;
mod limits;
mod names;
mod overrides;
mod plans;
mod rule;
mod schema;
pub mod tree;
mod twice;

use std::path::Path;

use tollgate::{Config, LimiterFactory};

pub use error::{ConfigError, ConfigErrors};
pub use format::Format;
pub use gateway::{
    AdminConfig, ClientConfig, ClientHeader, CorsConfig, EndpointConfig, EndpointTemplate,
    EnvoyConfig, EnvoyRule, FieldStyle, GatewayConfig, GatewayLimits, OnMissing, Piece,
    ProxyConfig, RedisConfig,
};
pub use schema::schema;

use crate::findings::Findings;
use crate::tree::Node;

/// Reads a config file, YAML, JSON or TOML by its extension.
///
/// ```no_run
/// let limiter = tollgate::RateLimiter::new(tollgate_config::load("limits.yaml")?);
/// # Ok::<(), tollgate_config::ConfigErrors>(())
/// ```
///
/// # Errors
/// Every fault of the file; or the one that it cannot be read, is too large, or has another
/// extension.
pub fn load(path: impl AsRef<Path>) -> Result<Config, ConfigErrors> {
    load_with(path, &LimiterFactory::new())
}

/// As [`load`], for files that may name the algorithms registered with `factory`.
///
/// # Errors
/// As [`load`].
pub fn load_with(path: impl AsRef<Path>, factory: &LimiterFactory) -> Result<Config, ConfigErrors> {
    load_gateway(path, factory).map(|(limits, _)| limits)
}

/// Reads a config file whole: the limits, and what a gateway serves.
///
/// # Errors
/// As [`load`].
pub fn load_gateway(
    path: impl AsRef<Path>,
    factory: &LimiterFactory,
) -> Result<(Config, GatewayConfig), ConfigErrors> {
    let file = file::read(path.as_ref())?;
    parse_gateway(&file.text, file.format, &file.name, factory)
}

/// Reads a config from text. `file_name` is what errors call it.
///
/// # Errors
/// Every fault of the text.
pub fn parse(
    text: &str,
    format: Format,
    file_name: &str,
    factory: &LimiterFactory,
) -> Result<Config, ConfigErrors> {
    parse_gateway(text, format, file_name, factory).map(|(limits, _)| limits)
}

/// Reads a config whole from text: the limits, and what a gateway serves.
///
/// # Errors
/// Every fault of the text.
pub fn parse_gateway(
    text: &str,
    format: Format,
    file_name: &str,
    factory: &LimiterFactory,
) -> Result<(Config, GatewayConfig), ConfigErrors> {
    let mut findings = Findings::new(file_name);
    let root = tree::read(text, format, &mut findings);
    let config = root.and_then(|root| document::read(&root, factory, &mut findings));
    findings.finish(config)
}

/// Reads a config from a part of a tree, such as the `config` inside a scenario. `file_name` is
/// what errors call the file it stands in.
///
/// # Errors
/// Every fault of the config.
pub fn from_tree(
    root: &Node,
    file_name: &str,
    factory: &LimiterFactory,
) -> Result<Config, ConfigErrors> {
    let mut findings = Findings::new(file_name);
    let config = document::read(root, factory, &mut findings);
    findings.finish(config.map(|(limits, _)| limits))
}
