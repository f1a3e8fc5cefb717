//! The limiter of one endpoint, joined from its limits and those that are shared: one for all, or one for each plan.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use crate::by_plan::{ByPlan, Override};
use crate::config::Config;
use crate::endpoints::{RunningLimit, Tallies};
use crate::joint::{JointLimiter, JointMember};
use crate::keyed::Keyed;
use crate::limit::ValidLimit;
use crate::limit_name::LimitName;
use crate::limiter::{Environment, Limiter};
use crate::member::Member;
use crate::outright::{Entrance, Outright};
use crate::penalty::Penalty;
use crate::plans::{PlanFinder, PlanName};
use crate::policy::ValidPolicy;
use crate::rule::ValidRule;
use crate::summary::AppliesTo;

/// What the limiter of one endpoint is joined from.
#[derive(Debug)]
pub(crate) struct Joining<'a> {
    pub(crate) config: &'a Config,
    pub(crate) environment: &'a Environment,
    pub(crate) finder: &'a Arc<PlanFinder>,
    pub(crate) policy: &'a ValidPolicy,
    pub(crate) own: &'a [RunningLimit],
    pub(crate) shared: &'a [RunningLimit],
    pub(crate) penalty: Option<&'a Arc<Keyed<Penalty>>>,
    pub(crate) tallies: &'a Tallies,
}

impl Joining<'_> {
    /// The limiter of the endpoint.
    pub(crate) fn limiter(&self) -> Arc<dyn Limiter> {
        let limiter = if self.policy.is_the_same_for_all() {
            self.for_everybody()
        } else {
            Arc::new(self.by_plan())
        };
        let (cost, exempt) = (self.policy.cost, &self.policy.exempt);
        if exempt.is_empty() && cost == 1 {
            return limiter;
        }
        let tally = Arc::clone(&self.tallies.exempt);
        let unlimited = Outright::unlimited(self.environment.clone(), tally);
        Arc::new(Entrance::new(cost, exempt, unlimited, limiter))
    }

    fn for_everybody(&self) -> Arc<dyn Limiter> {
        let is_only = self.config.uses(self.policy).is_empty() && self.penalty.is_none();
        match (&self.policy.rule, self.own) {
            (ValidRule::One(_), [only]) if is_only => Arc::<dyn Member>::clone(&only.limiter),
            (rule, own) => {
                let member = |running: &RunningLimit| {
                    member(&running.limit, Arc::clone(&running.limiter), (1, false))
                };
                self.joined(rule, own.iter().map(member).collect())
            }
        }
    }

    /// The limiters of all plans, and of clients with an override.
    fn by_plan(&self) -> ByPlan {
        let policy = self.policy;
        let plans = policy.plans.iter().map(|plan| {
            let limiter = self.for_those(AppliesTo::Plan(&plan.name), &plan.rule);
            (PlanName::of(&plan.name), limiter)
        });
        let hasher = self.environment.hasher();
        let overrides = policy.overrides.iter().map(|other| {
            let limiter = self.for_those(AppliesTo::Client(&other.client), &other.rule);
            (hasher.key(&other.client), Override { until: other.until, limiter })
        });
        ByPlan {
            everybody: self.for_those(AppliesTo::Everybody, &policy.rule),
            plans: plans.collect(),
            overrides: overrides.collect(),
            finder: Arc::clone(self.finder),
            tables: self.own.iter().map(|running| Arc::clone(&running.limiter)).collect(),
            tally: Arc::clone(&self.tallies.together),
            environment: self.environment.clone(),
        }
    }

    /// The limiter of those that a rule is for, which see the tables of all as it says.
    fn for_those(&self, applies_to: AppliesTo<'_>, rule: &ValidRule) -> Arc<dyn Limiter> {
        let terms = applies_to.terms(self.environment.hasher());
        let member = |limit: &ValidLimit| {
            let running = self.own.iter().find(|running| running.limit.goes_on_as(limit))?;
            let table = &running.limiter;
            let limiter = table.seen_by(terms).unwrap_or_else(|| Arc::clone(table));
            // Others use it too, so its counts are not those of this limiter.
            Some(member(limit, limiter, (1, true)))
        };
        self.joined(rule, rule.own().iter().filter_map(member).collect())
    }

    /// Joins limits with those that endpoints share.
    fn joined(&self, rule: &ValidRule, mut members: Vec<JointMember>) -> Arc<dyn Limiter> {
        let (environment, tally) = (self.environment.clone(), Arc::clone(&self.tallies.together));
        match rule {
            ValidRule::Unlimited => return Arc::new(Outright::unlimited(environment, tally)),
            ValidRule::Deny => return Arc::new(Outright::blocked(environment, tally)),
            ValidRule::One(_) | ValidRule::Limits(_) => {}
        }
        let uses = self.config.uses(self.policy);
        members.extend(uses.iter().filter_map(|(limit, times)| {
            let running = self.shared.iter().find(|other| other.limit.name == limit.name)?;
            Some(member(&running.limit, Arc::clone(&running.limiter), (*times, true)))
        }));
        for (place, member) in members.iter_mut().enumerate() {
            member.place = place;
        }
        let penalty = self.penalty.map(|limiter| {
            let limiter: Arc<dyn Member> = Arc::<Keyed<Penalty>>::clone(limiter);
            limiter
        });
        Arc::new(JointLimiter::new(members, penalty, environment, tally))
    }
}

fn member(
    limit: &ValidLimit,
    limiter: Arc<dyn Member>,
    (times, shared): (u32, bool),
) -> JointMember {
    JointMember {
        name: LimitName::of(&limit.name),
        place: 0,
        scope: limit.scope,
        mode: limit.mode,
        times,
        shared,
        limiter,
        denies_until: AtomicU64::new(0),
    }
}
