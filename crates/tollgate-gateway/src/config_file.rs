//! The config file while it is served: loaded once, and again whenever it is asked for.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use arc_swap::ArcSwap;
use tollgate::{Change, Config, LimiterFactory, RateLimiter, ReloadReport};
use tollgate_config::{ConfigErrors, GatewayConfig};
use tracing::{error, info};

/// A config file, and how its loads went.
#[derive(Debug)]
pub(crate) struct ConfigFile {
    path: PathBuf,
    loads: ArcSwap<Loads>,
}

/// How the loads of a config file went.
#[derive(Clone, Debug)]
pub(crate) struct Loads {
    /// Loads that became the limits in use, the first one among them.
    pub(crate) version: u64,
    /// When the limits in use were loaded.
    pub(crate) loaded_at: SystemTime,
    /// Loads that were refused.
    pub(crate) failures: u64,
    /// Why the last load was refused, where it was.
    pub(crate) last_error: Option<String>,
}

impl ConfigFile {
    /// Loads the file for the first time.
    ///
    /// # Errors
    /// Every fault of the file.
    pub(crate) fn open(path: PathBuf) -> Result<(Self, Config, GatewayConfig), ConfigErrors> {
        let (limits, settings) = load(&path)?;
        let loads = Loads { version: 1, loaded_at: wall_clock(), failures: 0, last_error: None };
        Ok((Self { path, loads: ArcSwap::from_pointee(loads) }, limits, settings))
    }

    /// How the loads went so far.
    pub(crate) fn loads(&self) -> Arc<Loads> {
        self.loads.load_full()
    }

    /// Loads the file again and changes the limits; where it has faults, the limits in use stay. Gives back what the
    /// file says of the gateway, where it has none.
    ///
    /// One at a time: the caller waits for one before the next.
    pub(crate) fn reload(&self, limiter: &RateLimiter) -> Option<GatewayConfig> {
        let before = Loads::clone(&self.loads());
        match load(&self.path) {
            Ok((limits, settings)) => {
                let report = limiter.reload(limits);
                let version = before.version.saturating_add(1);
                let loaded_at = wall_clock();
                self.note(Loads { version, loaded_at, last_error: None, ..before });
                log_success(version, &report);
                Some(settings)
            }
            Err(errors) => {
                let failures = before.failures.saturating_add(1);
                self.note(Loads { failures, last_error: Some(errors.to_string()), ..before });
                log_failure(&errors);
                None
            }
        }
    }

    fn note(&self, loads: Loads) {
        self.loads.store(Arc::new(loads));
    }
}

/// Whoever asks for a decision does not say when the call ends.
fn load(path: &Path) -> Result<(Config, GatewayConfig), ConfigErrors> {
    tollgate_config::load_gateway(path, &LimiterFactory::new().for_calls_without_end())
}

fn log_success(version: u64, report: &ReloadReport) {
    for limit in report.limits() {
        let endpoint = limit.owner.name();
        let (change, forgiven) = match limit.change {
            Change::Kept => ("kept", None),
            Change::Changed { forgiven } => ("changed", Some(forgiven)),
            Change::Replaced => ("replaced", None),
            Change::New => ("new", None),
            Change::Removed => ("removed", None),
            _ => ("other", None),
        };
        info!(endpoint, limit = limit.limit, change, forgiven, "reloaded");
    }
    info!(version, "the config was reloaded");
}

fn log_failure(errors: &ConfigErrors) {
    for fault in errors {
        error!("{fault}");
    }
    error!("the config was not reloaded; the limits in use stay");
}

#[expect(clippy::disallowed_methods, reason = "for people only; no decision depends on it")]
fn wall_clock() -> SystemTime {
    // A clock that was never set may stand before 1970, which cannot be written as a date.
    SystemTime::now().max(SystemTime::UNIX_EPOCH)
}
