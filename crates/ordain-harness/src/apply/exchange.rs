//! One rename between a target and its slot, and what to do when another file comes back than the one expected.

use super::Problem;
use super::journal::Entry;
use super::state::{Slots, rescue};
use super::transaction::{Way, make_folder};
use super::tree::{Seen, Tree, because, seen, split};
use ordain_spec::patch::PatchOp;
use rustix::fs::{AtFlags, RenameFlags, renameat_with, statat};
use rustix::io::Errno;
use std::io;
use std::os::fd::{AsFd, OwnedFd};

/// Somebody who saves all the time is waited for this often.
const TRIES_MAX: usize = 64;

/// One operation of a change.
pub(crate) struct Place<'t> {
    pub(crate) tree: &'t Tree,
    pub(crate) slots: &'t Slots,
    pub(crate) at: usize,
    pub(crate) entry: &'t Entry,
}

/// Why an operation was not carried out. The target is as it was, or as somebody else made it meanwhile.
pub(crate) struct Halt {
    pub(crate) problem: Problem,
    /// Somebody's file is still in the slot.
    pub(crate) is_left: bool,
}

/// A rename between a target and its slot.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Move {
    /// The slot goes to the target, where nothing is.
    Put,
    /// The two change places.
    Swap,
    /// The target goes to the slot, where nothing is.
    Take,
}

impl Move {
    fn of(op: PatchOp, way: Way) -> Self {
        match (op, way) {
            (PatchOp::Create, Way::Forward) | (PatchOp::Delete, Way::Back) => Self::Put,
            (PatchOp::Modify, _) => Self::Swap,
            (PatchOp::Create, Way::Back) | (PatchOp::Delete, Way::Forward) => Self::Take,
        }
    }
}

/// The content of a slot.
enum Held {
    Nothing,
    /// With this hash.
    File(String),
    /// No file, or none that can be read.
    Other(String),
}

pub(crate) fn slot(at: usize) -> String {
    format!("slot-{at}")
}

pub(crate) fn problem(path: &str, problem: impl Into<String>) -> Problem {
    Problem { path: path.to_owned(), problem: problem.into() }
}

