//! `ordain note show`.

use super::{Held, NoteFile, hold, tell};
use crate::changes::show_changes;
use crate::exit::{Failure, Outcome};
use crate::output::print_json;
use ordain_canon::ContentHash;
use ordain_harness::apply::Change;
use serde_json::json;

pub(super) fn run(args: &NoteFile, json: bool) -> Result<Outcome, Failure> {
    let Held { proposal, vault, validation } = hold(args, json)?;
    let path = &proposal.target.path;
    // Also show the note that is in the way of a new one.
    let there = match &validation.replaces {
        Some(note) => Some(note.clone()),
        None => vault.note(path).ok().flatten(),
    };
    let outcome = if validation.ok() { Outcome::Ok } else { Outcome::Failed };
    if json {
        let hash = |text: &str| ContentHash::of(text.as_bytes()).to_string();
        print_json(&json!({
            "path": path,
            "text": validation.text,
            "before": there.as_ref().map(|note| hash(&note.text)),
            "after": validation.text.as_deref().map(hash),
            "findings": validation.findings,
            "warnings": validation.warnings,
        }))?;
        return Ok(outcome);
    }
    if let Some(text) = &validation.text {
        let before = there.map(|note| note.text.into_bytes());
        show_changes(&[Change { path: path.clone(), before, after: Some(text.clone().into_bytes()) }], json)?;
    }
    tell(&validation)?;
    Ok(outcome)
}
