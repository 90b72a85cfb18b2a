//! Whether signed statements bear out an owner act: the same check for a request and for an entry of the ledger.

use ordain_api::{
    Event, NewApproverKey, NewObservation, NewProject, NewSecret, NewToken, OwnerAct, Settlement,
};
use ordain_canon::ContentHash;
use ordain_spec::Sha256;
use ordain_spec::statement::{ActStatement, ApproverKey, ApproverKeys, NONE, Signed, Statement, reason_hash};
use std::collections::BTreeSet;

/// An owner act that somebody wants done, or that an entry says was done.
#[derive(Clone, Debug)]
pub(crate) struct Claim {
    pub(crate) act: OwnerAct,
    pub(crate) subject: String,
    /// The state that it changes; none where that is not known, and not compared.
    pub(crate) from: Option<String>,
    key: KeyClaim,
}

/// The effect of an act on a key of an approver.
#[derive(Clone, Debug)]
enum KeyClaim {
    Nothing,
    Enrols(NewApproverKey),
    Revokes(String),
}

impl Claim {
    /// An act that changes no key of an approver.
    pub(crate) fn of(act: OwnerAct, subject: String, from: String) -> Self {
        Self { act, subject, from: Some(from), key: KeyClaim::Nothing }
    }

    pub(crate) fn enrols(key: &NewApproverKey, from: String) -> Self {
        let (act, subject) = (OwnerAct::EnrolApproverKey, key.subject());
        Self { act, subject, from: Some(from), key: KeyClaim::Enrols(key.clone()) }
    }

    pub(crate) fn revokes(key_id: &str, from: String) -> Self {
        let (act, subject) = (OwnerAct::RevokeApproverKey, key_id.to_owned());
        Self { act, subject, from: Some(from), key: KeyClaim::Revokes(key_id.to_owned()) }
    }

    pub(crate) fn settles(settlement: &Settlement<'_>) -> Self {
        Self::of(OwnerAct::SettleOutcome, settlement.subject(), NONE.to_owned())
    }

    /// The owner act that an entry records, if it records one.
    pub(crate) fn of_event(event: &Event) -> Option<Self> {
        let (act, subject, key) = match event {
            Event::PolicyChanged { policy_hash, .. } => {
                (OwnerAct::PushPolicy, policy_hash.clone(), KeyClaim::Nothing)
            }
            Event::Resumed { reason } => (OwnerAct::Resume, reason_hash(reason), KeyClaim::Nothing),
            // A gate puts its first key on record by itself, which the caller tells from this.
            Event::KeyRotated { public_key, .. } => {
                (OwnerAct::RotateKey, public_key.clone(), KeyClaim::Nothing)
            }
            Event::TokenCreated { token_id, principal, names, roles, secret_hash, expires_at_ms } => {
                // For a text that is not a hash, something that nobody signs.
                let secret_hash = ContentHash::parse(secret_hash).unwrap_or_else(|| ContentHash::of(b""));
                let secret_hash = Sha256::from(secret_hash);
                let token = NewToken {
                    principal: principal.clone(),
                    roles: roles.iter().copied().collect(),
                    names: names.iter().cloned().collect(),
                    expires_at_ms: *expires_at_ms,
                    secret: Some(NewSecret { token_id: token_id.clone(), secret_hash }),
                };
                (OwnerAct::CreateToken, token.subject(), KeyClaim::Nothing)
            }
            Event::TokenRevoked { token_id } => (OwnerAct::RevokeToken, token_id.clone(), KeyClaim::Nothing),
            Event::ApproverKeyEnrolled { principal, public_key, owner, passkey, .. } => {
                let passkey = passkey.as_deref().cloned();
                let (principal, public_key) = (principal.clone(), public_key.clone());
                let key = NewApproverKey { principal, public_key, owner: *owner, passkey };
                (OwnerAct::EnrolApproverKey, key.subject(), KeyClaim::Enrols(key))
            }
            Event::ApproverKeyRevoked { key_id, .. } => {
                (OwnerAct::RevokeApproverKey, key_id.clone(), KeyClaim::Revokes(key_id.clone()))
            }
            Event::Submitted { undoes: Some(_), proposal_document, .. } => {
                (OwnerAct::Undo, proposal_document.clone(), KeyClaim::Nothing)
            }
            Event::ProjectRegistered { path, worktrees_of, .. } => {
                let new = NewProject { path: path.clone(), worktrees_of: worktrees_of.clone() };
                let subject = new.subject();
                (OwnerAct::RegisterProject, subject, KeyClaim::Nothing)
            }
            Event::ProjectForgotten { project_id, .. } => {
                (OwnerAct::ForgetProject, project_id.clone(), KeyClaim::Nothing)
            }
            Event::ObservationStarted { hook, until_ms, reason } => {
                let (hook, reason, until_ms) = (hook.clone(), reason.clone(), *until_ms);
                let subject = NewObservation { hook, reason, until_ms }.subject();
                (OwnerAct::StartObservation, subject, KeyClaim::Nothing)
            }
            Event::ServerPinned { pins_document, .. } => {
                (OwnerAct::PinServer, pins_document.clone(), KeyClaim::Nothing)
            }
            _ => return None,
        };
        Some(Self { act, subject, from: None, key })
    }

