//! The folder that ordain keeps in a workspace: the lock, the change at work, and the records of those that are done.

use super::ApplyError;
use super::journal::{Back, Journal};
use super::tree::{Tree, because};
use crate::beneath::{FOLDER, REGULAR, beneath_here};
use ordain_canon::is_lower_hex;
use rustix::fs::{
    AtFlags, Dir, FlockOperation, Mode, OFlags, RenameFlags, flock, fstat, fsync, mkdirat, openat, renameat,
    renameat_with, statat, unlinkat,
};
use rustix::io::Errno;
use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

const OWN: &str = ".ordain";
const APPLY: &str = "apply";
const LOCK: &str = "lock";
const TXN: &str = "txn";
const DISCARDED: &str = "discarded";
const JOURNAL: &str = "journal.json";
const BACK: &str = "back.json";
/// Changes that were made.
pub(crate) const APPLIED: &str = "applied";
/// Changes that were taken back.
pub(crate) const UNDONE: &str = "undone";
/// Files that people saved at a target just when it was changed, and that were saved again.
const RESCUED: &str = "rescued";
/// Digits of the patch set's hash in the name of a record.
const RECORD_DIGITS: usize = 12;

/// The right to change the workspace, as long as it is held.
pub(crate) struct State {
    own: OwnedFd,
    apply: OwnedFd,
    _lock: OwnedFd,
}

/// A folder below `.ordain` that holds a journal and slots.
pub(crate) struct Slots {
    pub(crate) folder: OwnedFd,
}

/// Whether there was ever a change.
pub(crate) fn is_prepared(tree: &Tree) -> bool {
    existing(tree, APPLY).is_some()
}

/// Whether a change was left unfinished.
pub(crate) fn is_interrupted(tree: &Tree) -> bool {
    let Ok(apply) = tree.folder(&format!("{OWN}/{APPLY}")) else { return false };
    [TXN, DISCARDED].iter().any(|name| statat(&apply, *name, AtFlags::SYMLINK_NOFOLLOW).is_ok())
}

/// Whether a change is half made, or was staged and not given up.
pub(crate) fn is_unfinished(tree: &Tree) -> bool {
    existing(tree, APPLY).is_some_and(|apply| statat(&apply, TXN, AtFlags::SYMLINK_NOFOLLOW).is_ok())
}

/// The folder below `.ordain`, if it is there.
pub(crate) fn existing(tree: &Tree, name: &str) -> Option<OwnedFd> {
    tree.folder(&format!("{OWN}/{name}")).ok()
}

