//! What a descriptor means: the endpoint that is called, and by whom.
//!
//! A rule is found by the set of a descriptor's keys, which Envoy's config decides, and never by values, which clients
//! decide. So no client can talk itself out of a rule.

use std::borrow::Cow;
use std::collections::HashMap;

use tollgate::Call;
use tollgate_config::{EnvoyRule, Piece};

use super::names::{self, Forms};
use super::wire::rate_limit_descriptor::Entry;

/// Which rule holds for which descriptors.
#[derive(Debug)]
pub(super) struct Mapping {
    by_domain: HashMap<String, Rules>,
    any_domain: Rules,
    forms: Forms,
}

/// Rules by the keys of their descriptors, which are in order and made one name.
type Rules = HashMap<String, Rule>;

/// A rule whose keys are places in a descriptor: its entries are in the order of their keys.
#[derive(Debug)]
struct Rule {
    endpoint: Option<Vec<Part>>,
    client: Vec<usize>,
    tenant: Option<usize>,
}

/// A part of an endpoint's name.
#[derive(Debug)]
enum Part {
    Text(String),
    Value(usize),
    /// A method, a blank and a path.
    Request {
        method: usize,
        path: usize,
    },
}

/// What a descriptor means.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Meaning<'a> {
    /// No rule speaks of it.
    Nothing,
    /// A call.
    Call(Named<'a>),
    /// A value that its client chose has no one reading, so no limit can be found for it.
    Unclear,
}

/// Names of what is called and by whom.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Named<'a> {
    pub(super) endpoint: Cow<'a, str>,
    pub(super) client: String,
    pub(super) tenant: Option<&'a str>,
}

impl Named<'_> {
    /// The call at this cost, or at what the endpoint costs.
    pub(super) fn call(&self, cost: Option<u64>) -> Call<'_> {
        let call = Call::new(&self.client, &self.endpoint);
        let call = self.tenant.into_iter().fold(call, Call::tenant);
        cost.into_iter().fold(call, Call::cost)
    }
}

impl Mapping {
    pub(super) fn new(rules: &[EnvoyRule], forms: Forms) -> Self {
        let mut mapping = Self { by_domain: HashMap::new(), any_domain: Rules::new(), forms };
        for rule in rules {
            let rules = match &rule.domain {
                Some(domain) => mapping.by_domain.entry(domain.clone()).or_default(),
                None => &mut mapping.any_domain,
            };
            let mut keys: Vec<_> = rule.descriptor.iter().map(String::as_str).collect();
            keys.sort_unstable();
            rules.insert(names::tuple(keys.iter().copied()), Rule::new(rule, &keys));
        }
        mapping
    }

    /// What a descriptor of these entries means, which are in the order of their keys, each of its own.
    pub(super) fn meaning<'a>(&self, domain: &'a str, entries: &[&'a Entry]) -> Meaning<'a> {
        let keys = names::tuple(entries.iter().map(|entry| &*entry.key));
        let of_domain = self.by_domain.get(domain).and_then(|rules| rules.get(&keys));
        let Some(rule) = of_domain.or_else(|| self.any_domain.get(&keys)) else {
            return Meaning::Nothing;
        };
        let Some(endpoint) = rule.endpoint(domain, entries, &self.forms) else {
            return Meaning::Unclear;
        };
        let client = rule.client.iter().filter_map(|place| entries.get(*place).copied());
        let client = self.forms.client(&client.collect::<Vec<_>>());
        let tenant = rule.tenant.map(|place| value_at(place, entries));
        Meaning::Call(Named { endpoint, client, tenant })
    }
}

impl Rule {
    /// A rule for descriptors of these keys, in order.
    fn new(rule: &EnvoyRule, keys: &[&str]) -> Self {
        // The config has no other keys.
        let place = |key: &String| keys.iter().position(|known| known == key);
        Self {
            endpoint: rule.endpoint.as_ref().map(|template| parts(template.pieces(), place)),
            client: rule.client.iter().filter_map(place).collect(),
            tenant: rule.tenant.as_ref().and_then(place),
        }
    }

