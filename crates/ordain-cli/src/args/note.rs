//! The command line of notes.

use super::Connect;
use clap::{Args, Subcommand};
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
    /// The model is what [model] in ordain.toml or the environment says: ORDAIN_MODEL_PROVIDER (openai, anthropic, ollama,
    /// replay), ORDAIN_MODEL_BASE_URL, ORDAIN_MODEL, ORDAIN_MODEL_KEY. Without any, recorded answers are replayed.
    #[command(after_help = "\
Examples:
  ordain note draft \"Write a note about idempotency keys in payment APIs.\" -o note.json
  ordain note draft \"Compare it with exactly-once delivery\" --context api/idempotency.md --context https://example.com/a
  ordain note draft \"Add a table of error codes\" --enhance api/errors.md

Exit codes: 0 a proposal, 1 none; usage errors 64.")]
    Draft(NoteDraft),
    /// Hold a note proposal against its contract and the vault: routes, sections, collisions, what must be kept
    #[command(
        after_help = "Exit codes: 0 it fits, 1 something could not be read, 2 it does not parse, 3 findings; usage errors 64."
    )]
    Validate(NoteFile),
    /// Show the note as it would be written, as a diff against what is there
    #[command(after_help = "Exit codes: 0 it fits, 1 it does not, or an error; usage errors 64.")]
    Show(NoteFile),
    /// Write the note into the vault: validated again, decided by the gate where there is one, and kept for `undo`
    #[command(
        after_help = "Exit codes: 0 applied, 1 it does not fit, or was refused, 20 held by the gate, 21 denied by it: nothing is changed; usage errors 64."
    )]
    Apply(NoteApply),
}

#[derive(Args)]
pub(crate) struct NoteDraft {
    /// What the note shall be; `-` reads it from standard input
    #[arg(value_name = "TEXT")]
    pub(crate) text: String,
    /// A note of the vault that the model is shown, by path or as [[title]], or a URL that it is told; up to eight
    #[arg(long, value_name = "REF")]
    pub(crate) context: Vec<String>,
    /// The note to make better; its path, title and aliases stay
    #[arg(long, value_name = "PATH")]
    pub(crate) enhance: Option<String>,
    /// The text was refined already
    #[arg(long)]
    pub(crate) refined: bool,
    /// Write the proposal to this file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The folder of the notes; without it what ordain.toml says, or the folder of that file, or this one
    #[arg(long, value_name = "DIR", conflicts_with = "server")]
    pub(crate) vault: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) connect: Connect,
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

#[derive(Args)]
pub(crate) struct NoteApply {
    #[command(flatten)]
    pub(crate) note: NoteFile,
    /// Who proposes the change, where a gate is asked; without it what ordain.toml says, or the user's name
    #[arg(long, value_name = "NAME")]
    pub(crate) actor: Option<String>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}
