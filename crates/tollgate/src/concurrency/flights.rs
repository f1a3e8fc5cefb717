//! The calls under way: counted by key, and with leases known one by one.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use foldhash::fast::RandomState;
use parking_lot::{Mutex, MutexGuard, RwLock};

use super::Concurrency;
use super::held::HeldPlaces;
use super::leases::{Lease, Leases};
use crate::clock::Time;
use crate::decision::{Decision, Figures, RateLimitResult, Reason};
use crate::key::Key;
use crate::member::Asked;
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

    pub(super) const fn limit(self) -> u32 {
        self.concurrency.max_in_flight
    }

    /// The cost in places, where it can be met at all.
    pub(super) fn within_limit(self, cost: u64) -> Option<u32> {
        u32::try_from(cost).ok().filter(|cost| *cost <= self.limit())
    }

    pub(super) const fn has_lease(self) -> bool {
        self.concurrency.lease_ns.is_some()
    }

    /// The denial of a newcomer while as many keys as may be have calls under way.
    pub(super) const fn table_full(self) -> Decision {
        Decision::new(false, Figures::plain(self.limit(), 0, 0)).denied(Reason::TableFull)
    }
}

/// All calls under way.
#[derive(Debug)]
pub(super) struct Flights {
    rules: RwLock<Rules>,
    mark: Mark,
    /// Keys in all stripes, and those for which room was set aside.
    keys: AtomicU64,
    stripes: [Mutex<Stripe>; STRIPES],
}

/// The calls under way of some keys.
#[derive(Debug, Default)]
pub(super) struct Stripe {
    /// Places taken, never 0.
    taken: HashMap<Key, u32, RandomState>,
    leases: Leases,
    counts: Counts,
}

/// What a call has taken.
#[derive(Clone, Copy, Debug)]
pub(super) struct Taken {
    key: Key,
    places: u32,
    lease: Option<Lease>,
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

    /// Hands a key on while its lock is held, at the time its call is judged by. No reload comes in between.
    pub(super) fn hold<T>(
        self: &Arc<Self>,
        asked: Asked,
        then: impl FnOnce(&mut HeldPlaces<'_>) -> T,
    ) -> T {
        let rules = self.rules.read();
        let now = self.mark.advance(asked.now);
        let mut stripe = self.stripe(asked.key).lock();
        stripe.lapse(now, &self.keys);
        if self.is_full(*rules) && !stripe.holds(asked.key) {
            // Keys whose leases have lapsed leave room.
            MutexGuard::unlocked(&mut stripe, || self.lapse_all(now));
        }
        let answer = then(&mut HeldPlaces::new(self, *rules, &mut stripe, Asked { now, ..asked }));
        drop((stripe, rules));
        answer
    }

    /// What a call would be answered. A look may be at a time yet to come, so it frees only what the mark has passed.
    pub(super) fn look(&self, asked: Asked) -> RateLimitResult {
        let rules = *self.rules.read();
        let asked = Asked { now: self.mark.judge(asked.now), ..asked };
        let stripe = self.stripe(asked.key).lock();
        let (decision, is_new) = (stripe.judge(rules, asked), !stripe.holds(asked.key));
        drop(stripe);
        let is_full = || self.is_full(rules);
        let turned_away = is_new && asked.cost > 0 && decision.allowed() && is_full() && {
            self.lapse_all(self.mark.get());
            is_full()
        };
        let decision = if turned_away { rules.table_full() } else { decision };
        RateLimitResult::new(decision, rules.limit())
    }

    /// Takes back the places of a call that has ended, unless their lease has ended before.
    pub(super) fn give_back(&self, taken: Taken) {
        self.stripe(taken.key).lock().give_back(taken, &self.keys);
    }

    /// Sets room aside for one more key; says whether there is any.
    ///
    /// While a call that is the last to find room is judged by other limits, another newcomer finds none, even if the
    /// first one is denied in the end: denied too early once, at the very bound, and never admitted too often.
    pub(super) fn set_room_aside(&self, rules: Rules) -> bool {
        let one_more = |keys: u64| (keys < rules.max_keys).then(|| keys.saturating_add(1));
        self.keys.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok()
    }

    /// Gives up room that was set aside.
    pub(super) fn give_room_up(&self) {
        self.keys.fetch_sub(1, Ordering::Relaxed);
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

    fn is_full(&self, rules: Rules) -> bool {
        self.keys.load(Ordering::Relaxed) >= rules.max_keys
    }

    fn lapse_all(&self, now: Time) {
        for stripe in &self.stripes {
            stripe.lock().lapse(now, &self.keys);
        }
    }
}

impl Stripe {
    /// Whether a key has calls under way.
    pub(super) fn holds(&self, key: Key) -> bool {
        self.taken.contains_key(&key)
    }

    /// Judges a call, and only reads. The figures are those of before it.
    pub(super) fn judge(&self, rules: Rules, Asked { key, now, cost, .. }: Asked) -> Decision {
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

    /// Takes places for a call that was judged to be allowed.
    pub(super) fn take(&mut self, rules: Rules, (key, now): (Key, Time), places: u32) -> Taken {
        let taken = self.taken.entry(key).or_default();
        *taken = taken.saturating_add(places);
        let lease = rules.concurrency.lease_ns;
        let lease = lease.map(|lease_ns| self.leases.add((key, now.plus_nanos(lease_ns)), places));
        Taken { key, places, lease }
    }

    pub(super) fn count(&mut self, allowed: bool) {
        let count = if allowed { &mut self.counts.allowed } else { &mut self.counts.denied };
        *count = count.wrapping_add(1);
    }

    fn give_back(&mut self, Taken { key, places, lease }: Taken, keys: &AtomicU64) {
        if lease.is_none_or(|lease| self.leases.remove(key, lease)) {
            self.free(key, places, keys);
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
}
