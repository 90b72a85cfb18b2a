//! `ordain note validate`.

use super::{NoteFile, judge, vault_folder, write_findings};
use crate::document::with_article;
use crate::exit::{Failure, Outcome};
use crate::input::Source;
use crate::output::print_json;
use crate::report::{GREEN, RED, YELLOW, printable};
use crate::wording::count;
use ordain_spec::note::Proposal;
use ordain_spec::{Facts, Kind, Report, RuleId, verify_as};
use ordain_vault::{Finding, Validation, Vault};
use serde_json::json;
use std::io::Write;

pub(super) fn run(args: &NoteFile, json: bool) -> Result<Outcome, Failure> {
    let source = Source::of(&args.file);
    let text = source.text()?;
    let vault = Vault::open(&vault_folder(args)?)?;
    let (validation, outcome) = match text.read(&text.json) {
        Err(wrong) => (broken(&Report::of(RuleId::Parse, wrong.pointer, wrong.message)), Outcome::NoResult),
        Ok(document) => match verify_as::<Proposal>(&Facts::default(), &document) {
            Ok(proposal) => {
                let validation = judge(&vault, &proposal)?;
                let outcome = if validation.ok() { Outcome::Ok } else { Outcome::Violations };
                (validation, outcome)
            }
            Err(report) => match Kind::recognise(&document) {
                // For a document of another kind, name its kind: every field would be wrong.
                Ok(kind) if kind != Kind::Note => {
                    let message = format!("expected a note proposal, found {}", with_article(kind));
                    (broken(&Report::of(RuleId::Kind, String::new(), message)), Outcome::NoResult)
                }
                _ => (broken(&report), Outcome::Violations),
            },
        },
    };
    let Validation { findings, warnings, .. } = validation;
    if json {
        let mut result = json!({"ok": findings.is_empty(), "findings": findings, "warnings": warnings});
        if let (Some(file), Some(members)) = (source.file(), result.as_object_mut()) {
            members.insert("file".to_owned(), json!(file));
        }
        print_json(&result)?;
        return Ok(outcome);
    }
    let mut stdout = anstream::stdout().lock();
    let name = source.name();
    let name = printable(&name);
    if findings.is_empty() {
        writeln!(stdout, "{GREEN}valid{GREEN:#}  {name}: note proposal, and it fits the vault")?;
    } else {
        let found = count(findings.len() as u64, "finding");
        writeln!(stdout, "{RED}invalid{RED:#}  {name}: note proposal, {found}")?;
    }
    write_findings(&mut stdout, RED, &findings)?;
    write_findings(&mut stdout, YELLOW, &warnings)?;
    stdout.flush()?;
    Ok(outcome)
}

/// Violations that show without a vault.
fn broken(report: &Report) -> Validation {
    Validation { findings: Finding::of_report(report), warnings: Vec::new(), text: None, replaces: None }
}
