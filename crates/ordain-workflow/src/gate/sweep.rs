//! What time does: held proposals expire, and uses that nobody reported become unknown.

use super::entry::{Entry, Event};
use super::error::GateError;
use super::open::{Gate, Step};
use super::outcome::UseSettled;
use super::records::{Action, Held, Permit, Settled, State, UseOutcome, put};
use ordain_store::StoreError;

/// In whose name it happens.
const TIME: &str = "ordain";

impl Gate {
    /// Puts on record what time has done. Whoever comes first does it; returns how many records changed.
    pub async fn sweep(&self) -> Result<usize, GateError> {
        let mut changed = 0;
        for held in self.list::<Action>(Some(State::Held.name())).await? {
            changed += usize::from(lost_race(self.expire(&held).await)?);
        }
        for held in self.list::<Permit>(Some("running")).await? {
            changed += usize::from(lost_race(self.give_up(&held).await)?);
        }
        Ok(changed)
    }

    async fn expire(&self, held: &Held<Action>) -> Result<bool, GateError> {
        let now_ms = self.clock.now_ms();
        let Some(mut action) = held.body.clone() else { return Ok(false) };
        if action.shown_state(now_ms) != State::Expired {
            return Ok(false);
        }
        action.state = State::Expired;
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
        let silent = |it: &&mut super::records::Use| it.settled.is_none() && it.is_unknown(now_ms);
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

/// That another node did it first is as good.
fn lost_race(done: Result<bool, GateError>) -> Result<bool, GateError> {
    match done {
        Err(GateError::Store(StoreError::Conflict { .. })) => Ok(false),
        done => done,
    }
}
