//! How an action and a permit look to people.

use super::fields::fields;
use super::screen;
use super::summary::deed;
use crate::clock::{date, now_ms, when, when_exactly};
use crate::page::{Column, PLAIN, Page, Row};
use crate::report::{GREEN, RED, YELLOW};
use crate::view;
use crate::wording::{count, short_hash, word};
use anstyle::Style;
use ordain_api::{ActionState, ActionStatus, PermitStatus};
use ordain_spec::approval::Verdict;
use serde_json::{Value as Json, json};

/// Everything about an action.
pub(crate) fn action(page: &mut Page, status: &ActionStatus) {
    page.title("action", &status.action_id);
    page.styled_label("state", style(status.state), status.state.name());
    page.label("actor", &who(status));
    page.label("wants", &format!("to {}", deed(status)));
    if let Some(path) = status.view.pointer("/project/path").and_then(Json::as_str) {
        page.label("project", path);
    }
    page.label("submitted", &when_exactly(status.submitted_at_ms));
    if let Some(expires_at_ms) = status.expires_at_ms.filter(|_| status.state == ActionState::Held) {
        page.label("expires", &when_exactly(expires_at_ms));
    }
    if let Some(id) = &status.supersedes {
        page.label("supersedes", id);
    }
    if let Some(id) = &status.superseded_by {
        page.label("replaced by", id);
    }
    page.label("ledger", &format!("submitted {}, decided {}", status.submitted_index, status.decided_index));
    view::decision::answer(page, &status.decision);
    if !status.approvals.is_empty() {
        page.counted_section("Said", status.approvals.len());
        for approval in &status.approvals {
            let verdict = match approval.verdict {
                Verdict::Approve => "approves",
                Verdict::Reject => "rejects",
            };
            let reason =
                if approval.reason.is_empty() { String::new() } else { format!(": {}", approval.reason) };
            let (who, when) = (approval.approver.as_str(), date(approval.at_ms));
            let seen = status.shown.iter().find(|it| it.view_digest == approval.view_digest.as_str());
            let saw = seen.map(|seen| {
                let which = if seen.view_digest == status.view_digest { "the" } else { "another" };
                let (view, policy) = (short_hash(&seen.view_digest), short_hash(&seen.policy_hash));
                format!("; saw {which} view {view} under the policies {policy}, entry {}", seen.index)
            });
            let reach = approval.scope.as_ref().map(|scope| {
                let until = date(scope.until_ms);
                format!("; and the same call again, at most {} until {until}", count(scope.max_uses, "time"))
            });
            let reach = reach.unwrap_or_default();
            page.item(&format!("{who} {verdict} on {when}{reason}{reach}{}", saw.unwrap_or_default()));
        }
    }
    if let Some(it) = &status.permit {
        page.section("Permit");
        permit(page, it);
    }
}

/// The view of an approver.
pub(crate) fn shown(page: &mut Page, status: &ActionStatus) {
    page.section("Proposed");
    if let Some(intent) = status.view.get("intent").filter(|intent| **intent != json!("")) {
        members(page, &json!({ "intent": intent }));
    }
    let mut proposal = status.view.get("proposal").cloned().unwrap_or_default();
    let diff = match proposal.pointer_mut("/parameters").and_then(Json::as_object_mut) {
        Some(parameters) if parameters.get("diff").is_some_and(Json::is_string) => parameters.remove("diff"),
        _ => None,
    };
    members(page, &proposal);
    // A redacted parameter is there as well, as a hash.
    let has = |name: &str| proposal.pointer("/parameters").is_some_and(|it| it.get(name).is_some());
    let lacks_diff = has("patch_hash") && !has("diff");
    match diff.as_ref().and_then(Json::as_str) {
        Some(diff) => {
            page.section("Changes, as the proposer says");
            page.diff(diff);
        }
        None if lacks_diff => {
            page.section("Changes");
            page.item("no diff was sent, or there was no room for one; compare the patch set by its hash");
        }
        None => {}
    }
    let now_ms = now_ms();
    let earlier: Vec<String> =
        screen::earlier(status, now_ms).into_iter().chain(screen::settled(status, now_ms)).collect();
    if !earlier.is_empty() {
        page.section("Earlier, with the same effect");
        earlier.iter().for_each(|text| page.item(text));
    }
    if let Some(labels) = status.view.get("labels") {
        page.section("Evidence on the proposer's word alone");
        members(page, labels);
    }
    let evidence = status.view.get("evidence").and_then(|it| it.as_array()).filter(|it| !it.is_empty());
    if let Some(evidence) = evidence {
        page.counted_section("Evidence", evidence.len());
        evidence.iter().for_each(|packet| members(page, packet));
    }
    if !status.view_digest.is_empty() {
        page.label("digest", &status.view_digest);
    }
}

