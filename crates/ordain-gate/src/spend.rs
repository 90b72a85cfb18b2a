//! Spending a permit: the worker says what it is about to do, everything is checked again, and one use is gone.

use super::approve::no_action;
use super::caller::Caller;
use super::error::GateError;
use super::judge::{Inputs, Texts, judge};
use super::limits::{DURATION_MS_DEFAULT, DURATION_MS_MAX, TRIES_MAX, USES_OPEN_MAX};
use super::open::{Gate, Step, busy};
use super::outcome::state_after;
use super::records::{Effect, Held, Permit, put};
use ordain_api::UseReceipt;
use ordain_api::{Entry, Event, Role, Use};
use ordain_canon::time::moment;
use ordain_canon::{Canonicalizer, ParametersHash, TargetHash, Value};
use ordain_decision::{Claims, Minting, verify_permit};
use ordain_spec::decision::Outcome;
use ordain_store::StoreError;
use serde::Serialize;
use serde_json::Value as Json;

/// A permit, and what a worker is about to do with it.
pub struct Spend<'a> {
    /// The permit, as it was given out.
    pub permit: &'a str,
    /// What is about to happen.
    pub deed: IntendedAction<'a>,
}

/// What a worker is about to do.
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
    /// As a KernelRequest says it: what it stands for, the policies in force know.
    Request(&'a Value<'a>),
}

impl Gate {
    /// Spends one use of a permit.
    pub async fn spend(
        &self,
        caller: &Caller,
        permit_id: &str,
        spend: &Spend<'_>,
    ) -> Result<UseReceipt, GateError> {
        caller.must_be(&[Role::Worker])?;
        // Another node may know that it is later.
        self.see_last_entry().await?;
        let now_ms = self.clock.now_ms();
        let keys = self.public_keys().await?;
        let claims = verify_permit(spend.permit, &keys, &self.settings.audience, now_ms)
            .map_err(|error| GateError::Forbidden(format!("the permit {error}")))?;
        if claims.jti != permit_id {
            return Err(GateError::Forbidden(format!("the permit is `{}`, not `{permit_id}`", claims.jti)));
        }
        self.check_deed(&claims, &spend.deed).await?;
        for _ in 0..TRIES_MAX {
            match self.spend_once(caller, permit_id, spend.permit, &claims).await {
                Err(GateError::Store(StoreError::Conflict { .. })) => {}
                Err(error) => return Err(error),
                Ok(spent) => {
                    self.tell(&spent.action_id);
                    return Ok(spent);
                }
            }
        }
        Err(busy())
    }

    /// What was decided is what may be done.
    async fn check_deed(&self, claims: &Claims, deed: &IntendedAction<'_>) -> Result<(), GateError> {
        match deed {
            IntendedAction::Action { action_type, target, parameters } => {
                same_deed(claims, action_type, *target, *parameters)
            }
            IntendedAction::Request(request) => {
                let (_, control) = self.control().await?;
                let bytes = Canonicalizer::new().value(request)?.to_vec();
                let proposal = self.policies(&control).await?.set.as_proposal(&bytes).ok_or_else(|| {
                    let problem = "the policies in force do not map this request to an action";
                    GateError::Forbidden(problem.to_owned())
                })?;
                let part = |field: &str| proposal.get(field).unwrap_or(&Json::Null);
                let action_type = part("action_type").as_str().unwrap_or_default();
                same_deed(claims, action_type, part("target"), part("parameters"))
            }
        }
    }

