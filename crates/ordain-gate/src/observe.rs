//! Observing: for a time the gate only records its decisions about the calls of a hook, and the hook allows them. An
//! owner wants it, for one installed hook or for all of them; it ends by itself.

use super::caller::Caller;
use super::claim::Claim;
use super::error::GateError;
use super::limits::{OBSERVE_MS_MAX, PAUSE_MS_MAX};
use super::open::Gate;
use super::permits::refused;
use super::records::{CONTROL_ID, Control};
use super::submit::{Incoming, Recorded};
use super::transaction::{Reading, Step, Writing};
use ordain_api::limits::REASON_CHARACTERS_MAX;
use ordain_api::{
    ActionState, EndedObservation, Event, GateStatus, NewObservation, Observation, ObservedCall, OwnerAct,
};
use ordain_canon::ContentHash;
use ordain_decision::ObservedClaims;
use ordain_spec::name::violation;

impl Gate {
    /// Has the calls of a hook, or of all hooks, observed for a time. An owner signs for it; a gate that nobody owns
    /// does not do it, because every process could ask for it there.
    pub async fn start_observation(
        &self,
        caller: &Caller,
        new: &NewObservation,
    ) -> Result<GateStatus, GateError> {
        self.check_observation(new)?;
        let attempt = |_| async {
            let (known, control) = self.control(Reading::Fresh).await?;
            let from = self.state_before(OwnerAct::StartObservation, &control)?;
            let claim = Claim::of(OwnerAct::StartObservation, new.subject(), from);
            let authorized = self.authorize(caller, &control, &claim).await?;
            let mut guards = vec![known.guard()];
            guards.extend(authorized.guards());
            let (by, NewObservation { hook, reason, until_ms }) = (caller.principal.clone(), new.clone());
            Ok(Step::write(guards, Vec::new(), move |writing| {
                authorized.write(writing)?;
                let at_ms = writing.at_ms;
                let new = Observation { at_ms, by, hook: hook.clone(), reason: reason.clone(), until_ms };
                let mut control = control;
                started(&mut control.observing, new);
                writing.event(Event::ObservationStarted { hook, until_ms, reason });
                writing.put(CONTROL_ID, &control)?;
                Ok(control.status(at_ms))
            }))
        };
        self.transact(caller, attempt).await
    }

    /// Ends an observation before its time. Again it changes nothing.
    pub async fn end_observation(
        &self,
        caller: &Caller,
        end: &EndedObservation,
    ) -> Result<GateStatus, GateError> {
        check_hook(end.hook.as_deref())?;
        let attempt = |_| async {
            let (known, control) = self.control(Reading::Fresh).await?;
            let now_ms = self.clock.now_ms();
            let is_this = |it: &Observation| it.hook == end.hook && now_ms < it.until_ms;
            if !control.observing.iter().any(is_this) {
                return Ok(Step::Done(control.status(now_ms)));
            }
            let hook = end.hook.clone();
            Ok(Step::write(vec![known.guard()], Vec::new(), move |writing| {
                let mut control = control;
                ended(&mut control.observing, hook.as_deref());
                writing.event(Event::ObservationEnded { hook });
                writing.put(CONTROL_ID, &control)?;
                Ok(control.status(writing.at_ms))
            }))
        };
        self.transact(caller, attempt).await
    }

    fn check_observation(&self, new: &NewObservation) -> Result<(), GateError> {
        check_hook(new.hook.as_deref())?;
        if new.reason.trim().is_empty() || new.reason.chars().count() > REASON_CHARACTERS_MAX {
            let problem = format!("must say why, in at most {REASON_CHARACTERS_MAX} characters");
            return Err(GateError::invalid("/reason", problem));
        }
        let left_ms = new.until_ms.saturating_sub(self.clock.now_ms());
        let (max_ms, said) = match new.hook {
            Some(_) => (OBSERVE_MS_MAX, "one hook is observed for at most 14 days"),
            None => (PAUSE_MS_MAX, "all hooks are paused for at most a day"),
        };
        match left_ms {
            0 => Err(GateError::invalid("/until_ms", "is over already")),
            left_ms if left_ms > max_ms => Err(GateError::invalid("/until_ms", said)),
            _ => Ok(()),
        }
    }

    /// The gate's word to a hook that it may allow this call.
    pub(crate) fn observed_call(
        &self,
        incoming: &Incoming<'_>,
        hook: &str,
        until_ms: u64,
    ) -> Result<ObservedCall, GateError> {
        let keyring = self.keyring();
        let key = keyring.permit_key();
        let claims = ObservedClaims {
            call_hash: ContentHash::of(&incoming.bytes).to_string(),
            until_ms,
            hook: hook.to_owned(),
            iss: key.id().to_owned(),
            jti: incoming.id.clone(),
        };
        Ok(ObservedCall { token: claims.sign(key).map_err(refused)?, until_ms })
    }
}

fn check_hook(hook: Option<&str>) -> Result<(), GateError> {
    match hook.and_then(violation) {
        Some(problem) => Err(GateError::invalid("/hook", format!("`hook` {problem}"))),
        None => Ok(()),
    }
}

impl Control {
    /// When the observation of a hook ends, if its calls are observed at this time. A halt goes before it.
    pub(crate) fn observed_until(&self, hook: &str, now_ms: u64) -> Option<u64> {
        if self.halt.is_some() {
            return None;
        }
        observed_until(&self.observing, hook, now_ms)
    }
}

pub(crate) fn observed_until(observing: &[Observation], hook: &str, now_ms: u64) -> Option<u64> {
    let counts = |it: &&Observation| it.hook.as_deref().is_none_or(|of| of == hook) && now_ms < it.until_ms;
    observing.iter().filter(counts).map(|it| it.until_ms).max()
}

/// Adds an observation, in the place of another of the same hook; those that are over go.
pub(crate) fn started(observing: &mut Vec<Observation>, new: Observation) {
    observing.retain(|it| it.hook != new.hook && new.at_ms < it.until_ms);
    observing.push(new);
}

/// Ends the observation of a hook, or the pause of all.
pub(crate) fn ended(observing: &mut Vec<Observation>, hook: Option<&str>) {
    observing.retain(|it| it.hook.as_deref() != hook);
}

impl Recorded {
    /// Writes that the decision was only recorded: the action ends with it.
    pub(crate) fn observe(&mut self, writing: &mut Writing, hook: &str) {
        self.action.state = ActionState::Observed;
        self.action.expires_at_ms = None;
        writing.event(Event::Observed {
            action_id: self.id.clone(),
            decision_document: self.ruled.decision_document.to_string(),
            hook: hook.to_owned(),
        });
    }
}
