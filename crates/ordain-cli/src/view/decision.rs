//! Decisions, and the approvals that they count.

use super::time::instant;
use crate::page::{Column, PLAIN, Page, Row};
use crate::report::{GREEN, RED, YELLOW};
use crate::wording::{short_hash, word};
use anstyle::Style;
use ordain_spec::action::ApprovalClass;
use ordain_spec::approval::{Approval, Verdict};
use ordain_spec::decision::gate::{Weight, weight};
use ordain_spec::decision::{Approvals, Decision, Outcome, Reason};

/// Shows a decision; `wants` says who wants what, where the proposal is at hand.
pub(crate) fn show(page: &mut Page, decision: &Decision, wants: Option<&str>) {
    let id = decision.proposal_id.0.as_deref();
    page.title("decision", &format!("on {}", id.unwrap_or("a proposal without an id")));
    page.styled_label("outcome", outcome_style(decision.outcome), decision.outcome.name());
    if let Some(wants) = wants {
        page.text_label("wants", wants);
    }
    let hash = decision.proposal_hash.0.as_ref().map(|hash| short_hash(hash.as_str()));
    page.label("proposal", hash.as_deref().unwrap_or("could not be read"));
    page.label("approvals", &approvals_line(&decision.approvals));
    page.label("policy", &short_hash(decision.policy_hash.as_str()));
    page.label("evidence", &short_hash(decision.evidence_set_hash.as_str()));
    page.label("decided", &instant(decision.decided_at_ms));
    reasons(page, decision);
}

/// The decision, on the page of the action that it is about.
pub(crate) fn answer(page: &mut Page, decision: &Decision) {
    page.styled_label("decision", outcome_style(decision.outcome), decision.outcome.name());
    page.label("approvals", &approvals_line(&decision.approvals));
    page.label("policy", &short_hash(decision.policy_hash.as_str()));
    reasons(page, decision);
}

fn outcome_style(outcome: Outcome) -> Style {
    match outcome {
        Outcome::Allow => GREEN,
        Outcome::Hold => YELLOW,
        Outcome::Deny => RED,
    }
}

/// `1 of 2 (alice), class dual`. A number is not always known: a policy may ask for approvals without a class.
fn approvals_line(Approvals { class, required, have }: &Approvals) -> String {
    let mut line = match (required, have.len()) {
        (0, 0) => "none".to_owned(),
        (0, count) => count.to_string(),
        (required, count) => format!("{count} of {required}"),
    };
    if !have.is_empty() {
        line += &format!(" ({})", have.join(", "));
    }
    if *class != ApprovalClass::None {
        line += &format!(", class {}", word(class));
    }
    line
}

fn reasons(page: &mut Page, decision: &Decision) {
    // Reasons that deny come first: the rest would not help before those are met.
    let mut reasons: Vec<&Reason> = decision.reasons.iter().collect();
    reasons.sort_by_key(|it| match weight(&it.rule_id, decision.outcome != Outcome::Deny) {
        Weight::Denies => 0,
        Weight::Waits => 1,
        Weight::Tells => 2,
    });
    page.counted_section("Reasons", reasons.len());
    if reasons.is_empty() {
        return;
    }
    let permitted = decision.outcome != Outcome::Deny;
    let row = |it: &Reason| -> Row {
        let style = match weight(&it.rule_id, permitted) {
            Weight::Denies => RED,
            Weight::Waits => YELLOW,
            Weight::Tells => PLAIN,
        };
        let place = if it.path.is_empty() { "the proposal" } else { &it.path };
        Row { style, cells: vec![it.rule_id.clone(), place.to_owned()] }
    };
    let columns = [Column::Left("rule"), Column::Left("where and why")];
    page.table(&columns, reasons.iter().copied().map(row), |page, number, space| {
        let Some(reason) = reasons.get(number) else { return };
        page.prose(space, space, PLAIN, &reason.message);
        if !reason.policies.is_empty() {
            page.prose(&format!("{space}policies: "), space, PLAIN, &reason.policies.join(", "));
        }
    });
}

pub(super) fn show_approval(page: &mut Page, approval: &Approval) {
    page.title("approval", &format!("by {}", approval.approver.as_str()));
    let style = match approval.verdict {
        Verdict::Approve => GREEN,
        Verdict::Reject => RED,
    };
    page.styled_label("verdict", style, &word(&approval.verdict));
    if approval.reason.trim().is_empty() {
        page.label("reason", "none given")
    } else {
        page.text_label("reason", &approval.reason)
    }
    page.label("given", &instant(approval.at_ms));
    page.label("proposal", approval.proposal_hash.as_str());
    page.label("was shown", approval.view_digest.as_str());
}
