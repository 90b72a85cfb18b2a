//! The last things before a command starts, in its own process: everything is given up, then it waits until the
//! collector has looked.

use super::fence::Fence;
use super::limits::{DESCRIPTORS_MAX, FILE_BYTES_MAX, MEMORY_BYTES_MAX, PENDING_SIGNALS_MAX, PROCESSES_MAX};
use super::wire::{FIRST_AFTER_STANDARD, Fault, Stage};
use super::{filter, sys};
use rustix::process::{Resource, Rlimit, setrlimit};
use rustix::thread::{CapabilitiesSecureBits, CapabilitySet, CapabilitySets};
use serde::{Deserialize, Serialize};
use std::ffi::CString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};

/// A command, ready to start.
pub(crate) struct Payload<'f> {
    /// Whether namespaces are around it.
    pub(crate) ground: Ground,
    pub(crate) workspace: String,
    pub(crate) fence: &'f Fence,
    /// Processes and threads of its user, itself included.
    pub(crate) processes_max: u64,
    pub(crate) program: CString,
    pub(crate) arguments: Vec<CString>,
    pub(crate) environment: Vec<CString>,
    pub(crate) filter: &'f [libc::sock_filter],
    pub(crate) stdin: OwnedFd,
    pub(crate) stdout: OwnedFd,
    pub(crate) stderr: OwnedFd,
    /// Where it says what became of it.
    pub(crate) says: File,
    /// Where it waits.
    pub(crate) go: File,
}

/// Where a command runs.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Ground {
    /// In namespaces, in which its process has capabilities to give up.
    Namespaces,
    /// As an ordinary process, which has none.
    Alone,
}

/// One line of JSON from the command's process while it is still ours.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Word {
    /// Everything is given up.
    Confined {
        landlock_abi: u32,
        /// The descriptor, in that process, at which its filter asks.
        listener: Option<i32>,
    },
    /// It could not be.
    Fault(Fault),
    /// The program cannot be executed.
    NotStarted { message: String },
}

/// A program that takes the host's core dumps by a pipe gets them for 0 too, and for 1 not. No file is so small.
pub(crate) const CORE_BYTES_MAX: u64 = 1;

/// Limits that the kernel enforces for each process, or for all processes of the user in the namespace.
pub(crate) const RESOURCES: &[(&str, Resource, u64)] = &[
    ("processes", Resource::Nproc, PROCESSES_MAX),
    ("data_bytes", Resource::Data, MEMORY_BYTES_MAX),
    ("file_bytes", Resource::Fsize, FILE_BYTES_MAX),
    ("core_bytes", Resource::Core, CORE_BYTES_MAX),
    ("descriptors", Resource::Nofile, DESCRIPTORS_MAX),
    ("locked_bytes", Resource::Memlock, 8 << 20),
    ("message_queue_bytes", Resource::Msgqueue, 0),
    ("pending_signals", Resource::Sigpending, PENDING_SIGNALS_MAX),
];

impl Payload<'_> {
    /// Becomes the command. Runs in a process of its own.
    pub(crate) fn start(mut self) -> ! {
        let word = match self.confine() {
            Ok((landlock_abi, listener)) => Word::Confined { landlock_abi, listener },
            Err(fault) => Word::Fault(fault),
        };
        let confined = matches!(word, Word::Confined { .. });
        self.say(&word);
        let mut byte = [0];
        if confined && self.go.read_exact(&mut byte).is_ok() {
            let error = sys::execute(&self.program, &self.arguments, &self.environment);
            self.say(&Word::NotStarted { message: error.to_string() });
        }
        sys::exit_now(127)
    }

    fn say(&mut self, word: &Word) {
        let mut line = serde_json::to_vec(word).unwrap_or_default();
        line.push(b'\n');
        // Nobody listens: then nobody says go either.
        let _ = self.says.write_all(&line);
    }

    fn confine(&self) -> Result<(u32, Option<i32>), Fault> {
        rustix::process::setsid().stage("making a session for the command")?;
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(0o022));
        sys::heed_signals();
        for (position, descriptor) in [&self.stdin, &self.stdout, &self.stderr].into_iter().enumerate() {
            let position = i32::try_from(position).unwrap_or_default();
            sys::duplicate_to(descriptor.as_raw_fd(), position).stage("giving the command its streams")?;
        }
        sys::close_on_exec_from(FIRST_AFTER_STANDARD).stage("closing descriptors")?;
        std::env::set_current_dir(&self.workspace).stage("entering the workspace")?;
        for (name, resource, max) in RESOURCES {
            let max = if *resource == Resource::Nproc { self.processes_max } else { *max };
            limit(*resource, max).stage(&format!("limiting {name}"))?;
        }
        if self.ground == Ground::Namespaces {
            drop_privileges()?;
        } else {
            // The collector has none either, and the end of the collector is that of the command.
            rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))
                .stage("tying the command to the collector")?;
        }
        rustix::thread::set_no_new_privs(true).stage("giving up new privileges")?;
        // pid 1 is hidden, and so would be its copy; but pid 1 must see what became of it, and nobody else is there.
        rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::Dumpable)
            .stage("showing the process to pid 1")?;
        let version = self.fence.raise().stage("raising Landlock")?;
        let listener = match sys::install_filter_that_asks(self.filter) {
            Ok(listener) => Some(listener),
            // The program that runs this machine as a container listens already, and there can be only one.
            Err(error) if error.raw_os_error() == Some(libc::EBUSY) && self.ground == Ground::Namespaces => {
                let filter = filter::that_asks_nobody(self.filter);
                sys::install_filter(&filter).stage("installing the seccomp filter")?;
                None
            }
            Err(error) => return Err(Fault::new("installing the seccomp filter", error)),
        };
        Ok((version, listener))
    }
}

/// Never more than what the caller has itself.
fn limit(resource: Resource, max: u64) -> rustix::io::Result<()> {
    let hard = rustix::process::getrlimit(resource).maximum;
    let max = Some(hard.map_or(max, |hard| hard.min(max)));
    setrlimit(resource, Rlimit { current: max, maximum: max })
}

/// Takes every capability out of the set of those that can be had.
pub(crate) fn drop_bounds() -> Result<(), Fault> {
    // The kernel says `EINVAL` after the last capability that it knows.
    for capability in 0.. {
        match sys::drop_bound(capability) {
            Ok(()) => {}
            Err(error) if error.raw_os_error() == Some(libc::EINVAL) && capability > 0 => break,
            Err(error) => return Err(Fault::new("dropping capabilities", error)),
        }
    }
    Ok(())
}

fn drop_privileges() -> Result<(), Fault> {
    drop_bounds()?;
    // Nothing, no set-user-id program either, gives any of them back.
    let bits = CapabilitiesSecureBits::NO_ROOT
        | CapabilitiesSecureBits::NO_ROOT_LOCKED
        | CapabilitiesSecureBits::NO_SETUID_FIXUP
        | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
        | CapabilitiesSecureBits::KEEP_CAPS_LOCKED
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
        | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED;
    rustix::thread::set_capabilities_secure_bits(bits).stage("locking capabilities")?;
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    rustix::thread::set_capabilities(None, none).stage("dropping capabilities")
}
