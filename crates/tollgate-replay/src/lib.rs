//! Recorded traffic and scenarios run through a [`tollgate::RateLimiter`] on a virtual clock.
//!
//! Should you use this? To learn what limits would do to real traffic before they do it, and to hold a config to what
//! it should answer. It prints nothing and reads no clock; a command line is built on it.
//!
//! # Replay
//! [`Replay`] takes a config and [`Input`]s: access logs (the common and combined formats of Apache and nginx, JSON
//! of nginx, Caddy and Traefik, each line recognised by itself) or event lines, plain or gzip. It gives a [`Report`]:
//! who would have been turned away, when, and for how long.
//!
//! ```
//! use tollgate::{Config, TokenBucket};
//! use tollgate_replay::{Input, Replay, write_decision};
//!
//! let log = r#"198.18.0.7 - - [17/May/2015:10:05:03 +0000] "GET /a HTTP/1.1" 200 2326
//! 198.18.0.7 - - [17/May/2015:10:05:03 +0000] "GET /b HTTP/1.1" 200 2326
//! "#;
//! let config = Config::builder().default(TokenBucket::per_second(1).burst(1)).build()?;
//! let mut decisions = Vec::new();
//! let report = Replay::new(config).run_with(
//!     vec![Input::from_reader("access.log", log.as_bytes())?],
//!     |event, decided| write_decision(&mut decisions, event, decided),
//! )?;
//! assert_eq!((report.requests, report.denied), (2, 1));
//! assert_eq!(String::from_utf8(decisions)?.lines().count(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! A line's request is decided at the time it began. Clients are told apart by address and endpoints by method and
//! path, unless [`ClientFrom`] and [`EndpointFrom`] say otherwise.
//!
//! | format | address | when the request began |
//! | --- | --- | --- |
//! | common and combined: Apache, nginx, Traefik and others | the first field | the time in brackets |
//! | Caddy's JSON | `client_ip`, else `remote_ip`, of `request` | `ts` less `duration` |
//! | Traefik's JSON | `ClientHost` | `StartUTC` or `StartLocal`, else `time` less `Duration` |
//! | other JSON: nginx with `escape=json`, Apache | `remote_addr`, `client_ip`, `remote_ip`, `client`, `ip` and the like | `msec`, `@timestamp`, `timestamp`, `ts`, `time_iso8601`, `time` or `time_local`, less `request_time` or `rt` |
//!
//! Times are seconds since 1970 (or milliseconds, microseconds or nanoseconds, told apart by their size), RFC 3339,
//! or the common log's. Bytes that are no UTF-8 are read as replacement characters. What a server logs of connections
//! on which no request was made counts among the lines that cannot be read, since no limiter sees those.
//!
//! # Scenarios
//! [`Scenario`] takes a file of calls at given times and what each should be answered, and tells every step that was
//! answered otherwise.
//!
//! # Limits
//! | what | most | beyond it |
//! | --- | --- | --- |
//! | a line | 1 MiB | passed over, and counted as unreadable |
//! | lines held to be put in order | those of a [window](Replay::window), at most 1,000,000 | the earliest are decided |
//! | unreadable lines, late lines | five of each are kept | counted |
//! | clients and endpoints counted | as many as the traffic names | none is |
//! | times | 1970 to 2554, or 584 years of event lines | unreadable |
//!
//! # Map
//! `event` and `log` turn a line into an [`Event`]; `input` gives the lines, `traffic` and `reorder` merge and order
//! the events, `replay` decides them, and `report` counts. `result` writes a decision line. `scenario` stands beside
//! them.

#![forbid(unsafe_code)]

mod decimal;
mod error;
mod event;
mod input;
mod intake;
mod json;
mod line_fault;
mod log;
mod reorder;
mod replay;
mod report;
mod result;
mod scenario;
mod text;
mod traffic;

pub use error::ReplayError;
pub use event::Event;
pub use input::{Input, InputError};
pub use intake::{Intake, Noted, Place};
pub use line_fault::LineFault;
pub use log::{ClientFrom, EndpointFrom, Origin, UnknownChoice};
pub use replay::Replay;
pub use report::{BusySecond, Denials, Report, Waits};
pub use result::write_decision;
pub use scenario::{
    Difference, Scenario, ScenarioFailure, ScenarioFault, ScenarioFaults, StepFailure,
};
