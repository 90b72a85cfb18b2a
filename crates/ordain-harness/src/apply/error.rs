//! Why a workspace was not changed.

use std::fmt;

/// Something that speaks against an operation.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, serde::Serialize)]
pub struct Problem {
    /// The path that the operation is about.
    pub path: String,
    /// The problem with the path.
    pub problem: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` {}", self.path, self.problem)
    }
}

/// A workspace was not changed, or not as it should have been. Only `Stuck` leaves work to a person.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ApplyError {
    /// The workspace is not there, or is not a folder.
    #[error("the workspace `{path}` cannot be used: {error}")]
    Workspace {
        /// As it was given.
        path: String,
        /// Why.
        error: std::io::Error,
    },
    /// The files that ordain keeps in a workspace are not as it left them, or cannot be written.
    #[error("`{path}` cannot be used: {problem}")]
    State {
        /// Relative to the workspace.
        path: String,
        /// Why.
        problem: String,
    },
    /// Somebody else changes the workspace.
    #[error("another ordain changes this workspace at the moment")]
    Busy,
    /// The checks found something. Nothing was changed.
    #[error("nothing was changed: {}", list(.0))]
    Refused(Vec<Problem>),
    /// It went wrong half-way, and everything is again as it was before.
    #[error("everything is as it was before: {0}")]
    RolledBack(Problem),
    /// It went wrong half-way, and what was done could not be taken back either.
    #[error(
        "the workspace is between two states, because files changed meanwhile; finishing is stopped by {forward}, and \
         going back by {back}"
    )]
    Stuck {
        /// The problem that stops it from being finished.
        forward: Problem,
        /// The problem that stops it from being rolled back.
        back: Problem,
    },
    /// A gate is registered for the workspace, and decides about changes.
    #[error("gate {gate} decides about changes of `{path}`")]
    Gated {
        /// As it was given.
        path: String,
        /// The gate.
        gate: String,
    },
    /// Nobody can tell whether a gate is registered for the workspace.
    #[error(transparent)]
    Registry(#[from] ordain_state::StateError),
    /// The use is not one of this permit.
    #[error("permit `{permit_id}` gives no right to this change: {problem}")]
    Permit {
        /// The permit.
        permit_id: String,
        /// The mismatch.
        problem: String,
    },
    /// The authority is for another workspace.
    #[error("the authority to change `{authorized}` does not extend to `{path}`")]
    OtherWorkspace {
        /// As it was given.
        path: String,
        /// The workspace that may be changed.
        authorized: String,
    },
    /// There is no such record.
    #[error("{0}")]
    NoRecord(String),
    /// This system has no way to do it.
    #[error("a workspace can only be changed on Linux")]
    Unsupported,
}

impl ApplyError {
    /// The advice for this error, where there is any.
    pub fn hint(&self) -> Option<&'static str> {
        match self {
            Self::State { .. } => Some("move it away, and run the command again"),
            Self::Busy => Some("run the command again when the other one has ended"),
            Self::Stuck { .. } => Some(
                "bring one of the two files into the state that the message names, with contents from \
                 `.ordain/apply/txn`, and run any command again",
            ),
            _ => None,
        }
    }
}

fn list(problems: &[Problem]) -> String {
    const SHOWN_MAX: usize = 20;
    let mut texts: Vec<String> = problems.iter().take(SHOWN_MAX).map(Problem::to_string).collect();
    if let Some(more) = problems.len().checked_sub(SHOWN_MAX).filter(|more| *more > 0) {
        texts.push(format!("and {more} more"));
    }
    texts.join("; ")
}
