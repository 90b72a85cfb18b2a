//! The records that follow from the entries of a ledger. The records of the store must be the same.

use super::documents::Attached;
use super::effects::{EarlierRejection, EffectKeys};
use super::error::GateError;
use super::ids::{ActionId, EvidenceId, GrantId, KeyId, PermitId, TokenId};
use super::judge::{Inputs, state_of};
use super::observe::{ended, started};
use super::outcome::state_after;
use super::owner::session_id;
use super::permits::Minted;
use super::records::{
    Action, CountedSession, CountedStatement, DeedHold, Effect, EffectUse, Evidence, Key, KeysInForce,
    Permit, PolicyInForce, RecordedApproval, RevokedGrant, StandingGrant, Token,
};
use super::standing::GrantDocument;
use ordain_api::{ActionState, Entry, Event, Halt, Observation, Settled, Use, UseOutcome};
use ordain_canon::ContentHash;
use ordain_spec::approval::Approval;
use ordain_spec::decision::Decision;
use ordain_spec::statement::{ApproverKey, ApproverKeys};
use ordain_store::{Store, StoreError};
use serde::de::DeserializeOwned;
use std::collections::{BTreeMap, BTreeSet};

/// The records that the entries so far come to.
#[derive(Default)]
pub(crate) struct Fold {
    pub(crate) origin: Option<String>,
    pub(crate) actions: BTreeMap<String, Action>,
    /// Which action a permit is of, and the permit itself.
    pub(crate) permits: BTreeMap<String, FoldedPermit>,
    pub(crate) effects: BTreeMap<String, Effect>,
    pub(crate) deeds: BTreeMap<String, DeedHold>,
    pub(crate) grants: BTreeMap<GrantId, StandingGrant>,
    pub(crate) evidence: BTreeMap<EvidenceId, Evidence>,
    /// The packets alone.
    pub(crate) packets: BTreeSet<ContentHash>,
    pub(crate) tokens: BTreeMap<TokenId, Token>,
    pub(crate) keys: BTreeMap<KeyId, Key>,
    pub(crate) halt: Option<Halt>,
    pub(crate) observing: Vec<Observation>,
    pub(crate) policy: Option<PolicyInForce>,
    /// The keys of approvers, as the entries say.
    pub(crate) approver_keys: ApproverKeys,
    pub(crate) keys_in_force: Option<KeysInForce>,
    /// The statements that counted.
    pub(crate) statements: BTreeMap<String, CountedStatement>,
    /// The signatures of keys that stayed unlocked.
    pub(crate) sessions: BTreeMap<String, CountedSession>,
    /// The deeds of submissions that are not decided yet, and of all that were.
    pub(crate) deeds_of_actions: BTreeMap<String, String>,
    /// The MCP servers.
    pub(crate) servers: BTreeMap<ServerKey, FoldedServer>,
    /// The pins that were put in force last, of whatever server.
    pub(crate) last_pins: Option<String>,
}

/// A server: the project that it belongs to, and its name.
pub(crate) type ServerKey = (Option<String>, String);

/// An MCP server, as far as the entries tell.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct FoldedServer {
    pub(crate) listing: Option<ContentHash>,
    pub(crate) listed_at_ms: u64,
    /// Lists since the last approval.
    pub(crate) listings: u32,
    pub(crate) pins: Option<ContentHash>,
    /// The entry that put the pins in force.
    pub(crate) pinned_index: u64,
    /// Whether tools were ever approved, and not only blocked.
    pub(crate) approved: bool,
}

/// A permit that was minted.
pub(crate) struct FoldedPermit {
    pub(crate) action_id: String,
    /// Uses on the ledger; the record shows only the last of those that are over.
    pub(crate) used: u64,
    /// The uses whose outcome is open or unknown, by number: their deadlines and effects.
    open: BTreeMap<u64, (u64, EffectKeys)>,
    /// The permit itself, unless its document is missing.
    pub(crate) minted: Option<Minted>,
}

