//! Changes of files leave their entry too.

use super::caller::{Caller, Role};
use super::entry::{Entry, Event};
use super::error::GateError;
use super::open::{Gate, Step};
use super::records::{Held, Permit};
use super::spend::no_permit;

/// A change of a workspace that was made by a permit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FileChange {
    /// The permit that it was made by.
    pub permit_id: String,
    /// The patch set.
    pub patch_hash: String,
    /// The record in the workspace, by which it can be taken back.
    pub record: String,
    /// Whether it was taken back rather than made.
    pub undone: bool,
}

impl Gate {
    /// Puts a change of files on record.
    pub async fn record_change(&self, caller: &Caller, change: &FileChange) -> Result<u64, GateError> {
        caller.must_be(&[Role::Worker])?;
        let FileChange { permit_id, patch_hash, record, undone } = change.clone();
        let permit = Held::<Permit>::read(&self.store, &permit_id).await?.body;
        let action_id = permit.ok_or_else(|| no_permit(&permit_id))?.action_id;
        let event = match undone {
            false => Event::Applied { action_id, permit_id, patch_hash, record },
            true => Event::Undone { action_id, permit_id, patch_hash, record },
        };
        let entry = Entry::of(self.clock.now_ms(), &caller.principal, event);
        let step = Step { entries: vec![entry], ..Step::default() };
        Ok(self.commit(Vec::new(), move |_| Ok(step)).await?.first_index)
    }
}
