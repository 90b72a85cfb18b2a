//! Uses of permits whose outcome was not reported yet. After a crash, the uses found here are reported to the
//! gate.

use super::authority::AuthorityRecord;
use super::journal::Journal;
use super::perform::files_of;
use super::state::{APPLIED, Slots, UNDONE, existing, folder_in, is_unfinished, names, own_folder, unusable};
use super::tree::Tree;
use super::{Applied, ApplyError, Done, OpenUse};
use crate::beneath::{FOLDER, REGULAR};
use ordain_canon::ContentHash;
use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags, flock, fstat, fsync, openat, unlinkat};
use rustix::io::Errno;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

const USES: &str = "uses";
const PLACE: &str = ".ordain/uses";

/// A use that is kept until somebody was told how it went. As long as this is held, nobody else tells it.
pub struct KeptUse {
    /// The permit that it is a use of.
    pub open: OpenUse,
    folder: OwnedFd,
    name: String,
    _file: File,
}

/// As it is written.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Text {
    /// The folder that it was written in, by its number: one that came with a copy of the workspace counts for nothing.
    inode: String,
    open: OpenUse,
}

impl KeptUse {
    /// Somebody was told.
    pub fn forget(self) -> Result<(), ApplyError> {
        unlinkat(&self.folder, &*self.name, AtFlags::empty()).map_err(|error| unusable(PLACE, &error.into()))
    }
}

/// Keeps a use, durably, before the change that it is for begins.
pub fn keep_use(workspace: &Path, open: OpenUse) -> Result<KeptUse, ApplyError> {
    let tree = Tree::open(workspace)?;
    let own = own_folder(&tree)?;
    let folder = folder_in(own.as_fd(), ".ordain", USES)?;
    let hash = ContentHash::of(format!("{}\n{}", open.permit_id, open.number).as_bytes()).to_string();
    let name = format!("{}.json", hash.trim_start_matches("sha256:"));
    let written = || {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(openat(&folder, &*name, flags, Mode::from_raw_mode(0o600))?);
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        let text = Text { inode: fstat(&folder)?.st_ino.to_string(), open: open.clone() };
        file.set_len(0)?;
        file.write_all(&serde_json::to_vec(&text)?)?;
        file.sync_all()?;
        fsync(&folder)?;
        Ok(file)
    };
    let file = written().map_err(|error: io::Error| unusable(PLACE, &error))?;
    Ok(KeptUse { open, folder, name, _file: file })
}

/// The uses whose commands ended without telling anybody how they went. Unreadable ones are passed over.
pub fn kept_uses(workspace: &Path) -> Result<Vec<KeptUse>, ApplyError> {
    let tree = Tree::open(workspace)?;
    let Some(folder) = existing(&tree, USES) else { return Ok(Vec::new()) };
    let failed = |error: Errno| unusable(PLACE, &error.into());
    let inode = fstat(&folder).map_err(failed)?.st_ino.to_string();
    let mut kept = Vec::new();
    for entry in Dir::read_from(&folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let Ok(name) = entry.file_name().to_str() else { continue };
        if let Some((file, text)) = read(&folder, name).filter(|(_, text)| text.inode == inode) {
            let folder = openat(&folder, ".", FOLDER, Mode::empty()).map_err(failed)?;
            kept.push(KeptUse { open: text.open, folder, name: name.to_owned(), _file: file });
        }
    }
    Ok(kept)
}

/// A use that no running command holds.
fn read(folder: &OwnedFd, name: &str) -> Option<(File, Text)> {
    let mut file = File::from(openat(folder, name, REGULAR, Mode::empty()).ok()?);
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    // Its holder may have reported and removed it.
    if fstat(&file).ok()?.st_nlink == 0 {
        return None;
    }
    /// More than any that is written.
    const BYTES_MAX: u64 = 1 << 16;
    let mut bytes = Vec::new();
    (&mut file).take(BYTES_MAX).read_to_end(&mut bytes).ok()?;
    Some((file, serde_json::from_slice(&bytes).ok()?))
}

/// The result of the change that a use was for, as the workspace shows it.
pub fn done_under(workspace: &Path, open: &OpenUse) -> Result<Done, ApplyError> {
    let tree = Tree::open(workspace)?;
    if is_unfinished(&tree) {
        return Ok(Done::AtWork);
    }
    let is_it = |authority: &AuthorityRecord| {
        matches!(authority, AuthorityRecord::Permit { permit_id, number }
        if *permit_id == open.permit_id && *number == open.number)
    };
    let lists: &[&str] = if open.undo { &[UNDONE] } else { &[APPLIED, UNDONE] };
    for list in lists {
        let (Some(own), Some(records)) = (existing(&tree, ""), existing(&tree, list)) else { continue };
        let all = names(own.as_fd(), list).map_err(|error| unusable(&format!(".ordain/{list}"), &error))?;
        for record in all.into_iter().rev() {
            let Some((slots, journal)) = own_record(&records, &record) else { continue };
            let found = match (open.undo, slots.back()) {
                (false, _) => is_it(&journal.authority),
                (true, Ok(Some(back))) => back.authority().is_some_and(is_it),
                (true, _) => false,
            };
            if found {
                return Ok(Done::Made(Applied { record: Some(record), files: files_of(&journal) }));
            }
        }
    }
    Ok(Done::NotMade)
}

/// A record that was written here.
fn own_record(records: &OwnedFd, name: &str) -> Option<(Slots, Journal)> {
    let slots = Slots::open(records.as_fd(), name).ok()?;
    let journal = slots.journal().ok()??;
    let inode = slots.inode().ok()?;
    journal.was_written_in(inode).then_some((slots, journal))
}
