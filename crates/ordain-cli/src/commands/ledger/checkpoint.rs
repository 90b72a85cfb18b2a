//! `ordain ledger checkpoint`.

use crate::arguments::Connect;
use crate::exit::{self, Failure, Outcome};
use crate::gateway::{Gateway, Purpose};
use crate::output::print_json;
use clap::Args;
use serde_json::json;
use std::io::Write;

#[derive(Args)]
#[command(after_help = exit::help(exit::PLAIN))]
pub(crate) struct LedgerCheckpoint {
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(super) fn run(args: &LedgerCheckpoint, json: bool) -> Result<Outcome, Failure> {
    // A gate that signs puts its key on record.
    let gateway = Gateway::open(&args.connect, Purpose::Write)?;
    let note = gateway.client().checkpoint()?;
    if json {
        print_json(&json!({"checkpoint": note}))?;
    } else {
        std::io::stdout().lock().write_all(note.as_bytes())?;
    }
    Ok(Outcome::Ok)
}
