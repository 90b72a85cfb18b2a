//! The abilities of this machine, found by trying them, and the remedy for each that is missing.

use super::collector::level_of;
use super::copy;
use super::identity::{self, Identity};
use super::init::{self, NAMESPACES, gate};
use super::level::{FLAG, FLAG_MEANS};
use super::limits::LANDLOCK_FULL;
use super::payload::Ground;
use super::root;
use super::wire::{Fault, Stage};
use super::{Feature, Level, Probe, alone, filter, sys};
use rustix::process::{WaitOptions, waitpid};
use std::fs::{self, File};
use std::io::{self, Read, Write};

/// Tries everything, one after the other. Runs in the helper, which has one thread and so may fork.
pub(crate) fn features() -> Probe {
    let identity = match Identity::of_caller() {
        Ok(identity) => identity,
        Err(fault) => {
            let feature = feature("caller", Err(fault), String::new());
            return Probe { level: None, caller: String::new(), features: vec![feature] };
        }
    };
    let mut features = Vec::new();
    for (name, flag) in NAMESPACES {
        let tried = attempt(identity, libc::CLONE_NEWUSER | flag, || Ok(()));
        features.push(feature(&format!("{name} namespace"), tried, "of its own".to_owned()));
    }
    let joined = in_a_process(|| init::join(&init::new_namespaces(identity)?));
    features.push(feature("joining namespaces", joined, "the first process is part of them".to_owned()));
    let mounts = libc::CLONE_NEWUSER | libc::CLONE_NEWNS;
    let memory = attempt(identity, mounts, root::try_memory);
    features.push(feature("tmpfs", memory, "with a size".to_owned()));
    let processes = attempt(identity, mounts | libc::CLONE_NEWPID, root::try_processes);
    features.push(feature("proc", processes, "shows only its own processes".to_owned()));
    let overlay = attempt(identity, mounts, root::try_overlay);
    features.push(feature("overlay", overlay, "changes go to memory, the workspace stays".to_owned()));
    if let Identity::Root { id } = identity {
        let mapped = root::try_id_mapped(id);
        features.push(feature(
            "id-mapped mounts",
            mapped,
            "the workspace is shown as the command's own".to_owned(),
        ));
    }
    let filtered = attempt(identity, libc::CLONE_NEWUSER, || {
        rustix::thread::set_no_new_privs(true).stage("giving up new privileges")?;
        sys::install_filter(&filter::program()).stage("installing the seccomp filter")
    });
    features.push(feature("seccomp", filtered, "system calls are filtered".to_owned()));
    let abi = sys::landlock_version().unwrap_or_default();
    let mut level = features.iter().all(|feature| feature.works).then(|| level_of(Ground::Namespaces, abi));
    features.push(landlock(abi));
    let caller = match identity {
        Identity::Root { .. } => "root",
        Identity::User { .. } => "an ordinary user",
    };
    if level.is_none() {
        let found = format!("only with `{FLAG}`: {FLAG_MEANS}");
        let alone = feature("level landlock-only", in_a_process(alone::attempt), found);
        level = alone.works.then_some(Level::LandlockOnly);
        features.push(alone);
    }
    Probe { level, caller: caller.to_owned(), features }
}

fn landlock(abi: u32) -> Feature {
    let found = match abi {
        0 => "the kernel has none, or it is off".to_owned(),
        abi => format!("version {abi}"),
    };
    let works = abi >= LANDLOCK_FULL;
    let remedy = "use Linux 6.2 or newer with `landlock` in the kernel's list of security modules (`lsm=`)";
    Feature { name: "landlock".to_owned(), works, found, remedy: (!works).then(|| remedy.to_owned()) }
}

fn feature(name: &str, tried: Result<(), Fault>, found: String) -> Feature {
    match tried {
        Ok(()) => Feature { name: name.to_owned(), works: true, found, remedy: None },
        Err(fault) => {
            let remedy = remedy(&fault.stage, fault.errno);
            let found = format!("{}: {}", fault.stage, fault.message);
            Feature { name: name.to_owned(), works: false, found, remedy }
        }
    }
}

