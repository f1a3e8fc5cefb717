//! Where lines lie: sections of one array that grow line by line, and the homes of hashes in them.

use super::line::{Line, WORDS};
use crate::store::layout::Layout;
use crate::store::sync::{AtomicU64, Ordering};

/// Lines for each 100 keys of the bound: when all are held, 74 slots of 100 are taken. Fewer lines would lengthen
/// searches, more would take more than 36 bytes a key with the overflow cells.
const LINES_PER_100_KEYS: u64 = 45;

/// Base lines of a section: fewer would round the last doubling to too many or too few lines, more would take memory
/// before it is used.
const BASE_LINES_MIN: u64 = 8;

/// How many lines from its home on a key may lie. With so many no key had to leave below 93 % of the bound, at any of
/// nine bounds from 5,000 to 1,000,000 keys.
pub(super) const WINDOW: u64 = 56;

/// The measures of a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// Lines at first.
    pub(super) base_lines: u64,
    /// How often their number may double.
    pub(super) levels: u32,
    /// Lines from its home on in which a key may lie.
    pub(super) window: u64,
}

impl Plan {
    pub(super) fn for_keys(keys: usize) -> Self {
        let keys = u64::try_from(keys).unwrap_or(u64::MAX);
        let lines = keys.saturating_mul(LINES_PER_100_KEYS).div_ceil(100).max(BASE_LINES_MIN);
        let levels = lines.ilog2().saturating_sub(BASE_LINES_MIN.ilog2());
        let base_lines = lines.div_ceil(1 << levels);
        Self { base_lines, levels, window: WINDOW }
    }

    /// The homes that take over a part of a home's keys, up to so many doublings, in the order of their birth.
    pub(super) fn children_of(self, home: u64, level: u32) -> impl Iterator<Item = u64> {
        let first = self.level_of(home);
        (first..level).map(move |level| home.wrapping_add(self.homes(level)))
    }

    /// All lines of a section, with those behind the last home in which its keys may lie.
    pub(super) fn lines(self) -> u64 {
        self.homes(self.levels).saturating_add(self.window)
    }

    /// The lines that are homes after so many doublings.
    pub(super) const fn homes(self, level: u32) -> u64 {
        self.base_lines << level
    }

    /// The home of a hash after so many doublings. One more doubling moves it either nowhere, or behind all homes so
    /// far.
    #[inline]
    pub(super) fn home(self, hash: u64, level: u32) -> u64 {
        self.home_by(hash, bits_of(level))
    }

    /// The home of a hash of which so many low bits count.
    ///
    /// The low 32 bits choose one of the first lines, those above them the child: one product says both. It fits 64
    /// bits, because a section has less than 2^32 lines.
    #[inline]
    fn home_by(self, hash: u64, bits: u64) -> u64 {
        (hash & bits).wrapping_mul(self.base_lines) >> 32
    }

    /// The doubling by which a line becomes a home; none for the lines at first.
    pub(super) fn level_of(self, home: u64) -> u32 {
        let child = home.checked_div(self.base_lines).unwrap_or(0);
        u64::BITS.saturating_sub(child.leading_zeros())
    }

    /// The home whose keys a line takes over a part of when it becomes one.
    pub(super) fn parent_of(self, home: u64) -> u64 {
        let level = self.level_of(home).saturating_sub(1);
        home.saturating_sub(self.homes(level))
    }
}

/// The lines of all sections: one zeroed allocation, of which the system provides what is touched.
#[derive(Debug)]
pub(super) struct Ground {
    words: Box<[AtomicU64]>,
    /// Words before the first line, so that lines are cache lines.
    skipped: usize,
    lines_per_section: u64,
    plan: Plan,
    /// The bits of a hash that count in each section: more, the more often it has doubled. Beside the rest and not in a
    /// box of their own, which every search would have to open first.
    bits: [AtomicU64; Layout::SECTIONS_MAX],
}

impl Ground {
    pub(super) fn new(layout: Layout, plan: Plan) -> Self {
        let sections = layout.stripes();
        let lines_per_section = plan.lines();
        let lines = usize::try_from(lines_per_section).unwrap_or(usize::MAX);
        let words = lines.saturating_mul(sections).saturating_add(1).saturating_mul(WORDS);
        let words = zeroed(words);
        let skipped = words_before_a_line(&words);
        let bits = std::array::from_fn(|_| AtomicU64::new(bits_of(0)));
        Self { words, skipped, lines_per_section, plan, bits }
    }

