//! The processes of the sandbox, and their end: all in a namespace, or without one all that come from the collector.

use super::sys;
use rustix::fs::{Mode, OFlags, open, openat};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;

/// A `/proc` that hides no process: one that hides itself from commands could also hide from its limits.
pub(crate) struct Processes {
    folder: OwnedFd,
    /// The process whose descendants are meant, where there is no namespace for them.
    top: Option<Pid>,
}

impl Processes {
    /// All but pid 1 of a namespace.
    pub(crate) fn of_namespace(folder: OwnedFd) -> Self {
        Self { folder, top: None }
    }

    /// All that this process started, and what they started. It must be the one that takes over orphans.
    pub(crate) fn of_this() -> io::Result<Self> {
        if hides_some(&fs::read_to_string("/proc/self/mountinfo")?) {
            return Err(io::Error::other("it hides processes (`hidepid`), which could then not be ended"));
        }
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let folder = open("/proc", flags, Mode::empty())?;
        Ok(Self { folder, top: Some(rustix::process::getpid()) })
    }

    /// Whether others are there too, that are nobody's business.
    pub(crate) fn are_among_others(&self) -> bool {
        self.top.is_some()
    }

    /// The folder of one process.
    pub(crate) fn folder_of(&self, process: Pid) -> io::Result<OwnedFd> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(openat(&self.folder, process.as_raw_nonzero().to_string(), flags, Mode::empty())?)
    }

    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.folder.as_raw_fd()))
    }

    /// In the order of their numbers: who moves on to a new process meanwhile is met there.
    pub(crate) fn each(&self) -> Box<dyn Iterator<Item = PathBuf> + '_> {
        let path = self.path();
        match self.top {
            None => Box::new(self.numbers().filter(|it| *it != 1).map(move |it| path.join(it.to_string()))),
            Some(top) => {
                let found = self.descendants(number(top));
                Box::new(found.into_keys().map(move |it| path.join(it.to_string())))
            }
        }
    }

    /// How many threads the user has whose process this is, wherever they come from.
    pub(crate) fn threads_of_user(&self) -> u64 {
        let own = rustix::process::getuid().as_raw().to_string();
        let threads = |process: i32| {
            let status = fs::read_to_string(self.path().join(process.to_string()).join("status")).ok()?;
            let field = |name: &str| {
                status.lines().find_map(|line| line.strip_prefix(name))?.split_whitespace().next()
            };
            if field("Uid:")? == own { field("Threads:")?.parse::<u64>().ok() } else { None }
        };
        self.numbers().filter_map(threads).sum()
    }

    /// Sends all of them to their end, which is not waited for.
    pub(crate) fn kill(&self) {
        let Some(top) = self.top else { return sys::kill_all() };
        for (process, start) in self.descendants(number(top)) {
            let Some(pid) = Pid::from_raw(process) else { continue };
            let Ok(descriptor) = pidfd_open(pid, PidfdFlags::empty()) else { continue };
            // The number may mean another process by now, but not one that started at the same time.
            if self.origin(process).is_some_and(|origin| origin.start == start) {
                let _ = pidfd_send_signal(&descriptor, Signal::KILL);
            }
        }
    }

    fn numbers(&self) -> impl Iterator<Item = i32> + use<> {
        let entries = fs::read_dir(self.path()).into_iter().flatten().flatten();
        entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
    }

    /// The descendants of a process, and when each of them started.
    fn descendants(&self, top: i32) -> BTreeMap<i32, u64> {
        let mut children: BTreeMap<i32, Vec<(i32, u64)>> = BTreeMap::new();
        for (process, origin) in self.numbers().filter_map(|it| Some((it, self.origin(it)?))) {
            children.entry(origin.parent).or_default().push((process, origin.start));
        }
        let (mut found, mut parents) = (BTreeMap::new(), BTreeSet::from([top]));
        while let Some(parent) = parents.pop_first() {
            for (process, start) in children.remove(&parent).unwrap_or_default() {
                found.insert(process, start);
                parents.insert(process);
            }
        }
        found
    }

    fn origin(&self, process: i32) -> Option<Origin> {
        let stat = fs::read(self.path().join(process.to_string()).join("stat")).ok()?;
        // The name is in parentheses, and may contain some itself.
        let rest = stat.get(stat.iter().rposition(|byte| *byte == b')')? + 1..)?;
        let mut fields = std::str::from_utf8(rest).ok()?.split_whitespace().skip(1);
        Some(Origin { parent: fields.next()?.parse().ok()?, start: fields.nth(17)?.parse().ok()? })
    }
}

/// Whether a `/proc` in this list of mounts does not show all processes to everybody.
fn hides_some(mounts: &str) -> bool {
    let mut options = mounts
        .lines()
        .filter_map(|line| line.split_once(" - proc "))
        .flat_map(|(_, it)| it.split([' ', ',']));
    options.any(|option| option.strip_prefix("hidepid=").is_some_and(|it| !["0", "off"].contains(&it)))
}

/// Where a process comes from.
struct Origin {
    parent: i32,
    /// In ticks since the machine started.
    start: u64,
}

fn number(process: Pid) -> i32 {
    process.as_raw_nonzero().get()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail loudly")]
mod tests {
    use super::*;

    #[test]
    fn a_proc_that_hides_is_told() {
        let mounts = "22 1 8:1 / / rw - ext4 a rw\n23 22 0:5 / /proc rw,nosuid - proc proc rw";
        assert!(!hides_some(mounts));
        assert!(!hides_some(&format!("{mounts},hidepid=off")));
        assert!(hides_some(&format!("{mounts},gid=5,hidepid=invisible")));
        assert!(hides_some(&format!("{mounts},hidepid=2")));
    }

    #[test]
    fn descendants_are_found() {
        let processes = Processes::of_this().unwrap();
        let mut child = std::process::Command::new("sh").args(["-c", "sleep 10 & wait"]).spawn().unwrap();
        let id = i32::try_from(child.id()).unwrap();
        let mut found = BTreeMap::new();
        for _ in 0..500 {
            found = processes.descendants(id);
            if found.len() == 1 {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert_eq!(found.len(), 1);
        assert!(processes.descendants(number(rustix::process::getpid())).contains_key(&id));
        let grandchild = Pid::from_raw(*found.keys().next().unwrap()).unwrap();
        rustix::process::kill_process(grandchild, Signal::KILL).unwrap();
        child.wait().unwrap();
        assert!(processes.threads_of_user() >= 1);
    }
}
