//! The operator's switch, and the keys.

use super::caller::Caller;
use super::claim::Claim;
use super::error::GateError;
use super::ids::KeyId;
use super::keyring::{Keyring, KeyringError};
use super::open::{GATE, Gate, retired};
use super::owner::Authorized;
use super::records::{CONTROL_ID, Control, Key, list};
use super::status::key_status;
use super::transaction::{Reading, Step};
use ordain_api::limits::REASON_CHARACTERS_MAX;
use ordain_api::{Event, GateStatus, Halt, KeyStatus, OwnerAct};
use ordain_spec::statement::reason_hash;
use ordain_store::{Guard, StoreError};

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
        if reason.trim().is_empty() {
            return Err(GateError::invalid("/reason", "must say why; it goes on the ledger"));
        }
        if reason.chars().count() > REASON_CHARACTERS_MAX {
            return Err(GateError::invalid(
                "/reason",
                format!("is longer than {REASON_CHARACTERS_MAX} characters"),
            ));
        }
        let by = caller.principal.clone();
        let attempt = |_| async {
            let (known, control) = self.control(Reading::Fresh).await?;
            if control.halt.is_some() == halt {
                return Ok(Step::Done(control.status(self.clock.now_ms())));
            }
            let (by, reason) = (by.clone(), reason.to_owned());
            let authorized = if halt {
                Authorized::default()
            } else {
                let from = self.state_before(OwnerAct::Resume, &control)?;
                let claim = Claim::of(OwnerAct::Resume, reason_hash(&reason), from);
                self.authorize(caller, &control, &claim).await?
            };
            let mut guards = vec![known.guard()];
            guards.extend(authorized.guards());
            Ok(Step::write(guards, Vec::new(), move |writing| {
                authorized.write(writing)?;
                let (halt, event) = if halt {
                    let halted = Halt { by, reason: reason.clone(), at_ms: writing.at_ms };
                    (Some(halted), Event::Halted { reason })
                } else {
                    (None, Event::Resumed { reason })
                };
                let control = Control { halt, ..control };
                writing.event(event);
                writing.put(CONTROL_ID, &control)?;
                Ok(control.status(writing.at_ms))
            }))
        };
        self.transact(caller, attempt).await
    }

    /// Another key signs from now on. Permits of the old one hold as long as they say.
    pub async fn rotate_key(&self, caller: &Caller) -> Result<KeyStatus, GateError> {
        // One after the other: the file, the record and what signs must name the same key in the end.
        let mut rotating = self.shared.rotating.lock().await;
        let old = self.successor(&self.keyring()).await?;
        let old_id = KeyId::new(old.public().id());
        let (_, control) = self.control(Reading::Fresh).await?;
        let new = match &*rotating {
            Some(prepared) => prepared.clone(),
            None => old.next().map_err(no_key)?,
        };
        let claim = Claim::of(OwnerAct::RotateKey, new.public().to_string(), old_id.to_string());
        let authorized = self.authorize(caller, &control, &claim).await?;
        let known = self.key(&old_id).await?.body;
        let retires = known.is_some_and(|key| key.is_valid()).then_some(&old_id);
        *rotating = None;
        new.keep_beside().map_err(no_key)?;
        // First on record, then in its place: if this fails, the old key is still the one.
        let key = match self.register(&new, retires, caller, Some(&authorized)).await {
            Ok(key) => key,
            Err(error) => {
                // If nobody knows whether it is on record, it may be needed.
                if !matches!(error, GateError::Store(StoreError::Uncertain(_))) {
                    new.discard();
                }
                return Err(error);
            }
        };
        let id = KeyId::new(new.public().id());
        // It is on record now, and its file beside the old one: the next process that reads the key puts it
        // in its place.
        let placed = new.take_place().map_err(|error| StoreError::Uncertain(error.to_string()))?;
        self.sign_with(placed);
        Ok(key_status(id, key))
    }

    /// The key that a rotation would put in force, for its statement. It stays the same until then, in this process.
    pub(super) async fn next_key(&self) -> Result<Keyring, GateError> {
        let mut rotating = self.shared.rotating.lock().await;
        if let Some(prepared) = &*rotating {
            return Ok(prepared.clone());
        }
        let next = self.keyring().next().map_err(no_key)?;
        *rotating = Some(next.clone());
        Ok(next)
    }

    /// Reads the signing key again, which another process may have rotated.
    pub async fn reload_key(&self) -> Result<bool, GateError> {
        let _rotating = self.shared.rotating.lock().await;
        let old = self.keyring();
        let new = self.successor(&old).await?;
        if new.public() == old.public() {
            return Ok(false);
        }
        self.register(&new, None, &Caller::gate(GATE), None).await?;
        self.sign_with(new);
        Ok(true)
    }

    /// The key that signs, and a guard that it is still valid: another process may have retired the key that
    /// this one knows.
    pub(super) async fn signing(&self, reading: Reading) -> Result<(Keyring, Guard), GateError> {
        if reading == Reading::Cached
            && let Some(guard) = self.read_cached(|cached| cached.key.clone())
        {
            let keyring = self.keyring();
            if guard.id == keyring.permit_key().id() {
                return Ok((keyring, guard));
            }
        }
        for again in [true, false] {
            let keyring = self.keyring();
            let key = self.key(&KeyId::new(keyring.public().id())).await?;
            if key.body.as_ref().is_some_and(Key::is_valid) {
                let guard = key.guard();
                self.write_cached(|cached| cached.key = Some(guard.clone()));
                return Ok((keyring, guard));
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
        let key = self.key(&KeyId::new(now.public().id())).await?.body;
        if key.is_none_or(|key| key.is_valid()) {
            return Ok(now);
        }
        for key in list::<Key>(&self.store, None).await? {
            if key.body.is_some_and(|body| body.is_valid())
                && let Some(next) = now.beside(key.id.as_str()).map_err(no_key)?
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
