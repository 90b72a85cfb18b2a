//! Using a permit: the worker says what it is about to do, everything is checked again, and one use is gone.

use super::caller::Caller;
use super::conflict::Conflict;
use super::effects::{EffectKey, EffectKeys};
use super::error::GateError;
use super::judge::{Inputs, Judged, Texts, judge};
use super::limits::{DURATION_MS_DEFAULT, DURATION_MS_MAX, USES_OPEN_MAX};
use super::open::Gate;
use super::outcome::state_after;
use super::permits::Minted;
use super::records::{Action, Effect, EffectUse, Permit};
use super::status::no_permit;
use super::submit::check_same_project;
use super::transaction::{Reading, Step, Writing};
use ordain_api::{Event, Use, UseReceipt};
use ordain_canon::{Canonicalizer, ContentHash, ParametersHash, TargetHash, Value};
use ordain_decision::{Claims, verify_permit};
use ordain_spec::decision::Outcome;
use serde::Serialize;
use std::sync::Arc;

/// A permit, and what a worker is about to do with it.
pub struct Spend<'a> {
    /// The permit, as it was given out.
    pub permit: &'a str,
    /// The action that is about to happen.
    pub action: IntendedAction<'a>,
}

/// The action that a worker is about to take.
#[derive(Clone, Copy)]
pub enum IntendedAction<'a> {
    /// As an action proposal says it.
    Action {
        /// The action.
        action_type: &'a str,
        /// On what.
        target: &'a Value<'a>,
        /// How.
        parameters: &'a Value<'a>,
    },
    /// As a KernelRequest says it; the policies in force say which action it stands for.
    Request(&'a Value<'a>),
}

/// A use of a permit, ready to be written.
pub(crate) struct NewUse {
    action_id: String,
    minted: Arc<Minted>,
    effect_keys: EffectKeys,
    /// The records of those whose unknown outcomes block the next use.
    effects: Vec<(EffectKey, Effect)>,
    uses_max: u64,
    worker: String,
    now_ms: u64,
    decision_document: ContentHash,
    inputs_document: ContentHash,
    /// The call that joined the action, where it is not the one that was approved.
    pub(crate) call_document: Option<ContentHash>,
}

impl Gate {
    /// Spends one use of a permit.
    pub async fn spend(
        &self,
        caller: &Caller,
        permit_id: &str,
        spend: &Spend<'_>,
    ) -> Result<UseReceipt, GateError> {
        let claims = self.verified(spend.permit).await?;
        if claims.jti != permit_id {
            return Err(GateError::Forbidden(format!("the permit is `{}`, not `{permit_id}`", claims.jti)));
        }
        if !caller.works_for(&claims.sub) {
            return Err(GateError::Forbidden(format!(
                "permit `{permit_id}` belongs to another actor, and the token of `{}` uses only its own",
                caller.principal
            )));
        }
        let attempt = |reading| self.spend_attempt(caller, &claims, spend, reading);
        let receipt = self.transact(caller, attempt).await?;
        self.notify(&receipt.action_id);
        Ok(receipt)
    }

    /// The claims of a permit whose signature holds, now.
    async fn verified(&self, permit: &str) -> Result<Claims, GateError> {
        let now_ms = self.clock.now_ms();
        let refused =
            |error: ordain_decision::PermitError| GateError::Forbidden(format!("the permit {error}"));
        let known = self.public_keys(Reading::Cached).await?;
        match verify_permit(permit, &known, &self.settings.audience, now_ms) {
            // Another process may have made a new key.
            Err(ordain_decision::PermitError::UnknownKey(_)) => {
                let keys = self.public_keys(Reading::Fresh).await?;
                verify_permit(permit, &keys, &self.settings.audience, now_ms).map_err(refused)
            }
            verified => verified.map_err(refused),
        }
    }

