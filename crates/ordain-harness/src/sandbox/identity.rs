//! The identity of the commands to the kernel: never its user 0.

use super::sys::Waiting;
use super::wire::{Fault, Stage};
use rustix::process::Pid;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::Path;

/// The identity of the commands to themselves.
pub(crate) const INSIDE_ID: u32 = 1_000;
/// Their identity to the kernel when root calls: a user and group that no system has.
const OWN_ID: u32 = 1_870_659_584;
/// The same where a container has fewer ids.
const NOBODY_ID: u32 = 65_534;

/// The same without namespaces: everybody who has no id in a container looks like nobody there, the kernel's
/// user 0 too.
const OTHER_ID: u32 = 65_533;

/// Told apart from other failures by what can be done about it.
pub(crate) const AS_KERNEL_ROOT: &str = "finding a user for the commands";

/// The two ways to get into a user namespace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Identity {
    /// The kernel's own user 0 calls: the commands become somebody else, and the workspace is shown as theirs.
    Root {
        /// The user and group of the commands, outside.
        id: u32,
    },
    /// Anybody else calls, the root of a container with ids of its own included: the commands are the caller, without
    /// anything that the caller could do beyond its own files.
    User {
        /// The caller.
        uid: u32,
        /// The caller's group.
        gid: u32,
    },
}

impl Identity {
    pub(crate) fn of_caller() -> Result<Self, Fault> {
        let uid = rustix::process::geteuid().as_raw();
        let gid = rustix::process::getegid().as_raw();
        let map = fs::read_to_string("/proc/self/uid_map").stage("reading the caller's ids")?;
        if uid != 0 || !is_initial(&map) {
            if kernel_root(Path::new("/proc")).stage("reading the caller's ids")? == uid {
                let error = "the caller is the kernel's user 0, in a user namespace that has nobody else for commands";
                return Err(Fault::new(AS_KERNEL_ROOT, io::Error::other(error)));
            }
            return Ok(Self::User { uid, gid });
        }
        let id = if maps(&map, OWN_ID) { OWN_ID } else { NOBODY_ID };
        Ok(Self::Root { id })
    }

    /// The identity of the commands where there are no namespaces: another user also for the root of a
    /// container with ids of its own, to whom everything in it belongs.
    pub(crate) fn without_namespaces() -> Result<Self, Fault> {
        let identity = Self::of_caller()?;
        if !matches!(identity, Self::User { uid: 0, .. }) {
            return Ok(identity);
        }
        let [users, groups] = ["/proc/self/uid_map", "/proc/self/gid_map"].map(fs::read_to_string);
        let (users, groups) =
            users.and_then(|users| Ok((users, groups?))).stage("reading the caller's ids")?;
        let id = [OWN_ID, OTHER_ID].into_iter().find(|id| maps(&users, *id) && maps(&groups, *id));
        let none = || io::Error::other("the caller is root, and has nobody else for commands");
        Ok(Self::Root { id: id.ok_or_else(none).stage(AS_KERNEL_ROOT)? })
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Root { .. } => "root",
            Self::User { .. } => "user",
        }
    }

    /// Says who is who in the namespace of a process that was just made.
    pub(crate) fn map(self, process: Pid) -> Result<(), Fault> {
        let (uid, gid) = match self {
            Self::Root { id } => (id, id),
            Self::User { uid, gid } => (uid, gid),
        };
        if matches!(self, Self::User { .. }) {
            // Without it an ordinary user could leave a group that is denied something.
            write_map(process, "setgroups", "deny")?;
        }
        write_map(process, "uid_map", &format!("{INSIDE_ID} {uid} 1"))?;
        write_map(process, "gid_map", &format!("{INSIDE_ID} {gid} 1"))
    }
}

/// The id of the kernel's user 0 in this process's namespace: it owns the files of a `/proc`. A map of ids
/// does not tell, because it names ids of the namespace around, which may be somebody else's.
pub(crate) fn kernel_root(proc: &Path) -> io::Result<u32> {
    owner(&proc.join("version")).map(|(uid, _)| uid)
}

/// Whether this is the namespace in which 0 is the kernel's own user 0.
fn is_initial(map: &str) -> bool {
    map.split_whitespace().eq(["0", "0", "4294967295"])
}

fn maps(map: &str, id: u32) -> bool {
    map.lines().any(|line| {
        let mut numbers = line.split_whitespace().filter_map(|number| number.parse::<u32>().ok());
        match (numbers.next(), numbers.next(), numbers.next()) {
            (Some(first), Some(_), Some(count)) => id >= first && id - first < count,
            _ => false,
        }
    })
}

fn write_map(process: Pid, file: &str, text: &str) -> Result<(), Fault> {
    let path = format!("/proc/{}/{file}", process.as_raw_nonzero());
    fs::write(&path, text).stage(&format!("writing {file} of the user namespace"))
}

/// Becomes the user of the namespace, in a process that was made in it. Its capabilities there stay.
pub(crate) fn assume(identity: Identity) -> io::Result<()> {
    use rustix::thread::{Gid, Uid};
    use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
    let (uid, gid) = (Uid::from_raw(INSIDE_ID), Gid::from_raw(INSIDE_ID));
    if matches!(identity, Identity::Root { .. }) {
        set_thread_groups(&[])?;
    }
    set_thread_res_gid(gid, gid, gid)?;
    set_thread_res_uid(uid, uid, uid)?;
    Ok(())
}

/// Becomes the user of the commands, where there are no namespaces. Nothing is left of what root could do.
pub(crate) fn become_user(identity: Identity) -> io::Result<()> {
    use rustix::thread::{CapabilitySet, CapabilitySets, Gid, Uid, set_capabilities};
    use rustix::thread::{set_thread_groups, set_thread_res_gid, set_thread_res_uid};
    let (uid, gid) = match identity {
        Identity::Root { id } => {
            set_thread_groups(&[])?;
            (id, id)
        }
        Identity::User { uid, gid } => (uid, gid),
    };
    let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
    set_thread_res_gid(gid, gid, gid)?;
    set_thread_res_uid(uid, uid, uid)?;
    let none = CapabilitySet::empty();
    Ok(set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?)
}

/// A process in a user namespace in which the owner of a folder is the user of the sandbox.
pub(crate) fn namespace_that_maps((uid, gid): (u32, u32), id: u32) -> Result<Waiting, Fault> {
    let waiting = Waiting::new(libc::CLONE_NEWUSER).stage("making a user namespace")?;
    write_map(waiting.process, "uid_map", &format!("{uid} {id} 1"))?;
    write_map(waiting.process, "gid_map", &format!("{gid} {id} 1"))?;
    Ok(waiting)
}

/// The owner of a folder.
pub(crate) fn owner(path: &Path) -> io::Result<(u32, u32)> {
    use std::os::unix::fs::MetadataExt;
    let metadata = fs::metadata(path)?;
    Ok((metadata.uid(), metadata.gid()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_initial_namespace_is_told_from_others() {
        assert!(is_initial("         0          0 4294967295\n"));
        assert!(!is_initial("0 100000 65536\n"));
        assert!(!is_initial("0 0 65536\n"));
        assert!(maps("0 100000 65536\n", 65_535));
        assert!(!maps("0 100000 65536\n", 65_536));
        assert!(!maps("", 0));
    }
}
