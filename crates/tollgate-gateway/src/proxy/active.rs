//! Which requests of a connection are under way.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::http::phase::Phase;

/// Counts the requests of one connection that are under way; a connection of HTTP/2 has several. While there is one,
/// the connection may be silent: an upstream takes its time.
#[derive(Debug)]
pub(super) struct Activity {
    under_way: AtomicU32,
    phase: Arc<Phase>,
}

/// A request that is under way until this is dropped, which is when the last of its answer was sent.
#[derive(Debug)]
pub(super) struct Active(Arc<Activity>);

impl Activity {
    pub(super) fn new(phase: Arc<Phase>) -> Arc<Self> {
        Arc::new(Self { under_way: AtomicU32::new(0), phase })
    }

    pub(super) fn start(self: &Arc<Self>) -> Active {
        if self.under_way.fetch_add(1, Ordering::Relaxed) == 0 {
            self.phase.start_answering();
        }
        Active(Arc::clone(self))
    }
}

impl Drop for Active {
    fn drop(&mut self) {
        if self.0.under_way.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.0.phase.start_waiting();
        }
    }
}
