//! The changes that were made in a workspace.

use super::authority::AuthorityRecord;
use super::perform::files_of;
use super::state::{APPLIED, Slots, existing, names, unusable};
use super::tree::Tree;
use super::{ApplyError, Record};
use std::os::fd::AsFd;
use std::path::Path;

/// The changes that can be undone, oldest first.
pub fn records(workspace: &Path) -> Result<Vec<Record>, ApplyError> {
    let tree = Tree::open(workspace)?;
    let (Some(own), Some(applied)) = (existing(&tree, ""), existing(&tree, APPLIED)) else {
        return Ok(Vec::new());
    };
    let names = names(own.as_fd(), APPLIED).map_err(|error| unusable(".ordain/applied", &error))?;
    names.into_iter().map(|name| record(&Slots::open(applied.as_fd(), &name), name)).collect()
}

fn record(slots: &std::io::Result<Slots>, name: String) -> Result<Record, ApplyError> {
    let damaged = |problem: String| ApplyError::State { path: format!(".ordain/applied/{name}"), problem };
    let slots = slots.as_ref().map_err(|error| damaged(error.to_string()))?;
    let journal = slots.journal().map_err(damaged)?.ok_or_else(|| damaged("has no journal".to_owned()))?;
    Ok(Record {
        files: files_of(&journal),
        applied_at_ms: journal.applied_at_ms,
        permit_id: match journal.authority {
            AuthorityRecord::Permit { permit_id, .. } => Some(permit_id),
            AuthorityRecord::LocalOperator => None,
        },
        patch_hash: journal.patch_hash,
        source_proposal_id: journal.source_proposal_id,
        record: name,
    })
}
