//! The run to make, and the resources that the caller lends for it.

use ordain_canon::Value;
use ordain_harness::sandbox::{Report, SandboxError, Session, StepEvent};
use ordain_spec::Verified;
use ordain_spec::patch::PatchSet;
use ordain_spec::plan::Proposal;
use ordain_spec::profile::Profile;
use std::path::PathBuf;

/// One run.
pub struct Request<'r> {
    /// The suffix that tells it from another run that starts in the same second.
    pub random: [u8; 3],
    /// The folder that it is about. Only its `.ordain` is written to.
    pub workspace: PathBuf,
    /// The rights of commands.
    pub profile: Profile,
    /// The document that it starts with.
    pub origin: Origin<'r>,
    /// How far it goes.
    pub mode: Mode,
    /// Whether commands may run without namespaces where there are none.
    pub allow_landlock_only: bool,
}

/// The document that a run starts with. The path is relative, or just a name.
pub enum Origin<'r> {
    /// Somebody's words.
    Intent {
        /// As the result names it.
        path: String,
        /// Its content.
        text: IntentText<'r>,
    },
    /// A plan that somebody made without the kernel.
    Plan {
        /// As the result names it.
        path: String,
        /// The plan.
        plan: Box<Verified<Proposal>>,
    },
    /// A patch set that somebody made without a plan.
    Patch {
        /// As the result names it.
        path: String,
        /// The patch set.
        set: Box<Verified<PatchSet>>,
    },
}

/// The text of an intent.
pub enum IntentText<'r> {
    /// It is JSON, whatever it says.
    Read {
        /// Its content.
        value: &'r Value<'r>,
        /// How long the text is.
        bytes: usize,
    },
    /// It is none.
    Unreadable {
        /// The text itself.
        text: &'r [u8],
        /// The finding against it.
        message: String,
    },
}

/// How far a run goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// To the verdict.
    Try,
    /// To the plan and the patch set; nothing is tried, and nothing accepted.
    PlanOnly,
}

/// Runs a session of the sandbox, as [`run_watched`](ordain_harness::sandbox::run_watched) does.
pub type Runner = dyn Fn(&Session, &mut dyn FnMut(StepEvent)) -> Result<Report, SandboxError>;

/// The parts that differ between two runs of the same thing.
pub struct World<'w> {
    /// Milliseconds since 1970.
    pub now_ms: &'w dyn Fn() -> u64,
    /// The sandbox.
    pub sandbox: &'w Runner,
    /// The program that runs it, as in `ordain 0.1.0`.
    pub executor: &'w str,
}
