//! The owner of the gate: keys of approvers, and the acts that one of them signs.
//!
//! A gate believes no row of its store that the ledger does not bear out (`in_force.rs`); a gate with an
//! owner takes only entries that an owner's key signed.

use super::caller::Caller;
use super::claim::Claim;
use super::conflict::Conflict;
use super::error::GateError;
use super::limits::{ACT_TERMS_MS, APPROVER_KEYS_MAX};
use super::nonce::NonceOf;
use super::open::Gate;
use super::records::{CONTROL_ID, Control, CountedSession, CountedStatement, KeysInForce, Versioned};
use super::transaction::{Reading, Step, Writing, document};
use ordain_api::{ActTerms, ApproverKeyList, Entry, Event, NewApproverKey, OwnerAct, Role};
use ordain_canon::ContentHash;
use ordain_spec::name::violation;
use ordain_spec::statement::{
    ApproverKey, ApproverKeys, NONE, Passkey, SignatureError, Signed, Statement, key_id,
};
use ordain_store::Guard;

/// An owner act that may go ahead, with the statements that count for it.
#[derive(Clone, Default)]
pub(crate) struct Authorized {
    signed: Vec<Signed>,
}

impl Authorized {
    /// A verdict that was checked already.
    pub(crate) fn by(signed: Option<Signed>) -> Self {
        Self { signed: signed.into_iter().collect() }
    }

    /// Whether somebody signed it: the gate has an owner.
    pub(crate) fn is_signed(&self) -> bool {
        !self.signed.is_empty()
    }

    /// No statement counts twice, and no signature of a session.
    pub(crate) fn guards(&self) -> Vec<Guard> {
        let guards = |signed: &Signed| {
            let statement = signed.statement_hash().to_string();
            let session = session_id(signed).map(|id| Versioned::<CountedSession>::absent(&id).guard());
            [Versioned::<CountedStatement>::absent(&statement).guard()].into_iter().chain(session)
        };
        self.signed.iter().flat_map(guards).collect()
    }

    /// Puts the statements on the step's first entry. Comes before it.
    pub(crate) fn write(self, writing: &mut Writing) -> Result<(), GateError> {
        if self.signed.is_empty() { Ok(()) } else { writing.sign(self.signed) }
    }
}

impl Gate {
    /// Whether somebody owns the gate.
    pub async fn is_owned(&self) -> Result<bool, GateError> {
        let (_, control) = self.control(Reading::Fresh).await?;
        Ok(control.keys.is_some())
    }

    /// The keys of approvers.
    pub async fn approver_key_list(&self) -> Result<ApproverKeyList, GateError> {
        let (_, control) = self.control(Reading::Fresh).await?;
        let keys = self.approver_keys(&control)?;
        Ok(ApproverKeyList { owned: keys.has_owner(), keys: keys.keys.clone() })
    }

    /// The terms on which an owner act is signed.
    pub async fn act_terms(&self, act: &str) -> Result<ActTerms, GateError> {
        let Some(act) = OwnerAct::parse(act) else {
            return Err(GateError::Unknown(format!("no owner act `{act}`")));
        };
        let (_, control) = self.control(Reading::Fresh).await?;
        let from = self.state_before(act, &control)?;
        let at_ms = self.clock.now_ms();
        let not_after_ms = at_ms + ACT_TERMS_MS;
        let nonce = control.nonce(NonceOf::Act { act: act.name(), from: &from }, not_after_ms)?;
        let owned = control.keys.is_some();
        let subject = match act {
            OwnerAct::RotateKey => Some(self.next_key().await?.public().to_string()),
            _ => None,
        };
        Ok(ActTerms { origin: control.origin, act, from, subject, owned, at_ms, not_after_ms, nonce })
    }

    /// The state that an act changes, as its statement names it.
    pub(super) fn state_before(&self, act: OwnerAct, control: &Control) -> Result<String, GateError> {
        let none = || NONE.to_owned();
        Ok(match act {
            OwnerAct::PushPolicy => {
                control.policy.as_ref().map_or_else(none, |policy| policy.hash.to_string())
            }
            OwnerAct::Resume => match &control.halt {
                Some(halt) => document(halt)?.0.to_string(),
                None => none(),
            },
            OwnerAct::PinServer => self.ledger_state(|state| state.last_pins()).unwrap_or_else(none),
            OwnerAct::RotateKey => self.keyring().public().id(),
            OwnerAct::CreateToken
            | OwnerAct::RevokeToken
            | OwnerAct::Undo
            | OwnerAct::RegisterProject
            | OwnerAct::ForgetProject
            | OwnerAct::StartObservation
            | OwnerAct::SettleOutcome => none(),
            OwnerAct::EnrolApproverKey | OwnerAct::RevokeApproverKey => {
                control.keys.map_or_else(none, |keys| keys.document.to_string())
            }
        })
    }

