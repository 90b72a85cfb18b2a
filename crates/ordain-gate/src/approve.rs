//! Approving and rejecting: bound to the exact proposal, and to the digest of what was shown.

use super::caller::Caller;
use super::conflict::Conflict;
use super::documents::typed;
use super::effects::{EarlierRejection, EffectKeys};
use super::error::GateError;
use super::ids::ActionId;
use super::judge::{Inputs, Texts};
use super::nonce::NonceOf;
use super::open::Gate;
use super::owner::Authorized;
use super::records::{Action, Control, RecordedApproval};
use super::standing::{ApprovedAction, NewGrant};
use super::status::Shown;
use super::transaction::{Reading, Step, document};
use super::view::{Beside, Packets, view};
use ordain_api::limits::REASON_CHARACTERS_MAX;
use ordain_api::{ActionState, ActionStatus, Event, VerdictRequest};
use ordain_canon::{ContentHash, Value};
use ordain_spec::approval::{Approval, ApprovalSignature, Verdict};
use ordain_spec::decision::{Decision, Outcome, gate};
use ordain_spec::statement::{Assurance, How, ONCE, Signed, Statement};
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
        if caller.in_session && request.signed.is_none() {
            let problem = "a session of the console decides with a signature only".to_owned();
            return Err(GateError::Presence(problem));
        }
        let attempt = |reading| self.verdict_attempt(caller, action_id, request, reading);
        let status = self.transact(caller, attempt).await?;
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
        if let Some(earlier) =
            given.iter().rev().find(|approval| approval.approver.as_str() == caller.principal)
        {
            let same = earlier.verdict == request.verdict;
            // Somebody who approved without a signature, or with a weaker one, may sign it later.
            let signs_now = same && assurance_of(request.signed.as_ref()) > Some(earlier.assurance());
            // The same verdict twice is one verdict.
            if same && !signs_now {
                return Ok(Step::Done(self.status(caller, action_id).await?));
            }
            if !same {
                let (action_id, approver) = (action_id.to_owned(), caller.principal.clone());
                return Err(Conflict::Decided { action_id, approver }.into());
            }
        }
        check_open(&action, action_id, now_ms)?;
        let ties = self.ties(&loaded).await?;
        ties.check_not_own(caller, &action)?;
        if request.verdict == Verdict::Approve {
            ties.check_not_made_by_proposer(caller, &action)?;
            ties.check_not_joined(caller, &given)?;
        }
        let evidence = self.shared_documents(&action.evidence_documents).await?;
        let proposal =
            Value::read(&documents.proposal).map_err(|error| GateError::Damaged(error.to_string()))?;
        let shell = action.shell(&proposal);
        let effect_keys = EffectKeys::of(&loaded, &proposal, shell.as_ref());
        let effects = effect_keys.read(&self.store).await?;
        let earlier = effects.told(action_id, now_ms);
        let told = earlier.as_ref().map(document).transpose()?;
        let beside = Beside { earlier, intent: documents.intent.as_deref() };
        let shown =
            view(Packets::Whole, &loaded, &control_body, action_id, &action, &proposal, &evidence, beside)?;
        if shown.digest != request.view_digest {
            return Err(Conflict::View {
                action_id: action_id.to_owned(),
                shown: request.view_digest.clone(),
                now: shown.digest,
            }
            .into());
        }
        if let Some(problem) = scope_problem(request) {
            return Err(GateError::invalid("/scope", problem));
        }
        let mut approval = Approval {
            proposal_hash: Sha256::from(action.proposal_document),
            approver: NonEmpty::of(caller.principal.clone()),
            verdict: request.verdict,
            reason: request.reason.clone(),
            view_digest: sha256(&shown.digest)?,
            at_ms: now_ms,
            how: Some(caller.how).filter(|how| *how != How::Local),
            scope: request.scope.clone(),
            signature: None,
        };
        let authorized = Authorized::by(request.signed.clone());
        if let Some(signed) = &request.signed {
            self.sign(&control_body, &mut approval, action_id, signed, now_ms).await?;
            if reading == Reading::Fresh {
                self.check_not_counted(signed).await?;
            }
        }
        let given_at_ms = approval.at_ms;
        let (approval_document, approval_bytes) = document(&approval)?;
        let rejection = (request.verdict == Verdict::Reject)
            .then(|| EarlierRejection::of(ActionId::new(action_id), &approval));
        given.push(approval);
        // Its index is known when it is written.
        let earlier = told.as_ref().map(|(hash, _)| *hash);
        action.approvals.push(RecordedApproval { document: approval_document, index: 0, earlier });
        let mut approvals = documents.approvals;
        approvals.push(approval_bytes.clone());
        let inputs = Inputs::with(&action, &proposal, &loaded, &control_body, now_ms, shell);
        let keys = &*self.approver_keys(&control_body)?;
        let pins = loaded.pins.of(&inputs);
        let texts = Texts {
            proposal: &proposal,
            evidence: &evidence,
            approvals: &approvals,
            keys,
            pins,
            grant: None,
        };
        let mut ruling = self.rule(reading, &loaded, &inputs, &texts).await?;
        check_counts(caller, action_id, request.verdict, ruling.decision())?;
        check_alone(request, ruling.decision())?;
        let granted = match &request.scope {
            None => None,
            Some(_) if given.iter().any(|approval| approval.scope.is_none()) => {
                let problem = "cannot count, because an earlier approval is for this action alone";
                return Err(GateError::invalid("/scope", problem));
            }
            Some(scope) => {
                let (control, at_ms) = (&control_body, given_at_ms);
                let hold =
                    self.check_scope(scope, &ruling, control, action_id, &action, &proposal, at_ms).await?;
                let (action, proposal) = (&action, &proposal);
                let approved =
                    ApprovedAction { id: action_id, action, proposal, given: &given, documents: &approvals };
                self.new_grant(hold, &ruling, &approved, now_ms)?
            }
        };
        let mut guards = vec![known.guard(), control.guard()];
        guards.extend(ruling.guard());
        guards.extend(authorized.guards());
        // Approvals do not change it, and whoever was shown it may go on.
        let effects = if rejection.is_some() { effects.into_effects(&mut guards) } else { Vec::new() };
        guards.extend(granted.iter().flat_map(NewGrant::guards));
        let answer = Shown::to(caller, &action.actor);
        let (action_id, verdict) = (action_id.to_owned(), request.verdict);
        let held_until_ms = action.expires_at_ms.unwrap_or(now_ms);
        let told = told.map(|(_, bytes)| bytes);
        let documents = [approval_bytes].into_iter().chain(told).chain(ruling.take_documents()).collect();
        Ok(Step::write(guards, documents, move |writing| {
            authorized.write(writing)?;
            let index =
                writing.event(verdict_event(verdict, &action_id, &approval_document, earlier, &effect_keys));
            if let Some(rejection) = rejection {
                for (key, mut effect) in effects {
                    effect.add_rejection(rejection.clone());
                    writing.put(key.id(), &effect)?;
                }
            }
            if let Some(last) = action.approvals.last_mut() {
                last.index = index;
            }
            let ruled = ruling.write(writing, &action_id, &mut action, held_until_ms)?;
            writing.put(action_id.as_str(), &action)?;
            granted.map_or(Ok(()), |granted| granted.write(writing))?;
            let minted = ruled.minted.as_deref();
            Ok(answer.status(&action_id, &action, ruled.decision, given, shown, minted, writing.at_ms))
        }))
    }

    /// Puts a signature on an approval, if it is the approver's own over exactly this approval.
    async fn sign(
        &self,
        control: &Control,
        approval: &mut Approval,
        action_id: &str,
        signed: &Signed,
        now_ms: u64,
    ) -> Result<(), GateError> {
        let refused = |problem: String| GateError::Presence(problem);
        let keys = self.approver_keys(control)?;
        let (statement, _) = keys.verify(signed).map_err(|error| refused(error.to_string()))?;
        let Statement::Approval(statement) = statement else {
            return Err(refused("the statement is about an owner act, not about an approval".to_owned()));
        };
        let scope = match &approval.scope {
            None => ONCE.to_owned(),
            Some(scope) => scope.hash()?.to_string(),
        };
        if statement.scope != scope {
            return Err(refused(format!("the statement has the scope `{}`, not `{scope}`", statement.scope)));
        }
        approval.at_ms = statement.at_ms;
        approval.how = None;
        approval.signature = Some(ApprovalSignature {
            method: signed.method,
            key_id: NonEmpty::of(signed.key_id.clone()),
            origin: NonEmpty::of(control.origin.clone()),
            action_id: NonEmpty::of(action_id.to_owned()),
            scope: NonEmpty::of(statement.scope.clone()),
            assurance: statement.assurance,
            session: statement.session.clone(),
            not_after_ms: statement.not_after_ms,
            nonce: NonEmpty::of(statement.nonce.clone()),
            signature: NonEmpty::of(signed.signature.clone()),
        });
        // The approval says what the gate knows; with that, the same statement must come out.
        let same = approval.signed().is_some_and(|rebuilt| rebuilt.as_ref() == Ok(signed));
        if !same {
            return Err(refused(
                "the statement is not about this action, proposal, view, verdict and reason".to_owned(),
            ));
        }
        let of = NonceOf::Approval { action_id, view_digest: approval.view_digest.as_str() };
        let window_ms = (statement.at_ms, statement.not_after_ms);
        control.check_fresh(of, &statement.nonce, window_ms, now_ms)
    }
}

