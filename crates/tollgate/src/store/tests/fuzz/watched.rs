//! A store whose every answer is held to what one key is answered by definition.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::exact::{Answer, Exact};
use crate::clock::Time;
use crate::config::{Bounds, OnFull};
use crate::decision::{RateLimitResult, Reason};
use crate::store::held::Charge;
use crate::store::layout::Layout;
use crate::store::lines::Lines;
use crate::store::mark::Mark;
use crate::store::rules::Rules;
use crate::store::sharded::Sharded;
use crate::store::{Kind, Shared, Store};

/// Which store it is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Shape {
    Sharded,
    Lines,
    /// With so many lines at first, doublings, and lines in which a key may lie.
    Planned(u64, u32, u64),
}

/// One call: of which key, when, at what cost, and by which of the stores there were.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    pub(super) hash: u64,
    pub(super) now: u64,
    pub(super) cost: u64,
    pub(super) handle: usize,
}

/// What is done with a key while it is held.
#[derive(Clone, Copy, Debug)]
pub(super) enum Holding {
    Decide,
    JudgeAndCharge,
    /// Another limit denies.
    JudgeAndRestate,
    DecideAndForget,
}

/// What must hold of a store's answers.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Promise {
    /// Each is the one that the definition gives.
    Exact,
    /// After a key had to leave: nobody is allowed what the definition would not allow.
    NeverOver,
    /// Nothing of one call: debts were forgotten, or windows opened anew.
    Whole,
}

pub(super) struct Watched<E: Exact> {
    /// The last is the one in use; those before send their callers on.
    stores: Vec<Arc<Store<E::Algorithm>>>,
    quota: E,
    bounds: Bounds,
    keys: BTreeMap<u64, E::Key>,
    mark: Mark,
    promise: Promise,
    allowed: u64,
    denied: u64,
    evictions: u64,
    charged: Vec<Charged<E::Key>>,
    /// How often the quota has changed.
    quotas: usize,
}

/// A charge that may be given back.
struct Charged<K> {
    charge: Charge,
    hash: u64,
    /// The key right after it.
    key: K,
    cost: u64,
    /// Which of the quotas it was charged by.
    quota: usize,
}

impl<E: Exact> Watched<E> {
    pub(super) fn new(shape: Shape, quota: E, bounds: Bounds) -> Self {
        Self {
            stores: vec![store(shape, quota.algorithm(), bounds, Arc::default())],
            quota,
            bounds,
            keys: BTreeMap::new(),
            mark: Mark::default(),
            promise: Promise::Exact,
            allowed: 0,
            denied: 0,
            evictions: 0,
            charged: Vec::new(),
            quotas: 0,
        }
    }

    fn store(&self, handle: usize) -> &Arc<Store<E::Algorithm>> {
        &self.stores[handle % self.stores.len()]
    }

    fn newest(&self) -> &Arc<Store<E::Algorithm>> {
        self.store(self.stores.len() - 1)
    }

    pub(super) fn prefetch(&self, call: Call) {
        self.store(call.handle).prefetch(call.hash);
    }

    pub(super) fn decide(&mut self, call: Call) {
        let (hash, now, cost) = by_store(call);
        let result = self.store(call.handle).decide((hash, cost), || now, |result| result);
        let now = self.advance(call.now);
        self.note_evictions();
        self.was_decided(&result, call, now);
    }

    pub(super) fn look(&mut self, call: Call) {
        let (hash, now, cost) = by_store(call);
        let result = self.store(call.handle).look(hash, now, cost);
        let now = self.mark.judge(now).as_nanos();
        self.note_evictions();
        let key = self.key(call.hash);
        let answer = self.quota.answer(key, now, call.cost);
        // What is allowed is told the figures as they stand.
        let cost = if answer.allowed { 0 } else { call.cost };
        self.compare(&result, call, (now, self.quota.answer(key, now, cost)));
    }

