//! Callers that break off, that do not speak the protocol, and that ask whether the service may be asked.

use std::convert::Infallible;

use bytes::Bytes;
use http_body_util::{BodyExt, Empty, Full, StreamBody};
use hyper::body::Frame;
use hyper::client::conn::http2::{self, SendRequest};
use hyper_util::rt::{TokioExecutor, TokioIo};
use prost::Message;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_stream::{StreamExt, pending};
use tonic::Code;
use tonic::transport::Endpoint;
use tonic_health::pb::HealthCheckRequest;
use tonic_health::pb::health_check_response::ServingStatus;
use tonic_health::pb::health_client::HealthClient;
use tonic_reflection::pb::v1::ServerReflectionRequest;
use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

use crate::support::{METHOD, Served, call, hits, request};

const LIMITS: &str =
    "default: { algorithm: FixedWindow, algoConfig: { maxRequests: 1000000, window: 1m } }";
const SERVICE: &str = "envoy.service.ratelimit.v3.RateLimitService";

type Body = http_body_util::combinators::UnsyncBoxBody<Bytes, Infallible>;

/// A connection of HTTP/2 that knows nothing of gRPC.
async fn connect(served: &Served) -> SendRequest<Body> {
    let stream = TokioIo::new(TcpStream::connect(served.address()).await.unwrap());
    let (send, connection) = http2::handshake(TokioExecutor::new(), stream).await.unwrap();
    tokio::spawn(connection);
    send
}

