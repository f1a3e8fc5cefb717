//! The line store under a model checker: every order in which two threads' steps can fall, on tables of a few lines.
//!
//! `cargo xtask models` runs these, and then breaks the store on purpose, one rule at a time, to see that each rule is
//! needed and that they would notice.

use loom::model::Builder;
use loom::thread;

use crate::Rate;
use crate::algorithm::TokenBucket;
use crate::config::OnFull;
use crate::store::Kind;
use crate::store::lines::ground::Plan;
use crate::store::lines::*;

/// How often a thread may be interrupted where it does not wait by itself. Two find every fault that the mutants make.
const INTERRUPTIONS: usize = 2;

const NOW: Time = Time::from_millis(1);

/// When every bucket is whole again.
const LATER: Time = Time::from_millis(7 * 86_400_000);

/// A bucket of so many tokens that does not refill in any model's time, at 7 a day. A token takes 10^22 parts of a
/// nanosecond, so a charge changes both words of a state.
fn bucket(capacity: u32) -> TokenBucket {
    let rate = Rate::per_second("0.0000810000037").expect("it is a rate");
    TokenBucket::new(capacity, rate).expect("the numbers are in range")
}

/// A store of one section with so many lines at first, which may hold so many keys.
fn tiny(bucket: TokenBucket, keys: u64, plan: Plan) -> Arc<Store<TokenBucket>> {
    after(bucket, keys, plan, Arc::default())
}

fn after(
    bucket: TokenBucket,
    keys: u64,
    plan: Plan,
    shared: Arc<Shared>,
) -> Arc<Store<TokenBucket>> {
    let rules = Rules::new(bucket, OnFull::Overflow, Layout::of_sections(keys));
    let lines = Lines::with_plan(rules, Arc::clone(&shared), plan);
    Arc::new(Store { shared, kind: Kind::Lines(lines) })
}

const ONE_LINE: Plan = Plan { base_lines: 1, levels: 0, window: 1 };
const ONE_LINE_THEN_TWO: Plan = Plan { base_lines: 1, levels: 1, window: 1 };

/// Keys of one section. After one doubling, the home of the even ones is line 0, that of the odd ones line 1.
const fn key(number: u64) -> u64 {
    number << 32 | 1
}

/// Checks a model twice: with one thread ahead where neither is interrupted, and with the other. The checker looks for
/// what else could happen between the last accesses to a word, and forgets a read of the one ahead once the other
/// reads too.
fn check(model: impl Fn(Ahead) + Copy + Sync + Send + 'static) {
    for ahead in [Ahead::First, Ahead::Second] {
        let mut builder = Builder::new();
        builder.preemption_bound = Some(INTERRUPTIONS);
        builder.check(move || model(ahead));
    }
}

/// Which of two threads runs first where neither is interrupted.
#[derive(Clone, Copy)]
enum Ahead {
    First,
    Second,
}

impl Ahead {
    /// Runs two things at once.
    fn both<A: 'static, B: 'static>(
        self,
        first: impl FnOnce() -> A + 'static,
        second: impl FnOnce() -> B + 'static,
    ) -> (A, B) {
        match self {
            Self::First => {
                let second = thread::spawn(second);
                (first(), second.join().expect("no model panics aside"))
            }
            Self::Second => {
                let first = thread::spawn(first);
                let second = second();
                (first.join().expect("no model panics aside"), second)
            }
        }
    }
}

/// Whether a call of cost 1 is allowed.
fn allows(store: &Store<TokenBucket>, key: u64, now: Time) -> bool {
    store.decide((key, 1), || now, |result| result.allowed())
}

/// How many calls of cost 1 are allowed, until one is denied.
fn rest(store: &Store<TokenBucket>, key: u64, now: Time) -> usize {
    std::iter::repeat_with(|| allows(store, key, now)).take_while(|allowed| *allowed).count()
}

/// A section is handed over to the store after it; says how many debts were forgiven.
fn hand_over(store: &Store<TokenBucket>, next: &Arc<Store<TokenBucket>>) -> u64 {
    match &store.kind {
        Kind::Lines(lines) => lines.hand_over(0, next),
        Kind::Sharded(_) => unreachable!("it was made of lines"),
    }
}

/// The store, for two threads.
fn twice(store: &Arc<Store<TokenBucket>>) -> [Arc<Store<TokenBucket>>; 2] {
    [Arc::clone(store), Arc::clone(store)]
}

