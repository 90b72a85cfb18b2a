//! `ordain status`.

use super::submit;
use crate::arguments::Connect;
use crate::exit::{self, Failure, Outcome};
use crate::gate::page;
use crate::gateway::{Gateway, Purpose};
use crate::output::{print_json, print_page};
use crate::page::Page;
use crate::report;
use clap::Args;
use ordain_api::limits::PAGE_MAX;
use ordain_api::{ActionState, ActionStatus, ActionsQuery};
use ordain_canon::time::moment;
use ordain_canon::{Canonicalizer, ViewDigest};
use ordain_client::Client;

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  ordain status
  ordain status --state held
  ordain status 4f1c --wait", &[
    Outcome::Ok.means("allowed, running or done; or a list"),
    Outcome::Hold.means("held"),
    Outcome::Deny.means("denied, expired or superseded"),
    Outcome::ActionFailed.means("the action failed"),
    Outcome::Unknown.means("the outcome is unknown"),
    Outcome::Failed.means("an error"),
]))]
pub(crate) struct Status {
    /// The action; without it the list of all
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Only actions in this state
    #[arg(long, value_name = "STATE", conflicts_with = "id", value_parser = state)]
    pub(crate) state: Option<ActionState>,
    /// Wait until the action is no longer held, up to this many seconds
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "3600", requires = "id")]
    pub(crate) wait: Option<u64>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(crate) fn run(args: &Status, json: bool) -> Result<Outcome, Failure> {
    let gateway = Gateway::open(&args.connect, Purpose::Look)?;
    let client = gateway.client();
    if !json {
        tell_gate(client)?;
    }
    let Some(id) = &args.id else { return list(client, args.state, json) };
    let status = wait(client, id, args.wait.unwrap_or(0))?;
    submit::show_all(&status, json)?;
    Ok(submit::outcome(&status))
}

/// Says on standard error that the gate is halted, or open.
fn tell_gate(client: &Client) -> Result<(), Failure> {
    let gate = client.gate()?;
    if !gate.owned {
        let said = "this gate is open: nobody owns it, and nothing that needs a signature can be approved";
        report::note(said, Some("run `ordain init --claim` on a terminal"));
    }
    if let Some(halt) = gate.halted {
        let said = format!("halted by {} since {}: {}", halt.by, moment(halt.at_ms), halt.reason);
        report::note(&said, None);
    }
    Ok(())
}

fn list(client: &Client, state: Option<ActionState>, json: bool) -> Result<Outcome, Failure> {
    let mut actions = Vec::new();
    let mut query = ActionsQuery { state, after: None, limit: Some(PAGE_MAX as u64) };
    loop {
        let page = client.actions(&query)?;
        if json {
            page.actions.iter().try_for_each(print_json)?;
        } else {
            actions.extend(page.actions);
        }
        match page.next {
            Some(next) => query.after = Some(next),
            None => break,
        }
    }
    if !json {
        let mut page = Page::default();
        if actions.is_empty() {
            page.prose("", "", crate::page::PLAIN, "there are no such actions");
        } else {
            page::list(&mut page, &actions);
        }
        print_page(&page)?;
    }
    Ok(Outcome::Ok)
}

/// The status, when it is no longer held or the time is over.
pub(super) fn wait(client: &Client, id: &str, seconds: u64) -> Result<ActionStatus, Failure> {
    let status = ordain_agent::wait(client, id, seconds)?.ok_or_else(|| Failure::unknown("action", id))?;
    check_digest(&status)?;
    Ok(status)
}

/// The status of an action that must be there. What it shows has the digest that an approval names: whoever is between this
/// program and the gate cannot have one thing approved and another shown.
pub(crate) fn of(client: &Client, id: &str) -> Result<ActionStatus, Failure> {
    let status = client.action(id)?.ok_or_else(|| Failure::unknown("action", id))?;
    check_digest(&status)?;
    Ok(status)
}

/// Callers who see only part of the evidence get no digest.
fn check_digest(status: &ActionStatus) -> Result<(), Failure> {
    if status.view_digest.is_empty() {
        return Ok(());
    }
    let digest = ViewDigest::of(&mut Canonicalizer::new(), &status.view)?.to_string();
    if digest == status.view_digest {
        return Ok(());
    }
    let problem = format!(
        "the gate's answer about `{}` was changed: its content has the digest {digest}, not {}",
        status.action_id, status.view_digest
    );
    Err(Failure::Server(problem).with_hint("look at the connection: a proxy may rewrite answers"))
}

fn state(text: &str) -> Result<ActionState, String> {
    let all = ActionState::ALL;
    all.into_iter().find(|state| state.name() == text).ok_or_else(|| {
        format!("there are {}", all.iter().map(|state| state.name()).collect::<Vec<_>>().join(", "))
    })
}
