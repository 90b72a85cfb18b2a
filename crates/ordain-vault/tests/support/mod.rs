//! Proposals and vaults for tests.

#![allow(dead_code, reason = "every test uses its part")]

use ordain_canon::{Canonicalizer, NoteHash, Value};
use ordain_spec::note::Proposal;
use ordain_spec::{Facts, verify_as};
use serde_json::{Value as Json, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A proposal with some changes: `title`, `status`, `tags`, `aliases`, `body`, `path`, `route`, `origin`;
/// null leaves out.
pub(crate) fn draft(change: Json) -> Proposal {
    serde_json::from_value(document(change)).unwrap()
}

/// The same, verified.
pub(crate) fn proposal(change: Json) -> Proposal {
    let text = document(change).to_string();
    verify_as::<Proposal>(&Facts::default(), &Value::read(text.as_bytes()).unwrap()).unwrap().into_inner()
}

pub(crate) fn document(change: Json) -> Json {
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
            "links" => "/governance/related_links",
            other => &format!("/frontmatter/{other}"),
        };
        match (value, pointer.strip_prefix("/frontmatter/")) {
            (Json::Null, Some(field)) => drop(document["frontmatter"].as_object_mut().unwrap().remove(field)),
            _ => *document.pointer_mut(pointer).unwrap() = value.clone(),
        }
    }
    let text = document.to_string();
    let hash = NoteHash::of(&mut Canonicalizer::new(), &Value::read(text.as_bytes()).unwrap()).unwrap();
    document["hash"] = json!(hash.to_string());
    document
}

/// A folder with files, which goes with the test.
pub(crate) struct Files(PathBuf);

impl Files {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let root = std::env::temp_dir().join(format!("ordain-vault-{}-{number}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(&root).unwrap();
        let files_made = Self(root);
        files.iter().for_each(|(path, text)| files_made.write(path, text));
        files_made
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
