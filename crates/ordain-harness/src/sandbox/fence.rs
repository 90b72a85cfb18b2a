//! Landlock: a second boundary around files, after the one that mounts draw.

use super::WORKSPACE;
use super::sys::{self, LandlockRuleset};
use rustix::fs::{Mode, OFlags, open};
use std::io;
use std::os::fd::AsFd;

const EXECUTE: u64 = 1;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_FOLDER: u64 = 1 << 3;
const MAKE_CHARACTER_DEVICE: u64 = 1 << 6;
const MAKE_BLOCK_DEVICE: u64 = 1 << 11;
const TRUNCATE: u64 = 1 << 14;
const CONTROL_DEVICE: u64 = 1 << 15;

/// All accesses to files that a version knows.
fn files(version: u32) -> u64 {
    match version {
        0 => 0,
        1 => (1 << 13) - 1,
        2 => (1 << 14) - 1,
        3 | 4 => (1 << 15) - 1,
        5..=8 => (1 << 16) - 1,
        // To connect to a socket that has a path and is not the command's own.
        _ => (1 << 17) - 1,
    }
}

/// Puts this process under the rules that its kernel's version has, and gives the version.
pub(crate) fn raise() -> io::Result<u32> {
    let version = match sys::landlock_version() {
        Ok(version) => version,
        // Not built in, or not switched on.
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EOPNOTSUPP)) => return Ok(0),
        Err(error) => return Err(error),
    };
    let handled = files(version);
    let tcp = if version >= 4 { 0b11 } else { 0 };
    let scope = if version >= 6 { 0b11 } else { 0 };
    let size = match version {
        ..=3 => 8,
        4 | 5 => 16,
        _ => size_of::<LandlockRuleset>(),
    };
    let ruleset = sys::landlock_ruleset(&LandlockRuleset { files: handled, network: tcp, scope }, size)?;
    let read = EXECUTE | READ_FILE | READ_FOLDER;
    let write = handled & !(MAKE_CHARACTER_DEVICE | MAKE_BLOCK_DEVICE | CONTROL_DEVICE);
    let device = (READ_FILE | WRITE_FILE | TRUNCATE) & handled;
    for (path, accesses) in [
        ("/", read),
        (WORKSPACE, write),
        ("/tmp", write),
        ("/scratch", write),
        ("/dev/shm", write & !EXECUTE),
        ("/dev/null", device),
        ("/dev/zero", device),
        ("/dev/full", device),
        ("/dev/random", device),
        ("/dev/urandom", device),
    ] {
        let place = open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
        sys::landlock_allow(ruleset.as_fd(), place.as_fd(), accesses)?;
    }
    sys::landlock_restrict(ruleset.as_fd())?;
    Ok(version)
}
