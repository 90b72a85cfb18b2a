//! The caller's side: checks what can be checked, starts the helper with nothing of the caller's, and stops it if it
//! does not end.

use super::identity::{self, Identity};
use super::limits::{GRACE_MS, LANDLOCK_FULL};
use super::sys::{self, Waiting};
use super::toolbox::{Host, Toolbox};
use super::wire::{
    Answer, Fault, HELPER_NAME, Order, RunOrder, Stage, StepOrder, WriteOrder, above_standard, memory_file,
    read_message, write_message,
};
use super::{Feature, Level, Probe, Report, SandboxError, Session, Step, filter, init};
use ordain_spec::path_problem;
use ordain_spec::profile::Profile;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::process::{
    DumpableBehavior, Pid, Signal, WaitOptions, dumpable_behavior, pidfd_send_signal, waitpid,
};
use rustix::time::Timespec;
use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Runs the steps of a session.
///
/// The program must call [`enter_if_asked`](super::enter_if_asked) first thing in `main`: it is started again as the
/// first process of the sandbox.
pub fn run(session: &Session) -> Result<Report, SandboxError> {
    let workspace = usable(session)?;
    // What follows is done while the helper starts.
    let helper = Helper::start()?;
    let places = Places::make(&workspace).map_err(setup_error)?;
    let order = order_of(session, &workspace, &places);
    let time_ms: u64 = order.steps.iter().map(|step| step.timeout_ms).sum::<u64>() + grace_ms();
    let contents = session.writes.iter().filter_map(|write| write.content.as_deref());
    match helper.ask(&Order::Run(Box::new(order)), contents, Duration::from_millis(time_ms))? {
        Answer::Report(report) => Ok(*report),
        Answer::Fault(fault) => Err(setup_error(fault)),
        Answer::Level { found, wanted, landlock_abi } => Err(level_error(found, wanted, landlock_abi)),
        Answer::Write { path, problem } => Err(SandboxError::Write { path, problem }),
        Answer::Probe(_) => Err(SandboxError::NoReport("another answer than was asked for".to_owned())),
    }
}

/// What setting up and collecting may take. Tests of this very limit do not have that much time.
fn grace_ms() -> u64 {
    let shorter = cfg!(debug_assertions).then(|| std::env::var("ORDAIN_TEST_GRACE_MS").ok()).flatten();
    shorter.and_then(|text| text.parse().ok()).unwrap_or(GRACE_MS)
}

/// What this machine can do, found out by doing it.
pub fn probe() -> Probe {
    let time = Duration::from_millis(GRACE_MS);
    let asked = Helper::start().map_err(SandboxError::from);
    let cause = match asked.and_then(|helper| helper.ask(&Order::Probe, std::iter::empty(), time)) {
        Ok(Answer::Probe(probe)) => return probe,
        Ok(_) => "another answer than was asked for".to_owned(),
        Err(error) => error.to_string(),
    };
    let feature = Feature::missing("helper", &cause, "check that this program may start itself");
    Probe { level: None, caller: String::new(), features: vec![feature] }
}

/// Where the workspace really is, if the session can be run at all.
fn usable(session: &Session) -> Result<PathBuf, SandboxError> {
    let profile = &session.profile;
    if profile.allow_network {
        let problem = "it allows a network, and the sandbox has none; set `allow_network` to false";
        return Err(SandboxError::Profile { profile: profile.name.clone(), problem });
    }
    let unusable =
        |error: io::Error| SandboxError::Workspace { path: session.workspace.display().to_string(), error };
    let workspace = session.workspace.canonicalize().map_err(unusable)?;
    if !workspace.is_dir() {
        return Err(unusable(io::Error::new(io::ErrorKind::NotADirectory, "it is not a folder")));
    }
    if workspace == Path::new("/") {
        return Err(unusable(io::Error::new(io::ErrorKind::InvalidInput, "it is the root of the system")));
    }
    for write in &session.writes {
        if let Some(problem) = path_problem(&write.path) {
            return Err(SandboxError::Write { path: write.path.clone(), problem });
        }
    }
    Ok(workspace)
}

