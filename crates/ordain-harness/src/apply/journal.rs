//! The journal of a change: enough to finish it or to take it back, and the record of it afterwards.

use super::authority::AuthorityRecord;
use super::state::is_record_name;
use super::tree::forbidden;
use ordain_canon::{Canonicalizer, is_sha256};
use ordain_spec::patch::PatchOp;
use serde::{Deserialize, Serialize};
use std::io;

/// The version of the format that is written.
const JOURNAL_SCHEMA_VERSION: &str = "1.0.0";

/// A change of a workspace. The content of operation N is in `slot-N`, and after it was carried out the content that
/// was replaced is.
#[derive(PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Journal {
    journal_schema_version: String,
    /// The folder that the journal was written in, by its number. One that came with a copy of the workspace is not
    /// carried out.
    inode: String,
    pub(crate) applied_at_ms: u64,
    pub(crate) authority: AuthorityRecord,
    pub(crate) patch_hash: String,
    pub(crate) source_proposal_id: String,
    /// Folders that were made, those that hold others first.
    pub(crate) folders: Vec<String>,
    pub(crate) operations: Vec<Entry>,
}

/// One operation.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    pub(crate) op: PatchOp,
    pub(crate) path: String,
    /// The hash of the file before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) before: Option<String>,
    /// The hash of the file after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) after: Option<String>,
}

/// The subject of a journal.
pub(crate) struct Change {
    pub(crate) authority: AuthorityRecord,
    pub(crate) applied_at_ms: u64,
    pub(crate) patch_hash: String,
    pub(crate) source_proposal_id: String,
    pub(crate) folders: Vec<String>,
    pub(crate) operations: Vec<Entry>,
}

impl Journal {
    pub(crate) fn new(inode: u64, change: Change) -> Self {
        let Change { authority, applied_at_ms, patch_hash, source_proposal_id, folders, operations } = change;
        Self {
            journal_schema_version: JOURNAL_SCHEMA_VERSION.to_owned(),
            inode: inode.to_string(),
            applied_at_ms,
            authority,
            patch_hash,
            source_proposal_id,
            folders,
            operations,
        }
    }

    pub(crate) fn text(&self) -> io::Result<Vec<u8>> {
        Ok(Canonicalizer::new().value(self).map_err(io::Error::other)?.to_vec())
    }

    /// Reads a journal. It lies in a folder that others may write to, so it is believed only as far as a patch is.
    pub(crate) fn read(text: &[u8]) -> Result<Self, String> {
        let journal: Self = serde_json::from_slice(text).map_err(|error| format!("is damaged: {error}"))?;
        if journal.journal_schema_version != JOURNAL_SCHEMA_VERSION {
            return Err(format!(
                "has the version `{}`, and this program writes {JOURNAL_SCHEMA_VERSION}",
                journal.journal_schema_version
            ));
        }
        let paths = journal.operations.iter().map(|entry| &entry.path).chain(&journal.folders);
        if let Some(problem) = paths.filter_map(|path| forbidden(path)).next() {
            return Err(format!("names a path that no patch may have: {problem}"));
        }
        if !is_sha256(&journal.patch_hash) {
            return Err("is damaged: the patch set has no hash".to_owned());
        }
        let fits = |entry: &Entry| match entry.op {
            PatchOp::Create => entry.before.is_none() && entry.after.is_some(),
            PatchOp::Modify => entry.before.is_some() && entry.after.is_some(),
            PatchOp::Delete => entry.before.is_some() && entry.after.is_none(),
        };
        match journal.operations.iter().all(fits) {
            true => Ok(journal),
            false => Err("is damaged: an operation lacks a hash, or has one too many".to_owned()),
        }
    }

    /// The same change, from now on in this folder.
    pub(crate) fn move_to(&mut self, inode: u64) {
        self.inode = inode.to_string();
    }

    pub(crate) fn was_written_in(&self, inode: u64) -> bool {
        self.inode == inode.to_string()
    }
}

/// Why a change is taken back.
#[derive(PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "snake_case", deny_unknown_fields)]
pub(crate) enum Back {
    /// It could not be carried out.
    Failed { path: String, problem: String },
    /// Somebody wants it.
    Undo {
        /// The name of its record.
        record: String,
        authority: AuthorityRecord,
    },
}

impl Back {
    /// By what right, if somebody wants it.
    pub(crate) fn authority(&self) -> Option<&AuthorityRecord> {
        match self {
            Self::Failed { .. } => None,
            Self::Undo { authority, .. } => Some(authority),
        }
    }

    pub(crate) fn read(text: &[u8]) -> Result<Self, String> {
        let back: Self = serde_json::from_slice(text).map_err(|error| format!("is damaged: {error}"))?;
        match &back {
            Self::Undo { record, .. } if !is_record_name(record) => {
                Err("is damaged: it names no record".to_owned())
            }
            _ => Ok(back),
        }
    }
}
