//! Places that lapse: known one by one, by key and by time.

use std::collections::{BTreeMap, BTreeSet};

use crate::clock::Time;
use crate::key::Key;

/// Places that lapse, by key and by time.
#[derive(Debug, Default)]
pub(super) struct Leases {
    places: BTreeMap<(Key, Time, u64), u32>,
    in_time: BTreeSet<(Time, Key, u64)>,
    next_ticket: u64,
}

/// When places lapse, and which ones: no two leases of a stripe have one ticket.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lease {
    lapses: Time,
    ticket: u64,
}

impl Leases {
    pub(super) fn add(&mut self, (key, lapses): (Key, Time), places: u32) -> Lease {
        let ticket = self.next_ticket;
        self.next_ticket = ticket.wrapping_add(1);
        self.places.insert((key, lapses, ticket), places);
        self.in_time.insert((lapses, key, ticket));
        Lease { lapses, ticket }
    }

    /// Ends a lease early; says whether it had not ended yet.
    pub(super) fn remove(&mut self, key: Key, Lease { lapses, ticket }: Lease) -> bool {
        self.in_time.remove(&(lapses, key, ticket));
        self.places.remove(&(key, lapses, ticket)).is_some()
    }

    pub(super) fn pop_lapsed(&mut self, now: Time) -> Option<(Key, u32)> {
        let (_, key, ticket) = *self.in_time.first().filter(|(lapses, ..)| *lapses <= now)?;
        let (lapses, ..) = self.in_time.pop_first()?;
        Some((key, self.places.remove(&(key, lapses, ticket))?))
    }

    /// The leases of a key, the first to end first.
    fn of(&self, key: Key) -> impl DoubleEndedIterator<Item = (Time, u32)> {
        let range = (key, Time::ZERO, 0)..=(key, Time::from_nanos(u64::MAX), u64::MAX);
        self.places.range(range).map(|((_, lapses, _), places)| (*lapses, *places))
    }

    /// The places of a key whose leases have ended and were not freed yet.
    pub(super) fn lapsed(&self, key: Key, now: Time) -> u32 {
        let lapsed = self.of(key).take_while(|(lapses, _)| *lapses <= now);
        lapsed.map(|(_, places)| places).fold(0, u32::saturating_add)
    }

    pub(super) fn last(&self, key: Key) -> Time {
        self.of(key).next_back().map_or(Time::ZERO, |(lapses, _)| lapses)
    }

    /// When so many places of a key will be free by their leases alone.
    pub(super) fn when_returned(&self, key: Key, now: Time, places: u32) -> Option<Time> {
        let mut returned = 0_u32;
        self.of(key).filter(|(lapses, _)| *lapses > now).find_map(|(lapses, more)| {
            returned = returned.saturating_add(more);
            (returned >= places).then_some(lapses)
        })
    }
}
