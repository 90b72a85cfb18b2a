//! Approvals: what one person said about one proposal.

mod rules;

use crate::schema::{NonEmpty, Sha256};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use rules::RULES;

/// An approval or a rejection, bound to the exact proposal and to what its author was shown.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Approval {
    /// The proposal.
    #[schemars(extend("x-rule" = "AP1"))]
    pub proposal_hash: Sha256,
    /// Who says it.
    #[schemars(extend("x-rule" = "AP2"))]
    pub approver: NonEmpty,
    /// What they say.
    #[schemars(extend("x-rule" = "AP3"))]
    pub verdict: Verdict,
    /// Why; a rejection always says.
    #[schemars(extend("x-rule" = "AP4"))]
    pub reason: String,
    /// The hash of what they were shown.
    #[schemars(extend("x-rule" = "AP5"))]
    pub view_digest: Sha256,
    /// When, in milliseconds since 1970.
    #[schemars(range(min = 1), extend("x-rule" = "AP6"))]
    pub at_ms: u64,
}

/// What an approver says.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// Yes.
    Approve,
    /// No.
    Reject,
}
