//! Intents: what someone wants.

mod normalize;
mod rules;

use crate::plan::TestType;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use std::collections::BTreeMap;

pub(crate) use normalize::is_blank;
pub use normalize::{NormalizeError, normalize};
pub use rules::RULES;

/// A goal, what must hold, and what else is known.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Intent {
    /// The goal.
    #[schemars(extend("x-rule" = "IN1"))]
    pub goal: String,
    /// The constraints.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rule" = "IN2"))]
    pub constraints: Option<Vec<String>>,
    /// Anything else; some keys have a meaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<Context>", extend("x-rule" = "IN3"))]
    pub context: Option<Map<String, Json>>,
}

/// The part of an intent's context that has a meaning. Other keys are kept in the intent and not looked at.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct Context {
    /// Answers to questions, by question id: text, a number, a truth value, or a list of these.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rule" = "IN4"))]
    pub answers: Option<BTreeMap<String, Json>>,
    /// Files to write as they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rule" = "IN5"))]
    pub files: Option<Vec<IntentFile>>,
    /// Commands to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rule" = "IN6"))]
    pub commands: Option<Vec<IntentCommand>>,
    /// Tests that must pass.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rule" = "IN7"))]
    pub tests: Option<Vec<IntentTest>>,
    /// Files to delete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rule" = "IN9"))]
    pub delete: Option<Vec<String>>,
    /// Whether the briefs are written into the workspace; they always are in the run's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rule" = "IN3"))]
    pub write_briefs: Option<bool>,
}

/// A file that the intent brings along.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IntentFile {
    /// Where it goes, relative.
    pub path: String,
    /// Its whole content, taken as it is.
    pub content: String,
}

/// A command that the intent asks for.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IntentCommand {
    /// The command and its arguments; no shell is involved.
    #[schemars(length(min = 1))]
    pub argv: Vec<String>,
    /// Whether the plan fails without it; true when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
}

/// A test that the intent asks for.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct IntentTest {
    /// For people.
    pub name: String,
    /// The kind of test.
    #[serde(rename = "type")]
    pub test_type: TestType,
    /// The file or the command.
    pub target: String,
    /// A hash, `true`, `0`, or the whole content.
    pub expected: String,
    /// Whether the plan fails without it; true when absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required: Option<bool>,
}
