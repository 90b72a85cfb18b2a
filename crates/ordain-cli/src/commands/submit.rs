//! `ordain submit`.

use super::status;
use crate::arguments::Connect;
use crate::document::document_failure;
use crate::exit::{self, Failure, Outcome};
use crate::gate::{ids, page};
use crate::gateway::{Gateway, Purpose};
use crate::input::Source;
use crate::output::{print_json, print_page};
use crate::page::Page;
use clap::Args;
use ordain_api::{ActionState, ActionStatus, ViewDocument};
use ordain_spec::approval::Verdict;
use serde_json::Value as Json;
use std::path::PathBuf;

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  ordain submit proposal.json
  ordain submit proposal.json --wait 60
  ordain submit edited.json --supersedes push-1
  agent | ordain submit - --server http://127.0.0.1:7171", &[
    Outcome::Ok.means("allowed"),
    Outcome::Hold.means("held"),
    Outcome::Deny.means("denied"),
    Outcome::ActionFailed.means("submitted before, and the action failed"),
    Outcome::Unknown.means("submitted before, and the outcome is unknown"),
    Outcome::Failed.means("an error"),
]))]
pub(crate) struct Submit {
    /// The action proposal or KernelRequest, JSON or by its name YAML; `-` is standard input, JSON
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The held, denied or expired proposal that this one replaces, or the beginning of its id
    #[arg(long, value_name = "ID")]
    pub(crate) supersedes: Option<String>,
    /// Wait up to this many seconds for approvals
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "3600")]
    pub(crate) wait: Option<u64>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(crate) fn run(args: &Submit, json: bool) -> Result<Outcome, Failure> {
    let source = Source::of(&args.file);
    let text = source.text()?;
    let bytes = text.checked().map_err(|wrong| document_failure(&source, &wrong))?;
    let gateway = Gateway::open(&args.connect, Purpose::Decide)?;
    let client = gateway.client();
    let supersedes = args.supersedes.as_ref().map(|id| ids::action_id(client, id)).transpose()?;
    let submitted = client.submit(bytes, supersedes.as_deref()).map_err(|error| {
        let failure = Failure::from(error);
        let is_wrong = matches!(&failure, Failure::Gate(problem) if !problem.errors.is_empty());
        match (failure.hint(), &source) {
            (None, Source::File(path)) if is_wrong => {
                let hint = format!("run `ordain verify --kind action {}`", path.display());
                failure.with_hint(hint)
            }
            _ => failure,
        }
    });
    let mut status = submitted?.status;
    if let Some(seconds) = args.wait
        && status.state == ActionState::Held
    {
        status = status::wait(client, &status.action_id, seconds)?;
    }
    if !json && status.view == ViewDocument::none() {
        // The answer leaves out the proposal where nobody is going to decide about it.
        status = client.action(&status.action_id)?.unwrap_or(status);
    }
    show(&status, json)?;
    Ok(outcome(&status))
}

/// Shows where an action stands, and what to do next.
pub(crate) fn show(status: &ActionStatus, json: bool) -> Result<(), Failure> {
    show_with(status, json, |_| ())
}

/// The same, with everything that approvers see or saw.
pub(super) fn show_all(status: &ActionStatus, json: bool) -> Result<(), Failure> {
    show_with(status, json, |page| page::shown(page, status))
}

fn show_with(status: &ActionStatus, json: bool, more: impl FnOnce(&mut Page)) -> Result<(), Failure> {
    if json {
        return print_json(status);
    }
    let mut page = Page::default();
    page::action(&mut page, status);
    more(&mut page);
    next(&mut page, status);
    print_page(&page)
}

fn next(page: &mut Page, status: &ActionStatus) {
    let id = &status.action_id;
    // A change of files is carried out by the command that proposed it, with the permit that it gets.
    let target = status.view.get("proposal").and_then(|proposal| proposal.get("target"));
    let resource_type = target.and_then(|target| target.get("resource_type")).and_then(Json::as_str);
    let of_files =
        resource_type == Some("patch_set") && ["apply-", "undo-"].iter().any(|verb| id.starts_with(verb));
    let items: Vec<String> = match status.state {
        ActionState::Held if of_files => vec![
            format!("to decide: ordain approve {id}"),
            "once it is allowed: the same command again, which carries it out".to_owned(),
        ],
        ActionState::Allowed if of_files => {
            vec!["the command that asked for it, once more: it spends the permit, changes the files and reports".to_owned()]
        }
        ActionState::Denied if rejected(status).is_some() => {
            let by = rejected(status).unwrap_or_default();
            vec![format!("before you propose anything like it again, ask {by}, who rejected it")]
        }
        ActionState::Denied | ActionState::Expired if of_files => vec![
            "fix what the reasons name, or have the policy changed, and run the same command again"
                .to_owned(),
        ],
        ActionState::Held => {
            vec![format!("to decide: ordain approve {id}"), format!("wait for it: ordain status {id} --wait")]
        }
        ActionState::Allowed => {
            let permit = status.permit.as_ref().map(|it| it.permit_id.as_str()).unwrap_or_default();
            vec![
                format!("before acting: ordain permit use {permit} --for PROPOSAL"),
                format!("afterwards: ordain permit outcome {permit} succeeded"),
            ]
        }
        ActionState::Denied => {
            vec![format!("fix what the reasons name, and submit it with a new id: --supersedes {id}")]
        }
        ActionState::Unknown => {
            vec![format!("find out whether it happened, and say so: ordain approve {id}")]
        }
        ActionState::Expired => vec![format!("submit it again with a new id: --supersedes {id}")],
        ActionState::Superseded
        | ActionState::Running
        | ActionState::Succeeded
        | ActionState::Failed
        | ActionState::Observed => Vec::new(),
    };
    if !items.is_empty() {
        page.section("Next");
        items.iter().for_each(|item| page.item(item));
    }
}

/// The approver who rejected it, if somebody did. A no is not a mistake that the proposer can fix.
fn rejected(status: &ActionStatus) -> Option<String> {
    let rejection = status.approvals.iter().find(|approval| approval.verdict == Verdict::Reject);
    rejection.map(|approval| approval.approver.as_str().to_owned())
}

pub(crate) fn outcome(status: &ActionStatus) -> Outcome {
    match status.state {
        ActionState::Held => Outcome::Hold,
        ActionState::Denied | ActionState::Expired | ActionState::Superseded => Outcome::Deny,
        ActionState::Allowed | ActionState::Running | ActionState::Succeeded | ActionState::Observed => {
            Outcome::Ok
        }
        ActionState::Failed => Outcome::ActionFailed,
        ActionState::Unknown => Outcome::Unknown,
    }
}
