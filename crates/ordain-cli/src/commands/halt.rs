//! `ordain halt` and `ordain resume`: one switch, two positions.

use crate::arguments::Connect;
use crate::exit::{self, Failure, Outcome};
use crate::gateway::{Gateway, Purpose};
use crate::output::print_json;
use crate::report::{GREEN, RED, printable};
use crate::signing;
use clap::Args;
use ordain_api::{GateStatus, OwnerAct};
use ordain_spec::statement::reason_hash;
use std::io::Write;

#[derive(Args)]
#[command(after_help = exit::help(exit::PLAIN))]
pub(crate) struct Switch {
    /// Why; it goes on the ledger
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(crate) fn halt(args: &Switch, json: bool) -> Result<Outcome, Failure> {
    let gateway = Gateway::open(&args.connect, Purpose::Write)?;
    show(&gateway.client().halt(&args.reason)?, json)
}

pub(crate) fn resume(args: &Switch, json: bool) -> Result<Outcome, Failure> {
    let gateway = Gateway::open(&args.connect, Purpose::Write)?;
    let about = format!("resume: {}", args.reason);
    let subject = reason_hash(&args.reason);
    let client = signing::for_act(gateway.client(), OwnerAct::Resume, &subject, &[about])?;
    show(&client.resume(&args.reason)?, json)
}

fn show(status: &GateStatus, json: bool) -> Result<Outcome, Failure> {
    if json {
        print_json(status)?;
        return Ok(Outcome::Ok);
    }
    let mut stdout = anstream::stdout().lock();
    match &status.halted {
        Some(halt) => {
            let said = format!("by {}: {}", halt.by, halt.reason);
            writeln!(
                stdout,
                "{RED}halted{RED:#}  {}; nothing is allowed until `ordain resume`",
                printable(&said)
            )?
        }
        None => writeln!(stdout, "{GREEN}open{GREEN:#}  decisions are made and permits can be spent")?,
    }
    Ok(Outcome::Ok)
}
