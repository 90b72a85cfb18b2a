//! Approving and rejecting: bound to the exact proposal, and to the digest of what was shown.

use super::caller::Caller;
use super::error::GateError;
use super::judge::{Inputs, Texts, judge};
use super::limits::TRIES_MAX;
use super::open::{Gate, Step, busy, came_to, document};
use super::permits::Mint;
use super::policy::Loaded;
use super::records::{Action, Held, Token, put};
use super::submit::state_of;
use ordain_api::VerdictRequest;
use ordain_api::limits::REASON_CHARACTERS_MAX;
use ordain_api::{ActionState, ActionStatus, Entry, Event, Role};
use ordain_spec::approval::{Approval, Verdict};
use ordain_spec::decision::{Decision, Outcome, gate};
use ordain_spec::{NonEmpty, Sha256};
use ordain_store::StoreError;

impl Gate {
    /// Approves or rejects a held action, and decides again.
    pub async fn say(
        &self,
        caller: &Caller,
        action_id: &str,
        say: &VerdictRequest,
    ) -> Result<ActionStatus, GateError> {
        caller.must_be(&[Role::Approver])?;
        if say.reason.chars().count() > REASON_CHARACTERS_MAX {
            return Err(GateError::invalid(
                "/reason",
                format!("is longer than {REASON_CHARACTERS_MAX} characters"),
            ));
        }
        if say.verdict == Verdict::Reject && say.reason.trim().is_empty() {
            return Err(GateError::invalid(
                "/reason",
                "a rejection must say why; the reason reaches the agent",
            ));
        }
        for _ in 0..TRIES_MAX {
            match self.say_once(caller, action_id, say).await {
                Err(GateError::Store(StoreError::Conflict { .. })) => {}
                Err(error) => return Err(error),
                Ok(()) => {
                    self.tell(action_id);
                    return came_to(|| self.status(caller, action_id)).await;
                }
            }
        }
        Err(busy())
    }

    async fn say_once(
        &self,
        caller: &Caller,
        action_id: &str,
        say: &VerdictRequest,
    ) -> Result<(), GateError> {
        let held = self.action(action_id).await?;
        let (control_held, control) = self.control().await?;
        let loaded = self.policies(&control).await?;
        let now_ms = self.clock.now_ms();
        let Some(mut action) = held.body.clone() else { return Err(no_action(action_id)) };
        let before = self.read_documents(&action.approval_documents).await?;
        if let Some(earlier) = earlier(&before, caller) {
            // The same word twice is one word.
            if earlier.verdict == say.verdict {
                return Ok(());
            }
            return Err(GateError::Conflict(format!(
                "`{}` has spoken about `{action_id}` already, and cannot take it back",
                caller.principal
            )));
        }
        self.check_open(&action, action_id, now_ms)?;
        self.check_not_own(caller, &action, &loaded).await?;
        let view = self.view(action_id, &action, &loaded, &control).await?;
        if view.digest != say.view_digest {
            return Err(GateError::Conflict(format!(
                "what was shown ({}) is not what there is ({}); look at `{action_id}` again and decide then",
                say.view_digest, view.digest
            )));
        }
        let proposal_hash = action.proposal_hash.clone().unwrap_or_default();
        let approval = Approval {
            proposal_hash: sha256(&proposal_hash)?,
            approver: NonEmpty::of(caller.principal.clone()),
            verdict: say.verdict,
            reason: say.reason.clone(),
            view_digest: sha256(&view.digest)?,
            at_ms: now_ms,
        };
        let (approval_document, approval_bytes) = document(&approval)?;
        action.approval_documents.push(approval_document.clone());
        let mut approvals = before;
        approvals.push(approval_bytes.clone());
        let proposal = self.read_document(&action.proposal_document).await?;
        let evidence = self.read_documents(&action.evidence_documents).await?;
        let inputs = Inputs {
            proposal_document: action.proposal_document.clone(),
            files_document: loaded.files_document.clone(),
            evidence_documents: action.evidence_documents.clone(),
            approval_documents: action.approval_documents.clone(),
            now_ms,
            halted: control.halt.is_some(),
        };
        let texts = Texts { proposal: &proposal, evidence: &evidence, approvals: &approvals };
        let mut judged = judge(&loaded, &inputs, &texts)?;
        check_counts(caller, action_id, say.verdict, &judged.decision)?;
        let mint = match judged.grant.take() {
            Some(grant) => Some(self.minting(grant).await?),
            None => None,
        };
        action.state = state_of(judged.decision.outcome);
        action.decision_document = judged.decision_document.clone();
        if action.state != ActionState::Held {
            action.expires_at_ms = None;
        }
        let mut guards = vec![held.guard(), control_held.guard()];
        guards.extend(mint.iter().flat_map(Mint::guards));
        let (id, by, verdict) = (action_id.to_owned(), caller.principal.clone(), say.verdict);
        let build = move |index: u64| {
            let mut step = Step { documents: judged.documents, ..Step::default() };
            step.documents.push(approval_bytes);
            let mut event = |event: Event| step.entries.push(Entry::of(now_ms, &by, event));
            event(match verdict {
                Verdict::Approve => Event::Approved { action_id: id.clone(), approval_document },
                Verdict::Reject => Event::Rejected { action_id: id.clone(), approval_document },
            });
            event(Event::Decided {
                action_id: id.clone(),
                outcome: judged.decision.outcome,
                decision_document: judged.decision_document,
                inputs_document: judged.inputs_document,
                expires_at_ms: action.expires_at_ms,
            });
            action.decided_index = index + 1;
            if let Some(mint) = &mint {
                let minted = mint.mint(&id, action.decided_index)?;
                event(minted.event);
                action.permit_id = Some(minted.id.clone());
                step.documents.push(minted.document);
                step.records.push(put(&minted.id, &minted.record));
            }
            step.records.push(put(&id, &action));
            Ok(step)
        };
        self.commit(guards, build).await.map(drop)
    }

