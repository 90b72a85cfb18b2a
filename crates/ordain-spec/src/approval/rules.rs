//! AP1–AP6, in order.

use crate::facts::Facts;
use crate::kind::Kind;
use crate::node::Node;
use crate::rule::{Category, Findings, Rule, RuleId, by_shape};

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
