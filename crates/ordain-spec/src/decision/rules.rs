//! DC1–DC7, in order.

use super::Reason;
use super::gate::{OWN_UNDO, PERMIT, Weight, weight};
use crate::facts::Facts;
use crate::kind::Kind;
use crate::node::Node;
use crate::order::{check_order, check_strings};
use crate::rule::{Category, Findings, Rule, RuleId, by_shape};
use crate::version::check_version;

const DC: Kind = Kind::Decision;

/// The rules of a decision.
#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    Rule { id: RuleId::Schema, title: "every field is known and has its type", section: "decisions", category: Category::Schema, check: by_shape },
    Rule { id: DC.rule(1), title: "decision_schema_version is known", section: "decisions", category: Category::Schema, check: version_is_known },
    Rule { id: DC.rule(2), title: "the outcome is ALLOW, HOLD or DENY", section: "decisions", category: Category::Field, check: by_shape },
    Rule { id: DC.rule(3), title: "the proposal, the policies and the evidence are named by their hashes", section: "decisions", category: Category::Reference, check: by_shape },
    Rule { id: DC.rule(4), title: "approvers are named once, in order, and an ALLOW has as many as it takes", section: "decisions", category: Category::Consistency, check: approvals_suffice },
    Rule { id: DC.rule(5), title: "reasons are sorted, and so are the policies of each", section: "decisions", category: Category::Order, check: reasons_are_sorted },
    Rule { id: DC.rule(6), title: "the outcome follows from the reasons", section: "decisions", category: Category::Consistency, check: outcome_follows },
    Rule { id: DC.rule(7), title: "decided_at_ms is a positive integer", section: "decisions", category: Category::Time, check: by_shape },
];

/// DC1.
fn version_is_known(_: &Facts<'_>, decision: Node<'_, '_>, found: &mut Findings) {
    check_version(decision.get("decision_schema_version"), 0, found);
}

/// DC4.
fn approvals_suffice(_: &Facts<'_>, decision: Node<'_, '_>, found: &mut Findings) {
    let approvals = decision.get("approvals");
    let have = approvals.get("have");
    check_strings(have, true, found);
    let Some(required) = approvals.get("required").integer() else { return };
    let count = i64::try_from(have.elements().len()).unwrap_or(i64::MAX);
    if decision.get("outcome").str() == Some("ALLOW") && have.array().is_some() && count < required {
        found.at(have, format!("an ALLOW that takes {required} approvals has {count}"));
    }
}

/// DC5.
fn reasons_are_sorted(_: &Facts<'_>, decision: Node<'_, '_>, found: &mut Findings) {
    let reasons = decision.get("reasons");
    let key = |reason: Node<'_, '_>| reason.value().and_then(|reason| reason.to_typed::<Reason>().ok());
    check_order(reasons, key, Reason::cmp, "rule_id, path, message and policies, as text", found);
    for reason in reasons.elements() {
        check_strings(reason.get("policies"), true, found);
    }
}

/// DC6.
fn outcome_follows(_: &Facts<'_>, decision: Node<'_, '_>, found: &mut Findings) {
    let outcome = decision.get("outcome");
    let reasons = decision.get("reasons");
    let (Some(name), true) = (outcome.str(), reasons.array().is_some()) else { return };
    let permitted = matches!(name, "ALLOW" | "HOLD");
    let has = |wanted: Weight| {
        reasons.elements().any(|reason| {
            reason.get("rule_id").str().is_some_and(|rule_id| weight(rule_id, permitted) == wanted)
        })
    };
    let permits = reasons.elements().any(|reason| {
        let rule_id = reason.get("rule_id").str();
        rule_id == Some(&PERMIT.name()) && reason.get("policies").elements().len() > 0
            || rule_id == Some(&OWN_UNDO.name())
    });
    let problem = match name {
        "ALLOW" if has(Weight::Denies) => "a reason denies, so the outcome is DENY",
        "ALLOW" if has(Weight::Waits) => "approvals are missing, so the outcome is HOLD",
        "HOLD" if has(Weight::Denies) => "a reason denies, so the outcome is DENY",
        "HOLD" if !has(Weight::Waits) => "no approval is missing, so there is nothing to wait for",
        "DENY" if !has(Weight::Denies) => "no reason denies",
        "ALLOW" | "HOLD" if !permits => "no policy is named that permits it, so the outcome is DENY",
        _ => return,
    };
    found.at(outcome, problem);
}