    #[must_use]
    pub(crate) fn changing(self, from: String) -> Self {
        Self { from: Some(from), ..self }
    }

    /// Whether these statements bear it out, by the keys in force: now, or where an entry stands. Gives the statements.
    pub(crate) fn check(
        &self,
        origin: &str,
        keys: &ApproverKeys,
        place: Option<u64>,
        signed: &[Signed],
    ) -> Result<Vec<ActStatement>, String> {
        let in_force = |key: &&ApproverKey| match place {
            Some(index) => key.was_in_force_at(index),
            None => key.is_in_force(),
        };
        if !keys.keys.iter().filter(in_force).any(|key| key.owner) {
            if self.act == OwnerAct::StartObservation {
                let problem = "nobody owns this gate, so every process could have calls observed";
                return Err(problem.to_owned());
            }
            return self.check_open(origin, signed);
        }
        let mut statements = Vec::new();
        let mut signers: Vec<&ApproverKey> = Vec::new();
        for signed in signed {
            let verified = match place {
                Some(index) => keys.verify_at(index, signed),
                None => keys.verify(signed),
            };
            let (statement, key) = verified.map_err(|error| error.to_string())?;
            statements.push(self.statement(origin, statement)?);
            signers.push(key);
        }
        let act = self.act.name();
        if signers.is_empty() {
            return Err(format!("`{act}` needs a statement signed by an owner's key"));
        }
        let principal_of = |key_id: &str| keys.get(key_id).map(|key| key.principal.as_str());
        let owners: BTreeSet<&str> =
            signers.iter().filter(|key| key.owner).map(|key| key.principal.as_str()).collect();
        let suffices = match &self.key {
            KeyClaim::Nothing => !owners.is_empty(),
            KeyClaim::Enrols(new) => {
                let has_one = keys.keys.iter().filter(in_force).any(|key| key.principal == new.principal);
                let own =
                    signers.iter().any(|key| key.principal == new.principal && (key.owner || !new.owner));
                if has_one { own || owners.len() >= 2 } else { !owners.is_empty() }
            }
            KeyClaim::Revokes(key_id) => {
                let own = signers.iter().any(|key| Some(key.principal.as_str()) == principal_of(key_id));
                own || !owners.is_empty()
            }
        };
        if suffices {
            return Ok(statements);
        }
        Err(match &self.key {
            KeyClaim::Enrols(new) if !owners.is_empty() => format!(
                "a further key of `{}` is signed by a key of theirs, or by the keys of two owners",
                new.principal
            ),
            _ => format!("`{act}` needs a statement signed by an owner's key"),
        })
    }

    /// An open gate takes every act. Its first key is an owner's, and signs for itself.
    fn check_open(&self, origin: &str, signed: &[Signed]) -> Result<Vec<ActStatement>, String> {
        let KeyClaim::Enrols(new) = &self.key else { return Ok(Vec::new()) };
        if !new.owner {
            return Err("the first key of a gate is an owner's".to_owned());
        }
        let [own] = signed else {
            return Err("the first key of a gate signs its own enrolment, once".to_owned());
        };
        if new.passkey.is_some() {
            return Err("the first key of a gate is made on a terminal".to_owned());
        }
        let statement = own.verify(&new.public_key, None).map_err(|error| error.to_string())?;
        if statement.principal() != new.principal {
            return Err(format!("the statement is by `{}`", statement.principal()));
        }
        Ok(vec![self.statement(origin, statement)?])
    }

    fn statement(&self, origin: &str, statement: Statement) -> Result<ActStatement, String> {
        let Statement::Act(statement) = statement else {
            return Err("the statement is about an approval".to_owned());
        };
        let from = self.from.as_deref().unwrap_or(&statement.from);
        let fields = [
            ("origin", statement.origin.as_str(), origin),
            ("act", &statement.act, self.act.name()),
            ("subject", &statement.subject, &self.subject),
            ("from", &statement.from, from),
        ];
        if let Some((field, signed, is)) = fields.into_iter().find(|(_, signed, is)| signed != is) {
            return Err(format!("the statement has `{signed}` as `{field}`, and it is `{is}`"));
        }
        Ok(statement)
    }
}