    pub(super) fn hold(&mut self, call: Call, holding: Holding) {
        let store = Arc::clone(self.store(call.handle));
        let (mut said, mut restated, mut charge) = (None, None, None);
        store.hold(by_store(call), &mut |held| {
            match holding {
                Holding::Decide | Holding::DecideAndForget => {
                    held.decide();
                }
                Holding::JudgeAndCharge | Holding::JudgeAndRestate => {
                    if held.judge() && matches!(holding, Holding::JudgeAndCharge) {
                        held.charge();
                    }
                }
            }
            said = Some(*held.said());
            charge = held.receipt();
            match holding {
                Holding::Decide | Holding::JudgeAndCharge => {}
                Holding::DecideAndForget => held.forget(),
                Holding::JudgeAndRestate => {
                    held.restate();
                    restated = Some(*held.said());
                }
            }
        });
        let now = self.advance(call.now);
        self.note_evictions();
        let said = said.expect("the key was handed on");
        if let Some(restated) = restated {
            self.expect(&said, call, now);
            self.denied += u64::from(!said.allowed());
            return self.expect(&restated, Call { cost: 0, ..call }, now);
        }
        self.was_decided(&said, call, now);
        if let Some(charge) = charge.filter(|_| said.allowed()) {
            let (hash, cost, key) = (call.hash, call.cost, self.key(call.hash));
            self.charged.push(Charged { charge, hash, key, cost, quota: self.quotas });
        }
        if matches!(holding, Holding::DecideAndForget) {
            self.keys.remove(&call.hash);
        }
    }

    /// Holds an answer to the definition, and charges and counts the call as the store did.
    fn was_decided(&mut self, result: &RateLimitResult, call: Call, now: u64) {
        self.expect(result, call, now);
        if result.allowed() {
            self.allowed += 1;
        } else {
            self.denied += 1;
        }
        if result.allowed() && call.cost > 0 {
            let key = self.keys.entry(call.hash).or_default();
            self.quota.charge(key, now, call.cost);
        }
    }

    /// Gives back one of the charges, if there is any.
    pub(super) fn refund(&mut self, which: usize, now: u64) {
        let Some(which) = which.checked_rem(self.charged.len()) else { return };
        let Charged { charge, hash, key: charged, cost, quota } = self.charged.swap_remove(which);
        let refunded = charge.refund(Time::from_nanos(now));
        if quota != self.quotas {
            assert!(!refunded, "under other parameters a charge stays");
            return;
        }
        let now = self.advance(now);
        self.note_evictions();
        let mut key = self.key(hash);
        let expected = self.quota.refund(&mut key, now, (charged, cost));
        if self.promise == Promise::Exact {
            assert_eq!(refunded, expected, "{hash} at {now}");
        }
        if refunded {
            self.keys.insert(hash, key);
        }
    }

    pub(super) fn reset(&mut self, call: Call) {
        let report = self.store(call.handle).reset(call.hash, Time::from_nanos(call.now));
        self.advance(call.now);
        self.note_evictions();
        let key = self.keys.remove(&call.hash).unwrap_or_default();
        if self.promise == Promise::Exact {
            let had_debt = !self.quota.is_whole(key, self.mark.get().as_nanos());
            assert!(report.had_state || !had_debt, "{call:?} of {key:?}");
            assert!(!report.inherits_debt, "no key has left");
        }
    }

    pub(super) fn reload(&mut self, shape: Shape, quota: E, bounds: Bounds, now: u64) {
        let (now, before) = (Time::from_nanos(now), Arc::clone(self.newest()));
        let shared = Arc::clone(&before.shared);
        shared.mark.raise(now);
        let next = store(shape, quota.algorithm(), bounds, shared);
        let forgiven = before.hand_over(&next);
        self.stores.push(next);
        self.mark.raise(now);
        let mut expected = 0;
        for key in self.keys.values_mut() {
            let now = self.mark.get().as_nanos();
            expected += u64::from(quota.carry_over(key, now, self.quota));
        }
        if self.promise == Promise::Exact {
            assert_eq!(forgiven, expected, "debts above the new limit");
        }
        self.quotas += usize::from(quota != self.quota);
        (self.quota, self.bounds) = (quota, bounds);
        // Where there are no cells, what they held is forgotten.
        if self.evictions > 0 && bounds.on_full == OnFull::Admit {
            self.promise = Promise::Whole;
        }
        self.note_evictions();
    }

    /// How many keys have debt.
    fn indebted(&self) -> usize {
        let now = self.mark.get().as_nanos();
        self.keys.values().filter(|key| !self.quota.is_whole(**key, now)).count()
    }

