//! `tollgate bench`: how fast this machine decides by these limits.

use std::io::Write;
use std::num::NonZero;
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use tollgate::{Call, Config, PolicyKind, PolicySummary, RateLimiter, Scope};

use crate::args::BenchArgs;
use crate::table::{Column, endpoint_name, table, thousands};

/// How long each figure is measured.
const MEASURED: Duration = Duration::from_millis(200);

/// How many clients call in turn: few enough for the processor's caches, and too many for them.
const CLIENTS: [usize; 2] = [1_000, 1_000_000];

/// Decisions between two looks at the time.
const BATCH: usize = 256;

/// Measures each limiter by one thread and by as many as there are cores, and prints what came.
pub(crate) fn run(args: &BenchArgs) -> anyhow::Result<ExitCode> {
    let config = tollgate_config::load(&args.config)?;
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let (nanos_title, rate_title) =
        (format!("ns, {cores} threads"), format!("decisions/s, {cores} threads"));
    let mut table = table(&[
        ("endpoint", Column::Text),
        ("algorithm", Column::Text),
        ("clients", Column::Figure),
        ("allowed", Column::Figure),
        ("ns", Column::Figure),
        ("decisions/s", Column::Figure),
        (&nanos_title, Column::Figure),
        (&rate_title, Column::Figure),
    ]);
    let names: Vec<_> = (0..CLIENTS[1]).map(|number| format!("client-{number}")).collect();
    for policy in config.policies().filter(|policy| policy.kind() == PolicyKind::Limits) {
        for clients in client_counts(keys_max(&policy)) {
            table.add_row(row(&config, &policy, &names[..clients], cores));
        }
    }
    writeln!(anstream::stdout(), "{}", table.trim_fmt())?;
    Ok(ExitCode::SUCCESS)
}

/// The most clients that every limit which counts by client remembers.
fn keys_max(policy: &PolicySummary<'_>) -> u64 {
    let by_client = policy.limits().filter(|limit| limit.scope == Scope::Client);
    by_client.map(|limit| limit.max_keys).min().unwrap_or(u64::MAX)
}

/// Numbers of clients that leave the table of keys room: one that is full is another matter.
fn client_counts(max_keys: u64) -> impl Iterator<Item = usize> {
    let room = usize::try_from(max_keys / 2).unwrap_or(usize::MAX).max(1);
    let [few, many] = CLIENTS.map(|count| count.min(room));
    [few, many].into_iter().take(if few == many { 1 } else { 2 })
}

fn row(config: &Config, policy: &PolicySummary<'_>, names: &[String], cores: usize) -> [String; 8] {
    let unlisted = unlisted_endpoint(config);
    let endpoint = policy.endpoint().unwrap_or(&unlisted);
    let algorithms: Vec<_> = policy.limits().map(|limit| limit.algorithm.name()).collect();
    let limiter = RateLimiter::new(config.clone());
    let by_tenant = policy.limits().any(|limit| limit.scope == Scope::Tenant);
    let door = Door { limiter: &limiter, endpoint, by_tenant };
    // All clients are known before the measuring begins, so that no growth of the table is in it.
    let _allowed = count_allowed(door, names.iter());
    let alone = Measured::by_threads(1, door, names);
    let together = Measured::by_threads(cores, door, names);
    [
        endpoint_name(policy.endpoint()),
        algorithms.join(" + "),
        thousands(widened(names.len())),
        alone.share_allowed(),
        alone.nanos_each(),
        thousands(alone.per_second()),
        together.nanos_each(),
        thousands(together.per_second()),
    ]
}

/// A name that no entry has, so that the default limiter answers for it.
fn unlisted_endpoint(config: &Config) -> String {
    let mut name = "unlisted".to_owned();
    while config.policies().any(|policy| policy.endpoint() == Some(&name)) {
        name.push('_');
    }
    name
}

/// Where clients call.
#[derive(Clone, Copy)]
struct Door<'a> {
    limiter: &'a RateLimiter,
    endpoint: &'a str,
    by_tenant: bool,
}

impl Door<'_> {
    /// Lets a client call; where limits count by tenant, all clients are of one.
    fn allows(self, client: &str) -> bool {
        if !self.by_tenant {
            return self.limiter.allow(client, self.endpoint).allowed();
        }
        let call = Call::new(client, self.endpoint).tenant("tenant");
        self.limiter.decide(&call).is_ok_and(|result| result.allowed())
    }
}

/// What some threads decided in a time.
struct Measured {
    threads: usize,
    elapsed: Duration,
    decisions: u64,
    allowed: u64,
}

impl Measured {
    /// Lets threads call for a while, each of them for all clients in turn.
    fn by_threads(threads: usize, door: Door<'_>, names: &[String]) -> Self {
        let started = now();
        let call = |first: usize| {
            let (mut decisions, mut allowed) = (0_u64, 0_u64);
            let mut names = names.iter().cycle().skip(first);
            while started.elapsed() < MEASURED {
                let batch = names.by_ref().take(BATCH);
                allowed = allowed.saturating_add(count_allowed(door, batch));
                decisions = decisions.saturating_add(widened(BATCH));
            }
            (decisions, allowed)
        };
        let apart = names.len().checked_div(threads).unwrap_or(0);
        let counts: Vec<_> = thread::scope(|scope| {
            let start = |thread: usize| scope.spawn(move || call(thread.saturating_mul(apart)));
            let started: Vec<_> = (0..threads).map(start).collect();
            started.into_iter().filter_map(|thread| thread.join().ok()).collect()
        });
        Self {
            threads,
            elapsed: started.elapsed(),
            decisions: counts.iter().map(|(decisions, _)| decisions).sum(),
            allowed: counts.iter().map(|(_, allowed)| allowed).sum(),
        }
    }

    /// The time a thread takes for one decision, in tenths of a nanosecond.
    fn nanos_each(&self) -> String {
        let tenths =
            self.elapsed.as_nanos().saturating_mul(10).saturating_mul(widened(self.threads).into());
        let tenths = tenths.checked_div(self.decisions.into()).unwrap_or(0);
        format!("{}.{}", tenths / 10, tenths % 10)
    }

    fn per_second(&self) -> u64 {
        let decisions = u128::from(self.decisions).saturating_mul(1_000_000_000);
        let per_second = decisions.checked_div(self.elapsed.as_nanos()).unwrap_or(0);
        u64::try_from(per_second).unwrap_or(u64::MAX)
    }

    fn share_allowed(&self) -> String {
        let percent = self.allowed.saturating_mul(100).checked_div(self.decisions).unwrap_or(0);
        format!("{percent} %")
    }
}

fn count_allowed(door: Door<'_>, names: impl Iterator<Item: AsRef<str>>) -> u64 {
    names.map(|name| u64::from(door.allows(name.as_ref()))).sum()
}

#[expect(clippy::disallowed_methods, reason = "a benchmark is about the machine's time")]
fn now() -> Instant {
    Instant::now()
}

fn widened(count: usize) -> u64 {
    u64::try_from(count).unwrap_or(u64::MAX)
}
