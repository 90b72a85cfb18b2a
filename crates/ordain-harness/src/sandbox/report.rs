//! The result of a session: how each command ended, the files that it left, and the protections that were in
//! force.

use super::Level;
use ordain_spec::evidence::ActionStatus;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::fmt;

/// The result of a session.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Report {
    /// The protections in force, read back from the kernel.
    pub protections: Protections,
    /// One for each step, in order.
    pub steps: Vec<StepReport>,
    /// Files that differ from the workspace with the writes in it, sorted by path.
    pub produced: Vec<ProducedFile>,
    /// Files that are gone from it, sorted by path.
    pub deleted: Vec<String>,
    /// Things that were left behind and are not files that can be taken over.
    pub refused: Vec<Refused>,
    /// Changes below a `.git` or `.ordain`, which never count, and lock files of first builds.
    pub dropped: Vec<String>,
    /// One for each path to look at.
    pub inspected: Vec<Inspected>,
    /// Writes between two steps that could not be made.
    #[serde(default)]
    pub failed_writes: Vec<FailedWrite>,
    /// The contents of the produced files, where they are asked for.
    #[serde(default)]
    pub kept: Vec<KeptFile>,
}

impl Report {
    /// The part of execution evidence that varies between runs.
    pub fn observed(&self) -> Map<String, Json> {
        let steps: Vec<Json> = self.steps.iter().map(StepReport::observed).collect();
        let sandbox = json!({
            "protections": self.protections,
            "steps": steps,
            "refused": self.refused,
            "dropped": self.dropped,
            "deleted": self.deleted,
        });
        Map::from_iter([("sandbox".to_owned(), sandbox)])
    }
}

/// The protections of the commands.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
pub struct Protections {
    /// How strong it was as a whole.
    pub level: Option<Level>,
    /// The caller, as it matters to the sandbox: `root` or `user`.
    pub caller: String,
    /// The namespaces of the command's own.
    pub namespaces: Vec<String>,
    /// `inside outside count`, as the kernel showed it.
    pub uid_map: String,
    /// Effective capabilities, hexadecimal.
    pub cap_eff: String,
    /// Capabilities that could ever be had again, hexadecimal.
    pub cap_bnd: String,
    /// Whether a program with a set-user-id bit could give privileges: `1` when it cannot.
    pub no_new_privs: String,
    /// `2`: a filter.
    pub seccomp: String,
    /// The hash of that filter.
    pub seccomp_sha256: String,
    /// The version of Landlock whose rules were used; 0 for none.
    pub landlock_abi: u32,
    /// Each limit and who enforces it.
    pub limits: BTreeMap<String, Limit>,
    /// The missing protections of this level.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_open: Vec<String>,
}

/// A limit.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Limit {
    /// How much.
    pub max: u64,
    /// The part that enforces it.
    pub by: String,
}

/// The result of one command.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct StepReport {
    /// The command and its arguments.
    pub argv: Vec<String>,
    /// The program that ran, as a path inside.
    pub program: Option<String>,
    /// How it ended.
    pub end: End,
    /// Leftovers that the profile does not allow. One is enough for failure.
    pub violations: Vec<String>,
    /// Files that it made or changed, sorted by path.
    pub produced: Vec<ProducedFile>,
    /// Files that it deleted, sorted by path.
    pub deleted: Vec<String>,
    /// Files that it left outside the workspace.
    #[serde(default)]
    pub left_outside: LeftOutside,
    /// Its standard output.
    pub stdout: Captured,
    /// Its standard error.
    pub stderr: Captured,
    /// Processes that were still there when it ended, and were killed.
    pub stragglers: u64,
    /// The most memory that its processes had together whenever it was looked at, with what the kernel may have had
    /// for them, or that one of them ever had.
    pub peak_memory_bytes: u64,
    /// How long it took.
    pub duration_ms: u64,
}

impl StepReport {
    /// As execution evidence says it.
    pub fn status(&self) -> ActionStatus {
        match &self.end {
            End::Exited { code: 0 } if self.violations.is_empty() => ActionStatus::Success,
            End::TimedOut { .. } => ActionStatus::Timeout,
            End::Skipped => ActionStatus::Skipped,
            _ => ActionStatus::Failure,
        }
    }

    /// The exit code for execution evidence. A failure never has 0 there, even if only the sandbox objects.
    pub fn exit_code(&self) -> Option<i64> {
        match (&self.end, self.status()) {
            (End::Exited { code: 0 }, ActionStatus::Success) => Some(0),
            (End::Exited { code }, _) if *code != 0 => Some(i64::from(*code)),
            _ => None,
        }
    }

