//! Run results: an intent, a plan or a patch set taken through the whole chain.

pub mod links;
mod rules;

use crate::evidence::ExecutionStatus;
use crate::profile::Profile;
use crate::schema::{NonEmpty, Nullable, Sha256};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

pub use rules::RULES;

/// The first reason of a run in which nothing was executed or tested that somebody asked for.
pub const UNTESTED: &str = "UNTESTED: nothing the intent asks for was executed or tested";

/// The result of an intent, or of the document that was given instead.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RunResult {
    /// The version of this format: `1.0.0`.
    #[schemars(extend("x-rule" = "RN1"))]
    pub run_schema_version: String,
    /// The run.
    pub run_id: NonEmpty,
    /// When it began: RFC 3339, UTC.
    #[schemars(extend("x-rule" = "RN2"))]
    pub started_at: String,
    /// When it ended: RFC 3339, UTC.
    #[schemars(extend("x-rule" = "RN2"))]
    pub completed_at: String,
    /// The kernel that ran it.
    pub kernel_version: NonEmpty,
    /// The profile in force, as it was.
    #[schemars(extend("x-rule" = "RN3"))]
    pub policy: Profile,
    /// The intent; null when a plan or a patch set was brought instead.
    #[schemars(extend("x-rule" = "RN4"))]
    pub intent: Nullable<IntentRef>,
    /// The document that was given instead of an intent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rule" = "RN4"))]
    pub source: Option<SourceRef>,
    /// The bundle; null when the intent was refused, or when what was brought has none.
    #[schemars(extend("x-rule" = "RN5"))]
    pub bundle: Nullable<BundleRef>,
    /// The result of the kernel for the intent.
    #[schemars(extend("x-rule" = "RN5"))]
    pub kernel_result_kind: ResultKind,
    /// The rounds of an agent, where a work order made the patch set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rule" = "RN9"))]
    pub work: Option<WorkOrder>,
    /// The result of the sandbox; null when nothing was tried.
    #[schemars(extend("x-rule" = "RN7"))]
    pub execution: Nullable<ExecutionRef>,
    /// The verdict.
    #[schemars(extend("x-rule" = "RN8"))]
    pub decision: Verdict,
    /// The questions that were asked, with CLARIFY: texts or whole questions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1), extend("x-rule" = "RN6"))]
    pub clarify_questions: Option<Vec<Json>>,
    /// Why, with REFUSE: `CODE: message`, or an object with the two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rule" = "RN6"))]
    pub refuse_reason: Option<Json>,
}

/// The work of an agent on a bundle, round by round.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkOrder {
    /// The bundle that every patch set of this order names.
    pub bundle_hash: Sha256,
    /// The result of each round, in order.
    pub rounds: Vec<WorkRound>,
}

/// One round of a work order.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WorkRound {
    /// How the agent ended, in words; `submitted` where nobody watched it.
    pub agent: NonEmpty,
    /// The patch set of the changes up to here; absent if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch_hash: Option<Sha256>,
    /// The evidence of the trial on the agent's tree; absent if nothing was tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence_hash: Option<Sha256>,
    /// Protected files that the patch set changes, sorted.
    pub protected: Vec<String>,
    /// The evidence of the trial with these files put back; absent if nothing was tried there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restored_evidence_hash: Option<Sha256>,
    /// Whether everything passed on both trees.
    pub accepted: bool,
    /// Why.
    pub reasons: Vec<String>,
}

/// The intent of a run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IntentRef {
    /// Relative, or just a name.
    pub path: String,
    /// Its hash.
    pub sha256: Sha256,
}

/// A document that somebody made without the kernel.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SourceRef {
    /// The kind of document.
    pub kind: SourceKind,
    /// Relative, or just a name.
    pub path: String,
    /// Its hash.
    pub sha256: Sha256,
}

/// The documents that can be given instead of an intent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SourceKind {
    /// A plan proposal: files, commands and tests.
    Plan,
    /// A patch set: only files.
    Patch,
}

/// The bundle of a run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BundleRef {
    /// Its id.
    pub bundle_id: String,
    /// Its hash.
    pub sha256: Sha256,
}

/// The execution of a run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutionRef {
    /// The hash of the execution evidence.
    pub evidence_hash: Sha256,
    /// How it ended.
    pub status: ExecutionStatus,
}

/// The results of the kernel for an intent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ResultKind {
    /// A bundle.
    Bundle,
    /// Questions.
    Clarify,
    /// Nothing.
    Refuse,
}

/// The verdict of a run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// Whether all that is required passed.
    pub accepted: bool,
    /// Why.
    pub reasons: Vec<String>,
    /// Whether the kernel checked the evidence.
    pub validated_by_kernel: bool,
}
