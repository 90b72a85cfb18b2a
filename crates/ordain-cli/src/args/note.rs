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
