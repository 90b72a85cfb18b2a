//! Bundles: what the kernel makes of an intent.

mod rules;
mod total;

use crate::schema::{Hex64, Nullable, Sha256};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use rules::RULES;

/// The decomposition of an intent, its outputs and the questions that are still open.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bundle {
    /// `bundle_` and 16 digits, derived from every other field.
    #[schemars(extend("x-rule" = "BS9"))]
    pub id: String,
    /// The version of this format: `0.1.0`.
    #[schemars(extend("x-rule" = "BS1"))]
    pub schema_version: String,
    /// The kernel that made it.
    pub kernel_version: String,
    /// The hash of the normalized intent.
    pub source_intent_hash: Hex64,
    /// Whether anything is still open.
    #[schemars(extend("x-rule" = "BS11"))]
    pub status: BundleStatus,
    /// The whole tree.
    pub root_node: ContextNode,
    /// The leaves of the tree, sorted by id.
    #[schemars(extend("x-rule" = "BS11", "x-rule-shallow" = true))]
    pub terminal_nodes: Vec<ContextNode>,
    /// The outputs, sorted by path.
    pub outputs: Vec<Output>,
    /// The open questions, most important first.
    pub unresolved_questions: Vec<Question>,
    /// Figures about the tree.
    #[schemars(extend("x-rule" = "BS11"))]
    pub stats: BundleStats,
}

/// Whether a bundle is finished.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BundleStatus {
    /// Nothing is open.
    Complete,
    /// Questions are open.
    Incomplete,
    /// Read, never written.
    Error,
}

/// One part of the work, with the constraints that touch it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ContextNode {
    /// `node_` and 16 digits, derived from parent, goal and constraints.
    #[schemars(extend("x-rule" = "BS9"))]
    pub id: String,
    /// The node above; null at the root.
    #[schemars(extend("x-rule" = "BS9"))]
    pub parent_id: Nullable<String>,
    /// The goal of this part.
    pub goal: String,
    /// The constraints, sorted.
    pub constraints: Vec<String>,
    /// `terminal` for a leaf, `expanding` for the others.
    #[schemars(extend("x-rule" = "BS11"))]
    pub status: NodeStatus,
    /// How unclear it is.
    pub entropy: Entropy,
    /// How much is settled.
    pub density: Density,
    /// The open questions of this node, most important first.
    pub unresolved_questions: Vec<Question>,
    /// The parts of this part, sorted by id.
    pub children: Vec<ContextNode>,
    /// The question whose answers made the children.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub splitting_question: Option<SplittingQuestion>,
}

/// Where a node stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum NodeStatus {
    /// A leaf.
    Terminal,
    /// Has children.
    Expanding,
    /// Read, never written.
    Pending,
    /// Read, never written.
    Blocked,
}

/// How unclear a node is.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Entropy {
    /// References to things that are not named.
    pub unresolved_refs: u64,
    /// Things that a plan would need and that nobody said.
    pub schema_gaps: u64,
    /// Constraints that contradict each other.
    pub contradiction_count: u64,
    /// Ways in which it could go on.
    pub branching_factor: u64,
    /// All of it as one score.
    #[schemars(range(min = 0, max = 100), extend("x-rule" = "BS10"))]
    pub entropy_score: u8,
}

/// How much of a node is settled.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Density {
    /// Constraints that name something definite.
    pub concrete_constraints: u64,
    /// Outputs that are named.
    pub specified_outputs: u64,
    /// How far constraints go into detail.
    pub constraint_depth: u64,
    /// All of it as one score.
    #[schemars(range(min = 0, max = 100), extend("x-rule" = "BS10"))]
    pub density_score: u8,
}

/// Something that only the author of the intent can answer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// `q_` and 16 digits, derived from text, answer type, reason and options.
    #[schemars(extend("x-rule" = "BS9"))]
    pub id: String,
    /// The question.
    pub text: String,
    /// The kind of answer that fits.
    pub expected_answer_type: AnswerType,
    /// The point that the answer would settle.
    pub why_needed: String,
    /// How much it would settle, 0 to 100.
    #[schemars(range(min = 0, max = 100), extend("x-rule" = "BS10"))]
    pub information_gain: u8,
    /// Higher is asked first, 0 to 100.
    #[schemars(range(min = 0, max = 100), extend("x-rule" = "BS10"))]
    pub priority: u8,
    /// The answers to choose from, sorted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub options: Option<Vec<String>>,
}

/// The kind of an answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum AnswerType {
    /// Yes or no.
    Boolean,
    /// One of the options.
    Choice,
    /// Free text.
    Text,
    /// A number.
    Number,
    /// Several values.
    List,
    /// An object.
    Structured,
}

/// A question and what each answer would add.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SplittingQuestion {
    /// The question.
    pub question: Question,
    /// One for each answer, sorted by id.
    pub branches: Vec<Branch>,
}

/// The consequences of one answer.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Branch {
    /// 8 digits, derived from the question's id and the answer.
    #[schemars(extend("x-rule" = "BS9"))]
    pub branch_id: String,
    /// The answer.
    pub answer: String,
    /// The constraints that it adds.
    pub added_constraints: Vec<String>,
}

/// Something that was made.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Output {
    /// `out_` and 16 digits, derived from type, path and content.
    #[schemars(extend("x-rule" = "BS9"))]
    pub id: String,
    /// The kind of output.
    #[serde(rename = "type")]
    pub output_type: OutputType,
    /// Where it goes, relative.
    #[schemars(extend("x-rule" = "BS7"))]
    pub path: String,
    /// The text.
    pub content: String,
    /// The hash of the text.
    #[schemars(extend("x-rule" = "BS9"))]
    pub content_hash: Sha256,
    /// The constraints that it serves, sorted.
    pub source_constraints: Vec<String>,
    /// How sure the kernel is, 0 to 100.
    #[schemars(range(min = 0, max = 100), extend("x-rule" = "BS10"))]
    pub confidence: u8,
}

/// The kind of an output.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutputType {
    /// A file.
    File,
    /// A command.
    Command,
    /// Configuration.
    Config,
    /// Text for a person or an agent.
    Instruction,
    /// A schema.
    Schema,
}

/// Figures about a bundle.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BundleStats {
    /// Nodes of the tree.
    pub total_nodes: u64,
    /// Leaves of the tree.
    pub terminal_nodes: u64,
    /// Steps from the root to the deepest leaf.
    pub max_depth: u64,
    /// Outputs.
    pub total_outputs: u64,
    /// Open questions.
    pub unresolved_count: u64,
    /// The average entropy score of the leaves, rounded half up.
    #[schemars(range(min = 0, max = 100), extend("x-rule" = "BS10"))]
    pub avg_terminal_entropy: u8,
    /// The average density score of the leaves, rounded half up.
    #[schemars(range(min = 0, max = 100), extend("x-rule" = "BS10"))]
    pub avg_terminal_density: u8,
}
