//! `ordain note`.

mod apply;
mod draft;
mod show;
mod validate;

use crate::document::load;
use crate::exit::{self, Failure, Outcome};
use crate::project::Project;
use crate::report::{BOLD, RED, YELLOW, printable};
use anstyle::Style;
use apply::NoteApply;
use clap::{Args, Subcommand};
use draft::NoteDraft;
use ordain_spec::Verified;
use ordain_spec::note::Proposal;
use ordain_vault::{Finding, Index, Validation, Vault};
use std::io::{self, Write};
use std::path::PathBuf;

#[derive(Args)]
pub(crate) struct Note {
    #[command(subcommand)]
    pub(crate) command: NoteCommand,
}

#[derive(Subcommand)]
pub(crate) enum NoteCommand {
    /// Have a model draft a note: verified, hashed, and put on the ledger where there is one
    ///
    /// The model is what [model] in ordain.toml or the environment says: ORDAIN_MODEL_PROVIDER (openai,
    /// anthropic, ollama, replay), ORDAIN_MODEL_BASE_URL, ORDAIN_MODEL, ORDAIN_MODEL_KEY. Without any,
    /// recorded answers are replayed.
    #[command(after_help = exit::help_with("\
Examples:
  ordain note draft \"Write a note about idempotency keys in payment APIs.\" -o note.json
  ordain note draft \"Compare it with exactly-once delivery\" --context api/idempotency.md --context https://example.com/a
  ordain note draft \"Add a table of error codes\" --enhance api/errors.md", &[
        Outcome::Ok.means("a proposal that fits the vault"),
        Outcome::Failed.means("no proposal, or one that the vault does not take"),
    ]))]
    Draft(NoteDraft),
    /// Check a note proposal against its contract and the vault: routes, sections, collisions, parts to keep
    #[command(after_help = exit::help(&[
        Outcome::Ok.means("the note fits"),
        Outcome::Failed.means("a file could not be read"),
        Outcome::NoResult.means("the proposal does not parse"),
        Outcome::Violations.means("findings"),
    ]))]
    Validate(NoteFile),
    /// Show the note as it would be written, as a diff against what is there
    #[command(after_help = exit::help(&[
        Outcome::Ok.means("the note fits"),
        Outcome::Failed.means("the note does not fit, or an error"),
    ]))]
    Show(NoteFile),
    /// Write the note into the vault: validated again, decided by the gate where there is one, and kept for `undo`
    #[command(after_help = exit::help(&[
        Outcome::Ok.means("applied"),
        Outcome::Failed.means("the note does not fit, or is refused"),
        Outcome::Hold.means("held by the gate; nothing is changed"),
        Outcome::Deny.means("denied by the gate; nothing is changed"),
    ]))]
    Apply(NoteApply),
}

#[derive(Args)]
pub(crate) struct NoteFile {
    /// The note proposal, JSON or by its name YAML; `-` is standard input, JSON
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The folder of the notes; without it what ordain.toml says, or the folder of that file, or this one
    #[arg(long, value_name = "DIR")]
    pub(crate) vault: Option<PathBuf>,
}

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
    Project::find()?.map_or_else(|| Ok(PathBuf::from(".")), |project| project.vault())
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

/// Prints findings and warnings that the command did not ask for, beside its answer.
fn tell(validation: &Validation) -> io::Result<()> {
    let mut stderr = anstream::stderr().lock();
    write_findings(&mut stderr, RED, &validation.findings)?;
    write_findings(&mut stderr, YELLOW, &validation.warnings)
}
