//! The projects of a gate, as a client over a unix socket meets them.

use crate::approver::subject;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A folder to be registered: the one whose descriptor came before the request.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NewProject {
    /// Its path without links, as its owner knows it.
    #[schemars(length(max = 4_096), regex(pattern = "^/"))]
    pub path: String,
    /// The path of a registered project, if the folder only holds worktrees of that project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 4_096), regex(pattern = "^/"))]
    pub worktrees_of: Option<String>,
}

impl NewProject {
    /// The subject of the statement that registers it: the hash of its canonical JSON.
    pub fn subject(&self) -> String {
        subject(self)
    }
}

/// A project of a gate, as actions name it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProjectName {
    /// Its id.
    pub project_id: String,
    /// The path that it was registered under.
    pub path: String,
}

/// The project that a request is about.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ProjectStatus {
    /// Its id.
    pub project_id: String,
    /// The path that it was registered under.
    pub path: String,
    /// How many folders above the one whose descriptor was sent the project's lies, or that of its worktree.
    pub levels_up: usize,
}

/// A project that is registered with the gate.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct RegisteredProject {
    /// Its id.
    pub project_id: String,
    /// The path that it was registered under.
    pub path: String,
    /// Folders outside it that hold worktrees of it.
    pub worktrees: Vec<String>,
}

/// The projects of a gate.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ProjectList {
    /// The gate.
    pub gate_id: String,
    /// By path.
    pub projects: Vec<RegisteredProject>,
}
