//! The line store: small states, three to a cache line, found without a lock.
//!
//! # A decision
//! A key's hash gives its home line. The search reads a line's first word, its three hashes and, where one is the
//! key's, the state; the algorithm judges what was read. A denial is answered if the first word has not changed
//! since: it writes nothing. A charge takes the line's lock by a compare-and-swap from that same first word, which
//! proves that the state judged is still the key's, writes the new one and gives the lock back. So an ordinary
//! decision is one line and one read-modify-write.
//!
//! # Everything else
//! Whatever changes where keys lie (a new key, one that leaves, growth, a move to other parameters) holds the mutex
//! of the key's section, and the lock of each line it writes. A search that does not find its key is repeated under
//! that mutex. So:
//!
//! 1. Only a holder of the section's mutex writes hashes, so a key lies in at most one slot.
//! 2. A key lies at most its home's reach behind its home; its home is the last that was born of the homes it has had.
//! 3. A state changes only under its line's lock, and its line's first word with it.
//!
//! # Growth
//! A section begins with some base lines and doubles its homes when seven of ten slots are taken: a number changes, and
//! no key moves. A new home takes its keys over from its parent when somebody first asks for one of them there under
//! the mutex: nobody waits for more than a few lines' worth.
//!
//! A newcomer takes the nearest slot from its home on that is empty or whose key is whole. Keys never move otherwise.
//! (Two places for each key, as in cuckoo tables, fill a table better, and need chains of moves under the eyes of
//! readers; here three slots of four are enough, and the second line of a search is the first one's neighbour.)

mod admission;
mod ground;
mod growth;
mod held;
mod line;
mod moving;
mod prefetch;
mod section;
#[cfg(any(test, fuzzing))]
mod tests;

use std::sync::Arc;

use self::ground::{Ground, Plan};
use self::line::{Line, Words};
use self::section::Section;
use super::counts::Counts;
use super::layout::Layout;
use super::rules::Rules;
use super::sync::Mutex;
use super::{ResetReport, Shared, Store};
use crate::algorithm::{Algorithm, Packing};
use crate::clock::Time;
use crate::decision::{Decision, RateLimitResult, Reason};

/// States that fit 12 bytes, in lines.
#[derive(Debug)]
pub(crate) struct Lines<A: Algorithm> {
    rules: Rules<A>,
    shared: Arc<Shared>,
    ground: Ground,
    sections: Box<[Mutex<Section<A>>]>,
}

/// Where a search found its key, or that it did not.
enum Search<T> {
    Found(T),
    Missed,
}

impl<A: Algorithm> Lines<A> {
    /// A constant, so that packing is a few instructions on the spot and no call.
    const PACKING: Packing<A::State> = match A::PACKING {
        Some(packing) => packing,
        None => Packing::UNUSED,
    };

    pub(crate) fn new(rules: Rules<A>, shared: Arc<Shared>) -> Self {
        let plan = Plan::for_keys(rules.layout.keys_per_stripe());
        Self::with_plan(rules, shared, plan)
    }

    fn with_plan(rules: Rules<A>, shared: Arc<Shared>, plan: Plan) -> Self {
        let sections = (0..rules.layout.stripes()).map(|_| Mutex::new(Section::default()));
        let sections = sections.collect();
        let ground = Ground::new(rules.layout, plan);
        Self { rules, shared, ground, sections }
    }

    /// The most bytes that a section can take, without its cells.
    pub(crate) fn bytes_max(layout: Layout) -> usize {
        let lines = Plan::for_keys(layout.keys_per_stripe()).lines();
        let lines = usize::try_from(lines).unwrap_or(usize::MAX);
        lines.saturating_mul(line::WORDS.saturating_mul(size_of::<u64>()))
    }

    pub(crate) const fn rules(&self) -> &Rules<A> {
        &self.rules
    }

    /// Judges a call of a key that lies in this line, its home, as most do, unless somebody else writes to the line
    /// at the same time.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a result that is copied stalls")]
    pub(in crate::store) fn decide_at_home(
        &self,
        home: Line<'_>,
        (hash, now, cost): (u64, Time, u64),
    ) -> Option<Decision> {
        let hash = not_empty(hash);
        let now = self.shared.mark.advance(now);
        let cost = self.rules.within_limit(cost)?;
        let decision = self.try_in(home, (hash, now, cost))?;
        self.shared.tally.count(decision.allowed());
        Some(decision)
    }

    /// Judges a call and charges it where it is allowed, as one step.
    pub(crate) fn decide(&self, hash: u64, now: Time, cost: u64) -> RateLimitResult {
        let hash = not_empty(hash);
        let now = self.shared.mark.advance(now);
        let Some(within) = self.rules.within_limit(cost) else {
            return self.excessive(hash, now, cost);
        };
        match self.decide_present(hash, now, within) {
            Search::Found(decision) => {
                self.shared.tally.count(decision.allowed());
                RateLimitResult::new(decision, self.rules.algorithm.limit())
            }
            Search::Missed => self.decide_missed(hash, now, within),
        }
    }

