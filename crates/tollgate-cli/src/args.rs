//! The command line as it is written.

use std::path::PathBuf;

use clap::{Args, ColorChoice, Parser, Subcommand, ValueEnum};
use tollgate_replay::{ClientFrom, EndpointFrom, Replay};

/// An exact, bounded rate limiter: check limits, test them, replay traffic through them, serve decisions.
#[derive(Debug, Parser)]
#[command(
    name = "tollgate",
    version,
    propagate_version = true,
    after_help = "Example:\n  tollgate check limits.yaml && tollgate serve --config limits.yaml"
)]
pub(crate) struct Cli {
    /// When to use colours; `NO_COLOR` is honoured unless this says otherwise
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub(crate) color: ColorChoice,

    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Check(CheckArgs),
    Explain(ExplainArgs),
    Test(TestArgs),
    Replay(ReplayArgs),
    Serve(ServeArgs),
    Bench(BenchArgs),
}

/// Read config files: print every fault, or what each endpoint gets
///
/// Faults go to standard error as `file:line:column: what is wrong, what was expected`, and the exit status is 1.
///
/// With `--against`, the difference to the config that runs: what a reload would keep, change and lose of what
/// clients have used up.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tollgate check limits.yaml\n  tollgate check --against running.yaml limits.yaml"
)]
pub(crate) struct CheckArgs {
    /// The config that runs, to tell what a reload of each file would do
    #[arg(long, value_name = "RUNNING")]
    pub(crate) against: Option<PathBuf>,

    /// Config files: YAML, JSON or TOML, by extension
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
}

/// Say what becomes of a call: which entry answers and why, by which limits, and the most a client can get
///
/// Nothing is decided. The worst case is what the client's limits allow in any second, minute, hour and day, whatever
/// others do.
#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  tollgate explain --config limits.yaml --client alice --endpoint 'GET /search'"
)]
pub(crate) struct ExplainArgs {
    /// The limits: YAML, JSON or TOML, by extension
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,

    /// Who calls
    #[arg(long, value_name = "NAME")]
    pub(crate) client: String,

    /// Where
    #[arg(long, value_name = "NAME")]
    pub(crate) endpoint: String,

    /// On whose behalf
    #[arg(long, value_name = "NAME")]
    pub(crate) tenant: Option<String>,

    /// The plan that the call names
    #[arg(long, value_name = "NAME")]
    pub(crate) plan: Option<String>,

    /// What it costs, unless it is what the endpoint costs
    #[arg(long, value_name = "N")]
    pub(crate) cost: Option<u64>,
}

/// Run scenario files on a virtual clock
///
/// A failure names the scenario and the step, what was expected and what came. The last line is
/// `N passed, N failed`; the exit status is 1 where any failed, or could not be read.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  tollgate test conformance/*.json")]
pub(crate) struct TestArgs {
    /// Scenario files: JSON or YAML
    #[arg(value_name = "SCENARIO", required = true)]
    pub(crate) scenarios: Vec<PathBuf>,
}

/// Run recorded traffic through limits on a virtual clock: who would have been turned away
///
/// Reads access logs (common or combined format of nginx or Apache, JSON of Caddy) or JSON lines of events such as
/// `{"atMs": 12.5, "client": "alice", "endpoint": "GET /x", "cost": 1}`, gzipped or not.
#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  tollgate replay --config limits.yaml access.log.1.gz access.log\n  \
                  zcat access.log.*.gz | tollgate replay --config limits.yaml -"
)]
pub(crate) struct ReplayArgs {
    /// The limits: YAML, JSON or TOML, by extension
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,

    /// Access logs or event lines, in any order; `-` is standard input
    #[arg(value_name = "LOG", required = true)]
    pub(crate) logs: Vec<PathBuf>,

    /// What of a logged request names its client: address, user, user-agent or field:NAME of a JSON log
    #[arg(long, value_name = "WHAT", default_value_t)]
    pub(crate) client: ClientFrom,

    /// What of a logged request names its endpoint: method-path, path or * (one endpoint for all)
    #[arg(long, value_name = "WHAT", default_value_t)]
    pub(crate) endpoint: EndpointFrom,

    /// How far lines may be out of the order of their time, such as 30s or 2m
    #[arg(long, value_name = "TIME", default_value_t = Replay::DEFAULT_WINDOW.into())]
    pub(crate) reorder: humantime::Duration,

    /// Where to write a JSON line for each request and its decision; `-` is standard output
    #[arg(long, value_name = "OUT")]
    pub(crate) decisions: Option<PathBuf>,
}

/// Answer decisions over HTTP
///
/// `POST /v1/allow` with `{"clientId": "alice", "endpoint": "/x", "cost": 1}` (cost optional) is answered by 200 and
/// the decision, allowed or not; with `?status=1` a denial is answered by 429. A list of up to 10,000 such objects
/// is answered by a list, decided in order. A body may take 1 MiB.
///
/// `POST /v1/peek` is the same without a charge, `GET /openapi.json` describes both. The section `gateway` of the
/// config file opens more doors, such as those that proxies ask.
///
/// `GET /healthz` and `GET /readyz` are on both listeners, `GET /metrics` on the admin listener only, as is what
/// operators do by a token: look at a client, reset or block it, explain, reload.
///
/// The config file is read again when it changes, and on SIGHUP: where it has faults, the limits in use stay. SIGTERM
/// and Ctrl-C stop: requests in flight have 25 seconds to finish, a second signal ends at once. The exit status is 0
/// where all of them were answered, else 1.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  tollgate serve --config limits.yaml &\n  \
                  curl -d '{\"clientId\": \"alice\", \"endpoint\": \"/x\"}' http://127.0.0.1:8080/v1/allow")]
pub(crate) struct ServeArgs {
    /// The limits: YAML, JSON or TOML, by extension
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,

    /// Where decisions are answered, instead of where the file says (127.0.0.1:8080 unless it does); port 0 takes a
    /// free one, which the log names
    #[arg(long, value_name = "ADDR")]
    pub(crate) listen: Option<String>,

    /// Where metrics are read and operators are heard, instead of where the file says (127.0.0.1:8081 unless it does)
    #[arg(long, value_name = "ADDR")]
    pub(crate) admin: Option<String>,

    /// How the log on standard error is written; `RUST_LOG` chooses what is in it
    #[arg(long, value_name = "FORMAT", value_enum, default_value = "text")]
    pub(crate) log_format: LogFormat,
}

/// How a log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people
    Text,
    /// A JSON object a line
    Json,
}

/// Measure decisions per second of these limits on this machine
///
/// Clients call in turn, each by its name, so after a while most calls are denied, which costs less: `allowed` is the
/// share that was not. `ns` is the time a thread takes for one decision.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  tollgate bench --config limits.yaml")]
pub(crate) struct BenchArgs {
    /// The limits: YAML, JSON or TOML, by extension
    #[arg(long, value_name = "FILE")]
    pub(crate) config: PathBuf,
}
