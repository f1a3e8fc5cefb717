//! How a bound on keys becomes stripes and overflow cells.

/// Below this many keys a stripe more would make stripes unequal: the fullest would evict long before the rest.
const KEYS_PER_STRIPE_MIN: u64 = 2_048;

/// A stripe's lock is taken for each decision: the more there are, the less threads meet.
const STRIPE_BITS_MAX: u32 = 8;

/// A section's is not. Few sections keep the first lines of all of them, which are used first, in few pages.
const SECTION_BITS_MAX: u32 = 6;

/// Where keys and cells lie. Stripes and cells are numbered by the same leading bits of a hash, so a cell lies
/// beside its keys, and a coarser layout's cell covers whole cells of a finer one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    stripe_bits: u32,
    cell_bits: u32,
    keys_per_stripe: u64,
}

impl Layout {
    /// The most sections there are.
    pub(crate) const SECTIONS_MAX: usize = 1 << SECTION_BITS_MAX;

    /// For the sharded store.
    pub(crate) fn of_stripes(max_keys: u64) -> Self {
        Self::for_keys(max_keys, STRIPE_BITS_MAX)
    }

    /// For the line store, which calls its stripes sections.
    pub(crate) fn of_sections(max_keys: u64) -> Self {
        Self::for_keys(max_keys, SECTION_BITS_MAX)
    }

    fn for_keys(max_keys: u64, stripe_bits_max: u32) -> Self {
        let stripe_bits = (max_keys / KEYS_PER_STRIPE_MIN).max(1).ilog2().min(stripe_bits_max);
        let cells = max_keys.div_ceil(4).next_power_of_two();
        let cell_bits = cells.ilog2().max(stripe_bits);
        Self { stripe_bits, cell_bits, keys_per_stripe: (max_keys >> stripe_bits).max(1) }
    }

    pub(crate) const fn stripes(self) -> usize {
        1 << self.stripe_bits
    }

    pub(crate) const fn cells_per_stripe(self) -> usize {
        1 << self.cell_bits.saturating_sub(self.stripe_bits)
    }

    /// The most keys a stripe holds.
    pub(crate) fn keys_per_stripe(self) -> usize {
        usize::try_from(self.keys_per_stripe).unwrap_or(usize::MAX)
    }

    #[inline]
    pub(crate) fn stripe(self, hash: u64) -> usize {
        leading_bits(hash, self.stripe_bits)
    }

    /// The cell of a hash within its stripe.
    pub(crate) fn cell(self, hash: u64) -> usize {
        leading_bits(hash, self.cell_bits) & self.cells_per_stripe().saturating_sub(1)
    }

    /// A hash that lies in this cell of this stripe.
    pub(crate) fn hash_in(self, stripe: usize, cell: usize) -> u64 {
        let global = stripe.saturating_mul(self.cells_per_stripe()).saturating_add(cell);
        let global = u64::try_from(global).unwrap_or(u64::MAX);
        global.unbounded_shl(u64::BITS.saturating_sub(self.cell_bits))
    }

    /// Hashes that lie in all the cells of this layout that share keys with a cell of another.
    pub(crate) fn hashes_of_cell(
        self,
        other: Self,
        stripe: usize,
        cell: usize,
    ) -> impl Iterator<Item = u64> {
        let first = other.hash_in(stripe, cell);
        let children = 1_u64 << self.cell_bits.saturating_sub(other.cell_bits);
        let step = 1_u64.unbounded_shl(u64::BITS.saturating_sub(self.cell_bits));
        (0..children).map(move |child| first.wrapping_add(child.wrapping_mul(step)))
    }
}

#[inline]
fn leading_bits(hash: u64, bits: u32) -> usize {
    // In two steps, since a shift by all 64 would be none. There are always fewer bits than that.
    let shifted = (hash >> 1).wrapping_shr(63_u32.wrapping_sub(bits));
    usize::try_from(shifted).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: [u64; 9] = [1, 2, 5, 100, 2_048, 4_095, 4_096, 1_000_000, 10_000_000];

    fn both(max_keys: u64) -> [(u64, Layout); 2] {
        [Layout::of_stripes(max_keys), Layout::of_sections(max_keys)]
            .map(|layout| (max_keys, layout))
    }

    #[test]
    fn the_bound_is_kept_and_cells_are_a_quarter_of_it_or_a_little_more() {
        for (max_keys, layout) in SIZES.into_iter().flat_map(both) {
            let keys = u64::try_from(layout.keys_per_stripe() * layout.stripes()).unwrap();
            let cells = u64::try_from(layout.cells_per_stripe() * layout.stripes()).unwrap();
            assert!(keys <= max_keys && keys * 100 >= max_keys * 99, "{max_keys}");
            assert_eq!(cells, max_keys.div_ceil(4).next_power_of_two(), "{max_keys}");
        }
    }

    #[test]
    fn a_hash_made_for_a_cell_lies_in_it() {
        for (_, layout) in SIZES.into_iter().flat_map(both) {
            for stripe in [0, layout.stripes() / 2, layout.stripes() - 1] {
                for cell in [0, layout.cells_per_stripe() / 2, layout.cells_per_stripe() - 1] {
                    let hash = layout.hash_in(stripe, cell);
                    assert_eq!((layout.stripe(hash), layout.cell(hash)), (stripe, cell));
                }
            }
        }
    }

    #[test]
    fn a_key_of_a_cell_lies_in_one_of_the_cells_it_becomes() {
        let layouts: Vec<_> = SIZES.into_iter().flat_map(both).map(|(_, layout)| layout).collect();
        for (from, to) in layouts.iter().flat_map(|from| layouts.iter().map(|to| (*from, *to))) {
            for hash in [0, 1 << 40, u64::MAX, 0x0123_4567_89AB_CDEF, 0xFEDC_BA98_7654_3210] {
                let place = |hash| (to.stripe(hash), to.cell(hash));
                let mut heirs = to.hashes_of_cell(from, from.stripe(hash), from.cell(hash));
                assert!(heirs.any(|heir| place(heir) == place(hash)), "{hash:x} {from:?} {to:?}");
            }
        }
    }
}