/// The documents that an entry names, as far as they can be read.
#[derive(Default)]
pub(crate) struct EntryDocuments {
    pub(crate) inputs: Option<Inputs>,
    pub(crate) decision: Option<Decision>,
    pub(crate) permit: Option<Minted>,
    pub(crate) report: Option<Settled>,
    pub(crate) approval: Option<Approval>,
    pub(crate) call: Option<Vec<u8>>,
    pub(crate) grant: Option<GrantDocument>,
}

/// Finds the documents of entries that are read one after the other.
pub(crate) struct DocumentReader {
    attached: Attached,
}

impl DocumentReader {
    pub(crate) fn new() -> Self {
        Self { attached: Attached::of(Vec::new()) }
    }

    /// Goes on to an entry with the documents that are attached to it.
    pub(crate) fn at(&mut self, attached: Vec<Vec<u8>>) {
        if !attached.is_empty() {
            self.attached = Attached::of(attached);
        }
    }

    /// A document that the entry names; `None` if it is missing, or is not what its hash says.
    pub(crate) async fn find(&self, store: &Store, hash: &ContentHash) -> Result<Option<Vec<u8>>, GateError> {
        if let Ok(bytes) = self.attached.get(hash) {
            return Ok(Some(bytes.to_vec()));
        }
        match store.document(hash).await {
            Err(StoreError::Corrupt(_)) => Ok(None),
            found => Ok(found?),
        }
    }

    /// The documents of an entry.
    pub(crate) async fn documents(&self, store: &Store, event: &Event) -> Result<EntryDocuments, GateError> {
        let mut documents = EntryDocuments::default();
        match event {
            Event::Decided { decision_document, inputs_document, .. } => {
                documents.decision = self.typed(store, decision_document).await?;
                documents.inputs = self.typed(store, inputs_document).await?;
            }
            Event::PermitSpent { decision_document, inputs_document, call_document, .. } => {
                documents.decision = self.typed(store, decision_document).await?;
                documents.inputs = self.typed(store, inputs_document).await?;
                if let Some(call) = call_document.as_deref().and_then(ContentHash::parse) {
                    documents.call = self.find(store, &call).await?;
                }
            }
            Event::PermitMinted { permit_document, .. } => {
                if let Some(hash) = ContentHash::parse(permit_document) {
                    let token =
                        self.find(store, &hash).await?.and_then(|bytes| String::from_utf8(bytes).ok());
                    documents.permit = token.and_then(Minted::of);
                }
            }
            Event::Approved { approval_document, .. } | Event::Rejected { approval_document, .. } => {
                documents.approval = self.typed(store, approval_document).await?;
            }
            Event::Granted { grant_document, .. } => {
                documents.grant = self.typed(store, grant_document).await?;
            }
            Event::Observed { decision_document, .. } => {
                documents.decision = self.typed(store, decision_document).await?;
            }
            Event::PermitSettled { report_document, .. } => {
                documents.report = self.typed(store, report_document).await?;
            }
            _ => {}
        }
        Ok(documents)
    }

    async fn typed<T: DeserializeOwned>(&self, store: &Store, hash: &str) -> Result<Option<T>, GateError> {
        let Some(hash) = ContentHash::parse(hash) else { return Ok(None) };
        let bytes = self.find(store, &hash).await?;
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }
}

impl Fold {
    fn add_verdict(&mut self, action_id: &str, approval: &str, earlier: Option<String>, index: u64) {
        if let Some(action) = self.actions.get_mut(action_id) {
            let (document, earlier) = (hash(approval), earlier.map(|earlier| hash(&earlier)));
            action.approvals.push(RecordedApproval { document, index, earlier });
        }
    }

