//! The section `gateway`: what it may say, and what is said of one that is wrong.

use std::time::Duration;

use Format::{Json, Toml, Yaml};
use tollgate::LimiterFactory;
use tollgate_config::{ConfigErrors, FieldStyle, Format, GatewayConfig, OnMissing, parse_gateway};

use crate::support::told;

const LIMITS: &str =
    "default: { algorithm: TokenBucket, algoConfig: { capacity: 1, refill: 1/s } }\n";

const WHOLE: &str = "
gateway:
  listen: 0.0.0.0:8080
  decisionApi: false
  forwardAuth: true
  nginxAuth: true
  admin: { listen: '127.0.0.1:9090', tokenFile: /run/token, hosts: [tollgate.internal] }
  envoy: { listen: '127.0.0.1:8082' }
  redis: { listen: '[::1]:6379', idleTimeout: 1h }
  proxy: { listen: 'localhost:8000', upstream: 'http://127.0.0.1:3000' }
  client:
    trustedProxies: [10.0.0.0/8, 192.0.2.1, '2001:db8::/32']
    forwardedHeader: Forwarded
    maxHops: 2
    ipv6Prefix: 56
    strict: true
    header: { name: X-Api-Key, onMissing: address, onlyFromProxies: true }
  endpoint: { foldCase: true, allowEscapedSlash: true }
  fields: xRateLimit
  jitter: 2s
  cors: { origins: ['https://app.example.com'], credentials: true }
  limits: { headerBytes: 8192, bodyBytes: 4096, connections: 5, headerTimeout: 1s, drainTimeout: 3s }
";

fn read(format: Format, text: &str) -> Result<GatewayConfig, ConfigErrors> {
    parse_gateway(text, format, "f", &LimiterFactory::new()).map(|(_, gateway)| gateway)
}

#[test]
fn a_file_without_the_section_serves_decisions_to_this_machine_alone() {
    let gateway = read(Yaml, LIMITS).unwrap();
    assert_eq!(gateway, GatewayConfig::default());
    assert_eq!(
        (gateway.listen.as_str(), gateway.admin.listen.as_str()),
        ("127.0.0.1:8080", "127.0.0.1:8081")
    );
    assert!(gateway.decision_api && !gateway.forward_auth && !gateway.nginx_auth);
    assert!(gateway.envoy.is_none() && gateway.redis.is_none() && gateway.proxy.is_none());
    assert!(gateway.client.trusted_proxies.is_empty() && gateway.cors.is_none());
}

#[test]
fn every_field_is_read() {
    let gateway = read(Yaml, &format!("{LIMITS}{WHOLE}")).unwrap();
    assert!(!gateway.decision_api && gateway.forward_auth && gateway.nginx_auth);
    assert_eq!(gateway.admin.token_file.as_deref().unwrap().to_str(), Some("/run/token"));
    assert_eq!(gateway.admin.hosts, ["tollgate.internal"]);
    let listeners: Vec<_> = gateway.listeners().collect();
    let expected = [
        ("gateway", "0.0.0.0:8080"),
        ("admin", "127.0.0.1:9090"),
        ("envoy", "127.0.0.1:8082"),
        ("redis", "[::1]:6379"),
        ("proxy", "localhost:8000"),
    ];
    assert_eq!(listeners, expected);
    let idle_timeout = gateway.redis.as_ref().unwrap().idle_timeout;
    assert_eq!(idle_timeout, Some(Duration::from_secs(3_600)));
    assert_eq!(gateway.proxy.as_ref().unwrap().upstream, "http://127.0.0.1:3000");
    let client = &gateway.client;
    let proxies: Vec<_> = client.trusted_proxies.iter().map(ToString::to_string).collect();
    assert_eq!(proxies, ["10.0.0.0/8", "192.0.2.1/32", "2001:db8::/32"]);
    assert_eq!((client.max_hops, client.ipv6_prefix, client.strict), (2, 56, true));
    assert_eq!(client.forwarded_header, "forwarded");
    let header = client.header.as_ref().unwrap();
    assert_eq!((header.name.as_str(), header.on_missing), ("x-api-key", OnMissing::Address));
    assert!(header.only_from_proxies);
    assert!(gateway.endpoint.fold_case && gateway.endpoint.allow_escaped_slash);
    assert!(!gateway.endpoint.keep_slashes);
    assert_eq!((gateway.fields, gateway.jitter), (FieldStyle::XRateLimit, Duration::from_secs(2)));
    let cors = gateway.cors.as_ref().unwrap();
    assert_eq!(cors.origins.as_deref().unwrap(), ["https://app.example.com"]);
    assert!(cors.credentials);
    let limits = &gateway.limits;
    assert_eq!((limits.header_bytes, limits.body_bytes, limits.connections), (8_192, 4_096, 5));
    assert_eq!(limits.header_timeout, Duration::from_secs(1));
    assert_eq!(limits.drain_timeout, Duration::from_secs(3));
    assert_eq!(limits.body_timeout, GatewayConfig::default().limits.body_timeout);
}

