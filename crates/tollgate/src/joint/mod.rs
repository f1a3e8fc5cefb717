//! Several limits that decide a call together: all are charged, or none is.
//!
//! A decision holds the locks of all its limits at once. It takes them one by one, has each judge as it is reached, and
//! when the last has judged, charges and lets go, the last lock first. No lock is taken once one was let go, and
//! all threads take locks in one order (clients' first, then tenants', then the global ones, and stores of one scope
//! by their rank). So decisions are as if made one after another, and no two wait for each other.

mod member;
mod verdict;

use std::sync::Arc;
use std::time::Duration;

pub(crate) use self::member::JointMember;
use self::verdict::{Ledger, Verdict};
use crate::clock::Time;
use crate::concurrency::{Permit, Places};
use crate::decision::{CallError, RateLimitResult, TenantMissing};
use crate::key::Key;
use crate::limit::{Mode, Scope};
use crate::limit_name::LimitName;
use crate::limiter::{Decided, DecidedEach, Environment, Limiter, Request};
use crate::member::{Asked, Member};
use crate::receipt::Receipt;
use crate::store::{Counts, ResetReport};
use crate::tally::Tally;

/// What results call a block for too many denials.
const PENALTY: &str = "penalty";

/// Limits that decide together.
#[derive(Debug)]
pub(crate) struct JointLimiter {
    /// In the order in which locks are taken.
    members: Box<[JointMember]>,
    /// Where in them those begin that count everybody's calls together.
    first_ceiling: usize,
    /// Which of them counts by tenant and denies, if any does.
    by_tenant: Option<usize>,
    /// Blocks clients who were denied too often in a row. Its lock is taken before all others.
    penalty: Option<Arc<dyn Member>>,
    penalty_name: LimitName,
    environment: Environment,
    /// Outlives reloads.
    tally: Arc<Tally>,
}

/// A call at the time it is judged by, of the clock; each limit takes it to its own timeline.
#[derive(Clone, Copy, Debug)]
struct TimedCall {
    request: Request,
    now: Time,
    says_when_it_ends: bool,
}

impl JointLimiter {
    /// Limits in the order of the config.
    pub(crate) fn new(
        mut members: Vec<JointMember>,
        penalty: Option<Arc<dyn Member>>,
        environment: Environment,
        tally: Arc<Tally>,
    ) -> Self {
        members.sort_by_key(|member| (member.scope, member.limiter.rank()));
        let lacks_tenant =
            |member: &JointMember| member.scope == Scope::Tenant && member.mode == Mode::Enforce;
        Self {
            first_ceiling: members.partition_point(|member| member.scope < Scope::Global),
            by_tenant: members.iter().position(lacks_tenant),
            members: members.into(),
            penalty,
            penalty_name: LimitName::of(PENALTY),
            environment,
            tally,
        }
    }

    /// Judges a call and charges it where all limits allow it.
    fn decide_with(&self, request: &Request, mut verdict: Verdict<'_>) -> RateLimitResult {
        let now = request.time().unwrap_or_else(|| self.environment.now());
        let says_when_it_ends = verdict.gathers_places();
        let call = TimedCall { request: *request, now, says_when_it_ends };
        if let Some(missing) = self.tenant_missing(request) {
            return missing;
        }
        match &self.penalty {
            None => self.hear(&call, &mut verdict),
            Some(penalty) => self.hear_unless_blocked(&**penalty, &call, &mut verdict),
        }
        self.tally.count(request.key(), verdict.allows());
        verdict.into_result()
    }

    /// Has all limits judge, and charges where they agree.
    #[inline]
    fn hear(&self, call: &TimedCall, verdict: &mut Verdict<'_>) {
        let (_, ceilings) = self.members.split_at(self.first_ceiling);
        let denies = ceilings.iter().any(|member| call.now < member.known_to_deny_until());
        if !(denies && self.hear_one_by_one(call, verdict)) {
            Self::hear_together(&self.members, call, verdict);
        }
    }