    /// Lets an owner act go ahead: on an open gate, or with statements that bear it out and have not counted before.
    pub(super) async fn authorize(
        &self,
        caller: &Caller,
        control: &Control,
        claim: &Claim,
    ) -> Result<Authorized, GateError> {
        let keys = self.approver_keys(control)?;
        let statements =
            claim.check(&control.origin, &keys, None, &caller.signed).map_err(GateError::Presence)?;
        if statements.first().is_some_and(|statement| statement.principal != caller.principal) {
            let problem = format!("the statement is not by `{}`, who asks", caller.principal);
            return Err(GateError::Presence(problem));
        }
        let now_ms = self.clock.now_ms();
        for statement in &statements {
            let of = NonceOf::Act { act: &statement.act, from: &statement.from };
            let window_ms = (statement.at_ms, statement.not_after_ms);
            control.check_fresh(of, &statement.nonce, window_ms, now_ms)?;
        }
        let signed = if statements.is_empty() { Vec::new() } else { caller.signed.clone() };
        for signed in &signed {
            // The ledger knows it too: a record that somebody removed does not make a statement count twice.
            let hash = signed.statement_hash();
            if let Some(index) = self.ledger_state(|state| state.has_counted(&hash)) {
                return Err(Conflict::StatementCounted { index }.into());
            }
            self.check_not_counted(signed).await?;
        }
        Ok(Authorized { signed })
    }

    /// That a statement has not counted before.
    pub(super) async fn check_not_counted(&self, signed: &Signed) -> Result<(), GateError> {
        let hash = signed.statement_hash().to_string();
        if let Some(CountedStatement { index }) =
            Versioned::<CountedStatement>::read(&self.store, &hash).await?.body
        {
            return Err(Conflict::StatementCounted { index }.into());
        }
        let Some(id) = session_id(signed) else { return Ok(()) };
        match Versioned::<CountedSession>::read(&self.store, &id).await?.body {
            Some(CountedSession { index }) => Err(Conflict::SessionCounted { index }.into()),
            None => Ok(()),
        }
    }

    /// Enrols a key of an approver. The first is an owner's, and closes an open gate.
    pub async fn enrol_approver_key(
        &self,
        caller: &Caller,
        new: &NewApproverKey,
    ) -> Result<ApproverKey, GateError> {
        if let Some(problem) = violation(&new.principal) {
            return Err(GateError::invalid("/principal", format!("`principal` {problem}")));
        }
        if let Some(problem) = new.passkey.as_ref().and_then(Passkey::violation) {
            return Err(GateError::invalid("/passkey", format!("the passkey {problem}")));
        }
        let key_id = id_of(&new.public_key, new.passkey.as_ref())
            .map_err(|error| GateError::invalid("/public_key", error.to_string()))?;
        let attempt = |_| {
            let key_id = key_id.clone();
            async move {
                let (known, control) = self.control(Reading::Fresh).await?;
                let keys = self.approver_keys(&control)?;
                if keys.get(&key_id).is_some() {
                    return Err(Conflict::KeyEnrolled { key_id }.into());
                }
                if keys.keys.len() >= APPROVER_KEYS_MAX {
                    return Err(Conflict::TooManyKeys { max: APPROVER_KEYS_MAX }.into());
                }
                if !keys.has_owner() && !caller.is(Role::Operator) {
                    let problem = "the first key of a gate is enrolled by its operator".to_owned();
                    return Err(GateError::Forbidden(problem));
                }
                let from = self.state_before(OwnerAct::EnrolApproverKey, &control)?;
                let authorized = self.authorize(caller, &control, &Claim::enrols(new, from)).await?;
                let mut guards = vec![known.guard()];
                guards.extend(authorized.guards());
                let (new, mut keys) = (new.clone(), ApproverKeys::clone(&keys));
                Ok(Step::write(guards, Vec::new(), move |writing| {
                    authorized.write(writing)?;
                    let key = ApproverKey {
                        key_id: key_id.clone(),
                        principal: new.principal.clone(),
                        public_key: new.public_key.clone(),
                        passkey: new.passkey.clone(),
                        owner: new.owner,
                        enrolled_index: writing.next_index(),
                        revoked_index: None,
                    };
                    keys.keys.push(key.clone());
                    write_keys(writing, control, &keys, |keys_document| Event::ApproverKeyEnrolled {
                        key_id,
                        principal: new.principal,
                        public_key: new.public_key,
                        owner: new.owner,
                        passkey: new.passkey.map(Box::new),
                        keys_document,
                    })?;
                    Ok(key)
                }))
            }
        };
        self.transact(caller, attempt).await
    }

