//! Which project belongs to which gate.

use crate::error::StateError;
use crate::gate_folder::{GateFolder, read_private};
use crate::home::Home;
use crate::identity::Identity;
use crate::ids::{GateId, ProjectId};
use crate::private::write_private;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

const FILE: &str = "registry.json";

/// Which project belongs to which gate.
#[derive(Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Registry {
    /// By path.
    pub projects: Vec<Project>,
}

/// A registered project.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Project {
    /// Its name to the gate, which stays when the folder moves.
    pub id: ProjectId,
    /// Its folder, without links.
    pub path: PathBuf,
    /// Which folder that was.
    pub identity: Identity,
    /// Its gate.
    pub gate: GateId,
    /// Folders outside it that hold worktrees of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub worktrees: Vec<WorktreeFolder>,
}

/// A folder outside a project that holds worktrees of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorktreeFolder {
    /// The folder, without links.
    pub path: PathBuf,
    /// Which folder that was.
    pub identity: Identity,
}

impl WorktreeFolder {
    /// The project of an existing folder.
    pub fn of(folder: &Path) -> Result<Self, StateError> {
        let (path, identity) = named(folder)?;
        Ok(Self { path, identity })
    }
}

/// A folder that is there: its path without links, and which one it is.
fn named(folder: &Path) -> Result<(PathBuf, Identity), StateError> {
    let path = folder.canonicalize().map_err(StateError::io(folder))?;
    if path.to_str().is_none() {
        return Err(StateError::new(&path, "has a name that is not UTF-8").with_hint("rename the folder"));
    }
    let metadata = path.metadata().map_err(StateError::io(&path))?;
    if !metadata.is_dir() {
        return Err(StateError::new(&path, "is not a folder"));
    }
    Ok((path, Identity::of(&metadata)))
}

/// The project and gate that a folder belongs to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Belongs {
    /// The registered project.
    pub project: Project,
    /// The folder that paths of the project are relative to: the project's own, or that of a worktree.
    pub root: PathBuf,
    /// Its gate.
    pub gate: GateFolder,
}

impl Project {
    /// A project in a folder that is there.
    pub fn of(folder: &Path, gate: GateId) -> Result<Self, StateError> {
        let (path, identity) = named(folder)?;
        Ok(Self { id: ProjectId::random()?, path, identity, gate, worktrees: Vec::new() })
    }

    /// That its folder is the one that was registered.
    fn check(&self) -> Result<(), StateError> {
        let metadata = self.path.metadata().map_err(StateError::io(&self.path))?;
        if Identity::of(&metadata) == self.identity {
            return Ok(());
        }
        let problem = "is not the folder that was registered under this name: it was replaced or restored";
        let hint = format!("if you did that, run `ordain gate move {0} {0}`", self.path.display());
        Err(StateError::new(&self.path, problem).with_hint(hint))
    }
}

impl Registry {
    pub(crate) fn read(state: &Path) -> Result<Self, StateError> {
        let path = state.join(FILE);
        let Some(text) = read_private(&path)? else { return Ok(Self::default()) };
        serde_json::from_str(&text)
            .map_err(|error| StateError::new(&path, format!("cannot be read: {error}")))
    }

    pub(crate) fn write(&mut self, state: &Path) -> Result<(), StateError> {
        self.projects.sort_by(|a, b| a.path.cmp(&b.path));
        let path = state.join(FILE);
        let text =
            serde_json::to_string_pretty(self).map_err(|error| StateError::new(&path, error.to_string()))?;
        write_private(&path, &format!("{text}\n"))
    }

    /// The project of this very path.
    pub fn at(&self, path: &Path) -> Option<&Project> {
        self.projects.iter().find(|project| project.path == path)
    }

    /// Registers a project. Its folder may not lie in another project or above one, nor may it hold the state.
    pub fn add(&mut self, home: &Home, project: Project) -> Result<(), StateError> {
        self.check_free(home, &project.path)?;
        for worktrees in &project.worktrees {
            self.check_free(home, &worktrees.path)?;
        }
        self.projects.push(project);
        Ok(())
    }

    /// That no registered folder lies in a folder or above it, and that the state does not lie in it.
    pub fn check_free(&self, home: &Home, folder: &Path) -> Result<(), StateError> {
        let state = home.path().canonicalize().unwrap_or_else(|_| home.path().to_owned());
        if state.starts_with(folder) || folder.starts_with(&state) {
            let problem = format!("the state directory {} must lie outside every project", state.display());
            return Err(
                StateError::new(folder, problem).with_hint("name a smaller folder, or set XDG_STATE_HOME")
            );
        }
        for project in &self.projects {
            let worktrees = project.worktrees.iter().map(|folder| &folder.path);
            let taken = std::iter::once(&project.path).chain(worktrees);
            for taken in taken {
                let how = if taken == folder {
                    "is registered already"
                } else if folder.starts_with(taken) {
                    "lies in a registered folder"
                } else if taken.starts_with(folder) {
                    "has a registered folder in it"
                } else {
                    continue;
                };
                let problem = format!("{how}: {} belongs to gate {}", taken.display(), project.gate);
                let hint = format!("run `ordain gate forget {}` to end that", project.path.display());
                return Err(StateError::new(folder, problem).with_hint(hint));
            }
        }
        Ok(())
    }

    /// The project of a folder without links: the longest registered path above it.
    pub(crate) fn find(&self, home: &Home, folder: &Path) -> Result<Option<Belongs>, StateError> {
        for step in folder.ancestors() {
            if let Some(project) = self.at(step) {
                project.check()?;
                return Ok(Some(belongs(home, project, project.path.clone())));
            }
            if let Some(project) = self
                .projects
                .iter()
                .find(|project| project.worktrees.iter().any(|folder| folder.path == step))
            {
                return Ok(Some(belongs(home, project, worktree(step, folder))));
            }
            let identity =
                step.metadata().map(|metadata| Identity::of(&metadata)).map_err(StateError::io(step))?;
            if let Some(project) = self.projects.iter().find(|project| project.identity == identity) {
                let old = project.path.display();
                let problem = format!("is registered as {old}, and commands here would pass its gate by");
                let hint = format!("run `ordain gate move {old} {}`", step.display());
                return Err(StateError::new(step, problem).with_hint(hint));
            }
        }
        Ok(None)
    }
}

fn belongs(home: &Home, project: &Project, root: PathBuf) -> Belongs {
    Belongs { project: project.clone(), root, gate: home.gate(&project.gate) }
}

/// The worktree that a folder lies in: the nearest one with a `.git`, or the outermost folder below that of
/// the worktrees.
fn worktree(worktrees: &Path, folder: &Path) -> PathBuf {
    let below = || folder.ancestors().take_while(|step| *step != worktrees);
    let root = below().find(|step| step.join(".git").symlink_metadata().is_ok());
    root.or_else(|| below().last()).unwrap_or(worktrees).to_owned()
}
