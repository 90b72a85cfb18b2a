//! The server behind the gateway: a process group with a chosen environment.

use crate::limits::{ARTEFACT_BYTES_MAX, END_WAIT};
use ordain_canon::ContentHash;
use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::{OsStr, OsString};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Variables that every server gets, as MCP clients give them.
const INHERITED: [&str; 6] = ["HOME", "LOGNAME", "PATH", "SHELL", "TERM", "USER"];

/// The server behind the gateway.
#[derive(Clone)]
pub enum Upstream {
    /// A program.
    Command(UpstreamCommand),
    /// A server by URL, over streamable HTTP.
    Url(UpstreamUrl),
}

/// A server by URL.
#[derive(Clone)]
pub struct UpstreamUrl {
    /// The address of its endpoint.
    pub url: String,
    /// The token that the gateway shows it.
    pub token: Option<String>,
}

impl Upstream {
    /// The hash of what is called.
    pub fn hash(&self) -> Result<String> {
        match self {
            Self::Command(command) => command.hash(),
            Self::Url(UpstreamUrl { url, token: _ }) => Ok(ContentHash::of(url.as_bytes()).to_string()),
        }
    }
}

/// How a server is started.
#[derive(Clone)]
pub struct UpstreamCommand {
    /// The program and its arguments.
    pub words: Vec<OsString>,
    /// Variables that it gets besides the usual ones, by name.
    pub variables: Vec<String>,
}

impl UpstreamCommand {
    fn program(&self) -> Result<PathBuf> {
        let missing = || Error::new(ErrorKind::NotFound, "no command");
        let word = Path::new(self.words.first().ok_or_else(missing)?);
        if word.components().count() > 1 {
            return word.canonicalize();
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let found = std::env::split_paths(&path).map(|folder| folder.join(word)).find(|file| file.is_file());
        let problem = || Error::new(ErrorKind::NotFound, format!("`{}` is not in PATH", word.display()));
        found.ok_or_else(problem)
    }

    /// The hash of what is started: the words, and the content of the program and of scripts that they name.
    pub fn hash(&self) -> Result<String> {
        let program = self.program()?;
        let mut text = Vec::new();
        let files =
            std::iter::once(program.as_os_str()).chain(self.words.iter().skip(1).map(OsString::as_os_str));
        for (position, word) in files.enumerate() {
            text.extend_from_slice(ContentHash::of(word.as_bytes()).to_string().as_bytes());
            if position == 0 || is_script(word) {
                text.extend_from_slice(content_hash(word).as_bytes());
            }
            text.push(b'\n');
        }
        Ok(ContentHash::of(&text).to_string())
    }

    pub(crate) fn start(&self) -> Result<Child> {
        let mut command = Command::new(self.program()?);
        command.args(self.words.iter().skip(1)).env_clear();
        let names = INHERITED.into_iter().chain(self.variables.iter().map(String::as_str));
        command.envs(names.filter_map(|name| Some((name, std::env::var_os(name)?))));
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        command.spawn()
    }
}

/// Other files that a command line names hold data, which changes.
fn is_script(word: &OsStr) -> bool {
    const ENDINGS: [&str; 10] = ["cjs", "jar", "js", "mjs", "php", "pl", "py", "rb", "sh", "ts"];
    Path::new(word).extension().and_then(OsStr::to_str).is_some_and(|ending| ENDINGS.contains(&ending))
}

fn content_hash(word: &OsStr) -> String {
    let path = Path::new(word);
    match path.metadata() {
        Ok(found) if found.is_file() && found.len() <= ARTEFACT_BYTES_MAX => match std::fs::read(path) {
            Ok(bytes) => ContentHash::of(&bytes).to_string(),
            Err(_) => "unreadable".to_owned(),
        },
        Ok(found) if found.is_file() => format!("{} bytes", found.len()),
        _ => String::new(),
    }
}

/// Waits until a server whose input has ended is gone, with all that it started; after a while it is asked to end, and
/// then made to.
pub(crate) fn end(child: &mut Child, patience: Duration) -> Result<ExitStatus> {
    let group = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let signal = |signal: Signal| group.map(|group| kill_process_group(group, signal));
    let ended = wait(child, patience)?;
    if ended.is_none() {
        signal(Signal::TERM);
    }
    let ended = match ended {
        Some(status) => Some(status),
        None => wait(child, END_WAIT)?,
    };
    // The rest of the group ends with its leader.
    signal(Signal::KILL);
    match ended {
        Some(status) => Ok(status),
        None => child.wait(),
    }
}

fn wait(child: &mut Child, time: Duration) -> Result<Option<ExitStatus>> {
    let end = Instant::now() + time;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() >= end {
            return Ok(None);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
