//! A change that is at work: each operation is one rename, which can be told to be done, be done, and be taken back.

use super::Problem;
use super::journal::{Entry, Journal};
use super::state::Slots;
use super::tree::{Seen, Tree, because, seen, split};
use ordain_spec::patch::PatchOp;
use rustix::fs::{
    AtFlags, Mode, RenameFlags, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, fsync, mkdirat, renameat_with,
    statat, syncfs, unlinkat, utimensat,
};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::io;
use std::os::fd::AsFd;

/// More files than this are made durable by one call for the whole file system, which waits once.
pub(crate) const SYNCED_ALONE_MAX: usize = 16;

/// Which way a change goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    Forward,
    Back,
}

/// A change with what is known about it.
pub(crate) struct Transaction<'t> {
    pub(crate) tree: &'t Tree,
    pub(crate) slots: Slots,
    pub(crate) journal: Journal,
    /// Which operations are done.
    done: Vec<bool>,
    /// The files that are expected at the targets, where somebody looked.
    expected: Vec<Option<Seen>>,
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

    fn inverse(self) -> Self {
        match self {
            Self::Put => Self::Take,
            Self::Swap => Self::Swap,
            Self::Take => Self::Put,
        }
    }
}

pub(crate) fn slot(at: usize) -> String {
    format!("slot-{at}")
}

impl<'t> Transaction<'t> {
    /// A change of which nothing is done yet, or all.
    pub(crate) fn new(
        tree: &'t Tree,
        slots: Slots,
        journal: Journal,
        done: bool,
        expected: Vec<Option<Seen>>,
    ) -> Self {
        let done = vec![done; journal.operations.len()];
        Self { tree, slots, journal, done, expected }
    }

    /// A change that was interrupted: the slots show how far it went.
    pub(crate) fn interrupted(tree: &'t Tree, slots: Slots, journal: Journal) -> io::Result<Self> {
        let mut done = Vec::new();
        for (at, entry) in journal.operations.iter().enumerate() {
            done.push(is_done(&slots, at, entry)?);
        }
        Ok(Self { tree, slots, journal, done, expected: Vec::new() })
    }

    /// Does what is left to do, or takes back what was done. Stops at the first thing that is not as it should be,
    /// with that thing as it was.
    pub(crate) fn go(&mut self, way: Way) -> Result<(), Problem> {
        let count = self.journal.operations.len();
        match way {
            Way::Forward => {
                for folder in &self.journal.folders {
                    make_folder(self.tree, folder)?;
                }
                (0..count).try_for_each(|at| self.step(at, way))?;
            }
            Way::Back => {
                (0..count).rev().try_for_each(|at| self.step(at, way))?;
                for folder in self.journal.folders.iter().rev() {
                    remove_folder(self.tree, folder)?;
                }
            }
        }
        self.sync().map_err(|error| problem(".", format!("cannot be made durable: {}", because(&error))))
    }

    fn step(&mut self, at: usize, way: Way) -> Result<(), Problem> {
        let (Some(entry), Some(done)) = (self.journal.operations.get(at), self.done.get_mut(at)) else {
            return Ok(());
        };
        if *done == (way == Way::Forward) {
            return Ok(());
        }
        let wanted = match way {
            Way::Forward => entry.before.as_deref(),
            Way::Back => entry.after.as_deref(),
        };
        let expected = self.expected.get(at).and_then(Option::as_ref);
        carry_out(self.tree, &self.slots, at, entry, Move::of(entry.op, way), wanted, expected)?;
        *done = !*done;
        Ok(())
    }

    /// What was restored is new to everybody who goes by the time of the last change, such as `make`.
    pub(crate) fn touch_restored(&self) {
        let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
        let now =
            Timestamps { last_access: Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT }, last_modification: now };
        for entry in self.journal.operations.iter().filter(|entry| entry.before.is_some()) {
            let (parent, name) = split(&entry.path);
            // A file that keeps its old time is as it should be otherwise.
            let _ = self
                .tree
                .folder(parent)
                .and_then(|folder| Ok(utimensat(&folder, name, &now, AtFlags::SYMLINK_NOFOLLOW)?));
        }
    }

    /// Makes the names of all targets durable.
    fn sync(&self) -> io::Result<()> {
        let paths = self.journal.operations.iter().map(|entry| &entry.path).chain(&self.journal.folders);
        let folders: BTreeSet<&str> = paths.map(|path| split(path).0).collect();
        if folders.len() > SYNCED_ALONE_MAX {
            return Ok(syncfs(self.tree.root())?);
        }
        for folder in folders {
            match self.tree.folder(folder) {
                Ok(folder) => fsync(&folder)?,
                // It was made for the change and removed with it, or somebody moved it: it is synced wherever it is.
                Err(_) => syncfs(self.tree.root())?,
            }
        }
        Ok(fsync(&self.slots.folder)?)
    }
}