    /// The endpoint's name; `None` where a path has no normal form, or a value holds the text that is to follow it.
    fn endpoint<'a>(
        &self,
        domain: &'a str,
        entries: &[&'a Entry],
        forms: &Forms,
    ) -> Option<Cow<'a, str>> {
        let Some(parts) = &self.endpoint else { return Some(Cow::Borrowed(domain)) };
        let mut name = String::new();
        let following = parts.iter().skip(1).map(Some).chain([None]);
        for (part, following) in parts.iter().zip(following) {
            match part {
                Part::Text(text) => name.push_str(text),
                Part::Value(place) => {
                    let value = forms.value(value_at(*place, entries))?;
                    if matches!(following, Some(Part::Text(text)) if value.contains(text.as_str()))
                    {
                        return None;
                    }
                    name.push_str(&value);
                }
                Part::Request { method, path } => {
                    let (method, path) = (value_at(*method, entries), value_at(*path, entries));
                    name.push_str(&forms.request(method, path)?);
                }
            }
        }
        Some(Cow::Owned(name))
    }
}

/// The parts of an endpoint's name, in which a method and a path at its end are one.
fn parts(pieces: &[Piece], place: impl Fn(&String) -> Option<usize>) -> Vec<Part> {
    match pieces {
        [Piece::Entry(method), Piece::Text(blank), Piece::Entry(path)] if blank == " " => {
            let places = place(method).zip(place(path));
            places.map(|(method, path)| Part::Request { method, path }).into_iter().collect()
        }
        [first, rest @ ..] => {
            let first = match first {
                Piece::Text(text) => Some(Part::Text(text.clone())),
                Piece::Entry(key) => place(key).map(Part::Value),
            };
            first.into_iter().chain(parts(rest, place)).collect()
        }
        [] => Vec::new(),
    }
}

