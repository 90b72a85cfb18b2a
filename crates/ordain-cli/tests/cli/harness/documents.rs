//! Documents that a test makes.

use super::{folder, repository};
use ordain_canon::{Canonicalizer, ContentHash, DerivedId, Value};
use serde_json::{Value as Json, json};
use std::path::PathBuf;
use tempfile::TempDir;

pub(crate) fn document(path: &str) -> Json {
    let path = repository().join("conformance").join(path);
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// A bundle that a test has changed, with everything that follows from the rest worked out again: ids, hashes, order,
/// leaves, questions and figures.
pub(crate) fn settled(mut bundle: Json) -> Json {
    let mut leaves = Vec::new();
    let mut questions = Vec::new();
    let mut totals = (0, 0);
    settle_node(&mut bundle["root_node"], Json::Null, 0, &mut leaves, &mut questions, &mut totals);
    leaves.sort_by_key(|leaf| text(&leaf["id"]));
    questions.sort_by_key(|it| (-it["priority"].as_i64().unwrap(), text(&it["id"])));
    let average = |measure: &str, score: &str| {
        let sum: u64 = leaves.iter().map(|leaf| leaf[measure][score].as_u64().unwrap()).sum();
        (2 * sum + leaves.len() as u64) / (2 * leaves.len() as u64)
    };
    for output in bundle["outputs"].as_array_mut().unwrap() {
        output["content_hash"] = json!(ContentHash::of(text(&output["content"]).as_bytes()).to_string());
        output["id"] = id(DerivedId::Output, output);
    }
    bundle["stats"] = json!({
        "total_nodes": totals.0,
        "terminal_nodes": leaves.len(),
        "max_depth": totals.1,
        "total_outputs": bundle["outputs"].as_array().unwrap().len(),
        "unresolved_count": questions.len(),
        "avg_terminal_entropy": average("entropy", "entropy_score"),
        "avg_terminal_density": average("density", "density_score"),
    });
    bundle["status"] = json!(if questions.is_empty() { "complete" } else { "incomplete" });
    bundle["terminal_nodes"] = json!(leaves);
    bundle["unresolved_questions"] = json!(questions);
    bundle["id"] = id(DerivedId::Bundle, &bundle);
    bundle
}

fn settle_node(
    node: &mut Json,
    parent: Json,
    depth: u64,
    leaves: &mut Vec<Json>,
    questions: &mut Vec<Json>,
    totals: &mut (u64, u64),
) {
    *totals = (totals.0 + 1, totals.1.max(depth));
    node["parent_id"] = parent;
    node["id"] = id(DerivedId::Node, node);
    for question in node["unresolved_questions"].as_array_mut().unwrap() {
        question["id"] = id(DerivedId::Question, question);
        questions.push(question.clone());
    }
    let node_id = node["id"].clone();
    let children = node["children"].as_array_mut().unwrap();
    for child in children.iter_mut() {
        settle_node(child, node_id.clone(), depth + 1, leaves, questions, totals);
    }
    children.sort_by_key(|child| text(&child["id"]));
    if children.is_empty() {
        leaves.push(node.clone());
    }
}

fn id(kind: DerivedId, value: &Json) -> Json {
    let text = value.to_string();
    json!(kind.of(&mut Canonicalizer::new(), &Value::read(text.as_bytes()).unwrap()).unwrap())
}

fn text(value: &Json) -> String {
    value.as_str().unwrap().to_owned()
}

/// A file for the time of a test.
pub(crate) struct TempFile {
    _folder: TempDir,
    path: PathBuf,
}

impl TempFile {
    pub(crate) fn new(name: &str, content: &str) -> Self {
        let folder = folder();
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        Self { _folder: folder, path }
    }

    pub(crate) fn path(&self) -> &str {
        self.path.to_str().unwrap()
    }
}
