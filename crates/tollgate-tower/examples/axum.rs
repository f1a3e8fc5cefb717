//! An axum service that limits itself: `cargo run -p tollgate-tower --example axum`, then
//! `curl -i http://127.0.0.1:3000/search` three times.

use std::net::SocketAddr;

use axum::Router;
use axum::extract::ConnectInfo;
use axum::routing::get;
use tollgate::{Config, TokenBucket};
use tollgate_tower::TollgateLayer;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let config = Config::builder()
        .default(TokenBucket::per_second(10))
        .endpoint("GET /search", TokenBucket::per_minute(60).burst(2))
        .build()?;
    let limits = TollgateLayer::new(config).peer(|request| {
        request.extensions().get::<ConnectInfo<SocketAddr>>().map(|peer| peer.0.ip())
    });
    let service = Router::new().route("/search", get(|| async { "found\n" })).layer(limits);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    axum::serve(listener, service.into_make_service_with_connect_info::<SocketAddr>()).await?;
    Ok(())
}
