//! `ordain token`.

mod create;
mod list;
mod revoke;

use crate::exit::{Failure, Outcome};
use clap::{Args, Subcommand};
use create::TokenCreate;
use list::TokenList;
use revoke::TokenRevoke;

#[derive(Args)]
pub(crate) struct Token {
    #[command(subcommand)]
    pub(crate) command: TokenCommand,
}

#[derive(Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token; its secret is shown once
    Create(TokenCreate),
    /// List all tokens, without their secrets
    List(TokenList),
    /// Revoke a token, at once and everywhere
    Revoke(TokenRevoke),
}

pub(crate) fn run(args: &Token, json: bool) -> Result<Outcome, Failure> {
    match &args.command {
        TokenCommand::Create(args) => create::run(args, json),
        TokenCommand::List(args) => list::run(args, json),
        TokenCommand::Revoke(args) => revoke::run(args, json),
    }
}
