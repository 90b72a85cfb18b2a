//! Landlock: a second boundary around files, after the one that mounts draw; without namespaces the only one.

use super::WORKSPACE;
use super::sys::{self, LandlockRuleset};
use super::wire::{Fault, RunOrder, Stage};
use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags, fstat, openat2};
use rustix::io::Errno;
use std::fs;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

const EXECUTE: u64 = 1;
const WRITE_FILE: u64 = 1 << 1;
const READ_FILE: u64 = 1 << 2;
const READ_FOLDER: u64 = 1 << 3;
const MAKE_CHARACTER_DEVICE: u64 = 1 << 6;
const MAKE_BLOCK_DEVICE: u64 = 1 << 11;
const TRUNCATE: u64 = 1 << 14;
const CONTROL_DEVICE: u64 = 1 << 15;

/// Files that programs read to learn about the machine. Nothing else of `/proc` can be read without
/// namespaces: it shows the processes of every user.
const MACHINE: &[&str] = &[
    "/proc/cpuinfo",
    "/proc/filesystems",
    "/proc/loadavg",
    "/proc/meminfo",
    "/proc/stat",
    "/proc/uptime",
    "/proc/version",
];
/// Settings of the host that programs do not start without, because here they are not missing but cannot be read.
const SETTINGS: &[&str] = &["/etc/ssl/openssl.cnf", "/etc/pki/tls/openssl.cnf"];
/// The host's `/dev/zero` is none of them: what is mapped of it is memory that nobody can count.
const DEVICES: &[&str] = &["/dev/null", "/dev/full", "/dev/random", "/dev/urandom"];

/// The rights below a path.
#[derive(Clone, Copy)]
enum Access {
    Read,
    Write,
    WriteNoPrograms,
    Device,
}

impl Access {
    fn bits(self, handled: u64) -> u64 {
        let write = handled & !(MAKE_CHARACTER_DEVICE | MAKE_BLOCK_DEVICE | CONTROL_DEVICE);
        match self {
            Self::Read => EXECUTE | READ_FILE | READ_FOLDER,
            Self::Write => write,
            Self::WriteNoPrograms => write & !EXECUTE,
            Self::Device => (READ_FILE | WRITE_FILE | TRUNCATE) & handled,
        }
    }
}

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

/// The rights of commands by path. A file opened here stays the one that was opened.
pub(crate) struct Fence(Vec<(OwnedFd, Access)>);

impl Fence {
    pub(crate) fn new(order: &RunOrder) -> Result<Self, Fault> {
        match &order.base {
            None => Self::in_namespaces(),
            Some(_) => Self::alone(order),
        }
        .stage("raising Landlock")
    }

    fn in_namespaces() -> io::Result<Self> {
        let writable = [WORKSPACE, "/tmp", "/scratch"].map(|path| (path, Access::Write));
        let devices = DEVICES.iter().chain(&["/dev/zero"]).map(|path| (*path, Access::Device));
        let paths = [("/", Access::Read), ("/dev/shm", Access::WriteNoPrograms)].into_iter();
        let place = |(path, access)| Ok((opened(Path::new(path))?, access));
        Ok(Self(paths.chain(writable).chain(devices).map(place).collect::<io::Result<_>>()?))
    }

    /// The visible part of the host can be read, and the private folder can be written to.
    fn alone(order: &RunOrder) -> io::Result<Self> {
        let mut places = Vec::new();
        for path in [WORKSPACE, "/tmp", "/scratch"] {
            places.push((opened(Path::new(&order.inside(path)))?, Access::Write));
        }
        places.push((opened(Path::new(&order.inside("/toolchain")))?, Access::Read));
        let shown = order.binds.iter().map(|bind| (Path::new(&bind.from), Access::Read));
        let python = python_settings();
        let machine =
            MACHINE.iter().chain(SETTINGS).map(Path::new).chain(python.iter().map(PathBuf::as_path));
        let machine = machine.map(|path| (path, Access::Read));
        let devices = DEVICES.iter().map(|path| (Path::new(path), Access::Device));
        for (path, access) in shown.chain(machine).chain(devices) {
            match opened(path) {
                Ok(place) => places.push((place, access)),
                // The user of the commands cannot get there anyway, or it is a link to somewhere else.
                Err(Errno::NOENT | Errno::NOTDIR | Errno::ACCESS | Errno::LOOP) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Self(places))
    }

    /// Puts this process under the rules that its kernel's version has, and gives the version.
    pub(crate) fn raise(&self) -> io::Result<u32> {
        let version = match sys::landlock_version() {
            Ok(version) => version,
            // Not built in, or not switched on.
            Err(error) if matches!(error.raw_os_error(), Some(libc::ENOSYS | libc::EOPNOTSUPP)) => {
                return Ok(0);
            }
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
        for (place, access) in &self.0 {
            let is_folder = FileType::from_raw_mode(fstat(place)?.st_mode).is_dir();
            let of_files = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE;
            let bits = access.bits(handled) & if is_folder { u64::MAX } else { of_files };
            sys::landlock_allow(ruleset.as_fd(), place.as_fd(), bits)?;
        }
        sys::landlock_restrict(ruleset.as_fd())?;
        Ok(version)
    }
}

/// One folder for each version.
fn python_settings() -> Vec<PathBuf> {
    let entries = fs::read_dir("/etc").into_iter().flatten().flatten();
    let is_python = |name: &std::ffi::OsStr| name.as_encoded_bytes().starts_with(b"python3");
    entries.filter(|entry| is_python(&entry.file_name())).map(|entry| entry.path()).collect()
}

/// The file at a path in which nobody has put a link since it was looked at.
fn opened(path: &Path) -> rustix::io::Result<OwnedFd> {
    openat2(CWD, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), ResolveFlags::NO_SYMLINKS)
}
