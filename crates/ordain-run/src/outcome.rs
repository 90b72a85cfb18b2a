//! The product of a run.

use crate::verdict::VerdictReason;
use ordain_harness::apply::Base;
use ordain_harness::sandbox::Report;
use ordain_spec::Verified;
use ordain_spec::bundle::Bundle;
use ordain_spec::evidence::ExecutionEvidence;
use ordain_spec::patch::PatchSet;
use ordain_spec::plan::Proposal;
use ordain_spec::run::RunResult;
use std::path::PathBuf;

/// A run that came to a result, and everything that it made.
pub struct Run {
    /// The result, as it is in the folder.
    pub result: Verified<RunResult>,
    /// The reasons of the verdict, which the result has as texts.
    pub reasons: Vec<VerdictReason>,
    /// The folder, relative to the workspace.
    pub folder: PathBuf,
    /// The bundle, complete or not.
    pub bundle: Option<Verified<Bundle>>,
    /// The plan.
    pub planned: Option<Planned>,
    /// The events.
    pub tried: Option<Tried>,
}

/// The changes that would be made.
pub struct Planned {
    /// The plan.
    pub plan: Verified<Proposal>,
    /// Its file operations, or the patch set that was brought.
    pub patch: Verified<PatchSet>,
    /// The state of the targets before. Targets that could not be looked at are not in it.
    pub base: Base,
}

/// The report of the sandbox.
pub struct Tried {
    /// The evidence.
    pub evidence: Verified<ExecutionEvidence>,
    /// The sandbox's own report; none when a required file action stopped everything.
    pub report: Option<Report>,
}
