//! Whether an entry can follow those before it. A decision is made again by its inputs; that these are what was so at the time,
//! only the ledger itself can say.

use super::expected::{Expected, Recorded};
use super::limits::CLOCKS_APART_MS_MAX;
use ordain_api::ActionState;
use ordain_api::{Entry, Event};
use ordain_spec::decision::Outcome;

impl Expected {
    /// What an entry says that the entries before it do not bear out.
    pub(super) fn doubts(&self, index: u64, entry: &Entry, recorded: Option<&Recorded>) -> Vec<String> {
        match (&entry.event, recorded) {
            (Event::Decided { action_id, outcome, .. }, Some(recorded)) => {
                let mut doubts = self.doubts_of_inputs(action_id, entry.at_ms, recorded);
                let before = self.actions.get(action_id).and_then(|action| action.state);
                if !matches!(before, None | Some(ActionState::Held)) {
                    doubts.push(format!("decides on `{action_id}`, which was not held any more"));
                }
                if recorded.decision.outcome != *outcome {
                    doubts.push(format!("decides on `{action_id}` otherwise than its document says"));
                }
                doubts
            }
            (Event::PermitSpent { action_id, permit_id, number, .. }, Some(recorded)) => {
                let mut doubts = self.doubts_of_inputs(action_id, entry.at_ms, recorded);
                if recorded.decision.outcome != Outcome::Allow {
                    doubts.push(format!("uses `{permit_id}`, and its document is no ALLOW"));
                }
                doubts.extend(self.doubts_of_use(action_id, permit_id, *number, recorded.inputs.now_ms));
                doubts
            }
            (Event::Decided { action_id, .. } | Event::PermitSpent { action_id, .. }, None) => {
                vec![format!("decides on `{action_id}`, and what it was made from cannot be read")]
            }
            (Event::PermitMinted { action_id, permit_id, key_id, .. }, _) => {
                let mut doubts = Vec::new();
                let action = self.actions.get(action_id);
                let allowed = action.is_some_and(|it| {
                    it.state == Some(ActionState::Allowed)
                        && it.permit_id.is_none()
                        && it.decided_index + 1 == index
                });
                if !allowed {
                    doubts.push(format!("mints `{permit_id}` without an ALLOW just before it"));
                }
                if self.keys.get(key_id).is_none_or(|(_, retired)| *retired) {
                    doubts.push(format!("mints `{permit_id}` with a key that was not valid"));
                }
                doubts
            }
            _ => Vec::new(),
        }
    }

    /// That a decision was made from what there was.
    fn doubts_of_inputs(&self, action_id: &str, at_ms: u64, recorded: &Recorded) -> Vec<String> {
        let inputs = &recorded.inputs;
        let Some(action) = self.actions.get(action_id) else {
            return vec![format!("decides on `{action_id}`, which nobody submitted")];
        };
        let files_document = self.policy.as_ref().map(|policy| &policy.files_document);
        let soon = inputs.now_ms <= at_ms && at_ms - inputs.now_ms <= CLOCKS_APART_MS_MAX;
        let claims = [
            (inputs.proposal_document == action.proposal_document, "by another proposal than was submitted"),
            (inputs.approval_documents == action.approval_documents, "by other approvals than were given"),
            (
                inputs.evidence_documents.iter().all(|it| self.packets.contains(it)),
                "by evidence that nobody had brought",
            ),
            (Some(&inputs.files_document) == files_document, "by other policies than were in force"),
            (
                inputs.halted == self.halted.is_some(),
                if inputs.halted { "as if the gate were halted" } else { "as if the gate were not halted" },
            ),
            (soon, "as if it were another time"),
        ];
        let doubtful = claims.into_iter().filter(|(holds, _)| !holds);
        doubtful.map(|(_, how)| format!("decides on `{action_id}` {how}")).collect()
    }

    /// That a permit could be used.
    fn doubts_of_use(&self, action_id: &str, permit_id: &str, number: u64, now_ms: u64) -> Vec<String> {
        let Some(permit) = self.permits.get(permit_id).filter(|it| it.action_id == action_id) else {
            return vec![format!("uses `{permit_id}`, which nobody minted for `{action_id}`")];
        };
        let claims = [
            (number == permit.uses.len() as u64 + 1, "out of turn"),
            (number <= permit.max_executions, "more often than it can be used"),
            ((permit.valid_from_ms..permit.valid_until_ms).contains(&now_ms), "outside its window"),
            (self.halted.is_none(), "while the gate was halted"),
        ];
        let doubtful = claims.into_iter().filter(|(holds, _)| !holds);
        doubtful.map(|(_, how)| format!("uses `{permit_id}` {how}")).collect()
    }
}
