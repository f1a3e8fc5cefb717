//! `tollgate replay`: recorded traffic through the limits of a config.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context;
use indicatif::{ProgressBar, ProgressStyle};
use tollgate::LimiterFactory;
use tollgate_replay::{Input, InputError, Replay, Report, write_decision};

use crate::args::ReplayArgs;

/// The name that means standard input or standard output.
const STANDARD: &str = "-";

/// Replays the logs: the summary goes to standard output, unless the decisions do.
pub(crate) fn run(args: &ReplayArgs) -> anyhow::Result<ExitCode> {
    // A log does not say when a request ended.
    let factory = LimiterFactory::new().for_calls_without_end();
    let replay = Replay::new(tollgate_config::load_with(&args.config, &factory)?)
        .client(args.client.clone())
        .endpoint(args.endpoint)
        .window(args.reorder.into());
    let progress = progress_over(&args.logs);
    let inputs = open(&args.logs, &progress)?;
    let replayed = match &args.decisions {
        None => replay.run(inputs).map_err(Into::into),
        Some(out) => write_decisions(replay, inputs, out),
    };
    progress.finish_and_clear();
    let report = replayed?;
    if args.decisions.as_deref() == Some(Path::new(STANDARD)) {
        writeln!(anstream::stderr(), "{report}")?;
    } else {
        writeln!(anstream::stdout(), "{report}")?;
    }
    Ok(ExitCode::SUCCESS)
}

fn open(logs: &[PathBuf], progress: &ProgressBar) -> Result<Vec<Input>, InputError> {
    let open = |log: &PathBuf| {
        if log == Path::new(STANDARD) {
            return Input::from_reader(STANDARD, progress.wrap_read(io::stdin()));
        }
        let progress = progress.clone();
        Input::open_watched(log, move |bytes| {
            progress.inc(u64::try_from(bytes).unwrap_or(u64::MAX));
        })
    };
    logs.iter().map(open).collect()
}

fn write_decisions(replay: Replay, inputs: Vec<Input>, out: &Path) -> anyhow::Result<Report> {
    let writer: Box<dyn Write> = if out == Path::new(STANDARD) {
        Box::new(io::stdout().lock())
    } else {
        let cannot_write = || format!("cannot write `{}`", out.display());
        Box::new(File::create(out).with_context(cannot_write)?)
    };
    let mut writer = BufWriter::new(writer);
    let report =
        replay.run_with(inputs, |event, decided| write_decision(&mut writer, event, decided))?;
    writer.flush().context("cannot write the decisions")?;
    Ok(report)
}

/// A bar over the bytes of all logs, which shows itself on a terminal only. Of standard input nobody knows the length.
fn progress_over(logs: &[PathBuf]) -> ProgressBar {
    let length = |log: &PathBuf| {
        let is_file = log != Path::new(STANDARD);
        is_file.then(|| log.metadata().map_or(0, |metadata| metadata.len()))
    };
    match logs.iter().map(length).sum() {
        Some(bytes) => {
            ProgressBar::new(bytes).with_style(style("{wide_bar} {bytes}/{total_bytes} {eta}"))
        }
        None => ProgressBar::no_length().with_style(style("{spinner} {bytes} {elapsed}")),
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}
