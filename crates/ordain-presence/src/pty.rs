//! A new terminal, for a rehearsal: `ordain demo` types where a person would.

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

/// The end of a terminal at which the person is.
pub struct Pty {
    person: File,
    path: PathBuf,
}

impl Pty {
    /// Makes a terminal.
    pub fn open() -> io::Result<Self> {
        let person = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
        grantpt(&person)?;
        unlockpt(&person)?;
        let path = OsString::from_vec(ptsname(&person, Vec::new())?.into_bytes());
        Ok(Self { person: person.into(), path: path.into() })
    }

    /// The other end, which a command opens with [`take_terminal`].
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Types a line.
    pub fn type_line(&mut self, line: &str) -> io::Result<()> {
        self.person.write_all(line.as_bytes())?;
        self.person.write_all(b"\n")
    }

    /// Reads more of what the screen shows; nothing after the last process has closed the terminal.
    pub fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = vec![0; 4_096];
        match self.person.read(&mut bytes) {
            Ok(0) => Ok(None),
            Ok(count) => {
                bytes.truncate(count);
                Ok(Some(bytes))
            }
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::IO.raw_os_error()) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// Makes a terminal the one of this process, in a session of its own.
pub fn take_terminal(path: &Path) -> io::Result<File> {
    rustix::process::setsid()?;
    // The first terminal that the leader of a session opens becomes the session's.
    OpenOptions::new().read(true).write(true).open(path)
}
