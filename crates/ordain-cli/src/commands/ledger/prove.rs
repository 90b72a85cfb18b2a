//! `ordain ledger prove`.

use crate::arguments::Connect;
use crate::exit::{self, Failure, Outcome};
use crate::gateway::{Gateway, Purpose};
use crate::output::print_json;
use crate::report::GREEN;
use clap::Args;
use serde_json::json;
use std::io::Write;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  ordain ledger prove 17 -o decision.tlog-proof
  ordain verify decision.tlog-proof --key \"ordain/0123456789abcdef+89abcdef+AQ…\"", exit::PLAIN))]
pub(crate) struct LedgerProve {
    /// The entry
    #[arg(value_name = "INDEX")]
    pub(crate) index: u64,
    /// Write the proof to this file
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(super) fn run(args: &LedgerProve, json: bool) -> Result<Outcome, Failure> {
    let gateway = Gateway::open(&args.connect, Purpose::Write)?;
    let proof = gateway.client().proof(args.index)?;
    match &args.output {
        Some(path) => {
            std::fs::write(path, &proof)
                .map_err(|error| Failure::File { path: path.display().to_string(), error })?;
            if json {
                print_json(&json!({"index": args.index, "proof": path.display().to_string()}))?;
            } else {
                writeln!(anstream::stdout(), "{GREEN}written{GREEN:#}  {}", path.display())?;
            }
        }
        None if json => print_json(&json!({"index": args.index, "proof": proof}))?,
        None => std::io::stdout().lock().write_all(proof.as_bytes())?,
    }
    Ok(Outcome::Ok)
}
