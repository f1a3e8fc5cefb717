//! `tollgate check`: every fault of a config file, or what each endpoint gets.

use std::io::Write;
use std::process::ExitCode;

use tollgate::{AppliesTo, Config, LimiterFactory, LimiterSummary, Mode, OnFull, PolicyKind};
use tollgate_config::GatewayConfig;

use crate::args::CheckArgs;
use crate::difference::difference;
use crate::table::{Column, but_not_everybody, endpoint_name, table, thousands};
use crate::terms::Terms;

/// Checks each file: what endpoints get goes to standard output, faults to standard error.
pub(crate) fn run(args: &CheckArgs) -> anyhow::Result<ExitCode> {
    let mut exit = ExitCode::SUCCESS;
    let running = args.against.as_ref().map(tollgate_config::load).transpose()?;
    let mut stdout = anstream::stdout().lock();
    for file in &args.files {
        match (tollgate_config::load_gateway(file, &LimiterFactory::new()), &running) {
            (Ok((config, gateway)), None) => {
                let told = grants(&config) + &doors(&gateway);
                writeln!(stdout, "{}: no faults\n{told}", file.display())?;
            }
            (Ok((config, _)), Some(running)) => {
                let told = difference(running, &config);
                writeln!(stdout, "{}: no faults\n{told}", file.display())?;
            }
            (Err(faults), _) => {
                writeln!(anstream::stderr(), "{faults}")?;
                exit = ExitCode::FAILURE;
            }
        }
    }
    Ok(exit)
}

/// What each endpoint gets, as a table. Limits have columns for their names where any has one.
fn grants(config: &Config) -> String {
    let is_named = config.limiters().any(|limiter| limiter.limit_name.is_some());
    let names: &[_] =
        if is_named { &[("limit", Column::Text), ("counts by", Column::Text)] } else { &[] };
    let has_plans = config.limiters().any(|limiter| limiter.applies_to != AppliesTo::Everybody);
    let whom: &[_] = if has_plans { &[("for", Column::Text)] } else { &[] };
    let columns = [
        ("algorithm", Column::Text),
        ("burst", Column::Figure),
        ("rate", Column::Text),
        ("worst case", Column::Text),
        ("bytes a key", Column::Figure),
        ("keys at most", Column::Figure),
        ("memory at most", Column::Figure),
    ];
    let columns = [&[("endpoint", Column::Text)], whom, names, &columns].concat();
    let mut table = table(&columns);
    for limiter in config.limiters() {
        let terms = Terms::of(limiter.algorithm);
        let names = if is_named { names_of(&limiter).to_vec() } else { Vec::new() };
        let whom = has_plans.then(|| endpoint_name(Some(&limiter.applies_to.to_string())));
        let figures = [
            limiter.algorithm.name().to_owned(),
            thousands(u64::from(limiter.algorithm.limit())),
            terms.rate,
            terms.worst_case,
            bytes_a_key(&limiter, terms.heap_bytes_max),
            thousands(limiter.max_keys),
            megabytes(memory_max(&limiter, terms.heap_bytes_max)),
        ];
        table.add_row(
            [endpoint_name(Some(limiter.owner.name()))]
                .into_iter()
                .chain(whom)
                .chain(names)
                .chain(figures),
        );
    }
    let rules = config.policies().flat_map(|policy| policy.rules().map(move |rule| (policy, rule)));
    let outright = rules.filter_map(|(policy, rule)| {
        let kind = match rule.kind() {
            PolicyKind::Unlimited => Some("unlimited"),
            PolicyKind::Deny => Some("denied"),
            PolicyKind::Limits | _ => None,
        };
        let (endpoint, whom) =
            (endpoint_name(policy.endpoint()), but_not_everybody(rule.applies_to()));
        Some(format!("\n{endpoint}{whom}: {}", kind?))
    });
    table.trim_fmt() + &outright.collect::<String>()
}

