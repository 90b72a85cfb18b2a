//! By descriptors: no link is followed, whoever exchanges folders meanwhile.

use super::{Snapshot, SnapshotFile, TREE_BYTES_MAX, TREE_FILES_MAX};
use crate::beneath::{FOLDER, REGULAR, beneath_far, hash_file, is_git, is_own, joined, names};
use crate::sandbox::{escaped, leaves};
use ordain_spec::path_problem;
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, Stat, Timestamps, fchmod, fstat, futimens, ioctl_ficlone, mkdirat,
    openat, readlinkat, statat, symlinkat,
};
use rustix::time::Timespec;
use std::ffi::CStr;
use std::fs::File;
use std::io::{self, Read, Seek, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// Folders below each other that are looked into.
const DEPTH_MAX: usize = 100;
/// Folders that tools fill again by themselves.
const CACHES: &[&[u8]] = &[
    b"__pycache__",
    b"node_modules",
    b".pytest_cache",
    b".mypy_cache",
    b".ruff_cache",
    b".hypothesis",
    b".tox",
    b".nox",
    b".venv",
];
/// The files that are worth a copy.
const COPIED_CACHES: &[&[u8]] = &[b"node_modules", b".venv"];
/// The first bytes of a `CACHEDIR.TAG`.
const CACHE_SIGNATURE: &[u8] = b"Signature: 8a477f597d28d172789f06886806bc55";

pub(super) fn snapshot(folder: &Path) -> io::Result<Snapshot> {
    let mut walk = Walk::of(folder, None)?;
    walk.all()?;
    Ok(walk.found)
}

/// Copies a workspace into an empty folder, and says what is in it. Left out are `.git` and `.ordain`,
/// folders of caches, links that lead out, and whatever is neither file, folder nor link.
pub fn copy_workspace(from: &Path, to: &Path) -> io::Result<Snapshot> {
    let to = openat(CWD, to, FOLDER, Mode::empty())?;
    let mut walk = Walk::of(from, Some(to))?;
    walk.all()?;
    Ok(walk.found)
}

struct Walk {
    from: OwnedFd,
    to: Option<OwnedFd>,
    found: Snapshot,
    entries: u64,
    bytes: u64,
}

/// A folder still to be looked at.
struct Pending {
    path: Vec<u8>,
    depth: usize,
    /// Its files are copied and not listed.
    cached: bool,
}

impl Walk {
    fn of(from: &Path, to: Option<OwnedFd>) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let from = openat(CWD, from, flags, Mode::empty())?;
        Ok(Self { from, to, found: Snapshot::default(), entries: 0, bytes: 0 })
    }

    fn all(&mut self) -> io::Result<()> {
        let mut folders = vec![Pending { path: Vec::new(), depth: 0, cached: false }];
        while let Some(folder) = folders.pop() {
            if folder.depth > DEPTH_MAX {
                return Err(io::Error::other(format!("more than {DEPTH_MAX} folders lie in each other")));
            }
            let from =
                beneath_far(self.from.as_fd(), &folder.path, FOLDER).map_err(|it| at(&folder.path, it))?;
            for name in names(&from)? {
                if is_git(name.to_bytes()) || is_own(name.to_bytes()) {
                    continue;
                }
                self.entries += 1;
                if self.entries > TREE_FILES_MAX {
                    return Err(io::Error::other(format!("more than {TREE_FILES_MAX} files and folders")));
                }
                let path = joined(&folder.path, &name);
                let inner = self.entry(&from, &name, &path, &folder).map_err(|it| at(&path, it))?;
                folders.extend(inner);
            }
        }
        Ok(())
    }

    /// Gives a folder that has to be looked at.
    fn entry(
        &mut self,
        from: &OwnedFd,
        name: &CStr,
        path: &[u8],
        folder: &Pending,
    ) -> io::Result<Option<Pending>> {
        let stat = statat(from, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let text = std::str::from_utf8(path).ok().filter(|text| path_problem(text).is_none());
        let target = match &self.to {
            Some(to) => Some(beneath_far(to.as_fd(), &folder.path, FOLDER)?),
            None => None,
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => {
                let cache = folder.cached || is_cache(from, name)?;
                if cache && !folder.cached {
                    self.found.caches.insert(escaped(path));
                }
                let copied = target.is_some() && (folder.cached || COPIED_CACHES.contains(&name.to_bytes()));
                if cache && !copied {
                    return Ok(None);
                }
                if let Some(target) = &target {
                    mkdirat(target, name, Mode::RWXU | Mode::from_raw_mode(stat.st_mode & 0o777))?;
                }
                Ok(Some(Pending { path: path.to_vec(), depth: folder.depth + 1, cached: cache }))
            }
            FileType::RegularFile => {
                let Some(sha256) = self.file(from, target.as_ref(), name, &stat)? else { return Ok(None) };
                if folder.cached {
                    return Ok(None);
                }
                let executable = stat.st_mode & 0o100 != 0;
                match text {
                    Some(text) => {
                        self.found.files.insert(text.to_owned(), SnapshotFile { sha256, executable });
                    }
                    None => {
                        let word = format!("has a name that no patch set may have ({sha256})");
                        self.found.odd.insert(escaped(path), word);
                    }
                }
                Ok(None)
            }
            FileType::Symlink => {
                let leads = readlinkat(from, name, Vec::new())?;
                match &target {
                    Some(_) if leaves(path, leads.to_bytes()) => return Ok(None),
                    Some(target) => symlinkat(leads.as_c_str(), target, name)?,
                    None => {}
                }
                if !folder.cached {
                    self.found.links.insert(escaped(path), escaped(leads.to_bytes()));
                }
                Ok(None)
            }
            // A copy has none of them, so one that is there is new.
            _ if target.is_some() || folder.cached => Ok(None),
            _ => {
                let word = "is a pipe, a socket or a device, and a patch set carries only files";
                self.found.odd.insert(escaped(path), word.to_owned());
                Ok(None)
            }
        }
    }

    /// The hash of a file, which is copied where there is a copy. Nothing if it is none any more.
    fn file(
        &mut self,
        from: &OwnedFd,
        to: Option<&OwnedFd>,
        name: &CStr,
        stat: &Stat,
    ) -> io::Result<Option<String>> {
        self.bytes = self.bytes.saturating_add(u64::try_from(stat.st_size).unwrap_or_default());
        if self.bytes > TREE_BYTES_MAX {
            return Err(io::Error::other(format!("its files have more than {TREE_BYTES_MAX} bytes")));
        }
        let source = openat(from, name, REGULAR, Mode::empty())?;
        if !FileType::from_raw_mode(fstat(&source)?.st_mode).is_file() {
            return Ok(None);
        }
        let Some(to) = to else { return Ok(Some(hash_file(source)?.0)) };
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut target = File::from(openat(to, name, flags, Mode::RUSR | Mode::WUSR)?);
        if ioctl_ficlone(&target, &source).is_err() {
            copy_bytes(File::from(source), &mut target)?;
        }
        fchmod(&target, Mode::RUSR | Mode::WUSR | Mode::from_raw_mode(stat.st_mode & 0o777))?;
        let nanoseconds = i64::try_from(stat.st_mtime_nsec).unwrap_or_default();
        let time = Timespec { tv_sec: stat.st_mtime as _, tv_nsec: nanoseconds };
        futimens(&target, &Timestamps { last_access: time, last_modification: time })?;
        // The copy is what counts, whoever writes to the source meanwhile.
        target.rewind()?;
        Ok(Some(hash_file(target.into())?.0))
    }
}

fn copy_bytes(mut source: File, target: &mut File) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        match source.read(&mut buffer)? {
            0 => return Ok(()),
            length => target.write_all(buffer.get(..length).unwrap_or_default())?,
        }
    }
}

fn is_cache(parent: &OwnedFd, name: &CStr) -> io::Result<bool> {
    if CACHES.contains(&name.to_bytes()) {
        return Ok(true);
    }
    let folder = openat(parent, name, FOLDER, Mode::empty())?;
    Ok(has_tag(folder.as_fd()))
}

fn has_tag(folder: BorrowedFd<'_>) -> bool {
    let Ok(tag) = openat(folder, "CACHEDIR.TAG", REGULAR, Mode::empty()) else { return false };
    let is_file = fstat(&tag).is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode).is_file());
    let mut start = [0; CACHE_SIGNATURE.len()];
    is_file && File::from(tag).read_exact(&mut start).is_ok() && start == *CACHE_SIGNATURE
}

fn at(path: &[u8], error: io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(_) => io::Error::new(error.kind(), format!("`{}`: {error}", escaped(path))),
        None => error,
    }
}