    async fn spend_attempt(
        &self,
        caller: &Caller,
        claims: &Claims,
        spend: &Spend<'_>,
        reading: Reading,
    ) -> Result<Step<UseReceipt>, GateError> {
        let (control, control_body) = self.control(reading).await?;
        let loaded = self.policies(&control_body).await?;
        match spend.action {
            IntendedAction::Action { action_type, target, parameters } => {
                check_same_action(claims, action_type, target, parameters)?;
            }
            IntendedAction::Request(request) => {
                let proposal = loaded.set.proposal_in(request, caller.workspace()).ok_or_else(|| {
                    let problem = "the policies in force do not map this request to an action";
                    GateError::Forbidden(problem.to_owned())
                })?;
                let action_type = serde_json::to_value(proposal.action_type).unwrap_or_default();
                let action_type = action_type.as_str().unwrap_or_default();
                check_same_action(claims, action_type, &proposal.target, &proposal.parameters)?;
            }
        }
        let (known, mut action) = self.action(&claims.proposal_id).await.map_err(|error| match error {
            GateError::Unknown(_) => no_permit(&claims.jti),
            error => error,
        })?;
        let mut guards = vec![known.guard(), control.guard()];
        let new = self.prepare_use(caller, &claims.proposal_id, &action, &loaded, &control_body, &mut guards);
        let (new, judged) = new.await?;
        if new.minted.token != spend.permit {
            return Err(GateError::Forbidden(format!("`{}` is on record with another text", claims.jti)));
        }
        let now_ms = judged.now_ms;
        Ok(Step::write(guards, judged.documents, move |writing| {
            writing.check_judged_at(now_ms)?;
            let receipt = new.write(writing, &mut action)?;
            writing.put(receipt.action_id.as_str(), &action)?;
            Ok(receipt)
        }))
    }

    /// Checks that the permit of an action can be used now: everything that was true when it was decided must
    /// still be true.
    pub(crate) async fn prepare_use(
        &self,
        caller: &Caller,
        action_id: &str,
        action: &Action,
        loaded: &super::policy::Loaded,
        control: &super::records::Control,
        guards: &mut Vec<ordain_store::Guard>,
    ) -> Result<(NewUse, Judged), GateError> {
        check_same_project(caller, action_id, action)?;
        let documents = self.action_documents(action).await?;
        let minted = documents.permit(action)?;
        let (Some(minted), Some(permit)) = (minted, &action.permit) else {
            return Err(no_permit(action_id));
        };
        let now_ms = self.clock.now_ms();
        let proposal =
            Value::read(&documents.proposal).map_err(|error| GateError::Damaged(error.to_string()))?;
        let inputs = Inputs::of(action, &proposal, loaded, control, now_ms);
        let effect_keys = EffectKeys::of(loaded, &proposal, inputs.shell.as_ref());
        let effects = effect_keys.for_use(&self.store, now_ms, guards).await?;
        let evidence = self.shared_documents(&action.evidence_documents).await?;
        let keys = &*self.approver_keys(control)?;
        let approvals = &documents.approvals;
        let pins = loaded.pins.of(&inputs);
        let texts = Texts { proposal: &proposal, evidence: &evidence, approvals, keys, pins, grant: None };
        let judged = judge(loaded, &inputs, &texts)?;
        let Some(grant) = judged.grant.as_ref().filter(|_| judged.decision.outcome == Outcome::Allow) else {
            let message = format!("`{}` was allowed, and would not be allowed now", permit.id);
            return Err(GateError::Refused { message, reasons: judged.decision.reasons });
        };
        let uses_max = minted.claims.max_executions.min(grant.max_executions());
        check_uses(permit, uses_max)?;
        let new = NewUse {
            action_id: action_id.to_owned(),
            minted: Arc::new(minted),
            effect_keys,
            effects,
            uses_max,
            worker: caller.principal.clone(),
            now_ms,
            decision_document: judged.decision_document,
            inputs_document: judged.inputs_document,
            call_document: None,
        };
        Ok((new, judged))
    }
}

