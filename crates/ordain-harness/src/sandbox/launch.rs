//! The caller's side: checks what can be checked, starts the helper with nothing of the caller's, and stops it if it
//! does not end.

use super::identity::{self, Identity};
use super::level::{FLAG, FLAG_MEANS};
use super::limits::{
    COPY_BYTES_MAX, ENDING_MS, GRACE_MS, LANDLOCK_FULL, MESSAGE_BYTES_MIN, READ_BYTES_PER_MS,
};
use super::place::mounted_in;
use super::sys::{self, Waiting};
use super::toolbox::{Host, Toolbox};
use super::wire::{
    Answer, Fault, HELPER_NAME, Order, RunOrder, Stage, StepOrder, WriteOrder, above_standard, memory_file,
    read_message, write_message,
};
use super::{Feature, Level, Probe, Report, SandboxError, Session, Step, StepEvent, alone, filter, init};
use ordain_spec::path_problem;
use ordain_spec::profile::Profile;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags, open};
use rustix::pipe::{PipeFlags, pipe_with};
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
    run_and_tell(session, None)
}

/// Runs the steps of a session, and tells when each begins and ends.
pub fn run_watched(session: &Session, watch: &mut dyn FnMut(StepEvent)) -> Result<Report, SandboxError> {
    run_and_tell(session, Some(watch))
}

type Watch<'w> = Option<&'w mut dyn FnMut(StepEvent)>;

fn run_and_tell(session: &Session, mut watch: Watch<'_>) -> Result<Report, SandboxError> {
    let workspace = usable(session)?;
    let tell = watch.as_mut().map(|watch| &mut **watch as &mut dyn FnMut(StepEvent));
    match in_namespaces(session, &workspace, tell) {
        Err(SandboxError::Setup { stage, cause, remedy }) => {
            let refusal = Refusal { stage, cause, remedy };
            // The abilities of the machine are probed without the workspace, which could make this one
            // attempt fail.
            match (probe().level, session.level_min) {
                (Some(Level::LandlockOnly), Level::LandlockOnly) => on_a_copy(session, &workspace, watch),
                (Some(Level::LandlockOnly), wanted) => Err(refusal.for_want_of(wanted)),
                _ => Err(refusal.into()),
            }
        }
        done => done,
    }
}

fn in_namespaces(session: &Session, workspace: &Path, watch: Watch<'_>) -> Result<Report, SandboxError> {
    // The following is done while the helper starts.
    let helper = Helper::start(watch)?;
    refuse_mounted(session, workspace)?;
    let places = Places::make(workspace).map_err(setup_error)?;
    let order = order_of(session, workspace, &places, None);
    let time = Duration::from_millis(order.time_ms);
    ask(helper, session, order, time)
}

/// Without namespaces, on a copy.
fn on_a_copy(session: &Session, workspace: &Path, watch: Watch<'_>) -> Result<Report, SandboxError> {
    let mut helper = Helper::start(watch)?;
    helper.ends_others = true;
    refuse_mounted(session, workspace)?;
    let identity = Identity::without_namespaces().map_err(setup_error)?;
    let base =
        private_folder(workspace).stage("finding a place for a private folder").map_err(setup_error)?;
    let places = Places { identity, namespaces: None, owner_mapped: None };
    let order = order_of(session, workspace, &places, Some(&base));
    let reading_ms = COPY_BYTES_MAX / READ_BYTES_PER_MS * (order.steps.len() as u64 + 2);
    // The helper ends everything by itself, and is given the time for it.
    let time = Duration::from_millis(order.time_ms + reading_ms + ENDING_MS);
    let done = ask(helper, session, order, time);
    // The helper has removed it, unless somebody killed the helper.
    alone::remove(Path::new(&base));
    done
}

