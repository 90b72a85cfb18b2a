//! Writes the new contents beside the workspace's files, with the modes, owners and attributes of those they replace.

use super::Problem;
use super::check::Checked;
use super::exchange::slot;
use super::state::Slots;
use super::transaction::SYNCED_ALONE_MAX;
use super::tree::{Seen, Tree, because, split};
use crate::beneath::REGULAR;
use ordain_spec::patch::PatchOperation;
use rustix::fs::{
    Gid, Mode, OFlags, Uid, XattrFlags, fchmod, fchown, fgetxattr, flistxattr, fsetxattr, fsync, openat,
    syncfs,
};
use rustix::io::Errno;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;

/// Writes all contents, durable when it returns.
pub(crate) fn stage(
    tree: &Tree,
    slots: &Slots,
    operations: &[&PatchOperation],
    checked: &Checked,
) -> Result<(), Problem> {
    let written = operations.iter().filter(|operation| operation.content.is_some()).count();
    let alone = written <= SYNCED_ALONE_MAX;
    for (at, (operation, seen)) in operations.iter().zip(&checked.seen).enumerate() {
        let Some(content) = &operation.content else { continue };
        let staged = write(tree, slots, at, operation, content, seen.as_ref())
            .and_then(|file| if alone { Ok(fsync(&file)?) } else { Ok(()) });
        staged.map_err(|error| not_written(&operation.path, &error))?;
    }
    if !alone {
        syncfs(&slots.folder).map_err(|error| not_written(".", &error.into()))?;
    }
    Ok(())
}

pub(crate) fn not_written(path: &str, error: &io::Error) -> Problem {
    Problem { path: path.to_owned(), problem: format!("cannot be written: {}", because(error)) }
}

fn write(
    tree: &Tree,
    slots: &Slots,
    at: usize,
    operation: &PatchOperation,
    content: &str,
    seen: Option<&Seen>,
) -> io::Result<File> {
    // A new file gets what the user's mask leaves; the copy of an old one is nobody else's until it is as the old one.
    let mode = if seen.is_some() { 0o600 } else { 0o666 };
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(openat(&slots.folder, &*slot(at), flags, Mode::from_raw_mode(mode))?);
    file.write_all(content.as_bytes())?;
    if seen.is_none() {
        take_group(tree, &operation.path, &file)?;
    }
    if let Some(seen) = seen {
        let (uid, gid) = (Uid::from_raw(seen.uid), Gid::from_raw(seen.gid));
        let stat = rustix::fs::fstat(&file)?;
        if (stat.st_uid, stat.st_gid) != (seen.uid, seen.gid) {
            fchown(&file, Some(uid), Some(gid))?;
        }
        copy_attributes(tree, &operation.path, &file)?;
        // Without the bits that a write takes away.
        fchmod(&file, Mode::from_raw_mode(seen.mode & 0o1777))?;
    }
    Ok(file)
}

/// In a folder with the set-group-id bit new files get the folder's group, and they are not made there but here.
fn take_group(tree: &Tree, path: &str, file: &File) -> io::Result<()> {
    const SET_GROUP_ID: u32 = 0o2000;
    let (mut parent, _) = split(path);
    let folder = loop {
        match tree.folder(parent) {
            // A folder that will be made inherits the bit.
            Err(error) if error.kind() == io::ErrorKind::NotFound && !parent.is_empty() => {
                (parent, _) = split(parent)
            }
            folder => break rustix::fs::fstat(folder?)?,
        }
    };
    if folder.st_mode & SET_GROUP_ID == 0 {
        return Ok(());
    }
    match fchown(file, None, Some(Gid::from_raw(folder.st_gid))) {
        // Only the kernel may give a file to a group that its owner is not in.
        Ok(()) | Err(Errno::PERM) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The kernel's own limit for the list of names and for each value.
const ATTRIBUTE_BYTES_MAX: usize = 1 << 16;

/// Extended attributes, access lists among them. Those that the system keeps for itself are its own affair.
fn copy_attributes(tree: &Tree, path: &str, file: &File) -> io::Result<()> {
    let (parent, name) = split(path);
    let old = openat(&tree.folder(parent)?, name, REGULAR, Mode::empty())?;
    let mut list = vec![0; ATTRIBUTE_BYTES_MAX];
    let length = match flistxattr(&old, list.as_mut_slice()) {
        Ok(length) => length,
        Err(Errno::NOTSUP) => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    list.truncate(length);
    for attribute in list.split(|byte| *byte == 0).filter(|name| !name.is_empty()) {
        if !(attribute.starts_with(b"user.") || attribute.starts_with(b"system.posix_acl_")) {
            continue;
        }
        let mut value = vec![0; ATTRIBUTE_BYTES_MAX];
        let length = fgetxattr(&old, attribute, value.as_mut_slice())?;
        value.truncate(length);
        fsetxattr(file.as_fd(), attribute, &value, XattrFlags::empty())?;
    }
    Ok(())
}
