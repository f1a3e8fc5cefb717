//! The decision server: listens, reloads on SIGHUP, and drains before it stops.

mod admin;
mod api;
mod health;
mod logging;
mod metrics;
mod problem;
mod question;
mod reload;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use axum::Router;
use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tollgate::{Config, MonotonicClock, RateLimiter};
use tracing::{debug, info, warn};

use crate::args::ServeArgs;
use metrics::Metrics;
use reload::ConfigFile;

/// How long requests in flight may take once the server was told to stop: less than the 30 seconds that orchestrators
/// usually grant.
const DRAIN_MAX: Duration = Duration::from_secs(25);

/// Serves decisions until a signal ends it.
pub(crate) fn run(args: &ServeArgs) -> anyhow::Result<ExitCode> {
    logging::start(args.log_format)?;
    let (file, config) = ConfigFile::open(args.config.clone())?;
    let runtime = Runtime::new().context("the runtime cannot be started")?;
    let ended = runtime.block_on(serve(args, Arc::new(Gate::new(file, config))));
    // Whatever still runs had its time to end.
    runtime.shutdown_background();
    ended
}

/// What all requests share. A decision takes no lock here: the limiter swaps its limits itself.
#[derive(Debug)]
struct Gate {
    limiter: Arc<RateLimiter>,
    config: Arc<ConfigFile>,
    metrics: Metrics,
    clock: MonotonicClock,
    draining: watch::Sender<bool>,
}

impl Gate {
    fn new(file: ConfigFile, config: Config) -> Self {
        let limiter = Arc::new(RateLimiter::new(config));
        let config = Arc::new(file);
        let metrics = Metrics::new(Arc::clone(&limiter), Arc::clone(&config));
        let draining = watch::Sender::new(false);
        Self { limiter, config, metrics, clock: MonotonicClock::new(), draining }
    }

    fn is_draining(&self) -> bool {
        *self.draining.borrow()
    }

    fn start_draining(&self) {
        self.draining.send_replace(true);
    }

    /// Waits until the server was told to stop.
    async fn drains(self: Arc<Self>) {
        let mut draining = self.draining.subscribe();
        // The sender is in `self`, so it cannot be gone.
        drop(draining.wait_for(|draining| *draining).await);
    }
}

async fn serve(args: &ServeArgs, gate: Arc<Gate>) -> anyhow::Result<ExitCode> {
    let mut stop = StopSignals::install()?;
    let hangups = signal(SignalKind::hangup()).context("SIGHUP cannot be caught")?;
    let api = bind(&args.listen, "--listen").await?;
    let admin = bind(&args.admin, "--admin").await?;
    info!(url = format!("http://{}/v1/allow", api.local_addr()?), "answering decisions");
    info!(url = format!("http://{}/metrics", admin.local_addr()?), "answering admins");

    tokio::spawn(reload_on(hangups, Arc::clone(&gate)));
    let api = serve_until(Arc::clone(&gate).drains(), api, router(api::routes(), &gate));
    // The admin listener stays until the other is done, so that probes and metrics see the draining.
    let (api_done, until_api_done) = oneshot::channel::<()>();
    let until_api_done = async { drop(until_api_done.await) };
    let admin = serve_until(until_api_done, admin, router(admin::routes(), &gate));
    let api = async {
        api.await;
        drop(api_done);
    };
    let served = tokio::spawn(async { tokio::join!(api, admin).1 });

    stop.next().await;
    // Before it is said: whoever reads the line may ask at once.
    gate.start_draining();
    info!("stopping: requests in flight have {} s to finish", DRAIN_MAX.as_secs());
    Ok(match drain(served, stop.next()).await {
        Ok(()) => {
            info!("stopped");
            ExitCode::SUCCESS
        }
        Err(cut_off) => {
            warn!("stopped: {cut_off}");
            ExitCode::FAILURE
        }
    })
}

/// Why not every request in flight was answered.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
enum CutOff {
    #[error("the deadline cut off requests in flight")]
    Deadline,
    #[error("a second signal cut off requests in flight")]
    SecondSignal,
    #[error("a listener broke off")]
    Listener,
}

/// Gives requests in flight their time, unless one more signal comes.
async fn drain(
    served: JoinHandle<()>,
    second_signal: impl Future<Output = ()>,
) -> Result<(), CutOff> {
    tokio::select! {
        finished = served => finished.map_err(|_panicked| CutOff::Listener),
        () = sleep(DRAIN_MAX) => Err(CutOff::Deadline),
        () = second_signal => Err(CutOff::SecondSignal),
    }
}

/// The signals that end the server.
struct StopSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl StopSignals {
    fn install() -> anyhow::Result<Self> {
        let terminate = signal(SignalKind::terminate()).context("SIGTERM cannot be caught")?;
        let interrupt = signal(SignalKind::interrupt()).context("SIGINT cannot be caught")?;
        Ok(Self { terminate, interrupt })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

async fn bind(address: &str, option: &str) -> anyhow::Result<TcpListener> {
    TcpListener::bind(address)
        .await
        .with_context(|| format!("cannot listen on {address}, the address of {option}"))
}

fn router(routes: Router<Arc<Gate>>, gate: &Arc<Gate>) -> Router {
    routes
        .merge(health::routes())
        .fallback(problem::not_found)
        .method_not_allowed_fallback(problem::method_not_allowed)
        .with_state(Arc::clone(gate))
}

/// Serves until `end`, and then the connections there are, until each has its answer.
async fn serve_until(
    end: impl Future<Output = ()> + Send + 'static,
    listener: TcpListener,
    router: Router,
) {
    let listener = listener.tap_io(|connection| {
        // An answer is one small packet: it must not wait for the acknowledgement of the one before.
        if let Err(error) = connection.set_nodelay(true) {
            debug!("TCP_NODELAY cannot be set: {error}");
        }
    });
    if let Err(error) = axum::serve(listener, router).with_graceful_shutdown(end).await {
        warn!("a listener broke off: {error}");
    }
}

/// Reads the config again at each SIGHUP, one after another.
async fn reload_on(mut hangups: Signal, gate: Arc<Gate>) {
    while hangups.recv().await.is_some() {
        let gate = Arc::clone(&gate);
        // Reading files and moving millions of keys takes its time; requests go on meanwhile.
        let reloaded = tokio::task::spawn_blocking(move || gate.config.reload(&gate.limiter)).await;
        if let Err(error) = reloaded {
            warn!("the reload broke off: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use tokio::time::Instant;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn requests_that_never_end_are_cut_off_by_the_deadline_and_not_before() {
        let started = Instant::now();
        let drained = drain(tokio::spawn(pending()), pending()).await;
        assert_eq!((drained, started.elapsed()), (Err(CutOff::Deadline), DRAIN_MAX));
    }

    #[tokio::test(start_paused = true)]
    async fn the_last_answer_ends_the_draining() {
        let started = Instant::now();
        let last_answer = tokio::spawn(sleep(DRAIN_MAX / 2));
        assert_eq!(drain(last_answer, pending()).await, Ok(()));
        assert_eq!(started.elapsed(), DRAIN_MAX / 2);
    }
}