/// The members of a value from outside, one a line.
fn members(page: &mut Page, value: &Json) {
    for line in fields(value) {
        page.prose("  ", "    ", PLAIN, &line);
    }
}

pub(crate) fn permit(page: &mut Page, permit: &PermitStatus) {
    page.label("permit", &permit.permit_id);
    page.label("action", &permit.action_id);
    let over = if now_ms() >= permit.valid_until_ms { ", expired" } else { "" };
    page.label("valid from", &when_exactly(permit.valid_from_ms));
    page.label("until", &format!("{}{over}", when_exactly(permit.valid_until_ms)));
    page.label("uses", &format!("{} of {}", permit.used, permit.max_executions));
    if let Some(limit) = permit.max_duration_ms {
        page.label("at most", &format!("{limit} ms for a use"));
    }
    if let Some(limit) = permit.max_affected_records {
        page.label("at most", &format!("{limit} records in a use"));
    }
    if permit.uses.is_empty() {
        return;
    }
    let row = |it: &ordain_api::Use| {
        let reason = it.settled.as_ref().map(|settled| settled.reason.clone()).unwrap_or_default();
        vec![
            it.number.to_string(),
            it.worker.clone(),
            when(it.spent_at_ms),
            it.outcome_name().to_owned(),
            reason,
        ]
    };
    let columns = [
        Column::Right("use"),
        Column::Left("worker"),
        Column::Spare("spent"),
        Column::Left("outcome"),
        Column::Left(""),
    ];
    page.table(&columns, permit.uses.iter().map(row), |_, _, _| {});
}

/// A list of actions.
pub(crate) fn list(page: &mut Page, actions: &[ActionStatus]) {
    let row = |status: &ActionStatus| Row {
        style: if status.state == ActionState::Held { YELLOW } else { PLAIN },
        cells: vec![
            status.state.name().to_owned(),
            when(status.submitted_at_ms),
            status.action_id.clone(),
            wants(status),
        ],
    };
    let columns =
        [Column::Left("state"), Column::Spare("submitted"), Column::Left("id"), Column::Left("wants")];
    page.table(&columns, actions.iter().map(row), |_, _, _| {});
}

/// `agent-7: write the file src/main.rs of workspace`.
pub(crate) fn wants(status: &ActionStatus) -> String {
    format!("{}: {}", status.actor, deed(status))
}

fn who(status: &ActionStatus) -> String {
    if status.submitted_by == status.actor {
        status.actor.clone()
    } else {
        format!("{}, submitted by {}", status.actor, status.submitted_by)
    }
}

fn style(state: ActionState) -> Style {
    match state {
        ActionState::Held | ActionState::Running => YELLOW,
        ActionState::Allowed | ActionState::Succeeded => GREEN,
        ActionState::Denied | ActionState::Expired | ActionState::Failed | ActionState::Unknown => RED,
        ActionState::Superseded | ActionState::Observed => PLAIN,
    }
}

/// The word of any small enum.
pub(crate) fn name(value: &impl serde::Serialize) -> String {
    word(value)
}
