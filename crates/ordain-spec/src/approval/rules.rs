//! AP1–AP13, in order.

use super::{Approval, Verdict};
use crate::facts::Facts;
use crate::kind::Kind;
use crate::limits::STATEMENT_MS_MAX;
use crate::node::Node;
use crate::path::shorten;
use crate::rule::{Category, Findings, Rule, RuleId, by_shape};
use crate::statement::ApproverKey;

const AP: Kind = Kind::Approval;

/// The rules of an approval.
#[rustfmt::skip]
pub static RULES: &[Rule] = &[
    Rule { id: RuleId::Schema, title: "every field is known and has its type", section: "approvals", category: Category::Schema, check: by_shape },
    Rule { id: AP.rule(1), title: "it is bound to one proposal by its hash", section: "approvals", category: Category::Reference, check: by_shape },
    Rule { id: AP.rule(2), title: "the approver is named", section: "approvals", category: Category::Field, check: by_shape },
    Rule { id: AP.rule(3), title: "the verdict is approve or reject", section: "approvals", category: Category::Field, check: by_shape },
    Rule { id: AP.rule(4), title: "a rejection says why", section: "approvals", category: Category::Field, check: rejection_has_reason },
    Rule { id: AP.rule(5), title: "it is bound to what the approver was shown", section: "approvals", category: Category::Reference, check: by_shape },
    Rule { id: AP.rule(6), title: "at_ms is a positive integer", section: "approvals", category: Category::Time, check: by_shape },
    Rule { id: AP.rule(7), title: "a signature has all parts of a signed statement", section: "approvals", category: Category::Field, check: is_a_statement },
    Rule { id: AP.rule(8), title: "a statement is signed before it ends, and ends soon", section: "approvals", category: Category::Time, check: ends_soon },
    Rule { id: AP.rule(9), title: "the key is enrolled and in force", section: "approvals", category: Category::Reference, check: key_is_in_force },
    Rule { id: AP.rule(10), title: "the key is the approver's", section: "approvals", category: Category::Reference, check: key_is_the_approvers },
    Rule { id: AP.rule(11), title: "the signature fits the statement", section: "approvals", category: Category::Integrity, check: signature_fits },
    Rule { id: AP.rule(12), title: "a key that stays unlocked signs a few times, and not for long", section: "approvals", category: Category::Time, check: session_is_short },
    Rule { id: AP.rule(13), title: "an approval for more than one action says how far it goes, and that is signed", section: "approvals", category: Category::Reference, check: scope_is_signed },
];

/// AP4.
fn rejection_has_reason(_: &Facts<'_>, approval: Node<'_, '_>, found: &mut Findings) {
    let reason = approval.get("reason");
    if approval.get("verdict").str() == Some("reject")
        && reason.str().is_some_and(|text| text.trim().is_empty())
    {
        found.at(reason, "must not be blank: a rejection says why");
    }
}

/// The approval, where it has a signature and the rest of it is well formed.
fn signed_approval(approval: Node<'_, '_>) -> Option<Approval> {
    approval.get("signature").value()?;
    approval.value()?.to_typed::<Approval>().ok()
}

/// AP7.
fn is_a_statement(_: &Facts<'_>, approval: Node<'_, '_>, found: &mut Findings) {
    // AP12 says it.
    if session_violation(approval).is_some() {
        return;
    }
    if let Some(Err(error)) = signed_approval(approval).and_then(|typed| typed.signed()) {
        found.at(approval.get("signature"), format!("no statement can be made of it: {error}"));
    }
}

/// AP8. A statement that held for years would be a signature in stock.
fn ends_soon(_: &Facts<'_>, approval: Node<'_, '_>, found: &mut Findings) {
    let signature = approval.get("signature");
    let end = signature.get("not_after_ms");
    let (Some(at_ms), Some(not_after_ms)) = (approval.get("at_ms").integer(), end.integer()) else { return };
    let holds_ms = not_after_ms.saturating_sub(at_ms);
    let longest_ms = i64::try_from(STATEMENT_MS_MAX).unwrap_or(i64::MAX);
    if holds_ms < 0 {
        found.at(end, format!("is {} ms before `at_ms`", -holds_ms));
    } else if holds_ms > longest_ms {
        found.at(end, format!("is {holds_ms} ms after `at_ms`; at most {longest_ms} ms are allowed"));
    }
}

/// The signature's key, where keys are known.
fn key_of<'f>(facts: &Facts<'f>, approval: Node<'_, '_>) -> Option<Option<&'f ApproverKey>> {
    let keys = facts.approver_keys?;
    Some(keys.get(approval.get("signature").get("key_id").str()?))
}

/// AP9.
fn key_is_in_force(facts: &Facts<'_>, approval: Node<'_, '_>, found: &mut Findings) {
    let signature = approval.get("signature");
    let id = signature.get("key_id");
    let problem = match key_of(facts, approval) {
        Some(None) => "is not enrolled",
        Some(Some(key)) if !key.is_in_force() => "is revoked",
        _ => return,
    };
    found.at(id, format!("the key `{}` {problem}", shorten(id.str().unwrap_or_default())));
}

/// AP10.
fn key_is_the_approvers(facts: &Facts<'_>, approval: Node<'_, '_>, found: &mut Findings) {
    let Some(Some(key)) = key_of(facts, approval) else { return };
    let approver = approval.get("approver");
    if approver.str().is_some_and(|name| name != key.principal) {
        found.at(
            approver,
            format!("the key `{}` belongs to `{}`", shorten(&key.key_id), shorten(&key.principal)),
        );
    }
}

/// AP11.
fn signature_fits(facts: &Facts<'_>, approval: Node<'_, '_>, found: &mut Findings) {
    let Some(Some(key)) = key_of(facts, approval) else { return };
    let Some(Ok(signed)) = signed_approval(approval).and_then(|typed| typed.signed()) else { return };
    if let Err(error) = signed.verify(&key.public_key, key.passkey.as_ref()) {
        found.at(approval.get("signature").get("signature"), error.to_string());
    }
}

/// Why the session of a signature does not cover it.
fn session_violation(approval: Node<'_, '_>) -> Option<String> {
    let typed = signed_approval(approval)?;
    typed.signature?.session?.violation(typed.at_ms)
}

/// AP12. Only the program that holds the key knows how long it does; what it says is signed, and checked here.
fn session_is_short(_: &Facts<'_>, approval: Node<'_, '_>, found: &mut Findings) {
    if let Some(problem) = session_violation(approval) {
        found.at(approval.get("signature").get("session"), problem);
    }
}

/// AP13. Without a signature anybody could widen a scope, and a scope without an end would be a policy.
fn scope_is_signed(_: &Facts<'_>, approval: Node<'_, '_>, found: &mut Findings) {
    let place = approval.get("scope");
    let Some(typed) = approval.value().and_then(|value| value.to_typed::<Approval>().ok()) else { return };
    let named = typed.signature.as_ref().map(|signature| signature.scope.as_str());
    let Some(scope) = &typed.scope else {
        if named.is_some_and(|named| named.starts_with("sha256:")) {
            found.at(approval.get("signature").get("scope"), "names a scope that the approval lacks");
        }
        return;
    };
    if let Some(problem) = scope.violation(typed.at_ms) {
        found.at(place, problem);
    }
    if typed.verdict == Verdict::Reject {
        found.at(place, "is the scope of a rejection");
    }
    let hash = scope.hash().map(|hash| hash.to_string());
    if named.is_none() || named != hash.as_deref().ok() {
        found.at(place, "is not the scope that the signed statement names");
    }
}
