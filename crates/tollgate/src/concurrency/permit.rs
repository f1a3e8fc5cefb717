//! What a call holds while it is under way.

use std::sync::Arc;

use super::flights::{Flights, Held};
use crate::decision::RateLimitResult;
use crate::limit_name::LimitName;

/// The answer to a call that says when it ends: by dropping this.
///
/// Where the call is allowed and its limiter counts calls under way ([`Concurrency`](crate::Concurrency)), this holds
/// the call's place. The place is returned once: when this is dropped, be it at the end of the call, in a panic or
/// with a future that is cancelled, or when its lease ends, whichever comes first. Under any other limiter there is
/// nothing to return, so that callers need not know which one answers.
#[derive(Debug)]
#[must_use = "dropping it ends the call"]
pub struct Permit {
    result: RateLimitResult,
    place: Option<Place>,
}

/// A place that is held; none once it was given back, or left to its lease.
#[derive(Debug)]
struct Place {
    flights: Arc<Flights>,
    held: Option<Held>,
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Some(held) = self.held.take() {
            self.flights.give_back(&held);
        }
    }
}

impl Permit {
    pub(super) fn new(result: RateLimitResult, held: Option<(Arc<Flights>, Held)>) -> Self {
        let place = held.map(|(flights, held)| Place { flights, held: Some(held) });
        Self { result, place }
    }

    /// An answer that does not mind when the call ends, and holds no place.
    pub const fn without_end(result: RateLimitResult) -> Self {
        Self { result, place: None }
    }

    /// The same, said by the limit of this name.
    pub(crate) fn said_by(self, name: LimitName) -> Self {
        Self { result: self.result.said_by(name), ..self }
    }

    /// Whether the call may proceed.
    pub const fn allowed(&self) -> bool {
        self.result.allowed()
    }

    /// The answer.
    pub const fn result(&self) -> RateLimitResult {
        self.result
    }

    /// Leaves the place to its lease, where it has one.
    pub(super) fn until_its_lease_ends(mut self) -> RateLimitResult {
        if let Some(place) = &mut self.place {
            place.held.take_if(|held| held.has_lease());
        }
        self.result
    }
}
