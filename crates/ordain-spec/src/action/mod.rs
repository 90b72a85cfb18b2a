//! Action proposals: one typed action that an agent asks to perform.

mod deed;
mod fields;
mod request;
mod rules;

use crate::schema::NonEmpty;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

pub use deed::{Deed, HOOK_SENSOR, RUNNER_SENSOR, SOURCE_SENSORS, project_name};
pub(crate) use request::check_evidence;
pub use request::{
    ANY_TOOL, FILES, FILES_MAX, KernelRequest, MapError, ToolCall, ToolMapping, is_request, map_request,
    map_request_in,
};
pub use rules::{RULES, field_value};

/// One action, with everything that a decision needs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "ActionProposal")]
pub struct Proposal {
    /// The caller's id; a UUID is a good one.
    #[schemars(length(min = 1), extend("x-rule" = "V-PROP-001"))]
    pub proposal_id: String,
    /// When it was made, in milliseconds since 1970.
    #[schemars(range(min = 1), extend("x-rule" = "V-PROP-002"))]
    pub ts_ms: u64,
    /// The actor that asks.
    #[schemars(extend("x-rule" = "V-PROP-003"))]
    pub actor: NonEmpty,
    /// The kind of action.
    #[schemars(extend("x-rule" = "V-PROP-004"))]
    pub action_type: ActionType,
    /// The resource that it acts on.
    #[schemars(extend("x-rule" = "V-PROP-005"))]
    pub target: Target,
    /// The details.
    #[schemars(extend("x-rule" = "V-PROP-006"))]
    pub parameters: Map<String, Json>,
    /// Comparisons that evidence must satisfy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preconditions: Option<Vec<Precondition>>,
    /// The side effects that it may have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk_envelope: Option<RiskEnvelope>,
    /// How to take it back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rollback_semantics: Option<RollbackSpec>,
    /// When it may happen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_window: Option<TimeWindow>,
    /// The approvals that it needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rule" = "V-PROP-014"))]
    pub approval_class: Option<ApprovalClass>,
    /// The evidence that belongs to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence_bindings: Option<Vec<EvidenceBinding>>,
}

/// The kinds of action.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActionType {
    /// Browser or UI navigation.
    Navigate,
    /// Data retrieval.
    Read,
    /// Data modification.
    Write,
    /// Resource creation.
    Create,
    /// Resource deletion.
    Delete,
    /// Code or command execution.
    Execute,
    /// Mail, message or notification.
    Communicate,
    /// A financial transaction.
    Transact,
    /// An approval in a workflow.
    Approve,
    /// Anything else.
    Custom,
}

/// The resource of an action.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Target {
    /// Such as `crm_record` or `github_pr`.
    pub resource_type: NonEmpty,
    /// Unique within the type.
    pub resource_id: NonEmpty,
    /// Such as `github.com`.
    pub domain: NonEmpty,
    /// Open; `allowed_fields` and `forbidden_fields` are enforced, the rest reaches the policy.
    pub constraints: Map<String, Json>,
}

/// A condition on evidence.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Precondition {
    /// A JSON Pointer or a dotted path into the payload.
    pub field: NonEmpty,
    /// How to compare.
    pub operator: Operator,
    /// The value to compare with.
    #[schemars(required)]
    pub value: Json,
    /// The packet's `evidence_id`.
    #[schemars(extend("x-rule" = "V-PROP-013"))]
    pub evidence_ref: String,
}

/// How a precondition compares.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Operator {
    /// Equal.
    Eq,
    /// Not equal.
    Ne,
    /// Greater.
    Gt,
    /// Less.
    Lt,
    /// Has it inside.
    Contains,
    /// The whole value matches a regular expression.
    Matches,
}

/// The side effects of an action, allowed and forbidden.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RiskEnvelope {
    /// Effects that may happen.
    pub allowed_side_effects: Vec<String>,
    /// Effects that must not.
    pub forbidden_effects: Vec<String>,
    /// How many records may change.
    #[schemars(range(min = 1), extend("x-rule" = "V-PROP-012"))]
    pub max_affected_records: u64,
    /// Whether there must be a way back.
    pub reversible_required: bool,
}

/// When a permit holds.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TimeWindow {
    /// From then on.
    #[schemars(extend("x-rule" = "V-PROP-011"))]
    pub valid_from_ms: u64,
    /// Until then.
    #[schemars(extend("x-rule" = "V-PROP-010"))]
    pub valid_until_ms: u64,
    /// How long it may take.
    #[schemars(range(min = 1))]
    pub max_duration_ms: u64,
}

/// How many people must approve.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalClass {
    /// Nobody.
    None,
    /// One.
    Single,
    /// Two.
    Dual,
    /// As many as the policy says.
    Threshold,
}

/// How to take an action back.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RollbackSpec {
    /// The way.
    pub strategy: RollbackStrategy,
    /// The action that compensates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<CompensatingAction>,
    /// Until when it can be done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub deadline_ms: Option<u64>,
}

/// The ways back.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RollbackStrategy {
    /// The patch that undoes the patch.
    InversePatch,
    /// Another action.
    CompensatingAction,
    /// A person does it.
    Manual,
    /// None.
    None,
}

/// The action that compensates another.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CompensatingAction {
    /// The kind of action.
    pub action_type: ActionType,
    /// The resource that it acts on.
    pub target: Target,
    /// The details.
    pub parameters: Map<String, Json>,
}

/// Evidence that belongs to an action.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EvidenceBinding {
    /// The packet.
    pub evidence_id: NonEmpty,
    /// Its purpose.
    pub binding_type: BindingType,
    /// Whether the action fails without it.
    pub required: bool,
    /// How old it may be.
    #[schemars(range(min = 1))]
    pub freshness_ms: u64,
}

/// The purpose of evidence.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BindingType {
    /// A precondition refers to it.
    Precondition,
    /// Background.
    Context,
    /// Someone vouches.
    Attestation,
}