impl State {
    /// Takes the lock, and makes the folders where they are missing.
    pub(crate) fn open(tree: &Tree) -> Result<Self, ApplyError> {
        let own = own_folder(tree)?;
        let apply = folder_in(own.as_fd(), OWN, APPLY)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let lock = openat(&apply, LOCK, flags, Mode::from_raw_mode(0o666))
            .map_err(|error| unusable(&format!("{OWN}/{APPLY}/{LOCK}"), &error.into()))?;
        match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Self { own, apply, _lock: lock }),
            Err(Errno::WOULDBLOCK) => Err(ApplyError::Busy),
            Err(error) => Err(unusable(&format!("{OWN}/{APPLY}/{LOCK}"), &error.into())),
        }
    }

    /// An empty folder for a new change.
    pub(crate) fn begin(&self) -> io::Result<Slots> {
        mkdirat(&self.apply, TXN, Mode::from_raw_mode(0o777))?;
        Slots::open(self.apply.as_fd(), TXN)
    }

    /// The change at work, if there is one.
    pub(crate) fn unfinished(&self) -> io::Result<Option<Slots>> {
        match Slots::open(self.apply.as_fd(), TXN) {
            Ok(slots) => Ok(Some(slots)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A record.
    pub(crate) fn record(&self, name: &str) -> io::Result<Slots> {
        let applied = openat(&self.own, APPLIED, FOLDER, Mode::empty())?;
        Slots::open(applied.as_fd(), name)
    }

    /// The change at work becomes a record.
    pub(crate) fn finish(&self, list: &str, name: &str) -> Result<(), ApplyError> {
        let records = folder_in(self.own.as_fd(), OWN, list)?;
        renameat(&self.apply, TXN, &records, name)
            .map_err(|error| unusable(&format!("{OWN}/{list}/{name}"), &error.into()))?;
        // The change itself is durable. Should its new name not be, the change is found again and finished again.
        let _ = fsync(&records).and_then(|()| fsync(&self.apply));
        Ok(())
    }

    /// A record becomes the change at work.
    pub(crate) fn resume(&self, name: &str) -> io::Result<()> {
        let applied = openat(&self.own, APPLIED, FOLDER, Mode::empty())?;
        renameat(&applied, name, &self.apply, TXN)?;
        fsync(&self.apply)?;
        Ok(fsync(&applied)?)
    }

    /// Gives up the change at work; its slots are not needed any more.
    pub(crate) fn discard(&self) -> io::Result<()> {
        self.sweep()?;
        match renameat(&self.apply, TXN, &self.apply, DISCARDED) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        fsync(&self.apply)?;
        self.sweep()
    }

    /// Removes what was given up before.
    pub(crate) fn sweep(&self) -> io::Result<()> {
        let discarded = match openat(&self.apply, DISCARDED, FOLDER, Mode::empty()) {
            Ok(folder) => folder,
            Err(Errno::NOENT) => return Ok(()),
            Err(error) => return Err(error.into()),
        };
        for entry in Dir::read_from(&discarded)? {
            let entry = entry?;
            if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
                remove(&discarded, entry.file_name())?;
            }
        }
        Ok(unlinkat(&self.apply, DISCARDED, AtFlags::REMOVEDIR)?)
    }

    /// Makes durable that the change at work is there.
    pub(crate) fn sync(&self) -> io::Result<()> {
        Ok(fsync(&self.apply)?)
    }

    /// The name for the next record: a number, and the first digits of the patch set's hash.
    pub(crate) fn next_record(&self, patch_hash: &str) -> io::Result<String> {
        let mut last = 0;
        for list in [APPLIED, UNDONE] {
            for name in names(self.own.as_fd(), list)? {
                last = name.split('-').next().and_then(|number| number.parse().ok()).unwrap_or(0).max(last);
            }
        }
        let digits: String = patch_hash.trim_start_matches("sha256:").chars().take(RECORD_DIGITS).collect();
        Ok(format!("{:06}-{digits}", last + 1_u64))
    }
}

/// Moves somebody's file out of a slot to where nothing removes it. Gives the path, relative to the workspace.
pub(crate) fn rescue(tree: &Tree, slots: &Slots, slot: &str, name: &str) -> io::Result<String> {
    let own = tree.folder(OWN)?;
    match mkdirat(&own, RESCUED, Mode::from_raw_mode(0o777)) {
        Ok(()) | Err(Errno::EXIST) => {}
        Err(error) => return Err(error.into()),
    }
    let rescued = openat(&own, RESCUED, FOLDER, Mode::empty())?;
    let inode = statat(&slots.folder, slot, AtFlags::SYMLINK_NOFOLLOW)?.st_ino;
    let kept = format!("{inode}-{name}");
    renameat_with(&slots.folder, slot, &rescued, &*kept, RenameFlags::NOREPLACE)?;
    fsync(&rescued)?;
    Ok(format!("{OWN}/{RESCUED}/{kept}"))
}

/// Whether a name is one that `next_record` gives.
pub(crate) fn is_record_name(name: &str) -> bool {
    let Some((number, digits)) = name.split_once('-') else { return false };
    (6..=12).contains(&number.len())
        && number.bytes().all(|byte| byte.is_ascii_digit())
        && is_lower_hex(digits, RECORD_DIGITS)
}

/// The names of the records, oldest first. Other files there are passed over.
pub(crate) fn names(own: BorrowedFd<'_>, list: &str) -> io::Result<Vec<String>> {
    let folder = match openat(own, list, FOLDER, Mode::empty()) {
        Ok(folder) => folder,
        Err(Errno::NOENT) => return Ok(Vec::new()),
        Err(error) => return Err(error.into()),
    };
    let mut names = Vec::new();
    for entry in Dir::read_from(&folder)? {
        let entry = entry?;
        if let Ok(name) = entry.file_name().to_str()
            && is_record_name(name)
        {
            names.push(name.to_owned());
        }
    }
    names.sort();
    Ok(names)
}

impl Slots {
    pub(crate) fn open(parent: BorrowedFd<'_>, name: &str) -> io::Result<Self> {
        Ok(Self { folder: openat(parent, name, FOLDER, Mode::empty())? })
    }

    pub(crate) fn inode(&self) -> io::Result<u64> {
        Ok(fstat(&self.folder)?.st_ino)
    }

    /// The journal, or nothing when the change had not begun.
    pub(crate) fn journal(&self) -> Result<Option<Journal>, String> {
        match self.read(JOURNAL) {
            Ok(text) => Journal::read(&text).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(format!("cannot be read: {error}")),
        }
    }

    /// From here on the change is finished or taken back, whatever happens.
    pub(crate) fn write_journal(&self, journal: &Journal) -> io::Result<()> {
        self.write(JOURNAL, &journal.text()?)
    }

    pub(crate) fn back(&self) -> Result<Option<Back>, String> {
        match self.read(BACK) {
            Ok(text) => Back::read(&text).map(Some),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(format!("cannot be read: {error}")),
        }
    }

    /// From here on the change is taken back.
    pub(crate) fn write_back(&self, back: &Back) -> io::Result<()> {
        self.write(BACK, &serde_json::to_vec(back)?)
    }

    /// From here on the change is finished after all.
    pub(crate) fn remove_back(&self) -> io::Result<()> {
        match unlinkat(&self.folder, BACK, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(fsync(&self.folder)?),
            Err(error) => Err(error.into()),
        }
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let mut text = Vec::new();
        File::from(openat(&self.folder, name, REGULAR, Mode::empty())?).read_to_end(&mut text)?;
        Ok(text)
    }

    /// Durable when it returns; before that not there.
    fn write(&self, name: &str, text: &[u8]) -> io::Result<()> {
        let beside = format!("{name}.tmp");
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut file = File::from(openat(&self.folder, &*beside, flags, Mode::from_raw_mode(0o666))?);
        file.write_all(text)?;
        file.sync_all()?;
        renameat(&self.folder, &*beside, &self.folder, name)?;
        Ok(fsync(&self.folder)?)
    }
}

/// The folder `.ordain` of a workspace, made when it is missing, together with the line that hides it from Git.
pub(crate) fn own_folder(tree: &Tree) -> Result<OwnedFd, ApplyError> {
    let own = folder_in(tree.root(), "", OWN)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    match openat(&own, ".gitignore", flags, Mode::from_raw_mode(0o666)) {
        Ok(file) => File::from(file).write_all(b"*\n").map_err(|error| unusable(OWN, &error))?,
        Err(Errno::EXIST) => {}
        Err(error) => return Err(unusable(OWN, &error.into())),
    }
    Ok(own)
}

/// A folder of our own: never through a link.
pub(crate) fn folder_in(parent: BorrowedFd<'_>, shown: &str, name: &str) -> Result<OwnedFd, ApplyError> {
    let path = if shown.is_empty() { name.to_owned() } else { format!("{shown}/{name}") };
    let made = match mkdirat(parent, name, Mode::from_raw_mode(0o777)) {
        Ok(()) => true,
        Err(Errno::EXIST) => false,
        Err(error) => return Err(unusable(&path, &error.into())),
    };
    let folder = beneath_here(parent, name.as_bytes(), FOLDER).map_err(|error| {
        let problem = match error.kind() {
            io::ErrorKind::NotADirectory => {
                "it is not a folder, or it is a link, which ordain does not follow".to_owned()
            }
            _ => because(&error),
        };
        ApplyError::State { path: path.clone(), problem }
    })?;
    if made {
        fsync(parent).map_err(|error| unusable(&path, &error.into()))?;
    }
    Ok(folder)
}

fn remove(folder: &OwnedFd, name: &CStr) -> io::Result<()> {
    match unlinkat(folder, name, AtFlags::empty()) {
        Err(Errno::ISDIR) => Ok(unlinkat(folder, name, AtFlags::REMOVEDIR)?),
        removed => Ok(removed?),
    }
}

pub(crate) fn unusable(path: &str, error: &io::Error) -> ApplyError {
    ApplyError::State { path: path.to_owned(), problem: because(error) }
}
