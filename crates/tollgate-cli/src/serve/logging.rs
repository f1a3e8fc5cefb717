//! The log on standard error.

use std::io;

use anstream::{AutoStream, ColorChoice};
use anyhow::Context;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::util::SubscriberInitExt;

use crate::args::LogFormat;

/// Starts the log. `RUST_LOG` chooses what is in it; unset, all from `info` up.
pub(super) fn start(format: LogFormat) -> anyhow::Result<()> {
    let filter =
        EnvFilter::builder().with_default_directive(LevelFilter::INFO.into()).from_env().context(
            "RUST_LOG cannot be read; expected a level such as `debug`, or `target=level`",
        )?;
    let colored = AutoStream::choice(&io::stderr()) != ColorChoice::Never;
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_ansi(colored);
    match format {
        LogFormat::Text => log.finish().try_init(),
        LogFormat::Json => log.json().flatten_event(true).finish().try_init(),
    }
    .context("the log cannot be started")
}
