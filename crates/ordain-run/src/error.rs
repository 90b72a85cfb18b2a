//! Why a run came to no result.

use ordain_canon::WriteError;
use ordain_harness::RunFolderError;
use ordain_harness::apply::ApplyError;
use ordain_harness::sandbox::SandboxError;
use ordain_kernel::{PatchError, PlanError};
use ordain_spec::{CommandError, Kind};

/// A run came to no result. A document that was not accepted is not such an error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunError {
    /// The intent has a bundle, but no plan.
    #[error("no plan can be made: {0}")]
    Plan(#[from] PlanError),
    /// The plan has no patch set.
    #[error("no patch set can be made: {0}")]
    Patch(#[from] PatchError),
    /// A command of the plan cannot be split, although the rules of plans hold.
    #[error("the command `{0}` cannot run: {1}")]
    Command(String, CommandError),
    /// A single command has no plan.
    #[error("it cannot be planned: {0}")]
    Unplanned(String),
    /// A made document breaks its own rules.
    #[error("the {} that was made is not valid: {problem}", .kind.title())]
    Made {
        /// Its kind.
        kind: Kind,
        /// The first thing that is wrong with it.
        problem: String,
    },
    /// A work order cannot be prepared or judged.
    #[error("{0}")]
    Order(String),
    /// The workspace is not what the agent's copy was made of.
    #[error("`{0}` changed in the workspace since the copy was made")]
    Changed(String),
    /// A document has no canonical form: it is too long.
    #[error("a document cannot be written: {0}")]
    Write(#[from] WriteError),
    /// The workspace cannot be looked at.
    #[error(transparent)]
    Workspace(#[from] ApplyError),
    /// The sandbox did not do its work.
    #[error(transparent)]
    Sandbox(#[from] SandboxError),
    /// The folder of the run could not be written.
    #[error(transparent)]
    Folder(#[from] RunFolderError),
}

impl RunError {
    /// The advice for this error, where there is any.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Workspace(error) => error.hint(),
            Self::Sandbox(error) => error.hint(),
            _ => None,
        }
    }
}