impl Place<'_> {
    fn halt(&self, why: impl Into<String>) -> Halt {
        Halt { problem: problem(&self.entry.path, why), is_left: false }
    }

    fn slot(&self) -> String {
        slot(self.at)
    }

    /// Opened for each operation: what was a folder a moment ago may be a link now.
    fn folder(&self) -> io::Result<OwnedFd> {
        self.tree.folder(split(&self.entry.path).0)
    }

    fn rename(&self, folder: &OwnedFd, action: Move) -> Result<(), Errno> {
        let (slots, slot, name) = (&self.slots.folder, self.slot(), split(&self.entry.path).1);
        match action {
            Move::Put => renameat_with(slots, &*slot, folder, name, RenameFlags::NOREPLACE),
            Move::Swap => renameat_with(slots, &*slot, folder, name, RenameFlags::EXCHANGE),
            Move::Take => renameat_with(folder, name, slots, &*slot, RenameFlags::NOREPLACE),
        }
    }

    fn held(&self) -> io::Result<Held> {
        let slot = self.slot();
        match statat(&self.slots.folder, &*slot, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => return Ok(Held::Nothing),
            Err(error) => return Err(error.into()),
            Ok(_) => {}
        }
        Ok(match seen(self.slots.folder.as_fd(), &slot) {
            Ok(found) => Held::File(found.sha256),
            Err(error) => Held::Other(because(&error)),
        })
    }

    /// Whether the operation was carried out. A file that is replaced by the same content is in both states at once.
    pub(crate) fn is_done(&self) -> io::Result<bool> {
        Ok(match (self.entry.op, self.held()?) {
            (PatchOp::Create, held) => matches!(held, Held::Nothing),
            (PatchOp::Delete, held) => !matches!(held, Held::Nothing),
            (PatchOp::Modify, Held::Nothing) => false,
            (PatchOp::Modify, Held::File(hash)) => Some(&hash) != self.entry.after.as_ref(),
            (PatchOp::Modify, Held::Other(_)) => true,
        })
    }

    /// One rename, and a look at what came into the slot. If it is not what was expected, it goes back, so that nothing
    /// is ever lost.
    pub(crate) fn carry_out(&self, way: Way, expected: Option<&Seen>) -> Result<(), Halt> {
        let action = Move::of(self.entry.op, way);
        let unreachable = |error: io::Error| self.halt(format!("cannot be reached: {}", because(&error)));
        let folder = match self.folder() {
            // Git, for one, removes the folder of a file that was deleted.
            Err(error)
                if error.kind() == io::ErrorKind::NotFound && action == Move::Put && way == Way::Back =>
            {
                self.make_parents().map_err(|problem| Halt { problem, is_left: false })?;
                self.folder()
            }
            folder => folder,
        };
        let folder = folder.map_err(unreachable)?;
        self.rename(&folder, action).map_err(|error| self.halt(not_renamed(error, action)))?;
        let (wanted, ours) = match way {
            Way::Forward => (&self.entry.before, &self.entry.after),
            Way::Back => (&self.entry.after, &self.entry.before),
        };
        let Some(wanted) = wanted.as_ref().filter(|_| action != Move::Put) else { return Ok(()) };
        let stat = statat(&self.slots.folder, &*self.slot(), AtFlags::SYMLINK_NOFOLLOW);
        if stat.is_ok_and(|stat| expected.is_some_and(|expected| expected.is(&stat))) {
            return Ok(());
        }
        let why = match self.held() {
            Ok(Held::File(found)) if found == *wanted => return Ok(()),
            Ok(Held::Other(why)) => format!("is not what it was: {why}"),
            _ => "was changed meanwhile".to_owned(),
        };
        Err(self.give_back(&folder, action, why, &[ours.as_deref()]))
    }

    fn make_parents(&self) -> Result<(), Problem> {
        let parent = split(&self.entry.path).0;
        let ends = parent.match_indices('/').map(|(at, _)| at).chain([parent.len()]);
        ends.map(|end| parent.split_at(end).0).try_for_each(|folder| make_folder(self.tree, folder))
    }

    /// After a crash: a slot with another file than this change ever had took it from the target just then.
    pub(crate) fn restore_foreign(&self) -> Result<(), Halt> {
        let Entry { op, before, after, .. } = self.entry;
        let known = |hash: &String| before.as_ref() == Some(hash) || after.as_ref() == Some(hash);
        match self.held() {
            Ok(Held::Nothing) => return Ok(()),
            Ok(Held::File(hash)) if known(&hash) => return Ok(()),
            _ => {}
        }
        let action = if *op == PatchOp::Modify { Move::Swap } else { Move::Take };
        let folder = self.folder().map_err(|error| self.halt(because(&error)))?;
        let ours = [before.as_deref(), after.as_deref()];
        Err(self.give_back(&folder, action, "was changed meanwhile".to_owned(), &ours))
    }

    /// The slot holds somebody's file, and it goes back to the target.
    fn give_back(&self, folder: &OwnedFd, action: Move, why: String, ours: &[Option<&str>]) -> Halt {
        let gave = match action {
            Move::Put => Ok(()),
            Move::Take => self.rename(folder, Move::Put).map_err(io::Error::from),
            Move::Swap => self.swap_back(folder, ours),
        };
        let is_ours = |held: Held| match held {
            Held::Nothing => true,
            Held::File(hash) => ours.contains(&Some(&*hash)),
            Held::Other(_) => false,
        };
        if gave.is_ok() && self.held().is_ok_and(is_ours) {
            return self.halt(why);
        }
        // Somebody else was faster, and has the name: theirs is newer.
        match rescue(self.tree, self.slots, &self.slot(), split(&self.entry.path).1) {
            Ok(kept) => self.halt(format!("{why}; what was there before the last save is kept in `{kept}`")),
            Err(error) => {
                let slot = self.slot();
                let why =
                    format!("{why}; what was there is in `.ordain/apply/txn/{slot}`: {}", because(&error));
                Halt { problem: problem(&self.entry.path, why), is_left: true }
            }
        }
    }

    /// Until what comes out is what went in before: then nobody saved in between, and the last save is at the target.
    fn swap_back(&self, folder: &OwnedFd, ours: &[Option<&str>]) -> io::Result<()> {
        let inode = || {
            Ok::<_, io::Error>(statat(&self.slots.folder, &*self.slot(), AtFlags::SYMLINK_NOFOLLOW)?.st_ino)
        };
        let mut last = None;
        for _ in 0..TRIES_MAX {
            let going = inode()?;
            match self.rename(folder, Move::Swap) {
                Ok(()) => {}
                // The target is gone: what is in the slot is all there is.
                Err(Errno::NOENT) => return Ok(self.rename(folder, Move::Put)?),
                Err(error) => return Err(error.into()),
            }
            let is_ours = matches!(self.held()?, Held::File(hash) if ours.contains(&Some(&*hash)));
            if is_ours || last == Some(inode()?) {
                return Ok(());
            }
            last = Some(going);
        }
        Err(io::Error::other("somebody saves it all the time"))
    }
}

fn not_renamed(error: Errno, action: Move) -> String {
    match (error, action) {
        (Errno::EXIST, Move::Put) => "was made by somebody else meanwhile".to_owned(),
        (Errno::NOENT, _) => "was deleted meanwhile".to_owned(),
        (Errno::INVAL | Errno::NOSYS, _) => {
            "lies on a file system that cannot exchange files, as the change needs it".to_owned()
        }
        (error, _) => format!("cannot be changed: {}", because(&error.into())),
    }
}
