//! The helper where there are no namespaces: a private folder with a copy of the workspace, the collector as
//! an ordinary process, and the end of everything that it leaves.
//!
//! Nothing ends with this process by itself. So it is the one that takes over orphans, it watches the caller and the
//! collector, and it removes the folder when all others are gone.

use super::copy::{self, Originals};
use super::identity::{self, Identity};
use super::init::{Caller, Files, gate, namespaces_of};
use super::limits::{
    OUTPUT_BYTES_SLACK, OUTPUT_INODES_SLACK, READ_BYTES_PER_MS, SCRATCH_BYTES_MAX, SCRATCH_FILES_MAX,
    TEMPORARY_BYTES_MAX, TEMPORARY_FILES_MAX,
};
use super::outside::SCRATCH;
use super::processes::Processes;
use super::room::{self, Room};
use super::root::{Lower, View};
use super::wire::{Answer, Fault, RunOrder, Stage, write_message};
use super::{WORKSPACE, collector, payload, sys};
use crate::beneath::FOLDER;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{CWD, Gid, Mode, OFlags, Uid, chownat, mkdirat, open};
use rustix::process::{
    PidfdFlags, Signal, WaitOptions, pidfd_open, pidfd_send_signal, set_child_subreaper,
    set_parent_process_death_signal, wait,
};
use rustix::time::Timespec;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The folders that stand for those of the sandbox's root.
const FOLDERS: &[&str] = &[WORKSPACE, "/tmp", "/scratch", "/toolchain"];

/// Does everything that the order says, and answers; a fault is one of this process.
pub(crate) fn supervise(order: &RunOrder, files: Files<'_>, caller_alive: &File) -> Result<(), Fault> {
    // The end of the caller is told by the pipe. To be killed by it would leave commands behind.
    set_parent_process_death_signal(None).stage("outliving the caller")?;
    set_child_subreaper(Some(rustix::process::getpid())).stage("taking over orphans")?;
    Processes::of_this().stage("opening /proc")?;
    let base = Base::make(order)?;
    let owner = match order.identity {
        Identity::Root { id } => Some(id),
        Identity::User { .. } => None,
    };
    let originals = copy::workspace(Path::new(&order.workspace), base.workspace()?.as_fd(), owner)?;
    base.give(owner)?;
    // The whole copy is read before the first command, and after each.
    let bytes: u64 = originals.values().map(|it| it.stat.st_size.unsigned_abs()).sum();
    let time_ms = order.time_ms + bytes / READ_BYTES_PER_MS * (order.steps.len() as u64 + 1);
    let (alive, tie) = gate().stage("making a pipe")?;
    let answer = files.answer;
    let Some(process) = sys::clone_process(0).stage("starting the collector")? else {
        drop(tie);
        collect(order, files, originals, &alive);
    };
    let ended = pidfd_open(process, PidfdFlags::empty()).stage("watching the collector")?;
    let in_time = wait_for(&ended, caller_alive, time_ms);
    let _ = pidfd_send_signal(&ended, Signal::KILL);
    end_all().stage("ending everything")?;
    drop(tie);
    if !in_time.stage("watching the collector")? {
        let mut answer = answer.try_clone().stage("answering")?;
        write_message(&mut answer, &Answer::Hung, std::iter::empty()).stage("answering")?;
    }
    Ok(())
}

