//! Why a call is decided as it is: which entry answers, by which limits, and the most that a client can get.

use std::time::Duration;

use crate::config::Config;
use crate::limit::{Mode, Scope};
use crate::rate_limiter::Call;
use crate::routes::{apart, is_pattern};
use crate::summary::{LimiterSummary, PolicyKind, PolicySummary};

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

/// What a [`Config`] does with a call, and why.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Explanation<'a> {
    /// Which entry answers.
    pub matched: Matched<'a>,
    /// What that entry says.
    pub policy: PolicySummary<'a>,
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
    pub fn explain<'a>(&'a self, call: &Call<'a>) -> Explanation<'a> {
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
        let limits = if is_exempt { Vec::new() } else { policy.charges() };
        let limits = limits.into_iter().map(explained).collect();
        let cost = call.cost_given().unwrap_or_else(|| policy.cost());
        Explanation { matched, policy, is_exempt, cost, limits }
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
        match self.policy.kind() {
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