impl NewUse {
    /// A use in the same step as the decision that allows it.
    pub(crate) fn with_decision(
        action_id: &str,
        minted: Arc<Minted>,
        effect_keys: EffectKeys,
        effects: Vec<(EffectKey, Effect)>,
        worker: &str,
        now_ms: u64,
        documents: [ContentHash; 2],
    ) -> Self {
        let [decision_document, inputs_document] = documents;
        Self {
            action_id: action_id.to_owned(),
            effect_keys,
            effects,
            uses_max: minted.claims.max_executions,
            minted,
            worker: worker.to_owned(),
            now_ms,
            decision_document,
            inputs_document,
            call_document: None,
        }
    }

    pub(crate) fn claims(&self) -> &Claims {
        &self.minted.claims
    }

    /// Writes the use, and what it changes about the action. The record of the action is left to the caller.
    pub(crate) fn write(self, writing: &mut Writing, action: &mut Action) -> Result<UseReceipt, GateError> {
        let permit_id = self.minted.claims.jti.clone();
        let Some(permit) = &mut action.permit else { return Err(no_permit(&permit_id)) };
        // By the time at which it is written, which may be later by the clock of another node.
        if !self.minted.holds_at(self.now_ms) || !self.minted.holds_at(writing.at_ms) {
            return Err(GateError::Forbidden(format!("permit `{permit_id}` is not valid at this time")));
        }
        let number = permit.used + 1;
        permit.used = number;
        let max_duration_ms = self.minted.claims.max_duration_ms.unwrap_or(DURATION_MS_DEFAULT);
        let deadline_ms = self.now_ms.saturating_add(max_duration_ms.min(DURATION_MS_MAX));
        permit.uses.push(Use {
            number,
            worker: self.worker,
            spent_at_ms: self.now_ms,
            deadline_ms,
            settled: None,
        });
        for (key, mut effect) in self.effects {
            effect.open.push(EffectUse { permit_id: permit.id.clone(), number, deadline_ms, unknown: false });
            writing.put(key.id(), &effect)?;
        }
        let effect_keys = self.effect_keys.texts();
        permit.effect_keys.insert(number, self.effect_keys);
        action.state = state_after(&permit.outcomes());
        let ledger_index = writing.event(Event::PermitSpent {
            action_id: self.action_id.clone(),
            permit_id: permit_id.clone(),
            number,
            decision_document: self.decision_document.to_string(),
            inputs_document: self.inputs_document.to_string(),
            deadline_ms,
            effect_keys,
            call_document: self.call_document.map(|hash| hash.to_string()),
        });
        let uses_left = self.uses_max.saturating_sub(number);
        Ok(UseReceipt { permit_id, action_id: self.action_id, number, uses_left, deadline_ms, ledger_index })
    }
}

fn check_uses(permit: &Permit, uses_max: u64) -> Result<(), GateError> {
    let permit_id = permit.id.to_string();
    if permit.used >= uses_max {
        let last = permit.last_use();
        return Err(Conflict::UsedUp { permit_id, used: permit.used, max: uses_max, last }.into());
    }
    if permit.uses.iter().filter(|used| used.settled.is_none()).count() >= USES_OPEN_MAX {
        return Err(Conflict::TooManyOpen { permit_id }.into());
    }
    Ok(())
}

impl Permit {
    /// The worker that used it last, and when.
    pub(crate) fn last_use(&self) -> Option<(String, u64)> {
        self.uses.last().map(|used| (used.worker.clone(), used.spent_at_ms))
    }
}

/// A worker may do exactly what was decided.
pub(crate) fn check_same_action<T: Serialize + ?Sized, P: Serialize + ?Sized>(
    claims: &Claims,
    action_type: &str,
    target: &T,
    parameters: &P,
) -> Result<(), GateError> {
    let mut canon = Canonicalizer::new();
    let permitted = serde_json::to_value(claims.action_type).unwrap_or_default();
    let same = [
        ("action_type", permitted.as_str() == Some(action_type)),
        ("target", TargetHash::of(&mut canon, target)?.is(&claims.target_hash)),
        ("parameters", ParametersHash::of(&mut canon, parameters)?.is(&claims.parameters_hash)),
    ];
    match same.iter().find(|(_, same)| !same) {
        None => Ok(()),
        Some((field, _)) => Err(GateError::Forbidden(format!("the permit was given for another `{field}`"))),
    }
}
