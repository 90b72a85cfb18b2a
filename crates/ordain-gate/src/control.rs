//! The operator's switch, and the keys.

use super::caller::Caller;
use super::error::GateError;
use super::keyring::{Keyring, KeyringError};
use super::limits::TRIES_MAX;
use super::open::{Gate, Step, busy, came_to};
use super::records::{CONTROL_ID, Control, Held, Key, put};
use ordain_api::limits::REASON_CHARACTERS_MAX;
use ordain_api::{Entry, Event, GateStatus, Halt, KeyStatus, Role};
use ordain_store::StoreError;

impl Gate {
    /// Halts the gate: from now on nothing is allowed and no permit can be spent. Again it changes nothing.
    pub async fn halt(&self, caller: &Caller, reason: &str) -> Result<GateStatus, GateError> {
        self.switch(caller, reason, true).await
    }

    /// Lifts a halt. Again it changes nothing.
    pub async fn resume(&self, caller: &Caller, reason: &str) -> Result<GateStatus, GateError> {
        self.switch(caller, reason, false).await
    }

    async fn switch(&self, caller: &Caller, reason: &str, halt: bool) -> Result<GateStatus, GateError> {
        caller.must_be(&[Role::Operator])?;
        if reason.trim().is_empty() {
            return Err(GateError::invalid("/reason", "must say why; it goes on the ledger"));
        }
        if reason.chars().count() > REASON_CHARACTERS_MAX {
            return Err(GateError::invalid(
                "/reason",
                format!("is longer than {REASON_CHARACTERS_MAX} characters"),
            ));
        }
        for _ in 0..TRIES_MAX {
            let (held, control) = self.control().await?;
            if control.halt.is_some() == halt {
                return self.gate_status().await;
            }
            let at_ms = self.clock.now_ms();
            let by = caller.principal.clone();
            let (halt, event) = match halt {
                true => {
                    let halt = Halt { by: by.clone(), reason: reason.to_owned(), at_ms };
                    (Some(halt), Event::Halted { reason: reason.to_owned() })
                }
                false => (None, Event::Resumed { reason: reason.to_owned() }),
            };
            let body = Control { halt, ..control };
            let entries = vec![Entry::of(at_ms, &by, event)];
            let step = Step { records: vec![put(CONTROL_ID, &body)], entries, ..Step::default() };
            match self.commit(vec![held.guard()], move |_| Ok(step)).await {
                Err(GateError::Store(StoreError::Conflict { .. })) => {}
                Err(error) => return Err(error),
                Ok(_) => return came_to(|| self.gate_status()).await,
            }
        }
        Err(busy())
    }

    /// Another key signs from now on. Permits of the old one hold as long as they say.
    pub async fn rotate_key(&self, caller: &Caller) -> Result<KeyStatus, GateError> {
        caller.must_be(&[Role::Operator])?;
        // One after the other: the file, the record and what signs must name the same key in the end.
        let _rotating = self.shared.rotating.lock().await;
        let old = self.successor(&self.keyring()).await?;
        let old_id = old.public().id();
        let known = Held::<Key>::read(&self.store, &old_id).await?.body;
        let retires = known.is_some_and(|key| key.is_valid()).then_some(old_id.as_str());
        let new = old.next().map_err(no_key)?;
        // First on record, then in its place: if this fails, the old key is still the one.
        if let Err(error) = self.register(&new, retires, &caller.principal).await {
            // If nobody knows whether it is on record, it may be needed.
            if !matches!(error, GateError::Store(StoreError::Uncertain(_))) {
                new.discard();
            }
            return Err(error);
        }
        let id = new.public().id();
        // It is on record now, and its file beside the old one: whoever reads the key next puts it in its place.
        let placed = new.take_place().map_err(|error| StoreError::Uncertain(error.to_string()))?;
        self.sign_with(placed);
        let key = came_to(|| self.keys()).await?.into_iter().find(|key| key.key_id == id);
        key.ok_or_else(|| GateError::Damaged("the new key is not on record".to_owned()))
    }

    /// Reads the signing key again, which another process may have rotated.
    pub async fn reload_key(&self) -> Result<bool, GateError> {
        let _rotating = self.shared.rotating.lock().await;
        let old = self.keyring();
        let new = self.successor(&old).await?;
        if new.public() == old.public() {
            return Ok(false);
        }
        self.register(&new, None, "ordain").await?;
        self.sign_with(new);
        Ok(true)
    }

    /// The key that signs, and its record: whoever signs something that is written guards it. Another process may have
    /// retired the key that this one knows.
    pub(super) async fn signing(&self) -> Result<(Keyring, Held<Key>), GateError> {
        for again in [true, false] {
            let keyring = self.keyring();
            let key = Held::<Key>::read(&self.store, &keyring.public().id()).await?;
            if key.body.as_ref().is_some_and(Key::is_valid) {
                return Ok((keyring, key));
            }
            if again {
                self.reload_key().await?;
            }
        }
        Err(retired(&self.keyring().public().id()))
    }

    /// The key in the place of one that this process knows. A rotation that was broken off is ended here: its key is on
    /// record, and still beside the old one.
    pub(super) async fn successor(&self, known: &Keyring) -> Result<Keyring, GateError> {
        let now = known.reread().map_err(no_key)?;
        let key = Held::<Key>::read(&self.store, &now.public().id()).await?.body;
        if key.is_none_or(|key| key.is_valid()) {
            return Ok(now);
        }
        for key in self.list::<Key>(None).await? {
            if key.body.is_some_and(|body| body.is_valid())
                && let Some(next) = now.beside(&key.id).map_err(no_key)?
            {
                return next.take_place().map_err(no_key);
            }
        }
        Ok(now)
    }
}

fn no_key(error: KeyringError) -> GateError {
    GateError::Unavailable(error.to_string())
}

pub(super) fn retired(key_id: &str) -> GateError {
    GateError::Conflict(format!(
        "the key {key_id} was retired, and this node has no other; move its file away, and start again to make one"
    ))
}