/// One rename, and a look at what came into the slot: if it is not what was expected, the rename is reversed, so that
/// nothing is ever lost.
fn carry_out(
    tree: &Tree,
    slots: &Slots,
    at: usize,
    entry: &Entry,
    action: Move,
    wanted: Option<&str>,
    expected: Option<&Seen>,
) -> Result<(), Problem> {
    let path = entry.path.as_str();
    let (parent, name) = split(path);
    // Opened for each operation: what was a folder a moment ago may be a link now.
    let folder = tree
        .folder(parent)
        .map_err(|error| problem(path, format!("cannot be reached: {}", because(&error))))?;
    let slot = slot(at);
    let rename = |action: Move| match action {
        Move::Put => renameat_with(&slots.folder, &*slot, &folder, name, RenameFlags::NOREPLACE),
        Move::Swap => renameat_with(&slots.folder, &*slot, &folder, name, RenameFlags::EXCHANGE),
        Move::Take => renameat_with(&folder, name, &slots.folder, &*slot, RenameFlags::NOREPLACE),
    };
    rename(action).map_err(|error| problem(path, not_renamed(error, action)))?;
    let Some(wanted) = wanted.filter(|_| action != Move::Put) else { return Ok(()) };
    let stat = statat(&slots.folder, &*slot, AtFlags::SYMLINK_NOFOLLOW);
    if stat.is_ok_and(|stat| expected.is_some_and(|expected| expected.is(&stat))) {
        return Ok(());
    }
    let why = match seen(slots.folder.as_fd(), &slot) {
        Ok(found) if found.sha256 == wanted => return Ok(()),
        Ok(_) => "was changed meanwhile".to_owned(),
        Err(error) => format!("is not what it was: {}", because(&error)),
    };
    match rename(action.inverse()) {
        Ok(()) => Err(problem(path, why)),
        Err(error) => {
            Err(problem(path, format!("{why}; what was there is in `.ordain/apply/txn/{slot}`: {error}")))
        }
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

/// Whether the operation was carried out. A file that is replaced by the same content is in both states at once.
fn is_done(slots: &Slots, at: usize, entry: &Entry) -> io::Result<bool> {
    let slot = slot(at);
    let is_there = match statat(&slots.folder, &*slot, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(_) => true,
        Err(Errno::NOENT) => false,
        Err(error) => return Err(error.into()),
    };
    Ok(match entry.op {
        PatchOp::Create => !is_there,
        PatchOp::Delete => is_there,
        // What is no file, or not readable, is not what we wrote.
        PatchOp::Modify => seen(slots.folder.as_fd(), &slot)
            .map_or(true, |found| Some(&found.sha256) != entry.after.as_ref()),
    })
}

fn make_folder(tree: &Tree, path: &str) -> Result<(), Problem> {
    let (parent, name) = split(path);
    let made =
        tree.folder(parent).and_then(|folder| match mkdirat(&folder, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => Ok(()),
            Err(error) => Err(error.into()),
        });
    made.map_err(|error| problem(path, format!("cannot be made: {}", because(&error))))
}

/// A folder that was made for the change goes with it, unless somebody else uses it or put something in its place.
fn remove_folder(tree: &Tree, path: &str) -> Result<(), Problem> {
    let (parent, name) = split(path);
    let Ok(folder) = tree.folder(parent) else { return Ok(()) };
    match unlinkat(&folder, name, AtFlags::REMOVEDIR) {
        Ok(()) | Err(Errno::NOENT | Errno::NOTEMPTY | Errno::EXIST | Errno::NOTDIR) => Ok(()),
        Err(error) => Err(problem(path, format!("cannot be removed: {}", because(&error.into())))),
    }
}

fn problem(path: &str, problem: impl Into<String>) -> Problem {
    Problem { path: path.to_owned(), problem: problem.into() }
}
