//! The project of an open folder, for a server that cannot look at the folder by its name.
//!
//! A descriptor says which folder it is, and the folders above it are reached from it. Its path is not asked
//! for: whoever sent the descriptor may see other paths than the server.

use crate::error::StateError;
use crate::identity::Identity;
use crate::ids::{GateId, ProjectId};
use crate::registry::{Project, Registry};
use rustix::fs::{AtFlags, Mode, OFlags, openat, statat};
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Folders between an open folder and that of its project.
const LEVELS_MAX: usize = 128;

/// The project that an open folder belongs to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Located {
    /// The registered project.
    pub project: Project,
    /// How many folders up the folder lies that paths of the project are relative to: the project's own, or
    /// that of a worktree.
    pub levels_up: usize,
}

/// Why an open folder belongs to no project.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Unlocated {
    /// It is something else.
    #[error("the descriptor is not of a folder")]
    NotAFolder,
    /// It was deleted.
    #[error("the folder was deleted")]
    Deleted,
    /// Neither it nor a folder above it is registered with the gate.
    #[error("the folder belongs to no project of this gate")]
    NotRegistered,
    /// A folder above it could be registered, and cannot be reached.
    #[error("the folder is not registered, and the gate may not look at the folders above it")]
    Unreachable,
    /// The kernel does not tell.
    #[error("the folder cannot be looked at: {0}")]
    Unreadable(String),
}

impl Registry {
    /// The project of a gate that an open folder belongs to: the nearest registered folder at it or above it.
    pub fn locate(&self, gate: &GateId, folder: BorrowedFd<'_>) -> Result<Located, Unlocated> {
        let unreadable = |error: std::io::Error| Unlocated::Unreadable(error.to_string());
        let of_gate = || self.projects.iter().filter(|project| project.gate == *gate);
        let mut here = File::from(folder.try_clone_to_owned().map_err(unreadable)?);
        // The nearest folder with a `.git`, by how many folders up it lies.
        let mut worktree = None;
        for level in 0..=LEVELS_MAX {
            let metadata = here.metadata().map_err(unreadable)?;
            if !metadata.is_dir() {
                return Err(Unlocated::NotAFolder);
            }
            if metadata.nlink() == 0 {
                return Err(Unlocated::Deleted);
            }
            let identity = Identity::of(&metadata);
            if let Some(project) = of_gate().find(|project| project.identity == identity) {
                return Ok(Located { project: project.clone(), levels_up: level });
            }
            let holds = |project: &&Project| project.worktrees.iter().any(|it| it.identity == identity);
            if let Some(project) = of_gate().find(holds) {
                // Without a `.git`, it is the outermost folder below that of the worktrees.
                let levels_up = worktree.unwrap_or(level.saturating_sub(1));
                return Ok(Located { project: project.clone(), levels_up });
            }
            if worktree.is_none() && statat(&here, ".git", AtFlags::SYMLINK_NOFOLLOW).is_ok() {
                worktree = Some(level);
            }
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let above = match openat(here.as_fd(), "..", flags, Mode::empty()) {
                Ok(above) => File::from(above),
                Err(_) => return Err(Unlocated::Unreachable),
            };
            let top = above.metadata().map_err(unreadable)?;
            if (top.dev(), top.ino()) == (metadata.dev(), metadata.ino()) {
                break;
            }
            here = above;
        }
        Err(Unlocated::NotRegistered)
    }
}

impl Project {
    /// A project in an open folder, under the path that its owner knows it by.
    pub fn of_open(folder: BorrowedFd<'_>, path: &Path, gate: GateId) -> Result<Self, StateError> {
        let failed = StateError::io(path);
        let metadata = folder.try_clone_to_owned().map(File::from).and_then(|file| file.metadata());
        let metadata = metadata.map_err(failed)?;
        if !metadata.is_dir() || metadata.nlink() == 0 {
            return Err(StateError::new(path, "is not a folder"));
        }
        let id = ProjectId::random()?;
        let (path, identity) = (path.to_owned(), Identity::of(&metadata));
        Ok(Self { id, path, identity, gate, worktrees: Vec::new() })
    }
}
