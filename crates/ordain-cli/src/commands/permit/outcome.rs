//! `ordain permit outcome`.

use super::show::show;
use crate::arguments::Connect;
use crate::exit::{self, Failure, Outcome};
use crate::gate::ids;
use crate::gateway::{Gateway, Purpose};
use crate::signing;
use clap::{Args, ValueEnum};
use ordain_api::{OutcomeReport, OwnerAct, ProblemCode, Settlement};

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  ordain permit outcome permit_0123456789abcdef succeeded --records 1 --duration 250
  ordain permit outcome permit_0123456789abcdef failed --use 2 --reason \"timeout at the bank\"", exit::PLAIN))]
pub(crate) struct PermitOutcome {
    /// The permit, or its action; the beginning of an id is enough
    #[arg(value_name = "PERMIT_ID")]
    pub(crate) id: String,
    /// How it went
    #[arg(value_name = "OUTCOME")]
    pub(crate) outcome: UseOutcome,
    /// Which use
    #[arg(long = "use", value_name = "N", default_value_t = 1)]
    pub(crate) number: u64,
    /// How many records changed
    #[arg(long, value_name = "N")]
    pub(crate) records: Option<u64>,
    /// How long it took, in milliseconds
    #[arg(long, value_name = "MS")]
    pub(crate) duration: Option<u64>,
    /// A remark for the ledger
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) reason: String,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

#[derive(ValueEnum, Clone, Copy)]
pub(crate) enum UseOutcome {
    /// It happened
    Succeeded,
    /// It did not happen
    Failed,
    /// Nobody knows
    Unknown,
}

pub(super) fn run(args: &PermitOutcome, json: bool) -> Result<Outcome, Failure> {
    let gateway = Gateway::open(&args.connect, Purpose::Write)?;
    let report = OutcomeReport {
        number: args.number,
        outcome: match args.outcome {
            UseOutcome::Succeeded => ordain_api::UseOutcome::Succeeded,
            UseOutcome::Failed => ordain_api::UseOutcome::Failed,
            UseOutcome::Unknown => ordain_api::UseOutcome::Unknown,
        },
        affected_records: args.records,
        duration_ms: args.duration,
        reason: args.reason.clone(),
        change: None,
    };
    let client = gateway.client();
    let id = ids::permit_id(client, &args.id)?;
    let recorded = client.report_outcome(&id, &report);
    let recorded = match recorded {
        // Somebody else's use, or one whose deadline has passed: an owner signs.
        Err(error) if error.code() == Some(ProblemCode::Presence) => {
            let settlement = Settlement { outcome: report.outcome, permit_id: &id, number: report.number };
            let about = about(&settlement);
            let client = signing::for_act(client, OwnerAct::SettleOutcome, &settlement.subject(), &[about])?;
            client.report_outcome(&id, &report)?
        }
        recorded => recorded?,
    };
    show(&recorded, json)
}

/// The line above the question for the passphrase.
fn about(settlement: &Settlement<'_>) -> String {
    let said = match settlement.outcome {
        ordain_api::UseOutcome::Succeeded => "it happened",
        ordain_api::UseOutcome::Failed => "it did not happen",
        ordain_api::UseOutcome::Unknown => "nobody knows whether it happened",
    };
    format!("use {} of {}: {said}", settlement.number, settlement.permit_id)
}
