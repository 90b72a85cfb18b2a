//! Outcomes: how a use of a permit went, and who settles an unknown one.

use super::caller::Caller;
use super::claim::Claim;
use super::conflict::Conflict;
use super::documents::typed;
use super::effects::{EffectKey, EffectKeys};
use super::error::GateError;
use super::ids::PermitId;
use super::limits::USES_SHOWN_MAX;
use super::open::Gate;
use super::owner::Authorized;
use super::records::{Action, Effect, EffectUse, Permit, Versioned};
use super::status::{Shown, no_permit};
use super::transaction::{Reading, Step, Writing, document};
use ordain_api::limits::{GRACE_MS, REASON_CHARACTERS_MAX};
use ordain_api::{
    ActionState, Event, FileChange, OutcomeReport, PermitStatus, Role, Settled, Settlement, Use, UseOutcome,
};
use ordain_canon::is_sha256;
use ordain_decision::Claims;
use ordain_spec::name::violation;
use ordain_store::Guard;
use serde_json::Value as Json;

impl Gate {
    /// Records the outcome of a use. The worker that spent the permit reports it; an operator settles an unknown one.
    pub async fn settle(
        &self,
        caller: &Caller,
        permit_id: &str,
        report: &OutcomeReport,
    ) -> Result<PermitStatus, GateError> {
        if report.reason.chars().count() > REASON_CHARACTERS_MAX {
            let problem = format!("is longer than {REASON_CHARACTERS_MAX} characters");
            return Err(GateError::invalid("/reason", problem));
        }
        if let Some(change) = &report.change {
            check_file_change(change, report.outcome)?;
        }
        let permit_id = PermitId::new(permit_id);
        let action_id = permit_id.action_id().ok_or_else(|| no_permit(permit_id.as_str()))?;
        let attempt = |_| self.settle_attempt(caller, action_id, &permit_id, report);
        let status = self.transact(caller, attempt).await?;
        self.notify(action_id);
        Ok(status)
    }

