//! What several of the tests need.

use serde_json::{Value, json};
use tollgate_config::ConfigErrors;
use tollgate_config::tree::{self, Node};

/// Everything that is said of a file called `f`, one fault a line, without its name.
pub(crate) fn told<T>(read: Result<T, ConfigErrors>) -> String {
    let Err(errors) = read else { return "nothing wrong".to_owned() };
    let lines: Vec<_> =
        errors.iter().map(|error| error.to_string().replacen("f:", "", 1)).collect();
    lines.join("\n")
}

/// A tree as `serde_json` has it; a number that JSON does not have is null.
pub(crate) fn to_json(node: &Node) -> Value {
    match &node.value {
        tree::Value::Null => Value::Null,
        tree::Value::Bool(value) => json!(value),
        tree::Value::Number(text) => serde_json::from_str(text).unwrap_or(Value::Null),
        tree::Value::Text(text) => json!(text),
        tree::Value::List(nodes) => nodes.iter().map(to_json).collect(),
        tree::Value::Map(entries) => {
            entries.iter().map(|entry| (entry.key.clone(), to_json(&entry.value))).collect()
        }
    }
}
