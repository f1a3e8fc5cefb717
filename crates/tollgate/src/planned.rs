//! One limit under several sets of parameters: those of the endpoint, of each plan, and of single clients.
//!
//! The state keeps an account for each set. A call is judged by the account of the client's own parameters; where it is
//! allowed, every account is charged, those of the others [beside](Algorithm::charge_beside) it. So each account tells
//! what the client would have left if it had been under those parameters all along, and a client that changes plan,
//! however often, is judged by all it has used: there is nothing to convert, and nothing that could be won by it.
//!
//! ```text
//!            calls    as pro   pro   free   pro   pro
//! pro,  3:   left        2      1     0     0 (denied)
//! free, 1:   left        0      0     0 (denied)
//! ```
//!
//! **Promise**: what is admitted is within the larger of the parameters, whatever the changes. A client that stays
//! under one set is judged to the nanosecond as by that set alone.

use std::sync::Arc;
use std::time::Duration;

use crate::algorithm::{Algorithm, CarriedOver, Timeline};
use crate::clock::Time;
use crate::decision::Decision;
use crate::key::Key;
use crate::plans::PlanName;

/// Whose parameters they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum TermsOf {
    /// Those of the endpoint, for whoever has no others.
    Everybody,
    /// A plan's.
    Plan(PlanName),
    /// One client's. Only that client has an account under them.
    Client(Key),
}

/// Parameters, and whose they are.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Terms<A> {
    pub(crate) of: TermsOf,
    pub(crate) algorithm: A,
}

/// An algorithm under several sets of parameters, one of which judges.
#[derive(Clone, Debug)]
pub(crate) struct Planned<A> {
    /// In the order of whose they are: those for all keys come first.
    terms: Arc<[Terms<A>]>,
    /// How many are for all keys.
    common: usize,
    /// Which of them judges.
    judge: usize,
}

/// What a limit under several sets of parameters keeps for a key: nothing for one never seen, else an account for each
/// set that is for all keys, and for those that are the client's own.
#[derive(Clone, Debug)]
pub(crate) struct PlannedState<S>(Box<[Account<S>]>);

#[derive(Clone, Debug)]
struct Account<S> {
    /// Which terms it is kept under.
    terms: usize,
    state: S,
    /// Whether it could take all of the last charge.
    is_whole_charge: bool,
}

impl<S> Default for PlannedState<S> {
    fn default() -> Self {
        Self(Box::default())
    }
}

impl<A: Algorithm> Planned<A> {
    /// At least one set of parameters.
    pub(crate) fn new(mut terms: Vec<Terms<A>>) -> Self {
        terms.sort_by_key(|terms| terms.of);
        let common = terms.partition_point(|terms| !matches!(terms.of, TermsOf::Client(_)));
        Self { terms: terms.into(), common, judge: 0 }
    }

    /// The parameters of everybody alone.
    pub(crate) fn of_everybody(algorithm: A) -> Self {
        Self::new(vec![Terms { of: TermsOf::Everybody, algorithm }])
    }

    /// Bytes an account takes for each key, beside what its state has on the heap.
    pub(crate) fn account_bytes(&self) -> usize {
        self.common.saturating_mul(size_of::<Account<A::State>>())
    }

    /// Where these terms stand, if they are among them.
    pub(crate) fn position(&self, of: TermsOf) -> Option<usize> {
        self.terms.binary_search_by_key(&of, |terms| terms.of).ok()
    }

    /// The parameters that judge.
    pub(crate) fn judge(&self) -> &A {
        &self.terms[self.judge].algorithm
    }

    /// A state kept by everybody's parameters alone, as it is under these.
    pub(crate) fn state_of(
        &self,
        state: A::State,
        now: Time,
        from: &A,
    ) -> (PlannedState<A::State>, CarriedOver) {
        let account = Account { terms: 0, state, is_whole_charge: false };
        let mut planned = PlannedState(Box::new([account]));
        let carried = self.carry_over(&mut planned, now, &Self::of_everybody(from.clone()));
        (planned, carried)
    }