#[test]
fn a_key_that_two_create_at_once_is_one_key() {
    check(|ahead| {
        let [one, other] = twice(&tiny(bucket(1), 3, ONE_LINE));
        let allowed =
            ahead.both(move || allows(&one, key(2), NOW), move || allows(&other, key(2), NOW));
        assert!(allowed.0 ^ allowed.1, "one token, two calls");
    });
}

#[test]
fn of_two_hits_at_once_each_is_charged() {
    check(|ahead| {
        let store = tiny(bucket(3), 3, ONE_LINE);
        assert!(allows(&store, key(2), NOW));
        let [one, other] = twice(&store);
        let allowed =
            ahead.both(move || allows(&one, key(2), NOW), move || allows(&other, key(2), NOW));
        assert_eq!((allowed, rest(&store, key(2), NOW)), ((true, true), 0));
    });
}

/// Whether a call of cost 1 is allowed that holds the key while other limits would judge.
fn allows_held(store: &Arc<Store<TokenBucket>>, key: u64) -> bool {
    let mut allowed = false;
    store.hold((key, NOW, 1), &mut |held| allowed = held.judge() && held.charge().allowed());
    allowed
}

#[test]
fn a_hit_is_not_lost_while_its_key_is_held_for_other_limits() {
    check(|ahead| {
        let store = tiny(bucket(3), 3, ONE_LINE);
        assert!(allows(&store, key(2), NOW));
        let [one, other] = twice(&store);
        let allowed =
            ahead.both(move || allows_held(&one, key(2)), move || allows(&other, key(2), NOW));
        assert_eq!((allowed, rest(&store, key(2), NOW)), ((true, true), 0));
    });
}

#[test]
fn a_key_that_comes_in_while_it_is_held_for_other_limits_is_one_key() {
    check(|ahead| {
        let [one, other] = twice(&tiny(bucket(1), 3, ONE_LINE));
        let allowed =
            ahead.both(move || allows_held(&one, key(2)), move || allows(&other, key(2), NOW));
        assert!(allowed.0 ^ allowed.1, "one token, two calls");
    });
}

#[test]
fn neighbours_in_a_line_keep_their_own_states() {
    check(|ahead| {
        let store = tiny(bucket(3), 3, ONE_LINE);
        assert!(allows(&store, key(2), NOW) && allows(&store, key(4), NOW));
        let [one, other] = twice(&store);
        let allowed =
            ahead.both(move || allows(&one, key(2), NOW), move || allows(&other, key(4), NOW));
        assert_eq!(allowed, (true, true));
        assert_eq!((rest(&store, key(2), NOW), rest(&store, key(4), NOW)), (1, 1));
    });
}

#[test]
fn a_hit_on_a_whole_key_is_not_lost_when_a_newcomer_takes_its_slot() {
    check(|ahead| {
        let store = tiny(bucket(2), 1, ONE_LINE);
        assert!(allows(&store, key(2), NOW));
        // When it is whole its slot is free.
        let [one, other] = twice(&store);
        let allowed =
            ahead.both(move || allows(&one, key(4), LATER), move || allows(&other, key(2), LATER));
        assert_eq!(allowed, (true, true));
        assert!(rest(&store, key(2), LATER) <= 1, "one of two tokens is taken");
        assert!(rest(&store, key(4), LATER) <= 1, "one of two tokens is taken");
    });
}

#[test]
fn an_older_time_does_not_see_as_absent_what_a_newer_one_has_forgotten() {
    check(|ahead| {
        let store = tiny(bucket(1), 1, ONE_LINE);
        assert!(allows(&store, key(2), NOW));
        let [one, other] = twice(&store);
        // At the older time its token is used up still: it may be allowed only as of the newer one, and then has none
        // left.
        let allowed =
            ahead.both(move || allows(&one, key(4), LATER), move || allows(&other, key(2), NOW));
        let allowed = (allowed.0, usize::from(allowed.1) + rest(&store, key(2), NOW));
        assert!(allowed.0 && allowed.1 <= 1, "{allowed:?}");
    });
}

