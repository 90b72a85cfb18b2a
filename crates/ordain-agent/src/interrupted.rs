//! Uses of permits whose commands ended before they could report.

use crate::agent::Agent;
use crate::error::AgentError;
use crate::report::{report_of, succeeded};
use ordain_api::{ProblemCode, UseOutcome};
use ordain_client::ClientError;
use ordain_harness::apply::{Done, KeptUse, OpenUse, done_under, kept_uses};
use std::path::Path;

/// Something that happened besides, for people.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Note {
    /// An interrupted use is reported now.
    Reported {
        /// The use.
        open: OpenUse,
        /// Whether the change was made.
        made: bool,
    },
    /// Somebody settled an interrupted use meanwhile.
    Settled {
        /// The use.
        open: OpenUse,
        /// The gate's words.
        detail: String,
    },
    /// The time for the worker's own word is over: an owner says how an interrupted use went.
    Waits {
        /// The use.
        open: OpenUse,
        /// Whether the change was made, as the workspace shows.
        made: bool,
    },
    /// An interrupted use belongs to another gate.
    OtherGate {
        /// The use.
        open: OpenUse,
    },
}

/// The interrupted uses of one gate in a workspace.
pub struct Interrupted {
    uses: Vec<KeptUse>,
}

impl Interrupted {
    /// Finds the interrupted uses of a gate, and tells of those of others. Those are reported to their gate
    /// and to nobody else: a file must not say where a token is sent.
    pub fn find(workspace: &Path, server: Option<&str>, tell: &mut dyn FnMut(Note)) -> Self {
        // A folder that cannot be read has no uses; a command about the folder says so itself.
        let (uses, elsewhere): (Vec<_>, Vec<_>) = kept_uses(workspace)
            .unwrap_or_default()
            .into_iter()
            .partition(|kept| kept.open.server.as_deref() == server);
        for kept in elsewhere {
            tell(Note::OtherGate { open: kept.open.clone() });
        }
        Self { uses }
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.uses.is_empty()
    }

    /// Reports what the workspace shows.
    pub fn report(
        self,
        agent: Agent<'_>,
        workspace: &Path,
        tell: &mut dyn FnMut(Note),
    ) -> Result<(), AgentError> {
        for kept in self.uses {
            let open = kept.open.clone();
            let report = match done_under(workspace, &open)? {
                Done::Made(applied) => succeeded(&open, &applied, None),
                Done::NotMade => {
                    let reason = "it was interrupted, and nothing of it is left in the workspace";
                    report_of(&open, UseOutcome::Failed, 0, reason, None)
                }
                Done::AtWork => continue,
            };
            match agent.send(&open, &report) {
                Ok(()) => tell(Note::Reported { open, made: report.change.is_some() }),
                Err(ClientError::Problem(problem)) if problem.code == ProblemCode::Conflict => {
                    tell(Note::Settled { open, detail: problem.detail });
                }
                Err(ClientError::Problem(problem)) if problem.code == ProblemCode::Presence => {
                    tell(Note::Waits { open, made: report.outcome == UseOutcome::Succeeded });
                    continue;
                }
                Err(error) => return Err(error.into()),
            }
            kept.forget()?;
        }
        Ok(())
    }
}
