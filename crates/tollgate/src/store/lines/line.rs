//! One cache line: three keys with their states, and a lock in the line itself.
//!
//! ```text
//!  word   0                          1                       2..5     5..8
//!        ┌────────────┬────────────┬────────────┬──────────┬────────┬────────────┐
//!        │ high of 0  │ head       │ high of 1  │ high     │ 3      │ 3 low      │
//!        │ 32 bits    │ 32 bits    │ 32 bits    │ of 2     │ hashes │ words      │
//!        └────────────┴────────────┴────────────┴──────────┴────────┴────────────┘
//! ```
//!
//! A state has 96 bits: a low word, and a high half that shares its word with the head or another's.
//!
//! Who changes a line takes its lock by a compare-and-swap of the first word and gives it back by a store. Each
//! change counts the head's number up, so a reader can tell whether what it read belongs together: it reads the first
//! word, the rest, and the first word again. A compare-and-swap from a first word read earlier locks the line and
//! proves in the same step that nothing has changed since.

use std::hint::select_unpredictable;

use super::prefetch::prefetch;
use crate::store::sync::{AtomicU64, Ordering, fence, spin};
use crate::wide::low_half;

pub(super) const WORDS: usize = 8;
pub(super) const SLOTS: usize = 3;

const HIGHS: usize = 1;
const HASHES: usize = 2;
const LOWS: usize = 5;

/// A slot that holds no key.
pub(super) const EMPTY: u64 = 0;

/// The first word of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head(u64);

const HALF: u64 = 0xFFFF_FFFF;
const LOCKED: u64 = 1 << 32;
const BORN: u64 = 1 << 33;
const REACH_SHIFT: u32 = 34;
const REACH_MASK: u64 = 0b11_1111 << REACH_SHIFT;
/// The number of changes is last, so that it wraps within its 24 bits and touches nothing else.
const CHANGE: u64 = 1 << 40;

impl Head {
    const fn is_locked(self) -> bool {
        self.0 & LOCKED != 0
    }

    /// Whether the keys whose home this line became when the table grew have moved here.
    pub(super) const fn is_born(self) -> bool {
        self.0 & BORN != 0
    }

    /// How many lines behind their home its keys may lie.
    #[inline]
    pub(super) const fn reach(self) -> u64 {
        (self.0 & REACH_MASK) >> REACH_SHIFT
    }

    /// The same head after one more change.
    #[inline]
    const fn changed(self) -> Self {
        Self(self.0.wrapping_add(CHANGE))
    }
}

/// A key's state as a line holds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) low: u64,
    pub(super) high: u32,
}

/// A line, wherever it lies.
#[derive(Clone, Copy, Debug)]
pub(in crate::store) struct Line<'a>(pub(super) &'a [AtomicU64; WORDS]);

impl<'a> Line<'a> {
    /// The first word, once nobody holds the lock. Acquire: what the last change wrote is seen after it.
    #[inline]
    pub(super) fn head(self) -> Head {
        let mut waited = 0;
        loop {
            if let Some(head) = self.head_if_free() {
                return head;
            }
            spin(&mut waited);
        }
    }

    /// Asks for the line ahead of its use.
    #[inline]
    pub(in crate::store) fn prefetch(self) {
        prefetch(self.0);
    }

    /// The first word, if nobody holds the lock.
    #[inline]
    pub(super) fn head_if_free(self) -> Option<Head> {
        let head = Head(self.0[0].load(Ordering::Acquire));
        (!head.is_locked()).then_some(head)
    }

    /// The slot of a key, by comparing all three without a branch between.
    #[inline]
    pub(super) fn slot_of(self, hash: u64) -> Option<usize> {
        let is_at = |slot: usize| self.hash(slot) == hash;
        let (first, second, third) = (is_at(0), is_at(1), is_at(2));
        let slot = select_unpredictable(third, 2, usize::from(second));
        (first | second | third).then_some(slot)
    }

    pub(super) fn holds(self, hash: u64) -> bool {
        self.slot_of(hash).is_some()
    }

    /// Acquire: who misses a key because another took its slot sees what that one had seen of time.
    #[inline]
    pub(super) fn hash(self, slot: usize) -> u64 {
        self.0[HASHES.saturating_add(slot)].load(Ordering::Acquire)
    }