/// Waits for the end of the collector, or of the caller. Says whether it came in time.
fn wait_for(ended: &OwnedFd, caller_alive: &File, time_ms: u64) -> io::Result<bool> {
    let end = Instant::now() + Duration::from_millis(time_ms);
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let time = Timespec::try_from(left).map_err(io::Error::other)?;
        let mut waiting = [PollFd::new(ended, PollFlags::IN), PollFd::new(caller_alive, PollFlags::empty())];
        match poll(&mut waiting, Some(&time)) {
            Ok(0) => return Ok(false),
            Ok(_) => return Ok(true),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Ends whatever the collector left. Nobody answers for new processes any more, so there are none.
fn end_all() -> io::Result<()> {
    let processes = Processes::of_this()?;
    loop {
        processes.kill();
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
                Ok(None) => break,
                Err(_) => return Ok(()),
            }
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// The private folder, which goes when this goes.
struct Base(PathBuf);

impl Base {
    fn make(order: &RunOrder) -> Result<Self, Fault> {
        let path = PathBuf::from(order.inside(""));
        mkdirat(CWD, &path, Mode::RWXU).stage("making a private folder")?;
        let base = Self(path);
        for name in FOLDERS.iter().chain(SCRATCH) {
            mkdirat(CWD, order.inside(name), Mode::RWXU).stage("making a private folder")?;
        }
        // A file that has another name in the sandbox is found by a link.
        for bind in
            order.binds.iter().filter(|bind| FOLDERS.iter().any(|it| Path::new(&bind.to).starts_with(it)))
        {
            let link = PathBuf::from(order.inside(&bind.to));
            if let Some(parent) = link.parent() {
                fs::create_dir_all(parent).stage("making a private folder")?;
            }
            symlink(&bind.from, &link).stage("making a private folder")?;
        }
        Ok(base)
    }

    fn workspace(&self) -> Result<OwnedFd, Fault> {
        let path = self.0.join(WORKSPACE.trim_start_matches('/'));
        open(path, FOLDER, Mode::empty()).stage("making a private folder")
    }

    /// Gives what was made here to the commands' user: the copy belongs to it already, and the folder itself
    /// stays root's.
    fn give(&self, owner: Option<u32>) -> Result<(), Fault> {
        let Some(id) = owner else { return Ok(()) };
        for name in FOLDERS.iter().chain(SCRATCH).filter(|name| !["/toolchain", WORKSPACE].contains(name)) {
            let path = self.0.join(name.trim_start_matches('/'));
            let (uid, gid) = (Uid::from_raw(id), Gid::from_raw(id));
            chownat(CWD, &path, Some(uid), Some(gid), rustix::fs::AtFlags::SYMLINK_NOFOLLOW)
                .stage("giving the private folder to the commands' user")?;
        }
        for (name, mode) in [("", 0o711), ("toolchain", 0o755)] {
            rustix::fs::chmod(self.0.join(name), Mode::from_raw_mode(mode))
                .stage("making a private folder")?;
        }
        Ok(())
    }
}

impl Drop for Base {
    fn drop(&mut self) {
        remove(&self.0);
    }
}

/// Removes a private folder, if it is there.
pub(crate) fn remove(base: &Path) {
    // Commands of the caller's own user could have locked it.
    let _ = unlock(base);
    if let Ok(folder) = open(base, FOLDER, Mode::empty()) {
        // Nobody can do more about it than to try.
        let _ = room::empty(folder.as_fd()).and_then(|()| fs::remove_dir(base));
        let _ = fs::remove_dir_all(base);
    }
}

/// Lets its owner into a private folder.
pub(crate) fn unlock(base: &Path) -> io::Result<()> {
    let mode = fs::symlink_metadata(base)?.permissions().mode();
    if mode & 0o700 == 0o700 {
        return Ok(());
    }
    fs::set_permissions(base, Permissions::from_mode(mode & 0o777 | 0o700))
}

fn collect(order: &RunOrder, files: Files<'_>, originals: Originals, helper_alive: &File) -> ! {
    let Files { contents, answer, listener } = files;
    let said = become_collector(order, originals, helper_alive)
        .map_or_else(Answer::Fault, |(caller, view)| {
            collector::collect(order, contents, &caller, view, listener)
        });
    let done =
        answer.try_clone().and_then(|mut answer| write_message(&mut answer, &said, std::iter::empty()));
    sys::exit_now(if done.is_ok() { 0 } else { 2 })
}

/// The collector is the commands' user itself: it holds nothing that they could want, and Landlock keeps them from it.
fn become_collector(
    order: &RunOrder,
    originals: Originals,
    helper_alive: &File,
) -> Result<(Caller, View), Fault> {
    set_child_subreaper(Some(rustix::process::getpid())).stage("taking over orphans")?;
    become_user(order.identity).stage("becoming the user of the commands")?;
    tie_to(helper_alive)?;
    rustix::thread::set_no_new_privs(true).stage("giving up new privileges")?;
    let own = open("/proc/self", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(io::Error::from)
        .and_then(|own| namespaces_of(&own))
        .stage("reading the caller's namespaces")?;
    let folder =
        |name: &str| open(order.inside(name), FOLDER, Mode::empty()).stage("opening the private folder");
    let upper = folder(WORKSPACE)?;
    let copied = room::filled(upper.as_fd());
    let written: u64 = order.writes.iter().filter_map(|write| write.bytes).map(|bytes| bytes as u64).sum();
    let output_files = 2 * (order.output_files_max + order.writes.len() as u64) + OUTPUT_INODES_SLACK;
    let rooms = vec![
        Room {
            name: "the workspace",
            folder: folder(WORKSPACE)?,
            bytes_max: copied.bytes + order.output_bytes_max + written + OUTPUT_BYTES_SLACK,
            files_max: copied.files + output_files,
        },
        Room {
            name: "the scratch",
            folder: folder("/scratch")?,
            bytes_max: SCRATCH_BYTES_MAX,
            files_max: SCRATCH_FILES_MAX,
        },
        Room {
            name: "the folder for temporary files",
            folder: folder("/tmp")?,
            bytes_max: TEMPORARY_BYTES_MAX,
            files_max: TEMPORARY_FILES_MAX,
        },
    ];
    let processes = Processes::of_this().stage("opening /proc")?;
    let view = View { lower: Lower::Copied(originals), upper, processes, rooms };
    Ok((Caller { identity: order.identity, outside: own }, view))
}

fn become_user(identity: Identity) -> io::Result<()> {
    // A process that cannot do that is bound by having no way to new privileges.
    let _ = payload::drop_bounds();
    identity::become_user(identity)
}

/// Ends with the helper, or now if it has ended already.
fn tie_to(helper_alive: &File) -> Result<(), Fault> {
    set_parent_process_death_signal(Some(Signal::KILL)).stage("tying the collector to the helper")?;
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    match poll(&mut [PollFd::new(helper_alive, PollFlags::IN)], Some(&now))
        .stage("tying the collector to the helper")?
    {
        0 => Ok(()),
        _ => sys::exit_now(2),
    }
}

/// Whether this machine can do it at all: tried in a process that ends after it.
pub(crate) fn attempt() -> Result<(), Fault> {
    let identity = Identity::without_namespaces()?;
    become_user(identity).stage("becoming the user of the commands")?;
    rustix::thread::set_no_new_privs(true).stage("giving up new privileges")?;
    Processes::of_this().stage("opening /proc")?;
    let abi = sys::landlock_version().stage(LANDLOCK)?;
    check_landlock(abi)?;
    let listener = sys::install_filter_that_asks(&super::filter::program_alone());
    listener.map(drop).stage("installing the seccomp filter")
}

/// Told apart from other failures by what can be done about it.
pub(crate) const LANDLOCK: &str = "asking for Landlock";

/// Whether a version of Landlock keeps commands from the collector.
pub(crate) fn check_landlock(abi: u32) -> Result<(), Fault> {
    let needed = super::limits::LANDLOCK_ALONE;
    if abi >= needed {
        return Ok(());
    }
    let error = format!("the kernel has Landlock {abi}, and without namespaces {needed} is needed");
    Err(Fault::new(LANDLOCK, io::Error::other(error)))
}
