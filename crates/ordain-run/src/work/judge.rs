//! The two trees of a round, and what their evidence means together. All of it follows from documents.

use super::{PlanError, PutBack, RunError, plan_of_work, put_back, undone, verified};
use crate::verdict::{Judged, VerdictReason, verdict};
use ordain_canon::Value;
use ordain_spec::Verified;
use ordain_spec::bundle::Bundle;
use ordain_spec::evidence::ExecutionEvidence;
use ordain_spec::patch::PatchSet;
use ordain_spec::plan::Proposal;

/// The part of a patch set that is tried.
pub(crate) struct Trees {
    /// On the agent's tree.
    pub(crate) plan: Verified<Proposal>,
    /// The rest with protected files put back, and which these are.
    pub(crate) put_back: PutBack,
    /// On the tree with protected files put back, unless the two are the same or nothing is left.
    pub(crate) restored: Option<Verified<Proposal>>,
    /// Files that the intent deletes and the patch set does not.
    undone: Vec<String>,
}

impl Trees {
    pub(crate) fn of(
        bundle: &Verified<Bundle>,
        intent: &Value<'_>,
        set: &PatchSet,
    ) -> Result<Self, RunError> {
        let put_back = put_back(bundle, intent, set)?;
        let restored = match put_back.protected.is_empty() || put_back.set.operations.is_empty() {
            true => None,
            false => match plan_of_work(bundle, intent, &put_back.set) {
                Ok(plan) => Some(verified(&plan)?),
                Err(PlanError::NothingToTry) => None,
                Err(error) => return Err(error.into()),
            },
        };
        let plan = verified(&plan_of_work(bundle, intent, set)?)?;
        Ok(Self { plan, put_back, restored, undone: undone(intent, set) })
    }
}

/// Whether a round is accepted, and why: both trees must pass. Nothing that an agent did to a protected file counts.
pub(crate) fn round_verdict(
    trees: &Trees,
    evidence: &Verified<ExecutionEvidence>,
    restored: Option<&Verified<ExecutionEvidence>>,
) -> (bool, Vec<String>) {
    let own = verdict(&trees.plan, evidence);
    let restored = trees.restored.as_ref().zip(restored).map(|(plan, evidence)| verdict(plan, evidence));
    let mut failed: Vec<String> =
        trees.undone.iter().map(|path| format!("`{path}` is to be deleted, and is still there")).collect();
    if failed_for_a_reason(&own) {
        failed.extend(own.reasons.iter().map(ToString::to_string));
    }
    match &restored {
        Some(restored) if failed_for_a_reason(restored) => {
            failed.extend(restored.reasons.iter().map(|it| format!("with protected files put back: {it}")));
        }
        None if !trees.put_back.protected.is_empty() => {
            failed.push("nothing is left of the change with protected files put back".to_owned());
        }
        _ => {}
    }
    if !failed.is_empty() {
        return (false, failed);
    }
    let accepted = own.accepted && restored.as_ref().is_none_or(|it| it.accepted);
    let mut reasons: Vec<String> = own.reasons.iter().map(ToString::to_string).collect();
    if !accepted && own.accepted {
        reasons.insert(0, VerdictReason::Untested.to_string());
    }
    (accepted, reasons)
}

fn failed_for_a_reason(judged: &Judged) -> bool {
    !judged.accepted && judged.reasons.first() != Some(&VerdictReason::Untested)
}
