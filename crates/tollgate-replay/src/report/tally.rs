//! The counts that become a report.

use std::cmp::Reverse;
use std::collections::HashMap;

use hdrhistogram::Histogram;
use tollgate::{CallError, Decided, Time};

use super::{BusySecond, Denials, Report, Waits};
use crate::event::Event;
use crate::intake::Intake;
use crate::log::Origin;

const NANOS_PER_SECOND: u64 = 1_000_000_000;

/// The longest wait that quantiles tell apart, a hundred years: no limiter of the library tells a longer one.
const WAIT_MAX_MS: u64 = 100 * 366 * 86_400_000;

/// Waits are told apart to so many digits, which takes some 4 MB.
const WAIT_DIGITS: u8 = 4;

/// Counts decisions as they come.
#[derive(Debug)]
pub(crate) struct Tally {
    total: Count,
    cost_exceeds_limit: u64,
    clients: Counts,
    endpoints: Counts,
    busy: Busiest,
    busy_denying: Busiest,
    waits: Histogram<u64>,
    longest_wait_ms: u64,
    covers: Option<(Time, Time)>,
    /// The latest time so far: what a limiter goes by when a call comes late.
    latest: Time,
}

impl Tally {
    pub(crate) fn new() -> Self {
        Self {
            total: Count::default(),
            cost_exceeds_limit: 0,
            clients: Counts::default(),
            endpoints: Counts::default(),
            busy: Busiest::default(),
            busy_denying: Busiest::default(),
            waits: Histogram::new_with_max(WAIT_MAX_MS, WAIT_DIGITS)
                .expect("the longest wait is above 2 and the digits are below 5"),
            longest_wait_ms: 0,
            covers: None,
            latest: Time::ZERO,
        }
    }

    /// Counts a call and its decision.
    pub(crate) fn add(&mut self, event: &Event, decided: &Decided) {
        let result = decided.as_ref().map_or_else(CallError::result, |result| *result);
        let denied = !result.allowed();
        self.total.add(denied);
        let is_impossible = matches!(decided, Err(CallError::CostExceedsLimit(_)));
        self.cost_exceeds_limit = self.cost_exceeds_limit.saturating_add(is_impossible.into());
        self.clients.add(&event.client, denied);
        self.endpoints.add(&event.endpoint, denied);
        self.latest = self.latest.max(event.at);
        self.busy.add(self.latest);
        if denied {
            self.busy_denying.add(self.latest);
        }
        if let Some(wait_ms) = result.retry_after_ms() {
            self.waits.saturating_record(wait_ms);
            self.longest_wait_ms = self.longest_wait_ms.max(wait_ms);
        }
        let (first, last) = self.covers.unwrap_or((event.at, event.at));
        self.covers = Some((first.min(event.at), last.max(event.at)));
    }

    /// The report, with up to `worst_max` clients and endpoints.
    pub(crate) fn finish(self, worst_max: usize, origin: Origin, intake: Intake) -> Report {
        let waits = self.waits();
        Report {
            requests: self.total.requests,
            denied: self.total.denied,
            cost_exceeds_limit: self.cost_exceeds_limit,
            clients: self.clients.seen(),
            clients_denied: self.clients.denied(),
            worst_clients: self.clients.worst(worst_max),
            worst_endpoints: self.endpoints.worst(worst_max),
            busiest_second: self.busy.finish(),
            busiest_second_of_denials: self.busy_denying.finish(),
            waits,
            covers: self.covers,
            origin,
            intake,
        }
    }

    fn waits(&self) -> Option<Waits> {
        // The histogram answers with the highest value it cannot tell from the true one.
        let quantile = |part| self.waits.value_at_quantile(part).min(self.longest_wait_ms);
        (!self.waits.is_empty()).then(|| Waits {
            median_ms: quantile(0.5),
            p95_ms: quantile(0.95),
            longest_ms: self.longest_wait_ms,
        })
    }
}

/// Calls and denials by name.
#[derive(Debug, Default)]
struct Counts(HashMap<String, Count>);

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    denied: u64,
    requests: u64,
}

impl Counts {
    fn add(&mut self, name: &str, denied: bool) {
        match self.0.get_mut(name) {
            Some(count) => count.add(denied),
            None => self.0.entry(name.to_owned()).or_default().add(denied),
        }
    }

    fn seen(&self) -> u64 {
        u64::try_from(self.0.len()).unwrap_or(u64::MAX)
    }

    fn denied(&self) -> u64 {
        let denied = self.0.values().filter(|count| count.denied > 0).count();
        u64::try_from(denied).unwrap_or(u64::MAX)
    }

    fn worst(self, max: usize) -> Vec<Denials> {
        let denials = |(name, Count { denied, requests })| Denials { name, denied, requests };
        let ever_denied = self.0.into_iter().filter(|(_, count)| count.denied > 0);
        let mut worst: Vec<_> = ever_denied.map(denials).collect();
        worst.sort_unstable_by(|a, b| {
            (Reverse(a.denied), &a.name).cmp(&(Reverse(b.denied), &b.name))
        });
        worst.truncate(max);
        worst
    }
}

