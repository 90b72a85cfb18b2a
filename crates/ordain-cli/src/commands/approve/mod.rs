//! `ordain approve`: one action, or everything that waits.

mod batch;
pub(crate) mod settle;

use super::{status, submit};
use crate::arguments::Connect;
use crate::clock::now_ms;
use crate::exit::{self, Failure, Outcome};
use crate::gate::deciding::{self, Answer};
use crate::gate::ids;
use crate::gate::repeat::{self, Reach};
use crate::gate::screen::{Screen, SigningKey};
use crate::gate::summary::summary;
use crate::gateway::{Gateway, Purpose};
use crate::page::Page;
use crate::report;
use crate::signing::{self, Signer};
use clap::Args;
use ordain_api::{ActionState, ActionStatus, Approving, ProblemCode, SigningTerms, VerdictRequest};
use ordain_client::{Client, ClientError};
use ordain_presence::Terminal;
use ordain_spec::approval::Verdict;
use ordain_spec::standing::StandingScope;
use ordain_spec::statement::{Assurance, ONCE, Session, Statement};
use std::time::Instant;

#[derive(Args)]
#[command(after_help = exit::help_with("\
Shows the action on one screen of your terminal and asks: approve, reject with a reason, view all of it, or skip it. Your \
passphrase signs an approval. Where the policies allow it, `g` approves the action and exact repetitions of it for a while. Without an id it goes through everything that waits for you; one passphrase signs all that you \
approve, each with a statement of its own.

If nobody knows whether an action was done, it asks an owner: it happened, it did not, or nobody can tell. The answer takes the \
passphrase too. While nobody knows, the gate may refuse the same effect.

Without a terminal, pass the digest of what was shown, which `ordain status ID --json` has as `view_digest`.

Examples:
  ordain approve
  ordain approve push-1
  ordain approve push-1 --full
  ordain approve push-1 --reason \"checked with finance\" --view sha256:…", &[
    Outcome::Ok.means("allowed"),
    Outcome::Hold.means("still held"),
    Outcome::Deny.means("denied"),
    Outcome::Unknown.means("nobody knows whether it happened"),
    Outcome::Failed.means("an error"),
]))]
pub(crate) struct Approve {
    /// The action, or the beginning of its id; without it everything that waits for you
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Why
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) reason: String,
    /// The digest of what was shown, instead of being shown it and asked
    #[arg(long, value_name = "DIGEST", requires = "id")]
    pub(crate) view: Option<String>,
    /// Show the whole view as JSON before the screen
    #[arg(long, requires = "id", conflicts_with = "view")]
    pub(crate) full: bool,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(crate) fn run(args: &Approve, json: bool) -> Result<Outcome, Failure> {
    let gateway = Gateway::open(&args.connect, Purpose::Decide)?;
    let client = gateway.client();
    let Some(id) = &args.id else { return batch::run(&gateway, &args.reason, json) };
    let id = &ids::action_id(client, id)?;
    if let Some(view_digest) = args.view.clone() {
        let reason = args.reason.clone();
        let verdict =
            VerdictRequest { verdict: Verdict::Approve, reason, view_digest, signed: None, scope: None };
        return record(client, id, &verdict, json);
    }
    let started = Instant::now();
    let status = status::of(client, id)?;
    if status.state == ActionState::Unknown {
        return settle::one(client, &status, json);
    }
    let mut reach = Reach::Once;
    if status.state == ActionState::Held {
        match asked(client, &status, args.full)? {
            Answer::Approve(wanted) => reach = wanted,
            Answer::Reject(reason) => return record(client, id, &rejection(&status, reason), json),
            Answer::Skip | Answer::Leave => {
                let hint = status.needs_owner.then_some(CLAIM);
                report::note(&format!("`{id}` is still held"), hint);
                return Ok(Outcome::Hold);
            }
        }
    }
    let verdict = signed(client, &status, Verdict::Approve, reach, &args.reason, started)?;
    record(client, id, &verdict, json)
}

/// The advice at a gate that nobody owns.
pub(super) const CLAIM: &str =
    "run `ordain init --claim` on a terminal, to own this gate with a key that signs";

/// A rejection of what was shown. It lets nothing through, and so takes no signature.
pub(super) fn rejection(status: &ActionStatus, reason: String) -> VerdictRequest {
    let view_digest = status.view_digest.clone();
    VerdictRequest { verdict: Verdict::Reject, reason, view_digest, signed: None, scope: None }
}

/// The key that would sign an answer.
pub(super) fn signing_key(signer: Option<&Signer>, takes: &'static str) -> SigningKey {
    match signer {
        Some(signer) => SigningKey::Key { fingerprint: signer.fingerprint(), takes },
        None => SigningKey::None,
    }
}

/// The key signs after its passphrase was typed.
pub(super) const TAKES_PASSPHRASE: &str = "an approval takes its passphrase";

