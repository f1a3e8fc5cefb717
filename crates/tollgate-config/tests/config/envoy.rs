//! The rules of Envoy's door: what they may say, and what is said of one that is wrong.

use tollgate::LimiterFactory;
use tollgate_config::{ConfigErrors, EnvoyRule, Format, Piece, parse_gateway};

use crate::support::told;

/// The rules that stand below `rules`, from line 3 on.
fn read(rules: &str) -> Result<Vec<EnvoyRule>, ConfigErrors> {
    // A flow has to stand further right than the key it is the value of.
    let rules = rules.replace('\n', "\n ");
    let text = format!(
        "default: {{ unlimited: true }}\ngateway: {{ envoy: {{ listen: 'localhost:8082', rules: [\n {rules}\n ] }} }}"
    );
    let read = parse_gateway(&text, Format::Yaml, "f", &LimiterFactory::new());
    read.map(|(_, gateway)| gateway.envoy.expect("the door is open").rules)
}

#[test]
fn a_rule_says_what_descriptors_of_its_keys_mean() {
    let rules = read(
        "{ domain: api, descriptor: [method, path, user, org], endpoint: '{method} {path}', client: user, tenant: org },
         { descriptor: [user, address], client: [address, user] },
         { descriptor: [generic_key], endpoint: login }",
    );
    let [whole, pair, plain] = rules.expect("nothing wrong").try_into().expect("three rules");
    assert_eq!(whole.domain.as_deref(), Some("api"));
    assert_eq!(whole.descriptor, ["method", "path", "user", "org"]);
    let pieces = [
        Piece::Entry("method".to_owned()),
        Piece::Text(" ".to_owned()),
        Piece::Entry("path".to_owned()),
    ];
    assert_eq!(whole.endpoint.expect("an endpoint").pieces(), pieces);
    assert_eq!((&*whole.client, whole.tenant.as_deref()), (&["user".to_owned()][..], Some("org")));
    assert_eq!(pair.client, ["address", "user"]);
    assert!(pair.endpoint.is_none() && pair.domain.is_none() && pair.tenant.is_none());
    assert!(plain.client.is_empty());
}

#[test]
fn without_rules_the_names_of_envoys_own_actions_are_known() {
    let text = "default: { unlimited: true }\ngateway: { envoy: { listen: 'localhost:8082' } }";
    let (_, gateway) =
        parse_gateway(text, Format::Yaml, "f", &LimiterFactory::new()).expect("nothing wrong");
    let rules = gateway.envoy.expect("the door is open").rules;
    assert_eq!(rules, EnvoyRule::defaults());
    let keys: Vec<_> = rules.iter().map(|rule| rule.descriptor.join(" ")).collect();
    let expected = [
        "method path remote_address",
        "path remote_address",
        "generic_key remote_address",
        "remote_address",
        "generic_key",
    ];
    assert_eq!(keys, expected);
}

#[test]
fn every_fault_of_the_rules_is_told_in_one_run_at_its_place() {
    let wrong = "\
{ domain: 5, descriptor: [path], endpont: x },
{ endpoint: x },
{ descriptor: [], client: 7 },
{ descriptor: [path, '', path] },
{ descriptor: [method, path], endpoint: '{metod} {path}' },
{ descriptor: [method, path], endpoint: '{method}{path}', client: user, tenant: pth },
{ descriptor: [path, method], client: [method, user] },
7";
    let expected = "\
3:12: gateway: envoy: rule 1: `domain` is 5; expected the domain that Envoy says
3:35: gateway: envoy: rule 1: unknown field `endpont`; did you mean `endpoint`?
4:2: gateway: envoy: rule 2: missing `descriptor`; expected the keys of its entries
5:16: gateway: envoy: rule 3: `descriptor` is empty; expected the keys of its entries
5:28: gateway: envoy: rule 3: `client` is 7; expected the key of an entry, or a list of keys
6:23: gateway: envoy: rule 4: `descriptor` has an empty key; Envoy sends none
6:27: gateway: envoy: rule 4: `path` is given twice, first at line 6, column 17; keep one
7:42: gateway: envoy: rule 5: `endpoint` names `metod`, which is no key of `descriptor`; did you mean `method`? it has method, path
8:2: gateway: envoy: the rule for {\"method\", \"path\"} in any domain is given twice, first at line 7, column 2; keep one
8:42: gateway: envoy: rule 6: `endpoint` has {method} and {path} with nothing between them; expected a text there, so that no two requests read the same
8:68: gateway: envoy: rule 6: `client` names `user`, which is no key of `descriptor`; it has method, path
8:82: gateway: envoy: rule 6: `tenant` names `pth`, which is no key of `descriptor`; did you mean `path`? it has method, path
9:2: gateway: envoy: the rule for {\"method\", \"path\"} in any domain is given twice, first at line 7, column 2; keep one
9:49: gateway: envoy: rule 7: `client` names `user`, which is no key of `descriptor`; it has path, method
10:2: gateway: envoy: rule 8: a rule is 7; expected a map with `descriptor`";
    assert_eq!(told(read(wrong).map(|_| ())), expected);
    let twice = "{ domain: a, descriptor: [x, y] }, { domain: b, descriptor: [y, x] }, { descriptor: [x, y] }";
    assert_eq!(told(read(twice).map(|_| ())), "nothing wrong");
    let no_list = "default: { unlimited: true }\ngateway: { envoy: { listen: 'localhost:8082', rules: { descriptor: [x] } } }";
    let read = parse_gateway(no_list, Format::Yaml, "f", &LimiterFactory::new());
    assert_eq!(
        told(read.map(|_| ())),
        "2:54: gateway: envoy: `rules` is a map; expected a list of rules, each a map with `descriptor`"
    );
}
