//! Patch sets: file operations, ready to be tried and applied.

mod changes;
mod diff;
mod hunk;
mod rules;

use crate::schema::{NonEmpty, Sha256};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use changes::{FileChange, PATCH_SCHEMA_VERSION, PatchSource, UncarriedChange, patch_of_changes};
pub use diff::{Diff, DiffError, FileDiff, Happens, parse as parse_diff};
pub use rules::RULES;
pub(crate) use rules::check_clashes;

/// An ordered collection of file operations.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PatchSet {
    /// The version of this format: `1.0.0`.
    #[schemars(extend("x-rule" = "PS1"))]
    pub patch_schema_version: String,
    /// The proposal that it comes from.
    pub source_proposal_id: NonEmpty,
    /// The hash of that proposal.
    pub source_proposal_hash: Sha256,
    /// The bundle that it was made for, as a plan names it; only a work order has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rule" = "PS11"))]
    pub source_bundle_hash: Option<Sha256>,
    /// The operations, sorted by order and path.
    pub operations: Vec<PatchOperation>,
    /// The bytes of all content together.
    #[schemars(extend("x-rule" = "PS7"))]
    pub total_bytes: u64,
}

/// One file to create, replace or delete.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PatchOperation {
    /// The operation.
    #[schemars(extend("x-rule" = "PS2"))]
    pub op: PatchOp,
    /// The file, relative to the workspace.
    #[schemars(extend("x-rule" = "PS4"))]
    pub path: String,
    /// The whole new content; none when deleting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rule" = "PS6"))]
    pub content: Option<String>,
    /// The hash that the content has.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rule" = "PS6"))]
    pub expected_hash: Option<Sha256>,
    /// The bytes of the content.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rule" = "PS6"))]
    pub size_bytes: Option<u64>,
    /// Lower comes first; on all operations or on none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("x-rule" = "PS8"))]
    pub order: Option<u64>,
}

/// The kind of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PatchOp {
    /// It must not exist yet.
    Create,
    /// It must exist; its content is replaced.
    Modify,
    /// It must exist.
    Delete,
}
