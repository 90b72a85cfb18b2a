//! Folders that no file system limits: how much is in them, and how they are emptied, whatever commands did to them.

use super::End;
use super::limits::DEPTH_MAX;
use crate::beneath::{FOLDER, beneath_far, joined, names};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat, openat, renameat, statat, unlinkat};
use rustix::io::Errno;
use std::collections::BTreeSet;
use std::ffi::CStr;
use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;

/// A folder that commands write to, and how much may be in it.
pub(crate) struct Room {
    pub(crate) name: &'static str,
    pub(crate) folder: OwnedFd,
    pub(crate) bytes_max: u64,
    pub(crate) files_max: u64,
}

/// The content of a folder.
#[derive(Default)]
pub(crate) struct Filled {
    pub(crate) bytes: u64,
    pub(crate) files: u64,
}

/// Why a look into a folder did not show all of it.
enum Stop {
    TooMuch,
    TooDeep,
    Hidden,
}

impl Room {
    /// Whether there is too much in it. Commands may be at work meanwhile.
    pub(crate) fn overflow(&self) -> Option<End> {
        let (filled, stop) = fill(self.folder.as_fd(), self.bytes_max, self.files_max);
        let (what, max) = match stop? {
            Stop::TooMuch if filled.files > self.files_max => {
                (format!("files in {}", self.name), self.files_max)
            }
            Stop::TooMuch => (format!("bytes in {}", self.name), self.bytes_max),
            Stop::TooDeep => (format!("folders below each other in {}", self.name), DEPTH_MAX as u64),
            Stop::Hidden => (format!("locked folders in {}", self.name), 0),
        };
        Some(End::TooMany { what, max })
    }
}

/// The content of a folder that nobody changes.
pub(crate) fn filled(folder: BorrowedFd<'_>) -> Filled {
    fill(folder, u64::MAX, u64::MAX).0
}

fn fill(top: BorrowedFd<'_>, bytes_max: u64, files_max: u64) -> (Filled, Option<Stop>) {
    let mut filled = Filled::default();
    let mut linked = BTreeSet::new();
    let stop = walk(top, |_, _, stat| {
        filled.files += 1;
        // One file with several names counts once.
        if is_folder(stat) || stat.st_nlink < 2 || linked.insert(stat.st_ino) {
            filled.bytes += u64::try_from(stat.st_blocks).unwrap_or_default() * 512;
        }
        filled.files > files_max || filled.bytes > bytes_max
    });
    (filled, stop)
}

/// Lets the owner look into everything: without namespaces the collector has no way around a locked folder or file.
pub(crate) fn unlock(top: BorrowedFd<'_>) {
    walk(top, |folder, name, stat| {
        if stat.st_mode & 0o400 == 0 {
            // A folder that cannot be unlocked is reported when it is read.
            let _ = make_usable(folder, name);
        }
        false
    });
}

/// Goes through everything below a folder, without following links, until `visit` says to stop. Locked
/// folders are opened. Says what was missed.
fn walk(top: BorrowedFd<'_>, mut visit: impl FnMut(&OwnedFd, &CStr, &Stat) -> bool) -> Option<Stop> {
    if let Ok(stat) = rustix::fs::fstat(top)
        && stat.st_mode & 0o500 != 0o500
    {
        let _ = rustix::fs::fchmod(top, Mode::from_raw_mode(stat.st_mode & 0o777 | 0o700));
    }
    let mut folders = vec![(Vec::new(), 0)];
    let mut missed = None;
    while let Some((path, depth)) = folders.pop() {
        if depth > DEPTH_MAX {
            missed = Some(Stop::TooDeep);
            continue;
        }
        let folder = match beneath_far(top, &path, FOLDER) {
            Ok(folder) => folder,
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                missed = Some(Stop::Hidden);
                continue;
            }
            // It is gone, or something else now.
            Err(_) => continue,
        };
        for name in names(&folder).unwrap_or_default() {
            let Ok(stat) = statat(&folder, &name, AtFlags::SYMLINK_NOFOLLOW) else { continue };
            if visit(&folder, &name, &stat) {
                return Some(Stop::TooMuch);
            }
            if is_folder(&stat) {
                if stat.st_mode & 0o500 != 0o500 {
                    let _ = make_usable(&folder, &name);
                }
                folders.push((joined(&path, &name), depth + 1));
            }
        }
    }
    missed
}