fn ask(
    helper: Helper<'_>,
    session: &Session,
    order: RunOrder,
    time: Duration,
) -> Result<Report, SandboxError> {
    let contents = session.writes.iter().filter_map(|write| write.content.as_deref());
    let time_ms = order.time_ms;
    match helper.ask(&Order::Run(Box::new(order)), contents, time)? {
        Answer::Report(report) => Ok(*report),
        Answer::Fault(fault) => Err(setup_error(fault)),
        Answer::Level { found, wanted, landlock_abi } => Err(level_error(found, wanted, landlock_abi)),
        Answer::Write { path, problem } => Err(SandboxError::Write { path, problem }),
        Answer::Hung => Err(SandboxError::Hung(time_ms)),
        Answer::Probe(_) => Err(SandboxError::NoReport("another answer than was asked for".to_owned())),
    }
}

/// A name that nobody can guess, in the folder for temporary files.
fn private_folder(workspace: &Path) -> io::Result<String> {
    let temporary = std::env::temp_dir().canonicalize()?;
    if temporary.starts_with(workspace) {
        let problem = format!(
            "`{}` is in the workspace, and TMPDIR must name a folder outside of it",
            temporary.display()
        );
        return Err(io::Error::other(problem));
    }
    let mut random = [0; 16];
    File::open("/dev/urandom")?.read_exact(&mut random)?;
    let folder = temporary.join(format!("ordain-sandbox-{:032x}", u128::from_ne_bytes(random)));
    let no_text = || io::Error::other("the name of the folder for temporary files is not text");
    folder.into_os_string().into_string().map_err(|_| no_text())
}

/// Why there are no namespaces.
struct Refusal {
    stage: String,
    cause: String,
    remedy: Option<String>,
}

impl Refusal {
    /// More is wanted than the level `landlock-only`, which there is.
    fn for_want_of(self, wanted: Level) -> SandboxError {
        if wanted == Level::Full {
            let Self { stage, cause, remedy } = self;
            let remedy = remedy.unwrap_or_else(|| "use a machine that has namespaces".to_owned());
            return SandboxError::Level {
                found: Level::LandlockOnly,
                wanted,
                cause: format!("{stage}: {cause}"),
                remedy,
            };
        }
        let remedy = self.remedy.map(|it| format!("{it}; ")).unwrap_or_default();
        let remedy = format!("{remedy}or allow less with `{FLAG}`: {FLAG_MEANS}");
        Self { remedy: Some(remedy), ..self }.into()
    }
}

impl From<Refusal> for SandboxError {
    fn from(Refusal { stage, cause, remedy }: Refusal) -> Self {
        Self::Setup { stage, cause, remedy }
    }
}

/// The time that setting up and collecting may take. Tests of this very limit do not have that much time.
fn grace_ms() -> u64 {
    let shorter = cfg!(debug_assertions).then(|| std::env::var("ORDAIN_TEST_GRACE_MS").ok()).flatten();
    shorter.and_then(|text| text.parse().ok()).unwrap_or(GRACE_MS)
}

/// The abilities of this machine, found by trying them.
pub fn probe() -> Probe {
    let time = Duration::from_millis(GRACE_MS);
    let cause =
        match Helper::start(None).and_then(|helper| helper.ask(&Order::Probe, std::iter::empty(), time)) {
            Ok(Answer::Probe(probe)) => return probe,
            Ok(_) => "another answer than was asked for".to_owned(),
            Err(error) => error.to_string(),
        };
    let feature = Feature::missing("helper", &cause, "check that this program may start itself");
    Probe { level: None, caller: String::new(), features: vec![feature] }
}

fn unusable(session: &Session, error: io::Error) -> SandboxError {
    SandboxError::Workspace { path: session.workspace.display().to_string(), error }
}

/// Anything mounted in a workspace would not be seen.
fn refuse_mounted(session: &Session, workspace: &Path) -> Result<(), SandboxError> {
    match mounted_in(workspace).map_err(|error| unusable(session, error))? {
        None => Ok(()),
        Some(mounted) => {
            let mounted = mounted.display();
            let problem = format!("`{mounted}` is mounted in it, and would not be seen");
            Err(unusable(session, io::Error::other(problem)))
        }
    }
}

