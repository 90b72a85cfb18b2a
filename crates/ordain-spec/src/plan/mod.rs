//! Plan proposals: the actions and acceptance tests that a bundle becomes.

mod rules;

use crate::schema::Sha256;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use rules::RULES;
pub(crate) use rules::check_test;

/// Actions to execute and tests that must pass, made from a bundle.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "PlanProposal")]
pub struct Proposal {
    /// `prop_` and 16 digits, derived from every other field.
    #[schemars(extend("x-rule" = "PR13"))]
    pub id: String,
    /// The version of this format: `1.0.0`.
    #[schemars(extend("x-rule" = "PR1"))]
    pub schema_version: String,
    /// The bundle it was made from.
    #[schemars(extend("x-rule" = "PR2"))]
    pub source_bundle_id: String,
    /// The hash of that bundle.
    #[schemars(extend("x-rule" = "PR2"))]
    pub source_bundle_hash: Sha256,
    /// The actions, sorted by order and id.
    pub actions: Vec<ProposedAction>,
    /// The tests that must pass afterwards, sorted by id.
    pub acceptance_tests: Vec<AcceptanceTest>,
    /// A summary, for people.
    #[schemars(extend("x-rule" = "PR10"))]
    pub summary: String,
    /// Whether a person must approve it.
    pub requires_approval: bool,
    /// How sure the kernel is, 0 to 100.
    #[schemars(range(min = 0, max = 100), extend("x-rule" = "PR9"))]
    pub confidence: u8,
}

/// One action of a plan.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposedAction {
    /// `act_` and 16 digits, derived from every other field.
    #[schemars(extend("x-rule" = "PR6"))]
    pub id: String,
    /// The kind of action.
    #[serde(rename = "type")]
    #[schemars(extend("x-rule" = "PR5"))]
    pub action_type: ActionType,
    /// A file, a command, or the id of an acceptance test.
    #[schemars(extend("x-rule" = "PR14"))]
    pub target: String,
    /// The whole content of a file to create or modify.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rule" = "PR12"))]
    pub content: Option<String>,
    /// The hash that the result has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rule" = "PR14"))]
    pub expected_hash: Option<Sha256>,
    /// Whether the plan fails without it.
    pub required: bool,
    /// A description, for people.
    pub description: String,
    /// Lower comes first.
    #[schemars(extend("x-rule" = "PR11"))]
    pub order: u64,
}

/// The kind of an action.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ActionType {
    /// Creates a file.
    CreateFile,
    /// Replaces a file's content.
    ModifyFile,
    /// Deletes a file.
    DeleteFile,
    /// Runs a command.
    ExecuteCommand,
    /// Runs a command that checks something.
    Validate,
    /// Runs an acceptance test, or a command.
    Test,
}

/// A condition that must hold after the actions.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AcceptanceTest {
    /// Unique in the plan.
    pub id: String,
    /// For people.
    pub name: String,
    /// The kind of test.
    #[serde(rename = "type")]
    #[schemars(extend("x-rule" = "PR8"))]
    pub test_type: TestType,
    /// The file or the command.
    #[schemars(extend("x-rule" = "PR8"))]
    pub target: String,
    /// A hash, `true`, `0`, or the whole content.
    #[schemars(extend("x-rule" = "PR8"))]
    pub expected: String,
    /// Whether the plan fails without it.
    pub required: bool,
    /// Whether it is a criterion that the intent states in words; absent when it is not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stated: bool,
}

/// The kind of an acceptance test.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TestType {
    /// The file's hash.
    HashMatch,
    /// The command's exit code.
    CommandSuccess,
    /// That the file is there.
    FileExists,
    /// The file's whole content.
    ContentMatch,
}