fn post(body: Body) -> http::Request<Body> {
    http::Request::post(format!("http://tollgate{METHOD}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        .body(body)
        .unwrap()
}

/// The bytes of a whole request that costs one.
fn whole() -> Bytes {
    let message = request(&[call("GET", "/x", "203.0.113.7")]).encode_to_vec();
    let length = u32::try_from(message.len()).unwrap().to_be_bytes();
    [&[0][..], &length, &message].concat().into()
}

/// A body that begins like this and never ends.
fn endless(start: Bytes) -> Body {
    let frames = tokio_stream::once(Ok(Frame::data(start))).chain(pending());
    StreamBody::new(frames).boxed_unsync()
}

#[tokio::test]
async fn s70_callers_that_break_off_are_charged_for_what_was_decided_and_leave_nothing_behind() {
    let served = Served::new(LIMITS).await;
    let mut send = connect(&served).await;
    // The fields alone, a part of the message, the message without the request's end, and all of it.
    let part = whole().slice(..7);
    let bodies = [
        (300, (|_| StreamBody::new(pending()).boxed_unsync()) as fn(&Bytes) -> Body),
        (300, |part| endless(part.clone())),
        (300, |_| endless(whole())),
        (900, |_| Full::new(whole()).boxed_unsync()),
    ];
    for (times, body) in bodies {
        for _ in 0..times {
            send.ready().await.unwrap();
            // Begun, and given up before the gateway has had a look at it.
            tokio::select! {
                biased;
                answered = send.send_request(post(body(&part))) => {
                    assert_eq!(answered.unwrap().status(), 200);
                }
                () = tokio::task::yield_now() => {}
            }
        }
    }
    // The same connection goes on. A message that did not come whole was not judged, and what was judged is charged.
    let answer = send.send_request(post(Full::new(whole()).boxed_unsync())).await.unwrap();
    assert_eq!(answer.status(), 200);
    let mut client = served.client().await;
    let left = client.status(hits(0, call("GET", "/x", "203.0.113.7"))).await.limit_remaining;
    let judged = served.metric("tollgate_answer_duration_seconds_count{door=\"envoy\"}").await;
    // The last one only looked.
    assert_eq!(u64::from(1_000_000 - left), judged - 1);
    assert!(judged <= 1_202, "{judged}");
    served.stop().await;
}

#[tokio::test]
async fn s70_two_requests_in_one_call_are_an_error_or_judged_once() {
    let served = Served::new(LIMITS).await;
    let mut send = connect(&served).await;
    let twice = [whole(), whole()].concat();
    let answer = send.send_request(post(Full::new(twice.into()).boxed_unsync())).await.unwrap();
    assert_eq!(answer.status(), 200);
    let mut client = served.client().await;
    let left = client.status(hits(0, call("GET", "/x", "203.0.113.7"))).await.limit_remaining;
    assert!(left >= 999_999, "{left}");
    served.stop().await;
}

#[tokio::test]
async fn a_request_that_does_not_come_whole_is_given_up_and_counted() {
    let served = Served::with(LIMITS, "  limits: { bodyTimeout: 1ms }").await;
    let mut send = connect(&served).await;
    let answer = send.send_request(post(endless(whole().slice(..7)))).await.unwrap();
    assert_eq!(answer.headers()["grpc-status"], "4");
    let hits_of = "tollgate_gateway_limits_hit_total{door=\"envoy\",limit=\"body_time\"}";
    assert_eq!(served.metric(hits_of).await, 1);
    served.stop().await;
}

#[tokio::test]
async fn who_does_not_speak_http_2_is_not_waited_for() {
    let served = Served::with(LIMITS, "  limits: { headerTimeout: 1ms }").await;
    for greeting in [&b""[..], b"PRI * HTTP/2.0", b"GET / HTTP/1.1\r\nhost: tollgate\r\n\r\n"] {
        let mut stream = TcpStream::connect(served.address()).await.unwrap();
        stream.write_all(greeting).await.unwrap();
        // The end, or a reset where something was left unread.
        let ended = stream.read_to_end(&mut Vec::new()).await;
        assert!(matches!(ended, Ok(0) | Err(_)), "{ended:?}");
    }
    let hits_of = "tollgate_gateway_limits_hit_total{door=\"envoy\",limit=\"header_time\"}";
    assert_eq!(served.metric(hits_of).await, 2);
    served.stop().await;
}

#[tokio::test]
async fn what_is_no_service_is_unimplemented() {
    let served = Served::new(LIMITS).await;
    let mut send = connect(&served).await;
    for path in ["/", "/x", "/envoy.service.ratelimit.v3.RateLimitService/Other", "/grpc.Other/X"] {
        let asked = http::Request::post(format!("http://tollgate{path}"));
        let asked = asked.body(Empty::new().boxed_unsync()).unwrap();
        let answer = send.send_request(asked).await.unwrap();
        assert_eq!(answer.headers()["grpc-status"], "12", "{path}");
    }
    served.stop().await;
}

#[tokio::test]
async fn the_health_service_tells_when_the_door_closes() {
    let served = Served::new(LIMITS).await;
    let endpoint = Endpoint::from_shared(format!("http://{}", served.address())).unwrap();
    let mut health = HealthClient::new(endpoint.connect().await.unwrap());
    for service in ["", SERVICE] {
        let asked = HealthCheckRequest { service: service.to_owned() };
        let status = health.check(asked).await.unwrap().into_inner().status();
        assert_eq!(status, ServingStatus::Serving, "{service:?}");
    }
    let unknown = HealthCheckRequest { service: "unknown".to_owned() };
    assert_eq!(health.check(unknown).await.unwrap_err().code(), Code::NotFound);

    let watched = HealthCheckRequest { service: SERVICE.to_owned() };
    let mut told = health.watch(watched).await.unwrap().into_inner();
    assert_eq!(told.message().await.unwrap().unwrap().status(), ServingStatus::Serving);
    // Who watches holds up the end no longer than a moment.
    let stopped = tokio::spawn(served.stop());
    assert_eq!(told.message().await.unwrap().unwrap().status(), ServingStatus::NotServing);
    stopped.await.unwrap();
}

#[tokio::test]
async fn the_services_are_told_by_reflection() {
    let served = Served::new(LIMITS).await;
    let endpoint = Endpoint::from_shared(format!("http://{}", served.address())).unwrap();
    let mut reflection = ServerReflectionClient::new(endpoint.connect().await.unwrap());
    let mut ask = async |message_request| {
        let asked =
            ServerReflectionRequest { host: String::new(), message_request: Some(message_request) };
        let answers = reflection.server_reflection_info(tokio_stream::once(asked)).await.unwrap();
        let answer = answers.into_inner().message().await.unwrap().unwrap();
        answer.message_response.unwrap()
    };
    let MessageResponse::ListServicesResponse(listed) =
        ask(MessageRequest::ListServices(String::new())).await
    else {
        panic!("no list")
    };
    let names: Vec<_> = listed.service.into_iter().map(|service| service.name).collect();
    assert!(names.contains(&SERVICE.to_owned()), "{names:?}");
    let symbol = MessageRequest::FileContainingSymbol(format!("{SERVICE}.ShouldRateLimit"));
    let MessageResponse::FileDescriptorResponse(file) = ask(symbol).await else {
        panic!("no file")
    };
    let file = prost_types::FileDescriptorProto::decode(&*file.file_descriptor_proto[0]).unwrap();
    assert_eq!(file.name(), "rls.proto");
    served.stop().await;
}

#[tokio::test]
async fn a_gateway_that_stops_answers_what_has_come() {
    let served = Served::new(LIMITS).await;
    let mut client = served.client().await;
    assert!(client.allows(call("GET", "/x", "203.0.113.7")).await);
    let address = served.address();
    served.stop().await;
    let gone = client.ask(request(&[call("GET", "/x", "203.0.113.7")])).await.unwrap_err();
    assert_eq!(gone.code(), Code::Unavailable, "{gone}");
    TcpStream::connect(address).await.unwrap_err();
}
