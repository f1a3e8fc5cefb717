//! Where the state of keys lies: found by hash, changed one step at a time for each key, bounded.
//!
//! A store knows nothing of rates. It runs an algorithm's decide and charge as one step under a key's lock, forgets
//! what is whole, and keeps within its bound by the algorithm's debt and join.

mod counts;
mod held;
mod layout;
mod mark;
mod shard;
mod sharded;
mod table;

pub use counts::Counts;
pub(crate) use held::{Charge, Held};
pub(crate) use mark::Mark;
pub(crate) use sharded::Sharded;

/// What a reset found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ResetReport {
    /// Whether the key had state of its own, which is gone now.
    pub had_state: bool,
    /// Whether the overflow cell the key now starts from still has debt, of this key or of others that had to leave.
    pub inherits_debt: bool,
}
