//! A time in four-byte parts, so that a state of 12 bytes takes 12 and not 16 in a table of millions.

use crate::clock::Time;

/// A [`Time`] that needs no more than four-byte alignment. Reading it is one eight-byte load.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct PackedTime([u8; 8], [u32; 0]);

impl PackedTime {
    pub(crate) const fn new(time: Time) -> Self {
        Self(time.as_nanos().to_ne_bytes(), [])
    }

    pub(crate) const fn get(self) -> Time {
        Time::from_nanos(u64::from_ne_bytes(self.0))
    }
}