    /// What the line says of a key, if the key is here and nobody holds the lock.
    #[inline]
    pub(super) fn glance(self, hash: u64) -> Option<Glance<'a>> {
        let head = self.head_if_free()?;
        let slot = self.slot_of(hash)?;
        let (low, highs) = (self.low(slot), self.highs());
        Some(Glance { line: self, head, hash, slot, low, highs })
    }

    /// A slot's state, right if the head is [`unchanged`](Self::is_unchanged) afterwards.
    #[inline]
    pub(super) fn words(self, head: Head, slot: usize) -> Words {
        Words { low: self.low(slot), high: high_of(slot, head, self.highs()) }
    }

    #[inline]
    fn low(self, slot: usize) -> u64 {
        self.0[LOWS.saturating_add(slot)].load(Ordering::Relaxed)
    }

    /// The high halves of the states in slots 1 and 2.
    #[inline]
    fn highs(self) -> u64 {
        self.0[HIGHS].load(Ordering::Relaxed)
    }

    /// Whether what was read since `head` belongs together. The fence keeps the reads before the second look, and pairs
    /// with the one behind the lock.
    #[inline]
    pub(super) fn is_unchanged(self, head: Head) -> bool {
        fence(Ordering::Acquire);
        self.0[0].load(Ordering::Relaxed) == head.0
    }

    /// Takes the lock if nothing has changed since `head`.
    #[inline]
    pub(super) fn lock_from(self, head: Head) -> Option<Locked<'a>> {
        let taken = self.0[0].compare_exchange(
            head.0,
            head.0 | LOCKED,
            Ordering::AcqRel,
            Ordering::Relaxed,
        );
        taken.ok()?;
        // No later write may be seen by a reader that does not see the lock as well.
        fence(Ordering::Release);
        Some(Locked { line: self, head })
    }

    /// Takes the lock, waiting for whoever holds it.
    pub(super) fn lock(self) -> Locked<'a> {
        loop {
            if let Some(locked) = self.lock_from(self.head()) {
                return locked;
            }
        }
    }
}

/// What a line said of a key at some moment, read without a lock.
#[derive(Clone, Copy, Debug)]
pub(super) struct Glance<'a> {
    line: Line<'a>,
    head: Head,
    hash: u64,
    slot: usize,
    low: u64,
    highs: u64,
}

impl<'a> Glance<'a> {
    /// The key's state, right if it [`holds`](Self::holds) or the line can be [`locked`](Self::lock) afterwards.
    #[inline]
    pub(super) fn words(&self) -> Words {
        Words { low: self.low, high: high_of(self.slot, self.head, self.highs) }
    }

    /// Whether all of it belongs together.
    #[inline]
    pub(super) fn holds(&self) -> bool {
        self.line.is_unchanged(self.head)
    }

    /// Takes the line's lock if what was seen is still so. The head's number may have come round to where it was: what
    /// was seen must be what is there.
    #[inline]
    pub(super) fn lock(&self) -> Option<Locked<'a>> {
        let locked = self.line.lock_from(self.head)?;
        let (line, slot) = (self.line, self.slot);
        let is_still_so = line.hash(slot) == self.hash
            && line.low(slot) == self.low
            && line.highs() == self.highs;
        is_still_so.then_some(locked)
    }

    /// The slot of the key.
    #[inline]
    pub(super) const fn slot(&self) -> usize {
        self.slot
    }
}

/// A line that nobody else changes while this is held.
#[derive(Debug)]
pub(super) struct Locked<'a> {
    line: Line<'a>,
    /// The first word as it will be, but for the change that is counted last. It is not read back: right behind the
    /// compare-and-swap that wrote it, a read took 4 of a call's 18 ns.
    head: Head,
}

impl Locked<'_> {
    pub(super) fn hash(&self, slot: usize) -> u64 {
        self.line.hash(slot)
    }

    pub(super) fn words(&self, slot: usize) -> Words {
        self.line.words(self.head, slot)
    }

    /// Sets a slot's state that was this one before. A high half is written where it changes; that of a bucket hardly
    /// ever does, since time takes centuries to count one up, or seconds where it is cut finest.
    #[inline]
    pub(super) fn set_words(&mut self, slot: usize, before: Words, words: Words) {
        self.line.0[LOWS.saturating_add(slot)].store(words.low, Ordering::Relaxed);
        if words.high != before.high {
            self.set_high(slot, words.high);
        }
    }

    /// Writes both words that hold high halves, whichever it is: see [`high_of`].
    #[inline]
    fn set_high(&mut self, slot: usize, high: u32) {
        let (high, head, highs) = (u64::from(high), self.head.0, self.line.highs());
        self.head.0 = select_unpredictable(slot == 0, head & !HALF | high, head);
        let last = select_unpredictable(slot == 2, highs & HALF | high << u32::BITS, highs);
        let highs = select_unpredictable(slot == 1, highs & !HALF | high, last);
        self.line.0[HIGHS].store(highs, Ordering::Relaxed);
    }

    /// Gives a slot to a key. Release: see [`Line::hash`].
    pub(super) fn set_hash(&self, slot: usize, hash: u64) {
        self.line.0[HASHES.saturating_add(slot)].store(hash, Ordering::Release);
    }

    pub(super) const fn reach_to(&mut self, reach: u64) {
        if reach > self.head.reach() {
            self.head.0 = self.head.0 & !REACH_MASK | reach << REACH_SHIFT;
        }
    }

    pub(super) const fn set_born(&mut self) {
        self.head.0 |= BORN;
    }
}

impl Drop for Locked<'_> {
    /// Gives the lock back. Release: who reads the new head sees all that was written.
    #[inline]
    fn drop(&mut self) {
        self.line.0[0].store(self.head.changed().0, Ordering::Release);
    }
}

/// The high half of a slot's state, from the line's first two words. (Without a branch: which slot it is, no processor
/// could foresee.)
#[inline]
fn high_of(slot: usize, head: Head, highs: u64) -> u32 {
    let word = select_unpredictable(slot == 0, head.0, highs);
    low_half(select_unpredictable(slot == 2, word >> u32::BITS, word))
}
