//! The config file while it is served: loaded once, and again whenever it is asked for.

use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

use arc_swap::ArcSwap;
use parking_lot::{Mutex, MutexGuard};
use tollgate::{Config, LimiterFactory};
use tollgate_config::tree::FILE_BYTES_MAX;
use tollgate_config::{ConfigErrors, GatewayConfig};

/// A config file, and how its loads went.
#[derive(Debug)]
pub(crate) struct ConfigFile {
    path: PathBuf,
    loads: ArcSwap<Loads>,
    reloading: Mutex<()>,
    /// What of the file was judged last, and the secret that it is hashed under.
    judged: AtomicU64,
    hasher: RandomState,
}

/// What a config file says.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) limits: Config,
    pub(crate) settings: GatewayConfig,
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
    pub(crate) fn open(path: PathBuf) -> Result<(Self, Loaded), ConfigErrors> {
        let loads = Loads { version: 1, loaded_at: wall_clock(), failures: 0, last_error: None };
        let loads = ArcSwap::from_pointee(loads);
        let (judged, hasher) = (AtomicU64::default(), RandomState::new());
        let file = Self { path, loads, reloading: Mutex::new(()), judged, hasher };
        let loaded = file.read()?;
        Ok((file, loaded))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// How the loads went so far.
    pub(crate) fn loads(&self) -> Arc<Loads> {
        self.loads.load_full()
    }

    /// Reads the file.
    ///
    /// # Errors
    /// Every fault of it.
    pub(crate) fn read(&self) -> Result<Loaded, ConfigErrors> {
        self.judged.store(self.fingerprint().unwrap_or_default(), Ordering::Relaxed);
        // Whoever asks for a decision does not say when the call ends.
        let factory = LimiterFactory::new().for_calls_without_end();
        let (limits, settings) = tollgate_config::load_gateway(&self.path, &factory)?;
        Ok(Loaded { limits, settings })
    }

    /// Whether there is another text in the file than was judged last.
    pub(crate) fn has_changed(&self) -> bool {
        let judged = self.judged.load(Ordering::Relaxed);
        self.fingerprint().is_ok_and(|fingerprint| fingerprint != judged)
    }

    /// A hash of the file's text, as far as one is ever read.
    fn fingerprint(&self) -> io::Result<u64> {
        let most = u64::try_from(FILE_BYTES_MAX).unwrap_or(u64::MAX).saturating_add(1);
        let mut bytes = Vec::new();
        File::open(&self.path)?.take(most).read_to_end(&mut bytes)?;
        Ok(self.hasher.hash_one(bytes))
    }

    /// To be held while one config takes another's place.
    pub(crate) fn one_at_a_time(&self) -> MutexGuard<'_, ()> {
        self.reloading.lock()
    }

    /// Counts a load that became what is in use: its version.
    pub(crate) fn note_success(&self) -> u64 {
        let before = self.loads();
        let version = before.version.saturating_add(1);
        let loads =
            Loads { version, loaded_at: wall_clock(), last_error: None, failures: before.failures };
        self.loads.store(Arc::new(loads));
        version
    }

    /// Counts a load that was refused.
    pub(crate) fn note_failure(&self, error: String) {
        let before = Loads::clone(&self.loads());
        let failures = before.failures.saturating_add(1);
        self.loads.store(Arc::new(Loads { failures, last_error: Some(error), ..before }));
    }
}

#[expect(clippy::disallowed_methods, reason = "for people only; no decision depends on it")]
fn wall_clock() -> SystemTime {
    // A clock that was never set may stand before 1970, which cannot be written as a date.
    SystemTime::now().max(SystemTime::UNIX_EPOCH)
}
