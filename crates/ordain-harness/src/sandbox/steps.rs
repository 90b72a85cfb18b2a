//! One command from its start to the end of everything that it started.

use super::fence::Fence;
use super::identity::kernel_root;
use super::init::{Caller, NAMESPACES, namespaces_of};
use super::limits::{
    COUNT_MS, COUNT_PIECE_MS, MAPPINGS_MAX, MEMORY_BYTES_MAX, PROCESSES_MAX, SHARED_ASKED_BYTES_MAX,
    STREAM_BYTES_KEPT_MAX, STREAM_BYTES_MAX, TICK_MS, WATCH_BYTES,
};
use super::memory::{Care, WatchCount};
use super::payload::{Ground, Payload, Word};
use super::processes::Processes;
use super::room::Room;
use super::root::View;
use super::shared::Shared;
use super::wire::{Fault, RunOrder, Stage, StepOrder};
use super::{Captured, End, Protections, WORKSPACE, alone, collector, memory, sys};
use crate::beneath::sha256_text;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags, open, openat};
use rustix::io::Errno;
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{Pid, PidfdFlags, WaitOptions, WaitStatus, pidfd_open};
use rustix::time::Timespec;
use sha2::{Digest, Sha256};
use std::ffi::CString;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

/// The parameters that all steps share.
pub(crate) struct Kernel<'o> {
    pub(crate) filter: &'o [libc::sock_filter],
    pub(crate) order: &'o RunOrder,
    pub(crate) view: &'o View,
    pub(crate) fence: &'o Fence,
    pub(crate) caller: &'o Caller,
}

impl Kernel<'_> {
    fn ground(&self) -> Ground {
        if self.order.base.is_some() { Ground::Alone } else { Ground::Namespaces }
    }

    /// Without namespaces the kernel counts all that the user has.
    fn processes_max(&self) -> u64 {
        match self.ground() {
            Ground::Namespaces => PROCESSES_MAX,
            Ground::Alone => self.view.processes.threads_of_user() + PROCESSES_MAX,
        }
    }
}

/// The result of a command.
pub(crate) struct Ran {
    pub(crate) program: Option<String>,
    pub(crate) end: End,
    pub(crate) stdout: Captured,
    pub(crate) stderr: Captured,
    pub(crate) stragglers: u64,
    pub(crate) peak_memory_bytes: u64,
    pub(crate) duration_ms: u64,
}

impl Ran {
    /// A command that did not run.
    pub(crate) fn not(end: End) -> Self {
        let nothing = || Stream::default().captured();
        Self {
            program: None,
            end,
            stdout: nothing(),
            stderr: nothing(),
            stragglers: 0,
            peak_memory_bytes: 0,
            duration_ms: 0,
        }
    }
}

