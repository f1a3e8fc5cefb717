//! The command line of tollgate: parses the arguments, runs a command, and turns what comes into an exit status.

#![forbid(unsafe_code)]

mod args;
mod bench;
mod check;
mod color;
mod difference;
mod explain;
mod replay;
mod serve;
mod table;
mod terms;
mod test;

use std::io::{self, Write};
use std::process::ExitCode;

use anstyle::{AnsiColor, Style};
use clap::Parser;
use tollgate_config::ConfigErrors;

use args::{Cli, Command};

/// How clap shows that something is wrong, too.
const ERROR: Style = AnsiColor::Red.on_default().bold();

fn main() -> ExitCode {
    color::choose_from(std::env::args_os());
    let cli = Cli::parse();
    run(&cli).unwrap_or_else(|error| report(&error))
}

fn run(cli: &Cli) -> anyhow::Result<ExitCode> {
    match &cli.command {
        Command::Check(args) => check::run(args),
        Command::Explain(args) => explain::run(args),
        Command::Test(args) => test::run(args),
        Command::Replay(args) => replay::run(args),
        Command::Serve(args) => serve::run(args),
        Command::Bench(args) => bench::run(args),
    }
}

/// Says what went wrong. Whoever closed standard output early has all they wanted, and is told nothing.
fn report(error: &anyhow::Error) -> ExitCode {
    if is_broken_pipe(error) {
        return ExitCode::SUCCESS;
    }
    let mut stderr = anstream::stderr().lock();
    let written = match error.downcast_ref::<ConfigErrors>() {
        Some(faults) => writeln!(stderr, "{faults}"),
        None => writeln!(stderr, "{ERROR}error:{ERROR:#} {error:#}"),
    };
    // Where standard error is closed too, the exit status still tells.
    drop(written);
    ExitCode::FAILURE
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |cause: &io::Error| cause.kind() == io::ErrorKind::BrokenPipe;
    error.chain().filter_map(|cause| cause.downcast_ref()).any(broken)
}
