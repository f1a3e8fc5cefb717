//! What a client gets of an endpoint: an algorithm, limits with names, or a word for the extremes. So it stands on an
//! entry, in its plans and in its overrides.

use std::collections::BTreeSet;

use tollgate::{Policy, Rule};

use crate::fields::Fields;
use crate::findings::Findings;
use crate::limits::{LimitReader, name_of};
use crate::names::{ALGO_CONFIG, ALGORITHM, DENY, LIMITS, UNLIMITED, USE};
use crate::tree::Node;

/// Reads what the clients of one entry get.
#[derive(Debug)]
pub(crate) struct RuleReader<'a> {
    /// The algorithms known, and the bounds that the entry gives.
    pub(crate) limits: LimitReader<'a>,
    /// The names of the shared limits that the entry uses.
    pub(crate) shared: BTreeSet<&'a str>,
}

/// The ways to say what a client gets, of which a rule has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    One,
    Limits,
    Unlimited,
    Deny,
}

impl RuleReader<'_> {
    /// Reads a rule. It stands beside the fields of `company`, which do not go with the extremes.
    pub(crate) fn read(
        &self,
        fields: &Fields<'_>,
        company: &[&'static str],
        findings: &mut Findings,
    ) -> Option<Rule> {
        match form_of(fields, company, findings)? {
            Form::Unlimited => Some(Rule::unlimited()),
            Form::Deny => Some(Rule::deny()),
            Form::One => Some(self.limits.read_limiter(fields, findings)?.into()),
            Form::Limits => {
                let own = fields.get(LIMITS).map(|entry| &entry.value);
                self.refuse_misfits(own.unwrap_or_else(|| fields.node()), findings);
                let read = own.map(|own| self.limits.read_list(own, LIMITS, findings));
                Some(Rule::limits(read.unwrap_or_else(|| Some(Vec::new()))?))
            }
        }
    }

    /// Finds fault with limits that bear the name of one that is used, with none at all, and with too many.
    fn refuse_misfits(&self, own: &Node, findings: &mut Findings) {
        let nodes = own.as_list().unwrap_or_default();
        for node in nodes {
            if let Some(name) = name_of(node).filter(|name| self.shared.contains(name)) {
                let message =
                    format!("limit {name:?} has the name of a shared limit that is used here");
                findings.at(node, message);
            }
        }
        let is_list = own.as_list().is_some();
        match nodes.len().saturating_add(self.shared.len()) {
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

/// Which way an entry says what its endpoint gets; two of them are a fault.
fn form_of(fields: &Fields<'_>, company: &[&'static str], findings: &mut Findings) -> Option<Form> {
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
    let beside = company.iter().copied().find(|name| fields.get(name).is_some());
    let other = given.next().map(|(other, _)| other).or_else(|| beside.filter(|_| is_extreme));
    let Some(other) = other else { return Some(form) };
    if let Some(entry) = fields.get(other) {
        let message = format!("`{name}` and `{other}` do not go together; keep one of them");
        findings.at(entry, message);
    }
    None
}
