//! A vault, and a model that gives the answers of the test.

use ordain_model::{Embedded, Settings};
use ordain_note::{Draft, Drafter, Failure, Request, Source};
use serde_json::{Value as Json, json};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

pub(crate) const PROMPT: &str = "a note about tides";

/// A vault that goes with the test.
pub(crate) struct Vault(pub(crate) PathBuf);

impl Vault {
    pub(crate) fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!("note-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// Everything in it, with its text.
    pub(crate) fn files(&self) -> Vec<(String, String)> {
        let (mut files, mut folders) = (Vec::new(), vec![self.0.clone()]);
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let name = path.strip_prefix(&self.0).unwrap().to_string_lossy().into_owned();
                    files.push((name, std::fs::read_to_string(&path).unwrap()));
                }
            }
        }
        files.sort();
        files
    }
}

impl Drop for Vault {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The answer of a model.
pub(crate) fn good() -> Json {
    json!({
        "version": 1,
        "target": {"route_id": "sea", "path": "sea/tides.md"},
        "frontmatter": {"title": "Tides", "status": "draft", "tags": ["sea"]},
        "body": {"content_md": "# Tides\n\nTwice a day.\n"},
        "governance": {"related_links": [], "rationale": "We live at the sea."},
    })
}

pub(crate) fn request(text: &str) -> Request {
    Request::new(Source::Prompt, text, &[], None).unwrap()
}

/// A model that answers the prompt of a request with a text, and nothing else.
pub(crate) fn drafter(vault: &Vault, request: &Request, answer: &str, snapshot: bool) -> Drafter {
    let examples: Embedded = vec![(&*request.text.clone().leak(), &*answer.to_owned().leak())].leak();
    let provider = Settings::default().provider(|_| None, Path::new("."), examples).unwrap();
    Drafter::new(provider, &vault.0, snapshot)
}

pub(crate) async fn draft(vault: &Vault, request: &Request, answer: &str) -> Result<Draft, Box<Failure>> {
    drafter(vault, request, answer, false).draft(request, "c-1").await
}
