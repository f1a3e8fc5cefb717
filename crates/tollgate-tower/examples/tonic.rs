//! A gRPC service of tonic that limits itself: `cargo run -p tollgate-tower --example tonic`, then
//! `grpcurl -plaintext 127.0.0.1:50051 grpc.health.v1.Health/Check` until it answers `ResourceExhausted`.

use tollgate::{Config, TokenBucket};
use tollgate_tower::TollgateLayer;
use tonic::transport::Server;
use tonic::transport::server::TcpConnectInfo;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let config = Config::builder()
        .default(TokenBucket::per_second(10))
        .endpoint("/grpc.health.v1.Health/Check", TokenBucket::per_minute(60).burst(2))
        .build()?;
    let limits = TollgateLayer::new(config).peer(|request| {
        let connection = request.extensions().get::<TcpConnectInfo>()?;
        connection.remote_addr().map(|address| address.ip())
    });
    let (_, health) = tonic_health::server::health_reporter();
    Server::builder().layer(limits).add_service(health).serve("127.0.0.1:50051".parse()?).await?;
    Ok(())
}
