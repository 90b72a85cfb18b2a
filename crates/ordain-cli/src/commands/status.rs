//! `ordain status`.

use super::submit;
use crate::arguments::{Connect, Selection};
use crate::clock::when_exactly;
use crate::commands::pause;
use crate::exit::{self, Failure, Outcome};
use crate::gate::{ids, page, poll};
use crate::gateway::{Gateway, Purpose};
use crate::output::{print_json, print_page};
use crate::page::Page;
use crate::report;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgGroup, Args};
use ordain_api::limits::PAGE_MAX;
use ordain_api::{ActionState, ActionStatus};
use ordain_canon::{Canonicalizer, ViewDigest};
use ordain_client::Client;

#[derive(Args)]
#[command(after_help = exit::help_with("\
Examples:
  ordain status
  ordain status --state held
  ordain status --state held --wait 60
  ordain status --since 2h --actor agent-7
  ordain status --approver alice --since 2026-01-01 --until 2026-04-01
  ordain status push-1 --wait", &[
    Outcome::Ok.means("allowed, running or done; or a list"),
    Outcome::Hold.means("held"),
    Outcome::Deny.means("denied, expired or superseded"),
    Outcome::ActionFailed.means("the action failed"),
    Outcome::Unknown.means("the outcome is unknown"),
    Outcome::Failed.means("an error, or no action came in the time of `--wait`"),
]), group(ArgGroup::new("awaited").args(["id", "state"]).multiple(true)))]
pub(crate) struct Status {
    /// The action, or the beginning of its id; without it the list of all
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Wait up to this many seconds: until the action is no longer held, or, with --state, for the next one in that
    /// state
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "3600", requires = "awaited")]
    pub(crate) wait: Option<u64>,
    #[command(flatten)]
    pub(crate) selection: Selection,
    /// The largest number of actions; the newest come first
    #[arg(long, value_name = "N", default_value_t = 100)]
    pub(crate) limit: u64,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

pub(crate) fn run(args: &Status, json: bool) -> Result<Outcome, Failure> {
    let gateway = Gateway::open(&args.connect, Purpose::Look)?;
    let client = gateway.client();
    if !json {
        tell_gate(client)?;
    }
    let selection = &args.selection;
    if args.id.is_some()
        && (selection.names_actions() || selection.since.is_some() || selection.until.is_some())
    {
        return Err(Failure::Usage("an ID and filters do not go together".to_owned()));
    }
    let id = match (&args.id, selection.state, args.wait) {
        (Some(id), _, _) => ids::action_id(client, id)?,
        (None, Some(state), Some(seconds)) => return next_in(client, state, seconds, json),
        (None, _, _) => return list(client, args, json),
    };
    let status = wait(client, &id, args.wait.unwrap_or(0))?;
    submit::show_all(client, &status, json)?;
    Ok(submit::outcome(&status))
}

/// Says on standard error that the gate is halted, or open.
fn tell_gate(client: &Client) -> Result<(), Failure> {
    let gate = client.gate()?;
    if !gate.owned {
        let said = "this gate is open: nobody owns it, and nothing that needs a signature can be approved";
        report::note(said, Some("run `ordain init --claim` on a terminal"));
    }
    for observation in &gate.observing {
        report::note(&pause::told(observation), Some(&pause::end_hint(observation)));
    }
    if let Some(halt) = gate.halted {
        let said = format!("halted by {} {}: {}", halt.by, when_exactly(halt.at_ms), halt.reason);
        report::note(&said, None);
    }
    Ok(())
}

fn list(client: &Client, args: &Status, json: bool) -> Result<Outcome, Failure> {
    let mut actions = Vec::new();
    let more = each_action(client, &args.selection, args.limit, |action| {
        if json {
            return print_json(&action);
        }
        actions.push(action);
        Ok(())
    })?;
    if !json {
        let mut page = Page::default();
        if actions.is_empty() {
            let is_any = args.selection == Selection::default();
            let said = if is_any { "no actions yet" } else { "no such actions" };
            page.prose("", "", crate::page::PLAIN, said);
        } else {
            page::list(&mut page, &actions);
        }
        print_page(&page)?;
    }
    if more {
        report::note("there may be more actions", Some("pass a larger `--limit`, or select with `--since`"));
    }
    Ok(Outcome::Ok)
}

/// Hands over the actions that are selected, the newest first, at most so many. Whether there may be more.
pub(crate) fn each_action(
    client: &Client,
    selection: &Selection,
    limit: u64,
    mut each: impl FnMut(ActionStatus) -> Result<(), Failure>,
) -> Result<bool, Failure> {
    let mut query = selection.query(limit);
    let mut left = limit;
    while left > 0 {
        query.limit = Some(left.min(PAGE_MAX as u64));
        let page = client.actions(&query)?;
        left = left.saturating_sub(page.actions.len() as u64);
        page.actions.into_iter().try_for_each(&mut each)?;
        match page.next {
            Some(next) => query.before = Some(next),
            None => return Ok(false),
        }
    }
    Ok(true)
}

/// The actions that come into a state from now on: the first that do, or none in that time.
fn next_in(client: &Client, state: ActionState, seconds: u64, json: bool) -> Result<Outcome, Failure> {
    let found = poll::next(client, state, seconds)?;
    if json {
        found.iter().try_for_each(print_json)?;
    } else if !found.is_empty() {
        let mut page = Page::default();
        page::list(&mut page, &found);
        print_page(&page)?;
    }
    if found.is_empty() {
        report::note(&format!("no other action was {} within {seconds} s", state.name()), None);
        return Ok(Outcome::Failed);
    }
    Ok(Outcome::Ok)
}

/// The status, when it is no longer held or the time is over.
pub(super) fn wait(client: &Client, id: &str, seconds: u64) -> Result<ActionStatus, Failure> {
    let status = ordain_agent::wait(client, id, seconds)?.ok_or_else(|| Failure::unknown("action", id))?;
    check_digest(&status)?;
    Ok(status)
}

/// The status of an action that must be there. The view has the digest that an approval names: nobody between
/// this program and the gate can have one thing approved and another shown.
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

/// The states by name, so that help and completions list them.
pub(crate) fn states() -> impl TypedValueParser<Value = ActionState> {
    PossibleValuesParser::new(ActionState::ALL.map(ActionState::name)).try_map(|name| {
        let found = ActionState::ALL.into_iter().find(|state| state.name() == name);
        found.ok_or_else(|| format!("there is no state `{name}`"))
    })
}
