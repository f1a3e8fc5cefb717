//! Why a call is decided as it is: which entry answers, by which limits, and the most that a client can get.

use std::time::Duration;

use crate::clock::Time;
use crate::config::Config;
use crate::limit::{Mode, Scope};
use crate::rate_limiter::Call;
use crate::routes::{apart, is_pattern};
use crate::summary::{AppliesTo, LimiterSummary, PolicyKind, PolicySummary, RuleSummary};
use crate::wall_clock::{SystemWallClock, WallClock};

/// Why an entry answers for an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Matched<'a> {
    /// It has the endpoint's very name.
    Exactly(&'a str),
    /// It has the path of `METHOD /path`, and no entry has the whole name.
    ByPath(&'a str),
    /// It is the most specific pattern that matches, and no entry has the name or the path.
    ByPattern(&'a str),
    /// No entry has the name, so the default answers.
    ByDefault,
}

/// The plan that a client is on, and by whose word. What comes first goes before what comes later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnPlan<'a> {
    /// It has limits of its own here, whatever its plan: an override that has not ended.
    Override,
    /// The operator gave the client this plan by its name.
    ByClient(&'a str),
    /// The call names this plan.
    ByCall(&'a str),
    /// The operator gave the plan to all clients whose names begin so.
    ByPrefix {
        /// The longest prefix of the client's name that has a plan.
        prefix: &'a str,
        /// The plan.
        plan: &'a str,
    },
    /// It is on no plan.
    None,
}

impl<'a> OnPlan<'a> {
    /// The plan.
    pub const fn name(self) -> Option<&'a str> {
        match self {
            Self::ByClient(plan) | Self::ByCall(plan) | Self::ByPrefix { plan, .. } => Some(plan),
            Self::Override | Self::None => None,
        }
    }
}

/// What a [`Config`] does with a call, and why.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Explanation<'a> {
    /// Which entry answers.
    pub matched: Matched<'a>,
    /// What that entry says.
    pub policy: PolicySummary<'a>,
    /// Which of its rules is for the client.
    pub rule: RuleSummary<'a>,
    /// The plan that the client is on, and by whose word.
    pub plan: OnPlan<'a>,
    /// The plan that the call names, where the config does not know it.
    pub unknown_plan: Option<&'a str>,
    /// Whether the client is exempt from it.
    pub is_exempt: bool,
    /// What the call costs.
    pub cost: u64,
    /// The limits that decide, in the order of the config; none for an exempt client.
    pub limits: Vec<Explained<'a>>,
}

/// One of the limits that decide.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Explained<'a> {
    /// What the config says of it.
    pub limit: LimiterSummary<'a>,
    /// The client or tenant it counts the call under; `None` for everybody, and where the call lacks a tenant.
    pub key: Option<&'a str>,
    /// How often the call is charged to it: as often as the entry names it.
    pub times: u32,
}

impl Config {
    /// What becomes of a call, and why. Nothing is decided.
    ///
    /// ```
    /// use std::time::Duration;
    /// use tollgate::{Call, Config, Matched, TokenBucket};
    ///
    /// let config = Config::builder()
    ///     .default(TokenBucket::per_second(1))
    ///     .endpoint("/search", TokenBucket::per_second(10))
    ///     .build()?;
    /// let explanation = config.explain(&Call::new("alice", "GET /search"));
    /// assert_eq!(explanation.matched, Matched::ByPath("/search"));
    /// assert_eq!(explanation.most_in(Duration::from_secs(60)), Some(610));
    /// # Ok::<(), tollgate::Faults>(())
    /// ```
    ///
    /// Whether an override has ended is told by the system's clock; [`explain_at`](Self::explain_at) takes another
    /// time.
    pub fn explain<'a>(&'a self, call: &Call<'a>) -> Explanation<'a> {
        self.explain_at(call, SystemWallClock::new().time_of_day())
    }

