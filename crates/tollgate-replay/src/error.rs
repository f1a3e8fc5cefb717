//! What ends a replay early.

use std::io;

use thiserror::Error;
use tollgate::TenantMissing;

use crate::event::Event;
use crate::input::InputError;
use crate::intake::{Intake, Place};
use crate::text::Shown;

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
    /// A limit counts by tenant, and the traffic does not name them: access logs do not, and event lines may.
    #[error(
        "a call to `{}` cannot be decided: {source}; limits of `scope: tenant` need event lines with \
         `tenant`",
        Shown(&.event.endpoint)
    )]
    TenantMissing {
        /// The first call without a tenant.
        event: Box<Event>,
        /// Which limit it lacks one for.
        source: TenantMissing,
    },
    /// What was to take the decisions failed.
    #[error("cannot write the decisions")]
    Decisions(#[source] io::Error),
}

fn first_fault(intake: &Intake) -> String {
    let first = intake.unreadable.first.first();
    first.map_or_else(String::new, |(place, fault)| format!("; the first, {place}: {fault}"))
}
