//! The effects of a command, one deed at a time.

use serde::{Deserialize, Serialize};

/// A kind of effect.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectKind {
    /// Nothing outside of the program.
    Harmless,
    /// Reads a file or a folder with all it holds.
    Read,
    /// Creates or changes a file, or what is known about it.
    Write,
    /// Deletes a file or a folder with all it holds.
    Delete,
    /// Fetches from a host.
    NetworkRead,
    /// Sends something to a host.
    NetworkWrite,
    /// Changes refs, the index or the stash of the repository here.
    GitWrite,
    /// Changes refs of another repository.
    GitPush,
    /// Installs or removes packages.
    Install,
    /// Publishes packages, images or releases.
    Publish,
    /// Ends or changes other processes.
    Process,
    /// Acts with rights that the caller does not have, or changes the machine.
    Privilege,
    /// Runs code of the workspace, which can do whatever its owner can.
    RunsCode,
    /// Cannot be said.
    Opaque,
}

impl EffectKind {
    /// All of them.
    pub const ALL: [Self; 14] = [
        Self::Harmless,
        Self::Read,
        Self::Write,
        Self::Delete,
        Self::NetworkRead,
        Self::NetworkWrite,
        Self::GitWrite,
        Self::GitPush,
        Self::Install,
        Self::Publish,
        Self::Process,
        Self::Privilege,
        Self::RunsCode,
        Self::Opaque,
    ];

    /// As documents write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Harmless => "harmless",
            Self::Read => "read",
            Self::Write => "write",
            Self::Delete => "delete",
            Self::NetworkRead => "network_read",
            Self::NetworkWrite => "network_write",
            Self::GitWrite => "git_write",
            Self::GitPush => "git_push",
            Self::Install => "install",
            Self::Publish => "publish",
            Self::Process => "process",
            Self::Privilege => "privilege",
            Self::RunsCode => "runs_code",
            Self::Opaque => "opaque",
        }
    }
}

/// One effect of a command.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Effect {
    /// Its kind.
    pub effect: EffectKind,
    /// The program that has it. Empty where the shell itself does it.
    pub program: String,
    /// The program's arguments, as far as they are known. An unknown one is given as it is spelled.
    pub args: Vec<String>,
    /// `file`, `credential`, `guard`, `network`, `git_ref`, `package`, `process`, `privilege`, `code`, `program` or
    /// `opaque`.
    pub resource_type: String,
    /// The path, host, ref, package or program. `*` is any.
    pub resource_id: String,
    /// `workspace`, `host`, or the name of the host or registry.
    pub domain: String,
    /// Whether program and kind are known. An unknown one can be anything.
    pub known: bool,
}
