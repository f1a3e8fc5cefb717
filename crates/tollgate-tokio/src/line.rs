//! Who waits for what, in which order: one line for each client, tenant and entry, first come first served.
//!
//! In a line the front alone asks the limiter; whoever stands behind is woken when it becomes the front. A waiter
//! whose task does not run (a future that is held and not polled) must not hold up the others, so each also watches
//! the line: where it should have moved and did not, the next that is awake counts those before it as absent and goes
//! on. One that is absent has its place back as soon as it is awake.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until, timeout_at};
use tollgate::Key;

use crate::clock::{Deadline, after};

/// How long a line may stand still before the next one goes on, for each place before it.
const PATIENCE: Duration = Duration::from_millis(100);

/// What one line is for: a client, on behalf of a tenant or of none, and the entry of the config that answers, `None`
/// for the default.
pub(crate) type Purpose = (Key, Option<Key>, Option<Arc<str>>);

/// All lines.
#[derive(Debug)]
pub(crate) struct Lines {
    open: Mutex<Open>,
    bounds: Bounds,
}

/// The lines in which somebody waits.
#[derive(Debug, Default)]
struct Open {
    lines: HashMap<Purpose, Line>,
    /// In all of them.
    waiters: usize,
}

/// How many may wait.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) in_all: usize,
    pub(crate) per_line: usize,
}

/// Those who wait for one thing, by their tickets: the lowest came first.
#[derive(Debug)]
struct Line {
    seats: BTreeMap<u64, Seat>,
    next_ticket: u64,
    /// When the front, by what it was told, goes on.
    moves_at: Instant,
}

#[derive(Debug)]
struct Seat {
    cost: u64,
    woken: Arc<Notify>,
    is_absent: bool,
}

impl Lines {
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self { open: Mutex::default(), bounds }
    }

    /// These lines, before anybody waits, under other bounds.
    pub(crate) fn bounded(self, change: impl FnOnce(&mut Bounds)) -> Self {
        let mut bounds = self.bounds;
        change(&mut bounds);
        Self { bounds, ..self }
    }

    /// How many wait in all lines.
    pub(crate) fn waiters(&self) -> usize {
        self.open.lock().waiters
    }

    /// What those in a line want, the first first; nothing where nobody waits.
    pub(crate) fn wanted(&self, purpose: &Purpose) -> Vec<u64> {
        self.open.lock().wanted(purpose)
    }

    /// Takes the last place of a line; `None` where so many wait as may. Whoever opens a line sleeps until `moves_at`.
    pub(crate) fn join(&self, purpose: Purpose, cost: u64, moves_at: Instant) -> Option<Place<'_>> {
        let woken = Arc::new(Notify::new());
        let seat = Seat { cost, woken: Arc::clone(&woken), is_absent: false };
        let ticket = self.open.lock().seat(&purpose, seat, (self.bounds, moves_at))?;
        let sleeps_until = (ticket == 0).then_some(moves_at);
        Some(Place { lines: self, purpose, ticket, woken, sleeps_until })
    }
}

impl Open {
    fn wanted(&self, purpose: &Purpose) -> Vec<u64> {
        let line = self.lines.get(purpose);
        let seats = line.into_iter().flat_map(|line| line.seats.values());
        seats.map(|seat| seat.cost).collect()
    }

    /// Puts one at the end of a line, if the bounds allow it; the ticket of whoever opens a line is 0.
    fn seat(
        &mut self,
        purpose: &Purpose,
        seat: Seat,
        (bounds, moves_at): (Bounds, Instant),
    ) -> Option<u64> {
        let in_line = self.lines.get(purpose).map_or(0, |line| line.seats.len());
        if self.waiters >= bounds.in_all || in_line >= bounds.per_line {
            return None;
        }
        self.waiters = self.waiters.saturating_add(1);
        let line = self.lines.entry(purpose.clone()).or_insert_with(|| Line::new(moves_at));
        let ticket = line.next_ticket;
        line.next_ticket = ticket.saturating_add(1);
        line.seats.insert(ticket, seat);
        Some(ticket)
    }