/// Where the workspace really is, if the session can be run at all.
fn usable(session: &Session) -> Result<PathBuf, SandboxError> {
    let profile = &session.profile;
    if profile.allow_network {
        let problem = "`allow_network` is true, and the sandbox has no network";
        return Err(SandboxError::Profile { profile: profile.name.clone(), problem });
    }
    let unusable = |error: io::Error| unusable(session, error);
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
    if let Some(write) = session
        .writes
        .iter()
        .zip(session.writes.iter().skip(1))
        .find_map(|(left, right)| (left.after_steps > right.after_steps).then_some(right))
    {
        let problem = "it comes before another that is listed earlier".to_owned();
        return Err(SandboxError::Write { path: write.path.clone(), problem });
    }
    Ok(workspace)
}

fn order_of(session: &Session, workspace: &Path, places: &Places, base: Option<&str>) -> RunOrder {
    let profile = &session.profile;
    let programs = session.steps.iter().filter_map(|step| step.argv.first().map(String::as_str));
    let toolbox = Toolbox::new(&Host::of_environment(), workspace, &profile.allowed_commands, programs);
    let toolbox = toolbox.moved_to(base.unwrap_or_default());
    let environment = toolbox.environment();
    let (filter, filter_sha256) = match base {
        None => filter::written().clone(),
        Some(_) => filter::written_alone(),
    };
    let steps: Vec<StepOrder> = session.steps.iter().map(|step| checked(step, profile)).collect();
    let reading_ms = profile.max_total_output_bytes / READ_BYTES_PER_MS;
    let time_ms: u64 = steps.iter().map(|step| step.timeout_ms + reading_ms).sum::<u64>() + grace_ms();
    RunOrder {
        workspace: workspace.into(),
        identity: places.identity,
        namespaces_of: places.namespaces.as_ref().map(number),
        owner_mapped_by: places.owner_mapped.as_ref().map(number),
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
        steps,
        inspect: session.inspect.clone(),
        keep: session.keep,
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
        base: base.map(str::to_owned),
        time_ms,
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
    let path = if command.contains('/') { "; a path is allowed only by `*`" } else { "" };
    format!("`{command}` is not among the commands of the profile `{}`: {list}{path}", profile.name)
}

/// The helper while it runs. It ends when this is dropped.
struct Helper<'w> {
    order: File,
    answer: File,
    complaints: File,
    /// The helper waits at the other end until the order is written. That end is open as long as the helper or pid 1
    /// is there.
    gate: Option<OwnedFd>,
    /// The other end, until the order is written: who writes where nobody can read is killed.
    waits: Option<OwnedFd>,
    process: Pid,
    ended: OwnedFd,
    news: Option<News<'w>>,
    /// Its end is not by itself the end of everything: it is asked to see to that.
    ends_others: bool,
}

