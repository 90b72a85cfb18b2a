//! Execution evidence: what happened when a plan was tried.

mod rules;

use crate::schema::{NonEmpty, Sha256};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

pub use rules::RULES;

/// The results of every action and test of a plan.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ExecutionEvidence {
    /// The version of this format: `1.0.0`.
    #[schemars(extend("x-rule" = "EV1"))]
    pub evidence_schema_version: String,
    /// The proposal that was tried.
    #[schemars(extend("x-rule" = "EV2"))]
    pub proposal_id: NonEmpty,
    /// The hash of that proposal.
    #[schemars(extend("x-rule" = "EV2"))]
    pub proposal_hash: Sha256,
    /// One for each action.
    #[schemars(extend("x-rule" = "EV3"))]
    pub action_results: Vec<ActionResult>,
    /// One for each test.
    #[schemars(extend("x-rule" = "EV6"))]
    pub test_results: Vec<TestResult>,
    /// How it ended.
    #[schemars(extend("x-rule" = "EV7"))]
    pub status: ExecutionStatus,
    /// The parts that vary between runs: times, executor, protections. They stay out of the hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed: Option<Map<String, Json>>,
}

/// How one action ended.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ActionResult {
    /// The action.
    pub action_id: String,
    /// How it ended.
    pub status: ActionStatus,
    /// The exit code of the process, where there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rule" = "EV4"))]
    pub exit_code: Option<i64>,
    /// The files that it left behind, sorted by path.
    #[schemars(extend("x-rule" = "EV5"))]
    pub produced: Vec<Produced>,
}

/// How an action ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActionStatus {
    /// Well.
    Success,
    /// Badly.
    Failure,
    /// It was not tried.
    Skipped,
    /// It took too long.
    Timeout,
}

/// A file that an action left behind.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Produced {
    /// Relative to the workspace.
    pub path: String,
    /// The hash of its bytes.
    pub sha256: Sha256,
}

/// How one test ended.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TestResult {
    /// The acceptance test.
    pub test_id: NonEmpty,
    /// Whether it passed.
    pub passed: bool,
    /// The value that was found instead.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actual: Option<String>,
}

/// How the whole execution ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExecutionStatus {
    /// Every action succeeded.
    Complete,
    /// Some did not.
    Partial,
    /// It could not go on.
    Failed,
}