/// A verdict about what was shown. Somebody who has a key at this gate signs it on their terminal.
pub(super) fn signed(
    client: &Client,
    status: &ActionStatus,
    verdict: Verdict,
    reach: Reach,
    reason: &str,
    started: Instant,
) -> Result<VerdictRequest, Failure> {
    let view_digest = status.view_digest.clone();
    let signer = if signing::on_terminal() { Signer::find(client)? } else { None };
    let mut scope = None;
    let signed = match (&status.signing, signer) {
        (Some(terms), Some(signer)) => {
            scope = scope_of(status, reach)?;
            let given = Given {
                verdict,
                reason,
                assurance: Assurance::Presence,
                session: None,
                scope: scope.as_ref(),
            };
            let about = [about(verdict, status, scope.as_ref())];
            signer.sign(&[statement(&signer, status, terms, given, started)?], &about)?.pop()
        }
        _ => None,
    };
    if signed.is_none() && reach == Reach::Repeat {
        return Err(Failure::Usage("only a signature lets a call be repeated".to_owned()));
    }
    Ok(VerdictRequest { verdict, reason: reason.to_owned(), view_digest, signed, scope })
}

/// The verdict of a person about an action.
#[derive(Clone, Copy)]
pub(super) struct Given<'a> {
    pub(super) verdict: Verdict,
    pub(super) reason: &'a str,
    pub(super) assurance: Assurance,
    /// The signer with a key that stays unlocked.
    pub(super) session: Option<&'a Session>,
    /// How far it goes beyond this action.
    pub(super) scope: Option<&'a StandingScope>,
}

/// The scope of an approval that goes as far as its approver said.
pub(super) fn scope_of(status: &ActionStatus, reach: Reach) -> Result<Option<StandingScope>, Failure> {
    if reach == Reach::Once {
        return Ok(None);
    }
    let changed = || {
        let problem = format!("the policies do not let `{}` be repeated any more", status.action_id);
        Failure::Server(problem).with_hint("look at it again")
    };
    repeat::offered(status).map(Some).ok_or_else(changed)
}

/// The statement of a verdict about what was shown.
pub(super) fn statement(
    signer: &Signer,
    status: &ActionStatus,
    terms: &SigningTerms,
    given: Given<'_>,
    started: Instant,
) -> Result<Statement, Failure> {
    let Given { verdict, reason, assurance, session, scope } = given;
    let scope = match scope {
        None => ONCE.to_owned(),
        Some(scope) => scope.hash().map_err(|error| Failure::Server(error.to_string()))?.to_string(),
    };
    let approving = Approving {
        principal: signer.principal(),
        action_id: &status.action_id,
        view_digest: &status.view_digest,
        verdict,
        reason,
        assurance,
        session,
        scope: &scope,
    };
    Ok(Statement::Approval(terms.statement(&approving, signing::elapsed_ms(started))))
}

/// Records a verdict, and shows where the action stands now.
pub(super) fn record(
    client: &Client,
    id: &str,
    verdict: &VerdictRequest,
    json: bool,
) -> Result<Outcome, Failure> {
    let status = client.record_verdict(id, verdict).map_err(|error| refused(client, error))?;
    submit::show(client, &status, json)?;
    Ok(submit::outcome(&status))
}

/// Why a verdict was not recorded. At an open gate it may be that nobody can sign.
pub(super) fn refused(client: &Client, error: ClientError) -> Failure {
    let failure = Failure::from(error);
    let is_refusal = matches!(&failure, Failure::Gate(problem) if problem.code == ProblemCode::Refused);
    let is_open = || client.gate().is_ok_and(|gate| !gate.owned);
    if is_refusal && failure.hint().is_none() && is_open() { failure.with_hint(CLAIM) } else { failure }
}

/// The last line before a passphrase: what is signed.
pub(super) fn about(verdict: Verdict, status: &ActionStatus, scope: Option<&StandingScope>) -> String {
    if let Some(scope) = scope {
        return format!("{}{}: {}", repeat::GRANT, status.action_id, repeat::sentence(status, scope));
    }
    let verb = match verdict {
        Verdict::Approve => "approve",
        Verdict::Reject => "reject",
    };
    format!("{verb} {}: {}", status.action_id, summary(status))
}

/// Shows what there is to approve, and asks. Nobody approves what they were not shown.
fn asked(client: &Client, status: &ActionStatus, full: bool) -> Result<Answer, Failure> {
    if !signing::on_terminal() {
        let hint = format!(
            "run this on a terminal, or run `ordain approve {0} --view {1}` if you have seen what has this digest",
            status.action_id, status.view_digest
        );
        return Err(Failure::Usage("standard input is not a terminal".to_owned()).with_hint(hint));
    }
    let signer = Signer::find(client)?;
    let mut terminal = Terminal::open().map_err(signing::terminal_failure)?;
    if full {
        let text = |columns: usize| {
            let mut page = Page::of_width(columns);
            page.json(&status.view);
            page.text().to_owned()
        };
        deciding::show_pages(&mut terminal, text, &mut deciding::patiently)?;
    }
    let screen = Screen::of(status, &signing_key(signer.as_ref(), TAKES_PASSPHRASE), now_ms());
    deciding::decide(&mut terminal, &screen, &mut deciding::patiently)
}
