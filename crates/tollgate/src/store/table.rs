//! A hash table whose keys are hashes: linear probing over one array, so that a hit is one or two neighbouring cache
//! lines, and what is taken out leaves no trace.
//!
//! A general table (hashbrown) keeps a byte of tag for each slot in a second array. At a million keys that is a second
//! cache miss, which was a third of a decision's time; and where keys come and go it fills with the traces of
//! those that left, until it doubles beyond what its bound needs. Here the hash is the key, so a slot is its own tag.

/// Slots of the smallest table.
const FIRST_SLOTS: usize = 8;

/// States by hash, in at most as many slots as it was made for.
#[derive(Debug)]
pub(crate) struct Table<S> {
    slots: Box<[Slot<S>]>,
    held: usize,
}

/// A state and its hash, or an empty place. The hash is kept in halves, so that a slot takes no more alignment than the
/// state.
#[derive(Clone, Debug, Default)]
struct Slot<S> {
    hash: [u32; 2],
    state: S,
}

/// The hash of an empty slot. A key whose hash it is takes its neighbour's: one more pair in 2^64 that share a quota.
const EMPTY: u64 = 0;

impl<S> Slot<S> {
    #[inline]
    fn hash(&self) -> u64 {
        u64::from(self.hash[1]) << 32 | u64::from(self.hash[0])
    }
}

#[expect(clippy::as_conversions, reason = "the two halves of 64 bits")]
#[expect(clippy::cast_possible_truncation, reason = "the two halves of 64 bits")]
const fn halves(hash: u64) -> [u32; 2] {
    [hash as u32, (hash >> 32) as u32]
}

const fn not_empty(hash: u64) -> u64 {
    if hash == EMPTY { 1 } else { hash }
}

impl<S> Default for Table<S> {
    fn default() -> Self {
        Self { slots: Box::default(), held: 0 }
    }
}

impl<S: Default> Table<S> {
    /// Bytes of a slot.
    pub(crate) const SLOT_BYTES: usize = size_of::<Slot<S>>();

    /// The most slots a table takes that holds `keys`: a fifth stays empty, so that a search stays short.
    pub(crate) fn slots_for(keys: usize) -> usize {
        keys.saturating_add(keys.div_ceil(4)).saturating_add(1)
    }

    pub(crate) fn len(&self) -> usize {
        self.held
    }

    /// The number of slots, held and empty.
    pub(crate) fn slots(&self) -> usize {
        self.slots.len()
    }

    #[inline]
    pub(crate) fn get(&self, hash: u64) -> Option<&S> {
        Some(&self.slots[self.position(not_empty(hash))?].state)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, hash: u64) -> Option<&mut S> {
        let position = self.position(not_empty(hash))?;
        Some(&mut self.slots[position].state)
    }

    /// The slot of a key that is there; it stays there until a key comes or goes.
    #[inline]
    pub(crate) fn slot_of(&self, hash: u64) -> Option<usize> {
        self.position(not_empty(hash))
    }

    /// The state in a slot.
    #[inline]
    pub(crate) fn state_at(&mut self, slot: usize) -> Option<&mut S> {
        self.slots.get_mut(slot).map(|slot| &mut slot.state)
    }

    /// The key in a slot, if there is one.
    pub(crate) fn at(&self, slot: usize) -> Option<(u64, &S)> {
        let slot = self.slots.get(slot)?;
        (slot.hash() != EMPTY).then_some((slot.hash(), &slot.state))
    }

    /// Whether one more key needs more slots first.
    pub(crate) fn is_crowded(&self) -> bool {
        Self::slots_for(self.held.saturating_add(1)) > self.slots.len()
    }

    /// Puts in a key that is not there, where the table is not crowded.
    pub(crate) fn insert(&mut self, hash: u64, state: S) {
        let hash = not_empty(hash);
        let mut slot = self.home(hash);
        while self.slots[slot].hash() != EMPTY {
            slot = self.after(slot);
        }
        self.slots[slot] = Slot { hash: halves(hash), state };
        self.held = self.held.saturating_add(1);
    }

    /// Takes a key out.
    pub(crate) fn remove(&mut self, hash: u64) -> Option<S> {
        let position = self.position(not_empty(hash))?;
        self.remove_at(position).map(|(_, state)| state)
    }

    /// Takes out whatever is in a slot, and closes the gap: keys behind it that could not have their own place move up.
    pub(crate) fn remove_at(&mut self, slot: usize) -> Option<(u64, S)> {
        let hash = self.at(slot)?.0;
        let state = std::mem::take(&mut self.slots[slot]).state;
        self.held = self.held.saturating_sub(1);
        let (mut gap, mut next) = (slot, self.after(slot));
        while self.slots[next].hash() != EMPTY {
            let home = self.home(self.slots[next].hash());
            if self.distance(home, next) >= self.distance(gap, next) {
                self.slots.swap(gap, next);
                gap = next;
            }
            next = self.after(next);
        }
        Some((hash, state))
    }

