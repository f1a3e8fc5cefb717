//! Who a request is from, and what the upstream is told of it.

use crate::wire::{Proxy, get};

const TWO: &str = "default: { algorithm: FixedWindow, algoConfig: { maxRequests: 2, window: 1m } }";
const MANY: &str =
    "default: { algorithm: FixedWindow, algoConfig: { maxRequests: 99, window: 1m } }";
const TRUSTED: &str = "  client: { trustedProxies: [127.0.0.1] }";

#[tokio::test]
async fn svc01_a_trusted_proxy_says_who_the_client_is_and_the_client_does_not() {
    let proxy = Proxy::start(TWO, TRUSTED).await;
    let via = |chain: &str| get("/x", &format!("X-Forwarded-For: {chain}"));
    let chains =
        ["198.51.100.1, 203.0.113.7", "198.51.100.2, 203.0.113.7", "198.51.100.3, 203.0.113.7"];
    let heads = chains.map(via);
    assert_eq!(proxy.statuses(&heads).await, [200, 200, 429]);
    assert_eq!(proxy.ask(&via("203.0.113.8")).await.status, 200);
}

#[tokio::test]
async fn s02_what_an_untrusted_peer_says_of_itself_is_neither_believed_nor_handed_on() {
    let proxy = Proxy::start(TWO, "").await;
    let fields = "X-Forwarded-For: 192.0.2.1\nX-Real-IP: 192.0.2.1\nForwarded: for=192.0.2.1\n\
                  CF-Connecting-IP: 192.0.2.1\nTrue-Client-IP: 192.0.2.1";
    let answer = proxy.ask(&get("/x", fields)).await;
    assert_eq!(answer.sent("x-forwarded-for"), Some("127.0.0.1"));
    for name in ["x-real-ip", "forwarded", "cf-connecting-ip", "true-client-ip"] {
        assert_eq!(answer.sent(name), None, "{name}");
    }
    let others =
        ["192.0.2.2", "192.0.2.3"].map(|address| get("/x", &format!("X-Forwarded-For: {address}")));
    assert_eq!(proxy.statuses(&others).await, [200, 429]);
}

#[tokio::test]
async fn s05_of_two_families_the_one_that_is_named_reaches_the_upstream() {
    let proxy = Proxy::start(MANY, TRUSTED).await;
    let answer =
        proxy.ask(&get("/x", "X-Forwarded-For: 198.51.100.7\nForwarded: for=192.0.2.1")).await;
    assert_eq!(answer.sent("x-forwarded-for"), Some("198.51.100.7, 127.0.0.1"));
    assert_eq!(answer.sent("forwarded"), None);
}

#[tokio::test]
async fn svc04_s10_connection_takes_away_nothing_that_the_gateway_adds_or_that_is_end_to_end() {
    let proxy = Proxy::start(MANY, TRUSTED).await;
    let fields = "Connection: close, X-Forwarded-For, X-Forwarded-Host, X-Forwarded-Proto, Authorization, Cookie, \
                  Host, X-Mine\nAuthorization: Bearer 1\nCookie: a=b\nX-Mine: gone\nX-Forwarded-For: 198.51.100.7";
    let answer = proxy.ask(&get("/x", fields)).await;
    assert_eq!(answer.sent("x-forwarded-for"), Some("127.0.0.1"));
    assert_eq!(answer.sent("x-forwarded-host"), Some("api.example.com"));
    assert_eq!(answer.sent("x-forwarded-proto"), Some("http"));
    assert_eq!(answer.sent("authorization"), Some("Bearer 1"));
    assert_eq!(answer.sent("cookie"), Some("a=b"));
    assert_eq!(answer.sent("host"), Some("api.example.com"));
    assert_eq!((answer.sent("x-mine"), answer.sent("connection")), (None, None));
}

#[tokio::test]
async fn svc05_s11_underscore_twins_never_reach_the_upstream() {
    let proxy = Proxy::start(MANY, TRUSTED).await;
    let fields =
        "X_Forwarded_For: 192.0.2.1\nX-Forwarded_For: 192.0.2.1\nx_real_ip: 192.0.2.1\nX_Own: kept";
    let answer = proxy.ask(&get("/x", fields)).await;
    assert_eq!(answer.sent("x-forwarded-for"), Some("127.0.0.1"));
    for name in ["x_forwarded_for", "x-forwarded_for", "x_real_ip"] {
        assert_eq!(answer.sent(name), None, "{name}");
    }
    assert_eq!(answer.sent("x_own"), Some("kept"));
}

#[tokio::test]
async fn svc29_a_missing_key_is_what_the_config_says() {
    let header = |on_missing: &str| {
        format!("  client: {{ header: {{ name: X-Api-Key, onMissing: {on_missing} }} }}")
    };
    let table =
        [("deny", [429, 429, 429]), ("skip", [200, 200, 200]), ("address", [200, 200, 429])];
    for (on_missing, expected) in table {
        let proxy = Proxy::start(TWO, &header(on_missing)).await;
        let heads =
            [get("/x", ""), get("/x", "X-Api-Key:"), get("/x", "X-Api-Key: a\nX-Api-Key: b")];
        assert_eq!(proxy.statuses(&heads).await, expected, "{on_missing}");
        assert_eq!(proxy.ask(&get("/x", "X-Api-Key: alice")).await.status, 200);
    }
}

#[tokio::test]
async fn svc31_preflights_pass_uncharged_and_scripts_may_read_why_they_are_denied() {
    let one = "default: { algorithm: FixedWindow, algoConfig: { maxRequests: 1, window: 1m } }";
    let proxy = Proxy::start(one, "  cors: { origins: ['https://app.example.com'] }").await;
    let origin = "Origin: https://app.example.com";
    let preflight =
        format!("OPTIONS /x HTTP/1.1\nHost: a\n{origin}\nAccess-Control-Request-Method: GET");
    assert_eq!(proxy.statuses(&[&preflight; 5]).await, [200; 5]);
    assert_eq!(proxy.ask(&get("/x", origin)).await.status, 200);
    let denied = proxy.ask(&get("/x", origin)).await;
    assert_eq!(denied.status, 429);
    assert_eq!(denied.field("access-control-allow-origin"), Some("https://app.example.com"));
    assert!(
        denied
            .field("access-control-expose-headers")
            .unwrap()
            .to_lowercase()
            .contains("retry-after")
    );
    let bare = format!("OPTIONS /y HTTP/1.1\nHost: a\n{origin}");
    assert_eq!(proxy.statuses(&[&bare, &bare]).await, [429, 429]);
}