#[test]
fn the_three_formats_say_the_same() {
    let yaml = "gateway: { listen: '127.0.0.1:1', redis: { listen: '127.0.0.1:2' }, fields: none, limits: { connections: 7 } }";
    let json = r#"{ "default": { "algorithm": "TokenBucket", "algoConfig": { "capacity": 1, "refill": "1/s" } },
        "gateway": { "listen": "127.0.0.1:1", "redis": { "listen": "127.0.0.1:2" }, "fields": "none",
        "limits": { "connections": 7 } } }"#;
    let toml = "[default]\nalgorithm = 'TokenBucket'\nalgoConfig = { capacity = 1, refill = '1/s' }\n\
        [gateway]\nlisten = '127.0.0.1:1'\nfields = 'none'\nredis.listen = '127.0.0.1:2'\nlimits.connections = 7\n";
    let expected = read(Yaml, &format!("{LIMITS}{yaml}")).unwrap();
    assert_eq!(expected.redis.as_ref().unwrap().listen, "127.0.0.1:2");
    assert_eq!(read(Json, json).unwrap(), expected);
    assert_eq!(read(Toml, toml).unwrap(), expected);
}

#[test]
fn every_fault_is_told_in_one_run_at_its_place() {
    let wrong = "
gateway:
  lisen: 127.0.0.1:8080
  decisionApi: 1
  admin: { listen: '127.0.0.1', hosts: ['a:1'] }
  redis: {}
  proxy: { listen: '127.0.0.1:8000', upstream: 'https://web' }
  client:
    trustedProxies: [10.0.0.1/8, proxy]
    header: { name: 'X Key' }
  fields: ratelimit
  cors: { origins: ['*', app], credentials: true }
  limits: { headerBytes: 1, idleTimeout: 75 }
";
    let expected = "\
3:3: gateway: unknown field `lisen`; did you mean `listen`?
4:16: gateway: `decisionApi` is 1; expected true or false
5:20: gateway: admin: `listen` is \"127.0.0.1\"; expected an address and a port, such as 127.0.0.1:8080
5:41: gateway: admin: `hosts` has \"a:1\"; expected a host name without a port, such as tollgate.internal
6:10: gateway: redis: missing `listen`; expected an address and a port, such as 127.0.0.1:8080
7:48: gateway: proxy: `upstream` is \"https://web\"; expected the server behind, such as http://127.0.0.1:3000
9:22: gateway: client: `trustedProxies` has \"10.0.0.1/8\"; expected 10.0.0.0/8, or 10.0.0.1/32
9:34: gateway: client: `trustedProxies` has \"proxy\"; expected an address, or a network such as 10.0.0.0/8
10:13: gateway: client: header: missing `onMissing`; expected one of deny, skip, address, shared, since each starves, spares or groups somebody
10:21: gateway: client: header: `name` is \"X Key\"; expected the name of a header, such as X-Api-Key
11:11: gateway: `fields` is \"ratelimit\"; expected one of rateLimit, xRateLimit, none; did you mean `rateLimit`?
12:26: gateway: cors: `origins` has \"app\"; expected an origin, such as https://app.example.com, or *
12:45: gateway: cors: browsers take no credentials for any origin; expected the origins by name
13:26: gateway: limits: `headerBytes` is 1; expected a whole number from 1024 to 262144
13:42: gateway: limits: `idleTimeout` is 75; expected a duration such as 500ms, 30s, 1m, 12h or 7d, from 1 to 86400000 ms";
    let limits = LIMITS.trim_end();
    let faults = told(read(Yaml, &format!("{limits}{wrong}")).map(|_| ()));
    assert_eq!(faults, expected);
}

#[test]
fn s80_operators_on_an_address_that_others_reach_need_a_token() {
    let with = |admin: &str| {
        told(read(Yaml, &format!("{LIMITS}gateway: {{ admin: {{ {admin} }} }}")).map(|_| ()))
    };
    for open in ["0.0.0.0:9090", "[::]:9090", "192.0.2.1:9090"] {
        let faults = with(&format!("listen: '{open}'"));
        assert!(faults.contains("which others can reach; expected a `tokenFile`"), "{faults}");
        assert_eq!(with(&format!("listen: '{open}', tokenFile: token")), "nothing wrong");
    }
    for closed in ["127.0.0.1:9090", "[::1]:9090", "127.8.8.8:1"] {
        assert_eq!(with(&format!("listen: '{closed}'")), "nothing wrong");
    }
}

#[test]
fn two_doors_cannot_have_one_address() {
    let doors = "gateway: { listen: '127.0.0.1:1', envoy: { listen: '127.0.0.1:1' }, redis: { listen: '127.0.0.1:0' }, admin: { listen: '127.0.0.1:0' } }";
    let faults = told(read(Yaml, &format!("{LIMITS}{doors}")).map(|_| ()));
    let expected = "2:42: gateway: `listen` of `envoy` is \"127.0.0.1:1\", as is that of `gateway`; expected one for each";
    assert_eq!(faults, expected);
}
