//! Changes of files, wherever they come from, as a patch set.

use super::{PatchOp, PatchOperation, PatchSet};
use crate::schema::{NonEmpty, Sha256};
use ordain_canon::{ContentHash, compare_utf16};

/// The version of the format that is written.
pub const PATCH_SCHEMA_VERSION: &str = "1.0.0";

/// One file before and after.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileChange {
    /// Relative to the workspace.
    pub path: String,
    /// Whether it was there.
    pub was_there: bool,
    /// The new content; nothing if the file is gone.
    pub after: Option<Vec<u8>>,
}

impl FileChange {
    /// A change of one file.
    pub fn new(path: &str, was_there: bool, after: Option<Vec<u8>>) -> Self {
        Self { path: path.to_owned(), was_there, after }
    }
}

/// A change that no patch set can carry.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("`{path}` {problem}")]
pub struct UncarriedChange {
    /// Relative to the workspace.
    pub path: String,
    /// Why.
    pub problem: &'static str,
}

/// Where a patch set comes from that was not made of a plan.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PatchSource {
    /// As `source_proposal_id`: what it was made of.
    pub id: NonEmpty,
    /// As `source_proposal_hash`: of what it was made of.
    pub hash: Sha256,
    /// The bundle that it was made for.
    pub bundle: Option<Sha256>,
}

/// The patch set that makes these changes; the caller verifies it. Content must be text without NUL.
pub fn patch_of_changes(
    source: PatchSource,
    mut changes: Vec<FileChange>,
) -> Result<PatchSet, UncarriedChange> {
    changes.sort_by(|left, right| compare_utf16(&left.path, &right.path));
    let mut operations = Vec::with_capacity(changes.len());
    for FileChange { path, was_there, after } in changes {
        let op = match (was_there, &after) {
            (false, Some(_)) => PatchOp::Create,
            (true, Some(_)) => PatchOp::Modify,
            (true, None) => PatchOp::Delete,
            (false, None) => continue,
        };
        let content = match after.map(String::from_utf8).transpose() {
            Ok(Some(text)) if text.contains('\0') => {
                return Err(UncarriedChange {
                    path,
                    problem: "has a NUL byte; a patch set carries only text",
                });
            }
            Ok(content) => content,
            Err(_) => {
                return Err(UncarriedChange { path, problem: "is not UTF-8; a patch set carries only text" });
            }
        };
        operations.push(PatchOperation {
            op,
            path,
            expected_hash: content.as_ref().map(|text| ContentHash::of(text.as_bytes()).into()),
            size_bytes: content.as_ref().map(|text| text.len() as u64),
            content,
            order: None,
        });
    }
    Ok(PatchSet {
        patch_schema_version: PATCH_SCHEMA_VERSION.to_owned(),
        source_proposal_id: source.id,
        source_proposal_hash: source.hash,
        source_bundle_hash: source.bundle,
        total_bytes: operations.iter().filter_map(|operation| operation.size_bytes).sum(),
        operations,
    })
}
