//! What one endpoint gets: what stands behind `default`, or in one entry of `endpoints`.

use std::collections::BTreeSet;
use std::time::Duration;

use tollgate::algorithm::WINDOW_MS;
use tollgate::{Policy, unknown_shared_limit};

use crate::fields::Fields;
use crate::findings::Findings;
use crate::limits::{Bounds, LimitReader, name_of};
use crate::names::{
    ALGO_CONFIG, ALGORITHM, BLOCK_FOR, COST, DEFAULT, DENIALS, DENY, ENDPOINT, ENDPOINTS,
    ENTRY_FIELDS, EXEMPT, LIMITER_FIELDS, LIMITS, PENALTY, PENALTY_FIELDS, UNLIMITED, USE,
};
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
}

/// The ways to say what an endpoint gets, of which an entry has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    One,
    Limits,
    Unlimited,
    Deny,
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
        let form = form_of(fields, findings);
        let uses = fields.texts(USE, "the names of shared limits", findings);
        self.refuse_unknown_uses(&uses, findings);
        let exempt = fields.texts(EXEMPT, "the names of clients", findings);
        let cost = fields.whole(COST, 1..=u64::from(u32::MAX), findings).unwrap_or(1);
        let penalty = read_penalty(fields, findings);
        let bounds = Bounds::read(fields, findings).within(self.limits.bounds);
        let limits = LimitReader { bounds, ..self.limits };
        let policy = match form? {
            Form::Unlimited => Policy::unlimited(),
            Form::Deny => Policy::deny(),
            Form::One => self.limits.read_limiter(fields, findings)?.into(),
            Form::Limits => {
                let own = fields.get(LIMITS).map(|entry| &entry.value);
                self.refuse_misfits(own.unwrap_or_else(|| fields.node()), &uses, findings);
                let read = own.map(|own| limits.read_list(own, LIMITS, findings));
                Policy::limits(read.unwrap_or_else(|| Some(Vec::new()))?)
            }
        };
        let policy = uses.iter().fold(policy, |policy, (name, _)| policy.uses(*name));
        let policy = policy.exempt(exempt.iter().map(|(client, _)| *client)).cost(cost);
        Some(match penalty {
            Some((denials, block_for)) => policy.penalty(denials, block_for),
            None => policy,
        })
    }

    fn refuse_unknown_uses(&self, uses: &[(&str, Position)], findings: &mut Findings) {
        for (name, place) in uses {
            self.refuse_unknown_shared_limit(name, *place, findings);
        }
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

    /// Finds fault with limits that bear the name of one that is used, with none at all, and with too many.
    fn refuse_misfits(&self, own: &Node, uses: &[(&str, Position)], findings: &mut Findings) {
        let shared: BTreeSet<_> =
            self.every.iter().copied().chain(uses.iter().map(|(name, _)| *name)).collect();
        let nodes = own.as_list().unwrap_or_default();
        for node in nodes {
            if let Some(name) = name_of(node).filter(|name| shared.contains(name)) {
                let message =
                    format!("limit {name:?} has the name of a shared limit that is used here");
                findings.at(node, message);
            }
        }
        let is_list = own.as_list().is_some();
        match nodes.len().saturating_add(shared.len()) {
            0 if is_list => {
                let expected = format!("expected at least one, or `{UNLIMITED}: true`");
                findings.at(own, format_args!("`{LIMITS}` is empty; {expected}"));
            }
            count if count > Policy::LIMITS_MAX => {
                let most = Policy::LIMITS_MAX;
                findings.at(own, format_args!("{count} limits; expected at most {most}"));
            }
            _ => {}
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

/// Which way an entry says what its endpoint gets; two of them are a fault.
fn form_of(fields: &Fields<'_>, findings: &mut Findings) -> Option<Form> {
    let is_true = |name, findings: &mut _| fields.flag(name, findings).unwrap_or(false);
    let (unlimited, deny) = (is_true(UNLIMITED, findings), is_true(DENY, findings));
    let one = [ALGORITHM, ALGO_CONFIG].into_iter().find(|name| fields.get(name).is_some());
    let given = [
        (one, Form::One),
        (fields.get(LIMITS).map(|_| LIMITS), Form::Limits),
        (unlimited.then_some(UNLIMITED), Form::Unlimited),
        (deny.then_some(DENY), Form::Deny),
    ];
    let mut given = given.into_iter().filter_map(|(name, form)| Some((name?, form)));
    let Some((name, form)) = given.next() else {
        // Only shared limits, or nothing: then the short form is what is missing.
        let form = if fields.get(USE).is_some() { Form::Limits } else { Form::One };
        return Some(form);
    };
    let is_extreme = matches!(form, Form::Unlimited | Form::Deny);
    let beside = [USE, PENALTY].into_iter().find(|name| fields.get(name).is_some());
    let other = given.next().map(|(other, _)| other).or_else(|| beside.filter(|_| is_extreme));
    let Some(other) = other else { return Some(form) };
    if let Some(entry) = fields.get(other) {
        let message = format!("`{name}` and `{other}` do not go together; keep one of them");
        findings.at(entry, message);
    }
    None
}

/// The endpoint that an entry names, if it does.
pub(crate) fn endpoint_of(node: &Node) -> Option<&str> {
    node.get(ENDPOINT).and_then(Node::as_text)
}
