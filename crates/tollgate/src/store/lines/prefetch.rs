//! Asking for a cache line ahead of its use: the one place of this crate with `unsafe` code.
//!
//! Measured against a plain read whose value nobody waits for: batches of 32 among a million keys take 0.7 of its time,
//! because a read holds the instructions behind it back until it is done, and a prefetch does not. Single calls gain
//! as much where lines miss the cache, since reading a time stamp counter waits for reads, and not for prefetches
//! (`docs/decisions/0011-line-store.md`, `0018-what-a-decision-waits-for.md`).

use super::line::WORDS;
use crate::store::sync::AtomicU64;

/// Asks for a line, where the processor can be asked; nothing else changes.
#[inline]
#[cfg(all(target_arch = "x86_64", not(loom), not(miri)))]
#[expect(unsafe_code, reason = "the intrinsic takes a pointer")]
pub(super) fn prefetch(line: &[AtomicU64; WORDS]) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};

    // SAFETY: a prefetch reads nothing that a program can see, and no address makes it fail; this one is a live line's.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) }
}

/// Other processors have no stable way to be asked; their batches wait for each line in turn.
#[cfg(not(all(target_arch = "x86_64", not(loom), not(miri))))]
pub(super) fn prefetch(_line: &[AtomicU64; WORDS]) {}
