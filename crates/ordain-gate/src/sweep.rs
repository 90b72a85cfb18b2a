//! Time: held proposals expire, and uses without a report become unknown.

use super::caller::Caller;
use super::error::GateError;
use super::open::Gate;
use super::records::{Action, Pages, Versioned};
use super::transaction::Step;
use ordain_api::{ActionState, Event, Settled, UseOutcome};

/// In whose name it happens.
const TIME: &str = "ordain";

/// The work of a sweep.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Swept {
    /// How many records changed.
    pub changed: usize,
    /// Problems with records that could not be looked at; the others do not wait for them.
    pub problems: Vec<String>,
}

impl Gate {
    /// Puts on record what time has done, and extends the index of names. The first node that comes does it.
    pub async fn sweep(&self) -> Result<Swept, GateError> {
        let mut swept = Swept::default();
        // An action can have a use that is unknown and one that is still open.
        for state in [ActionState::Held, ActionState::Running, ActionState::Unknown] {
            let mut pages = Pages::<Action>::new(Some(state.name()));
            while let Some(page) = pages.next(&self.store).await? {
                for record in page {
                    let done = match record {
                        Ok(record) => self.sweep_action(&record).await,
                        Err(error) => Err(error),
                    };
                    swept.note(done)?;
                }
            }
        }
        self.extend_index().await?;
        Ok(swept)
    }

    async fn sweep_action(&self, record: &Versioned<Action>) -> Result<bool, GateError> {
        let is_due = record.body.as_ref().is_some_and(|action| due(action, self.clock.now_ms()).is_some());
        if !is_due {
            return Ok(false);
        }
        let changed = self.transact(&Caller::gate(TIME), |_| self.sweep_attempt(&record.id)).await?;
        self.notify(&record.id);
        Ok(changed)
    }

    async fn sweep_attempt(&self, action_id: &str) -> Result<Step<bool>, GateError> {
        let (known, mut action) = self.action(action_id).await?;
        let now_ms = self.clock.now_ms();
        let id = action_id.to_owned();
        match due(&action, now_ms) {
            // Another node did it first.
            None => Ok(Step::Done(false)),
            Some(Due::Expires) => {
                action.state = ActionState::Expired;
                Ok(Step::write(vec![known.guard()], Vec::new(), move |writing| {
                    writing.event(Event::Expired { action_id: id.clone() });
                    writing.put(id.as_str(), &action)?;
                    Ok(true)
                }))
            }
            Some(Due::Unknown(number)) => {
                let settled = Settled {
                    outcome: UseOutcome::Unknown,
                    reason: "no outcome was reported in time".to_owned(),
                    affected_records: None,
                    duration_ms: None,
                    by: TIME.to_owned(),
                    at_ms: now_ms,
                };
                let settling = self.settling(action_id, known, action, number, settled, None).await?;
                let (step, guards, documents) = settling;
                Ok(Step::write(guards, documents, move |writing| step(writing).map(|_| true)))
            }
        }
    }
}

/// The effect of time on an action.
enum Due {
    Expires,
    /// The outcome of this use.
    Unknown(u64),
}

fn due(action: &Action, now_ms: u64) -> Option<Due> {
    if action.state == ActionState::Held && action.state_at(now_ms) == ActionState::Expired {
        return Some(Due::Expires);
    }
    let uses = action.permit.iter().flat_map(|permit| &permit.uses);
    let mut silent = uses.filter(|used| used.settled.is_none() && used.is_unknown(now_ms));
    silent.next().map(|used| Due::Unknown(used.number))
}

impl Swept {
    /// Notes the result of one record. A store that cannot be reached ends it all.
    fn note(&mut self, done: Result<bool, GateError>) -> Result<(), GateError> {
        match done {
            Ok(changed) => self.changed += usize::from(changed),
            Err(error @ (GateError::Store(_) | GateError::Unavailable(_))) => return Err(error),
            Err(error) => self.problems.push(error.to_string()),
        }
        Ok(())
    }
}