/// What `tollgate serve` would serve, and where; nothing where the file leaves that as it is.
fn doors(gateway: &GatewayConfig) -> String {
    if *gateway == GatewayConfig::default() {
        return String::new();
    }
    let over_http = [
        ("decision API", gateway.decision_api),
        ("forward auth", gateway.forward_auth),
        ("nginx auth", gateway.nginx_auth),
    ];
    let over_http: Vec<_> =
        over_http.into_iter().filter_map(|(name, is_open)| is_open.then_some(name)).collect();
    let named = |door: &str| match (door, &gateway.proxy) {
        ("gateway", _) if over_http.is_empty() => "only probes".to_owned(),
        ("gateway", _) => over_http.join(", "),
        ("admin", _) if gateway.admin.token_file.is_some() => "operators, by token".to_owned(),
        ("admin", _) => "metrics and probes".to_owned(),
        ("proxy", Some(proxy)) => format!("proxy to {}", proxy.upstream),
        (door, _) => door.to_owned(),
    };
    let lines = gateway.listeners().map(|(door, address)| format!("\n{address}: {}", named(door)));
    format!("\n{}", lines.collect::<String>())
}

/// A limit's name, and whose calls it counts together; a trial run says so.
fn names_of(limiter: &LimiterSummary<'_>) -> [String; 2] {
    let name = limiter.limit_name.map_or_else(|| "-".to_owned(), |name| endpoint_name(Some(name)));
    let scope = limiter.scope.word();
    let trial = if limiter.mode == Mode::Shadow { ", in shadow" } else { "" };
    [name, format!("{scope}{trial}")]
}

fn bytes_a_key(limiter: &LimiterSummary<'_>, heap_bytes_max: u64) -> String {
    let in_table = thousands(entry_bytes(limiter));
    match heap_bytes_max {
        0 => in_table,
        heap => format!("{in_table} + up to {}", thousands(heap)),
    }
}

fn entry_bytes(limiter: &LimiterSummary<'_>) -> u64 {
    u64::try_from(limiter.bytes_per_key()).unwrap_or(u64::MAX)
}

/// The bytes of a limiter that holds as many keys as it may, each with as much state as it may have, in cells too.
fn memory_max(limiter: &LimiterSummary<'_>, heap_bytes_max: u64) -> u64 {
    let has_cells = limiter.on_full == OnFull::Overflow;
    let cells = if has_cells { limiter.max_keys.div_ceil(4).next_power_of_two() } else { 0 };
    let states = match limiter.applies_to {
        AppliesTo::Client(_) => 1,
        AppliesTo::Everybody | AppliesTo::Plan(_) | _ => limiter.max_keys.saturating_add(cells),
    };
    limiter.table_bytes_max().saturating_add(states.saturating_mul(heap_bytes_max))
}

/// Bytes in millions, rounded up.
fn megabytes(bytes: u64) -> String {
    format!("{} MB", thousands(bytes.div_ceil(1_000_000)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tollgate::{LimiterConfig, SlidingWindowLog, TokenBucket};

    use super::*;

    fn memory(limiter: LimiterConfig, heap_bytes_max: u64) -> String {
        let config = Config::builder().default(limiter).build().unwrap();
        megabytes(memory_max(&config.limiters().next().unwrap(), heap_bytes_max))
    }

    #[test]
    fn memory_counts_the_table_and_the_overflow_cells() {
        let bucket = || LimiterConfig::new(TokenBucket::per_second(1));
        // 64 sections of 7,224 lines of 64 bytes, and 2^18 cells of 12 bytes.
        assert_eq!(memory(bucket(), 0), "33 MB");
        assert_eq!(memory(bucket().on_full(OnFull::Admit), 0), "30 MB");
        assert_eq!(memory(bucket().max_keys(1), 0), "1 MB");
    }

    #[test]
    fn memory_counts_the_stamps_of_a_log_for_keys_and_for_cells() {
        let log = SlidingWindowLog::new(100, Duration::from_secs(60));
        assert!(log.is_ok());
        let limiter = LimiterConfig::new(log).on_full(OnFull::Deny);
        let without = memory(limiter.clone(), 0);
        assert_eq!((without.as_str(), memory(limiter, 800).as_str()), ("61 MB", "861 MB"));
    }
}
