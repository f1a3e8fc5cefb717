//! Plans: their names, the clients on them, and what an entry gives to those.

use std::collections::BTreeSet;

use tollgate::{ConfigBuilder, Rule, unknown_plan};

use crate::fields::Fields;
use crate::findings::Findings;
use crate::names::{
    ALGO_CONFIG, ALGORITHM, CLIENT, CLIENT_FIELDS, CLIENTS, LIMITS, PLAN, PLAN_FIELDS, PLANS,
    PREFIX,
};
use crate::rule::RuleReader;
use crate::tree::{Entry, Node, Position, Value};
use crate::twice::Seen;

/// The plans that a file declares, and who is on them.
#[derive(Debug, Default)]
pub(crate) struct PlanReader<'a> {
    names: Vec<&'a str>,
    known: BTreeSet<&'a str>,
    clients: Vec<Assigned<'a>>,
}

/// Clients on a plan.
#[derive(Debug)]
enum Assigned<'a> {
    Client(&'a str, &'a str),
    Prefix(&'a str, &'a str),
}

impl<'a> PlanReader<'a> {
    /// Reads the names of the plans, and who is on which.
    pub(crate) fn read(fields: &Fields<'a>, findings: &mut Findings) -> Self {
        let given = fields.texts(PLANS, "the names of plans", findings);
        let mut seen = Seen::default();
        findings.about(PLANS.to_owned(), |findings| {
            for (name, place) in &given {
                seen.refuse_again(name, *place, &format!("plan {name:?}"), findings);
                if name.is_empty() {
                    findings.at(*place, "a plan's name is empty; expected a text, such as \"pro\"");
                }
            }
        });
        let names: Vec<_> = given.iter().map(|(name, _)| *name).collect();
        let known = names.iter().copied().filter(|name| !name.is_empty()).collect();
        let mut plans = Self { names, known, clients: Vec::new() };
        plans.clients = plans.read_clients(fields, findings);
        plans
    }

    fn read_clients(&self, fields: &Fields<'a>, findings: &mut Findings) -> Vec<Assigned<'a>> {
        let Some(entry) = fields.get(CLIENTS) else { return Vec::new() };
        let Value::List(nodes) = &entry.value.value else {
            let expected =
                format!("a list, each a map with `{CLIENT}` or `{PREFIX}`, and `{PLAN}`");
            findings.wrong(&entry.value, format_args!("`{CLIENTS}`"), &expected);
            return Vec::new();
        };
        let (mut clients, mut prefixes) = (Seen::default(), Seen::default());
        for node in nodes {
            for (field, seen) in [(CLIENT, &mut clients), (PREFIX, &mut prefixes)] {
                if let Some((node, name)) = node.get(field).and_then(|it| Some((it, it.as_text()?)))
                {
                    seen.refuse_again(name, node.into(), &format!("{field} {name:?}"), findings);
                }
            }
        }
        let numbered = (1..).zip(nodes);
        numbered.filter_map(|(number, node)| self.read_client(number, node, findings)).collect()
    }

    fn read_client(
        &self,
        number: usize,
        node: &'a Node,
        findings: &mut Findings,
    ) -> Option<Assigned<'a>> {
        let subject = format!("element {number} of `{CLIENTS}`");
        let expected = format!("a map with `{CLIENT}` or `{PREFIX}`, and `{PLAN}`");
        let fields = Fields::of(node, &subject, &expected, findings)?;
        findings.about(subject, |findings| {
            fields.refuse_unknown(&CLIENT_FIELDS, findings);
            let client = fields.optional_text(CLIENT, "the name of a client", findings);
            let prefix =
                fields.optional_text(PREFIX, "what the names of clients begin with", findings);
            let plan = fields.text(PLAN, "the name of a plan", findings);
            if let Some((name, node)) = plan.zip(node.get(PLAN)) {
                self.refuse_unknown(name, node.into(), findings);
            }
            match (fields.get(CLIENT), fields.get(PREFIX)) {
                (Some(_), Some(other)) => {
                    let message =
                        format!("`{CLIENT}` and `{PREFIX}` do not go together; keep one of them");
                    findings.at(other, message);
                    None
                }
                (None, None) => {
                    findings.at(
                        node,
                        format_args!("missing `{CLIENT}` or `{PREFIX}`; expected one of them"),
                    );
                    None
                }
                (Some(_), None) => Some(Assigned::Client(client?, plan?)),
                (None, Some(_)) => Some(Assigned::Prefix(prefix?, plan?)),
            }
        })
    }

    /// Reads what an entry gives to the clients of each plan.
    pub(crate) fn read_plans(
        &self,
        fields: &Fields<'_>,
        rules: &RuleReader<'_>,
        findings: &mut Findings,
    ) -> Vec<(String, Rule)> {
        let Some(entry) = fields.get(PLANS) else { return Vec::new() };
        let Value::Map(entries) = &entry.value.value else {
            let expected =
                format!("a map from the name of each plan to its `{LIMITS}` or `{ALGORITHM}`");
            findings.wrong(&entry.value, format_args!("`{PLANS}`"), &expected);
            return Vec::new();
        };
        let mut read = |entry: &Entry| {
            self.refuse_unknown(&entry.key, entry.into(), findings);
            findings.about(format!("plan {:?}", entry.key), |findings| {
                let expected =
                    format!("a map with `{ALGORITHM}` and `{ALGO_CONFIG}`, or `{LIMITS}`");
                let fields = Fields::of(&entry.value, "the plan", &expected, findings)?;
                fields.refuse_unknown(&PLAN_FIELDS, findings);
                Some((entry.key.clone(), rules.read(&fields, &[], findings)?))
            })
        };
        entries.iter().filter_map(&mut read).collect()
    }

    fn refuse_unknown(&self, name: &str, place: Position, findings: &mut Findings) {
        if !self.known.contains(name) {
            findings.at(place, unknown_plan(name, &self.known));
        }
    }

    /// Hands all on to the library.
    pub(crate) fn add_to(&self, builder: ConfigBuilder) -> ConfigBuilder {
        let builder = builder.plans(self.names.iter().copied());
        self.clients.iter().fold(builder, |builder, assigned| match assigned {
            Assigned::Client(client, plan) => builder.client(*client, *plan),
            Assigned::Prefix(prefix, plan) => builder.clients_with_prefix(*prefix, *plan),
        })
    }
}