    /// Revokes a key of an approver, at once and on every node. Again it changes nothing.
    pub async fn revoke_approver_key(&self, caller: &Caller, key_id: &str) -> Result<ApproverKey, GateError> {
        let attempt = |_| async {
            let (known, control) = self.control(Reading::Fresh).await?;
            let keys = self.approver_keys(&control)?;
            let Some(key) = keys.get(key_id) else {
                return Err(GateError::Unknown(format!("no key `{key_id}`")));
            };
            if !key.is_in_force() {
                return Ok(Step::Done(key.clone()));
            }
            let others = keys.in_force().filter(|other| other.key_id != key_id);
            if others.filter(|other| other.owner).count() == 0 {
                return Err(Conflict::LastOwnerKey { key_id: key_id.to_owned() }.into());
            }
            let from = self.state_before(OwnerAct::RevokeApproverKey, &control)?;
            let authorized = self.authorize(caller, &control, &Claim::revokes(key_id, from)).await?;
            let mut guards = vec![known.guard()];
            guards.extend(authorized.guards());
            let (key_id, mut keys) = (key_id.to_owned(), ApproverKeys::clone(&keys));
            Ok(Step::write(guards, Vec::new(), move |writing| {
                authorized.write(writing)?;
                let index = writing.next_index();
                let mut revoked = None;
                for key in keys.keys.iter_mut().filter(|key| key.key_id == key_id) {
                    key.revoked_index = Some(index);
                    revoked = Some(key.clone());
                }
                write_keys(writing, control, &keys, |keys_document| Event::ApproverKeyRevoked {
                    key_id: key_id.clone(),
                    keys_document,
                })?;
                revoked.ok_or_else(|| GateError::Unknown(format!("no key `{key_id}`")))
            }))
        };
        self.transact(caller, attempt).await
    }
}

/// By which a signature of a key that stays unlocked counts once: the key, its session and the number in it.
pub(crate) fn session_id(signed: &Signed) -> Option<String> {
    match Statement::parse(&signed.statement) {
        Ok(Statement::Approval(statement)) => {
            statement.session.map(|session| format!("{} {session}", signed.key_id))
        }
        _ => None,
    }
}

/// Adds an entry about a key of an approver to the keys before it, if those bear it out.
pub(crate) fn check_key_entry(
    origin: &str,
    keys: &mut ApproverKeys,
    index: u64,
    entry: &Entry,
) -> Result<(), String> {
    let from = if keys.keys.is_empty() { NONE.to_owned() } else { hash_of(keys)?.to_string() };
    let claim = Claim::of_event(&entry.event).ok_or("it is about no key")?.changing(from);
    claim.check(origin, keys, Some(index), &entry.signed)?;
    let keys_document = match &entry.event {
        Event::ApproverKeyEnrolled { key_id: id, principal, public_key, owner, passkey, keys_document } => {
            if let Some(problem) = passkey.as_deref().and_then(Passkey::violation) {
                return Err(format!("the passkey {problem}"));
            }
            if id_of(public_key, passkey.as_deref()).map_err(|error| error.to_string())? != *id
                || keys.get(id).is_some()
            {
                return Err("the id is not the key's own".to_owned());
            }
            keys.keys.push(ApproverKey {
                key_id: id.clone(),
                principal: principal.clone(),
                public_key: public_key.clone(),
                passkey: passkey.as_deref().cloned(),
                owner: *owner,
                enrolled_index: index,
                revoked_index: None,
            });
            keys_document
        }
        Event::ApproverKeyRevoked { key_id, keys_document } => {
            let is_other_owner = |key: &ApproverKey| key.owner && key.key_id != *key_id;
            if !keys.in_force().any(is_other_owner) {
                return Err("it revokes the last key of an owner".to_owned());
            }
            let key = keys.keys.iter_mut().find(|key| key.key_id == *key_id && key.is_in_force());
            key.ok_or("it revokes a key that was not in force")?.revoked_index = Some(index);
            keys_document
        }
        _ => return Err("it is about no key".to_owned()),
    };
    if hash_of(keys)?.is(keys_document) { Ok(()) } else { Err("it names other keys".to_owned()) }
}

/// The id of a key of a terminal, or of a passkey.
fn id_of(public_key: &str, passkey: Option<&Passkey>) -> Result<String, SignatureError> {
    passkey.map_or_else(|| key_id(public_key), |passkey| passkey.key_id(public_key))
}

fn hash_of(keys: &ApproverKeys) -> Result<ContentHash, String> {
    document(keys).map(|(hash, _)| hash).map_err(|error| error.to_string())
}

fn write_keys(
    writing: &mut Writing,
    control: Control,
    keys: &ApproverKeys,
    event: impl FnOnce(String) -> Event,
) -> Result<(), GateError> {
    let (keys_document, bytes) = document(keys)?;
    let index = writing.event(event(keys_document.to_string()));
    writing.share(bytes);
    let in_force = KeysInForce { document: keys_document, index };
    writing.put(CONTROL_ID, &Control { keys: Some(in_force), ..control })
}
