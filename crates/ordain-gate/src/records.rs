//! The present state of everything, kept beside the ledger so that it need not be read again. Every record
//! follows from the entries: `fold.rs` makes the same records from them, and `fsck` compares.

use super::effects::{EarlierRejection, EffectKeys};
use super::error::GateError;
use super::ids::{ActionId, EvidenceId, GrantId, KeyId, PermitId, TokenId};
use ordain_api::limits::PAGE_MAX;
use ordain_api::{ActionState, Halt, Observation, ProjectName, Role, Use};
use ordain_canon::ContentHash;
use ordain_store::{Guard, Query, Record, Store};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt::{Debug, Display};
use std::marker::PhantomData;

/// The body of a record.
pub(crate) trait Stored: Serialize + DeserializeOwned + Clone {
    /// The record's kind.
    const KIND: &'static str;
    /// The key that it is found by.
    type Id: AsRef<str>
        + Ord
        + ToOwned<Owned: Clone + Ord + Debug + Display + From<String> + Send + Sync>
        + ?Sized;
    /// By which lists are filtered.
    fn state(&self) -> &'static str;
}

/// The id of a record.
pub(crate) type IdOf<T> = <<T as Stored>::Id as ToOwned>::Owned;

/// The gate itself. There is one, and every decision depends on its version.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Control {
    /// The ledger's name.
    pub(crate) origin: String,
    /// Redacted values are hashed with it.
    pub(crate) salt: String,
    /// Nonces of statements are made with it, on every node.
    pub(crate) nonce_key: String,
    pub(crate) halt: Option<Halt>,
    pub(crate) policy: Option<PolicyInForce>,
    /// The hooks whose calls are observed, also those whose time is over.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) observing: Vec<Observation>,
    /// The keys of approvers. A gate without them is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) keys: Option<KeysInForce>,
}

pub(crate) const CONTROL_ID: &str = "gate";

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct PolicyInForce {
    pub(crate) hash: ContentHash,
    pub(crate) files_document: ContentHash,
    /// The entry that put them in force.
    pub(crate) index: u64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct KeysInForce {
    pub(crate) document: ContentHash,
    /// The entry that changed them last.
    pub(crate) index: u64,
}

impl Stored for Control {
    const KIND: &'static str = "control";
    type Id = str;
    fn state(&self) -> &'static str {
        if self.halt.is_some() { "halted" } else { "open" }
    }
}

/// An action: its proposal, and how far it is. The documents are attached to the entries that it names.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Action {
    pub(crate) state: ActionState,
    pub(crate) actor: String,
    pub(crate) submitted_by: String,
    /// The project of the gate that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) project: Option<ProjectName>,
    pub(crate) submitted_at_ms: u64,
    /// Its hash is also the hash that approvals are bound to.
    pub(crate) proposal_document: ContentHash,
    pub(crate) decision_document: ContentHash,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) evidence_documents: Vec<ContentHash>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) approvals: Vec<RecordedApproval>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) permit: Option<Permit>,
    /// The action whose change an owner takes back by this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) undoes: Option<ActionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) expires_at_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) supersedes: Option<ActionId>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) superseded_by: Option<ActionId>,
    pub(crate) submitted_index: u64,
    pub(crate) decided_index: u64,
}

/// An approval or a rejection, and the entry that it is attached to.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct RecordedApproval {
    pub(crate) document: ContentHash,
    pub(crate) index: u64,
    /// The note to the approver about the same effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) earlier: Option<ContentHash>,
}

/// The permit of an action. The token, with everything that it allows, is attached to the entry that decided.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Permit {
    pub(crate) id: PermitId,
    /// How often it was used.
    pub(crate) used: u64,
    /// The uses that are open or unknown, and the last of the others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) uses: Vec<Use>,
    /// The effects of the uses whose outcome is open or unknown, by number: the policies of then said which.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(crate) effect_keys: BTreeMap<u64, EffectKeys>,
}

impl Permit {
    pub(crate) fn unused(id: PermitId) -> Self {
        Self { id, used: 0, uses: Vec::new(), effect_keys: BTreeMap::new() }
    }
}