/// Runs a step and ends everything that it started.
pub(crate) fn run(
    kernel: &Kernel<'_>,
    step: &StepOrder,
    protections: &mut Protections,
) -> Result<Ran, Fault> {
    let program = match resolve(&step.step.argv, kernel.order) {
        Ok(program) => program,
        Err(reason) => return Ok(Ran::not(End::NotStarted { reason })),
    };
    if let Some(base) = &kernel.order.base {
        // The command before may have locked it. Root's commands cannot, nor can their collector.
        let _ = alone::unlock(Path::new(base));
    }
    let texts = |list: Vec<String>| -> Result<Vec<CString>, Fault> {
        list.into_iter().map(|text| CString::new(text).stage("passing an argument")).collect()
    };
    let pipe = || pipe_with(PipeFlags::CLOEXEC).stage("making a pipe");
    let (stdout, stdout_end) = pipe()?;
    let (stderr, stderr_end) = pipe()?;
    let (words, says) = pipe()?;
    let (go, starts) = pipe()?;
    let environment = kernel.order.environment.iter().map(|(name, value)| format!("{name}={value}"));
    let payload = Payload {
        ground: kernel.ground(),
        workspace: kernel.order.inside(WORKSPACE),
        fence: kernel.fence,
        processes_max: kernel.processes_max(),
        program: CString::new(program.clone()).stage("passing the program")?,
        arguments: texts(step.step.argv.clone())?,
        environment: texts(environment.collect())?,
        filter: kernel.filter,
        stdin: open("/dev/null", OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
            .stage("opening /dev/null")?,
        stdout: stdout_end,
        stderr: stderr_end,
        says: says.into(),
        go: go.into(),
    };
    let Some(process) = sys::clone_process(0).stage("starting the command")? else { payload.start() };
    drop(payload);
    let mut running = Running {
        processes: &kernel.view.processes,
        rooms: &kernel.view.rooms,
        next_count: Instant::now(),
        next_watches: Instant::now(),
        watches: 0,
        counting: WatchCount::default(),
        counting_time: Duration::ZERO,
        process,
        ended: pidfd_open(process, PidfdFlags::empty()).stage("watching the command")?,
        stdout: Stream::of(stdout).stage("making a pipe")?,
        stderr: Stream::of(stderr).stage("making a pipe")?,
        shared: None,
        peak: 0,
        status: None,
    };
    let began = running.begin(words.into(), starts.into(), kernel, protections);
    let start = Instant::now();
    let end = match began {
        Ok(None) => running.watch(start + Duration::from_millis(step.timeout_ms), step.timeout_ms),
        Ok(Some(end)) => Ok(end),
        Err(fault) => {
            running.finish();
            return Err(fault);
        }
    };
    let duration = start.elapsed();
    let stragglers = running.finish();
    Ok(Ran {
        program: Some(program),
        end: end.stage("watching the command")?,
        stragglers,
        peak_memory_bytes: running.peak.max(sys::peak_of_children()),
        stdout: running.stdout.captured(),
        stderr: running.stderr.captured(),
        duration_ms: u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
    })
}

/// The program that a command names, in the sandbox's own `PATH`.
fn resolve(argv: &[String], order: &RunOrder) -> Result<String, String> {
    let name = argv.first().ok_or("there is no command")?;
    let is_program =
        |file: &Path| fs::metadata(file).is_ok_and(|it| it.is_file() && it.permissions().mode() & 0o111 != 0);
    if name.contains('/') {
        return match fs::metadata(Path::new(&order.inside(WORKSPACE)).join(name)) {
            Err(error) => Err(format!("`{name}` cannot be used: {error}")),
            Ok(metadata) if !metadata.is_file() => Err(format!("`{name}` is not a file")),
            Ok(_) => Ok(name.clone()),
        };
    }
    let found =
        order.path.iter().map(|folder| format!("{folder}/{name}")).find(|file| is_program(Path::new(file)));
    found.ok_or_else(|| format!("`{name}` was not found among the programs of this machine"))
}

struct Running<'k> {
    processes: &'k Processes,
    rooms: &'k [Room],
    /// When to look again how much is in them.
    next_count: Instant,
    /// When to count watches again, and how many there were.
    next_watches: Instant,
    watches: u64,
    /// The count that is under way, and the time that it took so far.
    counting: WatchCount,
    counting_time: Duration,
    process: Pid,
    ended: OwnedFd,
    stdout: Stream,
    stderr: Stream,
    shared: Option<Shared>,
    peak: u64,
    status: Option<WaitStatus>,
}

