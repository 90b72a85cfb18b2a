#![doc = include_str!("../README.md")]

pub mod apply;
pub mod sandbox;

mod folder;
mod run_folder;

mod agent;

pub mod git;
pub mod worktree;

pub use agent::{
    AGENT_STREAM_BYTES_KEPT_MAX, AGENT_STREAM_BYTES_MAX, AgentCommand, AgentEnd, AgentReport, run_agent,
};
pub use folder::{Entry, EntryKind, Folder, Stamp};
pub use run_folder::{RUNS, RunFolderError, prepare_run_folder, replace_own_file, write_run_folder};

#[cfg(target_os = "linux")]
mod beneath;