    async fn settle_attempt(
        &self,
        caller: &Caller,
        action_id: &str,
        permit_id: &PermitId,
        report: &OutcomeReport,
    ) -> Result<Step<PermitStatus>, GateError> {
        let (known, mut action) = self.action(action_id).await?;
        // An owner may be a user of the machine without the role: their statement is checked below.
        if !caller.works_for(&action.actor) && !caller.is(Role::Operator) && caller.signed.is_empty() {
            return Err(no_permit(permit_id.as_str()));
        }
        let documents = self.action_documents(&action).await?;
        let minted = documents.permit(&action)?;
        let permit = action.permit.as_mut().filter(|permit| permit.id == *permit_id);
        let (Some(minted), Some(permit)) = (minted, permit) else {
            return Err(no_permit(permit_id.as_str()));
        };
        if let Some(change) = &report.change {
            check_change_of(permit_id, change, &documents.proposal)?;
        }
        let now_ms = self.clock.now_ms();
        let was_used = (1..=permit.used).contains(&report.number);
        let Some(used) = permit.uses.iter_mut().find(|used| used.number == report.number) else {
            return Err(if was_used {
                settled_already(permit_id, report.number)
            } else {
                GateError::Unknown(format!("`{permit_id}` has no use {}", report.number))
            });
        };
        let unknown = used.settled.clone().filter(|settled| settled.outcome == UseOutcome::Unknown);
        // Numbers of the worker do not turn the word of an owner into another one.
        let unknown = unknown.filter(|_| caller.signed.is_empty());
        let settled = settled(&minted.claims, report, unknown.as_ref(), &caller.principal, now_ms);
        let own = used.worker == caller.principal;
        let same = |before: &Settled| {
            before.outcome == settled.outcome
                && before.affected_records == settled.affected_records
                && before.duration_ms == settled.duration_ms
        };
        let token_shown = Shown::to(caller, &action.actor);
        // Known already, so that nobody has to sign it again.
        let known_outcome = used.settled.as_ref().filter(|before| before.outcome != UseOutcome::Unknown);
        if let Some(before) = known_outcome.filter(|_| own) {
            return if same(before) {
                Ok(Step::Done(token_shown.permit(action_id, &minted, permit)))
            } else {
                Err(settled_already(permit_id, report.number))
            };
        }
        let is_late = now_ms > used.deadline_ms.saturating_add(GRACE_MS);
        // "Nobody knows" keeps the lock, so the worker may always say it. Everything else by another caller, after the
        // deadline, or once the worker did not know, is a person's word, and an owner's key signs it.
        let by_worker = own && caller.signed.is_empty();
        let in_time = !is_late && used.settled.is_none();
        let authorized = if by_worker && (in_time || report.outcome == UseOutcome::Unknown) {
            Authorized::default()
        } else {
            self.authorize_settlement(caller, permit_id, report).await?
        };
        let is_owner = authorized.is_signed();
        if !own && !is_owner && !caller.is(Role::Operator) {
            return Err(GateError::Forbidden(format!(
                "use {} of `{permit_id}` is of `{}`; only they or an operator can report its outcome",
                report.number, used.worker
            )));
        }
        if is_late && !is_owner && !caller.is_person_beside(&action.actor, &used.worker) {
            return Err(GateError::Forbidden(format!(
                "the deadline of use {} of `{permit_id}` has passed, and only a person settles it now: an operator who is neither \
                 its worker nor its proposer",
                report.number
            )));
        }
        if let Some(before) = &used.settled {
            // A person's "nobody can tell" is another word than that of the worker or of time.
            let same = same(before)
                && (settled.outcome != UseOutcome::Unknown || before.by == settled.by && !is_owner);
            match before.outcome {
                _ if same => {
                    return Ok(Step::Done(token_shown.permit(action_id, &minted, permit)));
                }
                UseOutcome::Unknown => {}
                UseOutcome::Succeeded | UseOutcome::Failed => {
                    return Err(settled_already(permit_id, report.number));
                }
            }
        }
        // A change beyond what the permit allows is not recorded as one that was allowed.
        let change = report.change.clone().filter(|_| settled.outcome == UseOutcome::Succeeded);
        let number = report.number;
        let (step, mut guards, documents) =
            self.settling(action_id, known, action, number, settled, change).await?;
        guards.extend(authorized.guards());
        let action_id = action_id.to_owned();
        Ok(Step::write(guards, documents, move |writing| {
            authorized.write(writing)?;
            let action = step(writing)?;
            let permit = action.permit.as_ref().ok_or_else(|| no_permit(&action_id))?;
            Ok(token_shown.permit(&action_id, &minted, permit))
        }))
    }

    /// Whether an owner's key bears out what somebody says about a use that is not theirs, or whose time is over. An
    /// open gate believes its operators.
    async fn authorize_settlement(
        &self,
        caller: &Caller,
        permit_id: &PermitId,
        report: &OutcomeReport,
    ) -> Result<Authorized, GateError> {
        let (_, control) = self.control(Reading::Fresh).await?;
        let (outcome, permit_id, number) = (report.outcome, permit_id.as_str(), report.number);
        let claim = Claim::settles(&Settlement { outcome, permit_id, number });
        self.authorize(caller, &control, &claim).await
    }

