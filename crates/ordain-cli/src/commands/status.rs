//! `ordain status`.

use super::submit;
use crate::arguments::Connect;
use crate::exit::{self, Failure, Outcome};
use crate::gate::page;
use crate::gateway::{Gateway, Purpose, escaped};
use crate::output::{print_json, print_page};
use crate::page::Page;
use crate::report;
use clap::Args;
use ordain_api::{ActionState, ActionStatus, GateStatus};
use ordain_canon::time::moment;
use serde::Deserialize;
use std::time::{Duration, Instant};

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
    pub(crate) state: Option<ordain_api::ActionState>,
    /// Wait until the action is no longer held, up to this many seconds
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, default_missing_value = "3600", requires = "id")]
    pub(crate) wait: Option<u64>,
    #[command(flatten)]
    pub(crate) connect: Connect,
}

/// The longest wait that a server grants.
const WAIT_SECONDS_MAX: u64 = 60;

#[derive(Deserialize)]
struct ActionPage {
    actions: Vec<ActionStatus>,
    next: Option<u64>,
}

pub(crate) fn run(args: &Status, json: bool) -> Result<Outcome, Failure> {
    let gateway = Gateway::open(&args.connect, Purpose::Look, json)?;
    if !json {
        tell_halt(&gateway)?;
    }
    let Some(id) = &args.id else { return list(&gateway, args.state, json) };
    let status = wait(&gateway, id, args.wait.unwrap_or(0))?;
    submit::show_all(&status, json)?;
    Ok(submit::outcome(&status))
}

/// Says on standard error that the gate is halted.
fn tell_halt(gateway: &Gateway) -> Result<(), Failure> {
    if let Some(halt) = gateway.get::<GateStatus>("/v1/gate")?.halted {
        let said = format!("halted by {} since {}: {}", halt.by, moment(halt.at_ms), halt.reason);
        report::note(&said, None);
    }
    Ok(())
}

fn list(gateway: &Gateway, state: Option<ActionState>, json: bool) -> Result<Outcome, Failure> {
    let mut actions = Vec::new();
    let mut after: Option<u64> = None;
    loop {
        let mut path = "/v1/actions?limit=500".to_owned();
        if let Some(state) = state {
            path += &format!("&state={}", state.name());
        }
        if let Some(after) = &after {
            path += &format!("&after={after}");
        }
        let page: ActionPage = gateway.get(&path)?;
        if json {
            page.actions.iter().try_for_each(print_json)?;
        } else {
            actions.extend(page.actions);
        }
        match page.next {
            Some(next) => after = Some(next),
            None => break,
        }
    }
    if !json {
        let mut page = Page::default();
        if actions.is_empty() {
            page.prose("", "", crate::page::PLAIN, "there are no such actions")
        } else {
            page::list(&mut page, &actions)
        }
        print_page(&page)?;
    }
    Ok(Outcome::Ok)
}

/// The status, when it is no longer held or the time is over.
pub(super) fn wait(gateway: &Gateway, id: &str, seconds: u64) -> Result<ActionStatus, Failure> {
    let path = format!("/v1/actions/{}", escaped(id));
    // A wait longer than the clock can count has no end.
    let end = Instant::now().checked_add(Duration::from_secs(seconds));
    loop {
        let left = end.map_or(u64::MAX, |end| end.saturating_duration_since(Instant::now()).as_secs());
        let left = left.min(WAIT_SECONDS_MAX);
        let status: ActionStatus = match left {
            0 => gateway.get(&path)?,
            left => gateway.get(&format!("{path}?wait={left}"))?,
        };
        if status.state != ActionState::Held || left == 0 {
            return Ok(status);
        }
    }
}

fn state(text: &str) -> Result<ordain_api::ActionState, String> {
    let all = ordain_api::ActionState::ALL;
    all.into_iter().find(|state| state.name() == text).ok_or_else(|| {
        format!("there are {}", all.iter().map(|state| state.name()).collect::<Vec<_>>().join(", "))
    })
}
