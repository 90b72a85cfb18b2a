//! The caller's side: checks what can be checked, starts the helper with nothing of the caller's, and stops it if it
//! does not end.

#![allow(unsafe_code, reason = "closing what the helper must not inherit happens between fork and exec")]

use super::limits::{GRACE_MS, LANDLOCK_FULL, MESSAGE_BYTES_MIN, READ_BYTES_PER_MS};
use super::place::mounted_in;
use super::toolbox::{Host, Toolbox};
use super::wire::{
    Answer, FIRST_AFTER_STANDARD, Fault, HELPER_NAME, Order, RunOrder, StepOrder, WriteOrder, memory_file,
    read_message, write_message,
};
use super::{Feature, Level, Probe, Report, SandboxError, Session, Step, StepEvent, sys};
use ordain_spec::path_problem;
use ordain_spec::profile::Profile;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::pipe::PipeFlags;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use rustix::time::Timespec;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Runs the steps of a session.
///
/// The program must call [`enter_if_asked`](super::enter_if_asked) first thing in `main`: it is started again as the
/// first process of the sandbox.
pub fn run(session: &Session) -> Result<Report, SandboxError> {
    run_watched(session, &mut |_| {})
}

/// Runs the steps of a session, and tells when each begins and ends.
pub fn run_watched(session: &Session, watch: &mut dyn FnMut(StepEvent)) -> Result<Report, SandboxError> {
    let order = order_of(session)?;
    let reading_ms = order.output_bytes_max / READ_BYTES_PER_MS;
    let time_ms: u64 = order.steps.iter().map(|step| step.timeout_ms + reading_ms).sum::<u64>() + GRACE_MS;
    let contents = session.writes.iter().filter_map(|write| write.content.as_deref());
    match ask(&Order::Run(Box::new(order)), contents, Duration::from_millis(time_ms), watch)? {
        Answer::Report(report) => Ok(*report),
        Answer::Fault(fault) => Err(setup_error(fault)),
        Answer::Level { found, wanted, landlock_abi } => Err(level_error(found, wanted, landlock_abi)),
        Answer::Write { path, problem } => Err(SandboxError::Write { path, problem }),
        Answer::Probe(_) => Err(SandboxError::NoReport("another answer than was asked for".to_owned())),
    }
}

/// What this machine can do, found out by doing it.
pub fn probe() -> Probe {
    let time = Duration::from_millis(GRACE_MS);
    let cause = match ask(&Order::Probe, std::iter::empty(), time, &mut |_| {}) {
        Ok(Answer::Probe(probe)) => return probe,
        Ok(_) => "another answer than was asked for".to_owned(),
        Err(error) => error.to_string(),
    };
    let feature = Feature::missing("helper", &cause, "check that this program may start itself");
    Probe { level: None, caller: String::new(), features: vec![feature] }
}

fn order_of(session: &Session) -> Result<RunOrder, SandboxError> {
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
    if let Some(mounted) = mounted_in(&workspace).map_err(unusable)? {
        let problem =
            format!("`{}` is mounted in it, and would not be seen; use a folder without", mounted.display());
        return Err(unusable(io::Error::other(problem)));
    }
    for write in &session.writes {
        if let Some(problem) = path_problem(&write.path) {
            return Err(SandboxError::Write { path: write.path.clone(), problem });
        }
    }
    if let Some(write) = session
        .writes
        .iter()
        .zip(session.writes.iter().skip(1))
        .find_map(|(left, right)| (left.after_steps > right.after_steps).then_some(right))
    {
        let problem = "it comes before another that is listed earlier".to_owned();
        return Err(SandboxError::Write { path: write.path.clone(), problem });
    }
    let programs = session.steps.iter().filter_map(|step| step.argv.first().map(String::as_str));
    let toolbox = Toolbox::new(&Host::of_environment(), &workspace, &profile.allowed_commands, programs);
    let environment = toolbox.environment();
    Ok(RunOrder {
        workspace: workspace.into(),
        writes: session
            .writes
            .iter()
            .map(|write| WriteOrder {
                path: write.path.clone(),
                bytes: write.content.as_ref().map(Vec::len),
                after_steps: write.after_steps,
                required: write.required,
            })
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
        level_min: session.level_min,
    })
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

/// Starts the helper, waits for it, and takes its answer.
fn ask<'b>(
    order: &Order,
    contents: impl Iterator<Item = &'b [u8]>,
    time: Duration,
    watch: &mut dyn FnMut(StepEvent),
) -> Result<Answer, SandboxError> {
    room_for_messages()?;
    let mut order_file = memory_file("order")?;
    write_message(&mut order_file, order, contents)?;
    let mut answer_file = memory_file("answer")?;
    let mut complaints = memory_file("complaints")?;
    // Neither side ever waits for the other: what does not fit is left out.
    let flags = PipeFlags::CLOEXEC | PipeFlags::NONBLOCK;
    let (news, teller) = rustix::pipe::pipe_with(flags).map_err(io::Error::from)?;
    let mut child =
        start([order_file.as_raw_fd(), answer_file.as_raw_fd(), teller.as_raw_fd()], &complaints)?;
    drop(teller);
    let mut news = News { pipe: File::from(news), unread: Vec::new(), open: true };
    wait(&mut child, time, &mut news, watch)?;
    read_message(&mut answer_file).map_err(|_| {
        let mut said = String::new();
        let _ = complaints.seek(SeekFrom::Start(0));
        let _ = complaints.take(1_000).read_to_string(&mut said);
        let said = said.trim();
        SandboxError::NoReport(if said.is_empty() { "it was killed".to_owned() } else { said.to_owned() })
    })
}