    fn check_open(&self, action: &Action, action_id: &str, now_ms: u64) -> Result<(), GateError> {
        match action.shown_state(now_ms) {
            ActionState::Held => Ok(()),
            other => Err(GateError::Conflict(format!(
                "`{action_id}` is {}; only what is held can be approved or rejected",
                other.name()
            ))),
        }
    }

    /// Nobody approves what they proposed, whatever the name they proposed it under: the policy knows which names are
    /// one person's, and a token makes its principal and its names one. A token that was revoked or has expired counts
    /// too: the proposal may have been made while it held, and who has it once had both names in hand.
    async fn check_not_own(
        &self,
        caller: &Caller,
        action: &Action,
        loaded: &Loaded,
    ) -> Result<(), GateError> {
        let person = |name: &str| loaded.set.person(name).to_lowercase();
        let caller_is = person(&caller.principal);
        let proposers = [person(&action.submitted_by), person(&action.actor)];
        let mut own = proposers.contains(&caller_is);
        for token in self.list::<Token>(None).await? {
            let Some(token) = token.body else { continue };
            let people: Vec<String> =
                [&token.principal].into_iter().chain(&token.names).map(|name| person(name)).collect();
            own |= people.contains(&caller_is) && people.iter().any(|name| proposers.contains(name));
        }
        if own {
            return Err(GateError::Forbidden(format!(
                "`{}` proposed this as `{}`, and nobody approves or rejects their own proposal",
                caller.principal, action.actor
            )));
        }
        Ok(())
    }

    pub(super) async fn action(&self, action_id: &str) -> Result<Held<Action>, GateError> {
        let held = Held::<Action>::read(&self.store, action_id).await?;
        if held.body.is_none() { Err(no_action(action_id)) } else { Ok(held) }
    }
}

/// That a word has an effect. A rejection denies, if it is of somebody whom the policies name. An approval must leave the
/// action held or allow it: what is denied for another reason, such as a halt, would stay denied when the reason is gone.
fn check_counts(
    caller: &Caller,
    action_id: &str,
    verdict: Verdict,
    decision: &Decision,
) -> Result<(), GateError> {
    let counts = match verdict {
        Verdict::Approve => decision.approvals.have.contains(&caller.principal),
        Verdict::Reject => {
            let rule = gate::REJECTED.name();
            decision.reasons.iter().any(|reason| reason.rule_id == rule)
        }
    };
    let message = match verdict {
        _ if !counts => format!("the word of `{}` does not count for `{action_id}`", caller.principal),
        Verdict::Approve if decision.outcome == Outcome::Deny => {
            format!("`{action_id}` cannot be approved now: it would be denied; it stays held")
        }
        Verdict::Approve | Verdict::Reject => return Ok(()),
    };
    Err(GateError::Refused { message, reasons: decision.reasons.clone() })
}

fn earlier(approvals: &[Vec<u8>], caller: &Caller) -> Option<Approval> {
    let all = approvals.iter().filter_map(|text| serde_json::from_slice::<Approval>(text).ok());
    all.into_iter().find(|approval| approval.approver.as_str() == caller.principal)
}

pub(super) fn no_action(action_id: &str) -> GateError {
    GateError::Unknown(format!("there is no action `{action_id}`"))
}

fn sha256(text: &str) -> Result<Sha256, GateError> {
    serde_json::from_value(serde_json::Value::String(text.to_owned()))
        .map_err(|_| GateError::Damaged(format!("`{text}` is no hash")))
}