fn order_of(session: &Session, workspace: &Path, places: &Places) -> RunOrder {
    let profile = &session.profile;
    let programs = session.steps.iter().filter_map(|step| step.argv.first().map(String::as_str));
    let toolbox = Toolbox::new(&Host::of_environment(), workspace, &profile.allowed_commands, programs);
    let environment = toolbox.environment();
    let (filter, filter_sha256) = filter::written().clone();
    RunOrder {
        workspace: workspace.into(),
        identity: places.identity,
        namespaces_of: places.namespaces.as_ref().map(number),
        owner_mapped_by: places.owner_mapped.as_ref().map(number),
        writes: session
            .writes
            .iter()
            .map(|write| WriteOrder { path: write.path.clone(), bytes: write.content.as_ref().map(Vec::len) })
            .collect(),
        steps: session.steps.iter().map(|step| checked(step, profile)).collect(),
        inspect: session.inspect.clone(),
        binds: toolbox.binds,
        links: toolbox.links,
        path: toolbox.path,
        environment,
        output_files_max: profile.max_output_files,
        output_bytes_max: profile.max_total_output_bytes,
        write_roots: profile.allowed_write_roots.clone(),
        filter,
        filter_sha256,
        level_min: session.level_min,
    }
}

/// Where the helper will go.
struct Places {
    identity: Identity,
    /// Nobody but root can say who is who in the namespaces of a process that hides its memory. The helper hides
    /// nothing, and makes its own then.
    namespaces: Option<Waiting>,
    /// Only root may show a workspace as somebody else's.
    owner_mapped: Option<Waiting>,
}

impl Places {
    fn make(workspace: &Path) -> Result<Self, Fault> {
        let identity = Identity::of_caller()?;
        let owner_mapped = match identity {
            Identity::Root { id } => {
                let owner = identity::owner(workspace).stage("finding the owner of the workspace")?;
                Some(identity::namespace_that_maps(owner, id)?)
            }
            Identity::User { .. } => None,
        };
        let is_hidden = dumpable_behavior().is_ok_and(|it| it != DumpableBehavior::Dumpable);
        let namespaces = match identity {
            Identity::User { .. } if is_hidden => None,
            _ => Some(init::new_namespaces(identity)?),
        };
        Ok(Self { identity, namespaces, owner_mapped })
    }
}

fn number(waiting: &Waiting) -> i32 {
    waiting.process.as_raw_nonzero().get()
}

fn checked(step: &Step, profile: &Profile) -> StepOrder {
    let timeout_ms = step.timeout_ms.unwrap_or(profile.timeout_ms).min(profile.timeout_ms);
    let not_allowed = match step.argv.first() {
        None => Some("there is no command".to_owned()),
        Some(command) if command.is_empty() => Some("the command has no name".to_owned()),
        Some(_) if step.argv.iter().any(|argument| argument.contains('\0')) => {
            Some("an argument contains a NUL character".to_owned())
        }
        Some(command) => {
            let allowed = profile.allowed_commands.iter().any(|it| it == "*" || it == command);
            (!allowed).then(|| refusal(command, profile))
        }
    };
    StepOrder { step: step.clone(), timeout_ms, not_allowed }
}

fn refusal(command: &str, profile: &Profile) -> String {
    let list = match profile.allowed_commands.as_slice() {
        [] => "it allows none".to_owned(),
        commands => format!("it allows {}", commands.join(", ")),
    };
    format!("`{command}` is not among the commands of the profile `{}`: {list}", profile.name)
}

/// The helper while it runs. It ends when this is dropped.
struct Helper {
    order: File,
    answer: File,
    complaints: File,
    /// The helper waits at the other end until the order is written. That end is open as long as the helper or pid 1
    /// is there.
    gate: OwnedFd,
    process: Pid,
    ended: OwnedFd,
}

