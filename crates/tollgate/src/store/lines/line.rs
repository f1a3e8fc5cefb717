//! One cache line: three keys with their states, and a lock in the line itself.
//!
//! ```text
//!  word   0                          1                       2..5     5..8
//!        ┌────────────┬────────────┬────────────┬──────────┬────────┬────────────┐
//!        │ head       │ fraction 0 │ fraction 1 │ fraction │ 3      │ 3 whole    │
//!        │ 32 bits    │            │            │ 2        │ hashes │ words      │
//!        └────────────┴────────────┴────────────┴──────────┴────────┴────────────┘
//! ```
//!
//! Who changes a line takes its lock by a compare-and-swap of the first word and gives it back by a store. Each
//! change counts the head's number up, so a reader can tell whether what it read belongs together: it reads the first
//! word, the rest, and the first word again. A compare-and-swap from a first word read earlier locks the line and
//! proves in the same step that nothing has changed since.

use super::prefetch::prefetch;
use crate::store::sync::{AtomicU64, Ordering, fence, spin};
use crate::wide::low_half;

pub(super) const WORDS: usize = 8;
pub(super) const SLOTS: usize = 3;

const HASHES: usize = 2;
const WHOLES: usize = 5;

/// A slot that holds no key.
pub(super) const EMPTY: u64 = 0;

/// The first word of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Head(u64);

const LOCKED: u64 = 1;
const BORN: u64 = 1 << 1;
const REACH_SHIFT: u32 = 2;
const REACH_MASK: u64 = 0b11_1111 << REACH_SHIFT;
const CHANGE: u64 = 1 << 8;
const HALF: u64 = 0xFFFF_FFFF;

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

    /// The same head after one more change, unlocked. The number wraps within its 24 bits.
    const fn changed(self) -> Self {
        let head = (self.0 & HALF).wrapping_add(CHANGE) & HALF & !LOCKED;
        Self(self.0 & !HALF | head)
    }
}

/// A key's state as a line holds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Words {
    pub(super) whole: u64,
    pub(super) fraction: u32,
}

/// A line, wherever it lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a>(pub(super) &'a [AtomicU64; WORDS]);

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
    pub(super) fn prefetch(self) {
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
        let slot = if second { 1 } else { usize::from(third).wrapping_mul(2) };
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

    /// A slot's state, right if the head is [`unchanged`](Self::is_unchanged) afterwards.
    #[inline]
    pub(super) fn words(self, slot: usize) -> Words {
        let whole = self.0[WHOLES.saturating_add(slot)].load(Ordering::Relaxed);
        let pair = self.0[fraction_word(slot)].load(Ordering::Relaxed);
        Words { whole, fraction: low_half(pair >> fraction_shift(slot)) }
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
        Some(Locked(self))
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

/// A line that nobody else changes while this is held.
#[derive(Debug)]
pub(super) struct Locked<'a>(Line<'a>);

impl Locked<'_> {
    pub(super) fn hash(&self, slot: usize) -> u64 {
        self.0.hash(slot)
    }

    pub(super) fn words(&self, slot: usize) -> Words {
        self.0.words(slot)
    }

    /// Sets a slot's state.
    #[inline]
    pub(super) fn set_words(&self, slot: usize, words: Words) {
        self.0.0[WHOLES.saturating_add(slot)].store(words.whole, Ordering::Relaxed);
        let pair = &self.0.0[fraction_word(slot)];
        let shift = fraction_shift(slot);
        let others = pair.load(Ordering::Relaxed) & !(HALF << shift);
        pair.store(others | u64::from(words.fraction) << shift, Ordering::Relaxed);
    }

    /// Gives a slot to a key. Release: see [`Line::hash`].
    pub(super) fn set_hash(&self, slot: usize, hash: u64) {
        self.0.0[HASHES.saturating_add(slot)].store(hash, Ordering::Release);
    }

    pub(super) fn reach_to(&self, reach: u64) {
        self.change_head(|head| {
            Head(head.0 & !REACH_MASK | (head.reach().max(reach) << REACH_SHIFT))
        });
    }

    pub(super) fn set_born(&self) {
        self.change_head(|head| Head(head.0 | BORN));
    }

    fn change_head(&self, change: impl FnOnce(Head) -> Head) {
        let first = &self.0.0[0];
        first.store(change(Head(first.load(Ordering::Relaxed))).0, Ordering::Relaxed);
    }
}

impl Drop for Locked<'_> {
    /// Gives the lock back. Release: who reads the new head sees all that was written.
    #[inline]
    fn drop(&mut self) {
        let first = &self.0.0[0];
        first.store(Head(first.load(Ordering::Relaxed)).changed().0, Ordering::Release);
    }
}

/// The word that a slot's fraction lies in. (Worked out and not looked up by cases: which slot it is, no processor
/// could foresee.)
const fn fraction_word(slot: usize) -> usize {
    slot.saturating_add(1) / 2
}

/// Where in its word a slot's fraction lies.
const fn fraction_shift(slot: usize) -> u32 {
    if slot == 1 { 0 } else { 32 }
}