#[test]
fn a_hit_is_not_lost_when_its_key_moves_to_a_new_home() {
    check(|ahead| {
        let store = tiny(bucket(3), 6, ONE_LINE_THEN_TWO);
        for number in [1, 2, 4] {
            assert!(allows(&store, key(number), NOW));
        }
        // The fourth key makes the section grow; key 1 moves on when somebody asks for a key of its new home.
        let [one, other] = twice(&store);
        let allowed =
            ahead.both(move || allows(&one, key(3), NOW), move || allows(&other, key(1), NOW));
        assert_eq!(allowed, (true, true));
        assert_eq!((rest(&store, key(1), NOW), rest(&store, key(3), NOW)), (1, 2));
    });
}

#[test]
fn two_that_find_a_home_unborn_bear_it_once() {
    check(|ahead| {
        let store = tiny(bucket(2), 6, ONE_LINE_THEN_TWO);
        for number in [1, 2, 4, 6] {
            assert!(allows(&store, key(number), NOW));
        }
        let [one, other] = twice(&store);
        let allowed =
            ahead.both(move || allows(&one, key(1), NOW), move || allows(&other, key(1), NOW));
        assert!(allowed.0 ^ allowed.1, "one of two tokens is left");
    });
}

#[test]
fn a_key_that_must_leave_takes_along_what_a_hit_charges_at_that_moment() {
    check(|ahead| {
        let store = tiny(bucket(2), 1, ONE_LINE);
        assert!(allows(&store, key(2), NOW));
        let [one, other] = twice(&store);
        let (_, again) =
            ahead.both(move || allows(&one, key(4), NOW), move || allows(&other, key(2), NOW));
        // It left and returned, or it did not leave: two tokens in all.
        assert!(usize::from(again) + rest(&store, key(2), NOW) <= 1, "two tokens, three calls");
    });
}

#[test]
fn a_reload_loses_no_charge_of_a_key_that_is_held() {
    check(|ahead| {
        let store = tiny(bucket(3), 1, ONE_LINE);
        assert!(allows(&store, key(2), NOW));
        let next = after(bucket(3), 1, ONE_LINE, Arc::clone(&store.shared));
        let ([one, other], to) = (twice(&store), Arc::clone(&next));
        let done = ahead.both(move || hand_over(&one, &to), move || allows(&other, key(2), NOW));
        assert_eq!(done, (0, true));
        assert_eq!((rest(&store, key(2), NOW), rest(&next, key(2), NOW)), (1, 0));
    });
}

#[test]
fn a_reload_loses_no_charge_of_a_key_that_comes_in() {
    check(|ahead| {
        let store = tiny(bucket(2), 1, ONE_LINE);
        let next = after(bucket(2), 1, ONE_LINE, Arc::clone(&store.shared));
        let ([one, other], to) = (twice(&store), Arc::clone(&next));
        let done = ahead.both(move || hand_over(&one, &to), move || allows(&other, key(2), NOW));
        assert_eq!(done, (0, true));
        assert_eq!(rest(&next, key(2), NOW), 1);
    });
}

#[test]
fn who_looks_while_another_writes_sees_a_state_from_before_or_after() {
    check(|ahead| {
        let store = tiny(bucket(3), 2, ONE_LINE);
        // In the second slot, whose state has no part in the head's word.
        assert!(allows(&store, key(4), NOW) && allows(&store, key(2), NOW));
        let figures = |store: &Store<TokenBucket>| {
            let seen = store.look(key(2), NOW, 0);
            (seen.remaining(), seen.reset_after_ms())
        };
        let before = figures(&store);
        let [one, other] = twice(&store);
        let (allowed, seen) =
            ahead.both(move || allows(&one, key(2), NOW), move || figures(&other));
        assert!(allowed);
        assert!(seen == before || seen == figures(&store), "{seen:?}");
    });
}

#[test]
fn a_denial_is_not_taken_from_a_neighbour_that_comes_in_meanwhile() {
    check(|ahead| {
        let store = tiny(bucket(2), 1, ONE_LINE);
        assert!(allows(&store, key(2), NOW));
        let [one, other] = twice(&store);
        // The one slot goes from a key with one token left to one with none.
        let drain = move || {
            assert!(one.reset(key(2), NOW).had_state);
            one.decide((key(4), 2), || NOW, |result| assert!(result.allowed()));
        };
        let ((), allowed) = ahead.both(drain, move || allows(&other, key(2), NOW));
        assert!(allowed, "a token was left, or all after the reset");
    });
}
