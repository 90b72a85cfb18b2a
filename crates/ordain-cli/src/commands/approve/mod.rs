//! `ordain approve`: one action, or everything that waits.

mod batch;

use super::{status, submit};
use crate::arguments::Connect;
use crate::exit::{self, Failure, Outcome};
use crate::gate::page;
use crate::gateway::{Gateway, Purpose};
use crate::output::print_page;
use crate::page::Page;
use crate::signing::{self, Signer};
use clap::Args;
use ordain_api::{ActionState, ActionStatus, Approving, SigningTerms, VerdictRequest};
use ordain_client::Client;
use ordain_spec::approval::Verdict;
use ordain_spec::statement::{Assurance, Statement};
use std::io::{BufRead, IsTerminal, Write};
use std::time::Instant;

#[derive(Args)]
#[command(after_help = exit::help_with("\
Shows what there is to approve and asks, on a terminal. Elsewhere name the digest of what was shown, which \
`ordain status ID --json` has as `view_digest`.

Without an id it lists everything that waits for you, shows each, and asks which; one passphrase signs all that you choose, \
each with a statement of its own.

Examples:
  ordain approve
  ordain approve 4f1c
  ordain approve 4f1c --reason \"checked with finance\" --view sha256:…", &[
    Outcome::Ok.means("allowed"),
    Outcome::Hold.means("still held"),
    Outcome::Deny.means("denied"),
    Outcome::Failed.means("an error"),
]))]
pub(crate) struct Approve {
    /// The action; without it everything that waits for you
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Why
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) reason: String,
    /// The digest of what was shown, instead of being shown it and asked
    #[arg(long, value_name = "DIGEST", requires = "id")]
    pub(crate) view: Option<String>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(crate) fn run(args: &Approve, json: bool) -> Result<Outcome, Failure> {
    let gateway = Gateway::open(&args.connect, Purpose::Decide)?;
    let Some(id) = &args.id else { return batch::run(&gateway, &args.reason, json) };
    let view_digest = match &args.view {
        Some(digest) => digest.clone(),
        None => {
            let started = Instant::now();
            let status = status::of(gateway.client(), id)?;
            if status.state == ActionState::Held && !asked(&status)? {
                return Err(Failure::Server("nothing was approved".to_owned()));
            }
            let verdict = signed(gateway.client(), &status, Verdict::Approve, &args.reason, started)?;
            return record(gateway.client(), id, &verdict, json);
        }
    };
    let verdict =
        VerdictRequest { verdict: Verdict::Approve, reason: args.reason.clone(), view_digest, signed: None };
    record(gateway.client(), id, &verdict, json)
}

/// A verdict about what was shown. Somebody who has a key at this gate signs it on their terminal.
pub(super) fn signed(
    client: &Client,
    status: &ActionStatus,
    verdict: Verdict,
    reason: &str,
    started: Instant,
) -> Result<VerdictRequest, Failure> {
    let view_digest = status.view_digest.clone();
    let signer = if signing::on_terminal() { Signer::find(client)? } else { None };
    let signed = match (&status.signing, signer) {
        (Some(terms), Some(signer)) => {
            let given = Given { verdict, reason, assurance: Assurance::Presence };
            signer.sign(&[statement(&signer, status, terms, given, started)])?.pop()
        }
        _ => None,
    };
    Ok(VerdictRequest { verdict, reason: reason.to_owned(), view_digest, signed })
}

/// What somebody says about an action.
#[derive(Clone, Copy)]
pub(super) struct Given<'a> {
    pub(super) verdict: Verdict,
    pub(super) reason: &'a str,
    pub(super) assurance: Assurance,
}

/// The statement of a verdict about what was shown.
pub(super) fn statement(
    signer: &Signer,
    status: &ActionStatus,
    terms: &SigningTerms,
    given: Given<'_>,
    started: Instant,
) -> Statement {
    let Given { verdict, reason, assurance } = given;
    let approving = Approving {
        principal: signer.principal(),
        action_id: &status.action_id,
        view_digest: &status.view_digest,
        verdict,
        reason,
        assurance,
    };
    Statement::Approval(terms.statement(&approving, signing::elapsed_ms(started)))
}

/// Records a verdict, and shows where the action stands now.
pub(super) fn record(
    client: &Client,
    id: &str,
    verdict: &VerdictRequest,
    json: bool,
) -> Result<Outcome, Failure> {
    let status = client.record_verdict(id, verdict)?;
    submit::show(&status, json)?;
    Ok(submit::outcome(&status))
}

/// Shows what there is to approve, and asks. Nobody approves what they were not shown.
fn asked(status: &ActionStatus) -> Result<bool, Failure> {
    if !std::io::stdin().is_terminal() {
        let hint = format!(
            "run this on a terminal, or pass `--view DIGEST` with the `view_digest` of `ordain status {} --json`",
            status.action_id
        );
        return Err(Failure::Usage("standard input is not a terminal".to_owned()).with_hint(hint));
    }
    print_page(&whole_page(status))?;
    let mut stdout = anstream::stdout().lock();
    write!(stdout, "\nApprove this? [y/N] ")?;
    stdout.flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}

/// Everything that somebody must see before they approve.
pub(super) fn whole_page(status: &ActionStatus) -> Page {
    let mut page = Page::default();
    page::action(&mut page, status);
    page::shown(&mut page, status);
    page
}
