//! `tollgate serve`: starts the log and the gateway, and hands signals on.

mod logging;

use std::num::NonZero;
use std::process::ExitCode;
use std::thread::available_parallelism;

use anyhow::Context;
use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tollgate_gateway::{Gateway, GatewayBuilder, StartError};
use tracing::{info, warn};

use crate::args::ServeArgs;

/// Serves until a signal ends it.
pub(crate) fn run(args: &ServeArgs) -> anyhow::Result<ExitCode> {
    logging::start(args.log_format)?;
    // For operators, signals and reloads; requests are served by threads of their own.
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let runtime = runtime.context("the runtime cannot be started")?;
    let ended = runtime.block_on(serve(args));
    // Whatever still runs had its time to end.
    runtime.shutdown_background();
    ended
}

async fn serve(args: &ServeArgs) -> anyhow::Result<ExitCode> {
    let mut stop = StopSignals::install()?;
    let mut hangups = signal(SignalKind::hangup()).context("SIGHUP cannot be caught")?;
    let gateway = match gateway(args).start().await {
        Ok(gateway) => gateway,
        // Told as `check` tells them, each on a line of its own.
        Err(StartError::Config(faults)) => return Err(faults.into()),
        Err(error) => return Err(error.into()),
    };
    loop {
        tokio::select! {
            () = stop.next() => break,
            // What came of it is in the log.
            _ = hangups.recv() => drop(gateway.reload().await),
        }
    }
    Ok(match gateway.stop(stop.next()).await {
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

/// The gateway of these arguments.
fn gateway(args: &ServeArgs) -> GatewayBuilder {
    let threads = available_parallelism().map_or(1, NonZero::get);
    let gateway = Gateway::builder(&args.config).threads(threads);
    let gateway = args.listen.iter().fold(gateway, GatewayBuilder::listen);
    args.admin.iter().fold(gateway, GatewayBuilder::admin)
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
