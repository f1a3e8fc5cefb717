//! A key that comes in, and one that leaves for it. All under the section's mutex.

use super::Lines;
use super::line::{EMPTY, Locked};
use super::section::{Place, Section};
use crate::algorithm::Algorithm;
use crate::config::OnFull;
use crate::store::rules::CANDIDATES;

/// Where a newcomer may go.
enum Room {
    /// A slot that is empty.
    Empty(Place),
    /// A slot whose key is whole: the same as empty, but it counts as held.
    Whole(Place),
    None,
}

impl<A: Algorithm> Lines<A> {
    /// Takes a key in. Where the table is full, the least indebted of some keys, the newcomer among them, leaves for
    /// its overflow cell.
    pub(super) fn admit(&self, section: &mut Section<A>, hash: u64, state: &A::State) {
        let number = self.rules.layout.stripe(hash);
        loop {
            match self.room(section, hash) {
                Room::Whole(place) => {
                    if self.put_over_whole(number, hash, place, state) {
                        return;
                    }
                }
                Room::Empty(place) => {
                    if !self.grow_where_crowded(section, number, hash) {
                        section.held = section.held.saturating_add(1);
                        return self.put(self.line(number, place).lock(), (hash, place), state);
                    }
                }
                Room::None if !self.is_full(section) && self.relieve(section, number, hash) => {}
                Room::None => return self.displace(section, hash, state),
            }
        }
    }

    fn is_full(&self, section: &Section<A>) -> bool {
        section.held >= self.rules.layout.keys_per_stripe()
    }

    /// Whether a newcomer finds the table full of indebted keys, and must be denied for it.
    pub(super) fn turns_away(&self, section: &Section<A>, hash: u64) -> bool {
        self.rules.on_full == OnFull::Deny && matches!(self.room(section, hash), Room::None)
    }

    /// The nearest line from the home on with a slot whose key is whole, or one that is empty where one more key may be
    /// held.
    fn room(&self, section: &Section<A>, hash: u64) -> Room {
        let number = self.rules.layout.stripe(hash);
        let may_hold_more = !self.is_full(section);
        let now = self.shared.mark.get();
        let mut empty = None;
        for place in self.places(number, hash) {
            if place.slot == 0 && empty.is_some() {
                break;
            }
            let (held, words) = self.slot(number, place);
            if held == EMPTY {
                empty = empty.or_else(|| may_hold_more.then_some(place));
            } else if self.rules.algorithm.debt(&Self::unpack(words), now) == 0 {
                return Room::Whole(place);
            }
        }
        empty.map_or(Room::None, Room::Empty)
    }

    /// Makes the weakest of the keys near a newcomer's home leave for its cell, or the newcomer.
    fn displace(&self, section: &mut Section<A>, hash: u64, state: &A::State) {
        let number = self.rules.layout.stripe(hash);
        let now = self.shared.mark.get();
        let newcomer_debt = self.rules.algorithm.debt(state, now);
        section.counts.evictions = section.counts.evictions.saturating_add(1);
        let candidates = self.places(number, hash).filter_map(|place| {
            let (held, words) = self.slot(number, place);
            let debt = || self.rules.algorithm.debt(&Self::unpack(words), now);
            (held != EMPTY).then(|| (debt(), place))
        });
        let weakest = candidates.take(CANDIDATES).min_by_key(|(debt, _)| *debt);
        let Some((_, place)) = weakest.filter(|(debt, _)| *debt <= newcomer_debt) else {
            return section.cells.join(&self.rules, hash, state, now);
        };
        // Read again under the lock: what was charged since leaves as well.
        let locked = self.line(number, place).lock();
        let leaver = Self::unpack(locked.words(place.slot));
        section.cells.join(&self.rules, locked.hash(place.slot), &leaver, now);
        self.put(locked, (hash, place), state);
    }

    /// Gives a key the slot of one that is whole; not where a call has charged that one at this very moment.
    fn put_over_whole(&self, number: usize, hash: u64, place: Place, state: &A::State) -> bool {
        let locked = self.line(number, place).lock();
        let before = Self::unpack(locked.words(place.slot));
        let is_whole = self.rules.algorithm.debt(&before, self.shared.mark.get()) == 0;
        if is_whole {
            self.put(locked, (hash, place), state);
        }
        is_whole
    }

    /// Writes a key into a slot of a line that is locked, and gives the lock back.
    fn put(&self, mut locked: Locked<'_>, (hash, place): (u64, Place), state: &A::State) {
        locked.set_hash(place.slot, hash);
        let before = locked.words(place.slot);
        locked.set_words(place.slot, before, Self::pack(state));
        drop(locked);
        let number = self.rules.layout.stripe(hash);
        self.reach_from(number, self.home_in(number, hash), place.line);
    }
}
