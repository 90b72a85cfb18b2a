//! Proof files: an entry of a ledger, its place in the tree, and the signed head.

use crate::exit::{Failure, Outcome};
use crate::report::{GREEN, RED, printable};
use ordain_canon::Canonicalizer;
use ordain_ledger::{Checkpoint, NoteVerifier, ProofFile};
use serde_json::{Value as Json, json};
use std::io::Write;

/// How a proof file begins.
const HEAD: &[u8] = b"c2sp.org/tlog-proof@";

pub(crate) fn is_proof(text: &[u8]) -> bool {
    text.starts_with(HEAD)
}

/// Checks a proof file and tells what it proves.
pub(crate) fn verify(
    out: &mut impl Write,
    name: &str,
    text: &[u8],
    keys: &[NoteVerifier],
    json: bool,
) -> Result<Outcome, Failure> {
    let checked = check(text, keys);
    let outcome = if checked.is_ok() { Outcome::Ok } else { Outcome::Violations };
    if json {
        let report = match &checked {
            Ok(proven) => json!({"file": name, "ok": true, "index": proven.index, "size": proven.size,
                "origin": proven.origin, "entry": proven.entry}),
            Err(problem) => json!({"file": name, "ok": false, "problem": problem}),
        };
        out.write_all(Canonicalizer::new().value(&report)?)?;
        writeln!(out)?;
        return Ok(outcome);
    }
    let name = printable(name);
    match checked {
        Ok(proven) => {
            let entry = serde_json::to_string(&proven.entry).unwrap_or_default();
            let place = format!("entry {} of {} on {}", proven.index, proven.size, proven.origin);
            writeln!(out, "{GREEN}valid{GREEN:#}  {name}: {}\n  {}", printable(&place), printable(&entry))?;
        }
        Err(problem) => writeln!(out, "{RED}invalid{RED:#}  {name}: {}", printable(&problem))?,
    }
    Ok(outcome)
}

struct Proven {
    origin: String,
    index: u64,
    size: u64,
    entry: Json,
}

fn check(text: &[u8], keys: &[NoteVerifier]) -> Result<Proven, String> {
    if keys.is_empty() {
        return Err("a proof is checked with the ledger's key: --key VERIFIER, as `ordain keys list` shows it where the ledger is".to_owned());
    }
    let text = std::str::from_utf8(text).map_err(|_| "is not UTF-8".to_owned())?;
    let proof = ProofFile::parse(text).map_err(|error| error.to_string())?;
    let head = Checkpoint::parse(&proof.checkpoint.text).map_err(|error| error.to_string())?;
    proof.verify_entry(keys, &head.origin).map_err(|error| error.to_string())?;
    let entry = proof.extra.as_deref().unwrap_or_default();
    let entry = serde_json::from_slice(entry).map_err(|error| format!("the entry is not JSON: {error}"))?;
    Ok(Proven { origin: head.origin, index: proof.index, size: head.size, entry })
}