    /// Adds an entry, with its documents.
    pub(crate) fn add(&mut self, index: u64, entry: Entry, documents: EntryDocuments) {
        let (at_ms, by) = (entry.at_ms, entry.by);
        for signed in &entry.signed {
            self.statements.insert(signed.statement_hash().to_string(), CountedStatement { index });
            self.sessions.extend(session_id(signed).map(|id| (id, CountedSession { index })));
        }
        let is_approved = matches!(entry.event, Event::ServerPinned { .. });
        match entry.event {
            Event::Opened { origin, .. } => self.origin = Some(origin),
            Event::Submitted {
                action_id,
                actor,
                proposal_document,
                supersedes,
                submitted_by,
                deed,
                undoes,
                project,
                ..
            } => {
                self.deeds_of_actions.extend(deed.map(|deed| (action_id.clone(), deed)));
                let action = Action {
                    state: ActionState::Denied,
                    submitted_by: submitted_by.unwrap_or(by),
                    project,
                    submitted_at_ms: 0,
                    proposal_document: hash(&proposal_document),
                    decision_document: hash(""),
                    evidence_documents: Vec::new(),
                    approvals: Vec::new(),
                    permit: None,
                    undoes: undoes.map(ActionId::new),
                    expires_at_ms: None,
                    supersedes: supersedes.map(ActionId::new),
                    superseded_by: None,
                    submitted_index: index,
                    decided_index: 0,
                    actor,
                };
                self.actions.insert(action_id, action);
            }
            Event::Decided { action_id, outcome, decision_document, expires_at_ms, grant, .. } => {
                if let Some(grant) = grant.and_then(|used| self.grants.get_mut(used.grant_id.as_str())) {
                    grant.used += 1;
                }
                let Some(action) = self.actions.get_mut(&action_id) else { return };
                let is_first = action.decided_index == 0;
                action.state = state_of(outcome);
                action.decision_document = hash(&decision_document);
                action.expires_at_ms = expires_at_ms;
                action.decided_index = index;
                if let Some(inputs) = documents.inputs {
                    action.evidence_documents = inputs.evidence_documents;
                    if is_first {
                        action.submitted_at_ms = inputs.now_ms;
                    }
                }
                let deed = self.deeds_of_actions.get(&action_id).filter(|_| is_first);
                if let (Some(deed), Some(until_ms)) = (deed, expires_at_ms) {
                    let grant = self.deeds.get(deed).and_then(|hold| hold.grant.clone());
                    let hold = DeedHold { action_id: ActionId::new(action_id), until_ms, grant };
                    self.deeds.insert(deed.clone(), hold);
                }
            }
            Event::Approved { action_id, approval_document, earlier_document } => {
                self.add_verdict(&action_id, &approval_document, earlier_document, index);
            }
            Event::Rejected { action_id, approval_document, earlier_document, effect_keys } => {
                self.add_verdict(&action_id, &approval_document, earlier_document, index);
                if let Some(approval) = documents.approval {
                    let action_id = ActionId::new(action_id);
                    let rejection = EarlierRejection::of(action_id, &approval);
                    for key in EffectKeys::parse(effect_keys).iter() {
                        let effect = self.effects.entry(key.id().to_owned()).or_default();
                        effect.add_rejection(rejection.clone());
                    }
                }
            }
            Event::Granted { action_id, grant_id, deed, max_uses, until_ms, grant_document } => {
                let grant_id = GrantId::new(grant_id);
                if let Some(hold) = self.deeds.get_mut(&deed) {
                    hold.grant = Some(grant_id.clone());
                }
                let actor = self.actions.get(&action_id).map(|action| action.actor.clone());
                let grant = StandingGrant {
                    action_id: ActionId::new(action_id),
                    actor: actor.unwrap_or_default(),
                    approvers: documents.grant.map(|grant| grant.approvers()).unwrap_or_default(),
                    deed,
                    document: hash(&grant_document),
                    granted_at_ms: at_ms,
                    granted_index: index,
                    max_uses,
                    revoked: None,
                    until_ms,
                    used: 0,
                };
                self.grants.insert(grant_id, grant);
            }
            Event::GrantRevoked { grant_id } => {
                if let Some(grant) = self.grants.get_mut(grant_id.as_str()) {
                    grant.revoked = Some(RevokedGrant { at_ms, by });
                }
            }
            Event::Superseded { action_id, by_action_id } => {
                if let Some(action) = self.actions.get_mut(&action_id) {
                    action.state = ActionState::Superseded;
                    action.superseded_by = Some(ActionId::new(by_action_id));
                }
            }
            Event::Expired { action_id } => {
                if let Some(action) = self.actions.get_mut(&action_id) {
                    action.state = ActionState::Expired;
                }
            }
            Event::PermitMinted { action_id, permit_id, .. } => {
                if let Some(action) = self.actions.get_mut(&action_id) {
                    let id = PermitId::new(permit_id.clone());
                    action.permit = Some(Permit::unused(id));
                }
                self.permits.insert(
                    permit_id,
                    FoldedPermit { action_id, used: 0, open: BTreeMap::new(), minted: documents.permit },
                );
            }
            Event::PermitSpent { permit_id, number, deadline_ms, effect_keys, .. } => {
                let Some(folded) = self.permits.get_mut(&permit_id) else { return };
                folded.used += 1;
                let spent_at_ms = documents.inputs.map_or(0, |inputs| inputs.now_ms);
                let used = Use { number, worker: by, spent_at_ms, deadline_ms, settled: None };
                let keys = EffectKeys::parse(effect_keys);
                for key in keys.iter().filter(|key| key.blocks()) {
                    let permit_id = PermitId::new(permit_id.clone());
                    let open = EffectUse { permit_id, number, deadline_ms, unknown: false };
                    self.effects.entry(key.id().to_owned()).or_default().open.push(open);
                }
                folded.open.insert(number, (deadline_ms, keys.clone()));
                if let Some((action, permit)) = permit_of(&mut self.actions, folded, &permit_id) {
                    permit.used += 1;
                    permit.uses.push(used);
                    permit.effect_keys.insert(number, keys);
                    *action = state_after(&permit.outcomes());
                }
            }
            Event::PermitSettled { permit_id, number, outcome, .. } => {
                let Some(folded) = self.permits.get_mut(&permit_id) else { return };
                let is_this =
                    |open: &EffectUse| open.permit_id.as_str() == permit_id && open.number == number;
                let known = folded.open.get(&number).cloned();
                if outcome != UseOutcome::Unknown {
                    folded.open.remove(&number);
                }
                let (deadline_ms, keys) = known.unwrap_or_default();
                for key in keys.iter() {
                    if outcome == UseOutcome::Unknown {
                        let permit_id = PermitId::new(permit_id.clone());
                        let open = EffectUse { permit_id, number, deadline_ms, unknown: true };
                        self.effects.entry(key.id().to_owned()).or_default().add_unknown(key, open);
                        continue;
                    }
                    let action = self.actions.get(&folded.action_id);
                    let counts = action.is_some_and(|action| key.counts(action));
                    if counts && let Some(report) = &documents.report {
                        let effect = self.effects.entry(key.id().to_owned()).or_default();
                        effect.add_settled(&folded.action_id, report);
                    }
                    if let Some(effect) = self.effects.get_mut(key.id()) {
                        effect.open.retain(|open| !is_this(open));
                    }
                }
                let report = documents.report;
                if let Some((action, permit)) = permit_of(&mut self.actions, folded, &permit_id)
                    && let Some(settled) = report
                {
                    permit.settle(number, settled);
                    *action = state_after(&permit.outcomes());
                }
            }
            Event::EvidenceReceived { evidence_id, sensor_id, packet_document } => {
                let packet_document = hash(&packet_document);
                self.packets.insert(packet_document);
                let evidence = Evidence { packet_document, sensor_id, received_index: index };
                self.evidence.insert(EvidenceId::new(evidence_id), evidence);
            }
            Event::PolicyChanged { policy_hash, files_document } => {
                let files_document = hash(&files_document);
                self.policy = Some(PolicyInForce { hash: hash(&policy_hash), files_document, index });
            }
            Event::KeyRotated { key_id, public_key, retires } => {
                let key = Key { public_key, created_at_ms: at_ms, retired_at_ms: None };
                self.keys.insert(KeyId::new(key_id), key);
                if let Some(retired) = retires.and_then(|id| self.keys.get_mut(id.as_str())) {
                    retired.retired_at_ms = Some(at_ms);
                }
            }
            Event::ApproverKeyEnrolled { key_id, principal, public_key, owner, passkey, keys_document } => {
                let passkey = passkey.map(|passkey| *passkey);
                let (enrolled_index, revoked_index) = (index, None);
                let key = ApproverKey {
                    key_id,
                    principal,
                    public_key,
                    passkey,
                    owner,
                    enrolled_index,
                    revoked_index,
                };
                self.approver_keys.keys.push(key);
                self.keys_in_force = Some(KeysInForce { document: hash(&keys_document), index });
            }
            Event::ApproverKeyRevoked { key_id, keys_document } => {
                let revoked = self.approver_keys.keys.iter_mut().filter(|key| key.key_id == key_id);
                revoked.for_each(|key| key.revoked_index = Some(index));
                self.keys_in_force = Some(KeysInForce { document: hash(&keys_document), index });
            }
            Event::Halted { reason } => self.halt = Some(Halt { by, reason, at_ms }),
            Event::Resumed { .. } => self.halt = None,
            Event::ObservationStarted { hook, until_ms, reason } => {
                started(&mut self.observing, Observation { at_ms, by, hook, reason, until_ms });
            }
            Event::ObservationEnded { hook } => ended(&mut self.observing, hook.as_deref()),
            Event::Observed { action_id, .. } => {
                if let Some(action) = self.actions.get_mut(&action_id) {
                    action.state = ActionState::Observed;
                    action.expires_at_ms = None;
                }
            }
            Event::TokenCreated { token_id, principal, names, roles, secret_hash, expires_at_ms } => {
                let token = Token {
                    principal,
                    names,
                    roles,
                    secret_hash: hash(&secret_hash),
                    created_by: by,
                    created_at_ms: at_ms,
                    expires_at_ms,
                    revoked_at_ms: None,
                    created_index: index,
                };
                self.tokens.insert(TokenId::new(token_id), token);
            }
            Event::TokenRevoked { token_id } => {
                if let Some(token) = self.tokens.get_mut(token_id.as_str()) {
                    token.revoked_at_ms = Some(at_ms);
                }
            }
            Event::ServerListed { server, project_id, listing_document, pins_document } => {
                let server = self.servers.entry((project_id, server)).or_default();
                server.listing = Some(hash(&listing_document));
                server.listed_at_ms = at_ms;
                server.listings = server.listings.saturating_add(1);
                if let Some(pins) = pins_document {
                    server.approved = true;
                    (server.pins, server.pinned_index) = (Some(hash(&pins)), index);
                    self.last_pins = Some(pins);
                }
            }
            Event::ServerPinned { server, project_id, pins_document }
            | Event::ToolBlocked { server, project_id, pins_document, .. } => {
                let server = self.servers.entry((project_id, server)).or_default();
                (server.pins, server.pinned_index) = (Some(hash(&pins_document)), index);
                server.approved |= is_approved;
                if is_approved {
                    server.listings = 0;
                }
                self.last_pins = Some(pins_document);
            }
            // The registry says which folder a project is.
            Event::ProjectRegistered { .. }
            | Event::ProjectForgotten { .. }
            | Event::Applied { .. }
            | Event::Undone { .. }
            | Event::Drafted { .. } => {}
        }
    }
}

/// The state of a permit's action, and the permit.
fn permit_of<'a>(
    actions: &'a mut BTreeMap<String, Action>,
    folded: &FoldedPermit,
    permit_id: &str,
) -> Option<(&'a mut ActionState, &'a mut Permit)> {
    let Action { state, permit, .. } = actions.get_mut(&folded.action_id)?;
    permit.as_mut().filter(|permit| permit.id.as_str() == permit_id).map(|permit| (state, permit))
}

/// The hash that a text names; an empty one for any other text, which is reported where the document is missing.
fn hash(text: &str) -> ContentHash {
    ContentHash::parse(text).unwrap_or_else(|| ContentHash::of(b""))
}
