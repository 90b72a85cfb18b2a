//! A private copy of the workspace, where no view of it can be had. Only files, folders and links are copied; it has a
//! limit, and what was copied is remembered, so that changes can be told from it.

use super::OWN;
use super::limits::{COPY_BYTES_MAX, COPY_FILES_MAX, DEPTH_MAX};
use super::wire::{Fault, Stage};
use crate::beneath::{FOLDER, REGULAR, beneath_far, joined, names, sha256_text};
use rustix::fs::{
    AtFlags, CWD, FileType, Gid, Mode, OFlags, ResolveFlags, Stat, Timestamps, Uid, chownat, fchmod, fchown,
    fstat, futimens, mkdirat, openat, openat2, readlinkat, statat, symlinkat,
};
use rustix::time::Timespec;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// The copied files, by their paths in the workspace.
pub(crate) type Originals = BTreeMap<Vec<u8>, Original>;

/// Something that was copied.
pub(crate) struct Original {
    /// The status of the copy, when it was made.
    pub(crate) stat: Stat,
    pub(crate) content: Content,
}

pub(crate) enum Content {
    Folder,
    File { sha256: String },
    Link { target: CString },
}

/// Copies a workspace into an empty folder. All of it belongs to `owner`, or else to the caller.
pub(crate) fn workspace(from: &Path, to: BorrowedFd<'_>, owner: Option<u32>) -> Result<Originals, Fault> {
    let from = openat2(CWD, from, FOLDER, Mode::empty(), ResolveFlags::NO_SYMLINKS);
    let from = from.stage("opening the workspace")?;
    let from_owner = fstat(&from).stage("opening the workspace")?.st_uid;
    let mut copy = Copy { from: from.as_fd(), from_owner, to, owner, originals: Originals::new(), bytes: 0 };
    copy.all().stage(STAGE)?;
    Ok(copy.originals)
}

/// Told apart from other failures by what can be done about it.
pub(crate) const STAGE: &str = "copying the workspace";

struct Copy<'c> {
    from: BorrowedFd<'c>,
    from_owner: u32,
    to: BorrowedFd<'c>,
    owner: Option<u32>,
    originals: Originals,
    bytes: u64,
}

impl Copy<'_> {
    fn all(&mut self) -> io::Result<()> {
        let mut folders = vec![(Vec::new(), 0)];
        let mut made = Vec::new();
        while let Some((path, depth)) = folders.pop() {
            let from = beneath_far(self.from, &path, FOLDER).map_err(|error| at(&path, error))?;
            let to = beneath_far(self.to, &path, FOLDER)?;
            for name in names(&from)? {
                let inner = joined(&path, &name);
                if inner != OWN.as_bytes()
                    && self.entry(&from, &to, &name, &inner).map_err(|it| at(&inner, it))?
                {
                    folders.push((inner, depth + 1));
                }
                if self.originals.len() as u64 > COPY_FILES_MAX {
                    let problem = format!("it has more than {COPY_FILES_MAX} files and folders");
                    return Err(io::Error::other(problem));
                }
            }
            if depth > DEPTH_MAX {
                return Err(io::Error::other(format!(
                    "it has more than {DEPTH_MAX} folders below each other"
                )));
            }
            made.push((path, fstat(&from)?));
        }
        // The innermost first: what is locked after that need not be entered again.
        for (path, stat) in made.iter().rev() {
            let folder = beneath_far(self.to, path, FOLDER)?;
            self.give(&folder, stat)?;
            if !path.is_empty() {
                let stat = fstat(&folder)?;
                self.originals.insert(path.clone(), Original { stat, content: Content::Folder });
            }
        }
        Ok(())
    }

    /// Copies one thing; says whether it is a folder, which is still empty then.
    fn entry(&mut self, from: &OwnedFd, to: &OwnedFd, name: &CStr, path: &[u8]) -> io::Result<bool> {
        let stat = statat(from, name, AtFlags::SYMLINK_NOFOLLOW)?;
        let content = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => {
                mkdirat(to, name, Mode::RWXU)?;
                Content::Folder
            }
            FileType::Symlink => {
                let target = readlinkat(from, name, Vec::new())?;
                symlinkat(target.as_c_str(), to, name)?;
                if let Some(id) = self.owner {
                    let (uid, gid) = (Uid::from_raw(id), Gid::from_raw(id));
                    chownat(to, name, Some(uid), Some(gid), AtFlags::SYMLINK_NOFOLLOW)?;
                }
                Content::Link { target }
            }
            FileType::RegularFile => match self.file(from, to, name)? {
                Some(sha256) => Content::File { sha256 },
                None => return Ok(false),
            },
            // A pipe, a socket or a device is not the command's to talk to.
            _ => return Ok(false),
        };
        let is_folder = matches!(content, Content::Folder);
        let stat = statat(to, name, AtFlags::SYMLINK_NOFOLLOW)?;
        self.originals.insert(path.to_vec(), Original { stat, content });
        Ok(is_folder)
    }

    /// Copies a file, and gives its hash. Nothing if it is none any more.
    fn file(&mut self, from: &OwnedFd, to: &OwnedFd, name: &CStr) -> io::Result<Option<String>> {
        let source = openat(from, name, REGULAR, Mode::empty())?;
        let stat = fstat(&source)?;
        if !FileType::from_raw_mode(stat.st_mode).is_file() {
            return Ok(None);
        }
        // Root reads everything, but a file that is there by chance or by a link is not the workspace's to show.
        if self.owner.is_some() && stat.st_uid != self.from_owner && stat.st_mode & 0o004 == 0 {
            return Err(rustix::io::Errno::ACCESS.into());
        }
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mut target = File::from(openat(to, name, flags, Mode::RUSR | Mode::WUSR)?);
        let (mut source, mut hash, mut buffer) = (File::from(source), Sha256::new(), vec![0; 1 << 16]);
        loop {
            let length = source.read(&mut buffer)?;
            let chunk = buffer.get(..length).unwrap_or_default();
            self.bytes += length as u64;
            if self.bytes > COPY_BYTES_MAX {
                return Err(io::Error::other(format!("the workspace has more than {COPY_BYTES_MAX} bytes")));
            }
            if chunk.is_empty() {
                break;
            }
            hash.update(chunk);
            target.write_all(chunk)?;
        }
        self.give(&target.into(), &stat)?;
        Ok(Some(sha256_text(hash)))
    }

    /// Its owner, its mode without the bits that give rights, its times.
    fn give(&self, copy: &OwnedFd, stat: &Stat) -> io::Result<()> {
        if let Some(id) = self.owner {
            fchown(copy, Some(Uid::from_raw(id)), Some(Gid::from_raw(id)))?;
        }
        fchmod(copy, Mode::from_raw_mode(stat.st_mode & 0o777))?;
        let time = |seconds: i64, nanoseconds: u64| Timespec {
            tv_sec: seconds,
            tv_nsec: i64::try_from(nanoseconds).unwrap_or_default(),
        };
        let times = Timestamps {
            last_access: time(stat.st_atime as _, stat.st_atime_nsec as _),
            last_modification: time(stat.st_mtime as _, stat.st_mtime_nsec as _),
        };
        Ok(futimens(copy, &times)?)
    }
}

fn at(path: &[u8], error: io::Error) -> io::Error {
    // An error that names its own subject has no number.
    match error.raw_os_error() {
        Some(_) => io::Error::new(error.kind(), format!("`{}`: {error}", String::from_utf8_lossy(path))),
        None => error,
    }
}
