//! Outcomes: how a use of a permit went, and who settles what nobody knows.

use super::approve::no_action;
use super::caller::Caller;
use super::error::GateError;
use super::limits::{TRIES_MAX, USES_SHOWN_MAX};
use super::open::{Gate, Step, busy, came_to, document};
use super::records::{Effect, Held, Permit, put};
use super::spend::no_permit;
use super::submit::name_problem;
use ordain_api::limits::REASON_CHARACTERS_MAX;
use ordain_api::{ActionState, Entry, Event, PermitStatus, Role, Settled, Use, UseOutcome};
use ordain_api::{FileChange, OutcomeReport};
use ordain_canon::is_sha256;
use ordain_store::StoreError;
use serde_json::Value as Json;

impl Gate {
    /// Records how a use went. Who spent the permit reports it; an operator settles what is unknown.
    pub async fn settle(
        &self,
        caller: &Caller,
        permit_id: &str,
        report: &OutcomeReport,
    ) -> Result<PermitStatus, GateError> {
        caller.must_be(&[Role::Worker, Role::Operator])?;
        if report.reason.chars().count() > REASON_CHARACTERS_MAX {
            return Err(GateError::invalid(
                "/reason",
                format!("is longer than {REASON_CHARACTERS_MAX} characters"),
            ));
        }
        if let Some(change) = &report.change {
            check_file_change(change, report.outcome)?;
            self.check_change(permit_id, change).await?;
        }
        for _ in 0..TRIES_MAX {
            match self.settle_once(caller, permit_id, report).await {
                Err(GateError::Store(StoreError::Conflict { .. })) => {}
                Err(error) => return Err(error),
                Ok(action_id) => {
                    self.tell(&action_id);
                    return came_to(|| self.permit_status(caller, permit_id)).await;
                }
            }
        }
        Err(busy())
    }

    async fn settle_once(
        &self,
        caller: &Caller,
        permit_id: &str,
        report: &OutcomeReport,
    ) -> Result<String, GateError> {
        let held = Held::<Permit>::read(&self.store, permit_id).await?;
        let Some(mut permit) = held.body.clone() else { return Err(no_permit(permit_id)) };
        let now_ms = self.clock.now_ms();
        let action_id = permit.action_id.clone();
        let known = permit.uses.iter().find(|it| it.number == report.number);
        let known = known.and_then(|it| it.settled.clone()).filter(|it| it.outcome == UseOutcome::Unknown);
        let settled = permit.settled(report, known.as_ref(), &caller.principal, now_ms);
        let was_used = (1..=permit.used).contains(&report.number);
        let Some(used) = permit.uses.iter_mut().find(|it| it.number == report.number) else {
            return Err(match was_used {
                true => settled_already(permit_id, report.number),
                false => GateError::Unknown(format!("`{permit_id}` has no use {}", report.number)),
            });
        };
        let own = used.worker == caller.principal;
        if !own && !caller.is(Role::Operator) {
            return Err(GateError::Forbidden(format!(
                "use {} of `{permit_id}` is of `{}`; only they or an operator can say how it went",
                report.number, used.worker
            )));
        }
        if let Some(before) = &used.settled {
            let same = before.outcome == settled.outcome
                && before.affected_records == settled.affected_records
                && before.duration_ms == settled.duration_ms;
            match before.outcome {
                _ if same => return Ok(action_id),
                UseOutcome::Unknown => {}
                UseOutcome::Succeeded | UseOutcome::Failed => {
                    return Err(settled_already(permit_id, report.number));
                }
            }
        }
        used.settled = Some(settled.clone());
        permit.forget_old();
        let use_settled = UseSettled {
            by: caller.principal(),
            number: report.number,
            settled: &settled,
            // What went beyond the permit is no change that was allowed.
            change: report.change.as_ref().filter(|_| settled.outcome == UseOutcome::Succeeded),
        };
        self.write_settled(permit_id, &held, &permit, use_settled).await?;
        Ok(action_id)
    }

