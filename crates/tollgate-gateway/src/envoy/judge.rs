//! What is asked of a request's descriptors, and decided of all of them together.
//!
//! Each descriptor is a decision of its own, in the order they came. If one says no, the request does not go on, so
//! what the others charged for it is given back: a denial costs nothing. (The reference service keeps what it charged.)

use std::sync::Arc;

use tollgate::{Decided, Limiter, RateLimitResult, Receipt, Request};

use super::mapping::{Meaning, Named};
use super::names;
use super::own_limits::{OwnLimiter, OwnLimits, TooManyLimits};
use super::question::{OwnLimit, Question};
use super::wire::Unit;
use crate::gate::Gate;
use crate::metrics::DescriptorOutcome;

/// What is asked of a descriptor.
#[derive(Debug)]
pub(super) enum Asked<'a> {
    /// Nothing, since no limit holds.
    Nothing,
    /// Nothing, since no limit can be found for what the client sent.
    Unclear,
    /// A limit of no requests.
    Never(Unit),
    /// The limits of an endpoint, at this cost or at what it costs.
    Endpoint(Named<'a>, Option<u64>),
    /// A limit that came with the request.
    Own(Own<'a>),
}

/// What is asked of a limit that came with the request.
#[derive(Debug)]
pub(super) struct Own<'a> {
    pub(super) limiter: Arc<OwnLimiter>,
    pub(super) unit: Unit,
    request: Request,
    /// Who calls what, where a rule says it.
    named: Option<Named<'a>>,
}

/// What is said of a descriptor.
#[derive(Clone, Copy, Debug)]
pub(super) enum Said {
    /// Yes, since no limit holds.
    Nothing,
    /// No, since no limit can be found for what the client sent.
    Unclear,
    /// No, says a limit of no requests.
    Never,
    /// What the limits of an endpoint say.
    Endpoint(RateLimitResult),
    /// What a limit says that came with the request.
    Own(RateLimitResult),
}

impl Said {
    /// What is counted of it.
    pub(super) const fn outcome(&self) -> DescriptorOutcome {
        match self {
            Self::Nothing => DescriptorOutcome::NoRule,
            Self::Unclear => DescriptorOutcome::Unclear,
            _ if self.allows() => DescriptorOutcome::Allowed,
            Self::Never | Self::Endpoint(_) | Self::Own(_) => DescriptorOutcome::Denied,
        }
    }

    /// Whether the request may go on, as far as this descriptor goes.
    pub(super) const fn allows(&self) -> bool {
        match self {
            Self::Nothing => true,
            Self::Unclear | Self::Never => false,
            Self::Endpoint(result) | Self::Own(result) => result.allowed(),
        }
    }
}

impl<'a> Asked<'a> {
    /// What a question comes to, whose entries have this meaning in this domain.
    pub(super) fn new(
        question: &Question<'a>,
        (domain, meaning): (&str, Meaning<'a>),
        own_limits: &OwnLimits,
        gate: &Gate,
    ) -> Result<Self, TooManyLimits> {
        match (meaning, question.limit) {
            (Meaning::Unclear, _) => Ok(Self::Unclear),
            (Meaning::Nothing, None) => Ok(Self::Nothing),
            (Meaning::Call(named), None) => Ok(Self::Endpoint(named, question.hits)),
            (_, Some(OwnLimit::Nothing(unit))) => Ok(Self::Never(unit)),
            (meaning, Some(OwnLimit::Window(window, unit))) => {
                let limiter = own_limits.limiter(window, gate.now())?;
                let key = limiter.limiter.key(&counted_as(question, domain, &meaning, gate));
                let request = Request::new(key).cost(question.hits.unwrap_or(1));
                let named = if let Meaning::Call(named) = meaning { Some(named) } else { None };
                Ok(Self::Own(Own { limiter, unit, request, named }))
            }
        }
    }

    /// Decides, and charges what is allowed.
    fn decide(&self, gate: &Gate) -> (Said, Option<Receipt>) {
        match self {
            Self::Nothing => (Said::Nothing, None),
            Self::Unclear => (Said::Unclear, None),
            Self::Never(_) => (Said::Never, None),
            Self::Endpoint(named, hits) => {
                let (decided, receipt) = gate.decide_with_receipt(&named.call(*hits));
                (Said::Endpoint(result(decided)), receipt)
            }
            Self::Own(own) => {
                let (decided, receipt) = own.decide(gate);
                (Said::Own(result(decided)), receipt)
            }
        }
    }

    /// What would be decided now.
    fn look(&self, gate: &Gate) -> Said {
        match self {
            Self::Nothing => Said::Nothing,
            Self::Unclear => Said::Unclear,
            Self::Never(_) => Said::Never,
            Self::Endpoint(named, hits) => Said::Endpoint(result(gate.look(&named.call(*hits)))),
            Self::Own(own) => Said::Own(result(own.look(gate))),
        }
    }
}

impl Own<'_> {
    fn decide(&self, gate: &Gate) -> (Decided, Option<Receipt>) {
        let decide = || self.limiter.limiter.decide_with_receipt(self.request);
        if let Some(named) = &self.named {
            return gate.decide_by(&named.call(None), decide);
        }
        let (decided, receipt) = decide();
        (decided, Some(receipt))
    }

    fn look(&self, gate: &Gate) -> Decided {
        let look = || self.limiter.limiter.look(self.request);
        match &self.named {
            Some(named) => gate.look_by(&named.call(None), look),
            None => look(),
        }
    }
}

/// Decides all descriptors of a request: all are charged, or none is.
pub(super) fn decide_together(asked: &[Asked<'_>], gate: &Gate) -> Vec<Said> {
    let decided: Vec<_> = asked.iter().map(|asked| asked.decide(gate)).collect();
    if decided.iter().all(|(said, _)| said.allows()) {
        return decided.into_iter().map(|(said, _)| said).collect();
    }
    for receipt in decided.iter().filter_map(|(_, receipt)| receipt.as_ref()) {
        // Nothing is given back where nothing was charged, or where a limit of somebody's own cannot.
        let _given_back = receipt.refund();
    }
    let now_stands = |(asked, (said, _)): (&Asked<'_>, (Said, _))| {
        if said.allows() { asked.look(gate) } else { said }
    };
    asked.iter().zip(decided).map(now_stands).collect()
}

/// A cost that no wait can meet and a tenant that is missing are denials: a client can bring about both.
fn result(decided: Decided) -> RateLimitResult {
    decided.unwrap_or_else(|error| error.result())
}

/// What a request is counted under by a limit that came with it: the endpoint's entry, the client and the tenant where
/// a rule says them, else all that the descriptor says.
fn counted_as(question: &Question<'_>, domain: &str, meaning: &Meaning<'_>, gate: &Gate) -> String {
    let Meaning::Call(named) = meaning else {
        let entries = &question.entries;
        let texts = entries.iter().flat_map(|entry| [&*entry.key, &*entry.value]);
        return names::tuple(["descriptor", domain].into_iter().chain(texts));
    };
    // All that no entry is listed for counts together, as it does without the limit: made-up paths win nothing.
    let entry = gate.limiter().entry(&named.endpoint);
    let entry = entry.as_deref().map_or(["default", ""], |entry| ["endpoint", entry]);
    names::tuple(entry.into_iter().chain([&*named.client]).chain(named.tenant))
}
