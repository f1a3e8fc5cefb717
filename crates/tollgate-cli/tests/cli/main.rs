//! The real binary, as a shell or a client sees it.

mod bad_config;
mod check;
mod command_line;
mod decision_api;
mod deploy;
mod explain;
mod files;
mod guide;
mod health;
mod logs;
mod metrics;
mod policies;
mod process;
mod reload;
mod replay;
mod scenarios;
mod server;
mod stop;
mod strain;
