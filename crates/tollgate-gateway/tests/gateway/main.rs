//! A gateway in this process, on a clock that the tests move, as clients see it over HTTP.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod admin;
mod forward_auth;
mod limits;
mod openapi;
mod peek;
mod running;
mod scenarios;
mod stop;
mod watch;
