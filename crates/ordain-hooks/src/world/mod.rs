//! The things that a call refers to, read from this machine: where paths lead, and what is there now. Programs are
//! never run for it: whoever edits the workspace could make them run something else.

mod command;
mod files;
mod git;

use crate::core::mapping::{Place, Resolved, World};
use std::path::{Component, Path, PathBuf};

/// This machine, as seen from a workspace.
pub(crate) struct Machine {
    /// The workspace's folder without links; without one every place is outside.
    pub(crate) root: Option<PathBuf>,
}

impl World for Machine {
    fn place(&self, cwd: &Path, path: &str) -> Result<Place, String> {
        if path.starts_with('~') {
            return Err("the path begins with `~`, which programs read in different ways".to_owned());
        }
        let base = cwd.canonicalize().map_err(|error| format!("{}: {error}", cwd.display()))?;
        let (real, exists) = follow(&base, Path::new(path));
        if real.to_str().is_none() {
            return Err("a path of the call is not UTF-8".to_owned());
        }
        let inside = self.root.as_ref().and_then(|root| real.strip_prefix(root).ok());
        let inside = inside.map(|inside| inside.to_string_lossy().into_owned());
        Ok(Place { real, inside, exists })
    }

    fn content(&self, place: &Place) -> Result<String, String> {
        files::content(&place.real)
    }

    fn command(&self, cwd: &Place, command: &str) -> Resolved {
        command::resolved(self, &cwd.real, command)
    }
}

/// Where a path leads from a folder, with every link followed; and whether something is there.
fn follow(base: &Path, path: &Path) -> (PathBuf, bool) {
    let mut real = if path.is_absolute() { PathBuf::from("/") } else { base.to_owned() };
    for component in path.components() {
        match component {
            Component::Prefix(_) | Component::RootDir | Component::CurDir => {}
            Component::ParentDir => {
                real.pop();
            }
            Component::Normal(name) => {
                let next = real.join(name);
                // A link that leads nowhere is where it leads to: a write through it makes that file.
                real = match next.canonicalize() {
                    Ok(found) => found,
                    Err(_) => dangling(&next).unwrap_or(next),
                };
            }
        }
    }
    let exists = real.symlink_metadata().is_ok();
    (real, exists)
}

/// The target of a link whose target is not there.
fn dangling(link: &Path) -> Option<PathBuf> {
    const LINKS_MAX: usize = 16;
    let mut at = link.to_owned();
    for _ in 0..LINKS_MAX {
        let Ok(target) = std::fs::read_link(&at) else { break };
        let folder = at.parent()?.canonicalize().ok()?;
        at = folder.join(target);
        if let (Some(parent), Some(name)) =
            (at.parent().and_then(|it| it.canonicalize().ok()), at.file_name())
        {
            at = parent.join(name);
        }
    }
    (at != link).then_some(at)
}