/// Does something in a process of its own, in namespaces of its own.
fn attempt(
    identity: Identity,
    namespaces: libc::c_int,
    work: impl FnOnce() -> Result<(), Fault>,
) -> Result<(), Fault> {
    let (mut go, ready) = gate().stage("making a pipe")?;
    let (mut answer, says) = gate().stage("making a pipe")?;
    let Some(process) = sys::clone_process(namespaces).stage("making the namespaces")? else {
        drop((ready, answer));
        let tried = go
            .read_exact(&mut [0])
            .stage("waiting for the ids")
            .and_then(|()| identity::assume(identity).stage("becoming the user of the namespace"))
            .and_then(|()| work());
        let text = serde_json::to_vec(&tried).unwrap_or_default();
        let said = File::from(says).write_all(&text);
        sys::exit_now(i32::from(said.is_err()));
    };
    drop((go, says));
    let mapped = identity.map(process);
    if mapped.is_ok() {
        // If nobody waits there, the answer says why.
        let _ = File::from(ready).write_all(b"!");
    } else {
        drop(ready);
    }
    let mut text = Vec::new();
    let read = answer.read_to_end(&mut text);
    let _ = waitpid(Some(process), WaitOptions::empty());
    mapped?;
    read.stage("waiting for the attempt")?;
    serde_json::from_slice::<Result<(), Fault>>(&text).map_err(gone)?
}

/// Does something in a process of its own.
fn in_a_process(work: impl FnOnce() -> Result<(), Fault>) -> Result<(), Fault> {
    let (mut answer, says) = gate().stage("making a pipe")?;
    let Some(process) = sys::clone_process(0).stage("making a process")? else {
        drop(answer);
        let text = serde_json::to_vec(&work()).unwrap_or_default();
        let said = File::from(says).write_all(&text);
        sys::exit_now(i32::from(said.is_err()));
    };
    drop(says);
    let mut text = Vec::new();
    let read = answer.read_to_end(&mut text);
    let _ = waitpid(Some(process), WaitOptions::empty());
    read.stage("waiting for the attempt")?;
    serde_json::from_slice::<Result<(), Fault>>(&text).map_err(gone)?
}

fn gone(_: serde_json::Error) -> Fault {
    Fault::new("trying it", io::Error::other("the process was killed"))
}

/// The remedy for a part that could not be set up.
pub(crate) fn remedy(stage: &str, errno: Option<i32>) -> Option<String> {
    let about = |words: &[&str]| words.iter().any(|word| stage.contains(word));
    let is = |path: &str, value: &str| fs::read_to_string(path).is_ok_and(|text| text.trim() == value);
    let text = if stage == identity::AS_KERNEL_ROOT {
        "call it as an ordinary user, or as root outside of that namespace (as of `unshare -r` and `bwrap`)"
    } else if stage == copy::STAGE {
        "use a smaller folder, or a machine with namespaces, where nothing is copied"
    } else if stage == alone::LANDLOCK {
        "use Linux 6.12 or newer with `landlock` in the kernel's list of security modules (`lsm=`)"
    } else if errno == Some(libc::ENOSYS) {
        "use Linux 6.6 or newer; in a container, allow the system call"
    } else if about(&["namespace", "becoming the user", "separating the mounts", "taking"])
        && is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1")
    {
        "AppArmor restricts user namespaces: allow them for this program by a profile with `userns,`, or for all \
         with `sysctl kernel.apparmor_restrict_unprivileged_userns=0`"
    } else if about(&["namespace"]) && is("/proc/sys/kernel/unprivileged_userns_clone", "0") {
        "allow user namespaces: `sysctl kernel.unprivileged_userns_clone=1`"
    } else if about(&["namespace"]) && is("/proc/sys/user/max_user_namespaces", "0") {
        "allow user namespaces: `sysctl user.max_user_namespaces=15000`"
    } else if about(&["namespace"]) {
        "in a container, start it with a seccomp profile that allows namespaces, or run `ordain` outside"
    } else if about(&["mounting /proc"]) {
        "in a container, start it without masked paths in /proc (`--security-opt systempaths=unconfined`)"
    } else if about(&["the command's own"]) {
        "the workspace's file system cannot be shown as somebody else's: put it on ext4, xfs, btrfs or tmpfs, or run \
         as the user who owns it"
    } else if about(&["laying the changes"]) {
        "use Linux 6.6 or newer with overlayfs, whose changes can then be kept in memory without privileges"
    } else {
        return None;
    };
    Some(text.to_owned())
}