impl<'w> Helper<'w> {
    /// The helper starts with no environment, no terminal, and three or four descriptors besides the standard ones:
    /// what the caller has open or knows by its environment is out of reach before the helper's first instruction.
    fn start(watch: Watch<'w>) -> Result<Self, SandboxError> {
        room_for_messages()?;
        let (order, answer) = (memory_file("order")?, memory_file("answer")?);
        let complaints = memory_file("complaints")?;
        let (waits, gate) = pipe_above_standard(PipeFlags::CLOEXEC)?;
        let nothing = open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty());
        let nothing = above_standard(nothing.map_err(io::Error::from)?)?;
        let mut kept = vec![order.as_raw_fd(), answer.as_raw_fd(), waits.as_raw_fd()];
        // Neither side ever waits for the other: what does not fit is left out.
        let told = watch.map(|watch| {
            let (pipe, teller) = pipe_above_standard(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK)?;
            Ok::<_, io::Error>((News { watch, pipe: pipe.into(), unread: Vec::new(), open: true }, teller))
        });
        let (news, teller) = told.transpose()?.unzip();
        kept.extend(teller.as_ref().map(AsRawFd::as_raw_fd));
        let mut arguments = vec![HELPER_NAME.to_owned()];
        arguments.extend(kept.iter().map(ToString::to_string));
        let arguments: Result<Vec<CString>, _> = arguments.into_iter().map(CString::new).collect();
        let (process, ended) = sys::start_bare(&sys::Start {
            program: c"/proc/self/exe",
            arguments: &arguments.map_err(io::Error::from)?,
            streams: [nothing.as_raw_fd(), nothing.as_raw_fd(), complaints.as_raw_fd()],
            kept: &kept,
        })?;
        let (gate, waits) = (Some(gate), Some(waits));
        Ok(Self { order, answer, complaints, gate, waits, process, ended, news, ends_others: false })
    }

    /// Gives the helper its order, waits for it, and takes its answer.
    fn ask<'b>(
        mut self,
        order: &Order,
        contents: impl Iterator<Item = &'b [u8]>,
        time: Duration,
    ) -> Result<Answer, SandboxError> {
        write_message(&mut self.order, order, contents)?;
        if let Some(gate) = &self.gate {
            rustix::io::write(gate, b"!").map_err(io::Error::from)?;
        }
        self.waits = None;
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
    fn wait(&mut self, time: Duration) -> Result<(), SandboxError> {
        let end = Instant::now() + time;
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(SandboxError::Hung(u64::try_from(time.as_millis()).unwrap_or(u64::MAX)));
            }
            let left = Timespec::try_from(left).map_err(io::Error::other)?;
            let mut waiting = vec![PollFd::new(&self.ended, PollFlags::IN)];
            let open = self.news.as_ref().filter(|news| news.open);
            waiting.extend(open.map(|news| PollFd::new(&news.pipe, PollFlags::IN)));
            match poll(&mut waiting, Some(&left)) {
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(io::Error::from(error).into()),
            }
            let ended = waiting.first().is_some_and(|it| !it.revents().is_empty());
            if let Some(news) = &mut self.news {
                news.read();
            }
            if ended {
                return Ok(());
            }
        }
    }
}

impl Drop for Helper<'_> {
    fn drop(&mut self) {
        self.waits = None;
        if self.ends_others {
            self.gate = None;
            let time = Timespec::try_from(Duration::from_millis(ENDING_MS)).ok();
            let _ = poll(&mut [PollFd::new(&self.ended, PollFlags::IN)], time.as_ref());
        }
        // By the descriptor, which never means another process. A process that has ended is fine.
        let _ = pidfd_send_signal(&self.ended, Signal::KILL);
        // A caller that ignores the end of its children has none to wait for.
        while matches!(waitpid(Some(self.process), WaitOptions::empty()), Err(rustix::io::Errno::INTR)) {}
        // The end of the helper is the end of pid 1, and that of everything else in there.
        let time = Timespec { tv_sec: 5, tv_nsec: 0 };
        if let Some(gate) = &self.gate {
            let _ = poll(&mut [PollFd::new(gate, PollFlags::empty())], Some(&time));
        }
    }
}

fn pipe_above_standard(flags: PipeFlags) -> io::Result<(OwnedFd, OwnedFd)> {
    let (reads, writes) = pipe_with(flags)?;
    Ok((above_standard(reads)?, above_standard(writes)?))
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

/// The collector's events while it works, one line each.
struct News<'w> {
    watch: &'w mut dyn FnMut(StepEvent),
    pipe: File,
    unread: Vec<u8>,
    open: bool,
}

impl News<'_> {
    /// Reads what there is, without waiting.
    fn read(&mut self) {
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
            // A line that was cut is not an event.
            if let Ok(event) = serde_json::from_slice(&line) {
                (self.watch)(event);
            }
        }
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