    /// The same while the client's row of denials is held: it grows by a denial, and ends with a call that passes.
    fn hear_unless_blocked(
        &self,
        penalty: &dyn Member,
        call: &TimedCall,
        verdict: &mut Verdict<'_>,
    ) {
        let asked = Asked {
            key: call.request.key(),
            now: call.now,
            cost: 1,
            says_when_it_ends: call.says_when_it_ends,
        };
        penalty.hold(asked, &mut |held| {
            if !held.judge() {
                return verdict.block(held.said(), self.penalty_name);
            }
            self.hear(call, verdict);
            if verdict.denies_for_now() {
                held.charge();
                if !held.judge() {
                    verdict.block(held.said(), self.penalty_name);
                }
            } else if verdict.allows() && call.request.costs() > 0 {
                held.forget();
            }
        });
    }

    /// Has the limits judge, each while the locks of those before it are held, and charges.
    fn hear_together(members: &[JointMember], call: &TimedCall, verdict: &mut Verdict<'_>) {
        let Some((member, rest)) = members.split_first() else { return };
        let Some(asked) = member.asked(call) else {
            return Self::hear_together(rest, call, verdict);
        };
        if rest.is_empty() && verdict.allows() {
            return member.limiter.hold(asked, &mut |held| {
                let decided = held.decide();
                let allowed = decided.allowed();
                verdict.note(member, decided);
                if allowed {
                    verdict.keep(held);
                } else {
                    member.hear_denial(held, call, verdict);
                }
            });
        }
        member.limiter.hold(asked, &mut |held| {
            let allowed = held.judge();
            if !allowed {
                member.hear_denial(held, call, verdict);
            }
            Self::hear_together(rest, call, verdict);
            if allowed && verdict.allows() {
                verdict.note(member, held.charge());
                return verdict.keep(held);
            }
            if allowed {
                held.restate();
            }
            verdict.note(member, held.said());
        });
    }

    /// Where a ceiling denies, so does the whole, whatever the others say: all are asked for their figures one after
    /// another, and no lock is held while another is waited for. Says whether one did deny.
    fn hear_one_by_one(&self, call: &TimedCall, verdict: &mut Verdict<'_>) -> bool {
        let (others, ceilings) = self.members.split_at(self.first_ceiling);
        if !ceilings.iter().any(|member| member.denies(call)) {
            return false;
        }
        for member in others.iter().chain(ceilings) {
            let Some(asked) = member.asked(call) else { continue };
            member.limiter.hold(asked, &mut |held| {
                if held.judge() {
                    held.restate();
                } else {
                    verdict.hear_denial(member, held.said());
                }
                verdict.note(member, held.said());
            });
        }
        let denied = !verdict.allows();
        if !denied {
            // What the ceiling had to give came back meanwhile.
            verdict.start_again();
        }
        denied
    }

    /// The denial by the first limit that lacks a tenant to count by.
    fn tenant_missing(&self, request: &Request) -> Option<RateLimitResult> {
        let member = self.members.get(self.by_tenant?)?;
        if request.tenant_key().is_some() {
            return None;
        }
        let limit = member.limiter.limit();
        Some(TenantMissing::said_by(member.name, limit).result())
    }

    /// The only limit, where there is but one that is this endpoint's own.
    fn only(&self) -> Option<&JointMember> {
        match &*self.members {
            [only] if only.mode == Mode::Enforce && !only.shared && self.penalty.is_none() => {
                Some(only)
            }
            _ => None,
        }
    }
}

impl Limiter for JointLimiter {
    fn decide(&self, request: Request) -> Decided {
        match self.only().map(|only| (only, only.request(&request))) {
            Some((only, Some(own))) => only.name_result(only.limiter.decide(own), &request),
            Some((_, None)) | None => {
                self.decide_with(&request, Verdict::default()).possible_at(request.costs())
            }
        }
    }

    fn decide_each(&self, request: Request) -> DecidedEach {
        let mut ledger = Ledger::default();
        let result = self.decide_with(&request, Verdict::kept_in(&mut ledger));
        let decided = result.possible_at(request.costs());
        DecidedEach { decided, limits: ledger.into_each() }
    }

