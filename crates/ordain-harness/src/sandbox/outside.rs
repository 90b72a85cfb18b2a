//! Outside the workspace: what commands leave in their home, `/tmp`, `/dev/shm` and the build scratch is
//! listed, and gone before a step that must start fresh. A command could prepare the tests that follow it
//! there, with a start-up file or a stale build.

use super::LeftOutside;
use super::limits::{DEPTH_MAX, LEFT_LISTED_MAX};
use super::room;
use super::wire::{Bind, RunOrder};
use crate::beneath::{FOLDER, joined, names};
use rustix::fs::{AtFlags, FileType, Mode, fchmod, fstat, open, openat, statat, unlinkat};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::symlink;
use std::path::Path;

/// The folders that commands can write to besides the workspace, and their modes.
const PLACES: &[(&str, u32)] = &[("/tmp", 0o1777), ("/dev/shm", 0o1777), ("/scratch", 0o700)];
/// Their files are counted and not named.
const CACHES: &[&[u8]] = &[b"/scratch/cache/", b"/scratch/target/"];
/// The folders that are there when a command starts.
pub(crate) const SCRATCH: &[&str] = &["/scratch/home", "/scratch/cache", "/scratch/cargo"];

pub(crate) struct Outside<'o> {
    order: &'o RunOrder,
    known: BTreeSet<Vec<u8>>,
}

impl<'o> Outside<'o> {
    /// Nobody left the files that are there now.
    pub(crate) fn new(order: &'o RunOrder) -> Self {
        let mut outside = Self { order, known: BTreeSet::new() };
        outside.known = outside.files();
        outside
    }

    /// The files that came since the last look.
    pub(crate) fn left(&mut self) -> LeftOutside {
        let now = self.files();
        let mut new: Vec<&Vec<u8>> = now.difference(&self.known).collect();
        let count = new.len() as u64;
        // The names of what is cached say where programs are installed on this machine.
        new.retain(|path| !CACHES.iter().any(|cache| path.starts_with(cache)));
        new.sort_by_key(|path| (!path.starts_with(b"/scratch/home/"), path.starts_with(b"/scratch/"), *path));
        let paths =
            new.into_iter().take(LEFT_LISTED_MAX).map(|path| path.escape_ascii().to_string()).collect();
        self.known = now;
        LeftOutside { count, paths }
    }

    /// Takes everything away. Files that the sandbox itself put there stay.
    pub(crate) fn clear(&mut self) -> io::Result<()> {
        for (place, mode) in self.places() {
            let top = open(self.order.inside(place), FOLDER, Mode::empty())?;
            fchmod(&top, Mode::from_raw_mode(*mode))?;
            self.clear_folder(top.as_fd(), place.as_bytes(), fstat(&top)?.st_dev)?;
        }
        for folder in SCRATCH {
            fs::create_dir_all(self.order.inside(folder))?;
        }
        for Bind { from, to } in self.links() {
            let link = self.order.inside(to);
            if let Some(parent) = Path::new(&link).parent() {
                fs::create_dir_all(parent)?;
            }
            symlink(from, link)?;
        }
        self.known = self.files();
        Ok(())
    }

    fn places(&self) -> impl Iterator<Item = &'static (&'static str, u32)> + use<> {
        let alone = self.order.base.is_some();
        PLACES.iter().filter(move |(place, _)| !alone || *place != "/dev/shm")
    }

    /// Without namespaces, what the host shows in these folders is found by links.
    fn links(&self) -> impl Iterator<Item = &'o Bind> + use<'o> {
        let alone = self.order.base.is_some();
        let in_place = |bind: &&Bind| PLACES.iter().any(|(place, _)| Path::new(&bind.to).starts_with(place));
        self.order.binds.iter().filter(move |_| alone).filter(in_place)
    }

    /// Whether the sandbox has mounted something at this path, or below it.
    fn holds_mount(&self, path: &[u8]) -> bool {
        let path = Path::new(std::str::from_utf8(path).unwrap_or_default());
        self.order.base.is_none()
            && !path.as_os_str().is_empty()
            && self.order.binds.iter().any(|bind| Path::new(&bind.to).starts_with(path))
    }

    fn clear_folder(&self, folder: BorrowedFd<'_>, path: &[u8], device: u64) -> io::Result<()> {
        let listed = openat(folder, ".", FOLDER, Mode::empty())?;
        for name in names(&listed)? {
            let own = joined(path, &name);
            let stat = statat(folder, &name, AtFlags::SYMLINK_NOFOLLOW)?;
            if !FileType::from_raw_mode(stat.st_mode).is_dir() {
                unlinkat(folder, &name, AtFlags::empty())?;
                continue;
            }
            if stat.st_dev != device {
                if !self.order.binds.iter().any(|bind| bind.to.as_bytes() == own) {
                    return Err(io::Error::other(format!("a mount was moved to `{}`", own.escape_ascii())));
                }
                continue;
            }
            let Ok(inner) = room::entered(folder, &name)? else { continue };
            if self.holds_mount(&own) {
                self.clear_folder(inner.as_fd(), &own, device)?;
            } else {
                room::empty(inner.as_fd())?;
                unlinkat(folder, &name, AtFlags::REMOVEDIR)?;
            }
        }
        Ok(())
    }

    /// All files, by their paths. Unreadable files are not listed; they are in the way of a fresh start.
    fn files(&self) -> BTreeSet<Vec<u8>> {
        let mut files = BTreeSet::new();
        for (place, _) in self.places() {
            let Ok(top) = open(self.order.inside(place), FOLDER, Mode::empty()) else { continue };
            let Ok(stat) = fstat(&top) else { continue };
            list(top, place.as_bytes().to_vec(), stat.st_dev, 0, &mut files);
        }
        files
    }
}

fn list(folder: OwnedFd, path: Vec<u8>, device: u64, depth: usize, files: &mut BTreeSet<Vec<u8>>) {
    for name in names(&folder).unwrap_or_default() {
        let own = joined(&path, &name);
        let Ok(stat) = statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
        if !FileType::from_raw_mode(stat.st_mode).is_dir() {
            files.insert(own);
        } else if stat.st_dev == device && depth < DEPTH_MAX {
            match openat(&folder, &name, FOLDER, Mode::empty()) {
                Ok(inner) => list(inner, own, device, depth + 1, files),
                // A locked folder counts as one file.
                Err(_) => drop(files.insert(own)),
            }
        }
    }
}
