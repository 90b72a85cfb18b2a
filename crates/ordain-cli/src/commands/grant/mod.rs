//! `ordain grant`.

mod list;
mod revoke;

use crate::exit::{Failure, Outcome};
use clap::{Args, Subcommand};
use list::GrantList;
use revoke::GrantRevoke;

#[derive(Args)]
pub(crate) struct Grant {
    #[command(subcommand)]
    pub(crate) command: GrantCommand,
}

#[derive(Subcommand)]
pub(crate) enum GrantCommand {
    /// List the calls that approvers let be repeated, and how often they were
    List(GrantList),
    /// Take a grant back, at once and everywhere
    Revoke(GrantRevoke),
}

pub(crate) fn run(args: &Grant, json: bool) -> Result<Outcome, Failure> {
    match &args.command {
        GrantCommand::List(args) => list::run(args, json),
        GrantCommand::Revoke(args) => revoke::run(args, json),
    }
}
