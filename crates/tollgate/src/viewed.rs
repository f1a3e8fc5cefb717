//! A limit whose keys have an account for each plan, as one of the plans is judged by it.

use std::sync::Arc;
use std::time::Duration;

use crate::algorithm::Algorithm;
use crate::clock::Time;
use crate::config::Bounds;
use crate::decision::CallError;
use crate::key::Key;
use crate::keyed::{Keyed, decide_once, wait_in_line};
use crate::limiter::{Decided, Environment, Limiter, Request};
use crate::member::{Asked, Member};
use crate::planned::{Planned, TermsOf};
use crate::receipt::Receipt;
use crate::store::{Counts, Held, ResetReport, Store, View};

/// The limiter of one plan. Those of the other plans have the same keys.
#[derive(Debug)]
pub(crate) struct Viewed<A: Algorithm> {
    view: Arc<View<A>>,
    environment: Environment,
}

impl<A: Algorithm> Viewed<A> {
    /// Bytes a key takes in the table, beside those of its accounts.
    pub(crate) const BYTES_PER_KEY: usize = Keyed::<Planned<A>>::BYTES_PER_KEY;

    /// As everybody is judged.
    pub(crate) fn new(planned: Planned<A>, bounds: Bounds, environment: &Environment) -> Self {
        let view = View::new(Arc::new(Store::new(planned, bounds)), TermsOf::Everybody);
        Self { view: Arc::new(view), environment: environment.clone() }
    }

    /// The limiter that goes on under other parameters, with all this one holds; and how many debts were above a limit.
    pub(crate) fn moved_to(&self, planned: Planned<A>, bounds: Bounds) -> (Self, u64) {
        let (store, forgiven) = self.view.store().moved_to(planned, bounds, self.time_of(None));
        let view = Arc::new(View::new(store, TermsOf::Everybody));
        (Self { view, environment: self.environment.clone() }, forgiven)
    }

    /// The same after a limiter that had no plans.
    pub(crate) fn after(before: &Keyed<A>, planned: Planned<A>, bounds: Bounds) -> (Self, u64) {
        let now = before.time_of(None);
        let (view, forgiven) = before.store().moved_to_plans(planned, bounds, now);
        (Self { view, environment: before.environment().clone() }, forgiven)
    }

    fn time_of(&self, at: Option<Time>) -> Time {
        self.environment.time_on(A::TIMELINE, at)
    }
}

impl<A: Algorithm> Limiter for Viewed<A> {
    fn decide(&self, request: Request) -> Decided {
        let call = (request.key().0, self.time_of(request.time()), request.costs());
        self.view.decide(call).possible_at(request.costs())
    }

    fn decide_with_receipt(&self, request: Request) -> (Decided, Receipt) {
        let call = (request.key().0, self.time_of(request.time()), request.costs());
        let (result, charge) = decide_once(|then| self.view.hold(call, then));
        let receipt = Receipt::of(charge.into_iter().collect(), &self.environment);
        (result.possible_at(request.costs()), receipt)
    }

    fn look(&self, request: Request) -> Decided {
        let call = (request.key().0, self.time_of(request.time()), request.costs());
        self.view.look(call).possible_at(request.costs())
    }

    fn wait_behind(&self, before: &[u64], request: Request) -> Result<Option<Duration>, CallError> {
        let result = self.look(request)?;
        let snapshot = self.view.snapshot(request.key().0, self.time_of(request.time()));
        Ok(wait_in_line(&result, snapshot, before.iter().copied().chain([request.costs()])))
    }

    fn key(&self, name: &str) -> Key {
        self.environment.hasher().key(name)
    }

    fn now(&self) -> Time {
        self.environment.now()
    }

    /// Of every account.
    fn reset(&self, name: &str) -> ResetReport {
        self.view.store().reset(self.key(name).0, self.time_of(None))
    }

    /// Of all plans together.
    fn counts(&self) -> Counts {
        self.view.store().counts(self.time_of(None))
    }

    fn limit(&self) -> u32 {
        self.view.limit()
    }
}

impl<A: Algorithm> Member for Viewed<A> {
    fn rank(&self) -> usize {
        self.view.store().rank()
    }

    fn hold(&self, asked: Asked, then: &mut dyn FnMut(&mut dyn Held)) {
        let now = self.time_of(Some(asked.now));
        self.view.hold((asked.key.0, now, asked.cost), then);
    }

    fn seen_by(&self, of: TermsOf) -> Option<Arc<dyn Member>> {
        let view = Arc::new(View::new(Arc::clone(self.view.store()), of));
        Some(Arc::new(Self { view, environment: self.environment.clone() }))
    }
}
