//! The projects of the gate, as its state directory registers them. A client over a unix socket names one by a descriptor.

use crate::peer::Preface;
use ordain_api::{NewProject, Problem, ProblemCode, ProjectStatus};
use ordain_state::{GateId, Home, Located, Project, StateError, Unlocated};
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

    /// A folder as a new project, or as the new folder of one that was registered under the same path.
    pub(crate) fn draft(&self, folder: &OwnedFd, new: &NewProject) -> Result<Project, Problem> {
        let conflict = |error: StateError| conflict(&error);
        let registry = self.home.registry().map_err(conflict)?;
        let path = Path::new(&new.path);
        let drafted = Project::of_open(folder.as_fd(), path, self.gate.clone()).map_err(conflict)?;
        let known = registry.at(path).filter(|known| known.gate == self.gate);
        match known {
            // The folder was restored or replaced.
            Some(known) if known.identity != drafted.identity => {
                Ok(Project { id: known.id.clone(), worktrees: known.worktrees.clone(), ..drafted })
            }
            _ => {
                registry.check_free(&self.home, path).map_err(conflict)?;
                Ok(drafted)
            }
        }
    }

    pub(crate) fn add(&self, project: &Project) -> Result<(), Problem> {
        let changed = self.home.change_registry(|registry| {
            registry.projects.retain(|known| known.id != project.id);
            registry.add(&self.home, project.clone())
        });
        changed.map_err(|error| conflict(&error))
    }
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
