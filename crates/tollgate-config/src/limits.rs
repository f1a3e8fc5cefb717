//! Limits with names: those of one entry, and those that entries share.

use tollgate::{AnyAlgorithm, Fault, Limit, LimiterConfig, LimiterFactory, OnFull, Parameters};

use crate::fields::Fields;
use crate::findings::Findings;
use crate::names::{
    ALGO_CONFIG, ALGORITHM, LIMIT_FIELDS, MAX_KEYS, MODE, MODE_WORDS, NAME, ON_FULL, ON_FULL_WORDS,
    SCOPE, SCOPE_WORDS, WAS,
};
use crate::tree::{Entry, Node, Position, Value};
use crate::twice::Seen;

/// How much a limiter may remember, as far as the file says so.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    max_keys: Option<u64>,
    on_full: Option<OnFull>,
}

impl Bounds {
    /// Reads `maxKeys` and `onFull`, which stand at the top, on an entry or on a limit.
    pub(crate) fn read(fields: &Fields<'_>, findings: &mut Findings) -> Self {
        Self {
            max_keys: fields.whole(MAX_KEYS, LimiterConfig::MAX_KEYS, findings),
            on_full: fields.choice(ON_FULL, &ON_FULL_WORDS, findings),
        }
    }

    /// These, and what they leave open as it is outside.
    pub(crate) fn within(self, outer: Self) -> Self {
        Self { max_keys: self.max_keys.or(outer.max_keys), on_full: self.on_full.or(outer.on_full) }
    }

    fn bound(self, limiter: LimiterConfig) -> LimiterConfig {
        let limiter = self.max_keys.into_iter().fold(limiter, LimiterConfig::max_keys);
        self.on_full.into_iter().fold(limiter, LimiterConfig::on_full)
    }
}

/// Reads limits, by the algorithms known and the bounds given around them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LimitReader<'a> {
    pub(crate) factory: &'a LimiterFactory,
    pub(crate) bounds: Bounds,
}