/// The value at a place, which every descriptor of the rule's keys has.
fn value_at<'a>(place: usize, entries: &[&'a Entry]) -> &'a str {
    entries.get(place).map_or("", |entry| &*entry.value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(values: &[(&str, &str)]) -> Vec<Entry> {
        let entry = |(key, value): &(&str, &str)| Entry {
            key: (*key).to_owned(),
            value: (*value).to_owned(),
        };
        let mut entries: Vec<_> = values.iter().map(entry).collect();
        entries.sort_by(|one, other| one.key.cmp(&other.key));
        entries
    }

    fn mapping(rules: &[EnvoyRule]) -> Mapping {
        Mapping::new(rules, Forms::by_default())
    }

    /// The endpoint, the client and the tenant that a descriptor names; or why it names none.
    fn named(mapping: &Mapping, values: &[(&str, &str)]) -> Result<[String; 3], &'static str> {
        let entries = entries(values);
        match mapping.meaning("api", &entries.iter().collect::<Vec<_>>()) {
            Meaning::Nothing => Err("no rule"),
            Meaning::Unclear => Err("unclear"),
            Meaning::Call(Named { endpoint, client, tenant }) => {
                Ok([endpoint.into_owned(), client, tenant.unwrap_or("-").to_owned()])
            }
        }
    }

    fn by_default(values: &[(&str, &str)]) -> Result<[String; 3], &'static str> {
        named(&mapping(&EnvoyRule::defaults()), values)
    }

    #[test]
    fn the_default_rules_name_endpoints_and_clients() {
        let address = ("remote_address", "203.0.113.7");
        for (values, [endpoint, client]) in [
            (&[("method", "GET"), ("path", "/x?q=1"), address][..], ["GET /x", "203.0.113.7"]),
            (&[address, ("path", "/x"), ("method", "HEAD")], ["GET /x", "203.0.113.7"]),
            (&[("path", "/x"), address], ["/x", "203.0.113.7"]),
            (&[("generic_key", "login"), address], ["login", "203.0.113.7"]),
            (&[address], ["api", "203.0.113.7"]),
            (&[("generic_key", "login")], ["login", ""]),
        ] {
            let expected = [endpoint, client, "-"].map(str::to_owned);
            assert_eq!(by_default(values), Ok(expected), "{values:?}");
        }
        for values in [&[("path", "/x")][..], &[address, ("user", "bob")]] {
            assert_eq!(by_default(values), Err("no rule"), "{values:?}");
        }
    }

    fn rule(descriptor: &[&str], endpoint: &str, client: &[&str]) -> EnvoyRule {
        let text = |keys: &[&str]| format!("[{}]", keys.join(", "));
        let config = format!(
            "default: {{ unlimited: true }}\ngateway: {{ envoy: {{ listen: 'localhost:0', rules: [\
             {{ descriptor: {}, endpoint: '{endpoint}', client: {} }}] }} }}",
            text(descriptor),
            text(client)
        );
        let factory = tollgate::LimiterFactory::new();
        let (format, name) = (tollgate_config::Format::Yaml, "limits.yaml");
        let (_, gateway) = tollgate_config::parse_gateway(&config, format, name, &factory).unwrap();
        gateway.envoy.unwrap().rules.remove(0)
    }

    #[test]
    fn a_rule_of_the_domain_comes_before_one_of_any() {
        let any = rule(&["user"], "any", &["user"]);
        let mut of_api = rule(&["user"], "of api", &["user"]);
        of_api.domain = Some("api".to_owned());
        let mapping = mapping(&[of_api, any]);
        let [endpoint, ..] = named(&mapping, &[("user", "bob")]).unwrap();
        assert_eq!(endpoint, "of api");
        let asked = entries(&[("user", "bob")]);
        let meaning = mapping.meaning("web", &asked.iter().collect::<Vec<_>>());
        assert!(matches!(meaning, Meaning::Call(Named { endpoint, .. }) if endpoint == "any"));
    }

    #[test]
    fn a_value_that_holds_the_text_behind_it_names_no_endpoint() {
        let mapping = mapping(&[rule(&["one", "other"], "{one}-{other}", &[])]);
        let named = |one, other| named(&mapping, &[("one", one), ("other", other)]);
        assert_eq!(named("a", "b-c").unwrap()[0], "a-b-c");
        assert_eq!(named("a-b", "c"), Err("unclear"));
        assert_eq!(named("", "-"), Ok(["--", "", "-"].map(str::to_owned)));
    }

    #[test]
    fn no_method_escapes_the_limits_of_a_path() {
        let endpoint = |method, path| {
            let values = [("method", method), ("path", path), ("remote_address", "203.0.113.7")];
            by_default(&values).map(|[endpoint, ..]| endpoint)
        };
        for (method, name) in [
            ("POST", "POST /x"),
            ("post", "POST /x"),
            ("HEAD", "GET /x"),
            ("M-SEARCH", "M-SEARCH /x"),
            ("a.b", "A-B /x"),
        ] {
            assert_eq!(endpoint(method, "/x?y").as_deref(), Ok(name));
        }
        assert_eq!(endpoint("OPTIONS", "*").as_deref(), Ok("OPTIONS *"));
        for (method, path) in [("", "/x"), ("GET /y", "/x"), ("GET x", "y"), ("é", "/x")] {
            assert_eq!(endpoint(method, path), Err("unclear"), "{method} {path}");
        }
    }

    #[test]
    fn a_path_that_servers_read_in_two_ways_names_no_endpoint() {
        for path in ["/a%2Fb", "/a\\b", "/a%00", "/a%", "/a#b", "/a/..;x/b"] {
            let values = [("path", path), ("remote_address", "203.0.113.7")];
            assert_eq!(by_default(&values), Err("unclear"), "{path}");
        }
    }

    #[test]
    fn s13_parts_of_a_client_cannot_be_shifted() {
        let mapping = mapping(&[rule(&["one", "other"], "x", &["one", "other"])]);
        let client =
            |one, other| named(&mapping, &[("one", one), ("other", other)]).unwrap()[1].clone();
        let values =
            ["", "a", "ab", "b", "bc", "c", ":", "|", "/", "\0", "\n", "1:a", "other/1:c", "a/"];
        let mut seen = HashMap::new();
        for one in values {
            for other in values {
                let again = seen.insert(client(one, other), (one, other));
                assert_eq!(again, None, "{one:?} {other:?}");
            }
        }
    }
}
