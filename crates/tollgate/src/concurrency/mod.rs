//! # Concurrency
//!
//! A count of the calls that are under way: not how often somebody calls, but how much of something scarce, such as a
//! connection or a worker, somebody has at a time.
//!
//! ```text
//! in flight           maxInFlight 3, leaseMs 60,000
//!   3 ┤          ┌──────┐ a fourth: denied
//!     │     ┌────┘      └──────────┐
//!     │ ┌───┘                      └─┐                   ┌ ─ ─ ─ ─ ─ ─ ─ ─ ─ ─ ┐
//!     └─┴────────────────────────────┴───────────────────┴──────────────────────┴─► time
//!       each returns its place when it ends              one that never says so: its lease ends
//! ```
//!
//! **State**: a number for each client that has a call under way, and with leases a line for each such call. A client
//! that has none is not held.
//!
//! **Promise**: never more than `maxInFlight` at once; each place is returned once, when its [`Permit`] is dropped or
//! when its lease ends, whichever comes first. A count that is not zero is never forgotten to make room: while
//! `maxKeys` clients have calls under way, others are denied, whatever `onFull` says, and a reset returns nothing.
//!
//! **Not for** a rate: a client whose calls are short makes as many as it likes.
//!
//! It is no [`Algorithm`](crate::Algorithm): those are functions of the time, and what returns a place is not.

mod flights;
mod held;
mod leases;
mod permit;

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::{Time, nanos_of};
use crate::config::Bounds;
use crate::decision::CallError;
use crate::key::Key;
use crate::limiter::{Decided, Environment, Limiter, Request};
use crate::member::{Asked, Member};
use crate::parameters::{Fault, Faults, Parameters, whole_range};
use crate::store::{Counts, Held, ResetReport};

use flights::{Flights, Rules};
pub use permit::Permit;
pub(crate) use permit::{Place, Places};

const MAX_IN_FLIGHT_FIELD: &str = "maxInFlight";
const LEASE_FIELD: &str = "leaseMs";

/// So many calls of a client at once.
///
/// In a config file: `Concurrency` with `maxInFlight` (1 to 1,000,000) and, where need be, `leaseMs` (1 ms to 366
/// days): how long a call may be under way at most, after which it counts no longer. Front doors that never learn
/// when a call ends refuse one without.
///
/// Among several limits ([`Policy::limits`](crate::Policy::limits)) it takes a place where all of them allow the call;
/// the permit holds the places of all that count calls under way.
///
/// ```
/// use tollgate::{Concurrency, Config, RateLimiter, TokenBucket};
///
/// let config = Config::builder()
///     .default(TokenBucket::per_second(10))
///     .endpoint("/export", Concurrency::new(1))
///     .build()?;
/// let limiter = RateLimiter::new(config);
///
/// let first = limiter.acquire("alice", "/export");
/// assert!(first.allowed());
/// assert!(!limiter.acquire("alice", "/export").allowed());
/// drop(first); // at the end of the call, or where it fails
/// assert!(limiter.acquire("alice", "/export").allowed());
/// # Ok::<(), tollgate::Faults>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Concurrency {
    max_in_flight: u32,
    lease_ns: Option<u64>,
}

impl Concurrency {
    /// The numbers of calls at once that are allowed.
    pub const MAX_IN_FLIGHT: RangeInclusive<u64> = 1..=1_000_000;

    /// The leases that are allowed, in milliseconds: up to 366 days.
    pub const LEASE_MS: RangeInclusive<u64> = 1..=366 * 86_400_000;

    /// At most so many calls of a client at once.
    ///
    /// # Errors
    /// When it is not from 1 to 1,000,000.
    pub fn new(max_in_flight: u32) -> Result<Self, Faults> {
        if !Self::MAX_IN_FLIGHT.contains(&u64::from(max_in_flight)) {
            let expected = whole_range(&Self::MAX_IN_FLIGHT);
            let message =
                format!("`{MAX_IN_FLIGHT_FIELD}` is {max_in_flight}; expected {expected}");
            return Err(Fault::of_field(MAX_IN_FLIGHT_FIELD, message).into());
        }
        Ok(Self { max_in_flight, lease_ns: None })
    }

    /// With a lease: a call that is under way for longer counts no longer.
    ///
    /// # Errors
    /// When it is not from 1 ms to 366 days.
    pub fn lease(self, lease: Duration) -> Result<Self, Faults> {
        if !u64::try_from(lease.as_millis()).is_ok_and(|millis| Self::LEASE_MS.contains(&millis)) {
            let message = format!("the lease is {lease:?}; expected 1 ms to 366 days");
            return Err(Fault::of_field(LEASE_FIELD, message).into());
        }
        Ok(Self { lease_ns: Some(nanos_of(lease)), ..self })
    }

