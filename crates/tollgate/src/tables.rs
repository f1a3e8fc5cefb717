//! Which limits of an endpoint's plans are one table of keys, with an account for each.

use crate::any_algorithm::AnyAlgorithm;
use crate::config::Bounds;
use crate::limit::ValidLimit;
use crate::planned::TermsOf;
use crate::policy::ValidPolicy;
use crate::summary::AppliesTo;

/// Limits of one name, scope and algorithm.
#[derive(Clone, Debug)]
pub(crate) struct Table<'a> {
    /// The limit that was there first.
    pub(crate) first: &'a ValidLimit,
    /// Each limit with those that it is for.
    pub(crate) limits: Vec<(AppliesTo<'a>, &'a ValidLimit)>,
    /// Whether any of them was given a name, and does not only bear its entry's.
    pub(crate) is_named: bool,
}

/// The tables of a policy, in the order in which its limits stand.
pub(crate) fn tables(policy: &ValidPolicy) -> Vec<Table<'_>> {
    let mut tables: Vec<Table<'_>> = Vec::new();
    for (applies_to, rule) in policy.rules() {
        for limit in rule.own() {
            let is_its = |table: &&mut Table<'_>| table.first.goes_on_as(limit);
            match tables.iter_mut().find(is_its) {
                Some(table) => {
                    table.limits.push((applies_to, limit));
                    table.is_named |= rule.is_named();
                }
                None => tables.push(Table {
                    first: limit,
                    limits: vec![(applies_to, limit)],
                    is_named: rule.is_named(),
                }),
            }
        }
    }
    tables
}

impl<'a> Table<'a> {
    /// Whether it is only for those on no plan: then there is nothing to have accounts for.
    pub(crate) const fn is_plain(&self) -> bool {
        matches!(self.limits.as_slice(), [(AppliesTo::Everybody, _)])
    }

    /// The algorithm that keeps the accounts.
    pub(crate) fn algorithm(&self, of: impl Fn(AppliesTo<'a>) -> TermsOf) -> AnyAlgorithm {
        let first = &self.first.limiter.algorithm;
        if self.is_plain() {
            return first.clone();
        }
        let terms = self.limits.iter().map(|(to, limit)| (of(*to), &limit.limiter.algorithm));
        let planned = AnyAlgorithm::of_plans(&terms.collect::<Vec<_>>());
        planned.unwrap_or_else(|| first.clone())
    }

    /// How many keys it holds. Its keys are held while other limits judge.
    pub(crate) fn bounds(&self) -> Bounds {
        Bounds { in_company: true, ..self.first.limiter.bounds }
    }
}
