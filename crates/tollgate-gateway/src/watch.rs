//! The config file watched, so that a change is put in force without being asked for.
//!
//! What is watched is the folder and not the file: editors write beside a file and rename, and Kubernetes swaps a
//! symbolic link for another (`..data`), of which a file that is held open learns nothing. A file that somebody is
//! writing to is left alone until it is closed, and nothing is read until the folder has been quiet for a moment, so
//! that a half-written config is not taken for a whole one.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use notify::event::{AccessKind, AccessMode, EventKind, ModifyKind};
use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::spawn_blocking;
use tokio::time::timeout;
use tracing::{error, info, warn};

use crate::gate::Gate;

/// How long a folder has to be quiet before the file is read.
const QUIET: Duration = Duration::from_millis(100);

/// A change that is told of a folder.
type Told = notify::Result<Event>;

/// A watched file.
#[derive(Debug)]
pub(crate) struct Watch {
    watcher: RecommendedWatcher,
    told: UnboundedReceiver<Told>,
    path: PathBuf,
    /// The folder that the file really lies in, where the path leads there by a symbolic link.
    real_folder: Option<PathBuf>,
}

impl Watch {
    /// Watches from now on.
    ///
    /// # Errors
    /// When the system cannot watch the folder.
    pub(crate) fn start(path: &Path) -> notify::Result<Self> {
        let (sender, told) = unbounded_channel();
        // Nobody listens any longer once the gateway has stopped.
        let mut watcher = notify::recommended_watcher(move |event| drop(sender.send(event)))?;
        watcher.watch(&folder_of(path), RecursiveMode::NonRecursive)?;
        Ok(Self { watcher, told, path: path.to_owned(), real_folder: None })
    }

    /// Reads the file again after each change of it, until it is dropped.
    pub(crate) async fn reload_on_change(mut self, gate: Arc<Gate>) {
        loop {
            // Before the file is read: what changes after that is told of.
            self.follow_link();
            let gate = Arc::clone(&gate);
            let reloaded = spawn_blocking(move || {
                if gate.config.has_changed() {
                    info!("the config file has changed");
                    // What came of it is in the log.
                    drop(gate.reload());
                }
            });
            if let Err(error) = reloaded.await {
                error!("the reload broke off: {error}");
            }
            if !self.changed().await {
                return;
            }
        }
    }

    /// Waits until the file may have changed and nobody writes to it; `false` where there is nothing to wait for.
    async fn changed(&mut self) -> bool {
        let mut state = State::default();
        loop {
            let told = if state.is_due && !state.is_being_written {
                match timeout(QUIET, self.told.recv()).await {
                    Ok(told) => told,
                    Err(_quiet) => return true,
                }
            } else {
                self.told.recv().await
            };
            match told {
                None => return false,
                Some(Ok(event)) => {
                    if self.concerns_the_file(&event) {
                        state.note(event.kind);
                    }
                }
                Some(Err(error)) => warn!("the config file is watched no longer: {error}"),
            }
        }
    }

    /// Behind a symbolic link anything may be another part of the way.
    fn concerns_the_file(&self, event: &Event) -> bool {
        let name = self.path.file_name();
        self.real_folder.is_some() || event.paths.iter().any(|path| path.file_name() == name)
    }

    /// Watches the folder that the file really lies in, which a swap of a symbolic link changes.
    fn follow_link(&mut self) {
        // A file that is not there just now comes back in the folder that is watched anyway.
        let Ok(real) = self.path.canonicalize() else { return };
        let is_link = is_behind_link(&self.path, &real).unwrap_or(true);
        let real_folder = is_link.then(|| folder_of(&real));
        if real_folder == self.real_folder {
            return;
        }
        if let Some(old) = self.real_folder.take() {
            // It fails where the folder is gone, and its watch with it.
            drop(self.watcher.unwatch(&old));
        }
        if let Some(new) = &real_folder
            && let Err(error) = self.watcher.watch(new, RecursiveMode::NonRecursive)
        {
            warn!("{} cannot be watched: {error}", new.display());
        }
        self.real_folder = real_folder;
    }
}

/// What is known of a file since it was read last.
#[derive(Debug, Default)]
struct State {
    is_due: bool,
    is_being_written: bool,
}

impl State {
    fn note(&mut self, kind: EventKind) {
        match kind {
            // Only Linux tells when a file is closed.
            EventKind::Modify(ModifyKind::Data(_)) if cfg!(target_os = "linux") => {
                self.is_being_written = true;
            }
            EventKind::Access(AccessKind::Close(AccessMode::Write))
            | EventKind::Modify(ModifyKind::Name(_)) => {
                self.is_due = true;
                self.is_being_written = false;
            }
            EventKind::Any | EventKind::Create(_) | EventKind::Modify(_) | EventKind::Other => {
                self.is_due = true;
            }
            // Reading it is no change, and a file that is gone says nothing.
            EventKind::Access(_) | EventKind::Remove(_) => {}
        }
    }
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        Some(_) | None => PathBuf::from("."),
    }
}

fn is_behind_link(path: &Path, real: &Path) -> io::Result<bool> {
    let name = path.file_name().unwrap_or_default();
    Ok(folder_of(path).canonicalize()?.join(name) != real)
}

#[cfg(test)]
mod tests {
    use notify::event::{CreateKind, DataChange, RemoveKind, RenameMode};

    use super::*;

    fn state(kinds: &[EventKind]) -> (bool, bool) {
        let mut state = State::default();
        for kind in kinds {
            state.note(*kind);
        }
        (state.is_due, state.is_being_written)
    }

    const CREATED: EventKind = EventKind::Create(CreateKind::File);
    const WRITTEN: EventKind = EventKind::Modify(ModifyKind::Data(DataChange::Any));
    const CLOSED: EventKind = EventKind::Access(AccessKind::Close(AccessMode::Write));
    const READ: EventKind = EventKind::Access(AccessKind::Close(AccessMode::Read));
    const RENAMED: EventKind = EventKind::Modify(ModifyKind::Name(RenameMode::To));
    const GONE: EventKind = EventKind::Remove(RemoveKind::File);

    #[cfg(target_os = "linux")]
    #[test]
    fn svc_14_a_file_is_left_alone_until_whoever_writes_it_closes_it() {
        for (kinds, expected) in [
            (&[CREATED, WRITTEN][..], (true, true)),
            (&[CREATED, WRITTEN, WRITTEN], (true, true)),
            (&[CREATED, WRITTEN, CLOSED], (true, false)),
            (&[CREATED, WRITTEN, CLOSED, WRITTEN], (true, true)),
            (&[WRITTEN], (false, true)),
            (&[WRITTEN, CLOSED], (true, false)),
            (&[WRITTEN, RENAMED], (true, false)),
            (&[RENAMED], (true, false)),
            (&[READ, GONE], (false, false)),
        ] {
            assert_eq!(state(kinds), expected, "{kinds:?}");
        }
    }
}