    /// Makes room for more keys: twice the slots, though never more than `most`, without the keys that `keep` does not
    /// want.
    pub(crate) fn grow(&mut self, most: usize, keep: impl Fn(&S) -> bool) {
        let kept = self.slots.iter().filter(|slot| slot.hash() != EMPTY && keep(&slot.state));
        let needed = Self::slots_for(kept.count().saturating_add(1));
        let roomy = needed.saturating_mul(2).max(FIRST_SLOTS).min(most).max(needed);
        let empty = || Slot { hash: halves(EMPTY), state: S::default() };
        let slots = std::iter::repeat_with(empty).take(roomy).collect();
        let before = std::mem::replace(self, Self { slots, held: 0 });
        for (hash, state) in before.into_iter().filter(|(_, state)| keep(state)) {
            self.insert(hash, state);
        }
    }

    /// Where a key is.
    #[inline]
    fn position(&self, hash: u64) -> Option<usize> {
        if self.slots.is_empty() {
            return None;
        }
        let mut slot = self.home(hash);
        loop {
            match self.slots[slot].hash() {
                found if found == hash => return Some(slot),
                EMPTY => return None,
                _ => slot = self.after(slot),
            }
        }
    }

    /// Where a key belongs: its hash's low half, scaled to the table. (The high half chose the stripe.)
    #[inline]
    fn home(&self, hash: u64) -> usize {
        let slots = u64::try_from(self.slots.len()).unwrap_or(u64::MAX);
        let low_half = u64::from(halves(hash)[0]);
        usize::try_from(low_half.wrapping_mul(slots) >> 32).unwrap_or(0)
    }

    #[inline]
    fn after(&self, slot: usize) -> usize {
        let next = slot.saturating_add(1);
        if next == self.slots.len() { 0 } else { next }
    }

    /// How far `to` lies behind `from`, around the end.
    fn distance(&self, from: usize, to: usize) -> usize {
        let around = if to < from { self.slots.len() } else { 0 };
        to.saturating_add(around).saturating_sub(from)
    }
}

impl<S> Table<S> {
    pub(crate) fn states_mut(&mut self) -> impl Iterator<Item = &mut S> {
        let held = self.slots.iter_mut().filter(|slot| slot.hash() != EMPTY);
        held.map(|slot| &mut slot.state)
    }

    /// Every hash held, and its state.
    pub(crate) fn into_iter(self) -> impl Iterator<Item = (u64, S)> {
        let slots = self.slots.into_iter();
        slots.filter(|slot| slot.hash() != EMPTY).map(|slot| (slot.hash(), slot.state))
    }

    /// Checks the whole table, for tests: every key can be found, once; returns their hashes.
    #[cfg(all(any(test, fuzzing), not(loom)))]
    pub(crate) fn validate(&self) -> std::collections::BTreeSet<u64>
    where
        S: Default,
    {
        let held = (0..self.slots()).filter_map(|slot| Some((slot, self.at(slot)?.0)));
        let hashes = held
            .inspect(|(slot, hash)| assert_eq!(self.position(*hash), Some(*slot), "lost or twice"))
            .map(|(_, hash)| hash)
            .collect::<std::collections::BTreeSet<_>>();
        assert_eq!(hashes.len(), self.held, "the count is off");
        hashes
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_map(
            // Few different low halves, so that keys crowd and wrap around the end.
            steps in proptest::collection::vec((any::<bool>(), 0..40_u64, any::<bool>()), 1..400),
        ) {
            let (mut table, mut map) = (Table::<u32>::default(), BTreeMap::new());
            for (index, (insert, key, at_the_end)) in steps.into_iter().enumerate() {
                let number = u32::try_from(index).unwrap();
                let hash = key << 40 | if at_the_end { 0xFFFF_FFFF } else { key << 27 };
                let hash = not_empty(hash);
                if insert && table.get(hash).is_none() {
                    if table.is_crowded() {
                        table.grow(1_000, |_| true);
                    }
                    table.insert(hash, number);
                    map.insert(hash, number);
                } else if !insert {
                    prop_assert_eq!(table.remove(hash), map.remove(&hash));
                }
                prop_assert_eq!(table.get(hash), map.get(&hash));
                prop_assert!(table.validate().iter().eq(map.keys()));
            }
        }
    }

    #[test]
    fn a_slot_takes_no_more_than_the_hash_and_the_state() {
        assert_eq!(size_of::<Slot<[u32; 3]>>(), 20);
        assert_eq!(size_of::<Slot<u64>>(), 16);
    }

    #[test]
    fn growing_leaves_out_what_is_not_wanted_and_keeps_to_its_most() {
        let mut table = Table::<u64>::default();
        for hash in 1..=1_000_u64 {
            if table.is_crowded() {
                table.grow(1_251, |_| true);
            }
            table.insert(hash << 20 | hash, hash);
        }
        assert_eq!((table.len(), table.slots()), (1_000, Table::<u64>::slots_for(1_000)));
        table.grow(1_251, |state| state % 10 == 0);
        assert_eq!(table.len(), 100);
        assert_eq!(table.validate().len(), 100);
    }

    #[test]
    fn a_key_whose_hash_is_that_of_an_empty_slot_is_held_all_the_same() {
        let mut table = Table::<u32>::default();
        assert_eq!(table.get(EMPTY), None);
        table.grow(8, |_| true);
        assert_eq!(table.get(EMPTY), None);
        table.insert(EMPTY, 7);
        assert_eq!(table.get(EMPTY), Some(&7));
        assert_eq!(table.remove(EMPTY), Some(7));
    }
}
