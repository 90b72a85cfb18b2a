//! The helper: a process with one thread, no environment and nothing open, which makes the namespaces and starts
//! pid 1 in them.

use super::identity::{self, Identity};
use super::payload::CORE_BYTES_MAX;
use super::root::{self, Sources};
use super::wire::{Answer, Fault, HELPER_NAME, Order, RunOrder, Stage, read_message, write_message};
use super::{collector, probe, sys};
use rustix::fs::Mode;
use rustix::process::{Pid, Resource, Rlimit, Signal, WaitOptions, setrlimit, waitpid};
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

/// Every namespace that there is but the one for time, which nothing here can set.
pub(crate) const NAMESPACES: &[(&str, libc::c_int)] = &[
    ("user", libc::CLONE_NEWUSER),
    ("mount", libc::CLONE_NEWNS),
    ("pid", libc::CLONE_NEWPID),
    ("net", libc::CLONE_NEWNET),
    ("ipc", libc::CLONE_NEWIPC),
    ("uts", libc::CLONE_NEWUTS),
    ("cgroup", libc::CLONE_NEWCGROUP),
];

/// Who started the sandbox, and where they are.
pub(crate) struct Caller {
    pub(crate) identity: Identity,
    /// Their namespaces, in the order of [`NAMESPACES`].
    pub(crate) outside: Vec<PathBuf>,
}

/// The namespaces of a process, each by the name that no other has.
pub(crate) fn namespaces_of(process: &Path) -> std::io::Result<Vec<PathBuf>> {
    let link =
        |name: &str| std::fs::read_link(process.join("ns").join(if name == "mount" { "mnt" } else { name }));
    NAMESPACES.iter().map(|(name, _)| link(name)).collect()
}

/// Does not return if this process was started as the sandbox's helper; does nothing otherwise.
///
/// Call it first thing in `main`, before a thread starts or an argument is read.
pub fn enter_if_asked() {
    let mut arguments = std::env::args_os();
    if arguments.next().is_none_or(|name| name != HELPER_NAME) {
        return;
    }
    sys::own_signals();
    rustix::process::umask(Mode::from_raw_mode(0o022));
    // Root may raise a limit of 0, for which the host's programs for core dumps do not care.
    let core = Some(CORE_BYTES_MAX);
    let _ = setrlimit(Resource::Core, Rlimit { current: core, maximum: core });
    let mut descriptor = || arguments.next()?.to_str()?.parse().ok();
    let (Some(order), Some(answer)) = (descriptor(), descriptor()) else { sys::exit_now(2) };
    let mut order = File::from(sys::inherited(order));
    let mut answer = File::from(sys::inherited(answer));
    let listener = descriptor().map(|it| File::from(sys::inherited(it)));
    let said = match read_message(&mut order).stage("reading the order") {
        Ok(Order::Probe) => Some(Answer::Probe(probe::features())),
        Ok(Order::Run(run)) => supervise(*run, order, &answer, listener).err().map(Answer::Fault),
        Err(fault) => Some(Answer::Fault(fault)),
    };
    let done = said.map_or(Ok(()), |said| write_message(&mut answer, &said, std::iter::empty()));
    sys::exit_now(if done.is_ok() { 0 } else { 2 })
}

/// Starts pid 1 and waits for it. Its answer is its own; a fault is one of this process.
fn supervise(order: RunOrder, contents: File, answer: &File, listener: Option<File>) -> Result<(), Fault> {
    let identity = Identity::of_caller()?;
    // Only root may show a workspace as somebody else's, and only before it stops being root.
    let sources = match identity {
        Identity::Root { id } => Some(Sources::open(&order, Some(id))?),
        Identity::User { .. } => None,
    };
    let outside = namespaces_of(Path::new("/proc/self")).stage("reading the caller's namespaces")?;
    let (mut go, ready) = gate().stage("making a pipe")?;
    let namespaces = NAMESPACES.iter().fold(0, |flags, (_, flag)| flags | flag);
    let Some(first) = sys::clone_process(namespaces).stage("making the namespaces")? else {
        drop(ready);
        let files = Files { contents, answer, listener };
        first_process(&order, files, &Caller { identity, outside }, sources, &mut go);
    };
    drop(go);
    if let Err(fault) = identity.map(first) {
        kill(first);
        return Err(fault);
    }
    let mut ready = File::from(ready);
    let started = ready.write_all(b"!").stage("starting pid 1");
    if started.is_err() {
        kill(first);
    }
    waitpid(Some(first), WaitOptions::empty()).stage("waiting for pid 1")?;
    started
}

/// pid 1 waits at one end until somebody writes at the other.
pub(crate) fn gate() -> std::io::Result<(File, OwnedFd)> {
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    Ok((File::from(read), write))
}

fn kill(process: Pid) {
    let _ = rustix::process::kill_process(process, Signal::KILL);
    let _ = waitpid(Some(process), WaitOptions::empty());
}

/// What pid 1 reads from and writes to.
struct Files<'a> {
    contents: File,
    answer: &'a File,
    listener: Option<File>,
}

fn first_process(
    order: &RunOrder,
    Files { contents, answer, listener }: Files<'_>,
    caller: &Caller,
    sources: Option<Sources>,
    go: &mut File,
) -> ! {
    let said = become_first(order, caller.identity, sources, go)
        .map_or_else(Answer::Fault, |view| collector::collect(order, contents, caller, view, listener));
    let done =
        answer.try_clone().and_then(|mut answer| write_message(&mut answer, &said, std::iter::empty()));
    sys::exit_now(if done.is_ok() { 0 } else { 2 })
}

fn become_first(
    order: &RunOrder,
    identity: Identity,
    sources: Option<Sources>,
    go: &mut File,
) -> Result<root::View, Fault> {
    let mut byte = [0];
    go.read_exact(&mut byte).stage("waiting for the ids")?;
    identity::assume(identity).stage("becoming the user of the namespace")?;
    // Changing the ids clears it, so it is asked for again. The helper cannot have ended unseen before: the byte came.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .stage("tying pid 1 to the helper")?;
    rustix::system::sethostname(b"sandbox").stage("naming the host")?;
    rustix::thread::set_no_new_privs(true).stage("giving up new privileges")?;
    let sources = match sources {
        Some(sources) => sources,
        None => Sources::open(order, None)?,
    };
    let view = root::build(order, sources)?;
    // pid 1 holds capabilities of the namespace; nobody in it may look into pid 1.
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
        .stage("hiding pid 1")?;
    Ok(view)
}