impl Count {
    fn add(&mut self, denied: bool) {
        self.requests = self.requests.saturating_add(1);
        self.denied = self.denied.saturating_add(denied.into());
    }
}

/// Finds the second in which most happened, of times that do not step back.
#[derive(Debug, Default)]
struct Busiest {
    current: Option<BusySecond>,
    busiest: Option<BusySecond>,
}

impl Busiest {
    fn add(&mut self, at: Time) {
        let nanos = at.as_nanos();
        let start = Time::from_nanos(nanos.saturating_sub(nanos % NANOS_PER_SECOND));
        match &mut self.current {
            Some(current) if current.start == start => {
                current.count = current.count.saturating_add(1);
            }
            _ => {
                self.close_second();
                self.current = Some(BusySecond { start, count: 1 });
            }
        }
    }

    fn close_second(&mut self) {
        let busiest = self.busiest.map_or(0, |busiest| busiest.count);
        if let Some(current) = self.current.take().filter(|current| current.count > busiest) {
            self.busiest = Some(current);
        }
    }

    fn finish(mut self) -> Option<BusySecond> {
        self.close_second();
        self.busiest
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tollgate::{Config, ManualClock, RateLimiter, SlidingWindowLog};

    use super::*;

    /// Tallies one call for each (milliseconds, client, endpoint, cost), at a limit of 2 in 100 s.
    fn report(calls: &[(u64, &str, &str, u64)]) -> Report {
        let config = Config::builder().default(SlidingWindowLog::new(2, Duration::from_secs(100)));
        let limiter =
            RateLimiter::builder(config.build().unwrap()).clock(ManualClock::new()).build();
        let mut tally = Tally::new();
        for (millis, client, endpoint, cost) in calls {
            let event = Event::new(Time::from_millis(*millis), *client, *endpoint).cost(*cost);
            tally.add(&event, &limiter.decide(&event.call()));
        }
        tally.finish(2, Origin::Recording, Intake::default())
    }

    fn denials(name: &str, denied: u64, requests: u64) -> Denials {
        Denials { name: name.to_owned(), denied, requests }
    }

    #[test]
    fn nothing_makes_an_empty_report() {
        let report = report(&[]);
        assert_eq!((report.requests, report.denied, report.clients), (0, 0, 0));
        assert_eq!((report.busiest_second, report.waits, report.covers), (None, None, None));
        assert_eq!(report.worst_clients, []);
    }

    #[test]
    fn those_denied_most_come_first_and_ties_are_in_order_of_names() {
        let calls = ["b", "a", "c", "d"].map(|client| [(0, client, "/x", 1); 3]).concat();
        let more = [(0, "c", "/y", 1), (0, "e", "/y", 1)];
        let report = report(&[calls, more.to_vec()].concat());
        assert_eq!(report.worst_clients, [denials("c", 2, 4), denials("a", 1, 3)]);
        assert_eq!(report.worst_endpoints, [denials("/x", 4, 12), denials("/y", 1, 2)]);
        assert_eq!((report.requests, report.denied), (14, 5));
        assert_eq!((report.clients, report.clients_denied), (5, 4));
    }

    #[test]
    fn waits_have_a_median_a_most_and_a_longest() {
        let calls: Vec<_> =
            [0, 0].into_iter().chain(1..=100).map(|at| (at, "a", "/x", 1)).collect();
        let waits = Waits { median_ms: 99_949, p95_ms: 99_994, longest_ms: 99_999 };
        let found = report(&calls).waits.unwrap();
        assert!(found.median_ms.abs_diff(waits.median_ms) < 10, "{found:?}");
        assert!(found.p95_ms.abs_diff(waits.p95_ms) < 10, "{found:?}");
        assert_eq!(found.longest_ms, waits.longest_ms);
    }

    #[test]
    fn a_cost_above_the_limit_is_a_denial_without_a_wait() {
        let report = report(&[(0, "a", "/x", 3), (0, "a", "/x", 0)]);
        assert_eq!((report.denied, report.cost_exceeds_limit, report.waits), (1, 1, None));
    }

    #[test]
    fn the_busiest_second_is_the_first_of_those_with_most() {
        let at = |millis| (millis, "a", "/x", 1);
        let report = report(&[
            at(999),
            at(1_000),
            at(1_999),
            at(5_000),
            at(5_999),
            at(5_999),
            at(1),
            at(7_000),
            at(7_001),
            at(7_002),
            at(7_003),
        ]);
        let busy = |seconds: u64, count| {
            Some(BusySecond { start: Time::from_millis(seconds * 1_000), count })
        };
        assert_eq!(report.busiest_second, busy(5, 4), "what came late counts when it was decided");
        assert_eq!(report.busiest_second_of_denials, busy(5, 4));
        assert_eq!(report.covers, Some((Time::from_millis(1), Time::from_millis(7_003))));
    }
}
