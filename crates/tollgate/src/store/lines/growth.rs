//! Lines that become homes, and the keys that move there. All under the section's mutex.

use super::Lines;
use super::line::{EMPTY, SLOTS};
use super::section::{Place, Section};
use crate::algorithm::Algorithm;

impl<A: Algorithm> Lines<A> {
    /// Doubles a section's homes where most of its slots are taken; says whether it did.
    pub(super) fn grow_where_crowded(
        &self,
        section: &mut Section<A>,
        number: usize,
        hash: u64,
    ) -> bool {
        let plan = self.ground.plan();
        let level = self.ground.level(number);
        let slots = plan.homes(level).saturating_mul(3);
        let held = u64::try_from(section.held).unwrap_or(u64::MAX);
        let crowded = level < plan.levels && held.saturating_mul(10) >= slots.saturating_mul(7);
        if crowded {
            self.ground.set_level(number, level.saturating_add(1));
            self.bear_home(section, number, hash);
        }
        crowded
    }

    /// Makes room where all slots near a home are taken though the section may hold more: by births, or by more
    /// homes. Says whether it did any of it.
    pub(super) fn relieve(&self, section: &mut Section<A>, number: usize, hash: u64) -> bool {
        let plan = self.ground.plan();
        let level = self.ground.level(number);
        if self.bear_near(section, number, plan.home(hash, level)) {
            return true;
        }
        let may_grow = level < plan.levels;
        if may_grow {
            self.ground.set_level(number, level.saturating_add(1));
            self.bear_home(section, number, hash);
        }
        may_grow
    }

    /// Has the keys near a home move out whose own homes were not born yet; says whether there were such homes.
    fn bear_near(&self, section: &mut Section<A>, number: usize, home: u64) -> bool {
        let plan = self.ground.plan();
        let level = self.ground.level(number);
        let near = home.saturating_sub(plan.window)..home.saturating_add(plan.window);
        let unborn: Vec<u64> = near
            .filter(|line| *line < plan.homes(level) && self.is_home(number, *line))
            .flat_map(|line| plan.children_of(line, level))
            .filter(|child| !self.is_home(number, *child))
            .collect();
        for child in &unborn {
            self.bear(section, number, *child);
        }
        !unborn.is_empty()
    }

    /// Whether a line has the keys whose home it is.
    pub(super) fn is_home(&self, number: usize, line: u64) -> bool {
        self.ground.plan().level_of(line) == 0 || self.ground.line(number, line).head().is_born()
    }

    /// Makes sure that the home of a hash has its keys, by having them born from parent to child.
    pub(super) fn bear_home(&self, section: &mut Section<A>, number: usize, hash: u64) {
        let plan = self.ground.plan();
        for level in 1..=self.ground.level(number) {
            let home = plan.home(hash, level);
            if plan.level_of(home) == level && !self.is_home(number, home) {
                self.bear(section, number, home);
            }
        }
    }

    /// Takes over from its parent the keys whose home a line has become, unless it did already.
    fn bear(&self, section: &mut Section<A>, number: usize, home: u64) {
        if self.is_home(number, home) {
            return;
        }
        // First, so that a birth which needs others to make room does not come back to this one.
        self.ground.line(number, home).lock().set_born();
        let plan = self.ground.plan();
        let level = plan.level_of(home);
        let parent = plan.parent_of(home);
        let reach = self.ground.line(number, parent).head().reach();
        for line in parent..=parent.saturating_add(reach) {
            for slot in 0..SLOTS {
                let place = Place { line, slot };
                let (hash, _) = self.slot(number, place);
                if hash != EMPTY && plan.home(hash, level) == home {
                    self.move_home(section, number, hash, place);
                }
            }
        }
    }

    /// Moves a key to its home, or as near as there is room. The home is looked up each time: a birth that made room
    /// may have given the key another.
    fn move_home(&self, section: &mut Section<A>, number: usize, hash: u64, from: Place) {
        let home = self.born_home(number, hash);
        let window = self.ground.plan().window;
        if (home..home.saturating_add(window)).contains(&from.line) {
            return self.reach_from(number, home, from.line);
        }
        let to = self.empty_near(number, home);
        if to.is_none() && self.bear_near(section, number, home) {
            return self.move_home(section, number, hash, from);
        }
        let source = self.line(number, from).lock();
        let words = source.words(from.slot);
        if let Some(to) = to {
            let mut target = self.line(number, to).lock();
            target.set_hash(to.slot, hash);
            let before = target.words(to.slot);
            target.set_words(to.slot, before, words);
            drop(target);
            self.reach_from(number, home, to.line);
        } else {
            let (state, now) = (Self::unpack(words), self.shared.mark.get());
            let evicted = u64::from(self.rules.algorithm.debt(&state, now) > 0);
            section.held = section.held.saturating_sub(1);
            section.counts.evictions = section.counts.evictions.saturating_add(evicted);
            section.cells.join(&self.rules, hash, &state, now);
        }
        source.set_hash(from.slot, EMPTY);
    }

    /// The last of the homes of a hash that was born.
    pub(super) fn born_home(&self, number: usize, hash: u64) -> u64 {
        let plan = self.ground.plan();
        let homes = (1..=self.ground.level(number)).rev().map(|level| plan.home(hash, level));
        homes
            .into_iter()
            .find(|home| self.is_home(number, *home))
            .unwrap_or_else(|| plan.home(hash, 0))
    }

    fn empty_near(&self, number: usize, home: u64) -> Option<Place> {
        let mut places = self.places_from(home);
        places.find(|place| self.slot(number, *place).0 == EMPTY)
    }

    /// Lets a home's keys lie as far as this line.
    pub(super) fn reach_from(&self, number: usize, home: u64, line: u64) {
        let distance = line.saturating_sub(home);
        let home = self.ground.line(number, home);
        if distance > home.head().reach() {
            home.lock().reach_to(distance);
        }
    }
}
