//! The calls under way: counted by key, and with leases known one by one.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};

use foldhash::fast::RandomState;
use parking_lot::{Mutex, RwLock};

use super::Concurrency;
use crate::clock::Time;
use crate::decision::{Decision, Figures, RateLimitResult, Reason};
use crate::key::Key;
use crate::store::{Counts, Mark};

/// Each with a lock of its own.
const STRIPES: usize = 16;

/// What is allowed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    concurrency: Concurrency,
    max_keys: u64,
}

impl Rules {
    pub(super) const fn new(concurrency: Concurrency, max_keys: u64) -> Self {
        Self { concurrency, max_keys }
    }

    fn limit(self) -> u32 {
        self.concurrency.max_in_flight
    }

    /// The cost in places, where it can be met at all.
    fn within_limit(self, cost: u64) -> Option<u32> {
        u32::try_from(cost).ok().filter(|cost| *cost <= self.limit())
    }
}

/// All calls under way.
#[derive(Debug)]
pub(super) struct Flights {
    rules: RwLock<Rules>,
    mark: Mark,
    /// Keys in all stripes.
    keys: AtomicU64,
    stripes: [Mutex<Stripe>; STRIPES],
}

/// The calls under way of some keys.
#[derive(Debug, Default)]
struct Stripe {
    /// Places taken, never 0.
    taken: HashMap<Key, u32, RandomState>,
    leases: Leases,
    counts: Counts,
}

/// Places that lapse, by key and by time.
#[derive(Debug, Default)]
struct Leases {
    places: BTreeMap<(Key, Time, u64), u32>,
    in_time: BTreeSet<(Time, Key, u64)>,
    next_ticket: u64,
}

/// Places that a call holds.
#[derive(Debug)]
pub(super) struct Held {
    key: Key,
    places: u32,
    lease: Option<Lease>,
}

/// When places lapse, and which ones: no two leases of a stripe have one ticket.
#[derive(Clone, Copy, Debug)]
struct Lease {
    lapses: Time,
    ticket: u64,
}

impl Held {
    pub(super) const fn has_lease(&self) -> bool {
        self.lease.is_some()
    }
}

impl Flights {
    pub(super) fn new(rules: Rules) -> Self {
        Self {
            rules: RwLock::new(rules),
            mark: Mark::default(),
            keys: AtomicU64::new(0),
            stripes: std::array::from_fn(|_| Mutex::default()),
        }
    }

    /// Has other rules hold from now on, for all that is under way too; leases stay as they were given.
    pub(super) fn go_by(&self, rules: Rules) {
        *self.rules.write() = rules;
    }

    pub(super) fn limit(&self) -> u32 {
        self.rules.read().limit()
    }

    pub(super) fn has_lease(&self) -> bool {
        self.rules.read().concurrency.lease_ns.is_some()
    }

    /// Judges a call and takes its places where it is allowed, as one step. No reload comes in between.
    pub(super) fn take(&self, key: Key, now: Time, cost: u64) -> (RateLimitResult, Option<Held>) {
        let rules = self.rules.read();
        let now = self.mark.advance(now);
        let (mut decision, mut held) = self.stripe(key).lock().take(self, *rules, (key, now, cost));
        if decision.is_none() {
            // Keys whose leases have lapsed leave room.
            self.lapse_all(now);
            (decision, held) = self.stripe(key).lock().take(self, *rules, (key, now, cost));
        }
        let decision = decision.unwrap_or_else(|| table_full(*rules));
        self.stripe(key).lock().count(decision.allowed());
        (RateLimitResult::new(decision, rules.limit()), held)
    }

    /// Judges a call that is over at once: it takes nothing.
    pub(super) fn judge(&self, key: Key, now: Time, cost: u64) -> RateLimitResult {
        let result = self.look(key, self.mark.advance(now), cost);
        self.stripe(key).lock().count(result.allowed());
        result
    }

    /// What a call would be answered.
    pub(super) fn look(&self, key: Key, now: Time, cost: u64) -> RateLimitResult {
        let rules = *self.rules.read();
        let now = self.mark.judge(now);
        let stripe = self.stripe(key).lock();
        let (decision, is_new) =
            (stripe.judge(rules, (key, now, cost)), !stripe.taken.contains_key(&key));
        drop(stripe);
        let turned_away = is_new && cost > 0 && decision.allowed() && self.is_full(rules);
        let decision = if turned_away { table_full(rules) } else { decision };
        RateLimitResult::new(decision, rules.limit())
    }

    /// Takes back the places of a call that has ended, unless their lease has ended before.
    pub(super) fn give_back(&self, held: &Held) {
        self.stripe(held.key).lock().give_back(held, &self.keys);
    }

    pub(super) fn counts(&self, now: Time) -> Counts {
        self.lapse_all(self.mark.judge(now));
        let mut counts = Counts::default();
        for stripe in &self.stripes {
            counts.add(&stripe.lock().counts);
        }
        let mark_ahead_ms = self.mark.get().nanos_since(now) / 1_000_000;
        Counts { keys: self.keys.load(Ordering::Relaxed), mark_ahead_ms, ..counts }
    }

    fn stripe(&self, key: Key) -> &Mutex<Stripe> {
        let index = usize::try_from(key.0 >> 60).unwrap_or(0);
        &self.stripes[index & STRIPES.saturating_sub(1)]
    }

