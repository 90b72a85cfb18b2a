//! Documents for tests: short to write, with every id and hash derived.

#![allow(
    dead_code,
    unreachable_pub,
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "each test file uses its part, and a test may fail loudly"
)]

use ordain_canon::{Canonicalizer, ContentHash, DerivedId, IntentHash, PlanHash, Value};
use ordain_spec::{Document, Facts, Report, Verified, intent, verify_as, verify_value};
use serde::Serialize;
use serde_json::{Value as Json, json};

/// The report of the verifier on a document.
pub fn report_on<T: Document>(facts: &Facts<'_>, document: &impl Serialize) -> Report {
    let text = canonical(document);
    verify_value(T::KIND, facts, &Value::read(text.as_bytes()).unwrap())
}

#[track_caller]
pub fn verified<T: Document>(document: &impl Serialize) -> Verified<T> {
    let text = canonical(document);
    match verify_as(&Facts::default(), &Value::read(text.as_bytes()).unwrap()) {
        Ok(document) => document,
        Err(report) => panic!("{}: {text}", canonical(&report)),
    }
}

pub fn canonical(value: &impl Serialize) -> String {
    String::from_utf8(Canonicalizer::new().value(value).unwrap().to_vec()).unwrap()
}

pub fn content_hash(content: &str) -> String {
    ContentHash::of(content.as_bytes()).to_string()
}

fn derive(kind: DerivedId, value: &mut Json) {
    let text = value.to_string();
    value["id"] = kind.of(&mut Canonicalizer::new(), &Value::read(text.as_bytes()).unwrap()).unwrap().into();
}

/// An output: type, path, content, confidence.
pub type Made<'a> = (&'a str, &'a str, &'a str, u8);

/// A bundle of one node; it is incomplete when something is `open`.
pub fn bundle(intent: &Json, made: &[Made<'_>], open: bool) -> Json {
    let mut outputs = Vec::new();
    for (output_type, path, content, confidence) in made {
        let mut output = json!({
            "id": "", "type": output_type, "path": path, "content": content,
            "content_hash": content_hash(content), "source_constraints": [], "confidence": confidence,
        });
        derive(DerivedId::Output, &mut output);
        outputs.push(output);
    }
    outputs.sort_by_key(|it| it["path"].as_str().unwrap().encode_utf16().collect::<Vec<_>>());
    let mut question = json!({
        "id": "", "text": "Which?", "expected_answer_type": "text", "why_needed": "It is not said.",
        "information_gain": 50, "priority": 50,
    });
    derive(DerivedId::Question, &mut question);
    let questions = if open { vec![question] } else { Vec::new() };
    let mut node = json!({
        "id": "", "parent_id": null, "goal": "g", "constraints": [], "status": "terminal",
        "entropy": {
            "unresolved_refs": 0, "schema_gaps": 0, "contradiction_count": 0, "branching_factor": 0,
            "entropy_score": 10,
        },
        "density": {
            "concrete_constraints": 0, "specified_outputs": 0, "constraint_depth": 0, "density_score": 20,
        },
        "unresolved_questions": questions, "children": [],
    });
    derive(DerivedId::Node, &mut node);
    let text = intent.to_string();
    let value = Value::read(text.as_bytes()).unwrap();
    let hash = intent::normalize(&value).map(|normal| IntentHash::of(&mut Canonicalizer::new(), &normal));
    let mut bundle = json!({
        "id": "", "schema_version": "0.1.0", "kernel_version": "0.1.0",
        "source_intent_hash": hash.map_or("0".repeat(64), |hash| hash.unwrap().to_string()),
        "status": if open { "incomplete" } else { "complete" },
        "root_node": node, "terminal_nodes": [node], "outputs": outputs,
        "unresolved_questions": questions,
        "stats": {
            "total_nodes": 1, "terminal_nodes": 1, "max_depth": 0, "total_outputs": made.len(),
            "unresolved_count": usize::from(open), "avg_terminal_entropy": 10, "avg_terminal_density": 20,
        },
    });
    derive(DerivedId::Bundle, &mut bundle);
    bundle
}

/// A plan proposal; ids of actions are derived and both lists sorted.
pub fn plan(mut actions: Vec<Json>, mut tests: Vec<Json>) -> Json {
    for action in &mut actions {
        derive(DerivedId::Action, action);
    }
    actions.sort_by_key(|it| (it["order"].as_u64(), it["id"].to_string()));
    tests.sort_by_key(|it| it["id"].to_string());
    let mut plan = json!({
        "id": "", "schema_version": "1.0.0", "source_bundle_id": "bundle_0000000000000000",
        "source_bundle_hash": format!("sha256:{}", "0".repeat(64)), "actions": actions,
        "acceptance_tests": tests, "summary": "A plan", "requires_approval": false, "confidence": 50,
    });
    derive(DerivedId::Plan, &mut plan);
    plan
}

pub fn action(action_type: &str, target: &str, content: Option<&str>, order: u64, required: bool) -> Json {
    let mut action = json!({
        "id": "", "type": action_type, "target": target, "required": required,
        "description": format!("{action_type} {target}"), "order": order,
    });
    if let Some(content) = content {
        action["content"] = content.into();
    }
    action
}

pub fn test(id: &str, test_type: &str, target: &str, expected: &str, required: bool) -> Json {
    json!({
        "id": id, "name": id, "type": test_type, "target": target, "expected": expected, "required": required,
    })
}

/// Evidence that everything in a plan went well.
pub fn evidence(plan: &Json) -> Json {
    let result = |action: &Json| {
        let target = action["target"].as_str().unwrap();
        let mut result = json!({"action_id": action["id"], "status": "success", "produced": []});
        match action["type"].as_str().unwrap() {
            "create_file" | "modify_file" => {
                let hash = content_hash(action["content"].as_str().unwrap());
                result["produced"] = json!([{"path": target, "sha256": hash}]);
            }
            "delete_file" => {}
            _ => result["exit_code"] = 0.into(),
        }
        result
    };
    let list = |name: &str| plan[name].as_array().unwrap().iter();
    let text = plan.to_string();
    let hash = PlanHash::of_text(&mut Canonicalizer::new(), text.as_bytes()).unwrap();
    json!({
        "evidence_schema_version": "1.0.0", "proposal_id": plan["id"], "proposal_hash": hash.to_string(),
        "action_results": list("actions").map(result).collect::<Vec<_>>(),
        "test_results": list("acceptance_tests")
            .map(|test| json!({"test_id": test["id"], "passed": true}))
            .collect::<Vec<_>>(),
        "status": "complete",
    })
}
