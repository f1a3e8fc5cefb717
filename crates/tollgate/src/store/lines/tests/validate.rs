//! Checks a section, for tests.

use crate::algorithm::Algorithm;
use crate::store::lines::Lines;
use crate::store::lines::line::{EMPTY, SLOTS};
use crate::store::lines::section::Place;

impl<A: Algorithm> Lines<A> {
    /// Checks a section, for tests: each key within reach of its home, there once, and counted.
    pub(crate) fn validate(&self, number: usize) {
        let section = self.sections[number].lock();
        let plan = self.ground.plan();
        let level = self.ground.level(number);
        let mut hashes = std::collections::BTreeSet::new();
        for line in 0..plan.homes(level).saturating_add(plan.window) {
            for slot in 0..SLOTS {
                let (hash, _) = self.slot(number, Place { line, slot });
                if hash == EMPTY {
                    continue;
                }
                assert_eq!(self.rules.layout.stripe(hash), number, "a stray key");
                assert!(hashes.insert(hash), "a key twice");
                let home = self.born_home(number, hash);
                let reach = self.ground.line(number, home).head().reach();
                assert!((home..=home.saturating_add(reach)).contains(&line), "out of reach");
            }
        }
        assert_eq!(hashes.len(), section.held, "the count is off");
        assert!(section.held <= self.rules.layout.keys_per_stripe(), "too many keys");
        drop(section);
    }
}
