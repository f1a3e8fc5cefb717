//! Times in parts of a nanosecond: 96 bits, so that a state that is one takes 12 bytes and not 16 in a table of
//! millions.

use crate::wide::{halves, low_half};

/// A time, or a length of time, in parts of a nanosecond. A time has 64 bits and a nanosecond is cut into fewer than
/// 2^32 parts, so none has more than 96.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(Rust, packed(4))]
pub(super) struct Parts {
    low: u64,
    high: u32,
}

impl Parts {
    #[inline]
    pub(super) const fn new(parts: u128) -> Self {
        let (high, low) = halves(parts);
        Self { low, high: low_half(high) }
    }

    #[inline]
    pub(super) fn get(self) -> u128 {
        u128::from(self.high) << u64::BITS | u128::from(self.low)
    }

    #[inline]
    pub(super) const fn from_words(low: u64, high: u32) -> Self {
        Self { low, high }
    }

    #[inline]
    pub(super) const fn words(self) -> (u64, u32) {
        (self.low, self.high)
    }
}