    /// The state that judges, as it stands or would begin.
    pub(crate) fn judged_state(&self, state: &PlannedState<A::State>, now: Time) -> A::State {
        match state.account(self.judge) {
            Some(account) => account.state.clone(),
            None => self.opened(state, self.judge, now, self),
        }
    }

    /// What an account begins with that is not there: as strict as all that are.
    fn opened(
        &self,
        state: &PlannedState<A::State>,
        terms: usize,
        now: Time,
        from: &Self,
    ) -> A::State {
        let algorithm = &self.terms[terms].algorithm;
        let mut opened = A::State::default();
        for account in &state.0 {
            let mut carried = account.state.clone();
            algorithm.carry_over(&mut carried, now, &from.terms[account.terms].algorithm);
            algorithm.join(&mut opened, &carried, now);
        }
        opened
    }

    /// The account under terms that were there before too; as it is, where they are the same.
    fn carried_over(
        &self,
        terms: usize,
        (state, now, from): (&PlannedState<A::State>, Time, &Self),
    ) -> Option<(Account<A::State>, CarriedOver)> {
        let after = &self.terms[terms];
        let before = from.position(after.of)?;
        let mut account = Account { terms, ..state.account(before)?.clone() };
        let algorithm = &from.terms[before].algorithm;
        let outcome = if *algorithm == after.algorithm {
            CarriedOver::Whole
        } else {
            after.algorithm.carry_over(&mut account.state, now, algorithm)
        };
        Some((account, outcome))
    }

    /// Opens the accounts that a charge needs: those of all keys, and the one that judges.
    fn open(&self, state: &mut PlannedState<A::State>, now: Time) {
        let own = (self.judge >= self.common).then_some(self.judge);
        let is_open = |terms: usize| state.account(terms).is_some();
        let missing = (0..self.common).chain(own).filter(|terms| !is_open(*terms));
        let opened: Vec<_> = missing
            .map(|terms| Account {
                terms,
                state: self.opened(state, terms, now, self),
                is_whole_charge: false,
            })
            .collect();
        state.add(opened);
    }
}

impl<S> PlannedState<S> {
    fn account(&self, terms: usize) -> Option<&Account<S>> {
        let position = self.0.binary_search_by_key(&terms, |account| account.terms).ok()?;
        self.0.get(position)
    }

    fn account_mut(&mut self, terms: usize) -> Option<&mut Account<S>> {
        let position = self.0.binary_search_by_key(&terms, |account| account.terms).ok()?;
        self.0.get_mut(position)
    }

    fn add(&mut self, accounts: Vec<Account<S>>) {
        if accounts.is_empty() {
            return;
        }
        let mut all: Vec<_> = std::mem::take(&mut self.0).into_vec();
        all.extend(accounts);
        all.sort_by_key(|account| account.terms);
        self.0 = all.into();
    }
}

impl<A: PartialEq> PartialEq for Planned<A> {
    /// The same parameters of the same; which of them judges is the caller's.
    fn eq(&self, other: &Self) -> bool {
        self.terms == other.terms
    }
}

impl<A: Algorithm> Algorithm for Planned<A> {
    type State = PlannedState<A::State>;

    const TIMELINE: Timeline = A::TIMELINE;

    fn limit(&self) -> u32 {
        self.judge().limit()
    }

    fn decide(&self, state: &Self::State, now: Time, cost: u32) -> Decision {
        match state.account(self.judge) {
            Some(account) => self.judge().decide(&account.state, now, cost),
            None => self.judge().decide(&self.opened(state, self.judge, now, self), now, cost),
        }
    }