    pub(super) const fn plan(&self) -> Plan {
        self.plan
    }

    /// The home of a hash in its section as it is now. A caller that reads an old number of doublings misses its key,
    /// and asks again under the section's lock.
    #[inline]
    pub(super) fn home(&self, section: usize, hash: u64) -> u64 {
        self.plan.home_by(hash, self.bits[section].load(Ordering::Relaxed))
    }

    /// How often a section has doubled.
    pub(super) fn level(&self, section: usize) -> u32 {
        self.bits[section]
            .load(Ordering::Relaxed)
            .count_ones()
            .saturating_sub(bits_of(0).count_ones())
    }

    pub(super) fn set_level(&self, section: usize, level: u32) {
        self.bits[section].store(bits_of(level), Ordering::Relaxed);
    }

    /// A line of a section.
    #[inline]
    pub(super) fn line(&self, section: usize, number: u64) -> Line<'_> {
        let section = u64::try_from(section).unwrap_or(u64::MAX);
        let line = section.wrapping_mul(self.lines_per_section).wrapping_add(number);
        let first = usize::try_from(line).unwrap_or(usize::MAX).wrapping_mul(WORDS);
        let words = self.words[first.wrapping_add(self.skipped)..].first_chunk();
        Line(words.expect("a section's lines are within the array"))
    }
}

/// The bits of a hash that count after so many doublings.
const fn bits_of(level: u32) -> u64 {
    !(u64::MAX << u32::BITS.saturating_add(level))
}

/// A `Box` of lines that are aligned by their type would be written to as a whole; a plain one of zeroes is not.
#[cfg(not(loom))]
fn zeroed(words: usize) -> Box<[AtomicU64]> {
    bytemuck::zeroed_slice_box(words)
}

#[cfg(loom)]
fn zeroed(words: usize) -> Box<[AtomicU64]> {
    (0..words).map(|_| AtomicU64::new(0)).collect()
}

/// How many words lie before the first address that begins a cache line.
fn words_before_a_line(words: &[AtomicU64]) -> usize {
    const LINE_BYTES: usize = size_of::<[u64; WORDS]>();
    let address = words.as_ptr().addr();
    address.next_multiple_of(LINE_BYTES).saturating_sub(address).div_euclid(size_of::<u64>())
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cache_lines_and_zero() {
        let layout = Layout::of_sections(10_000);
        let ground = Ground::new(layout, Plan::for_keys(layout.keys_per_stripe()));
        for section in 0..layout.stripes() {
            let line = ground.line(section, ground.plan.lines() - 1);
            assert_eq!(line.0.as_ptr().addr() % 64, 0);
            assert!(line.0.iter().all(|word| word.load(Ordering::Relaxed) == 0));
        }
    }

    #[test]
    fn a_line_count_lies_near_what_the_keys_need() {
        for keys in [100, 2_048, 3_906, 4_000, 39_062, 1_000_000] {
            let plan = Plan::for_keys(keys);
            let lines = plan.homes(plan.levels);
            let wanted = u64::try_from(keys).unwrap() * LINES_PER_100_KEYS / 100;
            assert!(lines >= wanted && lines <= wanted + wanted / 16 + 16, "{lines} for {keys}");
        }
    }

    #[test]
    fn a_doubling_moves_a_home_nowhere_or_to_its_child() {
        let plan = Plan { base_lines: 5, levels: 4, window: 2 };
        for hash in (0..1_000_u64).map(|number| number.wrapping_mul(0x9E37_79B9_7F4A_7C15)) {
            for level in 0..plan.levels {
                let (before, after) = (plan.home(hash, level), plan.home(hash, level + 1));
                assert!(after == before || plan.parent_of(after) == before);
                assert!(plan.level_of(after) <= level + 1 && after < plan.homes(level + 1));
                let is_child = plan.children_of(before, level + 1).any(|child| child == after);
                assert!(after == before || is_child);
            }
        }
    }
}