impl Helper {
    /// The helper starts with no environment, no terminal, and three descriptors besides the standard ones: what the
    /// caller has open or knows by its environment is out of reach before the helper's first instruction.
    fn start() -> io::Result<Self> {
        let (order, answer) = (memory_file("order")?, memory_file("answer")?);
        let complaints = memory_file("complaints")?;
        let (waits, gate) = rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)?;
        let (waits, gate) = (above_standard(waits)?, above_standard(gate)?);
        let nothing = above_standard(open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?)?;
        let kept = [order.as_raw_fd(), answer.as_raw_fd(), waits.as_raw_fd()];
        let mut arguments = vec![CString::new(HELPER_NAME)?];
        for descriptor in kept {
            arguments.push(CString::new(descriptor.to_string())?);
        }
        let (process, ended) = sys::start_bare(&sys::Start {
            program: c"/proc/self/exe",
            arguments: &arguments,
            streams: [nothing.as_raw_fd(), nothing.as_raw_fd(), complaints.as_raw_fd()],
            kept: &kept,
        })?;
        Ok(Self { order, answer, complaints, gate, process, ended })
    }

    /// Gives the helper its order, waits for it, and takes its answer.
    fn ask<'b>(
        mut self,
        order: &Order,
        contents: impl Iterator<Item = &'b [u8]>,
        time: Duration,
    ) -> Result<Answer, SandboxError> {
        write_message(&mut self.order, order, contents)?;
        // A helper that is gone has no answer either, and that is what is said then.
        let _ = rustix::io::write(&self.gate, b"!");
        self.wait(time)?;
        read_message(&mut self.answer).map_err(|_| {
            let mut said = String::new();
            let _ = self.complaints.seek(SeekFrom::Start(0));
            let _ = (&mut self.complaints).take(1_000).read_to_string(&mut said);
            let said = said.trim();
            SandboxError::NoReport(if said.is_empty() { "it was killed".to_owned() } else { said.to_owned() })
        })
    }

    /// The backstop: the collector ends its commands itself, and this ends the collector.
    fn wait(&self, time: Duration) -> Result<(), SandboxError> {
        let end = Instant::now() + time;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(SandboxError::Hung(u64::try_from(time.as_millis()).unwrap_or(u64::MAX)));
            }
            let left = Timespec::try_from(left).map_err(io::Error::other)?;
            match poll(&mut [PollFd::new(&self.ended, PollFlags::IN)], Some(&left)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(error) => return Err(io::Error::from(error).into()),
            }
        }
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        // By the descriptor, which never means another process. That it has ended is no failure.
        let _ = pidfd_send_signal(&self.ended, Signal::KILL);
        while matches!(waitpid(Some(self.process), WaitOptions::empty()), Err(rustix::io::Errno::INTR)) {}
        // The end of the helper is the end of pid 1, and that of everything else in there.
        let time = Timespec { tv_sec: 5, tv_nsec: 0 };
        let _ = poll(&mut [PollFd::new(&self.gate, PollFlags::empty())], Some(&time));
    }
}

fn level_error(found: Level, wanted: Level, landlock_abi: u32) -> SandboxError {
    let cause = match landlock_abi {
        0 => "the kernel has no Landlock, or it is off".to_owned(),
        abi => format!("the kernel has Landlock {abi}, and {LANDLOCK_FULL} is needed"),
    };
    let remedy = "use Linux 6.2 or newer with `landlock` in the kernel's list of security modules".to_owned();
    SandboxError::Level { found, wanted, cause, remedy }
}

fn setup_error(fault: Fault) -> SandboxError {
    let remedy = super::probe::remedy(&fault.stage, fault.errno);
    SandboxError::Setup { stage: fault.stage, cause: fault.message, remedy }
}
