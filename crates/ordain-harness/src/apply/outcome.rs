//! The result of a change to a workspace.

use super::Problem;
use ordain_spec::patch::PatchOp;
use serde::{Deserialize, Serialize};

/// A change that was made.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Applied {
    /// The name of its record, by which it can be undone; none when every file was as it should be already.
    pub record: Option<String>,
    /// The changes by file, in order.
    pub files: Vec<ChangedFile>,
}

/// A file that was changed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct ChangedFile {
    /// The change.
    pub op: PatchOp,
    /// Relative to the workspace.
    pub path: String,
}

/// A file as it is and as it would be.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Change {
    /// Relative to the workspace.
    pub path: String,
    /// The present state.
    pub before: Option<Vec<u8>>,
    /// The state after the change.
    pub after: Option<Vec<u8>>,
}

/// A change of the past that can be undone.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct Record {
    /// Its name.
    pub record: String,
    /// When, in milliseconds since 1970.
    pub applied_at_ms: u64,
    /// The patch set.
    pub patch_hash: String,
    /// The permit that it was done by, where a gate was asked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub permit_id: Option<String>,
    /// The proposal that the patch set names.
    pub source_proposal_id: String,
    /// The changes by file, in order.
    pub files: Vec<ChangedFile>,
}

/// How to treat a record that was not written in its folder: it came with a copy of the workspace, or with
/// somebody's repository.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Copies {
    /// Refuse it.
    Refuse,
    /// The person at this machine answers for it.
    Trust,
}

/// A use of a permit for a change, whose outcome is to be told.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenUse {
    /// The permit.
    pub permit_id: String,
    /// Which use of it.
    #[serde(rename = "use")]
    pub number: u64,
    /// The server that gave it; none is the store of the project.
    pub server: Option<String>,
    /// The patch set.
    pub patch_hash: String,
    /// Whether the change is taken back rather than made.
    pub undo: bool,
}

/// The result of the change that a use was for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Done {
    /// It was made, or taken back, as the use was for.
    Made(Applied),
    /// It was not, and nothing of it is left.
    NotMade,
    /// A change is unfinished in the workspace: nobody can tell yet.
    AtWork,
}

/// The result of a change that was interrupted.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum Recovered {
    /// It had touched nothing yet, and what was staged for it is gone.
    Discarded,
    /// It is carried out.
    Finished {
        /// The name of its record.
        record: String,
    },
    /// It was taken back.
    RolledBack {
        /// Why it was not carried out.
        because: Problem,
    },
    /// It was being undone, and is.
    Undone {
        /// The name of its record.
        record: String,
    },
}