/// Files in memory count as files, and to write one that is too long ends the caller.
fn room_for_messages() -> Result<(), SandboxError> {
    match rustix::process::getrlimit(rustix::process::Resource::Fsize).current {
        Some(max) if max < MESSAGE_BYTES_MIN => Err(SandboxError::Setup {
            stage: "making room for the report".to_owned(),
            cause: format!("the caller may write files of {max} bytes, and {MESSAGE_BYTES_MIN} are needed"),
            remedy: Some("raise the limit (`ulimit -f`)".to_owned()),
        }),
        _ => Ok(()),
    }
}

/// The helper starts with no environment, no terminal, and three descriptors besides the standard ones: what the
/// caller has open or knows by its environment is out of reach before the helper's first instruction.
fn start(kept: [i32; 3], complaints: &File) -> io::Result<Child> {
    let mut command = Command::new("/proc/self/exe");
    command.arg0(HELPER_NAME).env_clear().current_dir("/");
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(complaints.try_clone()?);
    command.args(kept.map(|descriptor| descriptor.to_string()));
    let prepare = move || {
        sys::close_on_exec_from(FIRST_AFTER_STANDARD)?;
        for descriptor in kept {
            sys::keep_on_exec(descriptor)?;
        }
        rustix::process::setsid()?;
        rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL))?;
        Ok(())
    };
    // SAFETY: between fork and exec only system calls are made; nothing allocates or takes a lock.
    unsafe { command.pre_exec(prepare) };
    command.spawn()
}

/// What the collector tells while it works, a line for each event.
struct News {
    pipe: File,
    unread: Vec<u8>,
    open: bool,
}

impl News {
    /// Reads what there is, without waiting.
    fn read(&mut self, watch: &mut dyn FnMut(StepEvent)) {
        let mut buffer = [0; 4_096];
        loop {
            match self.pipe.read(&mut buffer) {
                Ok(0) => self.open = false,
                Ok(length) => {
                    self.unread.extend(buffer.iter().take(length));
                    continue;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => self.open &= error.kind() == io::ErrorKind::WouldBlock,
            }
            break;
        }
        while let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.unread.drain(..=end).collect();
            // A line that was cut is no news.
            if let Ok(event) = serde_json::from_slice(&line) {
                watch(event);
            }
        }
    }
}

/// The backstop: the collector ends its commands itself, and this ends the collector.
fn wait(
    child: &mut Child,
    time: Duration,
    news: &mut News,
    watch: &mut dyn FnMut(StepEvent),
) -> Result<(), SandboxError> {
    let end = Instant::now() + time;
    let process = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let process = process.ok_or_else(|| io::Error::other("no process id"))?;
    let descriptor = match pidfd_open(process, PidfdFlags::empty()) {
        Ok(descriptor) => descriptor,
        // Ended, and gone because the caller ignores the end of its children.
        Err(rustix::io::Errno::SRCH) => {
            news.read(watch);
            return Ok(());
        }
        Err(error) => return Err(io::Error::from(error).into()),
    };
    loop {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            child.kill()?;
            reap(child)?;
            return Err(SandboxError::Hung(u64::try_from(time.as_millis()).unwrap_or(u64::MAX)));
        }
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        let mut waiting = vec![PollFd::new(&descriptor, PollFlags::IN)];
        if news.open {
            waiting.push(PollFd::new(&news.pipe, PollFlags::IN));
        }
        match poll(&mut waiting, Some(&left)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
        let ended = waiting.first().is_some_and(|it| !it.revents().is_empty());
        news.read(watch);
        if ended {
            reap(child)?;
            return Ok(());
        }
    }
}

/// A caller that ignores the end of its children has none to wait for.
fn reap(child: &mut Child) -> io::Result<()> {
    match child.wait() {
        Err(error) if error.raw_os_error() == Some(libc::ECHILD) => Ok(()),
        ended => ended.map(drop),
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
