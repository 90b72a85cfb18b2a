//! `ordain reject`.

use super::{approve, status};
use crate::arguments::Connect;
use crate::exit::{self, Failure, Outcome};
use crate::gate::ids;
use crate::gate::repeat::Reach;
use crate::gateway::{Gateway, Purpose};
use clap::Args;
use ordain_api::{ActionStatus, VerdictRequest};
use ordain_spec::approval::Verdict;
use std::time::Instant;

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  ordain reject push-1 --reason \"the address is wrong\"", &[
    Outcome::Deny.means("rejected"),
    Outcome::Failed.means("an error"),
]))]
pub(crate) struct Reject {
    /// The action, or the beginning of its id
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Why; it reaches the agent
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: String,
    /// The digest of what was shown; without it what there is now
    #[arg(long, value_name = "DIGEST")]
    pub(crate) view: Option<String>,
    /// Sign the rejection with your key, on a terminal
    #[arg(long)]
    pub(crate) sign: bool,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(crate) fn run(args: &Reject, json: bool) -> Result<Outcome, Failure> {
    let gateway = Gateway::open(&args.connect, Purpose::Decide)?;
    let (client, started) = (gateway.client(), Instant::now());
    let id = &ids::action_id(client, &args.id)?;
    let shown = match &args.view {
        Some(_) if !args.sign => None,
        _ => Some(status::of(client, id)?),
    };
    let verdict = match &shown {
        Some(shown) if args.sign => {
            check_view(shown, args.view.as_deref())?;
            let verdict =
                approve::signed(client, shown, Verdict::Reject, Reach::Once, &args.reason, started)?;
            if verdict.signed.is_none() {
                let failure = Failure::Usage("nothing can be signed here; nothing was rejected".to_owned());
                return Err(
                    failure.with_hint("run this on a terminal, with an enrolled key; or without `--sign`")
                );
            }
            verdict
        }
        _ => {
            let digest = args.view.clone().or(shown.map(|shown| shown.view_digest));
            let (reason, view_digest) = (args.reason.clone(), digest.unwrap_or_default());
            VerdictRequest { verdict: Verdict::Reject, reason, view_digest, signed: None, scope: None }
        }
    };
    approve::record(client, id, &verdict, json)
}

/// The signature covers what was shown.
fn check_view(shown: &ActionStatus, digest: Option<&str>) -> Result<(), Failure> {
    if digest.is_none_or(|digest| digest == shown.view_digest) {
        return Ok(());
    }
    let problem = format!("`{}` now has the digest {}", shown.action_id, shown.view_digest);
    Err(Failure::Server(problem).with_hint("look at it again"))
}
