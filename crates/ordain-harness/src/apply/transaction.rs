//! A change that is at work: each operation is one rename, which can be told to be done, be done, and be taken back.

use super::Problem;
use super::exchange::{Place, problem};
use super::journal::Journal;
use super::state::Slots;
use super::tree::{Seen, Tree, because, split};
use rustix::fs::{
    AtFlags, Mode, Timespec, Timestamps, UTIME_NOW, UTIME_OMIT, fsync, mkdirat, syncfs, unlinkat, utimensat,
};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::io;

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
    /// Somebody's file is in a slot and could be put nowhere else: the folder must stay.
    pub(crate) keep: bool,
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
        Self { tree, slots, journal, done, expected, keep: false }
    }

    /// A change that was interrupted: the slots show how far it went. A file that somebody else saved and
    /// that was taken just then goes back to its place, and is the reason not to go on.
    pub(crate) fn interrupted(
        tree: &'t Tree,
        slots: Slots,
        journal: Journal,
    ) -> io::Result<(Self, Option<Problem>)> {
        let (mut done, mut conflict) = (Vec::new(), None);
        for (at, entry) in journal.operations.iter().enumerate() {
            let place = Place { tree, slots: &slots, at, entry };
            if let Err(halt) = place.restore_foreign() {
                conflict = Some(halt.problem);
            }
            done.push(place.is_done()?);
        }
        Ok((Self { tree, slots, journal, done, expected: Vec::new(), keep: false }, conflict))
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
        let place = Place { tree: self.tree, slots: &self.slots, at, entry };
        let expected = self.expected.get(at).and_then(Option::as_ref);
        match place.carry_out(way, expected) {
            Ok(()) => {
                *done = !*done;
                Ok(())
            }
            Err(halt) => {
                self.keep |= halt.is_left;
                Err(halt.problem)
            }
        }
    }

    /// Restored files are new to every program that goes by the time of the last change, such as `make`.
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

pub(crate) fn make_folder(tree: &Tree, path: &str) -> Result<(), Problem> {
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