impl LimitReader<'_> {
    /// Reads a list of limits, each with its name; `what` is the list's own.
    pub(crate) fn read_list(
        &self,
        node: &Node,
        what: &str,
        findings: &mut Findings,
    ) -> Option<Vec<Limit>> {
        let Value::List(nodes) = &node.value else {
            let expected = format!("a list of limits, each a map with `{NAME}` and `{ALGORITHM}`");
            findings.wrong(node, format_args!("`{what}`"), &expected);
            return None;
        };
        let mut seen = Seen::default();
        for node in nodes {
            if let Some((name, place)) = name_of(node).zip(node.get(NAME)) {
                seen.refuse_again(name, place.into(), &format!("limit {name:?}"), findings);
            }
        }
        let read = |(number, node)| self.read_numbered(number, what, node, findings);
        // All are read before any is given up, so that the faults of all are found.
        let limits: Vec<_> = (1..).zip(nodes).map(read).collect();
        limits.into_iter().collect()
    }

    /// Reads limits by name, as a list, or as a map from each name to what it stands for.
    pub(crate) fn read_named(
        &self,
        node: &Node,
        what: &str,
        findings: &mut Findings,
    ) -> Option<Vec<Limit>> {
        let Value::Map(entries) = &node.value else {
            return self.read_list(node, what, findings);
        };
        let mut read = |entry: &Entry| {
            let subject = format!("limit {:?}", entry.key);
            findings.about(subject, |findings| {
                if entry.key.is_empty() {
                    findings.at(entry, format_args!("the name is empty; expected {NAME_EXPECTED}"));
                }
                let known: Vec<_> = LIMIT_FIELDS.into_iter().filter(|name| *name != NAME).collect();
                let fields = Fields::of(&entry.value, "the limit", LIMIT_EXPECTED, findings)?;
                fields.refuse_unknown(&known, findings);
                self.read_limit(&entry.key, &fields, findings)
            })
        };
        let limits: Vec<_> = entries.iter().map(&mut read).collect();
        limits.into_iter().collect()
    }

    fn read_numbered(
        &self,
        number: usize,
        what: &str,
        node: &Node,
        findings: &mut Findings,
    ) -> Option<Limit> {
        let position = format!("limit {number} of `{what}`");
        let fields = Fields::of(node, &position, LIMIT_EXPECTED, findings)?;
        let subject = name_of(node).map_or(position, |name| format!("limit {name:?}"));
        findings.about(subject, |findings| {
            let name = fields.text(NAME, NAME_EXPECTED, findings);
            if let Some(node) = node.get(NAME).filter(|_| name == Some("")) {
                findings.wrong(node, format_args!("`{NAME}`"), NAME_EXPECTED);
            }
            fields.refuse_unknown(&LIMIT_FIELDS, findings);
            self.read_limit(name.unwrap_or_default(), &fields, findings).filter(|_| name.is_some())
        })
    }

    fn read_limit(
        &self,
        name: &str,
        fields: &Fields<'_>,
        findings: &mut Findings,
    ) -> Option<Limit> {
        let scope = fields.choice(SCOPE, &SCOPE_WORDS, findings).unwrap_or_default();
        let mode = fields.choice(MODE, &MODE_WORDS, findings).unwrap_or_default();
        let was = fields.optional_text(WAS, "the name that the limit had", findings);
        let limiter = self.read_limiter(fields, findings)?;
        let limit = Limit::new(name, limiter).scope(scope).mode(mode);
        Some(was.into_iter().fold(limit, Limit::was))
    }

    /// Reads the algorithm and the bounds of one limiter.
    pub(crate) fn read_limiter(
        &self,
        fields: &Fields<'_>,
        findings: &mut Findings,
    ) -> Option<LimiterConfig> {
        let bounds = Bounds::read(fields, findings).within(self.bounds);
        let algorithm = self.read_algorithm(fields, findings)?;
        Some(bounds.bound(LimiterConfig::of_named(algorithm)))
    }

    fn read_algorithm(&self, fields: &Fields<'_>, findings: &mut Findings) -> Option<AnyAlgorithm> {
        let names = self.factory.names().collect::<Vec<_>>();
        let expected = format!("one of {}", names.join(", "));
        let name = fields.text(ALGORITHM, &expected, findings);
        let config = fields.map(ALGO_CONFIG, "a map of the algorithm's parameters", findings);
        let name = name?;
        if !names.contains(&name) {
            self.refuse_algorithm(name, fields, findings);
            return None;
        }
        let config = config?;
        match self.factory.algorithm(name, &config.to_parameters()) {
            Ok(algorithm) => Some(algorithm),
            Err(faults) => {
                let entries = config.by_name();
                findings.add_faults(&faults, |fault| {
                    match fault.field().and_then(|field| entries.get(field)) {
                        Some(entry) => place_of(fault, entry),
                        None => config.node().into(),
                    }
                });
                None
            }
        }
    }

    /// Has the factory say what is wrong with a name it does not know: it lists the known ones, and
    /// the nearest.
    fn refuse_algorithm(&self, name: &str, fields: &Fields<'_>, findings: &mut Findings) {
        let entry = fields.get(ALGORITHM);
        let faults = self.factory.algorithm(name, &Parameters::new()).err();
        if let (Some(entry), Some(faults)) = (entry, faults) {
            findings.add_faults(&faults, |_| (&entry.value).into());
        }
    }
}

const NAME_EXPECTED: &str = "a text, such as \"day\"";

const LIMIT_EXPECTED: &str = "a map with `name`, `algorithm` and `algoConfig`";

/// The name that a limit has, if it has one.
pub(crate) fn name_of(node: &Node) -> Option<&str> {
    node.get(NAME).and_then(Node::as_text)
}

/// Where a fault of this parameter stands: at its value, or at its name where nobody knows it, which
/// the library says in the same words of every field.
fn place_of(fault: &Fault, entry: &Entry) -> Position {
    if fault.is_unknown_field() { entry.into() } else { (&entry.value).into() }
}