    fn observed(&self) -> Json {
        let stream = |captured: &Captured| json!({"bytes": captured.bytes, "sha256": captured.sha256, "truncated": captured.truncated});
        json!({
            "argv": self.argv,
            // Only its name: where it is installed says something about the machine.
            "program": self.program.as_deref().map(|path| path.rsplit('/').next().unwrap_or(path)),
            "end": self.end,
            "violations": self.violations,
            "deleted": self.deleted,
            "left_outside": self.left_outside,
            "stdout": stream(&self.stdout),
            "stderr": stream(&self.stderr),
            "stragglers": self.stragglers,
            "peak_memory_bytes": self.peak_memory_bytes,
            "duration_ms": self.duration_ms,
        })
    }
}

/// The files that a command left outside the workspace.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct LeftOutside {
    /// How many new files.
    pub count: u64,
    /// The first of them that are not in a cache, those in the home first, with everything but plain text
    /// escaped.
    pub paths: Vec<String>,
}

/// How a command ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "snake_case")]
pub enum End {
    /// By itself.
    Exited {
        /// 0 is success.
        code: i32,
    },
    /// By a signal that the sandbox did not send.
    Signaled {
        /// Its number.
        signal: i32,
    },
    /// It took too long, and was killed with everything that it had started.
    TimedOut {
        /// How long it might run.
        after_ms: u64,
    },
    /// It used too much memory, and was killed.
    MemoryExceeded {
        /// How much was allowed.
        max_bytes: u64,
    },
    /// It had too many of something that the kernel has to remember, and was killed.
    TooMany {
        /// The limited resource.
        what: String,
        /// How many were allowed.
        max: u64,
    },
    /// It wrote too much to standard output or standard error, and was killed.
    OutputExceeded {
        /// How much was allowed.
        max_bytes: u64,
    },
    /// It could not be started.
    NotStarted {
        /// Why.
        reason: String,
    },
    /// The profile does not allow it.
    NotAllowed {
        /// Why.
        reason: String,
    },
    /// A step before it failed.
    Skipped,
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited { code } => write!(f, "exit code {code}"),
            Self::Signaled { signal } => write!(f, "ended by signal {signal}"),
            Self::TimedOut { after_ms } => write!(f, "killed after {after_ms} ms"),
            Self::MemoryExceeded { max_bytes } => {
                write!(f, "killed for using more than {max_bytes} bytes of memory")
            }
            Self::TooMany { what, max } => write!(f, "killed for having more than {max} {what}"),
            Self::OutputExceeded { max_bytes } => {
                write!(f, "killed for writing more than {max_bytes} bytes to one stream")
            }
            Self::NotStarted { reason } => write!(f, "not started: {reason}"),
            Self::NotAllowed { reason } => write!(f, "not allowed: {reason}"),
            Self::Skipped => f.write_str("skipped, because a step before it failed"),
        }
    }
}

/// The output of a command on one stream.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct Captured {
    /// The first of it.
    #[serde(with = "base64")]
    pub kept: Vec<u8>,
    /// How much it was.
    pub bytes: u64,
    /// The hash of all of it, as far as it was read.
    pub sha256: String,
    /// Whether there was more than what is kept.
    pub truncated: bool,
}

/// A file that a command made or changed.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct ProducedFile {
    /// Relative to the workspace.
    pub path: String,
    /// The hash of its bytes.
    pub sha256: String,
    /// How many bytes.
    pub size: u64,
    /// Whether it may be executed.
    pub executable: bool,
}

/// A produced file with its content.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct KeptFile {
    /// Relative to the workspace.
    pub path: String,
    /// Its bytes.
    #[serde(with = "base64")]
    pub content: Vec<u8>,
}

/// Something left behind that is not taken over.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub struct Refused {
    /// Relative to the workspace, with everything but plain text escaped.
    pub path: String,
    /// The kind of thing, and why it stays behind.
    pub reason: String,
}

/// A change that could not be made between two steps, because of what a command left there.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct FailedWrite {
    /// Relative to the workspace.
    pub path: String,
    /// Why.
    pub problem: String,
}

/// The state of a path after the last step.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Inspected {
    /// Relative to the workspace.
    pub path: String,
    /// The state.
    pub state: FileState,
}

/// The state of a path.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum FileState {
    /// Nothing.
    Missing,
    /// A file.
    File {
        /// The hash of its bytes.
        sha256: String,
        /// How many bytes.
        size: u64,
    },
    /// A folder, a link, or something that is only reached through a link.
    Other,
}

pub(crate) mod base64 {
    use base64ct::{Base64, Encoding};
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    pub(crate) fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&Base64::encode_string(bytes))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(deserializer)?;
        Base64::decode_vec(&text).map_err(|error| D::Error::custom(format!("not base64: {error}")))
    }
}
