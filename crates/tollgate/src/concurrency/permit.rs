//! What a call holds while it is under way.

use std::sync::Arc;

use super::flights::{Flights, Taken};
use crate::decision::RateLimitResult;

/// The answer to a call that says when it ends: by dropping this.
///
/// Where the call is allowed and its limits count calls under way ([`Concurrency`](crate::Concurrency)), this holds the
/// call's place in each of them. A place is returned once: when this is dropped, be it at the end of the call, in a
/// panic or with a future that is cancelled, or when its lease ends, whichever comes first. Under any other limiter
/// there is nothing to return, so that callers need not know which one answers.
#[derive(Debug)]
#[must_use = "dropping it ends the call"]
pub struct Permit {
    result: RateLimitResult,
    /// Here to be dropped with this.
    _places: Places,
}

/// What a call holds: most often one place, and one more for each further limit that counts calls under way.
#[derive(Debug, Default)]
pub(crate) struct Places {
    first: Option<Place>,
    others: Vec<Place>,
}

/// The place of a call in one limit, returned when it is dropped. (A place that costs more is several.)
#[derive(Debug)]
pub(crate) struct Place {
    flights: Arc<Flights>,
    taken: Taken,
}

impl Place {
    pub(super) const fn new(flights: Arc<Flights>, taken: Taken) -> Self {
        Self { flights, taken }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.flights.give_back(self.taken);
    }
}

impl Places {
    pub(crate) fn add(&mut self, place: Place) {
        if self.first.is_none() {
            self.first = Some(place);
        } else {
            self.others.push(place);
        }
    }
}

impl From<Option<Place>> for Places {
    fn from(first: Option<Place>) -> Self {
        Self { first, others: Vec::new() }
    }
}

impl Permit {
    pub(crate) const fn new(result: RateLimitResult, places: Places) -> Self {
        Self { result, _places: places }
    }

    /// An answer that does not mind when the call ends, and holds no place.
    pub const fn without_end(result: RateLimitResult) -> Self {
        Self::new(result, Places { first: None, others: Vec::new() })
    }

    /// Whether the call may proceed.
    pub const fn allowed(&self) -> bool {
        self.result.allowed()
    }

    /// The answer.
    pub const fn result(&self) -> RateLimitResult {
        self.result
    }
}
