//! Runs commands on a view of a workspace, without letting them touch anything else.

mod event;
mod level;
pub mod limits;
mod report;
mod session;

#[cfg(target_os = "linux")]
mod alone;
#[cfg(target_os = "linux")]
mod collector;
#[cfg(target_os = "linux")]
mod copy;
#[cfg(target_os = "linux")]
mod fence;
#[cfg(target_os = "linux")]
mod filter;
#[cfg(target_os = "linux")]
mod harvest;
#[cfg(target_os = "linux")]
mod identity;
#[cfg(target_os = "linux")]
mod init;
#[cfg(target_os = "linux")]
mod launch;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(target_os = "linux")]
mod outside;
#[cfg(target_os = "linux")]
mod payload;
#[cfg(target_os = "linux")]
mod place;
#[cfg(target_os = "linux")]
mod probe;
#[cfg(target_os = "linux")]
mod processes;
#[cfg(target_os = "linux")]
mod room;
#[cfg(target_os = "linux")]
mod root;
#[cfg(target_os = "linux")]
mod shared;
#[cfg(target_os = "linux")]
mod steps;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
mod toolbox;
#[cfg(target_os = "linux")]
mod wire;
#[cfg(target_os = "linux")]
mod writes;

#[cfg(not(target_os = "linux"))]
mod elsewhere;

pub use event::StepEvent;
pub use level::{Feature, Level, Probe};
pub use report::{
    Captured, End, FailedWrite, FileState, Inspected, KeptFile, LeftOutside, Limit, ProducedFile,
    Protections, Refused, Report, StepReport,
};
pub use session::{SandboxError, Session, Step, Write};

#[cfg(not(target_os = "linux"))]
pub use elsewhere::{enter_if_asked, probe, run, run_watched};
#[cfg(target_os = "linux")]
pub(crate) use harvest::{escaped, leaves};
#[cfg(target_os = "linux")]
pub use init::enter_if_asked;
#[cfg(target_os = "linux")]
pub use launch::{probe, run, run_watched};
#[cfg(target_os = "linux")]
pub(crate) use processes::Processes;

/// The folder that commands find the workspace in. It is the same everywhere, so that what they build is too.
pub const WORKSPACE: &str = "/workspace";
/// The folder that ordain keeps in a workspace. Commands do not see it.
#[cfg(target_os = "linux")]
pub(crate) const OWN: &str = ".ordain";
