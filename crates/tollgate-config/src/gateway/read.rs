//! Reads the section `gateway`. Where something in it is wrong, the fault is found and reading goes on with the
//! default.

use std::collections::HashMap;
use std::time::Duration;

use super::envoy::read_rules;
use super::names::{
    ADMIN, ADMIN_FIELDS, ALLOW_ESCAPED_SLASH, BODY_BYTES, BODY_TIMEOUT, CLIENT, CLIENT_FIELDS,
    CONNECTIONS, CORS, CORS_FIELDS, CREDENTIALS, DECISION_API, DRAIN_TIMEOUT, ENDPOINT,
    ENDPOINT_FIELDS, ENVOY, ENVOY_FIELDS, FIELDS, FIELDS_WORDS, FOLD_CASE, FORWARD_AUTH,
    FORWARDED_HEADER, GATEWAY, GATEWAY_FIELDS, HEADER, HEADER_BYTES, HEADER_FIELDS, HEADER_NAME,
    HEADER_TIMEOUT, HOSTS, HTTP2, IDLE_TIMEOUT, IPV6_PREFIX, JITTER, KEEP_PARAMETERS, KEEP_SLASHES,
    KEEP_TRAILING_SLASH, LIMITS, LIMITS_FIELDS, LISTEN, MAX_HOPS, NGINX_AUTH, ON_MISSING,
    ON_MISSING_WORDS, ONLY_FROM_PROXIES, ORIGINS, PROXY, PROXY_FIELDS, REDIS, REDIS_FIELDS, STRICT,
    TIMEOUT, TOKEN_FILE, TRUSTED_PROXIES, UPSTREAM,
};
use super::value::{is_on_loopback, text_of};
use super::{
    AdminConfig, ClientConfig, ClientHeader, CorsConfig, EndpointConfig, EnvoyConfig,
    GatewayConfig, GatewayLimits, ProxyConfig, RedisConfig, value,
};
use crate::fields::Fields;
use crate::findings::Findings;
use crate::tree::{Entry, Node};

/// Reads the section, where there is one.
pub(crate) fn read(section: Option<&Entry>, findings: &mut Findings) -> GatewayConfig {
    let Some(section) = section else { return GatewayConfig::default() };
    findings.about(GATEWAY.to_owned(), |findings| {
        let fields = Fields::of(&section.value, "`gateway`", "a map of its doors", findings);
        fields.map(|fields| read_gateway(&fields, findings)).unwrap_or_default()
    })
}

fn read_gateway(fields: &Fields<'_>, findings: &mut Findings) -> GatewayConfig {
    fields.refuse_unknown(&GATEWAY_FIELDS, findings);
    let default = GatewayConfig::default();
    let config = GatewayConfig {
        listen: address(fields, findings).unwrap_or(default.listen),
        decision_api: fields.flag(DECISION_API, findings).unwrap_or(default.decision_api),
        forward_auth: fields.flag(FORWARD_AUTH, findings).unwrap_or(default.forward_auth),
        nginx_auth: fields.flag(NGINX_AUTH, findings).unwrap_or(default.nginx_auth),
        admin: part(fields, ADMIN, &ADMIN_FIELDS, findings, read_admin).unwrap_or_default(),
        envoy: part(fields, ENVOY, &ENVOY_FIELDS, findings, read_envoy).flatten(),
        redis: part(fields, REDIS, &REDIS_FIELDS, findings, read_redis).flatten(),
        proxy: part(fields, PROXY, &PROXY_FIELDS, findings, read_proxy).flatten(),
        client: part(fields, CLIENT, &CLIENT_FIELDS, findings, read_client).unwrap_or_default(),
        endpoint: part(fields, ENDPOINT, &ENDPOINT_FIELDS, findings, read_endpoint)
            .unwrap_or_default(),
        fields: fields.choice(FIELDS, &FIELDS_WORDS, findings).unwrap_or_default(),
        jitter: optional_duration(fields, JITTER, findings).unwrap_or_default(),
        cors: part(fields, CORS, &CORS_FIELDS, findings, read_cors).flatten(),
        limits: part(fields, LIMITS, &LIMITS_FIELDS, findings, read_limits).unwrap_or_default(),
    };
    refuse_one_address_twice(&config, fields, findings);
    config
}

