//! Actions: where one stands, and what an approver says.

use crate::approver::SigningTerms;
use crate::limits::REASON_CHARACTERS_MAX;
use crate::permit::{PermitStatus, UseReceipt};
use crate::view::ViewDocument;
use ordain_spec::action::{ActionType, KernelRequest, Proposal, RiskEnvelope, Target};
use ordain_spec::approval::{Approval, Verdict};
use ordain_spec::decision::{Decision, Outcome};
use ordain_spec::standing::StandingScope;
use ordain_spec::statement::Signed;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

/// Where an action stands.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ActionStatus {
    /// The proposal's id.
    pub action_id: String,
    /// The actor that proposed it.
    pub actor: String,
    /// The verdicts of approvers.
    pub approvals: Vec<Approval>,
    /// The ledger's entry of the last decision.
    pub decided_index: u64,
    /// The kernel's last answer.
    pub decision: Decision,
    /// Until when it waits for approvals, in milliseconds since 1970.
    pub expires_at_ms: Option<u64>,
    /// Whether it waits for a signature that nobody can give, because nobody owns the gate.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_owner: bool,
    /// The permit, where there is one.
    pub permit: Option<PermitStatus>,
    /// The view of each approver, for those who may see evidence and ask for this action.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shown: Vec<ShownView>,
    /// While it is held, for an approver who asks for this action: the terms on which a verdict is signed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub signing: Option<SigningTerms>,
    /// How far it is.
    pub state: ActionState,
    /// When, in milliseconds since 1970.
    pub submitted_at_ms: u64,
    /// The principal of the token that submitted it.
    pub submitted_by: String,
    /// The ledger's entry of the submission.
    pub submitted_index: u64,
    /// The proposal that took its place.
    pub superseded_by: Option<String>,
    /// The proposal that it took the place of.
    pub supersedes: Option<String>,
    /// The view that an approver is shown: while the action is held, by the policies in force; later, by the
    /// policies of the last decision. Secrets are hashed. Empty in the answer to a submission that waits for nobody.
    pub view: ViewDocument,
    /// The digest of `view`, which an approval must name. Empty where `view` is empty or not all that an approver was
    /// shown: in lists, for whoever may not see evidence, and where the policies in force hide more than
    /// those of then.
    pub view_digest: String,
}

/// The view of an approver when they gave their verdict.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ShownView {
    /// The approver.
    pub approver: String,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
    /// The ledger's entry of the verdict.
    pub index: u64,
    /// The policies by which it was shown.
    pub policy_hash: String,
    /// The digest that the verdict names.
    pub view_digest: String,
    /// The view with that digest. Left out where it is `view` of the action, and where it can no longer be made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub view: Option<ViewDocument>,
}

/// How far an action is.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActionState {
    /// Approvals are missing.
    Held,
    /// There is a permit that can be used.
    Allowed,
    /// It may not happen.
    Denied,
    /// The missing approvals did not come in time, or nobody used the permit in its time.
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
    /// An owner had calls of the hook observed: the gate only recorded its decision.
    Observed,
}

impl ActionState {
    /// All of them.
    pub const ALL: [Self; 10] = [
        Self::Held,
        Self::Allowed,
        Self::Denied,
        Self::Expired,
        Self::Superseded,
        Self::Running,
        Self::Succeeded,
        Self::Failed,
        Self::Unknown,
        Self::Observed,
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
            Self::Observed => "observed",
        }
    }
}

/// The verdict of one approver.
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
    /// How far the approval goes beyond this action; the signed statement names its hash. Without it, it is for this
    /// action once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<StandingScope>,
}

/// The answer to a caller that wants to act at once.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ActAnswer {
    /// The action.
    pub action: ActionStatus,
    /// The action that the policies in force make of this call; nothing where they make none of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<CalledAction>,
    /// The hash of what the call asks for, without what differs between two calls for the same thing.
    pub deed: Option<String>,
    /// Whether the call joined an action that was there.
    pub joined: bool,
    /// An owner has calls of this hook observed: it may allow the call whatever the outcome is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<ObservedCall>,
    /// ALLOW: act now, then report the outcome. HOLD: repeat the identical call after approval. DENY: do not act.
    pub outcome: Outcome,
    /// With ALLOW: the use of the permit, for which the outcome is reported.
    pub used: Option<UseReceipt>,
}

/// The gate's word to a hook that it may allow a call which is only observed. A permit is something else.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ObservedCall {
    /// A JWT of type `ordain-observed+jwt`, signed with the gate's key. It names the call by its hash.
    pub token: String,
    /// When the observation ends.
    pub until_ms: u64,
}

/// The action that the policies make of a call.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct CalledAction {
    /// The kind of action.
    pub action_type: ActionType,
    /// The target.
    pub target: Target,
    /// The effects that it may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk_envelope: Option<RiskEnvelope>,
}

/// A call of a hook or a gateway with what its host says about it. The sources go on record beside the action, as a
/// packet of the sensor `ordain-hook` that no proposal is bound to, and the deed leaves them out.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SourcedCall {
    /// The call.
    #[schemars(schema_with = "call_schema")]
    pub call: Json,
    /// Where it came from: session, call id, transcript, version of the host; and texts that are too long for
    /// parameters.
    pub sources: Map<String, Json>,
}

/// An action proposal or a KernelRequest.
pub(crate) fn call_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
    let (proposal, request) =
        (generator.subschema_for::<Proposal>(), generator.subschema_for::<KernelRequest>());
    schemars::json_schema!({"anyOf": [proposal, request]})
}

/// A page of actions.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ActionPage {
    /// The newest first, or with `after` in the order in which they last changed. A page may be shorter than
    /// `limit` and still have a next one.
    pub actions: Vec<ActionStatus>,
    /// The `before` of the next page, or with `after` its `after`, if there may be one.
    pub next: Option<u64>,
    /// As `after` of a later question, with or without `wait`: only actions that changed since this answer.
    pub seen: u64,
}
