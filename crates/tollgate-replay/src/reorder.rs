//! Puts what comes nearly in order of time into it.
//!
//! Servers write a line when a request ends and stamp it, often, with the time it began: lines are out of order by as
//! much as requests are long. What was pushed is held until something more than a window later comes:
//!
//! ```text
//!   released      │ held, the window              │ newest
//!   1 2 3 5 6 7 8 │ 9 10 12          15 11   17   │ 18
//!       ▲ what comes here now is late
//! ```

use std::collections::BTreeMap;
use std::time::Duration;

use tollgate::Time;

/// The most items held at once, whatever the window; the earliest leave first.
const HELD_MAX: usize = 1_000_000;

/// Holds items until none that is earlier is to be expected. Items of one time keep their order.
///
/// # Memory
/// The items of one window of time, and at most a million.
#[derive(Debug)]
pub(crate) struct Reorder<T> {
    window_ns: u64,
    held_max: usize,
    /// By time, and those of one time in the order they came. (A heap, which moves an item at each step down, took
    /// 29 % of the time that the replay of a log takes; this takes 7 %.)
    held: BTreeMap<(Time, u64), T>,
    /// How many were ever held.
    pushed: u64,
    newest: Time,
    released: Time,
}

/// An item that comes after something later was released.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Late<T> {
    pub(crate) item: T,
    /// How much later the time is that was already released.
    pub(crate) by: Duration,
}

impl<T> Reorder<T> {
    pub(crate) fn new(window: Duration) -> Self {
        Self {
            window_ns: u64::try_from(window.as_nanos()).unwrap_or(u64::MAX),
            held_max: HELD_MAX,
            held: BTreeMap::new(),
            pushed: 0,
            newest: Time::ZERO,
            released: Time::ZERO,
        }
    }

    /// Takes an item, or gives it back where it is late.
    pub(crate) fn push(&mut self, at: Time, item: T) -> Result<(), Late<T>> {
        if at < self.released {
            return Err(Late { item, by: Duration::from_nanos(self.released.nanos_since(at)) });
        }
        self.newest = self.newest.max(at);
        self.held.insert((at, self.pushed), item);
        self.pushed = self.pushed.saturating_add(1);
        Ok(())
    }

    /// The next item that need not be held any longer.
    pub(crate) fn pop_due(&mut self) -> Option<T> {
        let ((earliest, _order), _item) = self.held.first_key_value()?;
        let due =
            self.newest.nanos_since(*earliest) > self.window_ns || self.held.len() > self.held_max;
        if due { self.pop() } else { None }
    }

    /// The next item, due or not: for when no more come.
    pub(crate) fn pop(&mut self) -> Option<T> {
        let ((at, _order), item) = self.held.pop_first()?;
        self.released = at;
        Some(item)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Items in the order they come out, each its place in the input; and how many are late.
    fn reordered(window: u64, times: &[u64]) -> (Vec<usize>, usize) {
        let mut reorder = Reorder::new(Duration::from_nanos(window));
        let (mut order, mut late) = (Vec::new(), Vec::new());
        for (place, time) in times.iter().enumerate() {
            match reorder.push(Time::from_nanos(*time), place) {
                Ok(()) => order.extend(std::iter::from_fn(|| reorder.pop_due())),
                Err(Late { item, .. }) => {
                    order.push(item);
                    late.push(item);
                }
            }
        }
        order.extend(std::iter::from_fn(|| reorder.pop()));
        (order, late.len())
    }

    #[test]
    fn an_item_is_held_for_the_window_and_no_longer() {
        let mut reorder = Reorder::new(Duration::from_nanos(10));
        assert_eq!(reorder.push(Time::from_nanos(5), 'b'), Ok(()));
        assert_eq!(reorder.push(Time::from_nanos(15), 'c'), Ok(()));
        assert_eq!(reorder.pop_due(), None);
        assert_eq!(reorder.push(Time::from_nanos(4), 'a'), Ok(()));
        assert_eq!((reorder.pop_due(), reorder.pop_due()), (Some('a'), None));
        assert_eq!(reorder.push(Time::from_nanos(16), 'd'), Ok(()));
        assert_eq!((reorder.pop_due(), reorder.pop_due()), (Some('b'), None));
        let late = Late { item: 'z', by: Duration::from_nanos(2) };
        assert_eq!(reorder.push(Time::from_nanos(3), 'z'), Err(late));
        assert_eq!(reorder.push(Time::from_nanos(5), 'e'), Ok(()));
        assert_eq!((reorder.pop_due(), reorder.pop_due()), (Some('e'), None));
        assert_eq!((reorder.pop(), reorder.pop(), reorder.pop()), (Some('c'), Some('d'), None));
    }

    #[test]
    fn no_more_are_held_than_may_be_and_the_earliest_leave() {
        let mut reorder = Reorder { held_max: 2, ..Reorder::new(Duration::MAX) };
        let mut left = Vec::new();
        for time in [7, 5, 6, 9, 8] {
            reorder.push(Time::from_nanos(time), time).unwrap();
            left.extend(reorder.pop_due());
        }
        assert_eq!((left, reorder.held.len()), (vec![5, 6, 7], 2));
        assert!(reorder.push(Time::from_nanos(6), 6).is_err());
    }

    proptest! {
        #[test]
        fn within_the_window_it_is_a_stable_sort(
            steps in prop::collection::vec((0_u64..20, 0_u64..=50), 0..200),
        ) {
            let mut newest = 100_u64;
            let times: Vec<u64> = steps
                .iter()
                .map(|(forward, back)| {
                    newest = forward.saturating_add(newest);
                    back.abs_diff(newest)
                })
                .collect();
            let mut sorted: Vec<usize> = (0..times.len()).collect();
            sorted.sort_by_key(|place| times[*place]);
            prop_assert_eq!(reordered(50, &times), (sorted, 0));
        }

        #[test]
        fn nothing_is_lost_and_only_what_is_late_is_out_of_order(
            window in 0_u64..50,
            times in prop::collection::vec(0_u64..200, 0..200),
        ) {
            let (order, late) = reordered(window, &times);
            let mut latest = 0;
            let behind = order.iter().filter(|place| {
                let behind = times[**place] < latest;
                latest = latest.max(times[**place]);
                behind
            });
            prop_assert_eq!(behind.count(), late);
            let mut all = order;
            all.sort_unstable();
            prop_assert_eq!(all, (0..times.len()).collect::<Vec<_>>());
        }
    }
}
