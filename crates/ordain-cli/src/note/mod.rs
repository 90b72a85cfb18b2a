//! `ordain note`.

mod apply;
mod draft;
mod show;
mod validate;

use crate::args::{Note, NoteCommand, NoteFile};
use crate::document::load;
use crate::exit::{Failure, Outcome};
use crate::project::Project;
use crate::report::{BOLD, RED, YELLOW, printable};
use anstyle::Style;
use ordain_spec::Verified;
use ordain_spec::note::Proposal;
use ordain_vault::{Finding, Index, Validation, Vault};
use std::io::{self, Write};
use std::path::PathBuf;

pub(crate) fn run(args: &Note, json: bool) -> Result<Outcome, Failure> {
    match &args.command {
        NoteCommand::Draft(args) => draft::run(args, json),
        NoteCommand::Validate(args) => validate::run(args, json),
        NoteCommand::Show(args) => show::run(args, json),
        NoteCommand::Apply(args) => apply::run(args, json),
    }
}

pub(crate) use draft::drafter;

/// The folder of the notes: what the command line says, or the project, or this folder.
fn vault_folder(args: &NoteFile) -> Result<PathBuf, Failure> {
    if let Some(folder) = &args.vault {
        return Ok(folder.clone());
    }
    Ok(Project::find()?.map_or_else(|| PathBuf::from("."), |project| project.vault()))
}

/// A proposal, the vault that it is for, and what the vault says to it.
struct Held {
    proposal: Verified<Proposal>,
    vault: Vault,
    validation: Validation,
}

/// Loads a proposal that obeys its contract, and holds it against the vault.
fn hold(args: &NoteFile, json: bool) -> Result<Held, Failure> {
    let proposal = load::<Proposal>(&args.file, json)?.document;
    let vault = Vault::open(&vault_folder(args)?)?;
    let validation = judge(&vault, &proposal)?;
    Ok(Held { proposal, vault, validation })
}

/// Everything that a vault says to a proposal, also what its other notes make of it.
fn judge(vault: &Vault, proposal: &Proposal) -> Result<Validation, Failure> {
    let mut validation = ordain_vault::validate(vault, proposal)?;
    validation.warnings.extend(Index::open(vault)?.0.warnings(proposal));
    Ok(validation)
}

/// Findings for people, one line for each, with what would do instead below it.
fn write_findings(out: &mut impl Write, style: Style, findings: &[Finding]) -> io::Result<()> {
    for Finding { code, path, message, alternatives } in findings {
        let path = if path.is_empty() { "the document" } else { &printable(path) };
        writeln!(out, "  {style}{code}{style:#}  {BOLD}{path}{BOLD:#}  {}", printable(message))?;
        if !alternatives.is_empty() {
            writeln!(out, "      instead: {}", printable(&alternatives.join(", ")))?;
        }
    }
    Ok(())
}

/// What people should know of a proposal that was not asked about, beside the answer.
fn tell(validation: &Validation) -> io::Result<()> {
    let mut stderr = anstream::stderr().lock();
    write_findings(&mut stderr, RED, &validation.findings)?;
    write_findings(&mut stderr, YELLOW, &validation.warnings)
}
