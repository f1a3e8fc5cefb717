//! JSON is a part of YAML: what is read as JSON is the same tree when it is read as YAML, places
//! and all.

use proptest::prelude::*;
use serde::de::IgnoredAny;
use serde_json::Value;
use tollgate_config::Format;
use tollgate_config::tree;

use crate::support::to_json;

fn values() -> impl Strategy<Value = Value> {
    let leaves = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        (-1e30..1e30_f64).prop_map(Value::from),
        "[ -~éß😀]{0,12}".prop_map(Value::from),
        "[a-z0-9.:#&*!|>'\"%@`\\\\\n\t-]{0,6}".prop_map(Value::from),
    ];
    leaves.prop_recursive(5, 60, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec(("[ -~é\n]{0,8}", inner), 0..6)
                .prop_map(|entries| Value::Object(entries.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn what_was_written_as_json_is_read_and_the_same_in_yaml(value in values()) {
        for text in [value.to_string(), format!("{value:#}")] {
            let as_json = tree::parse(&text, Format::Json, "f").unwrap();
            prop_assert_eq!(to_json(&as_json), value.clone());
            let as_yaml = tree::parse(&text, Format::Yaml, "f").unwrap();
            prop_assert_eq!(as_yaml, as_json);
        }
    }

    #[test]
    fn json_is_what_serde_json_takes_it_for(text in "[\\[\\]{},:\"a-c0-2.eE+\\\\u \n\t-]{0,16}|[01.eE+-]{1,8}") {
        let read = tree::parse(&text, Format::Json, "f");
        let expected = serde_json::from_str::<IgnoredAny>(&text);
        prop_assert_eq!(read.is_ok(), expected.is_ok(), "{:?} {:?}", read, expected);
    }
}