/// A part of the section that is a map of these fields, where it is there.
fn part<T>(
    fields: &Fields<'_>,
    name: &str,
    known: &[&str],
    findings: &mut Findings,
    read: impl FnOnce(&Fields<'_>, &mut Findings) -> T,
) -> Option<T> {
    let node = &fields.get(name)?.value;
    let expected = format!("a map with any of {}", known.join(", "));
    let fields = Fields::of(node, &format!("`{name}`"), &expected, findings)?;
    findings.about(name.to_owned(), |findings| {
        fields.refuse_unknown(known, findings);
        Some(read(&fields, findings))
    })
}

fn required_address(fields: &Fields<'_>, findings: &mut Findings) -> Option<String> {
    fields.required(LISTEN, value::ADDRESS, findings)?;
    address(fields, findings)
}

fn address(fields: &Fields<'_>, findings: &mut Findings) -> Option<String> {
    text_of(fields, LISTEN, value::ADDRESS, value::address, findings)
}

fn read_admin(fields: &Fields<'_>, findings: &mut Findings) -> AdminConfig {
    let default = AdminConfig::default();
    let token_file = fields.optional_text(TOKEN_FILE, "the path of a file", findings);
    let admin = AdminConfig {
        listen: address(fields, findings).unwrap_or(default.listen),
        token_file: token_file.map(Into::into),
        hosts: texts(fields, HOSTS, value::HOST, value::host, findings),
    };
    let listen = fields.get(LISTEN).filter(|_| fields.get(TOKEN_FILE).is_none());
    if let Some(entry) = listen.filter(|_| !is_on_loopback(&admin.listen)) {
        let message = format!(
            "`{LISTEN}` is {:?}, which others can reach; expected a `{TOKEN_FILE}` beside it, or a loopback address",
            admin.listen
        );
        findings.at(&entry.value, message);
    }
    admin
}

fn read_envoy(fields: &Fields<'_>, findings: &mut Findings) -> Option<EnvoyConfig> {
    let listen = required_address(fields, findings);
    let rules = read_rules(fields, findings);
    Some(EnvoyConfig { listen: listen?, rules })
}

fn read_redis(fields: &Fields<'_>, findings: &mut Findings) -> Option<RedisConfig> {
    let listen = required_address(fields, findings);
    let idle_timeout = optional_timeout(fields, IDLE_TIMEOUT, findings);
    Some(RedisConfig { listen: listen?, idle_timeout })
}

fn read_proxy(fields: &Fields<'_>, findings: &mut Findings) -> Option<ProxyConfig> {
    let listen = required_address(fields, findings);
    let upstream = fields
        .required(UPSTREAM, value::UPSTREAM, findings)
        .and_then(|_| text_of(fields, UPSTREAM, value::UPSTREAM, value::upstream, findings));
    let http2 = fields.flag(HTTP2, findings).unwrap_or_default();
    let timeout = optional_timeout(fields, TIMEOUT, findings);
    let timeout = timeout.unwrap_or(ProxyConfig::DEFAULT_TIMEOUT);
    Some(ProxyConfig { listen: listen?, upstream: upstream?, http2, timeout })
}

fn read_client(fields: &Fields<'_>, findings: &mut Findings) -> ClientConfig {
    let default = ClientConfig::default();
    let forwarded =
        text_of(fields, FORWARDED_HEADER, value::HEADER_NAME, value::header_name, findings);
    let max_hops = fields.whole(MAX_HOPS, ClientConfig::MAX_HOPS, findings);
    let ipv6_prefix = fields.whole(IPV6_PREFIX, ClientConfig::IPV6_PREFIX, findings);
    ClientConfig {
        trusted_proxies: networks(fields, findings),
        forwarded_header: forwarded.unwrap_or(default.forwarded_header),
        max_hops: narrowed(max_hops, default.max_hops),
        ipv6_prefix: narrowed(ipv6_prefix, default.ipv6_prefix),
        strict: fields.flag(STRICT, findings).unwrap_or(default.strict),
        header: part(fields, HEADER, &HEADER_FIELDS, findings, read_header).flatten(),
    }
}

fn read_header(fields: &Fields<'_>, findings: &mut Findings) -> Option<ClientHeader> {
    let name = fields.required(HEADER_NAME, value::HEADER_NAME, findings).and_then(|_| {
        text_of(fields, HEADER_NAME, value::HEADER_NAME, value::header_name, findings)
    });
    let words = ON_MISSING_WORDS.map(|(word, _)| word).join(", ");
    let expected = format!("one of {words}, since each starves, spares or groups somebody");
    let on_missing = fields
        .required(ON_MISSING, &expected, findings)
        .and_then(|_| fields.choice(ON_MISSING, &ON_MISSING_WORDS, findings));
    let only_from_proxies = fields.flag(ONLY_FROM_PROXIES, findings).unwrap_or_default();
    Some(ClientHeader { name: name?, on_missing: on_missing?, only_from_proxies })
}

fn read_endpoint(fields: &Fields<'_>, findings: &mut Findings) -> EndpointConfig {
    let mut is = |name| fields.flag(name, findings).unwrap_or_default();
    EndpointConfig {
        fold_case: is(FOLD_CASE),
        keep_slashes: is(KEEP_SLASHES),
        keep_trailing_slash: is(KEEP_TRAILING_SLASH),
        keep_parameters: is(KEEP_PARAMETERS),
        allow_escaped_slash: is(ALLOW_ESCAPED_SLASH),
    }
}

fn read_cors(fields: &Fields<'_>, findings: &mut Findings) -> Option<CorsConfig> {
    fields.required(ORIGINS, value::ORIGINS, findings)?;
    let origins = texts(fields, ORIGINS, value::ORIGIN, value::origin, findings);
    let credentials = fields.flag(CREDENTIALS, findings).unwrap_or_default();
    let is_any = origins.iter().any(|origin| origin == value::ANY_ORIGIN);
    let cookies = fields.get(CREDENTIALS).filter(|_| is_any && credentials);
    if let Some(entry) = cookies {
        let message = "browsers take no credentials for any origin; expected the origins by name";
        findings.at(&entry.value, message);
    }
    Some(CorsConfig { origins: (!is_any).then_some(origins), credentials })
}

fn read_limits(fields: &Fields<'_>, findings: &mut Findings) -> GatewayLimits {
    let default = GatewayLimits::default();
    let header_bytes = fields.whole(HEADER_BYTES, GatewayLimits::HEADER_BYTES, findings);
    let connections = fields.whole(CONNECTIONS, GatewayLimits::CONNECTIONS, findings);
    let body_bytes = fields.whole(BODY_BYTES, GatewayLimits::BODY_BYTES, findings);
    let mut timeout = |name, default| optional_timeout(fields, name, findings).unwrap_or(default);
    GatewayLimits {
        header_bytes: narrowed(header_bytes, default.header_bytes),
        body_bytes: body_bytes.unwrap_or(default.body_bytes),
        connections: narrowed(connections, default.connections),
        header_timeout: timeout(HEADER_TIMEOUT, default.header_timeout),
        body_timeout: timeout(BODY_TIMEOUT, default.body_timeout),
        idle_timeout: timeout(IDLE_TIMEOUT, default.idle_timeout),
        drain_timeout: timeout(DRAIN_TIMEOUT, default.drain_timeout),
    }
}

/// A number whose range fits its type, or the default.
fn narrowed<T: TryFrom<u64>>(read: Option<u64>, default: T) -> T {
    read.and_then(|read| T::try_from(read).ok()).unwrap_or(default)
}

fn optional_timeout(
    fields: &Fields<'_>,
    name: &'static str,
    findings: &mut Findings,
) -> Option<Duration> {
    fields.get(name)?;
    fields.duration(name, GatewayLimits::TIMEOUT_MS, findings)
}

fn optional_duration(
    fields: &Fields<'_>,
    name: &'static str,
    findings: &mut Findings,
) -> Option<Duration> {
    fields.get(name)?;
    fields.duration(name, GatewayConfig::JITTER_MS, findings)
}

/// A list of texts, and what is made of each.
fn texts<T>(
    fields: &Fields<'_>,
    name: &str,
    expected: &str,
    make: fn(&str) -> Option<T>,
    findings: &mut Findings,
) -> Vec<T> {
    let mut right = Vec::new();
    for (text, place) in fields.texts(name, expected, findings) {
        match make(text) {
            Some(value) => right.push(value),
            None => findings.at(place, format_args!("`{name}` has {text:?}; expected {expected}")),
        }
    }
    right
}

fn networks(fields: &Fields<'_>, findings: &mut Findings) -> Vec<ipnet::IpNet> {
    let mut networks = Vec::new();
    let expected = "an address, or a network such as 10.0.0.0/8";
    for (text, place) in fields.texts(TRUSTED_PROXIES, expected, findings) {
        match value::network(text) {
            Ok(network) => networks.push(network),
            Err(expected) => {
                let message = format!("`{TRUSTED_PROXIES}` has {text:?}; expected {expected}");
                findings.at(place, message);
            }
        }
    }
    networks
}

/// Two doors cannot listen on one address; port 0 is another one each time.
fn refuse_one_address_twice(config: &GatewayConfig, fields: &Fields<'_>, findings: &mut Findings) {
    let mut seen = HashMap::new();
    for (door, address) in config.listeners().filter(|(_, address)| !address.ends_with(":0")) {
        let Some(other) = seen.insert(address, door) else { continue };
        let place: &Node = fields.get(door).map_or_else(|| fields.node(), |entry| &entry.value);
        let message = format!(
            "`{LISTEN}` of `{door}` is {address:?}, as is that of `{other}`; expected one for each"
        );
        findings.at(place, message);
    }
}
