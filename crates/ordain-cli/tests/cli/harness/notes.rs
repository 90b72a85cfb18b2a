//! Note proposals for tests.

use super::Project;
use ordain_canon::{Canonicalizer, NoteHash, Value};
use serde_json::{Value as Json, json};

/// A proposal with some changes, and the hash that it then has.
pub(crate) fn proposal(change: Json) -> Json {
    let mut document = json!({
        "version": 1,
        "id": "prop-b43aae102b191a96",
        "origin": "prompt",
        "target": {"route_id": "api/design", "path": "api/design/idempotent-requests.md"},
        "frontmatter": {
            "title": "Idempotent requests", "status": "draft", "tags": ["api"], "aliases": ["idempotency"]},
        "body": {"content_md": "# Idempotent requests\n\n## Summary\n\nA request that may be sent twice.\n"},
        "governance": {"related_links": [], "rationale": "The retry note refers to this term."},
    });
    for (name, value) in change.as_object().unwrap() {
        let pointer = match name.as_str() {
            "path" => "/target/path",
            "route" => "/target/route_id",
            "origin" => "/origin",
            "body" => "/body/content_md",
            other => &format!("/frontmatter/{other}"),
        };
        *document.pointer_mut(pointer).unwrap() = value.clone();
    }
    let text = document.to_string();
    let hash = NoteHash::of(&mut Canonicalizer::new(), &Value::read(text.as_bytes()).unwrap()).unwrap();
    document["hash"] = json!(hash.to_string());
    document
}

/// The kinds of what is on the ledger.
pub(crate) fn events(project: &Project) -> Vec<String> {
    let shown = project.run(&["ledger", "show", "0", "--limit", "500", "--json"]).ended(0);
    let event = |line: &str| -> String {
        let entry: Json = serde_json::from_str(line).unwrap();
        entry["entry"]["event"]["kind"].as_str().unwrap().to_owned()
    };
    shown.stdout.lines().map(event).collect()
}
