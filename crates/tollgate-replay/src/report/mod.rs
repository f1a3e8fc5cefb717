//! What a replay found.

mod summary;
mod tally;

use tollgate::Time;

pub(crate) use tally::Tally;

use crate::intake::Intake;
use crate::log::Origin;

/// Who would have been turned away, when and for how long. Its `Display` is a summary in plain text.
///
/// # Memory
/// While a replay runs, two counts are kept for every client and every endpoint that the traffic names.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Calls decided.
    pub requests: u64,
    /// Those that were denied.
    pub denied: u64,
    /// Those of the denied whose cost is above the limit, so that no wait would have helped.
    pub cost_exceeds_limit: u64,
    /// Clients seen.
    pub clients: u64,
    /// Clients denied at least once.
    pub clients_denied: u64,
    /// The clients denied most, most first; those denied as often are in order of their names.
    pub worst_clients: Vec<Denials>,
    /// The endpoints denied most, likewise.
    pub worst_endpoints: Vec<Denials>,
    /// The second with most calls, the first of them where several have as many. What came late counts in the second in
    /// which it was decided.
    pub busiest_second: Option<BusySecond>,
    /// The second with most denials, likewise.
    pub busiest_second_of_denials: Option<BusySecond>,
    /// How long the denied would have had to wait, `None` where nobody was told a wait.
    pub waits: Option<Waits>,
    /// When the first and the last call were, `None` where there were none.
    pub covers: Option<(Time, Time)>,
    /// What the times count from.
    pub origin: Origin,
    /// How the reading went: lines read, unreadable and late.
    pub intake: Intake,
}

/// How often a client, or the callers of an endpoint, were denied.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Denials {
    /// The client or endpoint.
    pub name: String,
    /// Calls denied.
    pub denied: u64,
    /// Calls in all.
    pub requests: u64,
}

/// A second and what happened in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BusySecond {
    /// Its start: whole seconds of the times' origin.
    pub start: Time,
    /// How many calls, or denials, were in it.
    pub count: u64,
}

/// How long those denied would have had to wait before the same call was allowed, in milliseconds.
///
/// The first two are exact below 32 s, and at most 0.01 % too high above.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Waits {
    /// Half of the waits were no longer.
    pub median_ms: u64,
    /// 95 % of the waits were no longer.
    pub p95_ms: u64,
    /// The longest wait, exactly.
    pub longest_ms: u64,
}
