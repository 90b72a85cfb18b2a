//! `ordain evidence`.

mod add;
mod pack;

use crate::exit::{Failure, Outcome};
use add::EvidenceAdd;
use clap::{Args, Subcommand};
use pack::Pack;

#[derive(Args)]
pub(crate) struct Evidence {
    #[command(subcommand)]
    pub(crate) command: EvidenceCommand,
}

#[derive(Subcommand)]
pub(crate) enum EvidenceCommand {
    /// Make an evidence packet of a file, of a JSON document or of what a command prints
    Pack(Pack),
    /// Put evidence packets on record, for proposals to refer to
    Add(EvidenceAdd),
}

pub(crate) fn run(args: &Evidence, json: bool) -> Result<Outcome, Failure> {
    match &args.command {
        EvidenceCommand::Pack(args) => pack::run(args, json),
        EvidenceCommand::Add(args) => add::run(args, json),
    }
}