impl Action {
    pub(crate) fn approval_documents(&self) -> Vec<ContentHash> {
        self.approvals.iter().map(|approval| approval.document).collect()
    }
}

impl Stored for Action {
    const KIND: &'static str = "action";
    type Id = str;
    fn state(&self) -> &'static str {
        self.state.name()
    }
}

/// Uses of any permit with the same effect whose outcome is open or unknown, those that are settled, and rejections
/// of it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Effect {
    pub(crate) open: Vec<EffectUse>,
    /// The last ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) rejections: Vec<EarlierRejection>,
    /// The uses whose outcome is known, as far as they are counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) settled: Option<SettledUses>,
}

/// How uses with the same effect went.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct SettledUses {
    pub(crate) succeeded: u64,
    pub(crate) failed: u64,
    /// The last one: its action, whether it succeeded, and when it was settled.
    pub(crate) last: LastSettled,
}

/// The use that was settled last.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub(crate) struct LastSettled {
    pub(crate) action_id: String,
    pub(crate) succeeded: bool,
    pub(crate) at_ms: u64,
}

/// A use whose outcome is open or unknown.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
pub(crate) struct EffectUse {
    pub(crate) permit_id: PermitId,
    #[serde(rename = "use")]
    pub(crate) number: u64,
    pub(crate) deadline_ms: u64,
    /// Whether it was settled as unknown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) unknown: bool,
}

impl Stored for Effect {
    const KIND: &'static str = "effect";
    type Id = str;
    fn state(&self) -> &'static str {
        if self.open.is_empty() { "clear" } else { "open" }
    }
}

/// The action that waits, or waited, for the approval of a deed. Calls of `act` with the same deed join it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct DeedHold {
    pub(crate) action_id: ActionId,
    /// Until when it is joined.
    pub(crate) until_ms: u64,
    /// The last grant for the deed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) grant: Option<GrantId>,
}

impl Stored for DeedHold {
    const KIND: &'static str = "deed";
    type Id = str;
    fn state(&self) -> &'static str {
        "held"
    }
}

/// A standing grant, by its id. Its document has the signatures.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct StandingGrant {
    pub(crate) action_id: ActionId,
    pub(crate) actor: String,
    pub(crate) approvers: Vec<String>,
    pub(crate) deed: String,
    pub(crate) document: ContentHash,
    pub(crate) granted_at_ms: u64,
    pub(crate) granted_index: u64,
    pub(crate) max_uses: u64,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) revoked: Option<RevokedGrant>,
    pub(crate) until_ms: u64,
    /// How often it was used.
    pub(crate) used: u64,
}

/// When a grant was taken back, and by whom.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct RevokedGrant {
    pub(crate) at_ms: u64,
    pub(crate) by: String,
}

impl Stored for StandingGrant {
    const KIND: &'static str = "grant";
    type Id = GrantId;
    fn state(&self) -> &'static str {
        if self.revoked.is_some() { "revoked" } else { "granted" }
    }
}

/// An evidence packet, by its id.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Evidence {
    pub(crate) packet_document: ContentHash,
    pub(crate) sensor_id: String,
    pub(crate) received_index: u64,
}

impl Stored for Evidence {
    const KIND: &'static str = "evidence";
    type Id = EvidenceId;
    fn state(&self) -> &'static str {
        "received"
    }
}

/// A token, without its secret.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Token {
    pub(crate) principal: String,
    pub(crate) names: Vec<String>,
    pub(crate) roles: Vec<Role>,
    pub(crate) secret_hash: ContentHash,
    /// Its maker, who knew its secret.
    pub(crate) created_by: String,
    pub(crate) created_at_ms: u64,
    pub(crate) expires_at_ms: Option<u64>,
    pub(crate) revoked_at_ms: Option<u64>,
    pub(crate) created_index: u64,
}

impl Stored for Token {
    const KIND: &'static str = "token";
    type Id = TokenId;
    fn state(&self) -> &'static str {
        if self.revoked_at_ms.is_some() { "revoked" } else { "valid" }
    }
}

