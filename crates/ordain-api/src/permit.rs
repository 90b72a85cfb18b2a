//! Permits: what they allow, their uses, and how each use went.

use crate::limits::{GRACE_MS, NAME_CHARACTERS_MAX, NAME_PATTERN, REASON_CHARACTERS_MAX, WHOLE_MAX};
use ordain_spec::action::{ActionType, KernelRequest, Target};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

/// A permit and its uses.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PermitStatus {
    /// The action that it allows.
    pub action_id: String,
    /// How many records a use may change.
    pub max_affected_records: Option<u64>,
    /// How long a use may take.
    pub max_duration_ms: Option<u64>,
    /// How often it can be used.
    pub max_executions: u64,
    /// The open and unknown uses that keep the same effect from being done again until their outcome is known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<u64>,
    /// Its id.
    pub permit_id: String,
    /// The permit itself, for whoever proposed, and for workers and operators.
    pub token: Option<String>,
    /// How often it was used.
    pub used: u64,
    /// The uses that are open or unknown, and the last of the others.
    pub uses: Vec<Use>,
    /// From when it holds, in milliseconds since 1970.
    pub valid_from_ms: u64,
    /// Until when.
    pub valid_until_ms: u64,
}

/// One use of a permit.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Use {
    /// Counted from 1.
    #[serde(rename = "use")]
    pub number: u64,
    /// The worker that acts.
    pub worker: String,
    /// Since when, in milliseconds since 1970.
    pub spent_at_ms: u64,
    /// When nobody knows any more how it went, if nothing was reported.
    pub deadline_ms: u64,
    /// How it went.
    pub settled: Option<Settled>,
}

/// How a use stands, in one word.
impl Use {
    /// Whether nobody knows how it went.
    pub fn is_unknown(&self, now_ms: u64) -> bool {
        match &self.settled {
            Some(settled) => settled.outcome == UseOutcome::Unknown,
            None => now_ms > self.deadline_ms.saturating_add(GRACE_MS),
        }
    }

    /// As documents write it.
    pub fn outcome_name(&self) -> &'static str {
        self.settled.as_ref().map_or("running", |settled| settled.outcome.name())
    }
}

/// How a use of a permit went.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum UseOutcome {
    /// It happened.
    Succeeded,
    /// It did not happen, or it went beyond what was allowed.
    Failed,
    /// Nobody knows whether it happened.
    Unknown,
}

impl UseOutcome {
    /// As documents write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }
}

/// A person's word about a use whose outcome nobody knows.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Settlement<'a> {
    /// How it went.
    pub outcome: UseOutcome,
    /// The permit.
    pub permit_id: &'a str,
    /// Counted from 1.
    #[serde(rename = "use")]
    pub number: u64,
}

impl Settlement<'_> {
    /// The subject of the statement about it: the hash of its canonical JSON.
    pub fn subject(&self) -> String {
        crate::approver::subject(self)
    }
}

/// How a use went, as it was reported.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Settled {
    /// The outcome that counts.
    pub outcome: UseOutcome,
    /// Why, where somebody said.
    pub reason: String,
    /// How many records changed.
    pub affected_records: Option<u64>,
    /// How long it took.
    pub duration_ms: Option<u64>,
    /// The worker that reported it.
    pub by: String,
    /// When, in milliseconds since 1970.
    pub at_ms: u64,
}

/// A use of a permit. The worker may act now.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct UseReceipt {
    /// The action that it allows.
    pub action_id: String,
    /// Until when the outcome must be reported, in milliseconds since 1970.
    pub deadline_ms: u64,
    /// The entry on the ledger.
    pub ledger_index: u64,
    /// The permit.
    pub permit_id: String,
    /// Counted from 1; the outcome is reported for it.
    #[serde(rename = "use")]
    pub number: u64,
    /// How many are left.
    pub uses_left: u64,
}

/// The action that a worker is about to take, as the proposal said it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UseRequest {
    /// The permit.
    pub permit: String,
    /// The action.
    pub action_type: ActionType,
    /// The resource that it acts on.
    pub target: Target,
    /// Its parameters.
    pub parameters: Map<String, Json>,
}

/// The request that a worker is about to carry out, where a KernelRequest was submitted.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct KernelUseRequest {
    /// The permit.
    pub permit: String,
    /// The request. The policies in force map it to an action.
    pub request: KernelRequest,
}

/// How a use went.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("if" = {"required": ["change"], "properties": {"change": {"type": "object"}}},
    "then" = {"properties": {"outcome": {"const": "succeeded"}}}))]
pub struct OutcomeReport {
    /// Which use; counted from 1.
    #[serde(rename = "use")]
    #[schemars(range(max = WHOLE_MAX))]
    pub number: u64,
    /// How it went.
    pub outcome: UseOutcome,
    /// How many records changed.
    #[schemars(range(max = WHOLE_MAX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub affected_records: Option<u64>,
    /// How long it took.
    #[schemars(range(max = WHOLE_MAX))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// A comment by the worker.
    #[schemars(length(max = REASON_CHARACTERS_MAX))]
    #[serde(default)]
    pub reason: String,
    /// The change of files that it was, where it was one; it gets an entry of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<FileChange>,
}

/// A change of the files of a workspace.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileChange {
    /// The patch set.
    #[schemars(regex(pattern = "^sha256:[0-9a-f]{64}$"))]
    pub patch_hash: String,
    /// The record in the workspace, by which it can be taken back.
    #[schemars(length(max = NAME_CHARACTERS_MAX), regex(pattern = NAME_PATTERN))]
    pub record: String,
    /// Whether it was taken back rather than made.
    pub undone: bool,
}
