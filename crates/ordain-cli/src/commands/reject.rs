//! `ordain reject`.

use super::{approve, status};
use crate::arguments::Connect;
use crate::exit::{self, Failure, Outcome};
use crate::gateway::{Gateway, Purpose};
use clap::Args;
use ordain_api::VerdictRequest;
use ordain_spec::approval::Verdict;

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  ordain reject 4f1c --reason \"the address is wrong\"", &[
    Outcome::Deny.means("rejected"),
    Outcome::Failed.means("an error"),
]))]
pub(crate) struct Reject {
    /// The action
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Why; it reaches the agent
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    /// The digest of what was shown; without it what there is now
    #[arg(long, value_name = "DIGEST")]
    pub(crate) view: Option<String>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(crate) fn run(args: &Reject, json: bool) -> Result<Outcome, Failure> {
    let gateway = Gateway::open(&args.connect, Purpose::Decide)?;
    let view_digest = match &args.view {
        Some(digest) => digest.clone(),
        None => status::of(gateway.client(), &args.id)?.view_digest,
    };
    let verdict =
        VerdictRequest { verdict: Verdict::Reject, reason: args.reason.clone(), view_digest, signed: None };
    approve::record(gateway.client(), &args.id, &verdict, json)
}
