//! The terminal of this process. A passphrase is read from here and from nowhere else.

use crate::passphrase::{Passphrase, PassphraseError};
use crate::sessions::{Intruder, intruder};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::termios::{
    LocalModes, OptionalActions, QueueSelector, SpecialCodeIndex, Termios, tcflush, tcgetattr, tcgetwinsize,
    tcsetattr,
};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::time::Duration;
use zeroize::Zeroizing;

const PATH: &str = "/dev/tty";
/// Bytes of a line that is typed.
const LINE_BYTES_MAX: usize = 1_024;

/// The terminal of this process.
pub struct Terminal(File);

/// The size of a terminal, in characters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TerminalSize {
    /// How many fit in a line.
    pub columns: usize,
    /// How many lines there are.
    pub rows: usize,
}

/// The size of the terminal behind a file; nothing if it is not a terminal, or does not say.
pub fn size_of(file: impl AsFd) -> Option<TerminalSize> {
    let size = tcgetwinsize(file).ok()?;
    let size = TerminalSize { columns: usize::from(size.ws_col), rows: usize::from(size.ws_row) };
    (size.columns > 0 && size.rows > 0).then_some(size)
}

/// The end of a wait for somebody to type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Typed {
    /// A line.
    Line(String),
    /// The other file has something to read.
    Woken,
    /// The time is over.
    Nothing,
}

/// Why nothing was read from the terminal.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TerminalError {
    /// The process has none.
    #[error("there is no terminal to ask on")]
    None,
    /// Another session could read along.
    #[error("process {} (`{}`) of another session has this terminal open", .0.pid, .0.program)]
    Watched(Intruder),
    /// The person gave up.
    #[error("nothing was typed")]
    Cancelled,
    /// The line is too long.
    #[error("the line has more than {LINE_BYTES_MAX} bytes")]
    Long,
    /// The passphrase cannot be used.
    #[error(transparent)]
    Passphrase(#[from] PassphraseError),
    /// The terminal failed.
    #[error("the terminal cannot be used")]
    Io(#[from] io::Error),
}

impl TerminalError {
    /// A way out.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::None => Some("run this on a terminal".to_owned()),
            Self::Watched(Intruder { pid, .. }) => {
                Some(format!("end it if you do not know it (`kill {pid}`), or use another terminal"))
            }
            Self::Passphrase(PassphraseError::Short) => Some("take more words".to_owned()),
            _ => None,
        }
    }
}

/// Whether this process has a terminal.
pub fn is_there() -> bool {
    Terminal::open().is_ok()
}

impl Terminal {
    /// The terminal, if this process has one.
    pub fn open() -> Result<Self, TerminalError> {
        OpenOptions::new().read(true).write(true).open(PATH).map(Self).map_err(|_| TerminalError::None)
    }

    /// Writes text for the person to read.
    pub fn say(&mut self, text: &str) -> Result<(), TerminalError> {
        self.0.write_all(text.as_bytes())?;
        Ok(self.0.flush()?)
    }

    /// Asks for a line, with echo.
    pub fn ask(&mut self, prompt: &str) -> Result<String, TerminalError> {
        self.refuse_watchers()?;
        tcflush(&self.0, QueueSelector::IFlush).map_err(io::Error::from)?;
        self.say(prompt)?;
        self.line()
    }

    fn line(&mut self) -> Result<String, TerminalError> {
        let mut line = Vec::new();
        loop {
            match self.byte()? {
                None if line.is_empty() => return Err(TerminalError::Cancelled),
                None | Some(b'\n') => break,
                Some(byte) => line.push(byte),
            }
            if line.len() > LINE_BYTES_MAX {
                return Err(TerminalError::Long);
            }
        }
        Ok(String::from_utf8_lossy(&line).trim().to_owned())
    }

    /// Its size; a terminal that does not say has 80 columns and 24 rows.
    pub fn size(&self) -> TerminalSize {
        size_of(&self.0).unwrap_or(TerminalSize { columns: 80, rows: 24 })
    }

    /// Waits for a line, with echo, until `wake` has something to read or the time is over.
    pub fn line_or_wake(&mut self, wake: impl AsFd, wait: Duration) -> Result<Typed, TerminalError> {
        let timeout = Timespec::try_from(wait).map_err(io::Error::other)?;
        let wake = wake.as_fd();
        let mut files = [PollFd::new(&self.0, PollFlags::IN), PollFd::from_borrowed_fd(wake, PollFlags::IN)];
        match poll(&mut files, Some(&timeout)) {
            Ok(0) | Err(Errno::INTR) => return Ok(Typed::Nothing),
            Ok(_) => {}
            Err(error) => return Err(io::Error::from(error).into()),
        }
        let [typed, _] = files;
        if typed.revents().is_empty() { Ok(Typed::Woken) } else { self.line().map(Typed::Line) }
    }

