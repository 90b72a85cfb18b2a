//! `ordain submit`.

use super::status;
use crate::arguments::Connect;
use crate::document::document_failure;
use crate::exit::{self, Failure, Outcome};
use crate::gate::{ids, page};
use crate::gateway::{Gateway, Purpose};
use crate::input::Source;
use crate::output::{print_json, print_page, print_result};
use crate::page::Page;
use crate::wording::shell_word;
use clap::Args;
use ordain_api::{ActionState, ActionStatus, ViewDocument};
use ordain_client::Client;
use ordain_spec::approval::Verdict;
use serde_json::Value as Json;
use std::path::{Path, PathBuf};

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
    let text = source.text().map_err(|failure| match &failure {
        Failure::File { error, .. } if error.kind() == std::io::ErrorKind::NotFound => failure
            .with_hint("name a file with an action proposal, or pass `-` to read one from standard input"),
        _ => failure,
    })?;
    let bytes = text.checked().map_err(|wrong| document_failure(&source, &wrong))?;
    let gateway = Gateway::open(&args.connect, Purpose::Decide)?;
    let client = gateway.client();
    let supersedes = args.supersedes.as_ref().map(|id| ids::action_id(client, id)).transpose()?;
    let submitted = client.submit(bytes, supersedes.as_deref()).map_err(|error| {
        let failure = Failure::from(error);
        let is_wrong = matches!(&failure, Failure::Gate(problem) if !problem.errors.is_empty());
        match (failure.hint(), &source) {
            (None, Source::File(path)) if is_wrong => {
                let path = shell_word(&path.display().to_string());
                let hint = format!("run `ordain verify --kind action {path}`");
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
    let file = match &source {
        Source::File(path) => Some(path.as_path()),
        _ => None,
    };
    show_with(&status, json, print_result, |page| next(page, &status, client, file))?;
    Ok(outcome(&status))
}

/// Shows where an action stands, and what to do next.
pub(crate) fn show(client: &Client, status: &ActionStatus, json: bool) -> Result<(), Failure> {
    show_with(status, json, print_result, |page| next(page, status, client, None))
}

/// The same, with everything that approvers see or saw.
pub(super) fn show_all(client: &Client, status: &ActionStatus, json: bool) -> Result<(), Failure> {
    show_with(status, json, print_page, |page| {
        page::shown(page, status);
        next(page, status, client, None);
    })
}

fn show_with(
    status: &ActionStatus,
    json: bool,
    print: fn(&Page) -> Result<(), Failure>,
    more: impl FnOnce(&mut Page),
) -> Result<(), Failure> {
    if json {
        return print_json(status);
    }
    let mut page = Page::default();
    page::action(&mut page, status);
    more(&mut page);
    print(&page)
}

/// The name of the file with the proposal where nobody knows it.
const SOME_FILE: &str = "proposal.json";

/// Says what to do next. `file` has the proposal, where that is known.
fn next(page: &mut Page, status: &ActionStatus, client: &Client, file: Option<&Path>) {
    // A change of files is carried out by the command that proposed it, with the permit that it gets.
    let target = status.view.get("proposal").and_then(|proposal| proposal.get("target"));
    let resource_type = target.and_then(|target| target.get("resource_type")).and_then(Json::as_str);
    let id = &status.action_id;
    let of_files =
        resource_type == Some("patch_set") && ["apply-", "undo-"].iter().any(|verb| id.starts_with(verb));
    let is_over = matches!(
        status.state,
        ActionState::Superseded
            | ActionState::Running
            | ActionState::Succeeded
            | ActionState::Failed
            | ActionState::Observed
    );
    if is_over {
        return;
    }
    let id = ids::short(client, id);
    page.section("Next");
    match status.state {
        ActionState::Held => {
            page.step("to decide", &format!("ordain approve {id}"));
            if of_files {
                page.item("once it is allowed: the same command again, which carries it out");
            } else {
                page.step("wait for it", &format!("ordain status {id} --wait"));
            }
        }
        ActionState::Allowed if of_files => page.item(
            "the command that asked for it, once more: it spends the permit, changes the files and reports",
        ),
        ActionState::Allowed => {
            let file =
                file.map_or_else(|| SOME_FILE.to_owned(), |path| shell_word(&path.display().to_string()));
            page.step("before acting", &format!("ordain permit use {id} --for {file}"));
            page.step("afterwards", &format!("ordain permit outcome {id} succeeded"));
        }
        ActionState::Denied if rejected(status).is_some() => {
            let by = rejected(status).unwrap_or_default();
            page.item(&format!("before you propose anything like it again, ask {by}, who rejected it"));
        }
        ActionState::Denied | ActionState::Expired if of_files => {
            page.item(
                "fix what the reasons name, or have the policy changed, and run the same command again",
            );
        }
        ActionState::Denied => {
            again(page, "fix what the reasons name, and submit it with a new id", &id, file)
        }
        ActionState::Expired => again(page, "submit it again with a new id", &id, file),
        ActionState::Unknown => {
            page.step("find out whether it happened, and say so", &format!("ordain approve {id}"));
        }
        ActionState::Superseded
        | ActionState::Running
        | ActionState::Succeeded
        | ActionState::Failed
        | ActionState::Observed => {}
    }
}

fn again(page: &mut Page, what: &str, id: &str, file: Option<&Path>) {
    let file = file.map_or_else(|| SOME_FILE.to_owned(), |path| shell_word(&path.display().to_string()));
    page.step(what, &format!("ordain submit {file} --supersedes {id}"));
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
