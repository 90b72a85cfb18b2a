//! The helper: a process with one thread, no environment and nothing open, which makes the namespaces and starts
//! pid 1 in them.

use super::identity::{self, Identity};
use super::payload::CORE_BYTES_MAX;
use super::root::{self, Sources};
use super::sys::{self, Waiting};
use super::wire::{Answer, Fault, HELPER_NAME, Order, RunOrder, Stage, read_message, write_message};
use super::{alone, collector, probe};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags, open, openat, readlinkat};
use rustix::process::{Pid, Resource, Rlimit, Signal, WaitOptions, setrlimit, waitpid};
use std::ffi::CString;
use std::fs::File;
use std::io::Read;
use std::os::fd::OwnedFd;

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
/// Those that the caller makes while the helper starts, because a network takes its time.
const MADE_BY_CALLER: &[&str] = &["user", "net", "ipc", "uts", "cgroup"];
/// Those that pid 1 is born into.
const MADE_WITH_FIRST: &[&str] = &["mount", "pid"];

fn flags_of(names: &[&str]) -> libc::c_int {
    let listed = NAMESPACES.iter().filter(|(name, _)| names.contains(name));
    listed.fold(0, |flags, (_, flag)| flags | flag)
}

/// A process in new namespaces, of which the helper will be part.
pub(crate) fn new_namespaces(identity: Identity) -> Result<Waiting, Fault> {
    let waiting = Waiting::new(flags_of(MADE_BY_CALLER)).stage("making the namespaces")?;
    identity.map(waiting.process)?;
    Ok(waiting)
}

/// The process that started the sandbox, and its place.
pub(crate) struct Caller {
    pub(crate) identity: Identity,
    /// Their namespaces, in the order of [`NAMESPACES`].
    pub(crate) outside: Vec<CString>,
}

/// The namespaces of a process by its folder in `/proc`, each by the name that no other has.
pub(crate) fn namespaces_of(process: &OwnedFd) -> std::io::Result<Vec<CString>> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let folder = openat(process, "ns", flags, Mode::empty())?;
    let link = |name: &str| readlinkat(&folder, if name == "mount" { "mnt" } else { name }, Vec::new());
    NAMESPACES.iter().map(|(name, _)| Ok(link(name)?)).collect()
}

/// Makes this process part of new namespaces.
pub(crate) fn join(made: &Waiting) -> Result<(), Fault> {
    join_those_of(made.process.as_raw_nonzero().get())
}

fn join_those_of(process: i32) -> Result<(), Fault> {
    let process = Pid::from_raw(process).ok_or(std::io::ErrorKind::InvalidInput);
    process
        .map_err(std::io::Error::from)
        .and_then(|process| sys::join(process, flags_of(MADE_BY_CALLER)))
        .stage("joining the namespaces")
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
    let (Some(order), Some(answer), Some(gate)) = (descriptor(), descriptor(), descriptor()) else {
        sys::exit_now(2)
    };
    let mut order = File::from(sys::inherited(order));
    let mut answer = File::from(sys::inherited(answer));
    // The order is written while this process starts. A caller that has none after all closes the gate. It stays open
    // here and in pid 1: by that the caller knows that they are there.
    let mut gate = File::from(sys::inherited(gate));
    if gate.read_exact(&mut [0]).is_err() {
        sys::exit_now(0)
    }
    let listener = descriptor().map(|it| File::from(sys::inherited(it)));
    let said = match read_message(&mut order).stage("reading the order") {
        Ok(Order::Probe) => Some(Answer::Probe(probe::features())),
        Ok(Order::Run(run)) => {
            let files = Files { contents: order, answer: &answer, listener };
            let done = match run.base {
                None => supervise(*run, files),
                Some(_) => alone::supervise(&run, files, &gate),
            };
            done.err().map(Answer::Fault)
        }
        Err(fault) => Some(Answer::Fault(fault)),
    };
    let done = said.map_or(Ok(()), |said| write_message(&mut answer, &said, std::iter::empty()));
    drop(gate);
    sys::exit_now(if done.is_ok() { 0 } else { 2 })
}

