//! Spending a permit: the worker says what it is about to do, everything is checked again, and one use is gone.

use super::approve::no_action;
use super::caller::{Caller, Role};
use super::entry::{Entry, Event};
use super::error::GateError;
use super::judge::{Inputs, Texts, judge};
use super::limits::{DURATION_MS_DEFAULT, TRIES_MAX, USES_OPEN_MAX};
use super::open::{Gate, Step, busy};
use super::outcome::state_after;
use super::records::{Effect, Held, Permit, Use, put};
use ordain_canon::{Canonicalizer, ParametersHash, TargetHash, Value};
use ordain_decision::{Minting, verify_permit};
use ordain_spec::decision::Outcome;
use ordain_store::StoreError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a worker is about to do.
pub struct Spend<'a> {
    /// The permit, as it was given out.
    pub permit: &'a str,
    /// The action.
    pub action_type: &'a str,
    /// On what.
    pub target: &'a Value<'a>,
    /// How.
    pub parameters: &'a Value<'a>,
}

/// A use of a permit. The worker may act now.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Spent {
    /// The permit.
    pub permit_id: String,
    /// The action that it allows.
    pub action_id: String,
    /// Counted from 1; the outcome is reported for it.
    #[serde(rename = "use")]
    pub number: u64,
    /// How many are left.
    pub uses_left: u64,
    /// Until when the outcome must be reported, in milliseconds since 1970.
    pub deadline_ms: u64,
    /// The entry on the ledger.
    pub ledger_index: u64,
}

impl Gate {
    /// Spends one use of a permit.
    pub async fn spend(
        &self,
        caller: &Caller,
        permit_id: &str,
        spend: &Spend<'_>,
    ) -> Result<Spent, GateError> {
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
        let mut canon = Canonicalizer::new();
        let action_type = serde_json::to_value(claims.action_type).unwrap_or_default();
        let same = [
            ("action_type", action_type.as_str() == Some(spend.action_type)),
            ("target", TargetHash::of(&mut canon, spend.target)?.is(&claims.target_hash)),
            ("parameters", ParametersHash::of(&mut canon, spend.parameters)?.is(&claims.parameters_hash)),
        ];
        if let Some((field, _)) = same.iter().find(|(_, same)| !same) {
            return Err(GateError::Forbidden(format!(
                "the permit was given for another `{field}`; what was decided is what may be done, and nothing else"
            )));
        }
        for _ in 0..TRIES_MAX {
            match self.spend_once(caller, permit_id, spend.permit).await {
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

    async fn spend_once(&self, caller: &Caller, permit_id: &str, token: &str) -> Result<Spent, GateError> {
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
        let uses_max =
            permit.max_executions.min(grant.claims(&self.keyring().public(), minting).max_executions);
        let used = permit.used;
        if used >= uses_max {
            let last = permit.uses.last().map_or_else(String::new, |it| {
                format!("; `{}` took the last one at {} ms", it.worker, it.spent_at_ms)
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
        let deadline_ms = now_ms.saturating_add(permit.max_duration_ms.unwrap_or(DURATION_MS_DEFAULT));
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
        Ok(Spent {
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

pub(super) fn no_permit(permit_id: &str) -> GateError {
    GateError::Unknown(format!("there is no permit `{permit_id}`"))
}
