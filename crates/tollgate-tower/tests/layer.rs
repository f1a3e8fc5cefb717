//! Services that limit themselves: those of axum called as they stand, and one of tonic over a real connection.

#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::routing::any;
use http::{HeaderName, Request, Response};
use http_body_util::BodyExt;
use tokio::net::TcpListener;
use tollgate::{Concurrency, Config, FixedWindow, Limit, ManualClock, Policy, RateLimiter, Scope};
use tollgate_http::{ClientAddress, Clients, HeaderKey, Otherwise};
use tollgate_tower::TollgateLayer;
use tonic::transport::server::TcpConnectInfo;
use tonic::transport::{Endpoint, Server};
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_client::HealthClient;
use tower::ServiceExt;

const PEER: IpAddr = IpAddr::V4(Ipv4Addr::new(203, 0, 113, 7));

fn per_minute(requests: u32) -> FixedWindow {
    FixedWindow::new(requests, Duration::from_secs(60)).unwrap()
}

fn layer(policy: impl Into<Policy>) -> TollgateLayer {
    let config = Config::builder().default(policy).build().unwrap();
    let limiter = RateLimiter::builder(config.clone()).clock(ManualClock::new()).build();
    TollgateLayer::with_limiter(limiter, &config).peer(|_| Some(PEER))
}

/// A service that says which path it was asked for.
fn service(layer: TollgateLayer) -> Router {
    let path = |request: Request<Body>| async move { request.uri().path().to_owned() };
    Router::new().fallback(any(path)).layer(layer)
}

fn get(path: &str) -> Request<Body> {
    Request::get(path).header("host", "api.example.com").body(Body::empty()).unwrap()
}

async fn ask(service: &Router, request: Request<Body>) -> Response<Body> {
    service.clone().oneshot(request).await.unwrap()
}