    fn decide_with_receipt(&self, request: Request) -> (Decided, Receipt) {
        let mut ledger = Ledger::default();
        let result = self.decide_with(&request, Verdict::kept_in(&mut ledger));
        let decided = result.possible_at(request.costs());
        (decided, Receipt::of(ledger.into_charges(), &self.environment))
    }

    fn acquire(&self, request: Request) -> Result<Permit, CallError> {
        let mut places = Places::default();
        let result = self.decide_with(&request, Verdict::with_places(&mut places));
        Ok(Permit::new(result.possible_at(request.costs())?, places))
    }

    /// The figures are those of each limit at a moment during the call.
    fn look(&self, request: Request) -> Decided {
        let request = request.or_at(self.environment.now());
        if let Some(missing) = self.tenant_missing(&request) {
            return missing.possible_at(request.costs());
        }
        let mut verdict = Verdict::default();
        for member in &self.members {
            let Some(own) = member.request(&request) else { continue };
            let result = member.limiter.look(own).unwrap_or_else(|error| error.result());
            if !result.allowed() {
                verdict.hear_denial(member, &result);
            }
            verdict.note(member, &result);
        }
        if let Some(penalty) = &self.penalty {
            let blocked = penalty.look(request.cost(1)).unwrap_or_else(|error| error.result());
            if !blocked.allowed() {
                verdict.block(&blocked, self.penalty_name);
            }
        }
        verdict.into_result().possible_at(request.costs())
    }

    /// The longest of what the enforced limits say: each is served no sooner than all the others allow, so it is no
    /// promise where they deny in turn.
    fn wait_behind(&self, before: &[u64], request: Request) -> Result<Option<Duration>, CallError> {
        let request = request.or_at(self.environment.now());
        let result = self.look(request)?;
        if !result.allowed() && result.retry_after_ms().is_none() {
            return Ok(None);
        }
        let mut longest = result.retry_after_ms().map(Duration::from_millis).unwrap_or_default();
        for member in self.members.iter().filter(|member| member.mode == Mode::Enforce) {
            let Some(own) = member.request(&request) else { continue };
            let times = u64::from(member.times);
            let costs: Vec<_> = before.iter().map(|cost| cost.saturating_mul(times)).collect();
            match member.limiter.wait_behind(&costs, own)? {
                Some(wait) => longest = longest.max(wait),
                None => return Ok(None),
            }
        }
        Ok(Some(longest))
    }

    fn key(&self, name: &str) -> Key {
        self.environment.hasher().key(name)
    }

    fn now(&self) -> Time {
        self.environment.now()
    }

    /// Forgets what a client has used of the limits that count by client. What tenants and all together have used is
    /// not the client's.
    fn reset(&self, name: &str) -> ResetReport {
        let mut report = ResetReport::default();
        let by_client = self.members.iter().filter(|member| member.scope == Scope::Client);
        for limiter in by_client.map(|member| &member.limiter).chain(&self.penalty) {
            let own = limiter.reset(name);
            report.had_state |= own.had_state;
            report.inherits_debt |= own.inherits_debt;
        }
        report
    }

    /// Calls as they were decided together; keys and evictions of the limits that are this endpoint's own.
    fn counts(&self) -> Counts {
        if let Some(only) = self.only() {
            return only.limiter.counts();
        }
        let mut counts = Counts::default();
        for member in self.members.iter().filter(|member| !member.shared) {
            counts.add(&member.limiter.counts());
        }
        let Counts { allowed, denied, .. } = self.tally.counts();
        Counts { allowed, denied, ..counts }
    }

    /// The common case, without the detour by an error.
    fn allow(&self, name: &str) -> RateLimitResult {
        let request = Request::new(self.key(name));
        match self.only() {
            Some(_) => self.decide(request).unwrap_or_else(|error| error.result()),
            None => self.decide_with(&request, Verdict::default()),
        }
    }

    fn limit(&self) -> u32 {
        let enforced = self.members.iter().filter(|member| member.mode == Mode::Enforce);
        let limit = |member: &JointMember| {
            member.limiter.limit().checked_div(member.times).unwrap_or(u32::MAX)
        };
        enforced.map(limit).min().unwrap_or(u32::MAX)
    }
}