    async fn spend_once(
        &self,
        caller: &Caller,
        permit_id: &str,
        token: &str,
        claims: &Claims,
    ) -> Result<UseReceipt, GateError> {
        let held = Held::<Permit>::read(&self.store, permit_id).await?;
        let Some(mut permit) = held.body.clone() else { return Err(no_permit(permit_id)) };
        if permit.token != token {
            return Err(GateError::Forbidden(format!("`{permit_id}` is on record with another text")));
        }
        let action_held = self.action(&permit.action_id).await?;
        let Some(mut action) = action_held.body.clone() else { return Err(no_action(&permit.action_id)) };
        let effect_held = Held::<Effect>::read(&self.store, &permit.effect).await?;
        let mut effect = effect_held.body.clone().unwrap_or_default();
        let (control_held, control) = self.control().await?;
        let loaded = self.policies(&control).await?;
        let now_ms = self.clock.now_ms();
        if now_ms < permit.valid_from_ms || now_ms >= permit.valid_until_ms {
            return Err(GateError::Forbidden(format!("`{permit_id}` does not hold at this time")));
        }
        self.check_nothing_unknown(&effect, now_ms).await?;
        // Everything that was true when it was decided must still be true.
        let inputs = Inputs {
            proposal_document: action.proposal_document.clone(),
            files_document: loaded.files_document.clone(),
            evidence_documents: action.evidence_documents.clone(),
            approval_documents: action.approval_documents.clone(),
            now_ms,
            halted: control.halt.is_some(),
        };
        let proposal = self.read_document(&action.proposal_document).await?;
        let evidence = self.read_documents(&action.evidence_documents).await?;
        let approvals = self.read_documents(&action.approval_documents).await?;
        let texts = Texts { proposal: &proposal, evidence: &evidence, approvals: &approvals };
        let judged = judge(&loaded, &inputs, &texts)?;
        let Some(grant) = judged.grant.filter(|_| judged.decision.outcome == Outcome::Allow) else {
            let message = format!("`{permit_id}` was allowed, and would not be allowed now");
            return Err(GateError::Refused { message, reasons: judged.decision.reasons });
        };
        let minting = Minting { audience: &self.settings.audience, nonce: "", ledger_index: None };
        let granted = grant.claims(&self.keyring().public(), minting);
        // A KernelRequest can stand for something else by now. The hash covers all of what it stands for.
        if granted.proposal_hash != claims.proposal_hash {
            return Err(GateError::Forbidden(format!(
                "by the policies in force the request stands for something else than `{permit_id}` was given for"
            )));
        }
        let uses_max = permit.max_executions.min(granted.max_executions);
        let used = permit.used;
        if used >= uses_max {
            let last = permit.uses.last().map_or_else(String::new, |it| {
                format!("; `{}` took the last one at {}", it.worker, moment(it.spent_at_ms))
            });
            let times = if uses_max == 1 { "once".to_owned() } else { format!("{uses_max} times") };
            return Err(GateError::Conflict(format!("`{permit_id}` could be used {times}, and was{last}")));
        }
        if permit.uses.iter().filter(|it| it.settled.is_none()).count() >= USES_OPEN_MAX {
            return Err(GateError::Conflict(format!(
                "{USES_OPEN_MAX} uses of `{permit_id}` are under way; report how they went first"
            )));
        }
        let number = used + 1;
        permit.used = number;
        let duration_ms = permit.max_duration_ms.unwrap_or(DURATION_MS_DEFAULT).min(DURATION_MS_MAX);
        let deadline_ms = now_ms.saturating_add(duration_ms);
        permit.uses.push(Use {
            number,
            worker: caller.principal.clone(),
            spent_at_ms: now_ms,
            deadline_ms,
            settled: None,
        });
        effect.open.push((permit_id.to_owned(), number));
        action.state = state_after(&permit.outcomes());
        let guards = vec![held.guard(), action_held.guard(), effect_held.guard(), control_held.guard()];
        let event = Event::PermitSpent {
            action_id: permit.action_id.clone(),
            permit_id: permit_id.to_owned(),
            number,
            decision_document: judged.decision_document,
            inputs_document: judged.inputs_document,
            deadline_ms,
        };
        let action_id = permit.action_id.clone();
        let records = vec![put(permit_id, &permit), put(&action_id, &action), put(&permit.effect, &effect)];
        let entries = vec![Entry::of(now_ms, &caller.principal, event)];
        let step = Step { documents: judged.documents, records, entries };
        let committed = self.commit(guards, move |_| Ok(step)).await?;
        Ok(UseReceipt {
            permit_id: permit_id.to_owned(),
            action_id,
            number,
            uses_left: uses_max - number,
            deadline_ms,
            ledger_index: committed.first_index,
        })
    }

    /// As long as nobody knows whether it happened, it must not happen again.
    async fn check_nothing_unknown(&self, effect: &Effect, now_ms: u64) -> Result<(), GateError> {
        for (permit_id, number) in &effect.open {
            let other = Held::<Permit>::read(&self.store, permit_id).await?.body;
            let uses = other.map(|it| it.uses).unwrap_or_default();
            if uses.iter().any(|it| it.number == *number && it.is_unknown(now_ms)) {
                return Err(GateError::Conflict(format!(
                    "nobody knows whether use {number} of `{permit_id}` happened, which does the same; until somebody settles it, it is not done again"
                )));
            }
        }
        Ok(())
    }
}

fn same_deed<T: Serialize + ?Sized>(
    claims: &Claims,
    action_type: &str,
    target: &T,
    parameters: &T,
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
        Some((field, _)) => Err(GateError::Forbidden(format!(
            "the permit was given for another `{field}`; what was decided is what may be done, and nothing else"
        ))),
    }
}

pub(super) fn no_permit(permit_id: &str) -> GateError {
    GateError::Unknown(format!("there is no permit `{permit_id}`"))
}