    /// Judges a call without charging it.
    pub(crate) fn look(&self, hash: u64, now: Time, cost: u64) -> RateLimitResult {
        let hash = not_empty(hash);
        let now = self.shared.mark.judge(now);
        let Some(within) = self.rules.within_limit(cost) else {
            return self.look_excessive(hash, now, cost);
        };
        let decision = match self.read(hash) {
            Search::Found(words) => {
                let state = Self::unpack(words);
                let decision = self.rules.algorithm.decide(&state, now, within);
                if decision.allowed() {
                    self.rules.algorithm.decide(&state, now, 0)
                } else {
                    decision
                }
            }
            Search::Missed => match self.look_missed(hash, now, within) {
                Ok(decision) => decision,
                Err(moved) => return moved.look(hash, now, cost),
            },
        };
        RateLimitResult::new(decision, self.rules.algorithm.limit())
    }

    /// Judges a call of a key that is found without a lock.
    fn decide_present(&self, hash: u64, now: Time, cost: u32) -> Search<Decision> {
        let (section, home) = self.home(hash);
        let reach = self.ground.line(section, home).head().reach();
        for number in home..=home.wrapping_add(reach) {
            let line = self.ground.line(section, number);
            while line.holds(hash) {
                if let Some(decision) = self.try_in(line, (hash, now, cost)) {
                    return Search::Found(decision);
                }
                // Somebody else writes to the line: wait for it.
                let _free = line.head();
            }
        }
        Search::Missed
    }

    /// Asks for the lines in which a key lies, most likely: its home and the next.
    #[inline]
    pub(crate) fn prefetch(&self, hash: u64) {
        let (section, home) = self.home(not_empty(hash));
        self.ground.line(section, home).prefetch();
        self.ground.line(section, home.wrapping_add(1)).prefetch();
    }

    /// The line from which on a key lies.
    #[inline]
    pub(in crate::store) fn home_line(&self, hash: u64) -> Line<'_> {
        let (section, home) = self.home(not_empty(hash));
        self.ground.line(section, home)
    }

    /// A key's section, and its home there.
    #[inline]
    fn home(&self, hash: u64) -> (usize, u64) {
        let section = self.rules.layout.stripe(hash);
        (section, self.ground.home(section, hash))
    }

    /// Judges a call, and charges it where it is allowed, if its key is in this line and nobody else writes to the
    /// line at the same time.
    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a result that is copied stalls")]
    fn try_in(&self, line: Line<'_>, (hash, now, cost): (u64, Time, u32)) -> Option<Decision> {
        let seen = line.glance(hash)?;
        let before = seen.words();
        let mut state = Self::unpack(before);
        let decision = self.rules.algorithm.decide_and_charge(&mut state, now, cost);
        if decision.allowed() && cost > 0 {
            seen.lock()?.set_words(seen.slot(), before, Self::pack(&state));
        } else if !seen.holds() {
            return None;
        }
        Some(decision)
    }

    /// A key's state as it is at some moment of the call.
    fn read(&self, hash: u64) -> Search<Words> {
        let (section, home) = self.home(hash);
        let reach = self.ground.line(section, home).head().reach();
        for number in home..=home.wrapping_add(reach) {
            let line = self.ground.line(section, number);
            loop {
                let head = line.head();
                let Some(slot) = line.slot_of(hash) else { break };
                let words = line.words(head, slot);
                if line.is_unchanged(head) {
                    return Search::Found(words);
                }
            }
        }
        Search::Missed
    }

    #[cold]
    #[inline(never)]
    fn excessive(&self, hash: u64, now: Time, cost: u64) -> RateLimitResult {
        if let Some(next) = self.moved(self.rules.layout.stripe(hash)) {
            return next.decide_anywhere(hash, now, cost);
        }
        self.shared.tally.count(false);
        self.look_excessive(hash, now, cost)
    }

    /// The answer to a cost that can never be met, by the parameters in force.
    fn look_excessive(&self, hash: u64, now: Time, cost: u64) -> RateLimitResult {
        match self.moved(self.rules.layout.stripe(hash)) {
            Some(next) => next.look(hash, now, cost),
            None => self.look(hash, now, 0).denied(Reason::CostExceedsLimit),
        }
    }

    #[inline]
    fn pack(state: &A::State) -> Words {
        let (low, high) = (Self::PACKING.pack)(state);
        Words { low, high }
    }

    #[inline]
    fn unpack(words: Words) -> A::State {
        (Self::PACKING.unpack)(words.low, words.high)
    }

    /// Forgets a key's own state.
    pub(crate) fn reset(&self, hash: u64, now: Time) -> ResetReport {
        self.shared.mark.advance(now);
        self.reset_in_section(not_empty(hash), now)
    }

    /// What a section has counted, or where it has moved.
    pub(crate) fn counts(&self, section: usize) -> Result<Counts, Arc<Store<A>>> {
        self.sections[section].lock().counts()
    }

    /// Where a section has moved, if it has.
    pub(crate) fn moved(&self, section: usize) -> Option<Arc<Store<A>>> {
        self.counts(section).err()
    }
}

/// The hash that stands for an empty slot means its neighbour: one more pair in 2^64 that share a quota.
#[inline]
const fn not_empty(hash: u64) -> u64 {
    if hash == line::EMPTY { 1 } else { hash }
}