impl Running<'_> {
    /// Waits until the command's process has given up everything, looks at it, and lets it go. Gives an end if there
    /// was none to let go.
    fn begin(
        &mut self,
        words: File,
        mut starts: File,
        kernel: &Kernel<'_>,
        protections: &mut Protections,
    ) -> Result<Option<End>, Fault> {
        let mut words = BufReader::new(words);
        match next_word(&mut words)? {
            Some(Word::Confined { landlock_abi, listener }) => {
                protections.landlock_abi = landlock_abi;
                // Where it cannot be had, the kernel refuses what would be asked.
                let listener = listener.and_then(|it| sys::take_descriptor(self.ended.as_fd(), it).ok());
                self.shared = listener.map(Shared::new);
                if let Some(limit) = protections.limits.get_mut("shared_asked_bytes") {
                    limit.max = if self.shared.is_some() { SHARED_ASKED_BYTES_MAX } else { 0 };
                }
                if kernel.ground() == Ground::Alone {
                    alone::check_landlock(landlock_abi)?;
                    if self.shared.is_none() {
                        let error = io::Error::other("nobody could say no to new processes");
                        return Err(Fault::new("listening to the filter", error));
                    }
                    rustix::process::test_kill_process(self.process).stage("watching the command")?;
                }
                protections.level = Some(collector::level_of(kernel.ground(), landlock_abi));
                read_back(kernel, self.process, protections)?;
            }
            Some(Word::Fault(fault)) => return Err(fault),
            Some(Word::NotStarted { .. }) | None => {
                let error = io::Error::other("the process ended before it was confined");
                return Err(Fault::new("confining the command", error));
            }
        }
        if protections.level.is_none_or(|level| level < kernel.order.level_min) {
            return Ok(Some(End::Skipped));
        }
        starts.write_all(b"!").stage("starting the command")?;
        drop(starts);
        // Nothing more is said once it is the program: the pipe closes.
        Ok(match next_word(&mut words)? {
            Some(Word::NotStarted { message }) => Some(End::NotStarted { reason: message }),
            _ => None,
        })
    }

    /// Until it ends, or must be ended.
    fn watch(&mut self, deadline: Instant, timeout_ms: u64) -> io::Result<End> {
        let tick = Duration::from_millis(TICK_MS);
        let mut next_look = Instant::now() + tick;
        loop {
            let now = Instant::now();
            if now >= deadline {
                return Ok(End::TimedOut { after_ms: timeout_ms });
            }
            if now >= next_look {
                self.reap();
                if let Some(end) = self.uses_too_much(deadline) {
                    return Ok(end);
                }
                // A look that takes long must not keep the streams from being read, nor new processes waiting.
                next_look = Instant::now() + tick.max(now.elapsed());
            }
            let wait = next_look.min(deadline).saturating_duration_since(now);
            let ended = self.wait(wait)?;
            if self.stdout.bytes > STREAM_BYTES_MAX || self.stderr.bytes > STREAM_BYTES_MAX {
                return Ok(End::OutputExceeded { max_bytes: STREAM_BYTES_MAX });
            }
            if ended {
                self.reap();
            }
            if let Some(status) = self.status {
                return Ok(match (status.exit_status(), status.terminating_signal()) {
                    (Some(code), _) => End::Exited { code },
                    (None, signal) => End::Signaled { signal: signal.unwrap_or_default() },
                });
            }
        }
    }

    /// Reads what there is to read; says whether the command's own process ended.
    fn wait(&mut self, time: Duration) -> io::Result<bool> {
        let time = Timespec::try_from(time).map_err(io::Error::other)?;
        let mut waiting = vec![PollFd::new(&self.ended, PollFlags::IN)];
        let streams = [&self.stdout, &self.stderr];
        let open: Vec<bool> = streams.iter().map(|stream| stream.pipe.is_some()).collect();
        waiting.extend(
            streams
                .iter()
                .filter_map(|stream| stream.pipe.as_ref())
                .map(|pipe| PollFd::new(pipe, PollFlags::IN)),
        );
        waiting.extend(self.shared.as_ref().map(|it| PollFd::new(&it.listener, PollFlags::IN)));
        match poll(&mut waiting, Some(&time)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        // Not when there is nobody left to ask, which shows as another event: taking a question would wait.
        let is_asked = |it: &PollFd<'_>| it.revents().contains(PollFlags::IN);
        let asked = self.shared.is_some() && waiting.last().is_some_and(is_asked);
        let nobody_asks = |it: &PollFd<'_>| it.revents().contains(PollFlags::HUP) && !is_asked(it);
        let is_over = self.shared.is_some() && waiting.last().is_some_and(nobody_asks);
        let mut ready = waiting.iter().map(|it| !it.revents().is_empty());
        let ended = ready.next().unwrap_or_default();
        let mut is_ready = |open: bool| open && ready.next().unwrap_or_default();
        let stdout = is_ready(open.first().copied().unwrap_or_default());
        let stderr = is_ready(open.get(1).copied().unwrap_or_default());
        drop(waiting);
        if let Some(shared) = self.shared.as_mut().filter(|_| asked) {
            shared.answer();
        }
        if is_over {
            // Everybody is about to end, which may take a while, and this would say so all the time.
            self.shared = None;
        }
        if stdout {
            self.stdout.read()?;
        }
        if stderr {
            self.stderr.read()?;
        }
        Ok(ended)
    }

    /// Looks at the memory of all processes.
    fn uses_too_much(&mut self, deadline: Instant) -> Option<End> {
        let nobody_is_left = self.shared.as_ref().is_some_and(|it| it.nobody_is_left(self.processes));
        let mut look = memory::look(self.processes, Care::Rough, deadline);
        if look.is_too_much() {
            look = memory::look(self.processes, Care::Exact, deadline);
        }
        let watches_max = memory::watches_max();
        self.count_watches(watches_max, deadline);
        look.bytes += self.watches.max(self.counting.found) * WATCH_BYTES;
        self.peak = self.peak.max(look.bytes);
        if let Some(shared) = self.shared.as_mut().filter(|_| nobody_is_left && look.nothing_shared) {
            shared.forget();
        }
        if look.bytes > MEMORY_BYTES_MAX {
            return Some(End::MemoryExceeded { max_bytes: MEMORY_BYTES_MAX });
        }
        let too_many = |what: &str, max: u64| Some(End::TooMany { what: what.to_owned(), max });
        if self.watches > watches_max {
            return too_many("watches of epoll and inotify", watches_max);
        }
        if look.mappings > MAPPINGS_MAX {
            return too_many("mappings", MAPPINGS_MAX);
        }
        self.overflow()
    }

    /// Counts watches, for a tenth of the time at most, and piece by piece: memory is looked at between two pieces.
    fn count_watches(&mut self, max: u64, deadline: Instant) {
        let start = Instant::now();
        if start < self.next_watches {
            return;
        }
        let until = deadline.min(start + Duration::from_millis(COUNT_PIECE_MS));
        let counted = memory::watches(self.processes, max, &mut self.counting, until);
        self.counting_time += start.elapsed();
        if let Some(watches) = counted {
            let pause = std::mem::take(&mut self.counting_time) * 9;
            self.watches = watches;
            self.next_watches = Instant::now() + pause.max(Duration::from_millis(COUNT_MS));
        }
    }

    /// Looks into the folders that no file system limits, for a tenth of the time at most.
    fn overflow(&mut self) -> Option<End> {
        let start = Instant::now();
        if self.rooms.is_empty() || start < self.next_count {
            return None;
        }
        let end = self.rooms.iter().find_map(Room::overflow);
        self.next_count = Instant::now() + (start.elapsed() * 10).max(Duration::from_millis(COUNT_MS));
        end
    }

    /// Takes leave of processes that ended, whoever started them. Gives how many.
    fn reap(&mut self) -> u64 {
        let mut count = 0;
        while let Ok(Some((process, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            count += 1;
            if process == self.process {
                self.status = Some(status);
            }
        }
        count
    }

    /// Kills whatever is left and waits until it is gone. Gives how many there were besides the command's own.
    fn finish(&mut self) -> u64 {
        self.reap();
        let own = u64::from(self.status.is_none());
        let left = memory::count(self.processes).saturating_sub(own);
        if self.processes.are_among_others() {
            // Nobody answers any more for new processes, so there are none.
            self.shared = None;
        }
        loop {
            self.processes.kill();
            let options = match self.processes.are_among_others() {
                // One that was missed is met next time.
                true => WaitOptions::NOHANG,
                false => WaitOptions::empty(),
            };
            match rustix::process::wait(options) {
                Ok(Some((process, status))) if process == self.process => self.status = Some(status),
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                Ok(_) | Err(Errno::INTR) => {}
                Err(_) => break,
            }
            self.reap();
        }
        // Nobody writes any more: what is in the pipes is all there is. Their other ends may still be open, on their
        // way through a socket or with somebody outside, so that their end is not waited for.
        for stream in [&mut self.stdout, &mut self.stderr] {
            while stream.bytes <= STREAM_BYTES_MAX && stream.read().is_ok_and(|more| more) {}
        }
        left
    }
}

fn next_word(words: &mut impl BufRead) -> Result<Option<Word>, Fault> {
    let mut line = String::new();
    match words.read_line(&mut line).stage("listening to the command's process")? {
        0 => Ok(None),
        _ => serde_json::from_str(&line).map(Some).stage("listening to the command's process"),
    }
}

/// The kernel's view of a process that is about to become a command. Anything that is not as it must be stops
/// it.
fn read_back(kernel: &Kernel<'_>, process: Pid, protections: &mut Protections) -> Result<(), Fault> {
    let process = &kernel.view.processes.folder_of(process).stage("reading back the protections")?;
    let status = text_in(process, "status").stage("reading back the protections")?;
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.unwrap_or_default().trim().to_owned()
    };
    protections.cap_eff = field("CapEff");
    protections.cap_bnd = field("CapBnd");
    protections.no_new_privs = field("NoNewPrivs");
    protections.seccomp = field("Seccomp");
    read_back_namespaces(kernel, process, protections)?;
    read_back_limits(process, protections)?;
    let kernel_root = kernel_root(&kernel.view.processes.path()).stage("reading back the protections")?;
    let is_root = |id: &str| id == "0" || id == kernel_root.to_string();
    let is_none = |set: &str| !set.is_empty() && set.bytes().all(|digit| digit == b'0');
    let sets = ["CapInh", "CapPrm", "CapEff", "CapAmb"];
    let (namespaces, bound) = match kernel.ground() {
        Ground::Namespaces => (NAMESPACES.len(), is_none(&protections.cap_bnd)),
        // An ordinary user cannot take a capability out of that set. It gives none to who can get no new privileges.
        Ground::Alone => (0, true),
    };
    for (wrong, what) in [
        (!bound || !sets.iter().all(|set| is_none(&field(set))), "capabilities are left"),
        (protections.namespaces.len() != namespaces, "a namespace is the caller's"),
        (protections.no_new_privs != "1", "new privileges could be had"),
        (protections.seccomp != "2", "there is no filter for system calls"),
        (field("Uid").split_whitespace().any(is_root), "its user is the kernel's user 0"),
    ] {
        if wrong {
            return Err(Fault::new("checking the protections", io::Error::other(what)));
        }
    }
    Ok(())
}

fn read_back_namespaces(
    kernel: &Kernel<'_>,
    process: &OwnedFd,
    protections: &mut Protections,
) -> Result<(), Fault> {
    let inside = namespaces_of(process).stage("reading back the protections")?;
    let own = NAMESPACES.iter().zip(inside.iter().zip(&kernel.caller.outside));
    protections.namespaces = own
        .filter(|(_, (inside, outside))| inside != outside)
        .map(|((name, _), _)| (*name).to_owned())
        .collect();
    let map = text_in(process, "uid_map").stage("reading back the protections")?;
    protections.uid_map = map.split_whitespace().collect::<Vec<_>>().join(" ");
    Ok(())
}

/// A file of a process.
fn text_in(process: &OwnedFd, name: &str) -> io::Result<String> {
    let file = openat(process, name, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut text = String::with_capacity(4_096);
    File::from(file).read_to_string(&mut text)?;
    Ok(text)
}

/// The limits that really hold: the caller may have had less than what is asked for.
fn read_back_limits(process: &OwnedFd, protections: &mut Protections) -> Result<(), Fault> {
    let text = text_in(process, "limits").stage("reading back the limits")?;
    for (name, title) in [
        ("processes", "Max processes"),
        ("data_bytes", "Max data size"),
        ("file_bytes", "Max file size"),
        ("core_bytes", "Max core file size"),
        ("descriptors", "Max open files"),
        ("locked_bytes", "Max locked memory"),
        ("message_queue_bytes", "Max msgqueue size"),
    ] {
        let values = text.lines().find_map(|line| line.strip_prefix(title)).unwrap_or_default();
        let hard = values.split_whitespace().nth(1).and_then(|value| value.parse().ok());
        let Some((limit, hard)) = protections.limits.get_mut(name).zip(hard) else {
            let error = io::Error::other(format!("there is no limit for {name}"));
            return Err(Fault::new("checking the protections", error));
        };
        limit.max = hard;
    }
    Ok(())
}

/// One of the two streams of a command.
struct Stream {
    pipe: Option<OwnedFd>,
    kept: Vec<u8>,
    bytes: u64,
    hash: Sha256,
}

impl Default for Stream {
    fn default() -> Self {
        Self { pipe: None, kept: Vec::new(), bytes: 0, hash: Sha256::new() }
    }
}

impl Stream {
    /// A command can open its own pipe for reading and take away what was just there to be read, so no read waits.
    fn of(pipe: OwnedFd) -> io::Result<Self> {
        rustix::fs::fcntl_setfl(&pipe, OFlags::NONBLOCK)?;
        Ok(Self { pipe: Some(pipe), ..Self::default() })
    }

    /// Reads once; says whether there was anything. At the end of the stream the pipe is closed.
    fn read(&mut self) -> io::Result<bool> {
        let Some(pipe) = &self.pipe else { return Ok(false) };
        let mut buffer = [0; 1 << 16];
        let length = match rustix::io::read(pipe, &mut buffer) {
            Ok(length) => length,
            Err(Errno::INTR) => return Ok(true),
            Err(Errno::AGAIN) => return Ok(false),
            Err(error) => return Err(error.into()),
        };
        if length == 0 {
            self.pipe = None;
            return Ok(false);
        }
        let chunk = buffer.get(..length).unwrap_or_default();
        let room = STREAM_BYTES_KEPT_MAX.saturating_sub(self.kept.len());
        self.kept.extend(chunk.iter().take(room));
        self.hash.update(chunk);
        self.bytes += length as u64;
        Ok(true)
    }

    fn captured(self) -> Captured {
        Captured {
            truncated: self.bytes > self.kept.len() as u64,
            kept: self.kept,
            bytes: self.bytes,
            sha256: sha256_text(self.hash),
        }
    }
}
