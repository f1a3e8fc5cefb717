//! A small server behind the proxy. It tells what it was asked, so that tests see what a request had become.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue, UPGRADE};
use hyper::service::service_fn;
use hyper::{Request, Response, StatusCode};
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::sync::Notify;

/// A server on a free port, for HTTP/1.1 and HTTP/2.
#[derive(Debug)]
pub(crate) struct Upstream {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    requests: AtomicU32,
    /// What answers under `/held` wait for.
    release: Notify,
}

impl Upstream {
    /// Starts one on the runtime this is called in.
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared::default());
        let served = Arc::clone(&shared);
        drop(tokio::spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let shared = Arc::clone(&served);
                let service = service_fn(move |request| answer(request, Arc::clone(&shared)));
                drop(tokio::spawn(async move {
                    let http = auto::Builder::new(TokioExecutor::new());
                    // How a connection ends is seen at the other end.
                    drop(http.serve_connection_with_upgrades(TokioIo::new(stream), service).await);
                }));
            }
        }));
        Self { address, shared }
    }

    /// How many requests have reached it.
    pub(crate) fn requests(&self) -> u32 {
        self.shared.requests.load(Ordering::SeqCst)
    }

    /// Has one answer under `/held` begin.
    pub(crate) fn release(&self) {
        self.shared.release.notify_one();
    }
}

type Answer = Response<BoxBody<Bytes, hyper::Error>>;

async fn answer(request: Request<Incoming>, shared: Arc<Shared>) -> Result<Answer, Infallible> {
    shared.requests.fetch_add(1, Ordering::SeqCst);
    Ok(match request.uri().path() {
        "/socket" => switch(request),
        "/body" => Response::new(request.into_body().boxed()),
        "/held" => {
            shared.release.notified().await;
            whole("released")
        }
        "/fields" => {
            let mut answer = whole("here");
            let fields = answer.headers_mut();
            fields.insert("x-own", HeaderValue::from_static("kept"));
            fields.insert("x-hop", HeaderValue::from_static("dropped"));
            fields.insert("ratelimit", HeaderValue::from_static("\"theirs\";r=5;t=1"));
            fields.insert(CONNECTION, HeaderValue::from_static("x-hop"));
            answer
        }
        _ => whole(told(&request)),
    })
}

/// What a request looks like from here: its first line, and its fields in the order of their names.
fn told(request: &Request<Incoming>) -> String {
    let target = request.uri().path_and_query().map_or("", |target| target.as_str());
    let mut lines: Vec<String> = request
        .headers()
        .iter()
        .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
        .collect();
    lines.sort_unstable();
    format!("{} {target}\n{}\n", request.method(), lines.join("\n"))
}

fn whole(body: impl Into<Bytes>) -> Answer {
    Response::new(Full::new(body.into()).map_err(|never| match never {}).boxed())
}

/// Says back what comes, once, over the protocol that was asked for.
fn switch(request: Request<Incoming>) -> Answer {
    let mut answer = whole("");
    let Some(protocol) = request.headers().get(UPGRADE).cloned() else {
        *answer.status_mut() = StatusCode::UPGRADE_REQUIRED;
        return answer;
    };
    drop(tokio::spawn(async move {
        let mut socket = TokioIo::new(hyper::upgrade::on(request).await.unwrap());
        let mut said = [0; 5];
        socket.read_exact(&mut said).await.unwrap();
        socket.write_all(&said).await.unwrap();
        socket.shutdown().await.unwrap();
    }));
    *answer.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
    answer.headers_mut().insert(CONNECTION, HeaderValue::from_static("upgrade"));
    answer.headers_mut().insert(UPGRADE, protocol);
    answer
}
