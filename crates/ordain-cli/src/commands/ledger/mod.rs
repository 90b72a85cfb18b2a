//! `ordain ledger`.

mod checkpoint;
pub(crate) mod document;
mod export;
pub(crate) mod foreign;
mod fsck;
mod prove;
mod show;
mod verify;

use super::gate::gate_id;
use crate::arguments::Connect;
use crate::exit::{Failure, Outcome};
use crate::gateway::{Gateway, Place, Purpose};
use crate::project::Project;
use checkpoint::LedgerCheckpoint;
use clap::{Args, Subcommand};
use document::LedgerDocument;
use export::LedgerExport;
use fsck::LedgerFsck;
use ordain_state::GateId;
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
    /// Show a document that an entry names, by its hash
    Document(LedgerDocument),
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
        LedgerCommand::Document(args) => document::run(args, json),
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

/// Another gate of this user than the one of this project.
#[derive(Args)]
pub(crate) struct OtherGate {
    /// Read the record of this gate of yours, in use or replaced [default: the gate of this project]
    #[arg(long, value_name = "ID", value_parser = gate_id, conflicts_with = "server")]
    pub(crate) gate: Option<GateId>,
}

impl OtherGate {
    /// The gate that is named, to look at; else the one of this project or the server.
    pub(super) fn open(&self, connect: &Connect, purpose: Purpose) -> Result<Gateway, Failure> {
        match &self.gate {
            Some(id) => Gateway::of_gate(id),
            None => Gateway::open(connect, purpose),
        }
    }

    pub(super) fn place(&self) -> Result<Place, Failure> {
        match &self.gate {
            Some(id) => Place::of_gate_or_replaced(id),
            None => Place::find(),
        }
    }

    /// Whether the record is behind a server: one that is named, or the service that this folder belongs to.
    pub(super) fn is_served(&self, connect: &Connect) -> Result<bool, Failure> {
        if self.gate.is_some() || connect.server.is_some() {
            return Ok(connect.server.is_some());
        }
        Ok(Project::find()?.is_some_and(|project| project.service().is_some()))
    }
}

/// The number of entries that a server gives at once.
pub(super) const PAGE_MAX: u64 = ordain_api::limits::PAGE_MAX as u64;

fn entries(number: u64) -> String {
    if number == 1 { "1 entry".to_owned() } else { format!("{number} entries") }
}
