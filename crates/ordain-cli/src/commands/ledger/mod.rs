//! `ordain ledger`.

mod checkpoint;
mod export;
mod fsck;
mod prove;
mod show;
mod verify;

use crate::arguments::Connect;
use crate::exit::{Failure, Outcome};
use crate::gateway::{Gateway, Local, Purpose};
use checkpoint::LedgerCheckpoint;
use clap::{Args, Subcommand};
use export::LedgerExport;
use fsck::LedgerFsck;
use prove::LedgerProve;
use show::LedgerShow;
use verify::LedgerVerify;

#[derive(Args)]
pub(crate) struct Ledger {
    #[command(subcommand)]
    pub(crate) command: LedgerCommand,
}

#[derive(Subcommand)]
pub(crate) enum LedgerCommand {
    /// Check the whole ledger: entries, tree, documents, and what earlier checkpoints signed
    Verify(LedgerVerify),
    /// Show entries
    Show(LedgerShow),
    /// Write a proof that an entry is on the ledger, complete in itself
    Prove(LedgerProve),
    /// Print the signed head
    Checkpoint(LedgerCheckpoint),
    /// Write the ledger as static files (C2SP tlog-tiles)
    Export(LedgerExport),
    /// Check the ledger, and that what is kept beside it follows from it: permits and their uses, actions, tokens
    Fsck(LedgerFsck),
}

pub(crate) fn run(args: &Ledger, json: bool) -> Result<Outcome, Failure> {
    match &args.command {
        LedgerCommand::Verify(args) => verify::run(args, json).map_err(no_result),
        LedgerCommand::Show(args) => show::run(args, json),
        LedgerCommand::Prove(args) => prove::run(args, json),
        LedgerCommand::Checkpoint(args) => checkpoint::run(args, json),
        LedgerCommand::Export(args) => export::run(args, json),
        LedgerCommand::Fsck(args) => fsck::run(args, json).map_err(no_result),
    }
}

/// Damage keeps its exit code, so that a nightly check can tell it from everything else that can go wrong.
pub(super) fn no_result(failure: Failure) -> Failure {
    if failure.is_damage() { failure } else { Failure::NoResult(Box::new(failure)) }
}

/// The gate of this project; for what needs the whole store.
pub(super) fn local(connect: &Connect, purpose: Purpose) -> Result<Local, Failure> {
    Gateway::open(connect, purpose)?.into_local().ok_or_else(|| {
        Failure::Usage("this command reads a store, not a server".to_owned())
            .with_hint("run it on the machine of the store, without --server")
    })
}

/// The number of entries that a server gives at once.
pub(super) const PAGE_MAX: u64 = ordain_api::limits::PAGE_MAX as u64;

fn entries(number: u64) -> String {
    if number == 1 { "1 entry".to_owned() } else { format!("{number} entries") }
}
