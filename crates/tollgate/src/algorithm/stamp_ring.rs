//! The ring of stamps that a sliding window log keeps for a key: compact, and allocated in step with use.

/// Entries a ring starts with.
const FIRST_CAPACITY: usize = 4;

/// The words a stamp takes in the ring.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Width {
    /// The low 32 bits, told apart by their distance to the newest stamp.
    Narrow,
    /// All 64.
    Wide,
}

/// A time in the log's ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stamp(pub(super) u64);

/// What a [`SlidingWindowLog`](super::SlidingWindowLog) keeps for a key: a ring of stamps, allocated in step with use.
#[derive(Clone, Debug, Default)]
pub struct SlidingWindowLogState {
    pub(super) newest: Stamp,
    /// The ring: each entry is its stamp (one word, or two in a wide log) and, in a costed log, the units before it.
    words: Box<[u32]>,
    head: u32,
    entries: u32,
    /// All units ever logged, wrapping: what the units before an entry are counted against.
    units: u32,
    /// Whether a call had another cost than 1.
    pub(super) costed: bool,
}

impl SlidingWindowLogState {
    pub(super) const fn len(&self) -> usize {
        usize_of(self.entries)
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.entries == 0
    }

    fn stride(&self, width: Width) -> usize {
        let stamp: usize = match width {
            Width::Narrow => 1,
            Width::Wide => 2,
        };
        stamp.saturating_add(usize::from(self.costed))
    }

    fn capacity(&self, width: Width) -> usize {
        self.words.len().checked_div(self.stride(width)).unwrap_or(0)
    }

    /// Where an entry's words begin.
    fn position(&self, index: usize, width: Width) -> usize {
        let slot = usize_of(self.head).saturating_add(index);
        let capacity = self.capacity(width);
        let slot = if slot >= capacity { slot.saturating_sub(capacity) } else { slot };
        slot.saturating_mul(self.stride(width))
    }

    pub(super) fn stamp(&self, index: usize, width: Width) -> Stamp {
        let at = self.position(index, width);
        match width {
            Width::Narrow => {
                let age = low_word(self.newest.0).wrapping_sub(self.words[at]);
                Stamp(self.newest.0.saturating_sub(u64::from(age)))
            }
            Width::Wide => {
                let high = u64::from(self.words[at.saturating_add(1)]);
                Stamp(high << 32 | u64::from(self.words[at]))
            }
        }
    }

    /// The running total before an entry; the total of all for the index past the last.
    pub(super) fn units_before(&self, index: usize, width: Width) -> u32 {
        match (self.costed, index < self.len()) {
            (false, _) => u32::try_from(index).unwrap_or(u32::MAX),
            (true, true) => {
                let cost_word = self.stride(width).saturating_sub(1);
                self.words[self.position(index, width).saturating_add(cost_word)]
            }
            (true, false) => self.units,
        }
    }

    pub(super) fn units_from(&self, index: usize, width: Width) -> u32 {
        self.units_before(self.len(), width).wrapping_sub(self.units_before(index, width))
    }

    /// Entries from the oldest to the newest: a stamp and its cost.
    pub(super) fn entries(
        &self,
        from: usize,
        width: Width,
    ) -> impl DoubleEndedIterator<Item = (Stamp, u32)> + '_ {
        (from..self.len()).map(move |index| {
            let before = self.units_before(index, width);
            let through = self.units_before(index.saturating_add(1), width);
            (self.stamp(index, width), through.wrapping_sub(before))
        })
    }

    pub(super) fn drop_oldest(&mut self, count: usize, width: Width) {
        let capacity = self.capacity(width);
        let head = usize_of(self.head).saturating_add(count);
        self.head = word_of(if head >= capacity { head.saturating_sub(capacity) } else { head });
        self.entries = self.entries.saturating_sub(word_of(count));
        if self.is_empty() {
            (self.head, self.units, self.costed) = (0, 0, false);
        }
    }

    /// Appends an entry; `most` is how many entries the ring may ever need.
    pub(super) fn push(&mut self, stamp: Stamp, cost: u32, width: Width, most: usize) {
        let costed = self.costed || cost != 1;
        let full = self.len() == self.capacity(width);
        if full || costed != self.costed {
            self.lay_out(costed, width, most);
        }
        self.newest = self.newest.max(stamp);
        self.write(self.newest, cost, width);
    }

    /// Moves the entries into a ring with room for one more, twice as large as they need.
    fn lay_out(&mut self, costed: bool, width: Width, most: usize) {
        let needed = self.len().saturating_add(1);
        let roomy = self.len().saturating_mul(2).max(FIRST_CAPACITY);
        let capacity = roomy.min(most).max(needed);
        let mut next = Self { newest: self.newest, costed, ..Self::default() };
        next.words = vec![0; capacity.saturating_mul(next.stride(width))].into_boxed_slice();
        for (stamp, cost) in self.entries(0, width) {
            next.write(stamp, cost, width);
        }
        *self = next;
    }

    /// Writes an entry behind the last, where there is room.
    fn write(&mut self, stamp: Stamp, cost: u32, width: Width) {
        let at = self.position(self.len(), width);
        let words = self.words.iter_mut().skip(at);
        let before = self.costed.then_some(self.units);
        let entry = match width {
            Width::Narrow => [Some(low_word(stamp.0)), None, before],
            Width::Wide => [Some(low_word(stamp.0)), Some(low_word(stamp.0 >> 32)), before],
        };
        for (word, value) in words.zip(entry.into_iter().flatten()) {
            *word = value;
        }
        self.units = self.units.wrapping_add(cost);
        self.entries = self.entries.saturating_add(1);
    }

    /// A log of these entries, from the oldest to the newest.
    pub(super) fn of_entries(
        entries: impl Iterator<Item = (Stamp, u32)>,
        width: Width,
        most: usize,
    ) -> Self {
        let mut log = Self::default();
        for (stamp, cost) in entries {
            log.push(stamp, cost, width, most);
        }
        log
    }
}

#[expect(clippy::as_conversions, reason = "the low 32 bits are what is wanted")]
#[expect(clippy::cast_possible_truncation, reason = "the low 32 bits are what is wanted")]
const fn low_word(ticks: u64) -> u32 {
    ticks as u32
}

#[expect(clippy::as_conversions, reason = "a usize is 32 bits or more wherever this is built")]
pub(super) const fn usize_of(count: u32) -> usize {
    count as usize
}

/// A log holds at most a million entries.
fn word_of(count: usize) -> u32 {
    u32::try_from(count).expect("a log's entries are numbered in 32 bits")
}
