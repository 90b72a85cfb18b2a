//! Actions: where one stands, and what an approver says.

use crate::approver::SigningTerms;
use crate::limits::REASON_CHARACTERS_MAX;
use crate::permit::{PermitStatus, UseReceipt};
use crate::view::ViewDocument;
use ordain_spec::approval::{Approval, Verdict};
use ordain_spec::decision::{Decision, Outcome};
use ordain_spec::statement::Signed;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where an action stands.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ActionStatus {
    /// The proposal's id.
    pub action_id: String,
    /// Who proposed it.
    pub actor: String,
    /// What approvers said.
    pub approvals: Vec<Approval>,
    /// The ledger's entry of the last decision.
    pub decided_index: u64,
    /// The kernel's last answer.
    pub decision: Decision,
    /// Until when it waits for approvals, in milliseconds since 1970.
    pub expires_at_ms: Option<u64>,
    /// The permit, where there is one.
    pub permit: Option<PermitStatus>,
    /// While it is held, for an approver who asks for this action: the terms on which a verdict is signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signing: Option<SigningTerms>,
    /// How far it is.
    pub state: ActionState,
    /// When, in milliseconds since 1970.
    pub submitted_at_ms: u64,
    /// Whose token brought it.
    pub submitted_by: String,
    /// The ledger's entry of the submission.
    pub submitted_index: u64,
    /// The proposal that took its place.
    pub superseded_by: Option<String>,
    /// The proposal that it took the place of.
    pub supersedes: Option<String>,
    /// What an approver is shown; secrets are hashed.
    pub view: ViewDocument,
    /// The digest of `view`, which an approval must name. Empty where `view` only names the evidence: in lists, and for
    /// whoever may not see evidence.
    pub view_digest: String,
}

/// How far an action is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActionState {
    /// Approvals are missing.
    Held,
    /// There is a permit.
    Allowed,
    /// It may not happen.
    Denied,
    /// The missing approvals did not come in time.
    Expired,
    /// Another proposal took its place.
    Superseded,
    /// A worker acts.
    Running,
    /// It happened.
    Succeeded,
    /// It did not.
    Failed,
    /// Nobody knows whether it happened.
    Unknown,
}

impl ActionState {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Held,
        Self::Allowed,
        Self::Denied,
        Self::Expired,
        Self::Superseded,
        Self::Running,
        Self::Succeeded,
        Self::Failed,
        Self::Unknown,
    ];

    /// As documents write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Held => "held",
            Self::Allowed => "allowed",
            Self::Denied => "denied",
            Self::Expired => "expired",
            Self::Superseded => "superseded",
            Self::Running => "running",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }
}

/// What an approver says.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("if" = {"properties": {"verdict": {"const": "reject"}}},
    "then" = {"required": ["reason"], "properties": {"reason": {"pattern": "\\S"}}}))]
pub struct VerdictRequest {
    /// Yes or no.
    pub verdict: Verdict,
    /// Why; a rejection must say it. It reaches the agent.
    #[serde(default)]
    #[schemars(length(max = REASON_CHARACTERS_MAX))]
    pub reason: String,
    /// The digest of what was shown.
    pub view_digest: String,
    /// The signed statement of the verdict, where the policies ask for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signed: Option<Signed>,
}

/// The answer to a caller that wants to act at once.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ActAnswer {
    /// The action.
    pub action: ActionStatus,
    /// The hash of what the call asks for, without what differs between two calls for the same thing.
    pub deed: Option<String>,
    /// Whether the call joined an action that was there.
    pub joined: bool,
    /// ALLOW: act now, then report the outcome. HOLD: repeat the identical call after approval. DENY: do not act.
    pub outcome: Outcome,
    /// With ALLOW: the use of the permit, for which the outcome is reported.
    pub used: Option<UseReceipt>,
}

/// A page of actions.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ActionPage {
    /// In the order in which they last changed. A page may be shorter than `limit` and still have a next one.
    pub actions: Vec<ActionStatus>,
    /// The `after` of the next page, if there may be one.
    pub next: Option<u64>,
}