/// A signed statement that counted, by its hash. None counts twice.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct CountedStatement {
    pub(crate) index: u64,
}

impl Stored for CountedStatement {
    const KIND: &'static str = "statement";
    type Id = str;
    fn state(&self) -> &'static str {
        "counted"
    }
}

/// A public key that permits and checkpoints are signed with.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Key {
    pub(crate) public_key: String,
    pub(crate) created_at_ms: u64,
    pub(crate) retired_at_ms: Option<u64>,
}

impl Key {
    /// Whether it may still sign.
    pub(crate) fn is_valid(&self) -> bool {
        self.retired_at_ms.is_none()
    }
}

impl Stored for Key {
    const KIND: &'static str = "key";
    type Id = KeyId;
    fn state(&self) -> &'static str {
        if self.is_valid() { "valid" } else { "retired" }
    }
}

/// One signature of a key that stays unlocked, by its key and its session. None counts twice.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct CountedSession {
    pub(crate) index: u64,
}

impl Stored for CountedSession {
    const KIND: &'static str = "session";
    type Id = str;
    fn state(&self) -> &'static str {
        "counted"
    }
}

/// A record with its version, or the fact that there is none.
#[derive(Clone, Debug)]
pub(crate) struct Versioned<T: Stored> {
    pub(crate) id: IdOf<T>,
    pub(crate) version: u64,
    pub(crate) body: Option<T>,
}

impl<T: Stored> Versioned<T> {
    pub(crate) async fn read(store: &Store, id: &T::Id) -> Result<Self, GateError> {
        Self::found(id, store.record(T::KIND, id.as_ref()).await?)
    }

    /// From what was found under the id.
    pub(crate) fn found(id: &T::Id, record: Option<Record>) -> Result<Self, GateError> {
        record.map_or_else(|| Ok(Self::absent(id)), Self::of)
    }

    pub(crate) fn absent(id: &T::Id) -> Self {
        Self { id: id.to_owned(), version: 0, body: None }
    }

    pub(crate) fn of(record: Record) -> Result<Self, GateError> {
        let body = serde_json::from_str(&record.body)
            .map_err(|error| GateError::Damaged(format!("the {} `{}`: {error}", T::KIND, record.id)))?;
        Ok(Self { id: record.id.into(), version: record.version, body: Some(body) })
    }

    /// The write fails if somebody changed the record since.
    pub(crate) fn guard(&self) -> Guard {
        let id: &T::Id = self.id.borrow();
        Guard { kind: T::KIND.to_owned(), id: id.as_ref().to_owned(), version: self.version }
    }
}

/// All records of a kind; only for kinds of which there are few.
pub(crate) async fn list<T: Stored>(
    store: &Store,
    state: Option<&str>,
) -> Result<Vec<Versioned<T>>, GateError> {
    let mut all = Vec::new();
    let mut pages = Pages::new(state);
    while let Some(page) = pages.next(store).await? {
        for record in page {
            all.push(record?);
        }
    }
    Ok(all)
}

/// Records of a kind page by page, each as far as it can be read: there may be too many of them to hold in memory.
pub(crate) struct Pages<T> {
    /// None after the last page.
    query: Option<Query>,
    body: PhantomData<T>,
}

impl<T: Stored> Pages<T> {
    pub(crate) fn new(state: Option<&str>) -> Self {
        let state = state.map(str::to_owned);
        let query = Query { kind: T::KIND.to_owned(), state, limit: PAGE_MAX, ..Query::default() };
        Self { query: Some(query), body: PhantomData }
    }

    pub(crate) async fn next(
        &mut self,
        store: &Store,
    ) -> Result<Option<Vec<Result<Versioned<T>, GateError>>>, GateError> {
        let Some(mut query) = self.query.take() else { return Ok(None) };
        let page = store.records(&query).await?;
        if let Some(last) = page.last()
            && page.len() == PAGE_MAX
        {
            query.after = Some((last.changed_at, last.id.clone()));
            self.query = Some(query);
        }
        Ok(Some(page.into_iter().map(Versioned::of).collect()))
    }
}