    /// The same at a time of day, counted from 1970.
    pub fn explain_at<'a>(&'a self, call: &Call<'a>, time_of_day: Time) -> Explanation<'a> {
        let matched = self.matched(call.endpoint_name());
        let policy = match matched {
            Matched::Exactly(name) | Matched::ByPath(name) | Matched::ByPattern(name) => {
                self.policies().find(|policy| policy.endpoint() == Some(name))
            }
            Matched::ByDefault => None,
        };
        let policy = policy.unwrap_or_else(|| self.default_policy());
        let is_exempt = policy.exempt().any(|client| client == call.client_name());
        let explained = |(limit, times): (LimiterSummary<'a>, u32)| {
            let key = match limit.scope {
                Scope::Client => Some(call.client_name()),
                Scope::Tenant => call.tenant_name(),
                Scope::Global => None,
            };
            Explained { limit, key, times }
        };
        let (plan, rule) = self.plan_of(call, (&policy, time_of_day));
        let limits = if is_exempt { Vec::new() } else { rule.charges() };
        let limits = limits.into_iter().map(explained).collect();
        let cost = call.cost_given().unwrap_or_else(|| policy.cost());
        let unknown_plan = call.plan_name().filter(|name| self.plans.unknown(name).is_some());
        Explanation { matched, policy, rule, plan, unknown_plan, is_exempt, cost, limits }
    }

    /// The plan of a call's client, and the rule of the policy that is for it.
    fn plan_of<'a>(
        &'a self,
        call: &Call<'a>,
        (policy, time_of_day): (&PolicySummary<'a>, Time),
    ) -> (OnPlan<'a>, RuleSummary<'a>) {
        let client = call.client_name();
        let rule_for = |to: AppliesTo<'_>| policy.rules().find(|rule| rule.applies_to() == to);
        let own = rule_for(AppliesTo::Client(client));
        if let Some(own) = own.filter(|own| own.until().is_none_or(|until| time_of_day < until)) {
            return (OnPlan::Override, own);
        }
        let by_client = self.plans.of_client(client).map(|plan| OnPlan::ByClient(plan));
        let named = call.plan_name().filter(|name| self.plans.unknown(name).is_none());
        let by_prefix = || {
            let (prefix, plan) = self.plans.of_prefix(client)?;
            Some(OnPlan::ByPrefix { prefix, plan })
        };
        let plan = by_client.or_else(|| named.map(OnPlan::ByCall)).or_else(by_prefix);
        let plan = plan.unwrap_or(OnPlan::None);
        let rule = plan.name().and_then(|name| rule_for(AppliesTo::Plan(name)));
        (plan, rule.unwrap_or_else(|| policy.everybody()))
    }

    /// Which entry answers for an endpoint, as the door finds it.
    fn matched(&self, endpoint: &str) -> Matched<'_> {
        let (method, path) = apart(endpoint);
        let named = |name: &str| {
            let mut names = self.endpoints.iter().map(|(name, _)| &**name);
            names.find(|entry| *entry == name && !is_pattern(entry))
        };
        let by_path = || Some(Matched::ByPath(method.and_then(|_| named(path))?));
        let by_pattern = || {
            let (name, _) = self.endpoints.get(self.routes.find(method, path)?)?;
            Some(Matched::ByPattern(name))
        };
        let found = named(endpoint).map(Matched::Exactly).or_else(by_path).or_else(by_pattern);
        found.unwrap_or(Matched::ByDefault)
    }
}

impl Explanation<'_> {
    /// The most of such calls that the client can get in any time of this length, whatever the others do: the least
    /// that an enforced limit allows. `None` where none tells.
    pub fn most_in(&self, time: Duration) -> Option<u64> {
        match self.rule.kind() {
            PolicyKind::Deny if !self.is_exempt => return Some(0),
            PolicyKind::Deny | PolicyKind::Unlimited | PolicyKind::Limits => {}
        }
        let enforced = self.limits.iter().filter(|it| it.limit.mode == Mode::Enforce);
        let most = |it: &Explained<'_>| {
            let units = it.limit.algorithm.most_in(time)?;
            let cost = self.cost.saturating_mul(u64::from(it.times));
            // What costs more than there ever is gets nothing.
            let fits = cost <= u64::from(it.limit.algorithm.limit());
            if fits { units.checked_div(cost) } else { Some(0) }
        };
        enforced.filter_map(most).min()
    }
}
