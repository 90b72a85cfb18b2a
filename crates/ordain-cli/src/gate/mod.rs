//! The commands that ask the gate: each sends requests and shows the answers.

pub(crate) mod evidence;
pub(crate) mod files;
pub(crate) mod ledger;
pub(crate) mod operate;
pub(crate) mod permit;
pub(crate) mod replay;
pub(crate) mod say;
pub(crate) mod serve;
pub(crate) mod status;
pub(crate) mod submit;

mod page;

use crate::exit::Failure;
use crate::report::printable;
use ordain_api::Problem;
use ordain_canon::Canonicalizer;
use serde::{Deserialize, Serialize};
use std::io::Write;

/// A problem as people read it: what, and below it each fault and each of the kernel's reasons.
pub(crate) fn problem_text(problem: &Problem) -> String {
    let alone = match problem.errors.as_slice() {
        [fault] if fault.message == problem.detail => Some(fault.path.as_str()),
        _ => None,
    };
    let place = alone.filter(|path| !path.is_empty()).map(|path| format!("{path}: ")).unwrap_or_default();
    let mut lines = vec![format!("{place}{}", problem.detail)];
    for fault in problem.errors.iter().filter(|_| alone.is_none()) {
        let parts = [fault.rule_id.as_deref().unwrap_or_default(), &fault.path, &fault.message];
        lines.push(parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("  "));
    }
    lines.extend(problem.reasons.iter().map(|reason| format!("{}  {}", reason.rule_id, reason.message)));
    let text = lines.iter().map(|line| printable(line)).collect::<Vec<_>>().join("\n  ");
    match &problem.hint {
        Some(hint) => format!("{text}\nhint: {}", printable(hint)),
        None => text,
    }
}

/// The keys that permits are signed with, as the gate gives them.
#[derive(Deserialize)]
struct Jwks {
    keys: Vec<Jwk>,
}

#[derive(Deserialize)]
struct Jwk {
    kid: String,
    x: String,
    #[serde(default)]
    retired_at_ms: Option<u64>,
}

/// Reads an answer.
pub(crate) fn read<T: serde::de::DeserializeOwned>(body: &[u8]) -> Result<T, Failure> {
    serde_json::from_slice(body)
        .map_err(|error| Failure::Server(format!("the answer cannot be read: {error}")))
}

/// Prints one line of canonical JSON.
pub(crate) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(Canonicalizer::new().value(value)?)?;
    stdout.write_all(b"\n")?;
    Ok(stdout.flush()?)
}

/// Prints a page.
pub(crate) fn print_page(page: &crate::page::Page) -> Result<(), Failure> {
    let mut stdout = anstream::stdout().lock();
    stdout.write_all(page.text().as_bytes())?;
    Ok(stdout.flush()?)
}
