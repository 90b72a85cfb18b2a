//! Dossiers: everything about one action, with proofs.

use crate::exit::{Failure, Outcome};
use crate::report::{GREEN, RED, YELLOW, printable};
use crate::wording::count;
use ordain_canon::Canonicalizer;
use ordain_gate::{DossierReport, check_dossier};
use ordain_ledger::NoteVerifier;
use serde_json::json;
use std::io::Write;

/// Only dossiers have this member.
const MEMBER: &[u8] = b"\"dossier_schema_version\":";

pub(crate) fn is_dossier(text: &[u8]) -> bool {
    text.windows(MEMBER.len()).any(|window| window == MEMBER)
}

/// Checks a dossier and tells what it proves.
pub(crate) fn verify(
    out: &mut impl Write,
    name: &str,
    text: &[u8],
    keys: &[NoteVerifier],
    json: bool,
) -> Result<Outcome, Failure> {
    let report = if keys.is_empty() {
        let problem = "a dossier is checked with the ledger's key: --key VERIFIER, as `ordain keys list` shows it where the ledger is";
        DossierReport { problems: vec![problem.to_owned()], ..DossierReport::default() }
    } else {
        check_dossier(text, keys)
    };
    let ok = report.problems.is_empty();
    let outcome = if ok { Outcome::Ok } else { Outcome::Violations };
    if json {
        let line = json!({"file": name, "ok": ok, "dossier": report});
        out.write_all(Canonicalizer::new().value(&line)?)?;
        writeln!(out)?;
        return Ok(outcome);
    }
    let name = printable(name);
    if !ok {
        writeln!(
            out,
            "{RED}invalid{RED:#}  {name}: dossier, {}",
            count(report.problems.len() as u64, "problem")
        )?;
        for problem in &report.problems {
            writeln!(out, "  {}", printable(problem))?;
        }
        return Ok(outcome);
    }
    let DossierReport {
        action_id, origin, size, entries, documents, decisions, signatures, withheld, ..
    } = &report;
    writeln!(out, "{GREEN}valid{GREEN:#}  {name}: dossier of {}", printable(action_id))?;
    writeln!(out, "  {entries} entries of {size} on {}", printable(origin))?;
    writeln!(
        out,
        "  {}, {} made again, {} of verdicts",
        count(*documents, "document"),
        count(*decisions, "decision"),
        count(*signatures, "signature")
    )?;
    if !withheld.is_empty() {
        writeln!(out, "  {YELLOW}withheld{YELLOW:#}: {}", printable(&withheld.join(", ")))?;
    }
    Ok(outcome)
}