    /// Reads `maxInFlight` and `leaseMs`.
    ///
    /// # Errors
    /// Every field that is missing, unknown or out of range.
    pub fn from_parameters(parameters: &Parameters) -> Result<Self, Faults> {
        let mut reader = parameters.reader();
        let max_in_flight = reader.whole(MAX_IN_FLIGHT_FIELD, Self::MAX_IN_FLIGHT);
        let max_in_flight = max_in_flight.and_then(|most| u32::try_from(most).ok());
        let has_lease = reader.has(LEASE_FIELD);
        let lease = has_lease.then(|| reader.whole(LEASE_FIELD, Self::LEASE_MS)).flatten();
        let lease_ns = lease.map(|millis| Time::from_millis(millis).as_nanos());
        reader.finish_with(max_in_flight.map(|max_in_flight| Self { max_in_flight, lease_ns }))
    }

    /// For those who never learn when a call ends.
    pub(crate) fn expect_lease(&self) -> Result<(), Fault> {
        if self.lease_ns.is_some() {
            return Ok(());
        }
        let expected = whole_range(&Self::LEASE_MS);
        let message = format!(
            "missing `{LEASE_FIELD}`; it is not known here when a call ends, so expected how long it \
             counts at most, {expected}"
        );
        Err(Fault::of_field(LEASE_FIELD, message))
    }

    /// The most calls of a client at once.
    pub const fn max_in_flight(&self) -> u32 {
        self.max_in_flight
    }

    /// How long a call may be under way at most.
    pub fn lease_time(&self) -> Option<Duration> {
        self.lease_ns.map(Duration::from_nanos)
    }
}

/// The limiter of a [`Concurrency`]: what is in flight, and the clock that leases go by.
#[derive(Debug)]
pub(crate) struct ConcurrencyLimiter {
    /// Shared with the limiters before and after it, and with every permit.
    flights: Arc<Flights>,
    environment: Environment,
}

impl ConcurrencyLimiter {
    /// Bytes of a key that has calls under way: its hash, their number, and a byte by which the map finds them.
    pub(crate) const BYTES_PER_KEY: usize = size_of::<(Key, u32)>().saturating_add(1);

    /// The most bytes that the stripes' maps of keys can take, at most half and never more than seven eighths full.
    /// Leases come on top.
    pub(crate) fn table_bytes_max(bounds: Bounds) -> u64 {
        let places = (bounds.max_keys.saturating_mul(8) / 7).next_power_of_two();
        let bytes = u64::try_from(Self::BYTES_PER_KEY).unwrap_or(u64::MAX);
        places.saturating_mul(2).saturating_mul(bytes)
    }

    pub(crate) fn new(concurrency: Concurrency, bounds: Bounds, environment: &Environment) -> Self {
        let flights = Arc::new(Flights::new(Rules::new(concurrency, bounds.max_keys)));
        Self { flights, environment: environment.clone() }
    }

    /// The limiter that goes on under other parameters, with all that is in flight. This one goes by them too.
    pub(crate) fn moved_to(&self, concurrency: Concurrency, bounds: Bounds) -> Self {
        self.flights.go_by(Rules::new(concurrency, bounds.max_keys));
        Self { flights: Arc::clone(&self.flights), environment: self.environment.clone() }
    }

    /// What is asked, of a call that does not say when it ends.
    fn asked(&self, request: &Request) -> Asked {
        let now = request.time().unwrap_or_else(|| self.environment.now());
        let (key, cost) = (request.key(), request.costs());
        Asked { key, now, cost, says_when_it_ends: false }
    }
}

impl Member for ConcurrencyLimiter {
    fn rank(&self) -> usize {
        Arc::as_ptr(&self.flights).addr()
    }

    fn hold(&self, asked: Asked, then: &mut dyn FnMut(&mut dyn Held)) {
        self.flights.hold(asked, |held| then(held));
    }
}

impl Limiter for ConcurrencyLimiter {
    /// Whoever does not say when the call ends takes a place until its lease ends, or without a lease for no time at
    /// all.
    fn decide(&self, request: Request) -> Decided {
        let result = self.flights.hold(self.asked(&request), |held| *held.decide());
        result.possible_at(request.costs())
    }

    fn look(&self, request: Request) -> Decided {
        self.flights.look(self.asked(&request)).possible_at(request.costs())
    }

    fn acquire(&self, request: Request) -> Result<Permit, CallError> {
        let asked = Asked { says_when_it_ends: true, ..self.asked(&request) };
        let (result, place) = self.flights.hold(asked, |held| (*held.decide(), held.place()));
        Ok(Permit::new(result.possible_at(request.costs())?, place.into()))
    }

    fn key(&self, name: &str) -> Key {
        self.environment.hasher().key(name)
    }

    fn now(&self) -> Time {
        self.environment.now()
    }

    /// Calls under way are no quota that could be forgotten: their permits return their places.
    fn reset(&self, _name: &str) -> ResetReport {
        ResetReport::default()
    }

    fn counts(&self) -> Counts {
        self.flights.counts(self.environment.now())
    }

    fn limit(&self) -> u32 {
        self.flights.limit()
    }
}
