//! The protocol between the caller and its helper: one order, one answer, each JSON in a file in memory.

use super::identity::Identity;
use super::{Level, Probe, Report, Step};
use rustix::fs::{MemfdFlags, memfd_create};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::fd::{AsRawFd, OwnedFd};

/// The descriptors below are input, output and errors.
pub(crate) const FIRST_AFTER_STANDARD: u32 = 3;
/// The name that the helper is called by.
pub(crate) const HELPER_NAME: &str = "ordain-sandbox-init";

/// The order.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Order {
    /// Run steps.
    Run(Box<RunOrder>),
    /// Find out what works.
    Probe,
}

/// Everything that the helper needs to know, since it has neither the caller's environment nor its descriptors.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RunOrder {
    pub(crate) workspace: OsString,
    pub(crate) identity: Identity,
    /// A process in namespaces that were made for this run, unless the helper must make them.
    pub(crate) namespaces_of: Option<i32>,
    /// A process in the user namespace by which root shows the workspace.
    pub(crate) owner_mapped_by: Option<i32>,
    pub(crate) writes: Vec<WriteOrder>,
    pub(crate) steps: Vec<StepOrder>,
    pub(crate) inspect: Vec<String>,
    pub(crate) keep: bool,
    pub(crate) binds: Vec<Bind>,
    pub(crate) links: Vec<(String, String)>,
    pub(crate) path: Vec<String>,
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) output_files_max: u64,
    pub(crate) output_bytes_max: u64,
    pub(crate) write_roots: Vec<String>,
    /// The filter for system calls, as the kernel takes it. The caller makes it while the helper starts.
    #[serde(with = "super::report::base64")]
    pub(crate) filter: Vec<u8>,
    pub(crate) filter_sha256: String,
    pub(crate) level_min: Level,
    /// The private folder that stands for the root, where there are no namespaces.
    pub(crate) base: Option<String>,
    /// How long everything may take.
    pub(crate) time_ms: u64,
}

impl RunOrder {
    /// Where a path of the sandbox really is.
    pub(crate) fn inside(&self, path: &str) -> String {
        format!("{}{path}", self.base.as_deref().unwrap_or_default())
    }
}

/// A change that no command makes. The contents stand behind the JSON, one after the other.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct WriteOrder {
    pub(crate) path: String,
    pub(crate) bytes: Option<usize>,
    pub(crate) after_steps: usize,
    pub(crate) required: bool,
}

/// A step that was checked.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct StepOrder {
    pub(crate) step: Step,
    pub(crate) timeout_ms: u64,
    /// Why it must not run.
    pub(crate) not_allowed: Option<String>,
}

/// A file or folder of the host that is seen inside, read-only.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Bind {
    pub(crate) from: OsString,
    /// Absolute.
    pub(crate) to: String,
}

/// The answer.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Answer {
    Report(Box<Report>),
    Probe(Probe),
    Fault(Fault),
    Level {
        found: Level,
        wanted: Level,
        landlock_abi: u32,
    },
    Write {
        path: String,
        problem: String,
    },
    /// The collector did not end in time.
    Hung,
}

/// A part of the sandbox that could not be set up.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Fault {
    pub(crate) stage: String,
    pub(crate) errno: Option<i32>,
    pub(crate) message: String,
}

impl Fault {
    pub(crate) fn new(stage: impl Into<String>, error: impl Into<io::Error>) -> Self {
        let error = error.into();
        Self { stage: stage.into(), errno: error.raw_os_error(), message: error.to_string() }
    }
}

/// Says what was being done when something failed.
pub(crate) trait Stage<T> {
    fn stage(self, stage: &str) -> Result<T, Fault>;
    fn stage_at(self, stage: &str, path: &std::path::Path) -> Result<T, Fault>;
}

impl<T, E: Into<io::Error>> Stage<T> for Result<T, E> {
    fn stage(self, stage: &str) -> Result<T, Fault> {
        self.map_err(|error| Fault::new(stage, error))
    }

    fn stage_at(self, stage: &str, path: &std::path::Path) -> Result<T, Fault> {
        self.map_err(|error| Fault::new(format!("{stage} `{}`", path.display()), error))
    }
}

/// A file that only exists in memory.
pub(crate) fn memory_file(name: &str) -> io::Result<File> {
    Ok(above_standard(memfd_create(name, MemfdFlags::CLOEXEC)?)?.into())
}

/// A caller may have closed its standard streams, and a new descriptor then gets such a number.
pub(crate) fn above_standard(descriptor: OwnedFd) -> io::Result<OwnedFd> {
    let first = i32::try_from(FIRST_AFTER_STANDARD).map_err(io::Error::other)?;
    if descriptor.as_raw_fd() >= first {
        return Ok(descriptor);
    }
    Ok(rustix::io::fcntl_dupfd_cloexec(&descriptor, first)?)
}

/// The length of the JSON, the JSON, then raw bytes.
pub(crate) fn write_message<'b>(
    file: &mut File,
    message: &impl Serialize,
    contents: impl Iterator<Item = &'b [u8]>,
) -> io::Result<()> {
    let text = serde_json::to_vec(message)?;
    file.write_all(&(text.len() as u64).to_le_bytes())?;
    file.write_all(&text)?;
    for bytes in contents {
        file.write_all(bytes)?;
    }
    Ok(())
}

/// Reads from the start; gives the message, and the file stands at the raw bytes.
pub(crate) fn read_message<T: DeserializeOwned>(file: &mut File) -> io::Result<T> {
    file.seek(SeekFrom::Start(0))?;
    let mut length = [0; 8];
    file.read_exact(&mut length)?;
    let available = file.metadata()?.len();
    let length = u64::from_le_bytes(length).min(available);
    let mut text = Vec::with_capacity(usize::try_from(length).unwrap_or_default());
    file.take(length).read_to_end(&mut text)?;
    Ok(serde_json::from_slice(&text)?)
}
