//! A coding agent as a process of its user: watched, limited in time and output, and ended with everything
//! that it started.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::Path;
use std::time::Duration;

/// The bytes that are kept of each stream of an agent.
pub const AGENT_STREAM_BYTES_KEPT_MAX: usize = 1 << 20;
/// An agent that writes more than that to one stream is ended.
pub const AGENT_STREAM_BYTES_MAX: u64 = 256 << 20;

/// An agent to run.
pub struct AgentCommand<'a> {
    /// The program and its arguments. No shell looks at them.
    pub argv: &'a [OsString],
    /// Where it works.
    pub folder: &'a Path,
    /// A file that it reads from standard input.
    pub input: &'a Path,
    /// Variables besides those of this process.
    pub variables: &'a [(&'a str, OsString)],
    /// How long it may take.
    pub time: Duration,
}

/// The result of an agent.
#[derive(Clone, PartialEq, Debug)]
pub struct AgentReport {
    /// How it ended.
    pub end: AgentEnd,
    /// The first of what it wrote to standard output.
    pub stdout: Vec<u8>,
    /// The first of what it wrote to standard error.
    pub stderr: Vec<u8>,
    /// Processes that it left behind, and that were ended.
    pub stragglers: u64,
}

/// How an agent ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AgentEnd {
    /// By itself.
    Exited(i32),
    /// By a signal.
    Signaled(i32),
    /// It took too long.
    TimedOut(Duration),
    /// It wrote too much.
    OutputExceeded,
}

impl std::fmt::Display for AgentEnd {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exited(code) => write!(formatter, "exited with {code}"),
            Self::Signaled(signal) => write!(formatter, "ended by signal {signal}"),
            Self::TimedOut(time) => write!(formatter, "ended after {} s, its time limit", time.as_secs()),
            Self::OutputExceeded => {
                write!(formatter, "ended, because it wrote more than {AGENT_STREAM_BYTES_MAX} bytes")
            }
        }
    }
}

/// Runs an agent to its end, and ends whatever it left running.
#[cfg(not(target_os = "linux"))]
pub fn run_agent(_: &AgentCommand<'_>) -> io::Result<AgentReport> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "agents are run on Linux only"))
}

/// Runs an agent to its end, and ends whatever it left running.
///
/// This process takes over every orphan meanwhile, so it must have no other children that matter. The agent
/// stays in its group: whoever stops this program with a key stops the agent too.
#[cfg(target_os = "linux")]
pub fn run_agent(command: &AgentCommand<'_>) -> io::Result<AgentReport> {
    use crate::sandbox::Processes;
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Command, Stdio};
    use std::sync::Arc;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Instant;

    const TICK: Duration = Duration::from_millis(10);
    let (program, arguments) =
        command.argv.split_first().ok_or_else(|| io::Error::other("the command has no program"))?;
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let processes = Processes::of_this()?;
    let mut child = Command::new(program)
        .args(arguments)
        .current_dir(command.folder)
        .envs(command.variables.iter().map(|(name, value)| (name, value)))
        .stdin(std::fs::File::open(command.input)?)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", program.to_string_lossy())))?;
    let exceeded = Arc::new(AtomicBool::new(false));
    let collect = |stream: Option<Box<dyn Read + Send>>| {
        let exceeded = Arc::clone(&exceeded);
        std::thread::spawn(move || stream.map(|stream| kept(stream, &exceeded)).unwrap_or_default())
    };
    let stdout = collect(child.stdout.take().map(|it| Box::new(it) as Box<dyn Read + Send>));
    let stderr = collect(child.stderr.take().map(|it| Box::new(it) as Box<dyn Read + Send>));
    let until = Instant::now() + command.time;
    let ended = loop {
        if let Some(status) = child.try_wait()? {
            break match (status.code(), status.signal()) {
                (Some(code), _) => AgentEnd::Exited(code),
                (None, signal) => AgentEnd::Signaled(signal.unwrap_or_default()),
            };
        }
        if exceeded.load(Ordering::Relaxed) {
            break AgentEnd::OutputExceeded;
        }
        if Instant::now() >= until {
            break AgentEnd::TimedOut(command.time);
        }
        std::thread::sleep(TICK);
    };
    let stragglers = end_all(&processes, &mut child)?;
    // All writers are gone, so the streams end.
    let (stdout, stderr) = (stdout.join().unwrap_or_default(), stderr.join().unwrap_or_default());
    let end = if exceeded.load(Ordering::Relaxed) { AgentEnd::OutputExceeded } else { ended };
    Ok(AgentReport { end, stdout, stderr, stragglers })
}

/// Kills until nobody is left; says how many there were besides the agent itself. Orphans become children of
/// this process.
#[cfg(target_os = "linux")]
fn end_all(processes: &crate::sandbox::Processes, child: &mut std::process::Child) -> io::Result<u64> {
    use rustix::process::{WaitOptions, wait};
    const TICK: Duration = Duration::from_millis(5);
    const TRIES: u32 = 2_000;
    let own = child.id().to_string();
    let others = || processes.each().filter(|path| !path.ends_with(&own)).count() as u64;
    let mut stragglers = others();
    for _ in 0..TRIES {
        processes.kill();
        // The agent's own end is the child's to learn.
        let _ = child.try_wait()?;
        if child.try_wait()?.is_some() {
            while let Ok(Some(_)) = wait(WaitOptions::NOHANG) {}
        }
        let left = others();
        stragglers = stragglers.max(left);
        if left == 0 && child.try_wait()?.is_some() {
            return Ok(stragglers);
        }
        std::thread::sleep(TICK);
    }
    Err(io::Error::other("processes that the agent left behind do not end"))
}

/// The first of a stream, which is read to its end or to the limit.
#[cfg(target_os = "linux")]
fn kept(mut stream: impl Read, exceeded: &std::sync::atomic::AtomicBool) -> Vec<u8> {
    let mut kept = Vec::new();
    let mut buffer = vec![0; 1 << 16];
    let mut bytes = 0_u64;
    while let Ok(length @ 1..) = stream.read(&mut buffer) {
        bytes += length as u64;
        let room = AGENT_STREAM_BYTES_KEPT_MAX.saturating_sub(kept.len());
        kept.extend_from_slice(buffer.get(..length.min(room)).unwrap_or_default());
        if bytes > AGENT_STREAM_BYTES_MAX {
            exceeded.store(true, std::sync::atomic::Ordering::Relaxed);
            // Reading on keeps it from waiting for us until it is ended.
        }
    }
    kept
}