    /// Checks the whole table, and what was counted.
    pub(super) fn validate(&self) {
        self.newest().validate();
        let now = self.mark.get();
        let counts = self.store(0).counts(now);
        assert_eq!((counts.allowed, counts.denied), (self.allowed, self.denied));
        assert!(counts.keys <= self.bounds.max_keys, "{} keys", counts.keys);
        if self.promise == Promise::Exact {
            let held = usize::try_from(counts.keys).unwrap_or(usize::MAX);
            assert!(self.indebted() <= held, "a key is lost");
        }
    }

    fn advance(&self, now: u64) -> u64 {
        self.mark.advance(Time::from_nanos(now)).as_nanos()
    }

    fn key(&self, hash: u64) -> E::Key {
        self.keys.get(&hash).copied().unwrap_or_default()
    }

    fn expect(&self, result: &RateLimitResult, call: Call, now: u64) {
        let answer = self.quota.answer(self.key(call.hash), now, call.cost);
        self.compare(result, call, (now, answer));
    }

    fn compare(&self, result: &RateLimitResult, call: Call, (now, answer): (u64, Answer)) {
        assert_eq!(result.limit(), u64::from(self.quota.limit()));
        match self.promise {
            Promise::Exact if result.reason() == Some(Reason::TableFull) => {
                let key = self.key(call.hash);
                assert!(self.bounds.on_full == OnFull::Deny && answer.allowed && call.cost > 0);
                assert!(self.quota.is_whole(key, now), "{call:?} turns {key:?} away, who is held");
                let untouched = self.quota.answer(key, now, 0);
                let none = Answer { allowed: false, remaining: 0, ..untouched };
                assert_eq!(answer_of(result), none);
            }
            Promise::Exact => assert_eq!(answer_of(result), answer, "{call:?} judged at {now}"),
            Promise::NeverOver => assert!(answer.allowed || !result.allowed(), "{call:?} at {now}"),
            Promise::Whole => {}
        }
    }

    /// Promises less of a call for which a key had to leave, and of all after it.
    fn note_evictions(&mut self) {
        let evictions = self.newest().stripe_counts().evictions;
        if evictions == self.evictions {
            return;
        }
        if self.promise == Promise::Exact {
            // The newcomer may be one of them.
            let most = u64::try_from(self.indebted()).unwrap_or(u64::MAX).saturating_add(1);
            assert!(evictions - self.evictions <= most, "keys without debt do not leave");
        }
        let remembers = self.bounds.on_full != OnFull::Admit && E::DEBT_ONLY_DENIES;
        self.promise = match self.promise {
            Promise::Exact | Promise::NeverOver if remembers => Promise::NeverOver,
            Promise::Exact | Promise::NeverOver | Promise::Whole => Promise::Whole,
        };
        self.evictions = evictions;
    }
}

fn store<A: crate::Algorithm>(
    shape: Shape,
    algorithm: A,
    bounds: Bounds,
    shared: Arc<Shared>,
) -> Arc<Store<A>> {
    let rules = |layout| Rules::new(algorithm, bounds.on_full, layout);
    let sections = || Layout::of_sections(bounds.max_keys);
    let kind = match shape {
        Shape::Sharded => {
            let layout = Layout::of_stripes(bounds.max_keys);
            Kind::Sharded(Sharded::new(rules(layout), Arc::clone(&shared)))
        }
        Shape::Lines => Kind::Lines(Lines::new(rules(sections()), Arc::clone(&shared))),
        Shape::Planned(base_lines, levels, window) => {
            let plan = (base_lines, levels, window);
            Kind::Lines(Lines::planned(rules(sections()), Arc::clone(&shared), plan))
        }
    };
    Arc::new(Store { shared, kind })
}

const fn by_store(call: Call) -> (u64, Time, u64) {
    (call.hash, Time::from_nanos(call.now), call.cost)
}

fn answer_of(result: &RateLimitResult) -> Answer {
    Answer {
        allowed: result.allowed(),
        remaining: result.remaining(),
        retry_after_ms: result.retry_after_ms(),
        reset_after_ms: result.reset_after_ms(),
    }
}
