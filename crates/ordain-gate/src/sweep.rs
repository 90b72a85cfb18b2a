//! What time does: held proposals expire, and uses that nobody reported become unknown.

use super::error::GateError;
use super::open::{Gate, Step};
use super::outcome::UseSettled;
use super::records::{Action, Held, Pages, Permit, put};
use ordain_api::{ActionState, Entry, Event, Settled, UseOutcome};
use ordain_store::StoreError;

/// In whose name it happens.
const TIME: &str = "ordain";

/// What time has done.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Swept {
    /// How many records changed.
    pub changed: usize,
    /// What is wrong with those that could not be looked at; the others do not wait for them.
    pub problems: Vec<String>,
}

impl Gate {
    /// Puts on record what time has done. Whoever comes first does it.
    pub async fn sweep(&self) -> Result<Swept, GateError> {
        let mut swept = Swept::default();
        let mut pages = Pages::<Action>::new(Some(ActionState::Held.name()));
        while let Some(page) = pages.next(&self.store).await? {
            for held in page {
                let done = match held {
                    Ok(held) => self.expire(&held).await,
                    Err(error) => Err(error),
                };
                swept.note(done)?;
            }
        }
        let mut pages = Pages::<Permit>::new(Some("running"));
        while let Some(page) = pages.next(&self.store).await? {
            for held in page {
                let done = match held {
                    Ok(held) => self.give_up(&held).await,
                    Err(error) => Err(error),
                };
                swept.note(done)?;
            }
        }
        Ok(swept)
    }

    async fn expire(&self, held: &Held<Action>) -> Result<bool, GateError> {
        let now_ms = self.clock.now_ms();
        let Some(mut action) = held.body.clone() else { return Ok(false) };
        if action.shown_state(now_ms) != ActionState::Expired {
            return Ok(false);
        }
        action.state = ActionState::Expired;
        let event = Event::Expired { action_id: held.id.clone() };
        let entries = vec![Entry::of(now_ms, TIME, event)];
        let step = Step { records: vec![put(&held.id, &action)], entries, ..Step::default() };
        self.commit(vec![held.guard()], move |_| Ok(step)).await?;
        self.tell(&held.id);
        Ok(true)
    }

    async fn give_up(&self, held: &Held<Permit>) -> Result<bool, GateError> {
        let now_ms = self.clock.now_ms();
        let Some(mut permit) = held.body.clone() else { return Ok(false) };
        let silent = |it: &&mut ordain_api::Use| it.settled.is_none() && it.is_unknown(now_ms);
        let Some(used) = permit.uses.iter_mut().find(silent) else { return Ok(false) };
        let settled = Settled {
            outcome: UseOutcome::Unknown,
            reason: "no outcome was reported in time".to_owned(),
            affected_records: None,
            duration_ms: None,
            by: TIME.to_owned(),
            at_ms: now_ms,
        };
        let number = used.number;
        used.settled = Some(settled.clone());
        let use_settled = UseSettled { by: TIME, number, settled: &settled, change: None };
        self.write_settled(&held.id, held, &permit, use_settled).await?;
        self.tell(&permit.action_id);
        Ok(true)
    }
}

impl Swept {
    /// What one record came to. A store that cannot be reached ends it all.
    fn note(&mut self, done: Result<bool, GateError>) -> Result<(), GateError> {
        match done {
            Ok(changed) => self.changed += usize::from(changed),
            // That another node did it first is as good.
            Err(GateError::Store(StoreError::Conflict { .. })) => {}
            Err(error @ (GateError::Store(_) | GateError::Unavailable(_))) => return Err(error),
            Err(error) => self.problems.push(error.to_string()),
        }
        Ok(())
    }
}