    /// Waits for a line, with echo, and gives up after a while.
    pub fn line_within(&mut self, wait: Duration) -> Result<Option<String>, TerminalError> {
        let timeout = Timespec::try_from(wait).map_err(io::Error::other)?;
        let ready = poll(&mut [PollFd::new(&self.0, PollFlags::IN)], Some(&timeout));
        match ready {
            Ok(0) | Err(Errno::INTR) => Ok(None),
            Ok(_) => self.line().map(Some),
            Err(error) => Err(io::Error::from(error).into()),
        }
    }

    /// Asks for a line as [`Terminal::ask`] does, and gives up after a while. Nothing that was typed before counts.
    pub fn ask_within(&mut self, prompt: &str, wait: Duration) -> Result<Option<String>, TerminalError> {
        self.refuse_watchers()?;
        tcflush(&self.0, QueueSelector::IFlush).map_err(io::Error::from)?;
        self.say(prompt)?;
        let line = self.line_within(wait)?;
        self.refuse_watchers()?;
        Ok(line)
    }

    /// Asks for the passphrase of a key, without echo.
    pub fn passphrase(&mut self, prompt: &str) -> Result<Passphrase, TerminalError> {
        let line = self.hidden(prompt)?;
        Ok(Passphrase::new(line.to_vec())?)
    }

    /// Has a new passphrase chosen, typed twice. An empty first line takes `words`, which are shown.
    pub fn new_passphrase(&mut self, words: &str) -> Result<Passphrase, TerminalError> {
        self.say(&format!(
            "Choose a passphrase of at least {} characters. Or write these six words\ndown and press Enter to take them:\n\n  {words}\n\n",
            crate::CHARACTERS_MIN
        ))?;
        let first = self.hidden("New passphrase: ")?;
        let first = if first.is_empty() { words.as_bytes().to_vec() } else { first.to_vec() };
        let first = Passphrase::new(first)?;
        let second = Passphrase::new(self.hidden("The same again: ")?.to_vec())?;
        if first.is(&second) { Ok(first) } else { Err(PassphraseError::Different.into()) }
    }

    /// Nobody else may have the terminal open while something secret is typed.
    fn refuse_watchers(&self) -> Result<(), TerminalError> {
        match intruder()? {
            Some(intruder) => Err(TerminalError::Watched(intruder)),
            None => Ok(()),
        }
    }

    /// Reads a line without echo. Keys that would end the program only end the question, so that the echo comes back.
    fn hidden(&mut self, prompt: &str) -> Result<Zeroizing<Vec<u8>>, TerminalError> {
        self.refuse_watchers()?;
        let before = tcgetattr(&self.0).map_err(io::Error::from)?;
        let mut silent = before.clone();
        silent.local_modes &=
            !(LocalModes::ECHO | LocalModes::ECHONL | LocalModes::ICANON | LocalModes::ISIG);
        silent.special_codes[SpecialCodeIndex::VMIN] = 1;
        silent.special_codes[SpecialCodeIndex::VTIME] = 0;
        let restore = Restore { terminal: self.0.try_clone()?, before };
        // Keys typed before the question are not the answer.
        tcsetattr(&self.0, OptionalActions::Flush, &silent).map_err(io::Error::from)?;
        self.say(prompt)?;
        let line = self.edited_line();
        drop(restore);
        self.say("\n")?;
        let line = line?;
        self.refuse_watchers()?;
        Ok(line)
    }

    fn edited_line(&mut self) -> Result<Zeroizing<Vec<u8>>, TerminalError> {
        const INTERRUPT: u8 = 0x03;
        const END: u8 = 0x04;
        const BACKSPACE: [u8; 2] = [0x08, 0x7f];
        const KILL_LINE: u8 = 0x15;
        // Never grows, so that no copy of it stays behind in memory.
        let mut line = Zeroizing::new(Vec::with_capacity(LINE_BYTES_MAX));
        loop {
            match self.byte()? {
                None | Some(INTERRUPT | END) => return Err(TerminalError::Cancelled),
                Some(b'\n' | b'\r') => return Ok(line),
                Some(KILL_LINE) => line.clear(),
                Some(byte) if BACKSPACE.contains(&byte) => remove_character(&mut line),
                Some(_) if line.len() == LINE_BYTES_MAX => return Err(TerminalError::Long),
                Some(byte) => line.push(byte),
            }
        }
    }

    fn byte(&mut self) -> Result<Option<u8>, TerminalError> {
        let mut buffer = [0];
        loop {
            match self.0.read(&mut buffer) {
                Ok(0) => return Ok(None),
                Ok(_) => {
                    let [byte] = buffer;
                    return Ok(Some(byte));
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Takes back one character, which may be several bytes.
fn remove_character(line: &mut Vec<u8>) {
    const CONTINUATION: std::ops::Range<u8> = 0x80..0xc0;
    while let Some(byte) = line.pop() {
        if !CONTINUATION.contains(&byte) {
            break;
        }
    }
}

/// Brings the terminal back as it was.
struct Restore {
    terminal: File,
    before: Termios,
}

impl Drop for Restore {
    fn drop(&mut self) {
        let _ = tcsetattr(&self.terminal, OptionalActions::Now, &self.before);
    }
}
