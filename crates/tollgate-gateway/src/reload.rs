//! One config after another: read, judged whole, and put in force or told of.

use tollgate::{ManualClock, RateLimiter, ReloadReport};
use tollgate_config::{ConfigErrors, GatewayConfig};
use tracing::{error, info, warn};

use crate::admin::{AdminRules, TokenFault, forgiven, word};
use crate::config_file::Loaded;
use crate::gate::Gate;

/// A config that was put in force.
#[derive(Debug)]
pub(crate) struct Reloaded {
    pub(crate) report: ReloadReport,
    pub(crate) version: u64,
}

/// Why a config was not put in force. What ran goes on as it was.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
#[non_exhaustive]
pub enum ReloadFault {
    /// The config file has faults, all of which are told.
    Config(#[from] ConfigErrors),
    /// The operators' token is of no use.
    Token(#[from] TokenFault),
}

impl Gate {
    /// Reads the config file again and puts it in force; where it has faults, what runs stays as it is. One at a time,
    /// whoever asks for it; it takes its time, and decisions go on meanwhile.
    pub(crate) fn reload(&self) -> Result<Reloaded, ReloadFault> {
        let _one_at_a_time = self.config.one_at_a_time();
        match read(self) {
            Ok((Loaded { limits, settings }, admin)) => {
                warn_of_what_stays(&self.settings(), &settings);
                warn_of_dangers(&settings);
                let report = self.replace(limits, settings, admin);
                let version = self.config.note_success();
                log_success(version, &report);
                Ok(Reloaded { report, version })
            }
            Err(fault) => {
                log_failure(&fault);
                self.config.note_failure(fault.to_string());
                Err(fault)
            }
        }
    }
}

/// What a reload would do, of limiters that hold nobody.
pub(crate) fn dry_run(gate: &Gate) -> Result<ReloadReport, ReloadFault> {
    let (next, _admin) = read(gate)?;
    let running = gate.limiter().config();
    let limiter = RateLimiter::builder((*running).clone()).clock(ManualClock::new()).build();
    Ok(limiter.reload(next.limits))
}

fn read(gate: &Gate) -> Result<(Loaded, AdminRules), ReloadFault> {
    let loaded = gate.config.read()?;
    let admin = AdminRules::load(&loaded.settings.admin, gate.config.path())?;
    Ok((loaded, admin))
}

/// Tells of what a config may say, and seldom means.
pub(crate) fn warn_of_dangers(settings: &GatewayConfig) {
    let header = settings.client.header.as_ref().filter(|header| !header.only_from_proxies);
    if let Some(header) = header {
        warn!(
            "callers pick their own keys in `{}`, each with a whole quota; take it from proxies that have checked it \
             (`onlyFromProxies`)",
            header.name
        );
    }
}

/// Doors are opened, and the upstream is chosen, at the start alone.
fn warn_of_what_stays(before: &GatewayConfig, after: &GatewayConfig) {
    if !before.listeners().eq(after.listeners()) {
        warn!(
            "the addresses of `gateway` have changed in the config file; restart to listen there"
        );
    }
    if before.proxy.is_some() && after.proxy.is_some() && before.proxy != after.proxy {
        warn!("`gateway.proxy` has changed in the config file; restart to put it in force");
    }
}

fn log_success(version: u64, report: &ReloadReport) {
    for limit in report.limits() {
        let endpoint = limit.owner.name();
        let (change, forgiven) = (word(limit.change), forgiven(limit.change));
        info!(endpoint, limit = limit.limit, change, forgiven, "reloaded");
    }
    info!(version, "the config was reloaded");
}

fn log_failure(fault: &ReloadFault) {
    match fault {
        ReloadFault::Config(faults) => faults.iter().for_each(|fault| error!("{fault}")),
        ReloadFault::Token(fault) => error!("{fault}"),
    }
    error!("the config was not reloaded; the limits in use stay");
}