async fn body_of(response: Response<Body>) -> String {
    String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

#[tokio::test]
async fn what_is_allowed_reaches_the_service_and_what_is_denied_does_not() {
    let service = service(layer(per_minute(1)));
    let allowed = ask(&service, get("/x")).await;
    assert_eq!(allowed.status(), 200);
    assert_eq!(allowed.headers()["ratelimit"], "\"default\";r=0;t=60");
    assert_eq!(body_of(allowed).await, "/x");
    let denied = ask(&service, get("/x")).await;
    assert_eq!(denied.status(), 429);
    assert_eq!(denied.headers()["retry-after"], "60");
    assert_eq!(denied.headers()["content-type"], "application/problem+json");
    assert!(body_of(denied).await.contains("quota-exceeded"));
}

#[tokio::test]
async fn the_service_sees_the_path_that_was_judged() {
    let service = service(layer(per_minute(9)));
    assert_eq!(body_of(ask(&service, get("/a/..//lo%67in?x=1")).await).await, "/login");
    assert_eq!(ask(&service, get("/login%2Fx")).await.status(), 400);
}

#[tokio::test]
async fn s14_targets_that_are_refused_are_charged_too() {
    let service = service(layer(per_minute(2)));
    let mut statuses = Vec::new();
    for _ in 0..3 {
        statuses.push(ask(&service, get("/login%2F")).await.status().as_u16());
    }
    assert_eq!(statuses, [400, 400, 429]);
}

#[tokio::test]
async fn clients_and_endpoints_are_told_by_functions_where_there_are_any() {
    let layer = layer(per_minute(1))
        .client(|request| request.headers().get("x-user")?.to_str().ok().map(str::to_owned))
        .endpoint(|_| Some("everything".into()));
    let limiter = layer.clone();
    let service = service(layer);
    let by = |user: &str, path: &str| {
        let mut request = get(path);
        request.headers_mut().insert("x-user", user.parse().unwrap());
        request
    };
    for (user, path, expected) in [("alice", "/a", 200), ("alice", "/b", 429), ("bob", "/a", 200)] {
        assert_eq!(ask(&service, by(user, path)).await.status(), expected, "{user} {path}");
    }
    assert!(!limiter.limiter().peek("alice", "everything").allowed());
}

#[tokio::test]
async fn a_missing_key_is_what_the_rules_say() {
    for (otherwise, expected) in [(Otherwise::Deny, 429), (Otherwise::Skip, 200)] {
        let key = HeaderKey::new(HeaderName::from_static("x-api-key"), otherwise);
        let clients = Clients::by_header(key, ClientAddress::of_peer());
        let service = service(layer(per_minute(1)).clients(clients));
        for _ in 0..2 {
            assert_eq!(ask(&service, get("/x")).await.status(), expected, "{otherwise:?}");
        }
    }
}

#[tokio::test]
async fn tenants_are_told_by_a_function() {
    let limits = Policy::limits([Limit::new("tenant", per_minute(1)).scope(Scope::Tenant)]);
    let layer = layer(limits)
        .tenant(|request| request.headers().get("x-tenant")?.to_str().ok().map(str::to_owned));
    let service = service(layer);
    let of = |tenant: &str| {
        let mut request = get("/x");
        request.headers_mut().insert("x-tenant", tenant.parse().unwrap());
        request
    };
    for (tenant, expected) in [("acme", 200), ("acme", 429), ("globex", 200)] {
        assert_eq!(ask(&service, of(tenant)).await.status(), expected, "{tenant}");
    }
    assert_eq!(ask(&service, get("/x")).await.status(), 429);
}

#[tokio::test]
async fn a_place_is_held_until_the_body_was_sent() {
    let service = service(layer(Concurrency::new(1)));
    let first = ask(&service, get("/x")).await;
    assert_eq!(ask(&service, get("/x")).await.status(), 429);
    drop(body_of(first).await);
    assert_eq!(ask(&service, get("/x")).await.status(), 200);
}

#[tokio::test]
async fn a_reload_changes_all_services_and_keeps_what_was_used() {
    let layer = layer(per_minute(1));
    let service = service(layer.clone());
    assert_eq!(ask(&service, get("/x")).await.status(), 200);
    drop(layer.reload(Config::builder().default(per_minute(3)).build().unwrap()));
    let allowed = ask(&service, get("/x")).await;
    assert_eq!(allowed.headers()["ratelimit-policy"], "\"default\";q=3;w=60");
    assert_eq!(allowed.headers()["ratelimit"], "\"default\";r=1;t=60");
}

#[tokio::test]
async fn without_an_address_nobody_is_limited_by_chance() {
    let config = Config::builder().default(per_minute(9)).build().unwrap();
    let answer = ask(&service(TollgateLayer::new(config)), get("/x")).await;
    assert_eq!(answer.status(), 500);
    assert!(body_of(answer).await.contains("have the layer find it by `peer`"));
}

#[tokio::test]
async fn svc32_a_service_of_tonic_tells_its_callers_resource_exhausted() {
    let limits = layer(per_minute(1)).peer(|request| {
        let connection = request.extensions().get::<TcpConnectInfo>()?;
        connection.remote_addr().map(|address: SocketAddr| address.ip())
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (_, health) = tonic_health::server::health_reporter();
    let incoming = tonic::transport::server::TcpIncoming::from(listener);
    let server = Server::builder().layer(limits).add_service(health);
    drop(tokio::spawn(server.serve_with_incoming(incoming)));

    let channel = Endpoint::try_from(format!("http://{address}")).unwrap().connect().await.unwrap();
    let mut client = HealthClient::new(channel);
    client.check(HealthCheckRequest::default()).await.unwrap();
    let denied = client.check(HealthCheckRequest::default()).await.unwrap_err();
    assert_eq!(denied.code(), tonic::Code::ResourceExhausted);
    assert_eq!(denied.metadata().get("grpc-retry-pushback-ms").unwrap(), "60000");
}