fn verdict_event(
    verdict: Verdict,
    action_id: &str,
    approval: &ContentHash,
    earlier: Option<ContentHash>,
    effect_keys: &EffectKeys,
) -> Event {
    let action_id = action_id.to_owned();
    let approval_document = approval.to_string();
    let earlier_document = earlier.map(|hash| hash.to_string());
    match verdict {
        Verdict::Approve => Event::Approved { action_id, approval_document, earlier_document },
        Verdict::Reject => {
            let effect_keys = effect_keys.texts();
            Event::Rejected { action_id, approval_document, earlier_document, effect_keys }
        }
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

/// A verdict must have an effect. A rejection denies, if it is of somebody whom the policies name. An
/// approval must leave the action held or allow it: an action that is denied for another reason, such as a
/// halt, would stay denied when the reason is gone.
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

/// The assurance that a statement says. Whether it is true is checked elsewhere.
fn assurance_of(signed: Option<&Signed>) -> Option<Assurance> {
    match Statement::parse(&signed?.statement) {
        Ok(Statement::Approval(statement)) => Some(statement.assurance),
        _ => None,
    }
}

/// A key that stays unlocked approves alone or not at all: where policies want to see several approvals, by
/// whatever means, each takes the passphrase.
fn check_alone(request: &VerdictRequest, decision: &Decision) -> Result<(), GateError> {
    let recent = assurance_of(request.signed.as_ref()) == Some(Assurance::Recent);
    if request.verdict == Verdict::Approve && recent && decision.approvals.required > 1 {
        let problem = format!(
            "it takes {} approvals, and one with the assurance `recent` counts only alone",
            decision.approvals.required
        );
        return Err(GateError::Presence(problem));
    }
    Ok(())
}

/// A scope is for approvals, and only a signature can give it.
fn scope_problem(request: &VerdictRequest) -> Option<&'static str> {
    request.scope.as_ref()?;
    match (request.verdict, &request.signed) {
        (Verdict::Reject, _) => Some("a rejection has no scope"),
        (Verdict::Approve, None) => Some("an approval for more than one action must be signed"),
        (Verdict::Approve, Some(_)) => None,
    }
}

fn sha256(text: &str) -> Result<Sha256, GateError> {
    typed(serde_json::json!(text).to_string().as_bytes())
}