    /// Whether a newcomer finds no room. A look may be at a time yet to come, so it frees only what the mark has
    /// passed.
    fn is_full(&self, rules: Rules) -> bool {
        let is_full = || self.keys.load(Ordering::Relaxed) >= rules.max_keys;
        is_full() && {
            self.lapse_all(self.mark.get());
            is_full()
        }
    }

    fn lapse_all(&self, now: Time) {
        for stripe in &self.stripes {
            stripe.lock().lapse(now, &self.keys);
        }
    }
}

fn table_full(rules: Rules) -> Decision {
    Decision::new(false, Figures::plain(rules.limit(), 0, 0)).denied(Reason::TableFull)
}

impl Stripe {
    /// Judges a call and takes its places where it is allowed; no decision for a newcomer beyond the bound on keys.
    fn take(
        &mut self,
        flights: &Flights,
        rules: Rules,
        (key, now, cost): (Key, Time, u64),
    ) -> (Option<Decision>, Option<Held>) {
        self.lapse(now, &flights.keys);
        let decision = self.judge(rules, (key, now, cost));
        let places = rules.within_limit(cost).filter(|cost| *cost > 0 && decision.allowed());
        let Some(places) = places else { return (Some(decision), None) };
        let one_more = |keys: u64| (keys < rules.max_keys).then(|| keys.saturating_add(1));
        let is_held = self.taken.contains_key(&key);
        if !is_held
            && flights.keys.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_err()
        {
            return (None, None);
        }
        let taken = self.taken.entry(key).or_default();
        *taken = taken.saturating_add(places);
        let lease = rules
            .concurrency
            .lease_ns
            .map(|lease_ns| self.leases.add((key, now.plus_nanos(lease_ns)), places));
        let decision = self.judge(rules, (key, now, 0));
        (Some(decision), Some(Held { key, places, lease }))
    }

    /// Judges a call, and only reads. The figures are those of before it.
    fn judge(&self, rules: Rules, (key, now, cost): (Key, Time, u64)) -> Decision {
        let taken = self.taken.get(&key).copied().unwrap_or_default();
        let taken = taken.saturating_sub(self.leases.lapsed(key, now));
        let room = rules.limit().saturating_sub(taken);
        let reset_after_ns = self.leases.last(key).nanos_since(now);
        let figures = |retry_after_ns| Figures::plain(room, retry_after_ns, reset_after_ns);
        match rules.within_limit(cost) {
            None => Decision::new(false, figures(0)).denied(Reason::CostExceedsLimit),
            Some(cost) if cost <= room => Decision::new(true, figures(0)),
            Some(cost) => {
                // After a reload to a lower limit more may be taken than it allows.
                let needed = taken.saturating_add(cost).saturating_sub(rules.limit());
                let lapses = self.leases.when_returned(key, now, needed);
                let retry_after_ns = lapses.map_or(0, |lapses| lapses.nanos_since(now));
                Decision::new(false, figures(retry_after_ns)).denied(Reason::TooManyInFlight)
            }
        }
    }

    fn give_back(&mut self, held: &Held, keys: &AtomicU64) {
        let is_held = held.lease.is_none_or(|lease| self.leases.remove(held.key, lease));
        if is_held {
            self.free(held.key, held.places, keys);
        }
    }

    /// Frees places whose lease has ended.
    fn lapse(&mut self, now: Time, keys: &AtomicU64) {
        while let Some((key, places)) = self.leases.pop_lapsed(now) {
            self.free(key, places, keys);
        }
    }

    fn free(&mut self, key: Key, places: u32, keys: &AtomicU64) {
        let Some(taken) = self.taken.get_mut(&key) else { return };
        *taken = taken.saturating_sub(places);
        if *taken == 0 {
            self.taken.remove(&key);
            keys.fetch_sub(1, Ordering::Relaxed);
        }
    }

    fn count(&mut self, allowed: bool) {
        let count = if allowed { &mut self.counts.allowed } else { &mut self.counts.denied };
        *count = count.wrapping_add(1);
    }
}

impl Leases {
    fn add(&mut self, (key, lapses): (Key, Time), places: u32) -> Lease {
        let ticket = self.next_ticket;
        self.next_ticket = ticket.wrapping_add(1);
        self.places.insert((key, lapses, ticket), places);
        self.in_time.insert((lapses, key, ticket));
        Lease { lapses, ticket }
    }

    /// Ends a lease early; says whether it had not ended yet.
    fn remove(&mut self, key: Key, Lease { lapses, ticket }: Lease) -> bool {
        self.in_time.remove(&(lapses, key, ticket));
        self.places.remove(&(key, lapses, ticket)).is_some()
    }

    fn pop_lapsed(&mut self, now: Time) -> Option<(Key, u32)> {
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
    fn lapsed(&self, key: Key, now: Time) -> u32 {
        let lapsed = self.of(key).take_while(|(lapses, _)| *lapses <= now);
        lapsed.map(|(_, places)| places).fold(0, u32::saturating_add)
    }

    fn last(&self, key: Key) -> Time {
        self.of(key).next_back().map_or(Time::ZERO, |(lapses, _)| lapses)
    }

    /// When so many places of a key will be free by their leases alone.
    fn when_returned(&self, key: Key, now: Time, places: u32) -> Option<Time> {
        let mut returned = 0_u32;
        self.of(key).filter(|(lapses, _)| *lapses > now).find_map(|(lapses, more)| {
            returned = returned.saturating_add(more);
            (returned >= places).then_some(lapses)
        })
    }
}
