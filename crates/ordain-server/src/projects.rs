//! The projects of the gate, as its state directory registers them. A client over a unix socket names one by
//! a descriptor.

use crate::peer::Preface;
use ordain_api::{NewProject, Problem, ProblemCode, ProjectList, ProjectStatus, RegisteredProject};
use ordain_state::{GateId, Home, Located, Project, StateError, Unlocated, WorktreeFolder};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// The projects of one gate.
#[derive(Clone, Debug)]
pub struct Projects {
    home: Home,
    gate: GateId,
}

impl Projects {
    /// Those that the registry of a state directory has for a gate.
    pub fn of(home: Home, gate: GateId) -> Self {
        Self { home, gate }
    }

    /// The project that a preface names. The registry is read each time: it may have changed since.
    pub(crate) fn named_by(&self, preface: &Preface) -> Result<Located, Problem> {
        let folder = match preface {
            Preface::Folder(folder) => folder,
            Preface::Invalid(problem) => return Err(Problem::invalid("", *problem)),
            Preface::None => {
                let problem = "the connection names no project folder";
                let hint =
                    "send one zero byte with an open descriptor of the folder before the first request";
                return Err(Problem::new(ProblemCode::Forbidden, problem).with_hint(hint));
            }
        };
        let registry = self.home.registry().map_err(|error| unreadable(&error))?;
        registry.locate(&self.gate, folder.as_fd()).map_err(|why| {
            let problem = Problem::new(ProblemCode::Forbidden, why.to_string());
            match why {
                Unlocated::NotRegistered => problem.with_hint(REGISTER),
                Unlocated::Unreachable => problem.with_hint("run the command in the project's own folder"),
                _ => problem,
            }
        })
    }

    /// A folder as a new project, as the new folder of one that was registered under the same path, as a
    /// project under a new path, or as a folder with worktrees. Nothing is changed yet.
    pub(crate) fn draft(&self, folder: &OwnedFd, new: &NewProject) -> Result<Drafted, Problem> {
        let conflict = |error: StateError| conflict(&error);
        let mut registry = self.home.registry().map_err(conflict)?;
        let path = Path::new(&new.path);
        let drafted = Project::of_open(folder.as_fd(), path, self.gate.clone()).map_err(conflict)?;
        if let Some(of) = &new.worktrees_of {
            let known = registry.at(Path::new(of)).filter(|known| known.gate == self.gate);
            let mut project = known.cloned().ok_or_else(|| unregistered(of))?;
            let is_other = |folder: &WorktreeFolder| folder.path != path;
            project.worktrees.retain(is_other);
            for known in registry.projects.iter_mut().filter(|known| known.id == project.id) {
                known.worktrees.retain(is_other);
            }
            registry.check_free(&self.home, path).map_err(conflict)?;
            project.worktrees.push(WorktreeFolder { path: drafted.path, identity: drafted.identity });
            return Ok(Drafted(project));
        }
        let is_known = |known: &&Project| {
            known.gate == self.gate && (known.path == path || known.identity == drafted.identity)
        };
        // The folder was restored or replaced, or it has another name.
        let known = registry.projects.iter().find(is_known).cloned();
        registry.projects.retain(|project| Some(&project.id) != known.as_ref().map(|known| &known.id));
        registry.check_free(&self.home, path).map_err(conflict)?;
        Ok(Drafted(match known {
            Some(known) if known.path == drafted.path && known.identity == drafted.identity => {
                let problem = format!("{} is registered already", new.path);
                return Err(Problem::new(ProblemCode::Conflict, problem));
            }
            Some(known) => Project { id: known.id, worktrees: known.worktrees, ..drafted },
            None => drafted,
        }))
    }

    /// Registers what was drafted.
    pub(crate) fn add(&self, Drafted(project): Drafted) -> Result<ProjectStatus, Problem> {
        let changed = self.home.change_registry(|registry| {
            registry.projects.retain(|known| known.id != project.id);
            registry.add(&self.home, project.clone())
        });
        changed.map_err(|error| conflict(&error))?;
        Ok(status(&Located { project, levels_up: 0 }))
    }

    /// All of them, by path.
    pub(crate) fn list(&self) -> Result<ProjectList, Problem> {
        let registry = self.home.registry().map_err(|error| unreadable(&error))?;
        let own = registry.projects.iter().filter(|project| project.gate == self.gate);
        Ok(ProjectList { gate_id: self.gate.to_string(), projects: own.map(registered).collect() })
    }

    /// The one with an id.
    pub(crate) fn find(&self, id: &str) -> Result<RegisteredProject, Problem> {
        let found = self.list()?.projects.into_iter().find(|project| project.project_id == id);
        found.ok_or_else(|| Problem::new(ProblemCode::Unknown, format!("no project `{id}`")))
    }

    /// Takes one out of the registry.
    pub(crate) fn forget(&self, id: &str) -> Result<(), Problem> {
        let changed = self.home.change_registry(|registry| {
            registry.projects.retain(|known| known.gate != self.gate || known.id.as_str() != id);
            Ok::<_, StateError>(())
        });
        changed.map_err(|error| conflict(&error))
    }
}

/// A project as it will be registered.
pub(crate) struct Drafted(Project);

impl Drafted {
    pub(crate) fn project_id(&self) -> &str {
        self.0.id.as_str()
    }
}

fn registered(project: &Project) -> RegisteredProject {
    let worktrees = project.worktrees.iter().map(|folder| folder.path.display().to_string()).collect();
    let path = project.path.display().to_string();
    RegisteredProject { project_id: project.id.to_string(), path, worktrees }
}

fn unregistered(path: &str) -> Problem {
    let problem = format!("{path} is not a project of this gate");
    Problem::new(ProblemCode::Conflict, problem).with_hint("register the project first")
}

/// For clients.
pub(crate) fn status(located: &Located) -> ProjectStatus {
    let Located { project, levels_up } = located;
    let path = project.path.display().to_string();
    ProjectStatus { project_id: project.id.to_string(), path, levels_up: *levels_up }
}

const REGISTER: &str = "an owner of the gate runs `ordain gate register` there";

fn conflict(error: &StateError) -> Problem {
    let problem = Problem::new(ProblemCode::Conflict, error.to_string());
    error.hint().map_or(problem.clone(), |hint| problem.with_hint(hint))
}

fn unreadable(error: &StateError) -> Problem {
    tracing::error!(error = %error, "the registry of projects cannot be read");
    Problem::new(ProblemCode::Unavailable, "the gate cannot read its registry of projects")
}
