//! Approving and rejecting: bound to the exact proposal, and to the digest of what was shown.

use super::caller::Caller;
use super::conflict::Conflict;
use super::documents::typed;
use super::error::GateError;
use super::judge::{Inputs, Texts};
use super::open::Gate;
use super::policy::Loaded;
use super::records::{Action, RecordedApproval, Token, list};
use super::status::Shown;
use super::transaction::{Reading, Step, document};
use super::view::{Packets, view};
use ordain_api::limits::REASON_CHARACTERS_MAX;
use ordain_api::{ActionState, ActionStatus, Event, VerdictRequest};
use ordain_canon::{ContentHash, Value};
use ordain_spec::approval::{Approval, Verdict};
use ordain_spec::decision::{Decision, Outcome, gate};
use ordain_spec::{NonEmpty, Sha256};

impl Gate {
    /// Approves or rejects a held action, and decides again.
    pub async fn give_verdict(
        &self,
        caller: &Caller,
        action_id: &str,
        request: &VerdictRequest,
    ) -> Result<ActionStatus, GateError> {
        if request.reason.chars().count() > REASON_CHARACTERS_MAX {
            let problem = format!("is longer than {REASON_CHARACTERS_MAX} characters");
            return Err(GateError::invalid("/reason", problem));
        }
        if request.verdict == Verdict::Reject && request.reason.trim().is_empty() {
            let problem = "a rejection must say why; the reason reaches the agent";
            return Err(GateError::invalid("/reason", problem));
        }
        let attempt = |reading| self.verdict_attempt(caller, action_id, request, reading);
        let status = self.transact(&caller.principal, attempt).await?;
        self.notify(action_id);
        Ok(status)
    }

    async fn verdict_attempt(
        &self,
        caller: &Caller,
        action_id: &str,
        request: &VerdictRequest,
        reading: Reading,
    ) -> Result<Step<ActionStatus>, GateError> {
        let (known, mut action) = self.action(action_id).await?;
        let (control, control_body) = self.control(reading).await?;
        let loaded = self.policies(&control_body).await?;
        let now_ms = self.clock.now_ms();
        let documents = self.action_documents(&action).await?;
        let mut given = documents.approvals()?;
        if let Some(earlier) = given.iter().find(|approval| approval.approver.as_str() == caller.principal) {
            // The same verdict twice is one verdict.
            if earlier.verdict == request.verdict {
                return Ok(Step::Done(self.status(caller, action_id).await?));
            }
            let (action_id, approver) = (action_id.to_owned(), caller.principal.clone());
            return Err(Conflict::Decided { action_id, approver }.into());
        }
        check_open(&action, action_id, now_ms)?;
        self.check_not_own(caller, &action, &loaded).await?;
        let evidence = self.shared_documents(&action.evidence_documents).await?;
        let proposal =
            Value::read(&documents.proposal).map_err(|error| GateError::Damaged(error.to_string()))?;
        let shown = view(Packets::Whole, &loaded, &control_body, action_id, &action, &proposal, &evidence)?;
        if shown.digest != request.view_digest {
            return Err(Conflict::View {
                action_id: action_id.to_owned(),
                shown: request.view_digest.clone(),
                now: shown.digest,
            }
            .into());
        }
        let approval = Approval {
            proposal_hash: Sha256::from(action.proposal_document),
            approver: NonEmpty::of(caller.principal.clone()),
            verdict: request.verdict,
            reason: request.reason.clone(),
            view_digest: sha256(&shown.digest)?,
            at_ms: now_ms,
        };
        let (approval_document, approval_bytes) = document(&approval)?;
        given.push(approval);
        // Its index is known when it is written.
        action.approvals.push(RecordedApproval { document: approval_document, index: 0 });
        let mut approvals = documents.approvals;
        approvals.push(approval_bytes.clone());
        let inputs = Inputs::of(&action, &loaded, &control_body, now_ms);
        let texts = Texts { proposal: &proposal, evidence: &evidence, approvals: &approvals };
        let ruling = self.rule(reading, &loaded, &inputs, &texts).await?;
        check_counts(caller, action_id, request.verdict, ruling.decision())?;
        let mut guards = vec![known.guard(), control.guard()];
        guards.extend(ruling.guard());
        let answer = Shown::to(caller, &action.actor);
        let (action_id, verdict) = (action_id.to_owned(), request.verdict);
        let held_until_ms = action.expires_at_ms.unwrap_or(now_ms);
        Ok(Step::write(guards, move |writing| {
            let index = writing.event(verdict_event(verdict, &action_id, &approval_document));
            writing.attach(approval_bytes);
            if let Some(last) = action.approvals.last_mut() {
                last.index = index;
            }
            let ruled = ruling.write(writing, &action_id, &mut action, held_until_ms)?;
            writing.put(&action_id, &action)?;
            let minted = ruled.minted.as_ref();
            Ok(answer.status(&action_id, &action, ruled.decision, given, shown, minted, writing.at_ms))
        }))
    }

    /// Nobody approves their own proposal, whatever the name they proposed it under: the policy knows which names are
    /// one person's, and a token makes its principal and its names one. A token that was revoked or has expired counts
    /// too: the proposal may have been made while it held, and its owner once had both names in hand.
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
        for token in list::<Token>(&self.store, None).await? {
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
}

fn verdict_event(verdict: Verdict, action_id: &str, approval: &ContentHash) -> Event {
    let action_id = action_id.to_owned();
    let approval_document = approval.to_string();
    match verdict {
        Verdict::Approve => Event::Approved { action_id, approval_document },
        Verdict::Reject => Event::Rejected { action_id, approval_document },
    }
}

fn check_open(action: &Action, action_id: &str, now_ms: u64) -> Result<(), GateError> {
    let state = action.state_at(now_ms);
    if state == ActionState::Held {
        return Ok(());
    }
    let (action_id, allowed) = (action_id.to_owned(), &[ActionState::Held]);
    Err(Conflict::State { action_id, state, allowed, wanted: "approved or rejected" }.into())
}

/// A verdict must have an effect. A rejection denies, if it is of somebody whom the policies name. An approval must leave the
/// action held or allow it: an action that is denied for another reason, such as a halt, would stay denied when the reason is
/// gone.
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
        _ if !counts => format!("the verdict of `{}` does not count for `{action_id}`", caller.principal),
        Verdict::Approve if decision.outcome == Outcome::Deny => {
            format!("`{action_id}` cannot be approved now: it would be denied; it stays held")
        }
        Verdict::Approve | Verdict::Reject => return Ok(()),
    };
    Err(GateError::Refused { message, reasons: decision.reasons.clone() })
}

fn sha256(text: &str) -> Result<Sha256, GateError> {
    typed(serde_json::json!(text).to_string().as_bytes())
}
