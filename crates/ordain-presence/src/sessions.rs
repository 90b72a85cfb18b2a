//! Other processes that have the terminal open. A process of another session that reads it could take what is
//! typed.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A process of another session that has the terminal open.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Intruder {
    /// Its number.
    pub pid: u32,
    /// The name of its program.
    pub program: String,
}

/// The process's parent, its session and the number of its terminal, from `/proc/PID/stat`.
struct Stat {
    program: String,
    parent: u32,
    session: i32,
    terminal: u64,
}

/// A process of another session that has this process's terminal open. Processes of other users cannot be
/// looked at; they cannot open the terminal either, unless they are root.
pub(crate) fn intruder() -> io::Result<Option<Intruder>> {
    let own = stat(Path::new("/proc/self")).ok_or_else(|| io::Error::other("cannot read /proc/self/stat"))?;
    if own.terminal == 0 {
        return Err(io::Error::other("this process has no terminal"));
    }
    for process in fs::read_dir("/proc")?.flatten() {
        let Some(pid) = process.file_name().to_str().and_then(|name| name.parse().ok()) else { continue };
        let path = process.path();
        let Some(other) = stat(&path).filter(|other| other.session != own.session) else { continue };
        if has_open(&path, own.terminal) {
            return Ok(Some(Intruder { pid, program: other.program }));
        }
    }
    Ok(None)
}

/// The number of a process's parent, and the name of its own program.
pub(crate) fn parent_and_program(process: &Path) -> Option<(u32, String)> {
    stat(process).map(|stat| (stat.parent, stat.program))
}

fn has_open(process: &Path, terminal: u64) -> bool {
    let Ok(descriptors) = fs::read_dir(process.join("fd")) else { return false };
    // Following the link asks for the open file itself, whatever its name is by now.
    descriptors.flatten().any(|file| fs::metadata(file.path()).is_ok_and(|file| file.rdev() == terminal))
}

fn stat(process: &Path) -> Option<Stat> {
    let text = fs::read_to_string(process.join("stat")).ok()?;
    // The name is in parentheses and may contain some.
    let (head, tail) = text.rsplit_once(") ")?;
    let program = head.split_once('(')?.1.to_owned();
    let mut fields = tail.split(' ').skip(1);
    let parent = fields.next()?.parse().ok()?;
    let mut fields = fields.skip(1);
    let session = fields.next()?.parse().ok()?;
    let number: u64 = fields.next()?.parse::<i64>().ok()?.try_into().ok()?;
    Some(Stat { program, parent, session, terminal: device(number) })
}

/// The kernel writes the number of a terminal in the old form; files have it in the new one.
fn device(number: u64) -> u64 {
    if number == 0 {
        return 0;
    }
    let (major, minor) = ((number >> 8) & 0xfff, (number & 0xff) | ((number >> 12) & 0xfff00));
    rustix::fs::makedev(u32::try_from(major).unwrap_or_default(), u32::try_from(minor).unwrap_or_default())
}
