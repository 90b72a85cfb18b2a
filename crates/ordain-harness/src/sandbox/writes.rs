//! Changes that no command makes, in the view, where a link of the workspace leads nowhere else.

use super::FailedWrite;
use super::wire::WriteOrder;
use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags, mkdirat, open, openat2, unlinkat};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::Path;

/// The writes that are still to be made.
pub(crate) struct Pending<'o> {
    writes: &'o [WriteOrder],
    contents: File,
    top: OwnedFd,
}

/// The result of the writes that were due.
#[derive(Default)]
pub(crate) struct Due<'o> {
    pub(crate) made: Vec<&'o str>,
    pub(crate) failed: Vec<FailedWrite>,
    /// A required one failed; those after it were not tried.
    pub(crate) stop: bool,
}

impl<'o> Pending<'o> {
    /// Those to the workspace at this path.
    pub(crate) fn new(writes: &'o [WriteOrder], contents: File, workspace: &str) -> io::Result<Self> {
        let top = open(workspace, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self { writes, contents, top })
    }

    /// Makes those that come after this many steps.
    pub(crate) fn make(&mut self, steps: usize) -> Due<'o> {
        let mut due = Due::default();
        while let Some((write, rest)) = self.writes.split_first()
            && write.after_steps <= steps
            && !due.stop
        {
            self.writes = rest;
            match self.write(write) {
                Ok(()) => due.made.push(&write.path),
                Err(error) => {
                    due.stop = write.required;
                    due.failed.push(FailedWrite { path: write.path.clone(), problem: error.to_string() });
                }
            }
        }
        due
    }

    fn write(&mut self, write: &WriteOrder) -> io::Result<()> {
        let Some(bytes) = write.bytes else { return remove(self.top.as_fd(), &write.path) };
        let mut content = (&mut self.contents).take(bytes as u64);
        let done = create(self.top.as_fd(), &write.path)
            .and_then(|mut file| io::copy(&mut content, &mut file).map(drop));
        // Behind the content stands that of the next one.
        io::copy(&mut content, &mut io::sink())?;
        done
    }
}

const INSIDE: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS).union(ResolveFlags::NO_MAGICLINKS);

fn create(top: BorrowedFd<'_>, path: &str) -> io::Result<File> {
    let mut folder = String::new();
    for segment in Path::new(path).parent().iter().flat_map(|parent| parent.iter()) {
        folder.push_str(&segment.to_string_lossy());
        match mkdirat(top, folder.as_str(), Mode::from_raw_mode(0o755)) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        // That it is a folder and no link.
        openat2(
            top,
            folder.as_str(),
            OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
            INSIDE,
        )?;
        folder.push('/');
    }
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC | OFlags::NONBLOCK;
    match openat2(top, path, flags, Mode::from_raw_mode(0o644), INSIDE) {
        // A file of a group that is not known in here cannot be copied as it is: a new one takes its place.
        Err(rustix::io::Errno::OVERFLOW) => {
            let old = openat2(top, path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty(), INSIDE)?;
            let mode = Mode::from_raw_mode(rustix::fs::fstat(&old)?.st_mode & 0o777);
            remove(top, path)?;
            Ok(openat2(top, path, flags | OFlags::EXCL, mode, INSIDE)?.into())
        }
        file => Ok(file?.into()),
    }
}

fn remove(top: BorrowedFd<'_>, path: &str) -> io::Result<()> {
    let (folder, name) = path.rsplit_once('/').unwrap_or((".", path));
    let folder =
        openat2(top, folder, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty(), INSIDE)?;
    Ok(unlinkat(&folder, name, AtFlags::empty())?)
}
