//! The commands to run, and why they could not be run.

use super::Level;
use ordain_spec::profile::Profile;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// Commands to run on a view of a workspace.
#[derive(Clone, PartialEq, Debug)]
pub struct Session {
    /// The folder whose content the commands see. It is only read.
    pub workspace: PathBuf,
    /// The rights of the commands.
    pub profile: Profile,
    /// Changes that are made before the first command or between two, in this order. They are not output.
    pub writes: Vec<Write>,
    /// One after the other, in the same view: each sees what those before it left.
    pub steps: Vec<Step>,
    /// Files to look at after the last step.
    pub inspect: Vec<String>,
    /// Whether the contents of what the commands left behind are wanted.
    pub keep: bool,
    /// Less protection than that is refused.
    pub level_min: Level,
}

impl Session {
    /// A session without steps. The profile `strict` needs the full protection.
    pub fn new(workspace: impl Into<PathBuf>, profile: Profile) -> Self {
        let level_min = if profile.name == "strict" { Level::Full } else { Level::Namespaces };
        Self {
            workspace: workspace.into(),
            profile,
            writes: Vec::new(),
            steps: Vec::new(),
            inspect: Vec::new(),
            keep: false,
            level_min,
        }
    }

    /// Takes [`Level::LandlockOnly`] where a machine has no namespaces. It changes nothing where it has them, nor
    /// where the full protection is asked for, as by the profile `strict`.
    pub fn allow_landlock_only(&mut self) {
        if self.level_min == Level::Namespaces {
            self.level_min = Level::LandlockOnly;
        }
    }
}

/// A change to the view that no command makes.
#[derive(Clone, PartialEq, Debug)]
pub struct Write {
    /// Relative to the workspace.
    pub path: String,
    /// The whole content, or nothing to delete the file.
    pub content: Option<Vec<u8>>,
    /// How many steps come before it. The writes of a session are sorted by this.
    pub after_steps: usize,
    /// Whether the steps and writes after it are skipped when it cannot be made between two steps.
    pub required: bool,
}

impl Write {
    /// A required change before the first step.
    pub fn new(path: impl Into<String>, content: Option<Vec<u8>>) -> Self {
        Self { path: path.into(), content, after_steps: 0, required: true }
    }
}

/// One command.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Step {
    /// The command and its arguments. No shell looks at them.
    pub argv: Vec<String>,
    /// How long it may run; what the profile says when absent.
    pub timeout_ms: Option<u64>,
    /// Whether the steps after it are skipped when it fails.
    pub required: bool,
    /// Whether it starts with a fresh home, `/tmp`, `/dev/shm` and build scratch: nothing that commands
    /// before it left there, only the workspace as they left it.
    #[serde(default)]
    pub fresh: bool,
}

impl Step {
    /// A required command with the time that the profile gives.
    pub fn new<S: Into<String>>(argv: impl IntoIterator<Item = S>) -> Self {
        let argv = argv.into_iter().map(Into::into).collect();
        Self { argv, timeout_ms: None, required: true, fresh: false }
    }
}

/// The sandbox did not do its work. A command that failed is not such an error.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// The workspace is not there, or is not a folder.
    #[error("the workspace `{path}` cannot be used: {error}")]
    Workspace {
        /// As it was given.
        path: String,
        /// Why.
        error: std::io::Error,
    },
    /// This system has no sandbox.
    #[error("no sandbox here: {cause}")]
    Unsupported {
        /// The missing part.
        cause: String,
        /// The remedy.
        remedy: String,
    },
    /// The machine has less than what is asked for.
    #[error("the sandbox would only reach the level `{found}`, and `{wanted}` is asked for: {cause}")]
    Level {
        /// The level that there is.
        found: Level,
        /// The level that is asked for.
        wanted: Level,
        /// The missing part.
        cause: String,
        /// The remedy.
        remedy: String,
    },
    /// A part of the sandbox could not be set up. Nothing ran.
    #[error("the sandbox cannot be set up: {stage}: {cause}")]
    Setup {
        /// The step that failed.
        stage: String,
        /// Why it failed.
        cause: String,
        /// The remedy, where one is known.
        remedy: Option<String>,
    },
    /// A profile asks for what the sandbox does not give.
    #[error("the profile `{profile}` cannot be used: {problem}")]
    Profile {
        /// Its name.
        profile: String,
        /// The problem with it.
        problem: &'static str,
    },
    /// A change that cannot be made before the first command.
    #[error("`{path}` cannot be written into the sandbox: {problem}")]
    Write {
        /// The path of the change.
        path: String,
        /// Why.
        problem: String,
    },
    /// The helper did not end in time, and was killed with everything in it.
    #[error("the sandbox did not end within {0} ms and was killed")]
    Hung(u64),
    /// The helper ended without a report.
    #[error("the sandbox ended without a report: {0}")]
    NoReport(String),
    /// The helper could not be started.
    #[error("the sandbox cannot be started: {0}")]
    Start(#[from] std::io::Error),
}

impl SandboxError {
    /// The remedy, where one is known.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Unsupported { remedy, .. } | Self::Level { remedy, .. } => Some(remedy),
            Self::Setup { remedy, .. } => remedy.as_deref(),
            Self::Profile { .. } => Some("use another profile, or set `allow_network` to false"),
            _ => None,
        }
    }
}
