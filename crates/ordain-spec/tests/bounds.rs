//! Open objects are bounded, and the bound itself is still inside.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test may fail loudly")]

use ordain_canon::{Canonicalizer, Value};
use ordain_spec::{Facts, Kind, verify_value};
use serde_json::{Value as Json, json};

/// An object of that many canonical bytes.
fn of_bytes(count: usize) -> Json {
    let object = json!({"a": "x".repeat(count - json!({"a": ""}).to_string().len())});
    assert_eq!(Canonicalizer::new().value(&object).unwrap().len(), count);
    object
}

/// An object of that many levels, objects and arrays in turn.
fn of_depth(levels: usize) -> Json {
    (1..levels)
        .fold(json!({}), |inner, level| if level % 2 == 0 { json!({"a": inner}) } else { json!([inner]) })
}

fn violations(document: &Json) -> Vec<(String, String, String)> {
    let text = document.to_string();
    let report = verify_value(Kind::Action, &Facts::default(), &Value::read(text.as_bytes()).unwrap());
    let all = report.violations().iter();
    all.map(|it| (it.rule.to_string(), it.path.clone(), it.message.clone())).collect()
}

#[test]
fn open_objects_may_be_as_large_as_the_bound_and_no_larger() {
    let proposal = json!({"proposal_id": "1", "ts_ms": 1, "actor": "agent", "action_type": "read", "parameters": {},
        "target": {"resource_type": "t", "resource_id": "1", "domain": "d", "constraints": {}}});
    let request = json!({"request_id": "1", "ts_ms": 1, "actor": "agent", "intent": "look",
        "tool_call": {"name": "web.get", "params": {}}});
    for (document, pointer, rule) in [
        (&proposal, "/parameters", "V-PROP-006"),
        (&proposal, "/target/constraints", "V-PROP-005"),
        (&request, "/tool_call/params", "V-PROP-006"),
    ] {
        let with = |open: Json| {
            let mut document = document.clone();
            *document.pointer_mut(pointer).unwrap() = open;
            violations(&document)
        };
        assert_eq!(with(of_bytes(65_536)), [], "{pointer}");
        let message = "has 65537 canonical bytes; at most 65536 are allowed";
        assert_eq!(with(of_bytes(65_537)), [(rule.to_owned(), pointer.to_owned(), message.to_owned())]);
        // An odd number of levels has an object on the outside.
        assert_eq!(with(json!({"a": of_depth(31)})), [], "{pointer}");
        let message = "is 33 levels deep; at most 32 are allowed";
        assert_eq!(with(of_depth(33)), [(rule.to_owned(), pointer.to_owned(), message.to_owned())]);
    }
}
