//! Any bytes as calls of both stores, with every answer held to the definition of the quota: one driver, which a fuzzer
//! and the tests run.
//!
//! As long as no key had to leave its table, each answer is exactly the definition's, so both stores agree. After that
//! a bucket's may only be stricter. The whole table is checked after every few steps.

#![expect(clippy::arithmetic_side_effects, reason = "small numbers in tests")]

mod exact;
mod watched;

use arbitrary::{Result, Unstructured};

use self::exact::{Exact, ExactBucket, ExactWindow};
use self::watched::{Call, Holding, Shape, Watched};
use crate::config::{Bounds, OnFull};

/// How many steps lie between two checks of the whole table.
const STEPS_PER_CHECK: u32 = 8;

/// The most keys that come at once.
const FLOOD_MAX: u64 = 96;

/// Runs what the bytes say.
///
/// # Panics
/// When a store answers what it should not, or its table is not as it should be.
pub(crate) fn drive(bytes: &[u8]) {
    let mut choices = Unstructured::new(bytes);
    let is_bucket = choices.arbitrary().unwrap_or_default();
    // Bytes that end within a step end the run.
    let _ended = if is_bucket {
        Driver::<ExactBucket>::run(choices)
    } else {
        Driver::<ExactWindow>::run(choices)
    };
}

/// The two stores, and the time.
struct Driver<'a, E: Exact> {
    choices: Unstructured<'a>,
    stores: [Watched<E>; 2],
    quota: E,
    now: u64,
    /// Keys that have come in floods.
    strangers: u64,
}

impl<'a, E: Exact> Driver<'a, E> {
    fn run(mut choices: Unstructured<'a>) -> Result<()> {
        let quota = E::choose(&mut choices)?;
        let bounds = choose_bounds(&mut choices)?;
        let lines = choose_lines(&mut choices)?;
        let stores = [lines, Shape::Sharded].map(|shape| Watched::new(shape, quota, bounds));
        let mut driver = Self { choices, stores, quota, now: 0, strangers: 0 };
        for step in 1_u32.. {
            if driver.choices.is_empty() {
                break;
            }
            driver.step()?;
            if step.is_multiple_of(STEPS_PER_CHECK) {
                driver.validate();
            }
        }
        driver.validate();
        Ok(())
    }

    fn validate(&self) {
        self.stores.iter().for_each(Watched::validate);
    }

    fn step(&mut self) -> Result<()> {
        self.pass_time()?;
        match self.choices.int_in_range(0..=15_u8)? {
            0..=6 => {
                let call = self.call()?;
                self.on_both(|store| store.decide(call));
            }
            7 => {
                let calls = [self.call()?, self.call()?, self.call()?];
                self.on_both(|store| calls.iter().for_each(|call| store.prefetch(*call)));
                self.on_both(|store| calls.iter().for_each(|call| store.decide(*call)));
            }
            8 => {
                let call = self.call()?;
                self.on_both(|store| store.look(call));
            }
            9 => {
                let call = self.call()?;
                self.on_both(|store| store.reset(call));
            }
            10 | 11 => {
                let (call, holding) = (self.call()?, self.holding()?);
                self.on_both(|store| store.hold(call, holding));
            }
            12 => {
                let (which, now) = (self.choices.arbitrary::<u8>()?, self.now);
                self.on_both(|store| store.refund(which.into(), now));
            }
            13 => self.flood()?,
            _ => self.reload()?,
        }
        Ok(())
    }

    fn on_both(&mut self, work: impl FnMut(&mut Watched<E>)) {
        self.stores.iter_mut().for_each(work);
    }

    /// The clock stands still, goes on, steps back, or leaps to where time ends.
    fn pass_time(&mut self) -> Result<()> {
        const MILLISECOND_NS: u64 = 1_000_000;
        let pace = self.quota.pace_ns();
        let passed = match self.choices.arbitrary::<u8>()? {
            0..=127 => 0,
            steps @ 128..=159 => pace / 8 * (u64::from(steps) - 127),
            160..=175 => 1,
            176..=191 => MILLISECOND_NS,
            192..=207 => MILLISECOND_NS - 1,
            208..=223 => pace.saturating_mul(self.quota.limit().into()),
            step @ 224..=254 => {
                let back = if step < 240 { pace } else { MILLISECOND_NS / 3 };
                self.now = self.now.saturating_sub(back);
                0
            }
            255 => u64::MAX / 2,
        };
        self.now = self.now.saturating_add(passed);
        Ok(())
    }

    fn call(&mut self) -> Result<Call> {
        let hash = hash_of(self.choices.arbitrary()?);
        let limit = u64::from(self.quota.limit());
        let cost = *self.choices.choose(&[1, 1, 1, 1, 2, 0, limit, limit + 1])?;
        let handle = self.choices.arbitrary::<u8>()?.into();
        Ok(Call { hash, now: self.now, cost, handle })
    }

    fn holding(&mut self) -> Result<Holding> {
        Ok(*self.choices.choose(&[
            Holding::Decide,
            Holding::JudgeAndCharge,
            Holding::JudgeAndRestate,
            Holding::DecideAndForget,
        ])?)
    }

    /// Many keys that never came before.
    fn flood(&mut self) -> Result<()> {
        for _ in 0..self.choices.int_in_range(1..=FLOOD_MAX)? {
            self.strangers += 1;
            // Scattered, and unlike all keys that come by their number.
            let hash = self.strangers.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1 << 29;
            let call = Call { hash, now: self.now, cost: 1, handle: usize::MAX };
            self.on_both(|store| store.decide(call));
        }
        Ok(())
    }

    fn reload(&mut self) -> Result<()> {
        if self.choices.arbitrary()? {
            self.quota = E::choose(&mut self.choices)?;
        }
        let bounds = choose_bounds(&mut self.choices)?;
        let lines = choose_lines(&mut self.choices)?;
        let other = if self.choices.ratio(1, 4)? { lines } else { Shape::Sharded };
        let (quota, now) = (self.quota, self.now);
        let [first, second] = &mut self.stores;
        first.reload(lines, quota, bounds, now);
        second.reload(other, quota, bounds, now);
        Ok(())
    }
}

fn choose_bounds(choices: &mut Unstructured<'_>) -> Result<Bounds> {
    let max_keys = *choices.choose(&[1, 2, 3, 7, 20, 64, 300, 4_096])?;
    let on_full =
        *choices.choose(&[OnFull::Overflow, OnFull::Overflow, OnFull::Deny, OnFull::Admit])?;
    Ok(Bounds { max_keys, on_full, ..Bounds::default() })
}

fn choose_lines(choices: &mut Unstructured<'_>) -> Result<Shape> {
    let (levels, window) = (choices.int_in_range(0..=3)?, choices.int_in_range(1..=4)?);
    Ok(match choices.int_in_range(0..=4)? {
        0 => Shape::Lines,
        base_lines => Shape::Planned(base_lines, levels, window),
    })
}

/// One of 256 hashes, few of which have a home, a cell or a stripe of their own. The first stands for an empty slot.
fn hash_of(number: u8) -> u64 {
    let bits = |from: u32, mask: u64| u64::from(number) >> from & mask;
    let (stripe, child, base, twin) = (bits(0, 1), bits(1, 3), bits(3, 3), bits(5, 7));
    if number == 0 { 0 } else { stripe << 63 | child << 32 | base << 30 | twin << 1 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

        #[test]
        fn any_calls_are_answered_as_defined_and_leave_the_table_whole(
            bytes in proptest::collection::vec(any::<u8>(), 0..600),
        ) {
            drive(&bytes);
        }
    }
}