    /// Prepares to write the outcome of a use with everything that follows from it.
    pub(crate) async fn settling(
        &self,
        action_id: &str,
        known: Versioned<Action>,
        mut action: Action,
        number: u64,
        settled: Settled,
        change: Option<FileChange>,
    ) -> Result<
        (impl FnOnce(&mut Writing) -> Result<Action, GateError> + Send + use<>, Vec<Guard>, Vec<Vec<u8>>),
        GateError,
    > {
        let keys = action.permit.as_ref().and_then(|permit| permit.effect_keys.get(&number));
        let used =
            action.permit.as_ref().and_then(|permit| permit.uses.iter().find(|used| used.number == number));
        let deadline_ms = used.map_or(0, |used| used.deadline_ms);
        // Where an unknown outcome blocks nobody, the record has only those that are unknown or are counted.
        let was_unknown = used.is_some_and(|used| used.settled.is_some());
        let is_unknown = was_unknown || settled.outcome == UseOutcome::Unknown;
        let keys = keys.map(|keys| keys.only(|key| is_unknown || key.counts(&action))).unwrap_or_default();
        let mut guards = vec![known.guard()];
        let effects = keys.read(&self.store).await?.into_effects(&mut guards);
        let counts = |(key, effect): (EffectKey, Effect)| (key.counts(&action), key, effect);
        let effects: Vec<(bool, EffectKey, Effect)> = effects.into_iter().map(counts).collect();
        let (report_document, bytes) = document(&settled)?;
        let action_id = action_id.to_owned();
        let step = move |writing: &mut Writing| {
            let Some(permit) = action.permit.as_mut() else { return Err(no_permit(&action_id)) };
            let permit_id = permit.id.clone();
            let is_this = |open: &EffectUse| open.permit_id == permit_id && open.number == number;
            for (counts, key, mut effect) in effects {
                if settled.outcome == UseOutcome::Unknown {
                    let permit_id = permit_id.clone();
                    effect.add_unknown(&key, EffectUse { permit_id, number, deadline_ms, unknown: true });
                } else {
                    effect.open.retain(|open| !is_this(open));
                    if counts {
                        effect.add_settled(&action_id, &settled);
                    }
                }
                writing.put(key.id(), &effect)?;
            }
            writing.event(Event::PermitSettled {
                action_id: action_id.clone(),
                permit_id: permit_id.to_string(),
                number,
                outcome: settled.outcome,
                report_document: report_document.to_string(),
            });
            if let Some(change) = change {
                writing.event(file_change_event(&change, permit_id.as_str(), &action_id));
            }
            permit.settle(number, settled);
            action.state = state_after(&permit.outcomes());
            writing.put(action_id.as_str(), &action)?;
            Ok(action)
        };
        Ok((step, guards, vec![bytes]))
    }
}

/// The change must be the one that the permit was given for.
fn check_change_of(permit_id: &PermitId, change: &FileChange, proposal: &[u8]) -> Result<(), GateError> {
    let proposal: Json = typed(proposal)?;
    let text = |pointer: &str| proposal.pointer(pointer).and_then(Json::as_str);
    let permit_id = permit_id.to_string();
    if text("/target/resource_type") != Some("patch_set") {
        return Err(Conflict::NoFileChange { permit_id }.into());
    }
    let named = [text("/target/resource_id"), text("/parameters/patch_hash")];
    if !named.contains(&Some(&change.patch_hash)) {
        return Err(Conflict::OtherPatchSet { permit_id }.into());
    }
    Ok(())
}

fn settled_already(permit_id: &PermitId, number: u64) -> GateError {
    Conflict::Settled { permit_id: permit_id.to_string(), number }.into()
}

fn check_file_change(change: &FileChange, outcome: UseOutcome) -> Result<(), GateError> {
    let wrong = |problem: String| Err(GateError::invalid("/change", problem));
    if outcome != UseOutcome::Succeeded {
        return wrong("is only allowed with the outcome `succeeded`".to_owned());
    }
    if !is_sha256(&change.patch_hash) {
        return wrong("`patch_hash` is not the hash of a patch set".to_owned());
    }
    match violation(&change.record) {
        Some(problem) => wrong(format!("`record` {problem}")),
        None => Ok(()),
    }
}

