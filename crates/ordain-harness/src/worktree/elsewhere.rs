//! Systems without the calls that keep a walk inside a folder: a clear refusal.

use super::Snapshot;
use std::io;
use std::path::Path;

fn unsupported<T>() -> io::Result<T> {
    Err(io::Error::new(io::ErrorKind::Unsupported, "trees are compared on Linux only"))
}

pub(super) fn snapshot(_: &Path) -> io::Result<Snapshot> {
    unsupported()
}

/// Refuses.
pub fn copy_workspace(_: &Path, _: &Path) -> io::Result<Snapshot> {
    unsupported()
}
