//! Systems whose kernel has neither namespaces nor Landlock: a clear refusal.

use super::{Feature, Probe, Report, SandboxError, Session, StepEvent};

const CAUSE: &str = "the sandbox is built on Linux namespaces, seccomp and Landlock";
const REMEDY: &str = "run it on Linux 6.6 or newer, in a virtual machine for instance";

/// Does nothing: there is no helper.
pub fn enter_if_asked() {}

/// Refuses.
pub fn run(_: &Session) -> Result<Report, SandboxError> {
    Err(SandboxError::Unsupported { cause: CAUSE.to_owned(), remedy: REMEDY.to_owned() })
}

/// Refuses.
pub fn run_watched(session: &Session, _: &mut dyn FnMut(StepEvent)) -> Result<Report, SandboxError> {
    run(session)
}

/// The abilities of this machine: none.
pub fn probe() -> Probe {
    let feature = Feature::missing("linux", CAUSE, REMEDY);
    Probe { level: None, caller: "this system".to_owned(), features: vec![feature] }
}
