//! What ends a replay early.

use std::io;

use thiserror::Error;

use crate::input::InputError;
use crate::intake::{Intake, Place};

/// Why a replay has no report.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ReplayError {
    /// An input cannot be opened or read to its end.
    #[error(transparent)]
    Input(#[from] InputError),
    /// Event lines and access log lines came together.
    #[error(
        "{event} is an event line, whose `atMs` counts from a start of its own, and {log} an access \
         log line, whose time counts from 1970: they have no order; replay them apart"
    )]
    Mixed {
        /// An event line.
        event: Place,
        /// An access log line.
        log: Place,
    },
    /// There are lines, and not one of them can be read.
    #[error("none of {} lines can be read{}", .0.lines, first_fault(.0))]
    NothingReadable(Intake),
    /// What was to take the decisions failed.
    #[error("cannot write the decisions")]
    Decisions(#[source] io::Error),
}

fn first_fault(intake: &Intake) -> String {
    let first = intake.unreadable.first.first();
    first.map_or_else(String::new, |(place, fault)| format!("; the first, {place}: {fault}"))
}
