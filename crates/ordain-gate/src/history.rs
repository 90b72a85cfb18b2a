//! Past decisions and the views of approvers: by the policies of then, whatever is in force now.

use super::documents::{ActionDocuments, Attached, typed};
use super::error::GateError;
use super::open::Gate;
use super::policy::Loaded;
use super::records::{Action, Control, RecordedApproval};
use super::view::{Beside, Packets, View, view, view_under};
use ordain_api::ShownView;
use ordain_canon::{ContentHash, Value};
use ordain_spec::approval::Approval;
use ordain_spec::decision::Decision;
use serde_json::Value as Json;
use std::sync::{Arc, PoisonError};

/// Earlier policies that are kept in memory.
const EARLIER_KEPT: usize = 4;

/// An action with the documents that its view is made of.
pub(crate) struct Past<'a> {
    pub(crate) action_id: &'a str,
    pub(crate) action: &'a Action,
    pub(crate) documents: &'a ActionDocuments,
    pub(crate) proposal: &'a Value<'a>,
    pub(crate) evidence: &'a [Vec<u8>],
    pub(crate) control: &'a Control,
    /// The policies in force.
    pub(crate) loaded: &'a Arc<Loaded>,
}

impl Gate {
    /// The view of an action that nobody can approve any more: that of its last decision.
    pub(crate) async fn settled_view(
        &self,
        past: &Past<'_>,
        packets: Packets,
        decision: &Decision,
    ) -> Result<View, GateError> {
        let Past { action_id, action, proposal, evidence, control, loaded, .. } = *past;
        let beside = |earlier: Option<Json>| Beside { earlier, intent: past.documents.intent.as_deref() };
        let by_now = |policy_hash: &str| {
            let beside = beside(None);
            view_under(packets, loaded, policy_hash, control, action_id, action, proposal, evidence, beside)
        };
        let policy_hash = decision.policy_hash.as_str();
        if packets == Packets::Hashed {
            return by_now(policy_hash);
        }
        let told = match (packets, action.approvals.last(), past.documents.steps.last()) {
            (Packets::Whole, Some(approval), Some(step)) => told(approval, step)?,
            _ => None,
        };
        match self.policies_of(past, past.documents.inputs(action)?.files_document, policy_hash).await? {
            Some(then) => view(packets, &then, control, action_id, action, proposal, evidence, beside(told))?
                .hiding(&by_now("")?),
            None => Ok(View { digest: String::new(), ..by_now(policy_hash)? }),
        }
    }

    /// The view of each approver. `main` is the view that the caller has already.
    pub(crate) async fn shown_to_approvers(
        &self,
        past: &Past<'_>,
        approvals: &[Approval],
        main: &View,
    ) -> Result<Vec<ShownView>, GateError> {
        let Past { action_id, action, proposal, evidence, control, loaded, .. } = *past;
        let mut shown = Vec::with_capacity(approvals.len());
        for ((recorded, step), approval) in action.approvals.iter().zip(&past.documents.steps).zip(approvals)
        {
            let inputs = step.inputs(action)?;
            let decided = step.decision_by(&inputs)?;
            let policy_hash = decided.policy_hash.as_str();
            let view_digest = approval.view_digest.as_str().to_owned();
            let mut made = None;
            if view_digest != main.digest
                && let Some(then) = self.policies_of(past, inputs.files_document, policy_hash).await?
            {
                let whole = |loaded: &Loaded, earlier: Option<Json>| {
                    let beside = Beside { earlier, intent: past.documents.intent.as_deref() };
                    view(Packets::Whole, loaded, control, action_id, action, proposal, evidence, beside)
                };
                let seen = whole(&then, told(recorded, step)?)?;
                if seen.digest == view_digest {
                    made = Some(seen.hiding(&whole(loaded, None)?)?.document);
                }
            }
            shown.push(ShownView {
                approver: approval.approver.as_str().to_owned(),
                at_ms: approval.at_ms,
                index: recorded.index,
                policy_hash: policy_hash.to_owned(),
                view_digest,
                view: made,
            });
        }
        Ok(shown)
    }

    /// Policies on record; nothing if this version of the program reads them otherwise than the one that decided.
    async fn policies_of(
        &self,
        past: &Past<'_>,
        files: ContentHash,
        policy_hash: &str,
    ) -> Result<Option<Arc<Loaded>>, GateError> {
        if past.loaded.files_document == files {
            return Ok(Some(Arc::clone(past.loaded)));
        }
        let loaded = match self.kept_earlier(&files) {
            Some(loaded) => loaded,
            None => match self.load_policies(&files).await {
                Ok(loaded) => self.keep_earlier(Arc::new(loaded)),
                Err(GateError::Invalid { .. }) => return Ok(None),
                Err(error) => return Err(error),
            },
        };
        Ok((loaded.set.hash().to_string() == policy_hash).then_some(loaded))
    }

    fn kept_earlier(&self, files: &ContentHash) -> Option<Arc<Loaded>> {
        let kept = self.shared.earlier.lock().unwrap_or_else(PoisonError::into_inner);
        kept.iter().find(|loaded| loaded.files_document == *files).cloned()
    }

    fn keep_earlier(&self, loaded: Arc<Loaded>) -> Arc<Loaded> {
        let mut kept = self.shared.earlier.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= EARLIER_KEPT {
            kept.remove(0);
        }
        kept.push(Arc::clone(&loaded));
        loaded
    }
}

/// The note to an approver about the same effect.
fn told(approval: &RecordedApproval, step: &Attached) -> Result<Option<Json>, GateError> {
    approval.earlier.as_ref().map(|hash| typed(step.get(hash)?)).transpose()
}