/// Starts pid 1 and waits for it. Its answer is its own; a fault is one of this process.
fn supervise(order: RunOrder, files: Files<'_>) -> Result<(), Fault> {
    // Only root may show a workspace as somebody else's, and only before it stops being root.
    let sources = match order.identity {
        Identity::Root { .. } => Some(Sources::open(&order)?),
        Identity::User { .. } => None,
    };
    let outside = open("/proc/self", OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
        .map_err(std::io::Error::from)
        .and_then(|own| namespaces_of(&own))
        .stage("reading the caller's namespaces")?;
    let (alive, tie) = gate().stage("making a pipe")?;
    match order.namespaces_of {
        Some(process) => join_those_of(process)?,
        None => join(&new_namespaces(order.identity)?)?,
    }
    // Nobody needs them any more, and their end takes a while.
    for process in [order.namespaces_of, order.owner_mapped_by].into_iter().flatten() {
        let _ = Pid::from_raw(process).map(|it| rustix::process::kill_process(it, Signal::KILL));
    }
    let namespaces = flags_of(MADE_WITH_FIRST);
    let Some(first) = sys::clone_process(namespaces).stage("making the namespaces")? else {
        drop(tie);
        first_process(&order, files, outside, sources, &alive);
    };
    waitpid(Some(first), WaitOptions::empty()).stage("waiting for pid 1")?;
    Ok(())
}

/// A pipe: one end waits until somebody writes at the other, or closes it.
pub(crate) fn gate() -> std::io::Result<(File, OwnedFd)> {
    let (read, write) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
    Ok((File::from(read), write))
}

/// The descriptors that the collector reads from and writes to.
pub(crate) struct Files<'a> {
    pub(crate) contents: File,
    pub(crate) answer: &'a File,
    pub(crate) listener: Option<File>,
}

fn first_process(
    order: &RunOrder,
    Files { contents, answer, listener }: Files<'_>,
    outside: Vec<CString>,
    sources: Option<Sources>,
    helper_alive: &File,
) -> ! {
    let caller = Caller { identity: order.identity, outside };
    let said = become_first(order, sources, helper_alive)
        .map_or_else(Answer::Fault, |view| collector::collect(order, contents, &caller, view, listener));
    let done =
        answer.try_clone().and_then(|mut answer| write_message(&mut answer, &said, std::iter::empty()));
    sys::exit_now(if done.is_ok() { 0 } else { 2 })
}

fn become_first(
    order: &RunOrder,
    sources: Option<Sources>,
    helper_alive: &File,
) -> Result<root::View, Fault> {
    identity::assume(order.identity).stage("becoming the user of the namespace")?;
    // Changing the ids clears it, so it is asked for again. A helper that ended before that is told by its end of the
    // pipe, since it has no number in here.
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .stage("tying pid 1 to the helper")?;
    let now = rustix::time::Timespec { tv_sec: 0, tv_nsec: 0 };
    if poll(&mut [PollFd::new(helper_alive, PollFlags::IN)], Some(&now)).stage("tying pid 1 to the helper")?
        > 0
    {
        sys::exit_now(2);
    }
    rustix::system::sethostname(b"sandbox").stage("naming the host")?;
    rustix::thread::set_no_new_privs(true).stage("giving up new privileges")?;
    let sources = match sources {
        Some(sources) => sources,
        None => Sources::open(order)?,
    };
    let view = root::build(order, sources)?;
    // pid 1 holds capabilities of the namespace; nobody in it may look into pid 1.
    rustix::process::set_dumpable_behavior(rustix::process::DumpableBehavior::NotDumpable)
        .stage("hiding pid 1")?;
    Ok(view)
}