fn is_folder(stat: &Stat) -> bool {
    FileType::from_raw_mode(stat.st_mode).is_dir()
}

/// Lets the owner read what has this name, and enter and change a folder; not what a link of that name leads to.
fn make_usable(folder: &OwnedFd, name: &CStr) -> io::Result<()> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let place = openat(folder, name, flags, Mode::empty())?;
    let mode = rustix::fs::fstat(&place)?.st_mode;
    let more = match FileType::from_raw_mode(mode) {
        FileType::Directory => 0o700,
        FileType::RegularFile => 0o400,
        _ => return Ok(()),
    };
    let path = format!("/proc/self/fd/{}", place.as_raw_fd());
    fs::set_permissions(path, Permissions::from_mode(mode & 0o7777 | more))
}

/// Removes everything in a folder. Deep folders are moved up first, so that no depth is too much.
pub(crate) fn empty(top: BorrowedFd<'_>) -> io::Result<()> {
    let mut moved = 0_u64;
    loop {
        let names_of_top = names(&openat(top, ".", FOLDER, Mode::empty())?)?;
        if names_of_top.is_empty() {
            return Ok(());
        }
        for name in names_of_top {
            let Ok(inner) = entered(top, &name)? else { continue };
            for below in names(&inner)? {
                let stat = statat(&inner, &below, AtFlags::SYMLINK_NOFOLLOW)?;
                if !is_folder(&stat) {
                    unlinkat(&inner, &below, AtFlags::empty())?;
                } else if unlinkat(&inner, &below, AtFlags::REMOVEDIR).is_err() {
                    make_usable(&inner, &below)?;
                    moved += 1;
                    match renameat(&inner, &below, top, format!(".moved-{moved}")) {
                        // Somebody has taken the name: the next one, next time.
                        Ok(()) | Err(Errno::EXIST | Errno::NOTEMPTY | Errno::NOTDIR) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
            }
            match unlinkat(top, &name, AtFlags::REMOVEDIR) {
                Ok(()) | Err(Errno::NOTEMPTY | Errno::NOENT) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// The folder of this name; anything else of this name is removed.
pub(crate) fn entered(top: BorrowedFd<'_>, name: &CStr) -> io::Result<Result<OwnedFd, ()>> {
    let stat = statat(top, name, AtFlags::SYMLINK_NOFOLLOW)?;
    if !is_folder(&stat) {
        unlinkat(top, name, AtFlags::empty())?;
        return Ok(Err(()));
    }
    let folder = openat(top, ".", FOLDER, Mode::empty())?;
    make_usable(&folder, name)?;
    Ok(Ok(openat(top, name, FOLDER, Mode::empty())?))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;
    use rustix::fs::{CWD, mkdirat, open};

    #[test]
    fn a_deep_and_locked_tree_is_emptied() {
        let top = std::env::temp_dir().join(format!("ordain-room-{}", std::process::id()));
        fs::create_dir(&top).unwrap();
        let mut folder = open(&top, FOLDER, Mode::empty()).unwrap();
        for number in 0..5_000 {
            mkdirat(&folder, "d", Mode::RWXU).unwrap();
            if number % 100 == 0 {
                mkdirat(&folder, ".moved-1", Mode::empty()).unwrap();
            }
            folder = openat(&folder, "d", FOLDER, Mode::empty()).unwrap();
        }
        fs::create_dir(top.join("locked")).unwrap();
        fs::write(top.join("locked/file"), "x").unwrap();
        fs::set_permissions(top.join("locked"), Permissions::from_mode(0o000)).unwrap();
        std::os::unix::fs::symlink("/", top.join("link")).unwrap();
        let opened = rustix::fs::openat(CWD, &top, FOLDER, Mode::empty()).unwrap();
        assert!(matches!(fill(opened.as_fd(), u64::MAX, u64::MAX).1, Some(Stop::TooDeep)));
        assert!(matches!(fill(opened.as_fd(), u64::MAX, 50).1, Some(Stop::TooMuch)));
        empty(opened.as_fd()).unwrap();
        assert_eq!(fs::read_dir(&top).unwrap().count(), 0);
        fs::remove_dir(top).unwrap();
    }
}