fn file_change_event(change: &FileChange, permit_id: &str, action_id: &str) -> Event {
    let action_id = action_id.to_owned();
    let permit_id = permit_id.to_owned();
    let patch_hash = change.patch_hash.clone();
    let record = change.record.clone();
    if change.undone {
        Event::Undone { action_id, permit_id, patch_hash, record }
    } else {
        Event::Applied { action_id, permit_id, patch_hash, record }
    }
}

impl Permit {
    /// Sets the outcome of a use.
    pub(crate) fn settle(&mut self, number: u64, settled: Settled) {
        if settled.outcome != UseOutcome::Unknown {
            self.effect_keys.remove(&number);
        }
        if let Some(used) = self.uses.iter_mut().find(|used| used.number == number) {
            used.settled = Some(settled);
        }
        self.forget_old();
    }

    /// A record must not grow with every use; the ledger has all of them.
    fn forget_old(&mut self) {
        let over =
            |used: &Use| used.settled.as_ref().is_some_and(|settled| settled.outcome != UseOutcome::Unknown);
        let mut too_many = self.uses.iter().filter(|used| over(used)).count().saturating_sub(USES_SHOWN_MAX);
        self.uses.retain(|used| {
            let forgotten = too_many > 0 && over(used);
            too_many -= usize::from(forgotten);
            !forgotten
        });
    }

    /// The uses that keep the same effect from being done again until their outcome is known.
    pub(crate) fn locks(&self) -> Vec<u64> {
        let locks =
            |(number, keys): (&u64, &EffectKeys)| keys.iter().any(EffectKey::blocks).then_some(*number);
        self.effect_keys.iter().filter_map(locks).collect()
    }

    /// The outcomes of the uses that its record shows, in their order.
    pub(crate) fn outcomes(&self) -> Vec<Option<UseOutcome>> {
        self.uses.iter().map(|used| used.settled.as_ref().map(|settled| settled.outcome)).collect()
    }
}

/// The outcome that counts. A use that is said to have succeeded and went beyond the permit's limits has
/// failed. An unknown outcome stays unknown, whatever else is known of it; otherwise somebody could do it
/// again. Records and duration that were reported before count until somebody says otherwise.
fn settled(
    permitted: &Claims,
    report: &OutcomeReport,
    before: Option<&Settled>,
    by: &str,
    at_ms: u64,
) -> Settled {
    let beyond = |what: &str, reported: Option<u64>, limit: Option<u64>| match (reported, limit) {
        (Some(reported), Some(limit)) if reported > limit => {
            Some(format!("{what} {reported}, and the permit allows {limit}"))
        }
        _ => None,
    };
    let affected_records = report.affected_records.or(before.and_then(|before| before.affected_records));
    let duration_ms = report.duration_ms.or(before.and_then(|before| before.duration_ms));
    let records = beyond("affected records:", affected_records, permitted.max_affected_records);
    let duration = beyond("duration in ms:", duration_ms, permitted.max_duration_ms);
    let mut reasons: Vec<String> = records.into_iter().chain(duration).collect();
    let outcome = match report.outcome {
        UseOutcome::Succeeded if !reasons.is_empty() => UseOutcome::Failed,
        outcome => outcome,
    };
    reasons.extend((!report.reason.is_empty()).then(|| report.reason.clone()));
    Settled { outcome, reason: reasons.join("; "), affected_records, duration_ms, by: by.to_owned(), at_ms }
}

/// Where an action stands when the uses of its permit have these outcomes; there is at least one use.
pub(crate) fn state_after(outcomes: &[Option<UseOutcome>]) -> ActionState {
    if outcomes.contains(&Some(UseOutcome::Unknown)) {
        return ActionState::Unknown;
    }
    if outcomes.contains(&None) {
        return ActionState::Running;
    }
    match outcomes.last().copied().flatten() {
        Some(UseOutcome::Succeeded) => ActionState::Succeeded,
        Some(UseOutcome::Failed) => ActionState::Failed,
        Some(UseOutcome::Unknown) | None => ActionState::Unknown,
    }
}
