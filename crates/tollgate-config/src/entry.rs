//! What one endpoint gets: what stands behind `default`, or in one entry of `endpoints`.

use std::collections::BTreeSet;
use std::time::Duration;

use tollgate::algorithm::WINDOW_MS;
use tollgate::{Policy, unknown_shared_limit};

use crate::fields::Fields;
use crate::findings::Findings;
use crate::limits::{Bounds, LimitReader};
use crate::names::{
    ALGO_CONFIG, ALGORITHM, BLOCK_FOR, COST, DEFAULT, DENIALS, ENDPOINT, ENDPOINTS, ENTRY_FIELDS,
    EXEMPT, LIMITER_FIELDS, PENALTY, PENALTY_FIELDS, USE,
};
use crate::overrides::read_overrides;
use crate::plans::PlanReader;
use crate::rule::RuleReader;
use crate::tree::{Node, Position};

/// Reads the entries of one file, by what all of them share.
#[derive(Debug)]
pub(crate) struct EntryReader<'a> {
    /// The algorithms known, and the bounds given at the top.
    pub(crate) limits: LimitReader<'a>,
    /// The names of the limits that entries share, of those with faults too.
    pub(crate) shared: BTreeSet<&'a str>,
    /// The shared limits that every entry uses, known or not.
    pub(crate) every: Vec<&'a str>,
    /// The plans there are.
    pub(crate) plans: PlanReader<'a>,
}

impl EntryReader<'_> {
    /// Reads `default`.
    pub(crate) fn read_default(&self, node: &Node, findings: &mut Findings) -> Option<Policy> {
        let expected = format!("a map with `{ALGORITHM}` and `{ALGO_CONFIG}`");
        let fields = Fields::of(node, &format!("`{DEFAULT}`"), &expected, findings)?;
        findings.about(DEFAULT.to_owned(), |findings| {
            fields.refuse_unknown(LIMITER_FIELDS, findings);
            self.read_policy(&fields, findings)
        })
    }

    /// Reads the entry of `endpoints` with this number, counted from 1: the endpoint's name and what it gets.
    pub(crate) fn read_entry(
        &self,
        number: usize,
        node: &Node,
        findings: &mut Findings,
    ) -> Option<(String, Policy)> {
        let position = format!("entry {number} of `{ENDPOINTS}`");
        let expected = format!("a map with `{ENDPOINT}`, `{ALGORITHM}` and `{ALGO_CONFIG}`");
        let fields = Fields::of(node, &position, &expected, findings)?;
        let subject = match endpoint_of(node) {
            Some(endpoint) => format!("endpoint {endpoint:?}"),
            None => position,
        };
        findings.about(subject, |findings| {
            let endpoint = fields.text(ENDPOINT, "a text, such as \"/search\"", findings);
            fields.refuse_unknown(ENTRY_FIELDS, findings);
            let policy = self.read_policy(&fields, findings);
            Some((endpoint?.to_owned(), policy?))
        })
    }

    fn read_policy(&self, fields: &Fields<'_>, findings: &mut Findings) -> Option<Policy> {
        let uses = fields.texts(USE, "the names of shared limits", findings);
        for (name, place) in &uses {
            self.refuse_unknown_shared_limit(name, *place, findings);
        }
        let exempt = fields.texts(EXEMPT, "the names of clients", findings);
        let cost = fields.whole(COST, 1..=u64::from(u32::MAX), findings).unwrap_or(1);
        let penalty = read_penalty(fields, findings);
        let bounds = Bounds::read(fields, findings).within(self.limits.bounds);
        let names = uses.iter().map(|(name, _)| *name);
        let rules = RuleReader {
            limits: LimitReader { bounds, ..self.limits },
            shared: self.every.iter().copied().chain(names).collect(),
        };
        let rule = rules.read(fields, &[USE, PENALTY], findings);
        let plans = self.plans.read_plans(fields, &rules, findings);
        let overrides = read_overrides(fields, &rules, findings);
        let policy = uses.iter().fold(rule?.into(), |policy: Policy, (name, _)| policy.uses(*name));
        let policy = plans.into_iter().fold(policy, |policy, (plan, rule)| policy.plan(plan, rule));
        let policy = overrides.into_iter().fold(policy, |policy, other| other.add_to(policy));
        let policy = policy.exempt(exempt.iter().map(|(client, _)| *client)).cost(cost);
        Some(match penalty {
            Some((denials, block_for)) => policy.penalty(denials, block_for),
            None => policy,
        })
    }

    /// Finds fault with the name of a shared limit that is not there.
    pub(crate) fn refuse_unknown_shared_limit(
        &self,
        name: &str,
        place: Position,
        findings: &mut Findings,
    ) {
        if !self.shared.contains(name) {
            findings.at(place, unknown_shared_limit(name, &self.shared));
        }
    }
}

/// Reads after how many denials in a row a client is blocked, and for how long.
fn read_penalty(fields: &Fields<'_>, findings: &mut Findings) -> Option<(u64, Duration)> {
    let node = &fields.get(PENALTY)?.value;
    let expected = format!("a map with `{DENIALS}` and `{BLOCK_FOR}`");
    let fields = Fields::of(node, &format!("`{PENALTY}`"), &expected, findings)?;
    findings.about(PENALTY.to_owned(), |findings| {
        fields.refuse_unknown(&PENALTY_FIELDS, findings);
        fields.required(DENIALS, "how many denials in a row", findings);
        let denials = fields.whole(DENIALS, Policy::PENALTY_DENIALS, findings);
        let block_for = fields.duration(BLOCK_FOR, WINDOW_MS, findings);
        denials.zip(block_for)
    })
}

/// The endpoint that an entry names, if it does.
pub(crate) fn endpoint_of(node: &Node) -> Option<&str> {
    node.get(ENDPOINT).and_then(Node::as_text)
}