    /// Works on the line in which somebody stands.
    fn with_line<T: Default>(&mut self, purpose: &Purpose, work: impl FnOnce(&mut Line) -> T) -> T {
        let line = self.lines.get_mut(purpose);
        debug_assert!(line.is_some(), "a line is there as long as somebody stands in it");
        line.map(work).unwrap_or_default()
    }

    fn leave(&mut self, purpose: &Purpose, ticket: u64) {
        self.waiters = self.waiters.saturating_sub(1);
        let is_empty = self.with_line(purpose, |line| {
            line.leave(ticket);
            line.seats.is_empty()
        });
        if is_empty {
            self.lines.remove(purpose);
        }
    }
}

/// A place in a line. Dropping it gives it back.
#[derive(Debug)]
pub(crate) struct Place<'a> {
    lines: &'a Lines,
    purpose: Purpose,
    ticket: u64,
    woken: Arc<Notify>,
    /// Until when, where the limiter was asked and said so.
    sleeps_until: Option<Instant>,
}

impl Place<'_> {
    /// Waits until it is this one's turn to ask the limiter, or until the deadline; says whether it is its turn.
    pub(crate) async fn turn(&mut self, deadline: Deadline) -> bool {
        if let Some(moment) = self.sleeps_until.take() {
            sleep_until(moment).await;
            self.with_line(Line::is_present);
            return true;
        }
        loop {
            let watch = self.with_line(Line::watch);
            let Some(moment) = watch else { return true };
            if deadline.is_over() {
                return false;
            }
            // Whether woken or not, the line says what comes next.
            let _woken = timeout_at(deadline.or_sooner(moment), self.woken.notified()).await;
        }
    }

    /// The limiter was asked and told to come back at this moment.
    pub(crate) fn sleeps_until(&mut self, moment: Instant) {
        self.sleeps_until = Some(moment);
        self.with_line(|line, _| line.moves_at = moment);
    }

    fn with_line<T: Default>(&self, work: impl FnOnce(&mut Line, u64) -> T) -> T {
        let ticket = self.ticket;
        self.lines.open.lock().with_line(&self.purpose, |line| work(line, ticket))
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.lines.open.lock().leave(&self.purpose, self.ticket);
    }
}

impl Line {
    fn new(moves_at: Instant) -> Self {
        Self { seats: BTreeMap::new(), next_ticket: 0, moves_at }
    }

    /// The first that is not absent.
    fn front(&self) -> Option<(u64, &Seat)> {
        let mut seats = self.seats.iter();
        seats.find(|(_, seat)| !seat.is_absent).map(|(ticket, seat)| (*ticket, seat))
    }

    fn is_present(&mut self, ticket: u64) {
        if let Some(seat) = self.seats.get_mut(&ticket) {
            seat.is_absent = false;
        }
    }

    /// When to look again, for one that is awake and has not asked the limiter; `None` where it is its turn.
    fn watch(&mut self, ticket: u64) -> Option<Instant> {
        self.is_present(ticket);
        let before = self.seats.range_mut(..ticket).filter(|(_, seat)| !seat.is_absent);
        let places = before.count();
        if places == 0 {
            return None;
        }
        let patience = PATIENCE.saturating_mul(u32::try_from(places).unwrap_or(u32::MAX));
        let looks_at = self.moves_at.checked_add(patience).unwrap_or(self.moves_at);
        if looks_at > after(Duration::ZERO) {
            return Some(looks_at);
        }
        for (_, seat) in self.seats.range_mut(..ticket) {
            seat.is_absent = true;
        }
        None
    }

    /// Takes one out of the line, and wakes the one that is the front because of it.
    fn leave(&mut self, ticket: u64) {
        let before = self.front().map(|(front, _)| front);
        self.seats.remove(&ticket);
        let front = self.front();
        if before != front.map(|(front, _)| front) {
            front.inspect(|(_, seat)| seat.woken.notify_one());
            self.moves_at = after(Duration::ZERO);
        }
    }
}