    fn charge(&self, state: &mut Self::State, now: Time, cost: u32) {
        self.open(state, now);
        let Some(account) = state.account_mut(self.judge) else { return };
        let mut judged = std::mem::take(&mut account.state);
        self.judge().charge(&mut judged, now, cost);
        for account in state.0.iter_mut().filter(|account| account.terms != self.judge) {
            let algorithm = &self.terms[account.terms].algorithm;
            let beside = (self.judge(), &judged);
            account.is_whole_charge =
                algorithm.charge_beside(&mut account.state, now, cost, beside);
        }
        if let Some(account) = state.account_mut(self.judge) {
            (account.state, account.is_whole_charge) = (judged, true);
        }
    }

    fn views(&self) -> Vec<Self> {
        (0..self.terms.len()).map(|judge| Self { judge, ..self.clone() }).collect()
    }

    /// The accounts that took all of the charge, each with its trace.
    fn other_traces(&self, state: &Self::State) -> Vec<[u64; 2]> {
        let whole = state.0.iter().filter(|account| account.is_whole_charge);
        whole
            .flat_map(|account| {
                let terms = u64::try_from(account.terms).unwrap_or(u64::MAX);
                [[terms, 0], self.terms[account.terms].algorithm.trace(&account.state)]
            })
            .collect()
    }

    /// To the accounts that took all of the charge. The others were used up by it, or before: of them nobody can say
    /// what they would have.
    fn refund_all(
        &self,
        state: &mut Self::State,
        now: Time,
        cost: u32,
        traces: &[[u64; 2]],
    ) -> bool {
        let mut refunded = false;
        for pair in traces.chunks_exact(2) {
            let [[terms, _], trace] = pair else { continue };
            let terms = usize::try_from(*terms).unwrap_or(usize::MAX);
            if let Some(account) = state.account_mut(terms) {
                let algorithm = &self.terms[terms].algorithm;
                refunded |= algorithm.refund(&mut account.state, now, cost, *trace);
            }
        }
        refunded
    }

    fn most_in(&self, time: Duration) -> Option<u64> {
        self.judge().most_in(time)
    }

    fn quota_window(&self) -> Option<Duration> {
        self.judge().quota_window()
    }

    /// That of the account with most.
    fn debt(&self, state: &Self::State, now: Time) -> u64 {
        let debts = state
            .0
            .iter()
            .map(|account| self.terms[account.terms].algorithm.debt(&account.state, now));
        debts.max().unwrap_or(0)
    }

    /// Account by account.
    fn join(&self, state: &mut Self::State, other: &Self::State, now: Time) {
        let mut missing = Vec::new();
        for theirs in &other.0 {
            match state.account_mut(theirs.terms) {
                Some(ours) => {
                    let algorithm = &self.terms[theirs.terms].algorithm;
                    algorithm.join(&mut ours.state, &theirs.state, now);
                }
                None => missing.push(theirs.clone()),
            }
        }
        state.add(missing);
    }

    fn enter(&self, cell: &Self::State, now: Time) -> Self::State {
        let entered = cell.0.iter().map(|account| Account {
            state: self.terms[account.terms].algorithm.enter(&account.state, now),
            ..account.clone()
        });
        PlannedState(entered.collect())
    }

    /// Each account goes on under the parameters of the same; under those that are new it begins as strict as all
    /// accounts before.
    fn carry_over(&self, state: &mut Self::State, now: Time, from: &Self) -> CarriedOver {
        let mut outcome = CarriedOver::Whole;
        let mut carried = Vec::new();
        for terms in 0..self.terms.len() {
            if let Some((account, one)) = self.carried_over(terms, (state, now, from)) {
                carried.push(account);
                outcome = if one == CarriedOver::Forgiven { one } else { outcome };
            } else if terms < self.common && !state.0.is_empty() {
                let opened = self.opened(state, terms, now, from);
                carried.push(Account { terms, state: opened, is_whole_charge: false });
            }
        }
        state.0 = carried.into();
        outcome
    }
}