    /// That it is the change that the permit was given for.
    async fn check_change(&self, permit_id: &str, change: &FileChange) -> Result<(), GateError> {
        let permit = Held::<Permit>::read(&self.store, permit_id).await?;
        let permit = permit.body.ok_or_else(|| no_permit(permit_id))?;
        let action = self.action(&permit.action_id).await?.body;
        let action = action.ok_or_else(|| no_action(&permit.action_id))?;
        let bytes = self.read_document(&action.proposal_document).await?;
        let (_, control) = self.control().await?;
        let mapped = self.policies(&control).await?.set.as_proposal(&bytes);
        let proposal = mapped.or_else(|| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        let text = |pointer: &str| proposal.pointer(pointer).and_then(Json::as_str);
        if text("/target/resource_type") != Some("patch_set") {
            return Err(GateError::Conflict(format!("`{permit_id}` was given for no change of files")));
        }
        let named = [text("/target/resource_id"), text("/parameters/patch_hash")];
        if !named.contains(&Some(&change.patch_hash)) {
            return Err(GateError::Conflict(format!("`{permit_id}` was given for another patch set")));
        }
        Ok(())
    }

    /// Writes a settled use with everything that follows from it.
    pub(super) async fn write_settled(
        &self,
        permit_id: &str,
        held: &Held<Permit>,
        permit: &Permit,
        UseSettled { by, number, settled, change }: UseSettled<'_>,
    ) -> Result<(), GateError> {
        let action_held = self.action(&permit.action_id).await?;
        let effect_held = Held::<Effect>::read(&self.store, &permit.effect).await?;
        let mut effect = effect_held.body.clone().unwrap_or_default();
        if settled.outcome != UseOutcome::Unknown {
            effect.open.retain(|open| *open != (permit_id.to_owned(), number));
        }
        let mut records = vec![put(permit_id, permit), put(&permit.effect, &effect)];
        if let Some(mut action) = action_held.body.clone() {
            action.state = state_after(&permit.outcomes());
            records.push(put(&permit.action_id, &action));
        }
        let (report_document, bytes) = document(settled)?;
        let event = Event::PermitSettled {
            action_id: permit.action_id.clone(),
            permit_id: permit_id.to_owned(),
            number,
            outcome: settled.outcome,
            report_document,
        };
        let guards = vec![held.guard(), action_held.guard(), effect_held.guard()];
        let mut entries = vec![Entry::of(settled.at_ms, by, event)];
        entries.extend(
            change.map(|change| Entry::of(settled.at_ms, by, file_change_event(change, permit_id, permit))),
        );
        let step = Step { documents: vec![bytes], records, entries };
        self.commit(guards, move |_| Ok(step)).await.map(drop)
    }
}

fn settled_already(permit_id: &str, number: u64) -> GateError {
    GateError::Conflict(format!("use {number} of `{permit_id}` is settled already, and stays as it is"))
}

/// A use that was settled.
pub(super) struct UseSettled<'a> {
    pub(super) by: &'a str,
    pub(super) number: u64,
    pub(super) settled: &'a Settled,
    pub(super) change: Option<&'a FileChange>,
}

fn check_file_change(change: &FileChange, outcome: UseOutcome) -> Result<(), GateError> {
    let wrong = |problem: String| Err(GateError::invalid("/change", problem));
    if outcome != UseOutcome::Succeeded {
        return wrong("is only allowed with the outcome `succeeded`".to_owned());
    }
    if !is_sha256(&change.patch_hash) {
        return wrong("`patch_hash` is not the hash of a patch set".to_owned());
    }
    match name_problem(&change.record) {
        Some(problem) => wrong(format!("`record` {problem}")),
        None => Ok(()),
    }
}

fn file_change_event(change: &FileChange, permit_id: &str, permit: &Permit) -> Event {
    let action_id = permit.action_id.clone();
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
    /// A record must not grow with every use; what is over is on the ledger.
    fn forget_old(&mut self) {
        let over = |it: &Use| it.settled.as_ref().is_some_and(|it| it.outcome != UseOutcome::Unknown);
        let mut too_many = self.uses.iter().filter(|it| over(it)).count().saturating_sub(USES_SHOWN_MAX);
        self.uses.retain(|it| {
            let forgotten = too_many > 0 && over(it);
            too_many -= usize::from(forgotten);
            !forgotten
        });
    }

    /// The outcomes of the uses that its record shows, in their order.
    pub(super) fn outcomes(&self) -> Vec<Option<UseOutcome>> {
        self.uses.iter().map(|it| it.settled.as_ref().map(|settled| settled.outcome)).collect()
    }

    /// What a report comes to: what is said to have succeeded and went beyond the permit's limits has failed. What nobody
    /// knows stays unknown, whatever else is known of it; else somebody could do it again. What was reported before about
    /// records and duration counts as long as nobody says otherwise.
    fn settled(&self, report: &OutcomeReport, before: Option<&Settled>, by: &str, at_ms: u64) -> Settled {
        let beyond = |what: &str, reported: Option<u64>, limit: Option<u64>| match (reported, limit) {
            (Some(reported), Some(limit)) if reported > limit => {
                Some(format!("{what} {reported}, and the permit allows {limit}"))
            }
            _ => None,
        };
        let affected_records = report.affected_records.or(before.and_then(|it| it.affected_records));
        let duration_ms = report.duration_ms.or(before.and_then(|it| it.duration_ms));
        let records = beyond("affected records:", affected_records, self.max_affected_records);
        let duration = beyond("duration in ms:", duration_ms, self.max_duration_ms);
        let mut reasons: Vec<String> = records.into_iter().chain(duration).collect();
        let outcome = match report.outcome {
            UseOutcome::Succeeded if !reasons.is_empty() => UseOutcome::Failed,
            outcome => outcome,
        };
        reasons.extend((!report.reason.is_empty()).then(|| report.reason.clone()));
        Settled {
            outcome,
            reason: reasons.join("; "),
            affected_records,
            duration_ms,
            by: by.to_owned(),
            at_ms,
        }
    }
}

/// Where an action stands when the uses of its permit have these outcomes; there is at least one use.
pub(super) fn state_after(outcomes: &[Option<UseOutcome>]) -> ActionState {
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
