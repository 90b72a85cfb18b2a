//! Decisions: what the gate said about one action proposal, and why.

pub mod gate;
mod rules;

use crate::action::ApprovalClass;
use crate::schema::{Nullable, Sha256};
use ordain_canon::compare_utf16;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;

pub use rules::RULES;

/// The version that is written.
pub const SCHEMA_VERSION: &str = "0.1.0";

/// The answer to one action proposal.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// The approvals asked for, and those that count.
    pub approvals: Approvals,
    /// The time it was judged at, in milliseconds since 1970.
    #[schemars(range(min = 1), extend("x-rule" = "DC7"))]
    pub decided_at_ms: u64,
    /// The version of this form.
    #[schemars(extend("x-rule" = "DC1"))]
    pub decision_schema_version: String,
    /// The evidence that was given.
    #[schemars(extend("x-rule" = "DC3"))]
    pub evidence_set_hash: Sha256,
    /// The answer.
    #[schemars(extend("x-rule" = "DC2"))]
    pub outcome: Outcome,
    /// The policies it was judged by.
    #[schemars(extend("x-rule" = "DC3"))]
    pub policy_hash: Sha256,
    /// The proposal's hash, if it could be read.
    #[schemars(extend("x-rule" = "DC3"))]
    pub proposal_hash: Nullable<Sha256>,
    /// The proposal's id, if it could be read.
    pub proposal_id: Nullable<String>,
    /// Why.
    pub reasons: Vec<Reason>,
}

/// The answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub enum Outcome {
    /// It may happen.
    Allow,
    /// It may happen when the missing approvals are there.
    Hold,
    /// It may not happen.
    Deny,
}

impl Outcome {
    /// As documents write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "ALLOW",
            Self::Hold => "HOLD",
            Self::Deny => "DENY",
        }
    }
}

/// The approvals of a decision.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Approvals {
    /// The strictest class that the proposal or a policy asks for.
    pub class: ApprovalClass,
    /// The approvers whose approvals count, sorted.
    #[schemars(inner(length(min = 1)), extend("x-rule" = "DC4"))]
    pub have: Vec<String>,
    /// How many it takes.
    pub required: u64,
}

/// One thing that the outcome follows from.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    /// A rule of the gate, of the proposal or of its evidence.
    #[schemars(length(min = 1))]
    pub rule_id: String,
    /// A JSON Pointer into the proposal.
    pub path: String,
    /// For people.
    #[schemars(length(min = 1))]
    pub message: String,
    /// The policies that decided, by id, sorted.
    #[schemars(inner(length(min = 1)), extend("x-rule" = "DC5"))]
    pub policies: Vec<String>,
}

/// By the fields in their order, each as text (DC5).
impl Ord for Reason {
    fn cmp(&self, other: &Self) -> Ordering {
        fn texts(reason: &Reason) -> impl Iterator<Item = &str> {
            let fields = [&reason.rule_id, &reason.path, &reason.message];
            fields.into_iter().chain(&reason.policies).map(String::as_str)
        }
        let pairs = texts(self).zip(texts(other)).map(|(left, right)| compare_utf16(left, right));
        pairs.fold(Ordering::Equal, Ordering::then).then(self.policies.len().cmp(&other.policies.len()))
    }
}

impl PartialOrd for Reason {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
