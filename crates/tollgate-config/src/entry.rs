//! One limiter: what stands behind `default`, or in one entry of `endpoints`.

use tollgate::{AnyAlgorithm, Fault, LimiterConfig, LimiterFactory, OnFull, Parameters};

use crate::fields::Fields;
use crate::findings::Findings;
use crate::names::{
    ALGO_CONFIG, ALGORITHM, DEFAULT, ENDPOINT, ENDPOINTS, ENTRY_FIELDS, LIMITER_FIELDS, MAX_KEYS,
    ON_FULL, ON_FULL_WORDS,
};
use crate::tree::{Entry, Node, Position};

/// How much a limiter may remember, as far as the file says so.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    max_keys: Option<u64>,
    on_full: Option<OnFull>,
}

impl Bounds {
    /// Reads `maxKeys` and `onFull`, which stand at the top or on an entry.
    pub(crate) fn read(fields: &Fields<'_>, findings: &mut Findings) -> Self {
        Self {
            max_keys: fields.whole(MAX_KEYS, LimiterConfig::MAX_KEYS, findings),
            on_full: fields.choice(ON_FULL, &ON_FULL_WORDS, findings),
        }
    }

    /// These, and what they leave open as it is outside.
    fn within(self, outer: Self) -> Self {
        Self { max_keys: self.max_keys.or(outer.max_keys), on_full: self.on_full.or(outer.on_full) }
    }

    fn bound(self, limiter: LimiterConfig) -> LimiterConfig {
        let limiter = self.max_keys.into_iter().fold(limiter, LimiterConfig::max_keys);
        self.on_full.into_iter().fold(limiter, LimiterConfig::on_full)
    }
}

/// Reads the limiters of one file, by what all of them share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntryReader<'a> {
    /// The algorithms known.
    pub(crate) factory: &'a LimiterFactory,
    /// The bounds given at the top.
    pub(crate) bounds: Bounds,
}

impl EntryReader<'_> {
    /// Reads `default`.
    pub(crate) fn read_default(
        &self,
        node: &Node,
        findings: &mut Findings,
    ) -> Option<LimiterConfig> {
        let expected = format!("a map with `{ALGORITHM}` and `{ALGO_CONFIG}`");
        let fields = Fields::of(node, &format!("`{DEFAULT}`"), &expected, findings)?;
        findings.about(DEFAULT.to_owned(), |findings| {
            fields.refuse_unknown(&LIMITER_FIELDS, findings);
            self.read_limiter(&fields, findings)
        })
    }

    /// Reads the entry of `endpoints` with this number, counted from 1: the endpoint's name and its
    /// limiter.
    pub(crate) fn read_entry(
        &self,
        number: usize,
        node: &Node,
        findings: &mut Findings,
    ) -> Option<(String, LimiterConfig)> {
        let position = format!("entry {number} of `{ENDPOINTS}`");
        let expected = format!("a map with `{ENDPOINT}`, `{ALGORITHM}` and `{ALGO_CONFIG}`");
        let fields = Fields::of(node, &position, &expected, findings)?;
        let subject = match endpoint_of(node) {
            Some(endpoint) => format!("endpoint {endpoint:?}"),
            None => position,
        };
        findings.about(subject, |findings| {
            let endpoint = fields.text(ENDPOINT, "a text, such as \"/search\"", findings);
            fields.refuse_unknown(&ENTRY_FIELDS, findings);
            let limiter = self.read_limiter(&fields, findings);
            Some((endpoint?.to_owned(), limiter?))
        })
    }

    fn read_limiter(&self, fields: &Fields<'_>, findings: &mut Findings) -> Option<LimiterConfig> {
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

/// The endpoint that an entry names, if it does.
pub(crate) fn endpoint_of(node: &Node) -> Option<&str> {
    node.get(ENDPOINT).and_then(Node::as_text)
}

/// Where a fault of this parameter stands: at its value, or at its name where nobody knows it, which
/// the library says in the same words of every field.
fn place_of(fault: &Fault, entry: &Entry) -> Position {
    if fault.is_unknown_field() { entry.into() } else { (&entry.value).into() }
}
