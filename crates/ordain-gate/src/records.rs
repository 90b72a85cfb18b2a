//! What the gate keeps beside the ledger so that it need not read it again: the present state of everything.

use super::error::GateError;
use ordain_api::limits::PAGE_MAX;
use ordain_api::{ActionState, Halt, Role, Use};
use ordain_store::{Guard, NewRecord, Query, Record, Store};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;

/// A record's kind, and the type of its body.
pub(super) trait Kept: Serialize + DeserializeOwned {
    const KIND: &'static str;
    /// What lists are filtered by.
    fn state(&self) -> &'static str;
}

/// The gate itself. There is one, and every decision depends on its version.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Control {
    /// The ledger's name.
    pub(super) origin: String,
    /// What redacted values are hashed with.
    pub(super) salt: String,
    pub(super) halt: Option<Halt>,
    pub(super) policy: Option<PolicyInForce>,
}

pub(super) const CONTROL_ID: &str = "gate";

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct PolicyInForce {
    pub(super) hash: String,
    pub(super) files_document: String,
}

impl Kept for Control {
    const KIND: &'static str = "control";
    fn state(&self) -> &'static str {
        if self.halt.is_some() { "halted" } else { "open" }
    }
}

/// An action proposal and what became of it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Action {
    pub(super) state: ActionState,
    pub(super) actor: String,
    pub(super) submitted_by: String,
    pub(super) submitted_at_ms: u64,
    pub(super) proposal_document: String,
    /// What approvals are bound to; nothing for what could not be read as a proposal.
    pub(super) proposal_hash: Option<String>,
    pub(super) decision_document: String,
    pub(super) evidence_documents: Vec<String>,
    pub(super) approval_documents: Vec<String>,
    pub(super) permit_id: Option<String>,
    pub(super) expires_at_ms: Option<u64>,
    pub(super) supersedes: Option<String>,
    pub(super) superseded_by: Option<String>,
    pub(super) submitted_index: u64,
    pub(super) decided_index: u64,
}

impl Kept for Action {
    const KIND: &'static str = "action";
    fn state(&self) -> &'static str {
        self.state.name()
    }
}

/// A permit and its uses.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Permit {
    pub(super) action_id: String,
    pub(super) token: String,
    pub(super) effect: String,
    pub(super) valid_from_ms: u64,
    pub(super) valid_until_ms: u64,
    pub(super) max_executions: u64,
    pub(super) max_duration_ms: Option<u64>,
    pub(super) max_affected_records: Option<u64>,
    /// How often it was used.
    pub(super) used: u64,
    /// The uses that are open or unknown, and the last of the others.
    pub(super) uses: Vec<Use>,
}

impl Kept for Permit {
    const KIND: &'static str = "permit";
    fn state(&self) -> &'static str {
        if self.uses.iter().any(|it| it.settled.is_none()) { "running" } else { "idle" }
    }
}

/// Uses of any permit for the same action on the same target with the same parameters whose outcome is open.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(super) struct Effect {
    /// Permit ids and the numbers of their uses.
    pub(super) open: Vec<(String, u64)>,
}

impl Kept for Effect {
    const KIND: &'static str = "effect";
    fn state(&self) -> &'static str {
        if self.open.is_empty() { "clear" } else { "open" }
    }
}

/// An evidence packet, by its id.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Evidence {
    pub(super) packet_document: String,
    pub(super) sensor_id: String,
    pub(super) received_index: u64,
}

impl Kept for Evidence {
    const KIND: &'static str = "evidence";
    fn state(&self) -> &'static str {
        "received"
    }
}

/// A token, without its secret.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Token {
    pub(super) principal: String,
    pub(super) names: Vec<String>,
    pub(super) roles: Vec<Role>,
    pub(super) secret_hash: String,
    pub(super) created_at_ms: u64,
    pub(super) expires_at_ms: Option<u64>,
    pub(super) revoked_at_ms: Option<u64>,
}

impl Kept for Token {
    const KIND: &'static str = "token";
    fn state(&self) -> &'static str {
        if self.revoked_at_ms.is_some() { "revoked" } else { "valid" }
    }
}

/// A public key that permits and checkpoints are signed with.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(super) struct Key {
    pub(super) public_key: String,
    pub(super) created_at_ms: u64,
    pub(super) retired_at_ms: Option<u64>,
}

impl Key {
    /// Whether it may still sign.
    pub(super) fn is_valid(&self) -> bool {
        self.retired_at_ms.is_none()
    }
}

impl Kept for Key {
    const KIND: &'static str = "key";
    fn state(&self) -> &'static str {
        if self.is_valid() { "valid" } else { "retired" }
    }
}

/// A record as it was read, or that there is none.
#[derive(Clone, Debug)]
pub(super) struct Held<T> {
    pub(super) id: String,
    pub(super) version: u64,
    pub(super) body: Option<T>,
}

impl<T: Kept> Held<T> {
    pub(super) async fn read(store: &Store, id: &str) -> Result<Self, GateError> {
        match store.record(T::KIND, id).await? {
            Some(record) => Self::of(record),
            None => Ok(Self { id: id.to_owned(), version: 0, body: None }),
        }
    }

    pub(super) fn of(record: Record) -> Result<Self, GateError> {
        let body = serde_json::from_str(&record.body)
            .map_err(|error| GateError::Damaged(format!("the {} `{}`: {error}", T::KIND, record.id)))?;
        Ok(Self { id: record.id, version: record.version, body: Some(body) })
    }

    /// That nobody changed it since.
    pub(super) fn guard(&self) -> Guard {
        Guard { kind: T::KIND.to_owned(), id: self.id.clone(), version: self.version }
    }
}

/// A record to be written.
pub(super) fn put<T: Kept>(id: &str, body: &T) -> NewRecord {
    NewRecord {
        kind: T::KIND.to_owned(),
        id: id.to_owned(),
        state: body.state().to_owned(),
        // These types have nothing that JSON cannot hold.
        body: serde_json::to_string(body).unwrap_or_default(),
    }
}

/// All records of a kind; only for kinds of which there are few.
pub(super) async fn list<T: Kept>(store: &Store, state: Option<&str>) -> Result<Vec<Held<T>>, GateError> {
    let (mut all, mut pages) = (Vec::new(), Pages::new(state));
    while let Some(page) = pages.next(store).await? {
        for held in page {
            all.push(held?);
        }
    }
    Ok(all)
}

/// Records of a kind page by page, each as far as it can be read: there may be too many of them to hold.
pub(super) struct Pages<T> {
    /// None: the last page was there.
    query: Option<Query>,
    kept: PhantomData<T>,
}

impl<T: Kept> Pages<T> {
    pub(super) fn new(state: Option<&str>) -> Self {
        let (kind, state) = (T::KIND.to_owned(), state.map(str::to_owned));
        Self { query: Some(Query { kind, state, after: None, limit: PAGE_MAX }), kept: PhantomData }
    }

    pub(super) async fn next(
        &mut self,
        store: &Store,
    ) -> Result<Option<Vec<Result<Held<T>, GateError>>>, GateError> {
        let Some(mut query) = self.query.take() else { return Ok(None) };
        let page = store.records(&query).await?;
        if let Some(last) = page.last()
            && page.len() == PAGE_MAX
        {
            query.after = Some((last.changed_at, last.id.clone()));
            self.query = Some(query);
        }
        Ok(Some(page.into_iter().map(Held::of).collect()))
    }
}
