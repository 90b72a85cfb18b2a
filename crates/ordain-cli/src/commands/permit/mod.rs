//! `ordain permit`.

mod outcome;
mod show;
mod spend;
mod verify;

use crate::exit::{Failure, Outcome};
use crate::input::Source;
use clap::{Args, Subcommand};
use outcome::PermitOutcome;
use show::PermitShow;
use spend::PermitUse;
use std::path::Path;
use verify::PermitVerify;

#[derive(Args)]
pub(crate) struct Permit {
    #[command(subcommand)]
    pub(crate) command: PermitCommand,
}

#[derive(Subcommand)]
pub(crate) enum PermitCommand {
    /// Show a permit and its uses
    Show(PermitShow),
    /// Verify a permit by itself, offline: who issued it, that nobody changed it, when it holds
    Verify(PermitVerify),
    /// Spend one use of a permit: everything is checked again, and then the worker may act
    Use(PermitUse),
    /// Report how a use went, or settle what is unknown
    Outcome(PermitOutcome),
}

pub(crate) fn run(args: &Permit, json: bool) -> Result<Outcome, Failure> {
    match &args.command {
        PermitCommand::Show(args) => show::run(args, json),
        PermitCommand::Verify(args) => verify::run(args, json),
        PermitCommand::Use(args) => spend::run(args, json),
        PermitCommand::Outcome(args) => outcome::run(args, json),
    }
}

fn text_of(path: &Path) -> Result<String, Failure> {
    let bytes = Source::of(path).bytes()?;
    String::from_utf8(bytes)
        .map_err(|_| Failure::Document { path: path.display().to_string(), problem: "is no text".to_owned() })
}
