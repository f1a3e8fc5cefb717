//! The places of one key while its stripe's lock is held: judged first, and taken when the limits beside it agree.

use std::sync::Arc;

use super::flights::{Flights, Rules, Stripe, Taken};
use super::permit::Place;
use crate::decision::{Decision, RateLimitResult};
use crate::member::Asked;
use crate::store::{Charge, Held};

/// The places of a key whose lock is held.
pub(super) struct HeldPlaces<'a> {
    flights: &'a Arc<Flights>,
    rules: Rules,
    stripe: &'a mut Stripe,
    asked: Asked,
    said: RateLimitResult,
    /// Whether room was set aside for the key, which is not in the table.
    has_room_aside: bool,
    taken: Option<Taken>,
}

impl<'a> HeldPlaces<'a> {
    pub(super) fn new(
        flights: &'a Arc<Flights>,
        rules: Rules,
        stripe: &'a mut Stripe,
        asked: Asked,
    ) -> Self {
        let said = RateLimitResult::unlimited();
        Self { flights, rules, stripe, asked, said, has_room_aside: false, taken: None }
    }

    fn say(&mut self, decision: Decision) {
        self.said = RateLimitResult::new(decision, self.rules.limit());
    }

    /// Whether there is room for the key; a newcomer's is set aside until it is known whether the others agree.
    fn finds_room(&mut self) -> bool {
        if self.asked.cost == 0 || self.has_room_aside || self.stripe.holds(self.asked.key) {
            return true;
        }
        self.has_room_aside = self.flights.set_room_aside(self.rules);
        self.has_room_aside
    }

    /// The places that the call takes. One that does not say when it ends takes none without a lease, or they would
    /// never be returned.
    fn places(&self) -> Option<u32> {
        let is_returned = self.asked.says_when_it_ends || self.rules.has_lease();
        self.rules.within_limit(self.asked.cost).filter(|places| is_returned && *places > 0)
    }
}

impl Drop for HeldPlaces<'_> {
    fn drop(&mut self) {
        if self.has_room_aside {
            self.flights.give_room_up();
        }
    }
}

impl Held for HeldPlaces<'_> {
    fn judge(&mut self) -> bool {
        let decision = self.stripe.judge(self.rules, self.asked);
        let turned_away = decision.allowed() && !self.finds_room();
        self.say(if turned_away { self.rules.table_full() } else { decision });
        let allowed = self.said.allowed();
        if !allowed {
            self.stripe.count(false);
        }
        allowed
    }

    fn decide(&mut self) -> &RateLimitResult {
        if self.judge() { self.charge() } else { &self.said }
    }

    fn restate(&mut self) {
        self.say(self.stripe.judge(self.rules, Asked { cost: 0, ..self.asked }));
    }

    fn said(&self) -> &RateLimitResult {
        &self.said
    }

    fn charge(&mut self) -> &RateLimitResult {
        self.stripe.count(true);
        if let Some(places) = self.places() {
            let Asked { key, now, .. } = self.asked;
            self.taken = Some(self.stripe.take(self.rules, (key, now), places));
            // From now on the key is in the table, which counts it.
            self.has_room_aside = false;
            self.restate();
        }
        &self.said
    }

    /// None: that a charge was not due does not mean that the call has ended.
    fn receipt(&self) -> Option<Charge> {
        None
    }

    fn place(&mut self) -> Option<Place> {
        let taken = self.taken.take().filter(|_| self.asked.says_when_it_ends)?;
        Some(Place::new(Arc::clone(self.flights), taken))
    }

    /// Calls under way are facts.
    fn forget(&mut self) {}
}
